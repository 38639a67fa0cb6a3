"""Commitment, why the rest did not commit, position following, framing and language effects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """One subject in one answer mode, as one reader reads it.

    `fates` says of each pair `committed` or why it did not; `causes` counts the latter.
    """

    subject: str
    answer: str
    reader: str
    draw: int
    slots: Mapping[str, Slot]
    cells: Rate
    lost: Mapping[str, int]
    commits: Rate
    fates: Mapping[str, str]
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
    grids: dict[tuple[str, str, int], dict[str, dict[str, dict[tuple[str, str], Cell]]]] = {}
    differences = []
    for o in observations:
        trial, readings = o.trial, o.value.readings
        answer, framing, order = trial.condition.values()
        cell, whose = (framing, order), (trial.subject.name, answer, trial.draw)
        if (mine := grids.get(whose)) is None:
            mine = grids[whose] = {reader: {} for reader in readings}
        for reader, reading in readings.items():
            items = mine[reader]
            if (grid := items.get(trial.item)) is None:
                grid = items[trial.item] = {}
            grid[cell] = reading.value
        values = [reading.value for reading in readings.values()]
        if values.count(values[0]) < len(values) and len(set(map(said, values))) > 1:
            differences.append(_difference(o))
    found = [f for whose, mine in grids.items() for f in _fingerprints(suite, whose, mine)]
    return Findings(tuple(found), tuple(differences), len(observations))


def _fingerprints(
    suite: Suite, whose: tuple[str, str, int], grids: Mapping[str, Mapping[str, Grid]]
) -> Iterator[Fingerprint]:
    """A fingerprint for every reader; readers that read all cells alike share the work."""
    first: tuple[Mapping[str, Grid], Fingerprint] | None = None
    for reader, grid in grids.items():
        if first is not None and first[0] == grid:
            yield replace(first[1], reader=reader)
            continue
        found = _fingerprint(suite, (*whose, reader), grid)
        first = first or (grid, found)
        yield found


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
    suite: Suite, name: tuple[str, str, int, str], grids: Mapping[str, Grid]
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
    swaps = {item: swapped(suite, item, grid) for item, grid in grids.items()}
    fates = {item: cause(slots[item], swaps[item]) for item in slots}
    causes = Counter(fates.values())
    sharp = [s for s in slots.values() if not isinstance(s.sharpness, Undefined)]
    unsharp = Undefined("incomplete" if lost["not asked"] else "no_data")
    whole = bool(sharp) and not lost["not asked"]
    return Fingerprint(
        subject, answer, reader, draw, slots,
        rate(picked, picked + lost.total() - lost["not asked"]), dict(lost),
        rate(causes["committed"], len(slots)), fates,
        {kind: causes[kind] for kind in CAUSES if causes[kind]},
        _mean([s.sharpness for s in sharp]) if whole else unsharp,
        _mean([coin_floor(s.picked) for s in sharp]) if whole else unsharp,
        false_commits(len(slots), wanted),
        _position(swap for found in swaps.values() for swap in found.values()),
        _framings(suite, grids, swaps),
        _languages(suite, grids),
    )


def _mean(numbers: Sequence[float | Undefined]) -> float:
    return fmean(n for n in numbers if not isinstance(n, Undefined))


def cause(found: Slot, swaps: Mapping[str, str]) -> str:
    """Why a pair did not commit, or `committed`: one cause a pair.

    Cells that named both words are a dissent; it is put down to position when every cell was
    asked and, in at least two framings and in all that picked both times, the pick moved with
    the order, always the same way. Where no second word was named, the cause is the commonest
    loss, and `not asked` only where no cell was lost otherwise.
    """
    if not isinstance(found.committed, Nonresponse):
        return "committed"
    if min(found.picks.values()) == 0:
        ranked = sorted(found.lost.items(), key=lambda kind: (
            kind[0] == "not asked", -kind[1], CAUSES.index(kind[0])))
        return ranked[0][0] if ranked else "not asked"
    moved = len(swaps) >= 2 and set(swaps.values()) in ({"first"}, {"last"})
    return "position" if moved and not found.lost.get("not asked") else "dissent"


def swapped(suite: Suite, item: str, grid: Grid) -> dict[str, str]:
    """For each framing that picked in both orders: `same`, `first` or `last`."""
    a, _ = suite.pairs[item].words
    found = {}
    for framing in suite.framings:
        ab, ba = grid.get((framing, "ab")), grid.get((framing, "ba"))
        if isinstance(ab, str) and isinstance(ba, str):
            found[framing] = "same" if ab == ba else "first" if ab == a else "last"
    return found


def _position(swaps: Iterable[str]) -> Position:
    counted = Counter(swaps)
    return Position(counted["same"], counted["first"], counted["last"])


def _framings(
    suite: Suite, grids: Mapping[str, Grid], swaps: Mapping[str, Mapping[str, str]]
) -> dict[str, FramingEffect]:
    """Every framing beside the others, in one pass over the cells."""
    lost: dict[str, Counter[str]] = {name: Counter() for name in suite.framings}
    picked = dict.fromkeys(suite.framings, 0)
    against, compared = dict(picked), dict(picked)
    for item, grid in grids.items():
        leans = _leans(suite.pairs[item].words[0], grid, picked, lost)
        total = sum(leans.values())
        for name, own in leans.items():
            others = total - own
            if own and others:
                compared[name] += 1
                against[name] += (own > 0) != (others > 0)
    return {
        name: FramingEffect(
            rate(picked[name], picked[name] + lost[name].total() - lost[name]["not asked"]),
            dict(lost[name]),
            _position(found[name] for found in swaps.values() if name in found),
            rate(against[name], compared[name]),
        )
        for name in suite.framings
    }


def _leans(
    a: str, grid: Grid, picked: dict[str, int], lost: Mapping[str, Counter[str]]
) -> dict[str, int]:
    """For each framing its picks of `a` less those of the other word; counts picks and losses."""
    leans: dict[str, int] = {}
    for (name, _), cell in grid.items():
        if isinstance(cell, str):
            picked[name] += 1
            leans[name] = leans.get(name, 0) + (1 if cell == a else -1)
        else:
            lost[name][cell.kind] += 1
    return leans


def _languages(suite: Suite, grids: Mapping[str, Grid]) -> dict[str, Rate]:
    """For two languages: of the pairs in which each is unanimous, how many name the same word."""
    words = [held(suite, grid) for grid in grids.values()]
    found = {}
    spoken = dict.fromkeys(framing.language for framing in suite.framings.values())
    for one, other in combinations(spoken, 2):
        both = [word for word in words if one in word and other in word]
        found[f"{one}–{other}"] = rate(sum(word[one] == word[other] for word in both), len(both))
    return found


def held(suite: Suite, grid: Grid) -> dict[str, str]:
    """For each language whose cells of a pair all name one word, that word."""
    said_in: defaultdict[str, set[Cell]] = defaultdict(set)
    for (framing, _), cell in grid.items():
        said_in[suite.framings[framing].language].add(cell)
    alone = {language: next(iter(cells)) for language, cells in said_in.items() if len(cells) == 1}
    return {language: word for language, word in alone.items() if isinstance(word, str)}
