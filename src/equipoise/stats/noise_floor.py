"""How much two runs of the same variant differ, and the net swing that noise alone makes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """Two identical runs of the same units: how many differ, gross and net.

    `gross` is the share that differ. `net` is how many units noise swings one way, within 95% of
    the time, and `net_points` the same in points of 100 of the `n` units that both runs answered:
    that is what a verdict's gap is compared with, since both are net. `missing` units are in
    neither.
    """

    n: int
    missing: int
    differing: int
    gross: Rate
    net: int
    net_points: float | Undefined


def noise_floor(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None]
) -> NoiseFloor:
    """The floor from two runs' answers, unit by unit; None is a missing answer.

    With k draws a unit give each run's majority answers: the floor is that of what is compared.
    Raises ValueError when the runs differ in length.

    >>> found = noise_floor(["a", "b", "a", None], ["a", "a", "b", "a"])
    >>> found.differing, found.n, found.net, round(found.net_points, 1)
    (2, 3, 2, 66.7)
    """
    both = [(one, other) for one, other in zip(first, second, strict=True)
            if one is not None and other is not None]
    differing = sum(one != other for one, other in both)
    return floor_of(differing, len(both), len(first) - len(both))


def floor_of(differing: int, n: int, missing: int = 0) -> NoiseFloor:
    """The floor when `differing` of n units that both runs answered differ.

    >>> round(floor_of(differing=55, n=155).net_points, 1)  # gross 35.5, and net
    9.7
    """
    net = net_95(differing)
    none = Undefined("no_overlap" if missing else "no_data")
    return NoiseFloor(
        n, missing, differing, rate(differing, n), net, 100 * net / n if n else none)


@lru_cache(maxsize=4096)
def net_95(differing: int) -> int:
    """The smallest g with P(|2W - D| <= g) >= .95, W ~ Bin(D, 1/2), in whole numbers.

    It bounds wins less losses among D units that differ by chance.

    >>> net_95(0), net_95(1), net_95(8)
    (0, 1, 6)
    """
    # One unit fewer wins on either side, until fewer than .95 would be left.
    outside, ways = 0, 1
    for wins in range(differing // 2 + 1):
        if 20 * 2 * (outside + ways) > 2 ** differing:
            return differing - 2 * wins
        outside += ways
        ways = ways * (differing - wins) // (wins + 1)
    return differing % 2
