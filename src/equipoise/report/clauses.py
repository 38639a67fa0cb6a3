"""A trial of the prompt's clauses: in sentences, and as one page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.instruments.replay.clauses import READER, WHOLE, Clause, Findings, Tried, analyse
from equipoise.instruments.replay.suite import Suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, words
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.room import Room
from equipoise.report.visible import left_out, marked
from equipoise.report.words import counted, listed, of, p_value, share
from equipoise.terms import Nonresponse, Observation

ROOM, ROOM_A_REPLY = 8_000_000, 400


def headline(findings: Findings) -> list[str]:
    """What was found, a sentence an engine."""
    return [f"{t.subject}: {_head(t)}." for t in findings.tried]


def _head(t: Tried) -> str:
    refused = [c.name for c in t.clauses if c.refused]
    needed = [c.name for c in t.clauses if c.holm < 0.05 and c.broken > c.mended]
    said = [f"it trips over the clause {listed(refused)}"] if refused else []
    said += [f"it needs the clause {listed(needed)}"] if needed else []
    return listed(said) if said else (
        f"no clause was seen to matter to whether a turn is written ({of(t.whole)} with all)")


def shows(t: Tried) -> list[str]:
    """What the headline rests on."""
    said = [f"Under the whole prompt {share(t.whole)} of first turns were written in form"
            + (f"; of the others {counted(dict(t.lost))}." if t.lost else ".")]
    said += [f"Without {c.name}: {of(c.written)}; {c.mended} mended, {c.broken} broken, exact p"
             f" {p_value(c.against.p)}, after Holm {p_value(c.holm)}."
             for c in t.clauses if c.mended or c.broken]
    return said


def limits(suite: Suite) -> list[str]:
    """What this does not show."""
    return [
        "A turn counts as written where the reply fits its form. Whether the page it writes is any"
        " better is what a paired replay says.",
        f"Only the first turn of {len(suite.openings)} openings is put. A clause that is refused"
        " on later turns alone is not seen here.",
        "Clauses are left out one at a time. Two that are refused together, or that only matter"
        " together, are not told apart.",
        "It holds for this model as set up. Another version of it is another subject.",
    ]


def rows_of(t: Tried) -> list[tuple[str, str, str, str, str, str]]:
    """A row a clause: its name, what was written without it, mended, broken, p and lost."""
    return [(c.name, of(c.written), str(c.mended), str(c.broken), p_value(c.holm),
             counted(dict(c.lost)) if c.lost else "") for c in t.clauses]


def page(
    run: Run, registration: Registration, suite: Suite, observations: Sequence[Observation[Any]],
    head: Head,
) -> str:
    """A run's page: one HTML file that needs nothing beside it."""
    findings, room = analyse(suite, observations), Room(ROOM, ROOM_A_REPLY)
    return environment().get_template("clauses.html.j2").render(
        run=run, registration=registration, suite=suite, findings=findings,
        headline=headline(findings), asked=words.when(run.at), head=head, limits=limits(suite),
        style=style("page", "label_swap", "debates", "replay"), lines=_lines, shows=shows,
        subjects=[subject_of(s) for s in registration.subjects], command=shlex.quote(run.name),
        replies={name: _replies(name, observations, room) for name in (
            WHOLE, *(c.name for c in findings.tried[0].clauses))},
    )


def _lines(t: Tried) -> list[tuple[Clause, Any]]:
    scale = charts.net_scale([c.against for c in t.clauses])
    return [(c, charts.net_line(c.against, scale, full=c.holm < 0.05)) for c in t.clauses]


def _replies(
    clause: str, observations: Sequence[Observation[Any]], room: Room
) -> list[Mapping[str, Any]]:
    """The replies that were not in form under this prompt, while there is room."""
    found = [o for o in observations if o.trial.condition["without"] == clause
             and isinstance(o.value.readings[READER].value, Nonresponse)]
    return [{"subject": o.trial.subject.name, "opening": o.trial.item,
             "why": o.value.readings[READER].value, "text": marked(o.value.text, (-1, -1)),
             "more": left_out(o.value.text)} for o in found if room.takes([o.value.text])]
