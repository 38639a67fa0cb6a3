"""A paired replay as one page: the verdict, its lines, the scorecard, and every page behind them.

Nothing is loaded and nothing runs. The same record gives the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from equipoise.instruments.replay.arms import ARMS, Arm, described
from equipoise.instruments.replay.contract import CHECKS, Seen
from equipoise.instruments.replay.measures import Compared, Sample, analyse
from equipoise.instruments.replay.page import AT_STAKE, Page
from equipoise.instruments.replay.suite import MOMENT, Opening, Suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, verdicts, words
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.room import Room
from equipoise.report.visible import LANGUAGE_TAGS, left_out, marked
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Verdict
from equipoise.terms import Nonresponse, Observation

ROOM, ROOM_A_VERSION, ROOM_A_LINE = 7_500_000, 200, 160
SCALE = 100.0
"""Points of a full balance line: a net of every opening."""


@dataclass(frozen=True, slots=True)
class NetRow:
    """One difference on its balance line."""

    name: str
    address: str
    line: Markup
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class LineView:
    """A line of a page, and the biases whose debias the reader found on it."""

    number: int
    text: Markup
    answer: Markup
    settled: bool
    new: bool
    carries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version of the page: what was said, what rode along, and the lines after it."""

    turn: int
    fired: tuple[str, ...]
    reply: Markup
    more: str
    lines: tuple[LineView, ...]


@dataclass(frozen=True, slots=True)
class DrawView:
    """One draw of one arm: its versions, or why it broke off, and what became of each bias.

    `told` is every reply of the reader: the bias and version asked about, the verdict, the words.
    """

    name: str
    versions: tuple[VersionView, ...]
    lost: str
    said: Markup
    fates: tuple[tuple[str, str], ...]
    told: tuple[tuple[str, int, str, Markup], ...]


@dataclass(frozen=True, slots=True)
class OpeningView:
    """An opening with what each arm made of it; `draws` is empty where there was no room."""

    opening: Opening
    address: str
    figures: tuple[str, ...]
    better: str
    draws: tuple[DrawView, ...]
    language: str


def page(
    run: Run, registration: Registration, suite: Suite, taking_part: Any,
    observations: Sequence[Observation[Any]], head: Head,
) -> str:
    """A run's page: one HTML file that needs nothing beside it."""
    findings = analyse(suite, taking_part, registration.draws, observations)
    room = Room(ROOM, ROOM_A_VERSION)
    views = [_comparison(c, suite, observations, room, place)
             for place, c in enumerate(findings.comparisons, 1)]
    return environment().get_template("replay.html.j2").render(
        run=run, registration=registration, suite=suite, part=taking_part, findings=findings,
        views=views, room=room, say=verdicts, style=style("page", "label_swap", "debates",
                                                          "replay"),
        headline=verdicts.headline(findings), asked=words.when(run.at),
        questions=verdicts.questions(suite, taking_part, registration.draws),
        limits=verdicts.limits(suite, taking_part, findings), head=head,
        subjects=[subject_of(s) for s in registration.subjects],
        others=_others(taking_part), arms={name: described(arm) for name, arm in
                                           taking_part.arms.items()},
        clauses=_clauses(suite, taking_part.arms), changes=_changes(suite),
        checks=[c.replace("_", " ") for c in CHECKS],
        command=shlex.quote(run.name), moment=MOMENT,
    )


def _others(taking_part: Any) -> list[tuple[str, dict[str, str]]]:
    roles = [("page-line reader", reader) for reader in taking_part.readers]
    roles += [(name, one) for name, one in (
        ("detector", taking_part.detector), ("quality reader", taking_part.quality),
        ("second engine", taking_part.second)) if one is not None]
    return [(name, subject_of(one.as_json())) for name, one in roles]


def _clauses(suite: Suite, arms: Mapping[str, Arm]) -> list[tuple[str, str, bool]]:
    """The engine's prompt clause by clause, and whether an arm drops it."""
    dropped = {name for arm in arms.values() for name in arm.dropped}
    return [(name, text, name in dropped) for name, text in suite.engine["en"].items()]


def _changes(suite: Suite) -> list[tuple[str, str, str, str]]:
    """Clause by clause, what a changed prompt says otherwise: language, name, before and after."""
    return [(language, name, before, after)
            for language, clauses in suite.changed.items()
            for name in dict.fromkeys((*suite.engine[language], *clauses))
            if (before := suite.engine[language].get(name, "")) != (after := clauses.get(name, ""))]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """One comparison as the page shows it."""

    key: str
    title: str
    c: Compared
    whole: NetRow
    biases: tuple[NetRow, ...]
    openings: tuple[OpeningView, ...]
    shows: tuple[str, ...]
    by_bias: tuple[str, ...]


def _comparison(
    c: Compared, suite: Suite, observations: Sequence[Observation[Any]], room: Room, place: int
) -> ComparisonView:
    key = f"c{place}"
    mine: dict[str, list[Observation[Any]]] = {}
    for o in observations:
        if (o.trial.subject.name, o.trial.condition["answer"]) == (c.subject, c.answer):
            mine.setdefault(o.trial.item, []).append(o)
    by_opening = {s.opening: s for s in c.samples}
    openings = tuple(
        _opening(c, by_opening.get(name), suite, mine.get(name, []), room, f"{key}-o{at}")
        for at, (name, _) in enumerate(suite.openings.items(), 1))
    return ComparisonView(
        key, f"{c.subject} · {c.answer} · read by {c.reader}", c,
        _net(c.verdict, "all biases", f"#{key}-openings", ""),
        tuple(_net(row.verdict, suite.biases[bias].title["en"], f"#{key}-openings",
                   f"after Holm {words.p_value(row.holm)}")
              for bias, row in c.by_bias.items()),
        openings, tuple(verdicts.shows(c)), tuple(verdicts.by_bias(c)),
    )


