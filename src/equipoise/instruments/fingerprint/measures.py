"""Commitment, why the rest did not commit, position following, framing and language effects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING

from equipoise.instruments.fingerprint.slot import Cell, Slot, coin_floor, false_commits, slot
from equipoise.instruments.fingerprint.suite import Suite
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Nonresponse, Observation, Trial

if TYPE_CHECKING:
    from equipoise.instruments.fingerprint.instrument import Choice

Grid = Mapping[tuple[str, str], Cell]
"""One pair's cells, by (framing, order)."""

CAUSES = ("dissent", "position", "refused", "unclear", "truncated", "invalid", "error", "not asked")


@dataclass(frozen=True, slots=True)
class Position:
    """Both orders of one pair in one framing, where both picked: what the swap showed.

    `same` named one word both times, `first` whatever was named first, `last` whatever was last.
    """

    same: int
    first: int
    last: int

    @property
    def n(self) -> int:
        return self.same + self.first + self.last


@dataclass(frozen=True, slots=True)
class FramingEffect:
    """One framing beside the others.

    `picked` is the share of its cells that named a word; `against` the share of pairs with a
    majority in the other framings where its own picks lean the other way.
    """

    picked: Rate
    lost: Mapping[str, int]
    position: Position
    against: Rate


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One subject in one answer mode, as one reader reads it."""

    subject: str
    answer: str
    reader: str
    draw: int
    slots: Mapping[str, Slot]
    cells: Rate
    lost: Mapping[str, int]
    commits: Rate
    causes: Mapping[str, int]
    sharpness: float | Undefined
    sharpness_floor: float | Undefined
    expected_false_commits: float
    position: Position
    framings: Mapping[str, FramingEffect]
    languages: Mapping[str, Rate]


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell that two readers read differently."""

    trial: Trial
    text: str
    readings: Mapping[str, str]
    rules: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Findings:
    """Every fingerprint, by (subject, answer, draw, reader), and where readers differ."""

    fingerprints: tuple[Fingerprint, ...]
    differences: tuple[Difference, ...]
    compared: int


def analyse(suite: Suite, observations: Sequence[Observation[Choice]]) -> Findings:
    """Fingerprints from observations, in the order subjects, modes and readers first appear."""
    grids: defaultdict[tuple[str, str, int, str], defaultdict[str, dict[tuple[str, str], Cell]]]
    grids = defaultdict(lambda: defaultdict(dict))
    differences = []
    for o in observations:
        trial, readings = o.trial, o.value.readings
        answer, framing, order = trial.condition.values()
        for reader, reading in readings.items():
            name = (trial.subject.name, answer, trial.draw, reader)
            grids[name][trial.item][framing, order] = reading.value
        if len({said(reading.value) for reading in readings.values()}) > 1:
            differences.append(_difference(o))
    halted = any(
        cell == Nonresponse("not asked")
        for grid in grids.values() for pair in grid.values() for cell in pair.values()
    )
    found = tuple(_fingerprint(suite, name, grid, halted) for name, grid in grids.items())
    return Findings(found, tuple(differences), len(observations))


def said(cell: Cell) -> str:
    """A cell in one word: the word picked, or the kind of nonresponse."""
    return cell.kind if isinstance(cell, Nonresponse) else cell


def _difference(o: Observation[Choice]) -> Difference:
    return Difference(
        o.trial, o.value.text,
        {name: said(reading.value) for name, reading in o.value.readings.items()},
        {name: reading.rule for name, reading in o.value.readings.items()},
    )


