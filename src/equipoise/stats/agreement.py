"""Agreement of several raters, beside what luck would give."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.undefined import Undefined

Integers = NDArray[np.int64]
MISSING = -1


@dataclass(frozen=True, slots=True)
class Agreement:
    """Percent agreement and four coefficients discounted for luck: 1 is perfect, 0 is luck alone.

    `complete` items are those that every rater labelled: `percent_complete`, `fleiss` (1971, for
    raters who are interchangeable; with two raters Scott's pi) and `conger` (1980, for the same
    named raters; with two raters Cohen's kappa) are over these. `compared` items have two labels
    or more: `percent`, `ac1` (Gwet 2008) and Krippendorff's nominal `alpha` (2011) are over
    these. Percent is the mean over items of the share of their pairs of labels that agree. Where
    one class is all that was used a coefficient is undefined, and neither 1 nor 0.
    """

    items: int
    raters: int
    complete: int
    compared: int
    percent_complete: float | Undefined
    fleiss: float | Undefined
    conger: float | Undefined
    percent: float | Undefined
    ac1: float | Undefined
    alpha: float | Undefined


def agreement(items: Sequence[Sequence[Hashable | None]]) -> Agreement:
    """The agreement of raters over items, a row an item and a column a rater; None is no label.

    Every coefficient is computed in whole numbers and rounded once. Raises ValueError when the
    rows differ in length.

    >>> found = agreement([["y", "y"], ["n", "n"], ["y", "n"], ["y", None]])
    >>> round(found.percent, 3), round(found.fleiss, 3), round(found.conger, 3)
    (0.667, 0.333, 0.4)
    """
    labels, classes = _codes(items)
    counts = _counts(labels, classes)
    size, raters = counts.sum(axis=1), labels.shape[1]
    whole, several = size == raters if raters > 1 else size < 0, size >= 2
    return Agreement(
        len(items), raters, int(whole.sum()), int(several.sum()),
        *_of_fixed_raters(labels[whole], counts[whole]),
        *_of_any_raters(counts, size, several),
    )


def _of_fixed_raters(labels: Integers, counts: Integers) -> tuple[float | Undefined, ...]:
    """Percent, Fleiss and Conger over items that every rater labelled."""
    if not len(labels):
        return (Undefined("incomplete"),) * 3
    percent = _percent(counts, counts.sum(axis=1))
    chances = _fleiss(counts), _conger(labels, counts.shape[1])
    return float(percent), *(discounted(percent, chance) for chance in chances)


def _of_any_raters(
    counts: Integers, size: Integers, several: NDArray[np.bool_]
) -> tuple[float | Undefined, ...]:
    """Percent, AC1 and alpha over items with several labels."""
    if not several.any():
        return (Undefined("too_few_units" if size.any() else "no_data"),) * 3
    percent = _percent(counts[several], size[several])
    return float(percent), _ac1(percent, counts, size), _alpha(counts[several], size[several])


def discounted(observed: Fraction, chance: Fraction) -> float | Undefined:
    """(observed - chance) / (1 - chance), or undefined where luck alone agrees always.

    >>> discounted(Fraction(7, 10), Fraction(1, 2)), discounted(Fraction(1), Fraction(1))
    (0.4, Undefined(reason='one_class'))
    """
    if chance == 1:
        return Undefined("one_class")
    return float((observed - chance) / (1 - chance))


def _codes(items: Sequence[Sequence[Hashable | None]]) -> tuple[Integers, int]:
    """The labels as whole numbers, `MISSING` for none, and how many classes there are."""
    raters = len(items[0]) if items else 0
    if any(len(row) != raters for row in items):
        raise ValueError("items differ in how many raters they have a place for")
    code: dict[Hashable | None, int] = {None: MISSING}
    flat = [code.setdefault(label, len(code) - 1) for label in chain.from_iterable(items)]
    return np.array(flat, np.int64).reshape(len(items), raters), len(code) - 1


def _counts(labels: Integers, classes: int) -> Integers:
    """How often each item was given each class."""
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    flat = labels.ravel()
    given = flat != MISSING
    places = rows[given] * classes + flat[given]
    return np.bincount(places, minlength=len(labels) * classes).reshape(len(labels), classes)


def _percent(counts: Integers, size: Integers) -> Fraction:
    """The mean over items of the share of their pairs of labels that agree."""
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return _summed(agreeing, size, lambda n: n * (n - 1)) / len(counts)


def _summed(parts: Integers, size: Integers, over: Callable[[int], int]) -> Fraction:
    """The sum of parts over items, each divided by what its size makes of it."""
    return sum(
        (Fraction(int(parts[size == n].sum()), over(n)) for n in np.unique(size).tolist()),
        Fraction(0))


def _fleiss(counts: Integers) -> Fraction:
    """The chance that two labels agree, were both drawn from all labels."""
    totals = counts.sum(axis=0).tolist()
    return Fraction(sum(n * n for n in totals), sum(totals) ** 2)


def _conger(labels: Integers, classes: int) -> Fraction:
    """The mean over pairs of raters of the chance that they agree, each by own habits."""
    raters = labels.shape[1]
    habits = [np.bincount(labels[:, g], minlength=classes).tolist() for g in range(raters)]
    twice = sum(
        sum(used) ** 2 - sum(n * n for n in used) for used in zip(*habits, strict=True))
    return Fraction(twice, raters * (raters - 1) * len(labels) ** 2)


def _ac1(percent: Fraction, counts: Integers, size: Integers) -> float | Undefined:
    classes = counts.shape[1]
    if classes < 2:
        return Undefined("one_class")
    labelled = size > 0
    shares = [
        _summed(column[labelled], size[labelled], int) / int(labelled.sum()) for column in counts.T]
    chance = sum((share * (1 - share) for share in shares), Fraction(0)) / (classes - 1)
    return discounted(percent, chance)


def _alpha(counts: Integers, size: Integers) -> float | Undefined:
    """1 - observed / expected disagreement, from the matrix of coincidences."""
    totals = counts.sum(axis=0).tolist()
    n = sum(totals)
    apart = (counts * (size[:, None] - counts)).sum(axis=1)
    observed = _summed(apart, size, lambda labels: labels - 1) / n
    expected = Fraction(n * n - sum(total * total for total in totals), n * (n - 1))
    return float(1 - observed / expected) if expected else Undefined("one_class")
