"""Whether the verdicts so far make a change ready to ship."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Kind

Rule = Literal["two_independent_better", "single_twice_floor", "none"]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """A verdict of one run, with the hash of the samples it was on where that is known."""

    run: str
    kind: Kind
    net_points: float | Undefined
    floor_points: float | Undefined
    samples: str = ""


@dataclass(frozen=True, slots=True)
class Shipping:
    """Whether a change is ready to ship, and by which rule.

    `same_samples`: both runs were on the same samples, so that only the model's noise is beaten.
    `worse` names the runs that found it worse, which the rule does not weigh and a person should.
    """

    ship: bool
    rule: Rule
    same_samples: bool
    worse: tuple[str, ...]


def shipping(verdicts: Sequence[RunVerdict]) -> Shipping:
    """Ready with *better* in two distinct runs, or one *better* by twice its noise floor or more.

    Chance gives two false ones with probability .000625 at the most. Source: golden ship_rule.

    >>> shipping([RunVerdict("r1", "better", 34.0, 17.0)]).rule
    'single_twice_floor'
    """
    better = {each.run: each for each in verdicts if each.kind == "better"}
    worse = tuple(dict.fromkeys(each.run for each in verdicts if each.kind == "worse"))
    if len(better) >= 2:
        samples = {each.samples for each in better.values()}
        same = len(samples) == 1 and "" not in samples
        return Shipping(True, "two_independent_better", same, worse)
    if any(_twice(each) for each in better.values()):
        return Shipping(True, "single_twice_floor", False, worse)
    return Shipping(False, "none", False, worse)


def _twice(each: RunVerdict) -> bool:
    # Points are one division of whole numbers, rounded once: equal fractions are equal here too.
    net, floor = each.net_points, each.floor_points
    return not isinstance(net, Undefined) and not isinstance(floor, Undefined) and net >= 2 * floor
