"""The mean of labels that few items have, with the help of a judge that saw them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isfinite, sqrt
from statistics import NormalDist

from equipoise.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its normal interval, in the units of the labels, and not clipped to 0 to 1.

    Where nothing varied the interval has no width, which shows that n is small and not that the
    mean is certain.
    """

    estimate: float | Undefined
    se: float | Undefined
    low: float | Undefined
    high: float | Undefined


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """Three estimates of one mean: from the labels alone, and helped by the judge.

    `ppi` takes the judge at its word (weight 1) and corrects its mean error; `tuned` (PPI++) gives
    it the `weight`, 0 to 1, that makes the interval narrowest. A judge that says the same of all
    has weight 0.
    """

    classical: Estimate
    ppi: Estimate
    tuned: Estimate
    weight: float | Undefined
    labelled: int
    unlabelled: int
    confidence: float = 0.95


def prediction_powered_mean(
    labels: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    confidence: float = 0.95,
) -> PredictionPowered:
    """The mean label by Angelopoulos et al. (2023): PPI, and PPI++ with the best weight.

    `judged` is what the judge said of the labelled items, `unlabelled` of the others. With weight
    w the mean is w mean(unlabelled) + mean(label - w judged), its variance
    w^2 var(unlabelled) / N + var(label - w judged) / n, with denominators n and N; the weight is
    cov(label, judged) / ((1 + n / N) var(all judged)) within 0 to 1. One label has a mean and no
    interval, as one unlabelled item has: a variance takes two. Without labels nothing is defined,
    without unlabelled items all but the classical mean is not. Raises ValueError when a value is
    not finite, or labels and `judged` differ in length.

    >>> found = prediction_powered_mean([1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1])
    >>> found.weight, found.tuned.estimate
    (0.0, 0.75)
    """
    n, others = len(labels), len(unlabelled)
    if len(judged) != n:
        raise ValueError(f"{n} labels and {len(judged)} judgements of the labelled items")
    if not all(map(isfinite, (*labels, *judged, *unlabelled))):
        raise ValueError("a label or a judgement is not finite")
    none = Undefined("no_data")
    nothing = Estimate(none, none, none, none)
    classical = _helped(0.0, labels, judged, unlabelled, confidence) if n else nothing
    if n == 0 or others == 0:
        return PredictionPowered(classical, nothing, nothing, none, n, others, confidence)
    weight = _weight(labels, judged, unlabelled)
    return PredictionPowered(
        classical,
        _helped(1.0, labels, judged, unlabelled, confidence),
        _helped(weight, labels, judged, unlabelled, confidence),
        weight, n, others, confidence,
    )


def _helped(
    weight: float, labels: Sequence[float], judged: Sequence[float],
    unlabelled: Sequence[float], confidence: float,
) -> Estimate:
    errors = [y - weight * f for y, f in zip(labels, judged, strict=True)]
    mean, variance = _mean(errors), _variance(errors) / len(errors)
    if weight:
        mean += weight * _mean(unlabelled)
        variance += weight ** 2 * _variance(unlabelled) / len(unlabelled)
    if len(labels) < 2 or (weight and len(unlabelled) < 2):
        one = Undefined("unit_count_one")
        return Estimate(mean, one, one, one)
    se = sqrt(variance)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * se
    return Estimate(mean, se, mean - half, mean + half)


def _weight(
    labels: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]
) -> float:
    n, every = len(labels), [*judged, *unlabelled]
    spread = _variance(every) * len(every) / (len(every) - 1)
    if spread == 0:
        return 0.0
    middle, centre = _mean(labels), _mean(judged)
    shared = fsum(
        (y - middle) * (f - centre) for y, f in zip(labels, judged, strict=True)) / n
    return min(1.0, max(0.0, shared / ((1 + n / len(unlabelled)) * spread)))


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    middle = _mean(values)
    return fsum((value - middle) ** 2 for value in values) / len(values)