def _net(v: Verdict, name: str, address: str, more: str) -> NetRow:
    line = charts.forest(v.net_points, v.low_points, v.high_points, SCALE,
                         full=v.kind in ("better", "worse"))
    value = (words.number(v.net_points, 0, signed=True) if isinstance(v.low_points, Undefined)
             else f"{words.number(v.net_points, 0, signed=True)}"
             f" [{words.number(v.low_points, 0, signed=True)},"
             f" {words.number(v.high_points, 0, signed=True)}]")
    if not v.n:
        return NetRow(name, address, line, value, "no opening whose labels hold it was compared")
    note = f"{v.wins} better, {v.losses} worse of {v.n}; p {words.p_value(v.p)}"
    return NetRow(name, address, line, value, f"{note}; {more}" if more else note)


def _opening(
    c: Compared, sample: Sample | None, suite: Suite, observations: Sequence[Observation[Any]],
    room: Room, address: str,
) -> OpeningView:
    opening = suite.openings[observations[0].trial.item if observations else sample_name(sample)]
    ordered = sorted(observations, key=lambda o: (ARMS.index(o.trial.condition["arm"]),
                                                  o.trial.draw))
    texts = [text for o in ordered for text in (
        *o.value.replies, o.value.text,
        *(t for of in o.value.told.get(c.reader, {}).values() for t in of))]
    lines = sum(len(version.lines) for o in ordered for version in o.value.versions)
    draws = tuple(_draw(o, c.reader) for o in ordered) if room.takes(
        texts, ROOM_A_LINE * lines) else ()
    figures = tuple(verdicts.cell(sample.figures[arm]) for arm in ARMS) if sample else ()
    sign = sample.sign if sample else Nonresponse("not asked")
    better = "" if isinstance(sign, Nonresponse) or not sign else "B" if sign > 0 else "A"
    return OpeningView(opening, address, figures, better, draws,
                       LANGUAGE_TAGS.get(opening.language, ""))


def sample_name(sample: Sample | None) -> str:
    """The name of a sample's opening."""
    return sample.opening if sample else ""


def _draw(o: Observation[Any], reader: str) -> DrawView:
    value = o.value
    reading = next(iter(value.readings.values()))
    lost = reading.value
    seen = value.seen.get(reader, {})
    versions = tuple(
        _version(number, value, {bias: readings[number] for bias, readings in seen.items()})
        for number in range(len(value.versions)))
    fates = tuple((bias, _fate(fate)) for bias, fate in value.fates.get(reader, {}).items()
                  if fate.identified or fate.misfires or fate.shown is True)
    return DrawView(
        f"{o.trial.condition['arm']}, draw {o.trial.draw}", versions,
        f"{lost.kind}: {lost.detail}" if isinstance(lost, Nonresponse) else "",
        marked(value.text, reading.span) if isinstance(lost, Nonresponse) else Markup(""), fates,
        tuple(_told(value, reader, seen)))


def _told(value: Any, reader: str, seen: Mapping[str, Any]) -> list[tuple[str, int, str, Markup]]:
    return [(bias, version, _verdict(seen[bias][version]), marked(text, (-1, -1)))
            for bias, texts in value.told.get(reader, {}).items()
            for version, text in enumerate(texts) if text]


def _verdict(reading: Any) -> str:
    value = reading.value
    if isinstance(value, Nonresponse):
        return value.kind
    return f"{value.verdict} on line {value.line}" if value.verdict == "met" else str(value.verdict)


def _fate(fate: Any) -> str:
    shown = ("waits for a person" if isinstance(fate.shown, Nonresponse)
             else "shown" if fate.shown else "not shown")
    said = [shown if fate.identified else f"no bias in the labels, {shown}"]
    if fate.shown is True and isinstance(fate.outcome, str) and fate.identified:
        said.append(fate.outcome)
    return "; ".join([*said, *(f"misfire: {why}" for why in fate.misfires)])


def _version(number: int, value: Any, seen: Mapping[str, Any]) -> VersionView:
    page_, before = value.versions[number], value.versions[max(number - 1, 0)]
    carried: dict[int, list[str]] = {}
    for bias, reading in seen.items():
        if isinstance(reading.value, Seen) and reading.value.verdict == "met":
            carried.setdefault(reading.value.line, []).append(bias)
    text = value.replies[number - 1] if number else ""
    return VersionView(
        number, value.fired[number - 1] if number else (), marked(text, (-1, -1)), left_out(text),
        tuple(_lines(page_, before, carried, number > 0)))


def _lines(
    shown: Page, before: Page, carried: Mapping[int, list[str]], changed: bool
) -> list[LineView]:
    plain = (-1, -1)
    stake = [LineView(
        AT_STAKE, marked(shown.at_stake, plain), Markup(""), False,
        changed and shown.at_stake != before.at_stake, tuple(carried.get(AT_STAKE, ())),
    )] if shown.at_stake else []
    return stake + [LineView(
        line.number, marked(line.text, plain), marked(line.answer, plain), line.settled,
        changed and line != before.line(line.number), tuple(carried.get(line.number, ())),
    ) for line in shown.lines]
