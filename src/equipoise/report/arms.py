"""A run sorted for its page: one arm a subject, answer mode and draw; the cells of each pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from equipoise.instruments.fingerprint.instrument import ORDERS, Choice
from equipoise.instruments.fingerprint.measures import (
    CAUSES,
    Findings,
    Fingerprint,
    Grid,
    analyse,
)
from equipoise.instruments.fingerprint.slot import Cell
from equipoise.instruments.fingerprint.suite import Suite
from equipoise.registration import Registration
from equipoise.terms import Nonresponse, Observation, Trial

Cells = Mapping[tuple[str, str], Observation[Choice]]
"""One pair's cells, by (framing, order)."""

Name = tuple[str, str, int]
"""An arm's subject, answer mode and draw."""

FATES = ("committed", *CAUSES)
SMALL = 400
"""The most pairs of which a page carries every reply."""

MOST_LINES = 6_600
"""The most lines, a pair in an arm each, that a page carries."""

MODES = {
    "free": "answering freely",
    "constrained": "held to the two words",
    "first-token": "by its first token",
}
WHEN = {
    "free": "when it answered freely",
    "constrained": "when it could say nothing but one of the two",
    "first-token": "by the odds of its first token",
}


@dataclass(frozen=True)
class Arm:
    """One subject in one answer mode and draw, read by the primary reader.

    `others` are the same cells by the other readers; `fates` are the pairs by what became of
    them, in the suite's order.
    """

    key: str
    title: str
    found: Fingerprint
    others: tuple[Fingerprint, ...]
    cells: Mapping[str, Cells]
    fates: Mapping[str, tuple[str, ...]]

    @property
    def name(self) -> Name:
        return self.found.subject, self.found.answer, self.found.draw

    @property
    def not_asked(self) -> int:
        return self.found.lost.get("not asked", 0)


@dataclass(frozen=True)
class Gathered:
    """All that a page is made from: the plan, what came of it, and who said what."""

    registration: Registration
    suite: Suite
    findings: Findings
    arms: tuple[Arm, ...]
    reader: str
    places: Mapping[str, int]
    lines: Mapping[str, frozenset[str]]

    @property
    def cells_of_pair(self) -> int:
        return len(self.suite.framings) * len(ORDERS)

    @property
    def large(self) -> bool:
        """Whether the suite is too large for every reply to stand on the page."""
        return len(self.suite.pairs) > SMALL

    def address(self, arm: Arm, item: str) -> str:
        """Where a pair stands on the page, if it does: numbers, never a name someone chose."""
        return f"{arm.key}-p{self.places[item]}" if item in self.lines[arm.key] else ""


def gather(
    registration: Registration,
    suite: Suite,
    observations: Sequence[Observation[Choice]],
) -> Gathered:
    """Sort a run's observations into arms, in the order in which they were registered."""
    findings = analyse(suite, observations)
    reader = registration.primary.rpartition(" ")[2]
    cells: defaultdict[Name, defaultdict[str, dict[tuple[str, str], Observation[Choice]]]]
    cells = defaultdict(lambda: defaultdict(dict))
    for o in observations:
        _, framing, order = o.trial.condition.values()
        cells[name_of(o.trial)][o.trial.item][framing, order] = o
    several = any(draw > 1 for _, _, draw in cells)
    arms = []
    for place, name in enumerate(_ordered(registration, list(cells)), 1):
        read = [f for f in findings.fingerprints if (f.subject, f.answer, f.draw) == name]
        [found] = [f for f in read if f.reader == reader]
        title = f"{name[0]}, {MODES.get(name[1], name[1])}" + (f", draw {name[2]}" if several
                                                              else "")
        arms.append(Arm(f"a{place}", title, found,
                        tuple(f for f in read if f.reader != reader), cells[name],
                        _fates(suite, found)))
    return Gathered(registration, suite, findings, tuple(arms), reader,
                    {item: place for place, item in enumerate(suite.pairs, 1)},
                    {arm.key: _lines(arm, MOST_LINES // len(arms)) for arm in arms})


def name_of(trial: Trial) -> Name:
    """The arm a trial belongs to."""
    return trial.subject.name, trial.condition["answer"], trial.draw


def _lines(arm: Arm, most: int) -> frozenset[str]:
    """The pairs that have a line on the page: all, or where they are too many the first of each
    fate."""
    if len(arm.cells) > most:
        most //= len(arm.fates)
    return frozenset(item for items in arm.fates.values() for item in items[:most])


def _ordered(registration: Registration, names: Sequence[Name]) -> list[Name]:
    subjects = [subject["name"] for subject in registration.subjects]
    answers = list(registration.factors["answer"])
    return sorted(names, key=lambda n: (subjects.index(n[0]), answers.index(n[1]), n[2]))


def _fates(suite: Suite, found: Fingerprint) -> dict[str, tuple[str, ...]]:
    sorted_out: defaultdict[str, list[str]] = defaultdict(list)
    for item in suite.pairs:
        if item in found.fates:
            sorted_out[found.fates[item]].append(item)
    return {fate: tuple(sorted_out[fate]) for fate in FATES if sorted_out[fate]}


def grid(cells: Cells, reader: str) -> Grid:
    """What one reader made of each cell of a pair."""
    return {at: read(o, reader) for at, o in cells.items()}


def read(observation: Observation[Choice], reader: str) -> Cell:
    """What one reader made of a cell."""
    return observation.value.readings[reader].value


def side(suite: Suite, observation: Observation[Choice], reader: str) -> str:
    """`a` or `b` for the word a cell named, empty where it named none."""
    cell = read(observation, reader)
    if isinstance(cell, Nonresponse):
        return ""
    return "ab"[suite.pairs[observation.trial.item].words.index(cell)]
