"""A rate with its numerator, denominator and interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from equipoise.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `n`, with the Wilson (1927) score interval at `confidence`; proportions 0 to 1."""

    count: int
    n: int
    estimate: float | Undefined
    low: float | Undefined
    high: float | Undefined
    confidence: float = 0.95


def rate(count: int, n: int, confidence: float = 0.95) -> Rate:
    """A rate and its Wilson score interval, without continuity correction.

    The interval is exactly 0 below when nothing succeeded and exactly 1 above when all did;
    with n = 0 estimate and interval are undefined. Raises ValueError when count is not in 0..n.

    >>> found = rate(0, 24)
    >>> found.low, round(found.high, 4)
    (0.0, 0.138)
    >>> rate(0, 0).estimate
    Undefined(reason='no_data')
    """
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is not a rate")
    if n == 0:
        none = Undefined("no_data")
        return Rate(0, 0, none, none, none, confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, zz = count / n, z * z / n
    centre, half = (p + zz / 2) / (1 + zz), z * sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz)
    low = 0.0 if count == 0 else centre - half
    high = 1.0 if count == n else centre + half
    return Rate(count, n, p, low, high, confidence)
