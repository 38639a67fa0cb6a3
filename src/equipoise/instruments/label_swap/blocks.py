"""A block: one decision in one wording under one pair of labels, and its exact test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING

from equipoise.instruments.label_swap.suite import IDENTICAL, Suite, shown_in
from equipoise.stats.equivalence import Equivalence, equivalence
from equipoise.stats.permutation import SwapTest, swap_test
from equipoise.stats.undefined import Undefined
from equipoise.terms import Nonresponse, Observation, Trial

if TYPE_CHECKING:
    from equipoise.instruments.label_swap.instrument import Stated

FAMILIES = ("matched", "both")


@dataclass(frozen=True)
class Rules:
    """What is fixed before the run: when a block is complete, flagged, neutral; which tests count.

    `min_valid` valid replies in every cell make a matched block complete; three is the least
    with which a block of two strata can be flagged at all (2 of 400 relabellings; with two 2 of
    36). `family` names the tests that are corrected together over subjects: the omnibus of the
    matched condition, or of both conditions.
    """

    min_valid: int = 3
    flag_points: float = 2.0
    neutral_points: float = 2.0
    alpha: float = 0.05
    family: str = "matched"


def least_valid(strata: int, alpha: float = 0.05) -> int:
    """The fewest valid replies in every cell with which a block of so many strata can be flagged.

    >>> least_valid(2), least_valid(1)
    (3, 4)
    """
    return next(m for m in range(1, 100) if 2 / comb(2 * m, m) ** strata < alpha)


@dataclass(frozen=True, slots=True)
class Cell:
    """The draws of one prompt: the probability of picking the first-listed option, in points."""

    asked: str
    described: str
    label: str
    values: tuple[float, ...]
    lost: Mapping[str, int]

    @property
    def n_lost(self) -> int:
        """Asked and lost; what was not asked is not lost."""
        return sum(n for kind, n in self.lost.items() if kind != "not asked")

    @property
    def n_asked(self) -> int:
        return len(self.values) + self.n_lost


@dataclass(frozen=True, slots=True)
class Block:
    """Cells that differ only in labels, descriptions and their order.

    `test` is undefined where a cell holds too few valid replies. `bounds` are the leans, in
    points, if every lost reply had been as extreme as can be, either way (Manski 1989).
    """

    decision: str
    content: str
    wording: str
    pair: str
    cells: tuple[Cell, ...]
    test: SwapTest | Undefined
    neutral: Equivalence | Undefined
    bounds: tuple[float, float]
    position_bounds: tuple[float, float]

    @property
    def name(self) -> tuple[str, str, str, str]:
        return self.decision, self.content, self.wording, self.pair


def blocks(
    suite: Suite, observations: Iterable[Observation[Stated]], reader: str, rules: Rules
) -> tuple[Block, ...]:
    """The blocks of one subject in one answer mode, in the suite's order."""
    places = {shown: place for place, shown in enumerate(suite.cells())}
    found: dict[tuple[str, ...], dict[tuple[str, ...], list[Observation[Stated]]]] = {}
    for o in sorted(observations, key=lambda o: (places[shown_in(o.trial)], o.trial.draw)):
        level = o.trial.condition
        block = o.trial.item, level["content"], level["wording"], level["pair"]
        cell = level["asked"], level["described"], level["label"]
        found.setdefault(block, {}).setdefault(cell, []).append(o)
    return tuple(
        _block(name, [_cell(cell, draws, reader) for cell, draws in cells.items()], rules)
        for name, cells in found.items()
    )


def _cell(name: tuple[str, ...], draws: Iterable[Observation[Stated]], reader: str) -> Cell:
    values: list[float] = []
    lost: Counter[str] = Counter()
    for o in draws:
        value = first_listed(o.trial, o.value.readings[reader].value)
        if isinstance(value, Nonresponse):
            lost[value.kind] += 1
        else:
            values.append(value)
    asked, described, label = name
    return Cell(asked, described, label, tuple(values), dict(lost))


def first_listed(trial: Trial, stated: float | Nonresponse) -> float | Nonresponse:
    """The probability of the first-listed option, from that of the option the question named."""
    if isinstance(stated, Nonresponse) or trial.condition["asked"] == "first":
        return stated
    return 100 - stated


def _block(name: tuple[str, ...], cells: Sequence[Cell], rules: Rules) -> Block:
    decision, content, wording, pair = name
    test = tested(cells, valid_wanted(content, cells, rules), rules)
    return Block(decision, content, wording, pair, tuple(cells), test,
                 _neutral(test, cells, rules), _lean_bounds(cells), _position_bounds(cells))


def _neutral(
    test: SwapTest | Undefined, cells: Sequence[Cell], rules: Rules
) -> Equivalence | Undefined:
    """Whether the lean is shown to be small; replies that are all one number show nothing."""
    if isinstance(test, Undefined):
        return test
    if len({value for cell in cells for value in cell.values}) == 1:
        return Undefined("one_class")
    if isinstance(test.se, Undefined):
        return test.se
    return equivalence(test.lean, test.se, test.df, rules.neutral_points)


def valid_wanted(content: str, cells: Sequence[Cell], rules: Rules) -> int:
    """How many valid replies each cell needs: in the identical condition as many as a flag takes.

    No more than were drawn: with fewer draws than that a block can be complete, never flagged.
    """
    if content != IDENTICAL:
        return rules.min_valid
    drawn = max(len(cell.values) + sum(cell.lost.values()) for cell in cells)
    return identical_valid(len(strata_of(cells)), drawn, rules)


def identical_valid(strata: int, draws: int, rules: Rules) -> int:
    """The valid replies each cell of an identical block of so many strata and draws needs."""
    return min(draws, max(rules.min_valid, least_valid(strata, rules.alpha)))


def tested(cells: Sequence[Cell], min_valid: int, rules: Rules) -> SwapTest | Undefined:
    """The exact label-order test, where every cell holds that many valid replies."""
    if any(len(cell.values) < max(1, min_valid) for cell in cells):
        return Undefined("incomplete")
    values = [(one.values, other.values) for one, other in strata_of(cells)]
    return swap_test(values, alpha=rules.alpha, bound=rules.flag_points)


def strata_of(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """The cells alike in all but the label listed first: label 1 first, label 2 first."""
    by_label: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        by_label.setdefault((cell.asked, cell.described), {})[cell.label] = cell
    return [(both["1"], both["2"]) for both in by_label.values()]


def _lean_bounds(cells: Sequence[Cell]) -> tuple[float, float]:
    """The least and the greatest lean that the lost replies allow."""
    pairs = strata_of(cells)
    low = fmean(_refilled(one, 0) - _refilled(two, 100) for one, two in pairs) / 2
    high = fmean(_refilled(one, 100) - _refilled(two, 0) for one, two in pairs) / 2
    return low, high


def _position_bounds(cells: Sequence[Cell]) -> tuple[float, float]:
    return (fmean(_refilled(cell, 0) for cell in cells) - 50,
            fmean(_refilled(cell, 100) for cell in cells) - 50)


def _refilled(cell: Cell, with_: float) -> float:
    """A cell's mean with every lost reply at one value; one without replies is all lost."""
    lost = sum(cell.lost.values())
    if not cell.values and not lost:
        return float(with_)
    return (sum(cell.values) + lost * with_) / (len(cell.values) + lost)