def _fingerprint(
    suite: Suite, name: tuple[str, str, int, str], grids: Mapping[str, Grid], halted: bool
) -> Fingerprint:
    subject, answer, draw, reader = name
    wanted = 2 * len(suite.framings)
    slots = {
        item: slot(list(grid.values()), suite.pairs[item].words, wanted)
        for item, grid in grids.items()
    }
    lost: Counter[str] = Counter()
    for found in slots.values():
        lost.update(found.lost)
    picked = sum(found.picked for found in slots.values())
    causes = Counter(cause(suite, item, grids[item], slots[item]) for item in slots)
    sharp = [s for s in slots.values() if not isinstance(s.sharpness, Undefined)]
    unsharp = Undefined("until_dissent" if halted else "no_data")
    swaps = {item: _swaps(suite, item, grid) for item, grid in grids.items()}
    return Fingerprint(
        subject, answer, reader, draw, slots,
        rate(picked, picked + lost.total()), dict(lost),
        rate(causes.pop("committed", 0), len(slots)),
        {kind: causes[kind] for kind in CAUSES if causes[kind]},
        _mean([s.sharpness for s in sharp]) if sharp and not halted else unsharp,
        _mean([coin_floor(s.picked) for s in sharp]) if sharp and not halted else unsharp,
        false_commits(len(slots), wanted),
        _position(swap for found in swaps.values() for swap in found.values()),
        {framing: _framing(framing, suite, grids, swaps) for framing in suite.framings},
        _languages(suite, grids),
    )


def _mean(numbers: Sequence[float | Undefined]) -> float:
    return fmean(n for n in numbers if not isinstance(n, Undefined))


def cause(suite: Suite, item: str, grid: Grid, found: Slot) -> str:
    """Why a pair did not commit, or `committed`: one cause a pair.

    Cells that named both words are a dissent; it is put down to position when in every framing
    that picked both times the pick moved with the order, always the same way, and there were at
    least two such framings. Where no second word was named, the cause is the commonest loss.
    """
    if not isinstance(found.committed, Nonresponse):
        return "committed"
    if min(found.picks.values()) == 0:
        ranked = sorted(found.lost.items(), key=lambda kind: (-kind[1], CAUSES.index(kind[0])))
        return ranked[0][0] if ranked else "not asked"
    swaps = list(_swaps(suite, item, grid).values())
    moved = len(swaps) >= 2 and (set(swaps) == {"first"} or set(swaps) == {"last"})
    return "position" if moved else "dissent"


def _swaps(suite: Suite, item: str, grid: Grid) -> dict[str, str]:
    """For each framing that picked in both orders: `same`, `first` or `last`."""
    a, b = suite.pairs[item].words
    kinds = {(a, a): "same", (b, b): "same", (a, b): "first", (b, a): "last"}
    found = {}
    for framing in suite.framings:
        ab, ba = grid.get((framing, "ab")), grid.get((framing, "ba"))
        if isinstance(ab, str) and isinstance(ba, str):
            found[framing] = kinds[ab, ba]
    return found


def _position(swaps: object) -> Position:
    counted = Counter(swaps)  # type: ignore[call-overload]
    return Position(counted["same"], counted["first"], counted["last"])


def _framing(
    framing: str,
    suite: Suite,
    grids: Mapping[str, Grid],
    swaps: Mapping[str, Mapping[str, str]],
) -> FramingEffect:
    lost: Counter[str] = Counter()
    picked = against = compared = 0
    for item, grid in grids.items():
        own, others = 0, 0
        a, _ = suite.pairs[item].words
        for (where, _), cell in grid.items():
            sign = 0 if isinstance(cell, Nonresponse) else (1 if cell == a else -1)
            if where == framing:
                own += sign
                picked += sign != 0
                if isinstance(cell, Nonresponse):
                    lost[cell.kind] += 1
            else:
                others += sign
        if own and others:
            compared += 1
            against += (own > 0) != (others > 0)
    return FramingEffect(
        rate(picked, picked + lost.total()), dict(lost),
        _position(found[framing] for found in swaps.values() if framing in found),
        rate(against, compared),
    )


def _languages(suite: Suite, grids: Mapping[str, Grid]) -> dict[str, Rate]:
    """For two languages: of the pairs in which each is unanimous, how many name the same word."""
    spoken = {name: framing.language for name, framing in suite.framings.items()}
    held: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for item, grid in grids.items():
        said_in: defaultdict[str, set[Cell]] = defaultdict(set)
        for (framing, _), cell in grid.items():
            said_in[spoken[framing]].add(cell)
        for language, cells in said_in.items():
            only = next(iter(cells))
            if len(cells) == 1 and isinstance(only, str):
                held[language][item] = only
    found = {}
    for one, other in combinations(dict.fromkeys(spoken.values()), 2):
        both = held[one].keys() & held[other].keys()
        found[f"{one}–{other}"] = rate(
            sum(held[one][item] == held[other][item] for item in both), len(both)
        )
    return found
