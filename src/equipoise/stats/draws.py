"""Several draws of one answer: what most of them say, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.stats.agreement import agreement
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate

Status = Literal["unanimous", "majority", "no_majority", "no_answer"]
STEADY = 0.9


@dataclass(frozen=True, slots=True)
class Majority:
    """The answer of more than half of the planned draws; `valid` draws were not lost."""

    answer: Hashable | Undefined
    status: Status
    valid: int
    planned: int


def majority_of_draws(draws: Sequence[Hashable | None], planned: int) -> Majority:
    """A strict majority of the planned draws; None is a lost draw, and counts against.

    A plurality is not a majority. Unanimous is every planned draw, none lost. Raises ValueError
    unless at least one draw is planned, and no more are given.

    >>> majority_of_draws(["yes", None, "yes"], planned=3).status
    'majority'
    >>> majority_of_draws(["a", "a", "b", "c", "d"], planned=5).answer
    Undefined(reason='no_majority')
    """
    if not 1 <= planned >= len(draws):
        raise ValueError(f"{len(draws)} draws of {planned} planned")
    given = Counter(draw for draw in draws if draw is not None)
    if not given:
        return Majority(Undefined("no_data"), "no_answer", 0, planned)
    (answer, count), valid = given.most_common(1)[0], given.total()
    if 2 * count <= planned:
        return Majority(Undefined("no_majority"), "no_majority", valid, planned)
    return Majority(answer, "unanimous" if count == planned else "majority", valid, planned)


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """How far one variant's draws of the same items agree.

    `pairwise` is the mean share of agreeing pairs of draws over `compared` items, those with two
    valid draws or more. `unanimous`, Fleiss' `kappa` and Gwet's `ac1` are over `complete` items,
    those with every draw valid. Kappa falls to nothing where nearly all answers are of one class,
    and AC1 does not: show both.
    """

    items: int
    compared: int
    complete: int
    pairwise: float | Undefined
    unanimous: Rate
    kappa: float | Undefined
    ac1: float | Undefined

    @property
    def is_steady(self) -> bool:
        """Whether one draw will do in place of a majority: kappa of .9 or more."""
        return not isinstance(self.kappa, Undefined) and self.kappa >= STEADY


def self_agreement(items: Sequence[Sequence[Hashable | None]]) -> SelfAgreement:
    """The agreement of draws within items, one row of draws an item; None is a lost draw.

    Raises ValueError when items differ in how many draws they have.

    >>> found = self_agreement([["a", "a"], ["a", "b"], ["b", None], ["b", "b"]])
    >>> round(found.pairwise, 3), found.unanimous.count, found.unanimous.n
    (0.667, 2, 3)
    """
    found = agreement(items)
    whole = [item for item in items if all(draw is not None for draw in item)]
    complete = agreement(whole)
    return SelfAgreement(
        len(items), found.compared, len(whole), found.percent,
        rate(sum(len(set(item)) == 1 for item in whole), len(whole)),
        complete.fleiss, complete.ac1,
    )
