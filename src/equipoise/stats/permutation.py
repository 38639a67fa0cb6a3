"""The exact label-order test of one block, and the omnibus over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import ceil, gcd, lcm, sqrt
from typing import Literal

import numpy as np

from equipoise.stats.lattice import (
    Distribution,
    Floats,
    Integers,
    added,
    moved,
    relabellings,
    scale,
    scaled,
    subset_sums,
)
from equipoise.stats.t_interval import t_quantile
from equipoise.stats.undefined import Undefined

Stratum = tuple[Sequence[float], Sequence[float]]
"""Values with label 1 listed first, and with label 2 listed first; what else is shown is alike."""

ALPHA, LEAN = 0.05, 2.0
DRAWS, MANY_DRAWS, SEED = 2_000, 100_000, 20_261_015
MOST_WORK, SOME_WORK, FINEST_LATTICE = 1_500_000_000, 400_000_000, 1_000_000
LEAST = 5e-324
CANTELLI = 4.4
"""Standard deviations above the mean beyond which less than a twentieth can lie (1/(1 + k^2))."""


@dataclass(frozen=True, slots=True, eq=False)
class SwapTest:
    """One block: its lean, and where that stands among all relabellings.

    `lean`, `position`, `null_sd` and the interval are in points; `lattice` is how many units of
    `null`'s values make one point. `parts` are the strata's own distributions, with the value
    observed in each.
    """

    lean: float
    position: float
    counts: tuple[int, ...]
    permutations: int
    as_extreme: int
    p: float
    least_p: float
    flagged: bool
    null_sd: float
    null_flag: float
    df: int
    se: float | Undefined
    low: float | Undefined
    high: float | Undefined
    observed: int
    lattice: int
    null: Distribution
    parts: tuple[tuple[int, Distribution], ...]


def swap_test(
    strata: Sequence[Stratum], *, alpha: float = ALPHA, bound: float = LEAN
) -> SwapTest:
    """Does the value depend on which label is listed first, within strata that are else alike?

    lean = mean over strata of [mean(label 1 first) - mean(label 2 first)] / 2. The exact
    two-sided p counts, among all relabellings within strata (counts held), those with
    |lean*| >= |lean|, the identity included, on an integer lattice. Flagged: p < alpha and
    |lean| >= bound. The interval is t with the pooled within-cell variance. Cells weigh alike,
    however many values they hold. Source: golden label_bias_trial.

    Raises ValueError where a cell is empty.

    >>> found = swap_test([([62, 60], [50, 48]), ([50, 52], [40, 38])])
    >>> found.lean, found.permutations, found.as_extreme
    (6.0, 36, 2)
    """
    if not strata or not all(one and other for one, other in strata):
        raise ValueError("a cell holds no value")
    sizes = [(len(one), len(other)) for one, other in strata]
    weight = lcm(*chain.from_iterable(sizes))
    unit = scale([value for pair in strata for cell in pair for value in cell])
    parts = tuple(_part(pair, weight, unit) for pair in strata)
    observed, null = parts[0]
    for part, distribution in parts[1:]:
        observed, null = observed + part, added(null, distribution)
    lattice = 2 * len(strata) * weight * unit
    magnitudes, tails = _tails(null)
    total, cases = relabellings(sizes), null.total
    p = _at_least(magnitudes, tails, abs(observed), total) / cases
    extreme = max(1, round(Fraction(p) * total))
    flags = _flagged_mass(magnitudes, tails, cases, alpha, bound * lattice)
    mean_square = float((null.values.astype(np.float64) ** 2) @ null.counts) / cases
    lean = float(Fraction(observed, lattice))
    df, se = _standard_error(strata)
    low, high = _interval(lean, se, df)
    return SwapTest(
        lean, _position(strata), tuple(chain.from_iterable(sizes)), total, extreme,
        min(1.0, p), min(1.0, float(tails[-1]) / cases),
        (extreme < _exact(alpha) * total if null.is_exact else p < alpha)
        and abs(observed) >= _exact(bound) * lattice,
        sqrt(mean_square) / lattice, min(1.0, flags / cases), df, se, low, high,
        observed, lattice, null, parts,
    )


def _part(pair: Stratum, weight: int, unit: int) -> tuple[int, Distribution]:
    """What a stratum adds to the block's statistic, and its distribution over relabellings."""
    one, other = scaled(pair[0], unit), scaled(pair[1], unit)
    first, second = weight // len(one), weight // len(other)
    less = (sum(one) + sum(other)) * second
    sums = subset_sums([*one, *other], len(one))
    return sum(one) * (first + second) - less, moved(sums, first + second, less)


