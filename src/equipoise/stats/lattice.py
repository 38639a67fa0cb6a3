"""Exact distributions on an integer lattice: how many relabellings give each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, gcd, lcm

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINEST = 1000
DIRECT = 500_000_000
MOST_EXACT = 2.0 ** 53


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """`counts[i]` of the equally likely cases give the value `start + step * i`.

    Counts are whole numbers held as floats, exact up to 2^53 cases in all; of more cases they
    are shares that sum to 1.
    """

    start: int
    step: int
    counts: Floats

    @property
    def values(self) -> Integers:
        return self.start + self.step * np.arange(len(self.counts), dtype=np.int64)

    @property
    def is_exact(self) -> bool:
        """Whether the counts are whole numbers; shares sum to 1, and no stratum has one case."""
        return self.total > 1.5

    @property
    def total(self) -> float:
        return float(self.counts.sum())


def scale(values: Sequence[float]) -> int:
    """The least whole number that makes every value whole, or 1,000 where it would be larger.

    >>> scale([50.0, 61.0]), scale([62.5]), scale([100 / 3, 0.25])
    (1, 2, 12)
    """
    if all(float(value).is_integer() for value in values):
        return 1
    found = lcm(*(Fraction(value).limit_denominator(FINEST).denominator for value in values))
    return found if found <= FINEST else FINEST


def scaled(values: Sequence[float], by: int) -> list[int]:
    """The values in units of 1/`by`."""
    return [round(value * by) for value in values]


def subset_sums(values: Sequence[int], size: int) -> Distribution:
    """The sums of all subsets of `size` of the values, as often as each occurs.

    By adding one value after the other, never by listing the subsets.

    >>> found = subset_sums([1, 2, 4], 2)
    >>> dict(zip(found.values.tolist(), found.counts.tolist()))
    {3: 1.0, 4: 0.0, 5: 1.0, 6: 1.0}
    """
    least = min(values)
    step = gcd(*(value - least for value in values)) or 1
    above = sorted((value - least) // step for value in values)
    span = sum(above[len(above) - size:]) + 1
    counts = np.zeros((size + 1, span))
    counts[0, 0] = 1.0
    halved = 1.0 if comb(len(values), size) <= MOST_EXACT else 0.5
    for value in above:
        counts[1:, value:] += counts[:-1, : span - value].copy()
        counts *= halved
    first = sum(above[:size])
    found = counts[size, first:].copy()
    return Distribution(size * least + step * first, step,
                        found if halved == 1.0 else found / found.sum())


def moved(found: Distribution, times: int, less: int) -> Distribution:
    """The distribution of `times * value - less`, for `times` above zero."""
    return Distribution(found.start * times - less, found.step * times, found.counts)


def added(one: Distribution, other: Distribution) -> Distribution:
    """The distribution of the sum of two independent values, by integer convolution.

    >>> coin = Distribution(0, 1, np.array([1.0, 1.0]))
    >>> added(coin, coin).counts.tolist()
    [1.0, 2.0, 1.0]
    """
    step = gcd(one.step, other.step)
    a, b = _spread(one, step), _spread(other, step)
    if one.total * other.total > MOST_EXACT or not (one.is_exact and other.is_exact):
        counts = _convolved(a / one.total, b / other.total, whole=False)
        return Distribution(one.start + other.start, step, counts / counts.sum())
    return Distribution(one.start + other.start, step, _convolved(a, b, whole=True))


def _spread(found: Distribution, step: int) -> Floats:
    """The counts on a lattice as fine as `step`."""
    apart = found.step // step
    if apart == 1 or len(found.counts) == 1:
        return found.counts
    counts = np.zeros((len(found.counts) - 1) * apart + 1)
    counts[::apart] = found.counts
    return counts


def _convolved(a: Floats, b: Floats, *, whole: bool) -> Floats:
    if len(a) * len(b) <= DIRECT:
        return np.convolve(a, b)
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:length]
    return np.maximum(np.rint(product) if whole else product, 0.0)


def relabellings(sizes: Sequence[tuple[int, int]]) -> int:
    """How many ways to relabel within strata of (n1, n2) each, counts held.

    >>> relabellings([(5, 5), (5, 5)])
    63504
    """
    ways = 1
    for n1, n2 in sizes:
        ways *= comb(n1 + n2, n1)
    return ways
