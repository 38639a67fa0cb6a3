"""A mean with its t interval; the unit of replication is whatever one value stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import mean, stdev

from equipoise.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its t interval at `confidence`, in the units of the values.

    `n` counts the units of replication, and `method` says how and over what.
    """

    mean: float | Undefined
    se: float | Undefined
    df: float | Undefined
    low: float | Undefined
    high: float | Undefined
    n: int
    method: str
    confidence: float = 0.95


def t_interval(
    values: Sequence[float], confidence: float = 0.95, method: str = "t over units"
) -> Interval:
    """The mean of independent values with Student's (1908) interval, df = n - 1.

    One value has a mean and df 0, but neither standard error nor interval; with no value only the
    counts n and df are there, both 0.
    Raises ValueError when a value is not finite.

    >>> found = t_interval([0.0, 2.0])  # mean 1, se 1; t at df 1 is 12.706
    >>> found.mean, round(found.se, 3), found.df, round(found.low, 3), round(found.high, 3)
    (1.0, 1.0, 1, -11.706, 13.706)
    >>> t_interval([7.0]).low
    Undefined(reason='unit_count_one')
    """
    n = len(values)
    if n == 0:
        none = Undefined("no_data")
        return Interval(none, none, 0, none, none, 0, method, confidence)
    middle = average(values)
    if n == 1:
        none = Undefined("unit_count_one")
        return Interval(middle, none, 0, none, none, 1, method, confidence)
    se = float(stdev(values)) / sqrt(n)
    low, high = limits(middle, se, n - 1, confidence)
    return Interval(middle, se, n - 1, low, high, n, method, confidence)


def limits(middle: float, se: float, df: float, confidence: float = 0.95) -> tuple[float, float]:
    """The two ends of the t interval around `middle`, in its units.

    >>> low, high = limits(0.0, 1.0, df=1)
    >>> round(low, 3), round(high, 3)
    (-12.706, 12.706)
    """
    half = t_quantile((1 + confidence) / 2, df) * se
    return middle - half, middle + half


def t_quantile(p: float, df: float) -> float:
    """The value a t variable with `df` degrees of freedom, whole or not, stays below with chance p.

    Raises ValueError unless 0 < p < 1 and df > 0.

    >>> round(t_quantile(0.75, df=1), 9)  # the quartile of the Cauchy distribution
    1.0
    """
    if not (0 < p < 1 and df > 0):
        raise ValueError(f"no t quantile at p = {p} with {df} degrees of freedom")
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def average(values: Sequence[float]) -> float:
    """The mean, computed exactly and rounded once: in any order the same, of equal values theirs.

    Raises ValueError when there is no value, or one is not finite.

    >>> average([0.1, 0.1, 0.1])
    0.1
    """
    found = float(mean(values))
    if not isfinite(found):
        raise ValueError("a value to average is not finite")
    return found