def _at_least(magnitudes: Integers, tails: Floats, observed: int, total: int) -> float:
    """How many cases lean as far as observed: the one observed at the least."""
    place = int(np.searchsorted(magnitudes, observed))
    return float(tails[place]) if place < len(tails) else float(Fraction(1, total)) or LEAST


def _tails(null: Distribution) -> tuple[Integers, Floats]:
    """The magnitudes that occur, rising, and how many cases lie at or beyond each."""
    kept = null.counts > 0
    magnitudes, place = np.unique(np.abs(null.values[kept]), return_inverse=True)
    counts = np.bincount(place, weights=null.counts[kept])
    return magnitudes, counts[::-1].cumsum()[::-1]


def _flagged_mass(
    magnitudes: Integers, tails: Floats, total: float, alpha: float, least: float
) -> float:
    """How many relabellings the flag rule would itself flag."""
    share = _exact(alpha)
    rare = tails * share.denominator < total * share.numerator
    beyond = rare & (magnitudes >= least - 1e-9)
    return float(tails[np.argmax(beyond)]) if beyond.any() else 0.0


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _position(strata: Sequence[Stratum]) -> float:
    cells = [cell for pair in strata for cell in pair]
    return sum(sum(cell) / len(cell) for cell in cells) / len(cells) - 50


def _standard_error(strata: Sequence[Stratum]) -> tuple[int, float | Undefined]:
    """Degrees of freedom and standard error of the lean from the pooled within-cell variance."""
    cells = [cell for pair in strata for cell in pair]
    df = sum(map(len, cells)) - len(cells)
    if df == 0:
        return 0, Undefined("too_few_units")
    within = 0.0
    for cell in cells:
        mean = sum(cell) / len(cell)
        within += sum((value - mean) ** 2 for value in cell)
    return df, sqrt(within / df * sum(1 / len(cell) for cell in cells)) / (2 * len(strata))


def _interval(
    lean: float, se: float | Undefined, df: int
) -> tuple[float | Undefined, float | Undefined]:
    if isinstance(se, Undefined):
        return se, se
    half = t_quantile(0.975, df) * se
    return lean - half, lean + half


Method = Literal["exact convolution", "Monte Carlo"]


@dataclass(frozen=True, slots=True)
class Omnibus:
    """The sum of squared leans among relabellings: its p, and the null 95th percentile of its RMS.

    `null_95` is in points. Of a Monte Carlo, `draws` and `seed`; `error` is the standard error
    of its p, 0 where the p is exact.
    """

    p: float
    null_95: float
    method: Method
    draws: int = 0
    seed: int = 0
    error: float = 0.0


Part = tuple[int, Distribution]


def omnibus(tests: Sequence[SwapTest], *, by_stratum: bool = False) -> Omnibus | Undefined:
    """Do labels move answers at all? Sum of squared leans over blocks, exactly where that is cheap.

    With `by_stratum` each stratum's own shift counts, so labels that raise one description and
    lower the other are seen too (the interaction omnibus). p = P(S* >= S) over all relabellings,
    `null_95` the smallest r with P(RMS* <= r) >= .95. Where the blocks' common lattice is too
    fine, as with unlike valid counts, 100,000 relabellings are drawn. Undefined without a block.
    """
    if not tests:
        return Undefined("no_data")
    finest = lcm(*(test.lattice for test in tests))
    alike = all(test.lattice == finest for test in tests)
    if finest <= FINEST_LATTICE:
        found = _exact_omnibus(_squared(tests, finest, by_stratum), finest,
                               MOST_WORK if alike else SOME_WORK)
        if found is not None:
            return found
    return drawn_omnibus(tests, MANY_DRAWS, by_stratum=by_stratum)


