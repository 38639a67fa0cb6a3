"""What the command line does with clauses: which of a prompt a model refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from equipoise.cli.comparison import nothing_moved
from equipoise.cli.proving import Expected, planted_findings, show_expected
from equipoise.cli.replay import ENGINE_SETTINGS, SHIPPED_FILES, shown_stimuli
from equipoise.cli.screen import table
from equipoise.cli.studies import (
    Handling,
    Study,
    in_order,
    laid_out_trials,
    listed_in,
    require_drawn,
    require_draws,
    stimuli_of,
)
from equipoise.cli.values import or_reason, rate_values
from equipoise.instruments.replay.clauses import (
    NAME,
    PRIMARY,
    READER,
    Findings,
    Tried,
    clauses,
    factors,
    levels,
)
from equipoise.instruments.replay.planted import BALKS, ENGINES, answerer
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, only, suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import clauses as said_of
from equipoise.report.log import Entry
from equipoise.stimuli import Stimuli
from equipoise.terms import Completion, Nonresponse, Observation, Request, Subject

PROVEN = ("same", "refuses-thinking", "needs-form")


def register(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any] = ("free",),
    *,
    draws: int = 1,
    order: str = "random:1",
    openings: str = "",
) -> tuple[Registration, Stimuli]:
    """What a trial of the clauses will ask, of whom and how often; checks all of it."""
    require_draws(draws)
    require_drawn(subjects, draws)
    stimuli, within = stimuli_of(suite_name, SHIPPED, (STANDARD,), SHIPPED_FILES)
    stimuli = shown_stimuli(stimuli, "")
    laid_out = only(suite(stimuli, within), listed_in(openings))
    instrument = clauses(laid_out, answers, draws)
    cells = sum(len(instrument.design(subject)) for subject in subjects)
    in_order([], order)
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects),
        tuple(laid_out.openings), factors(laid_out, answers), draws, cells, order, (READER,),
        PRIMARY), stimuli


def lay_out(registration: Registration, stimuli: Stimuli) -> Study:
    """A registered trial of the clauses, ready to be administered or read."""
    laid_out = only(suite(stimuli, registration.suite), registration.items)
    answers: Any = registration.factors["answer"]
    instrument = clauses(laid_out, answers, registration.draws)
    return Study(registration, laid_out, instrument, laid_out_trials(instrument, registration))


def planted(laid_out: Study, subject: Subject) -> Callable[[Request], Completion]:
    """How a planted engine of that name answers, with its settings."""
    return answerer(laid_out.suite, subject.model, subject.settings)


def as_table(findings: Findings, registration: Registration, reader: str | None) -> str:
    """The findings as the terminal shows them."""
    said = []
    for t in findings.tried:
        said += [f"{t.subject}, {t.answer}: {said_of.shows(t)[0]}",
                 table(["without", "written", "mended", "broken", "p (Holm)", "lost"],
                       said_of.rows_of(t)), ""]
    return "\n".join([*said, *said_of.headline(findings)])


def as_values(findings: Findings) -> dict[str, Any]:
    """The findings as JSON."""
    return {"tried": [{
        "subject": t.subject, "answer": t.answer, "whole": rate_values(t.whole),
        "lost": dict(t.lost),
        "clauses": {c.name: {"written": rate_values(c.written), "lost": dict(c.lost),
                             "mended": c.mended, "broken": c.broken, "p": c.against.p,
                             "holm": c.holm, "refused": c.refused,
                             **or_reason("difference", c.against.difference)}
                    for c in t.clauses}} for t in findings.tried]}


def page(run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head) -> str:
    """A run's page."""
    return said_of.page(run, laid_out.registration, laid_out.suite,
                        laid_out.in_registered_order(observations), head)


def entry(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head
) -> Entry:
    """A finished run as an entry of the log."""
    from equipoise.report.entries import again, subjects

    registration, findings = laid_out.registration, laid_out.analyse(observations)
    return Entry(
        run.name, run.at, str(head), "Clauses of the engine's prompt",
        "Which clause does the model refuse or trip over?",
        (f"The first turn of {len(laid_out.suite.openings)} openings, under the whole prompt and"
         f" without each of {len(levels(laid_out.suite)) - 1} clauses in turn.",
         f"Subjects: {subjects(registration)}.",
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        (("without", "written", "mended", "broken", "p (Holm)", "lost"),
         *(row for t in findings.tried for row in said_of.rows_of(t))),
        tuple(line for t in findings.tried for line in said_of.shows(t)),
        tuple(said_of.limits(laid_out.suite)), f"{registration.cells:,} calls.", again(run, head),
    )


def columns(observation: Observation[Any]) -> Mapping[str, Any]:
    """What an exported row says: whether the turn was written, and how many edits."""
    value = observation.value.readings[READER].value
    lost = isinstance(value, Nonresponse)
    return {READER: "" if lost else "written", "edits": "" if lost else len(value.edits)}


def planned(laid_out: Study, asked: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What `plan` says: the openings and the clauses."""
    names = levels(laid_out.suite)[1:]
    return {"openings": len(laid_out.suite.openings), "clauses": list(names)}, [
        f"Openings      {len(laid_out.suite.openings)}, the first turn of each",
        f"Clauses       {', '.join(names)}"]


def selftest(suite_name: str | None, as_json: bool) -> None:
    """Planted engines: the one that declines a clause, the one that needs one, and neither."""
    found = [(name, planted_findings(NAME, [name]).tried[0]) for name in PROVEN]
    show_expected({"suite": suite_name or STANDARD}, [
        Expected(name, said_of.headline(Findings((t,)))[0], expected(name, t))
        for name, t in found], as_json)


def expected(name: str, t: Tried) -> bool:
    """Whether the planted clause was found, and no other."""
    refused = [c.name for c in t.clauses if c.refused]
    needed = [c.name for c in t.clauses if c.holm < 0.05 and c.broken > c.mended]
    return {"same": ([], []), "refuses-thinking": (["thinking"], []),
            "needs-form": ([], ["form"])}[name] == (refused, needed)


HANDLING = Handling(
    options=frozenset(("openings",)), suite=STANDARD, settings=ENGINE_SETTINGS,
    traits=(*ENGINES, *BALKS), usual=(900, 160), local_pace={"free": 0.1, "constrained": 0.1},
    register=register, lay_out=lay_out, planted=planted, table=as_table, moved=nothing_moved,
    values=as_values, page=page, entry=entry, columns=columns, planned=planned, selftest=selftest,
)
