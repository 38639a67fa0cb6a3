"""What the command line does with calibration: a reader against people's labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from equipoise.cli.comparison import nothing_moved
from equipoise.cli.proving import Expected, planted_findings, show_expected
from equipoise.cli.screen import table
from equipoise.cli.studies import (
    Handling,
    Study,
    in_order,
    laid_out_trials,
    require_draws,
    stimuli_of,
)
from equipoise.cli.values import or_reason, rate_values
from equipoise.instruments.replay.calibrating import (
    NAME,
    PRIMARY,
    READER,
    TASKS,
    Calibrated,
    Findings,
    Labels,
    Task,
    calibration,
    factors,
    gold_of,
    stamp,
)
from equipoise.instruments.replay.labels import SPLITS, labelled, ratings
from equipoise.instruments.replay.planted import READERS, answerer
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, Suite, suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import trusting
from equipoise.report.log import Entry
from equipoise.report.words import number, share
from equipoise.stimuli import Stimuli
from equipoise.terms import Completion, Misuse, Nonresponse, Observation, Request, Subject

SHIPPED_FILES = ("prompts.toml", "biases.toml", "openings.toml")


def register(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any] = ("free",),
    *,
    draws: int = 1,
    order: str = "grouped",
    split: str = "test",
    task: str = "page",
) -> tuple[Registration, Stimuli]:
    """What a calibration will ask of which readers; checks all of it."""
    require_draws(draws)
    stimuli, within = stimuli_of(suite_name, SHIPPED, (STANDARD,), SHIPPED_FILES)
    if split not in SPLITS or task not in TASKS:
        raise Misuse(f"The split {split!r} or the task {task!r} is not one there is: splits are"
                     f" {', '.join(SPLITS)}, tasks {', '.join(TASKS)}.")
    laid_out, said = suite(stimuli, within), {"split": split, "task": task}
    asked: Task = "page" if task == "page" else "detector"
    instrument = calibration(laid_out, labels_of(stimuli, laid_out, said), asked, answers,
                             draws)
    cells = sum(len(instrument.design(subject)) for subject in subjects)
    in_order([], order)
    moments = labels_of(stimuli, laid_out, said).moments
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects), tuple(moments),
        factors(laid_out, asked, answers), draws, cells, order, (READER,), PRIMARY,
        declared={**said, "stamp": stamp(laid_out, asked)},
    ), stimuli


def labels_of(stimuli: Stimuli, of: Suite, said: Mapping[str, Any]) -> Labels:
    """The moments of the registered split, with the ratings of its task."""
    moments = {key: moment for key, moment in labelled(stimuli, of.biases).items()
               if moment.split == said["split"]}
    if not moments:
        raise Misuse(f"The split {said['split']} holds no moment: label more of them.")
    asked = "shown" if said["task"] == "page" else "present"
    shipped = (SHIPPED / "moments.toml").read_text(encoding="utf-8")
    return Labels(moments, tuple(ratings(stimuli, of.biases, asked)),
                  stimuli.texts["moments.toml"] == shipped)


def lay_out(registration: Registration, stimuli: Stimuli) -> Study:
    """A registered calibration, ready to be administered or read."""
    laid_out = suite(stimuli, registration.suite)
    labels = labels_of(stimuli, laid_out, registration.declared)
    answers: Any = registration.factors["answer"]
    instrument = calibration(laid_out, labels, registration.declared["task"], answers,
                             registration.draws)
    return Study(registration, (laid_out, labels), instrument,
                 laid_out_trials(instrument, registration))


def planted(laid_out: Study, subject: Subject) -> Callable[[Request], Completion]:
    """How a planted reader of that name answers, with its settings."""
    of, labels = laid_out.suite
    return answerer(of, subject.model, subject.settings, labels.moments.values())


def as_table(findings: Findings, registration: Registration, reader: str | None) -> str:
    """The findings as the terminal shows them."""
    said = [f"Split {registration.declared['split']}, task {registration.declared['task']}:"
            f" {len(registration.items)} moments. Registered: {registration.primary}.", "",
            table(["reader", "badge", "yes", "no", "lower", "unknown"],
                  [[c.subject, "trusted" if c.trust.trusted else "uncalibrated",
                    share(c.trust.sensitivity), share(c.trust.specificity),
                    number(c.trust.least), str(c.found.unknown)] for c in findings.calibrated]), ""]
    for c in findings.calibrated:
        said += [f"{c.subject}: {trusting.badge(c)}.", *trusting.shows(c),
                 *trusting.arithmetic(c.found.decided.positives, c.found.decided.negatives), "",
                 table(["bias", "yes", "no", "unknown"],
                       [[bias, yes, no, str(n)] for bias, yes, no, n in trusting.by_bias(c)]), ""]
    return "\n".join(said).rstrip()


def as_values(findings: Findings) -> dict[str, Any]:
    """The findings as JSON."""
    return {"calibrated": [_values(c) for c in findings.calibrated]}


def _values(c: Calibrated) -> dict[str, Any]:
    t = c.trust
    return {
        "subject": c.subject, "answer": c.answer, "task": c.task, "trusted": t.trusted,
        "reasons": list(t.reasons), "sensitivity": rate_values(t.sensitivity),
        "specificity": rate_values(t.specificity), **or_reason("least", t.least),
        "unknown": rate_values(t.unknown), "human": rate_values(t.human),
        **or_reason("chance_above", t.chance_above), **or_reason("human_ceiling", c.ceiling),
        "by_bias": {bias: {"sensitivity": rate_values(row.found.decided.sensitivity),
                           "specificity": rate_values(row.found.decided.specificity),
                           "unknown": row.found.unknown} for bias, row in c.by_bias.items()},
        "wrong": [{"moment": w.moment, "bias": w.bias, "label": w.label, "said": w.said}
                  for w in c.wrong],
        "queue": [list(item) for item in c.unknown],
    }


def page(run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head) -> str:
    """A run's page."""
    from equipoise.report.calibrated import page as made

    of, labels = laid_out.suite
    return made(run, laid_out.registration, of, labels,
                laid_out.analyse(observations), head)


