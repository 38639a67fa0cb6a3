"""The difference of two proportions measured on the same units, with its exact p and intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate

STEPS = 200


@dataclass(frozen=True, slots=True)
class Paired:
    """Of n units `first_only` have the first property alone, `second_only` the second alone.

    `difference` is the first proportion less the second. `p` is the exact two-sided McNemar test
    (a sign test on the discordant units), `p_mid` its mid-p. `low` to `high` is Tango's (1998)
    score interval, the primary one; `newcombe_low` to `newcombe_high` Newcombe's (1998) method 10.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    difference: float | Undefined
    p: float
    p_mid: float
    low: float | Undefined
    high: float | Undefined
    newcombe_low: float | Undefined
    newcombe_high: float | Undefined
    confidence: float = 0.95

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither


def paired(
    both: int, first_only: int, second_only: int, neither: int, confidence: float = 0.95
) -> Paired:
    """Compare two proportions on the same units; without units all but p, 1, is undefined.

    An exact p and a score interval can disagree at the margin: the p decides. Raises ValueError
    for a count below zero.

    >>> found = paired(0, 5, 0, 19)
    >>> found.difference, found.p
    (0.20833333333333334, 0.0625)
    """
    counts = both, first_only, second_only, neither
    if min(counts) < 0:
        raise ValueError(f"{counts} are not counts")
    n = sum(counts)
    if n == 0:
        none = Undefined("no_data")
        return Paired(*counts, none, 1.0, 1.0, none, none, none, none, confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = _tango(first_only, second_only, n, z)
    newcombe = _newcombe(counts, confidence)
    p, at = _sign(first_only, second_only)
    return Paired(*counts, (first_only - second_only) / n, p, p - at, low, high, *newcombe,
                  confidence)


def _sign(b: int, c: int) -> tuple[float, float]:
    """The two-sided exact sign test, and the chance of what was seen, that the mid-p takes off."""
    total = b + c
    tail = sum(comb(total, k) for k in range(min(b, c) + 1))
    p = min(1.0, 2 * tail / 2 ** total)
    point = comb(total, b) / 2 ** total
    return p, point if b != c else 0.0


def _tango(b: int, c: int, n: int, z: float) -> tuple[float, float]:
    """The differences that a score test at this z does not reject."""

    def score(delta: float) -> float:
        return tango_score(b, c, n, delta)

    at = (b - c) / n
    low = -1.0 if score(-1.0) <= z else _bisected(lambda d: score(d) > z, -1.0, at)
    high = 1.0 if score(1.0) >= -z else _bisected(lambda d: score(d) >= -z, at, 1.0)
    return low, high


def tango_score(first_only: int, second_only: int, n: int, difference: float) -> float:
    """Tango's (1998) z: how far n units lie above this true difference, in standard errors.

    The standard error is that of the most likely proportions that have the difference. Where they
    leave no spread z is 0 or infinite.

    >>> round(tango_score(0, 0, 36, -0.1), 9)  # 3.6 units above, variance 36 (.2 - .11)
    2.0
    """
    up = 2 * n
    mid = -first_only - second_only + (2 * n - first_only + second_only) * difference
    down = -second_only * difference * (1 - difference)
    q = (sqrt(max(0.0, mid * mid - 4 * up * down)) - mid) / (2 * up)
    variance = n * (2 * q + difference * (1 - difference))
    gap = first_only - second_only - n * difference
    if variance <= 0:
        return 0.0 if gap == 0 else float("inf") if gap > 0 else float("-inf")
    return gap / sqrt(variance)


def _bisected(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds at `low` and not at `high` ends."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def _newcombe(counts: tuple[int, int, int, int], confidence: float) -> tuple[float, float]:
    """Wilson intervals of the two proportions, squared and added, less their correlation."""
    a, b, c, d = counts
    n = sum(counts)
    first, second = rate(a + b, n, confidence), rate(a + c, n, confidence)
    ends = []
    for found in (first, second):
        assert not isinstance(found.low, Undefined) and not isinstance(found.high, Undefined)
        ends.append((found.low, found.high))
    (low_1, high_1), (low_2, high_2) = ends
    p_1, p_2 = (a + b) / n, (a + c) / n
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    product = a * d - b * c
    corrected = max(product - n / 2, 0.0) if product > 0 else product
    phi = corrected / sqrt(margins) if margins else 0.0
    below, above = p_1 - low_1, high_2 - p_2
    over, under = high_1 - p_1, p_2 - low_2
    low = p_1 - p_2 - sqrt(max(0.0, below ** 2 - 2 * phi * below * above + above ** 2))
    high = p_1 - p_2 + sqrt(max(0.0, over ** 2 - 2 * phi * over * under + under ** 2))
    return low, high