def _squared(tests: Sequence[SwapTest], lattice: int, by_stratum: bool) -> list[Part]:
    """What is squared and summed, all on one lattice; of a stratum its own shift."""
    return [
        (value * times, moved(null, times, 0))
        for test in tests
        for times in [lattice // test.lattice * (len(test.parts) if by_stratum else 1)]
        for value, null in (test.parts if by_stratum else [(test.observed, test.null)])
    ]


def _exact_omnibus(parts: Sequence[Part], lattice: int, most: int) -> Omnibus | None:
    """By convolving the blocks' distributions of squares; None where that is too much work.

    Sums beyond what is asked for are gathered in one place, as terms that are all positive: a
    small p is as precise as a large one.
    """
    squares = [_squares(null) for _, null in parts]
    least = sum(int(values[0]) for values, _ in squares)
    step = gcd(*(int(value - values[0]) for values, _ in squares for value in values[1:])) or 1
    asked = ceil(Fraction(sum(value * value for value, _ in parts) - least, step))
    steps = [((values - values[0]) // step, chances) for values, chances in squares]
    mean = sum(float(values @ chances) for values, chances in steps)
    spread = sum(float(values.astype(float) ** 2 @ chances) - float(values @ chances) ** 2
                 for values, chances in steps)
    length = max(asked, ceil(mean + CANTELLI * sqrt(max(0.0, spread)))) + 1
    length = min(length, max(asked, sum(int(values[-1]) for values, _ in steps)) + 1)
    if length * sum(len(values) for values, _ in steps) > most:
        return None
    mass, beyond = _summed(steps, length)
    at_95 = int(np.searchsorted(mass.cumsum(), 0.95 - 1e-12))
    p = min(1.0, float(mass[asked:].sum()) + beyond)
    return Omnibus(p, sqrt((least + step * at_95) / len(parts)) / lattice, "exact convolution")


def _squares(null: Distribution) -> tuple[Integers, Floats]:
    kept = null.counts > 0
    values, place = np.unique(null.values[kept] ** 2, return_inverse=True)
    return values, np.bincount(place, weights=null.counts[kept]) / null.total


def _summed(steps: Sequence[tuple[Integers, Floats]], length: int) -> tuple[Floats, float]:
    """The distribution of the sum up to `length`, and the mass that lies at or beyond it."""
    mass, beyond = np.zeros(length), 0.0
    mass[0] = 1.0
    reached = 1
    for values, chances in steps:
        new = np.zeros(length)
        right = mass[::-1].cumsum()[::-1]
        for value, chance in zip(values.tolist(), chances.tolist(), strict=True):
            if value < length:
                end = min(length, reached + value)
                new[value:end] += chance * mass[: end - value]
                beyond += chance * float(right[length - value]) if value else 0.0
            else:
                beyond += chance * float(right[0])
        mass, reached = new, min(length, reached + int(values[-1]))
    return mass, beyond


def drawn_omnibus(
    tests: Sequence[SwapTest], draws: int = DRAWS, seed: int = SEED, *, by_stratum: bool = False
) -> Omnibus | Undefined:
    """The omnibus as published, from drawn relabellings: p = (1 + #{S* >= S}) / (1 + draws).

    The observed labelling counts as one of the equally likely ones, so p is never 0 (Phipson &
    Smyth 2010); ties count, with a relative slack of 1e-12.
    """
    if not tests:
        return Undefined("no_data")
    random = np.random.RandomState(seed)
    sums, observed, count = np.zeros(draws), 0.0, 0
    for test in tests:
        scale_ = test.lattice / (len(test.parts) if by_stratum else 1)
        shift = np.zeros(draws)
        for value, null in test.parts:
            heap = null.counts.cumsum()
            at = np.searchsorted(heap, random.random_sample(draws) * heap[-1], side="right")
            at = np.minimum(at, len(heap) - 1)
            shift = (null.start + null.step * at) / scale_ + (0 if by_stratum else shift)
            if by_stratum:
                sums += shift ** 2
                observed += (value / scale_) ** 2
        if not by_stratum:
            sums += shift ** 2
            observed += (test.observed / scale_) ** 2
        count += len(test.parts) if by_stratum else 1
    p = (1 + int((sums >= observed * (1 - 1e-12)).sum())) / (1 + draws)
    at_95 = np.sort(sums)[ceil(0.95 * draws) - 1]
    return Omnibus(p, sqrt(float(at_95) / count), "Monte Carlo", draws, seed,
                   sqrt(p * (1 - p) / draws))
