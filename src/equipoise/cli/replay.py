"""What the command line does with replay: registration, tables, page, planted engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.cli import verdicts
from equipoise.cli.comparison import (
    declared,
    nothing_moved,
    others_of,
    registered,
    require_families,
    taking_part,
    written,
)
from equipoise.cli.studies import (
    ANY_SEED,
    Handling,
    Study,
    in_order,
    laid_out_trials,
    listed_in,
    require_drawn,
    require_draws,
    stimuli_of,
)
from equipoise.instruments.replay.instrument import (
    DRAWS,
    NAME,
    READER,
    factors,
    primary,
    replay,
)
from equipoise.instruments.replay.planted import TRAITS, answerer
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, only, suite
from equipoise.ledger import Head, Run
from equipoise.providers.capabilities import require_modes
from equipoise.registration import Registration
from equipoise.report.log import Entry
from equipoise.stimuli import Stimuli, parse
from equipoise.terms import Completion, Misuse, Observation, Request, Subject

SHIPPED_FILES = ("prompts.toml", "biases.toml", "openings.toml")
KEPT = ("biases.toml", "openings.toml", "prompts.toml", "changed.toml")
"""The files of a suite that an engine or a reader is shown; the others are labels and ratings."""


def register(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any] = ("free",),
    *,
    draws: int = DRAWS,
    order: str = "random:1",
    comparison: Path | None = None,
    change: Sequence[str] = (),
    readers: Sequence[str] = (),
    openings: str = "",
    trust: Sequence[Path] = (),
) -> tuple[Registration, Stimuli]:
    """What a replay will ask, of whom and how often, and what will decide; checks all of it."""
    from equipoise.cli.badges import badges_for
    from equipoise.cli.subjects import subject

    require_draws(draws)
    require_drawn(subjects, draws)
    said = written(comparison, change, readers)
    stimuli, within = stimuli_of(suite_name, SHIPPED, (STANDARD,), SHIPPED_FILES)
    if within != STANDARD:
        raise Misuse(f"There is no suite {within!r}: there is {STANDARD}, or name a folder.")
    stimuli = shown_stimuli(stimuli, said.prompt)
    laid_out = only(suite(stimuli, within), listed_in(openings))
    part = taking_part(said, laid_out, lambda spec: _other(subject(spec, READING)),
                       lambda spec: subject(spec, HANDLING))
    require_families(subjects, part)
    require_modes([*part.readers, *others_of(part).values()], answers)
    require_drawn([part.second] if part.second else [], draws)
    badges = badges_for(trust, part.readers, laid_out)
    part = replace(part, trust={name: b.state == "trusted" for name, b in badges.items()},
                   confusions={name: b.confusion for name, b in badges.items() if b.confusion},
                   rehearsed=tuple(name for name, b in badges.items() if b.illustrative),
                   votes={name: b.calls for name, b in badges.items() if b.calls > 1})
    instrument = replay(laid_out, part, answers, draws)
    cells = sum(len(instrument.design(one)) for one in subjects)
    in_order([], order)
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects),
        tuple(laid_out.openings), factors(answers), draws, cells, order, (READER,),
        primary(part.metric), declared={
            **declared(part, laid_out), "badges": [b.as_json() for b in badges.values()]},
    ), stimuli


def _other(subject: Subject) -> Subject:
    """A reader as it is registered; planted readers are no kin of planted engines."""
    own = subject.dialect == "planted" and subject.family == "planted"
    return replace(subject, family="planted readers") if own else subject


def shown_stimuli(stimuli: Stimuli, prompt: str) -> Stimuli:
    """The files that are shown to anyone, with the changed prompt beside them."""
    texts = {name: text for name, text in stimuli.texts.items() if name in KEPT}
    if prompt:
        try:
            texts["changed.toml"] = Path(prompt).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Misuse(f"The changed prompt {prompt} cannot be read ({error}).") from None
    return parse(texts)


def lay_out(registration: Registration, stimuli: Stimuli) -> Study:
    """A registered replay, ready to be administered or read."""
    laid_out = only(suite(stimuli, registration.suite), registration.items)
    part = registered(registration.declared)
    answers: Any = registration.factors["answer"]
    instrument = replay(laid_out, part, answers, registration.draws)
    others = (*part.readers, *others_of(part).values())
    return Study(registration, laid_out, instrument, laid_out_trials(instrument, registration),
                 others=others)


def planted(laid_out: Study, subject: Subject) -> Callable[[Request], Completion]:
    """How a planted engine or reader of that name answers, with its settings."""
    return answerer(laid_out.suite, subject.model, subject.settings)



def page(run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head) -> str:
    """A run's page."""
    from equipoise.report.replay import page as made

    return made(run, laid_out.registration, laid_out.suite, registered(
        laid_out.registration.declared), laid_out.in_registered_order(observations), head)


def entry(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head
) -> Entry:
    """A finished run as an entry of the log."""
    from equipoise.report import verdicts as said
    from equipoise.report.entries import again, subjects

    registration, suite = laid_out.registration, laid_out.suite
    part, findings = registered(registration.declared), laid_out.analyse(observations)
    return Entry(
        run.name, run.at, str(head), f"Paired replay of {registered_names(registration)}",
        "Does the change make the application better for the person?",
        (*said.questions(suite, part, registration.draws), f"Subjects: {subjects(registration)}.",
         f"Primary measure: {registration.primary}.",
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        verdicts.entry_rows(findings),
        tuple(line for c in findings.comparisons for line in (*said.shows(c), *said.by_bias(c))),
        tuple(said.limits(suite, part, findings)),
        f"{registration.cells:,} conversations. No provider's price was recorded.",
        again(run, head),
    )


def registered_names(registration: Registration) -> str:
    """The engines' names."""
    return ", ".join(str(s["name"]) for s in registration.subjects)


ENGINE_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "local": {"temperature": 0.7, "max_tokens": 400, "seed": ANY_SEED},
    "openai": {"temperature": 1, "max_tokens": 2048}, "planted": {}}
HANDLING = Handling(
    options=frozenset(("comparison", "change", "readers", "openings", "trust")),
    suite=STANDARD,
    settings={**ENGINE_SETTINGS, "endpoint": {}, "callable": {}},
    traits=tuple(TRAITS),
    usual=(900, 160),
    local_pace={"free": 0.02, "constrained": 0.02},
    register=register, lay_out=lay_out, planted=planted, table=verdicts.as_table,
    moved=nothing_moved, values=verdicts.as_values, page=page, entry=entry,
    columns=verdicts.columns, planned=verdicts.planned, selftest=verdicts.selftest,
)
READING = replace(HANDLING, settings={
    "local": {"temperature": 0, "max_tokens": 120, "seed": 0},
    "openai": {"temperature": 0, "max_tokens": 512}, "planted": {}})
"""How readers are asked: each as steadily as it can be."""