def entry(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head
) -> Entry:
    """A finished run as an entry of the log."""
    from equipoise.report.entries import again, subjects

    registration, findings = laid_out.registration, laid_out.analyse(observations)
    return Entry(
        run.name, run.at, str(head), "Calibration of "
        + ", ".join(c.subject for c in findings.calibrated),
        "May this reader's readings be counted?",
        (f"{len(registration.items)} labelled moments of the {registration.declared['split']}"
         f" split, task {registration.declared['task']}.",
         f"Readers: {subjects(registration)}.", f"Primary measure: {registration.primary}.",
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        (("reader", "badge", "yes", "no"), *(
            (c.subject, "trusted" if c.trust.trusted else "uncalibrated",
             share(c.trust.sensitivity), share(c.trust.specificity))
            for c in findings.calibrated)),
        tuple(line for c in findings.calibrated for line in trusting.shows(c)),
        tuple(trusting.limits()), f"{registration.cells:,} calls.", again(run, head),
    )


def columns(observation: Observation[Any]) -> Mapping[str, Any]:
    """What an exported row says: the verdict on each bias asked about."""
    said: dict[str, Any] = {}
    for bias, verdict in observation.value.verdicts.items():
        said[f"{bias}_verdict"] = (verdict.kind if isinstance(verdict, Nonresponse)
                                   else "met" if verdict else "not met")
    said[READER] = next(iter(said.values()), "")
    return said


def planned(laid_out: Study, asked: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What `plan` says: how many items of each class, and what so many can tell."""
    of, labels = laid_out.suite
    task = laid_out.registration.declared["task"]
    items = [gold_of(moment, bias, task) for moment in labels.moments.values()
             for bias in of.biases]
    yes, no = sum(items), len(items) - sum(items)
    return {"moments": len(labels.moments), "labelled_yes": yes, "labelled_no": no}, [
        f"Moments       {len(labels.moments)} of the split"
        f" {laid_out.registration.declared['split']}, task {task}",
        *(f"Calibration   {said}" for said in trusting.arithmetic(yes, no)),
    ]


def selftest(suite_name: str | None, as_json: bool) -> None:
    """Planted readers through the whole pipeline: each must get the badge it deserves."""
    found = [(name, planted_findings(NAME, [name]).calibrated[0]) for name in READERS]
    show_expected({"suite": suite_name or STANDARD}, [
        Expected(name, f"{trusting.badge(c)}; yes {share(c.trust.sensitivity)}, no"
                       f" {share(c.trust.specificity)}", expected(name, c))
        for name, c in found], as_json)


def expected(name: str, c: Calibrated) -> bool:
    """Whether a planted reader's rates are those that were planted."""
    yes, no, rates = c.trust.sensitivity, c.trust.specificity, READERS[name]
    if name == "perfect":
        return yes.count == yes.n and no.count == no.n
    if name == "always-yes":
        return yes.count == yes.n and no.count == 0 and not c.trust.trusted
    if name == "blind-to-own-words":
        return no.count == no.n and 4 * yes.count < 3 * yes.n and not c.trust.trusted
    if name == "unsure":
        return c.found.unknown > 0 and yes.count == yes.n and no.count == no.n
    return _holds(yes, rates.hits) and _holds(no, rates.passes)


def _holds(found: Any, rate: float) -> bool:
    """Whether the planted rate lies in the Wilson interval."""
    return bool(found.low <= rate <= found.high)


HANDLING = Handling(
    options=frozenset(("split", "task")),
    suite=STANDARD,
    settings={"local": {"temperature": 0, "max_tokens": 120, "seed": 0},
              "openai": {"temperature": 0, "max_tokens": 512}, "planted": {}},
    traits=tuple(READERS),
    usual=(500, 40),
    local_pace={"free": 0.3, "constrained": 0.3},
    register=register, lay_out=lay_out, planted=planted, table=as_table,
    moved=nothing_moved, values=as_values, page=page, entry=entry,
    columns=columns, planned=planned, selftest=selftest,
)
