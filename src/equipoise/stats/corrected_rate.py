"""A rate that an imperfect reader reported, corrected for its known errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from equipoise.stats.confusion import Confusion
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate


@dataclass(frozen=True, slots=True)
class Corrected:
    """The judged rate and what it says of the true one, all 0 to 1 but `raw`.

    `raw` may leave 0 to 1 where the judged rate contradicts the reader's known errors; `estimate`,
    `low` and `high` are clipped to it. `se` carries the uncertainty of both samples, the judged
    one and the labelled one.
    """

    observed: Rate
    raw: float | Undefined
    estimate: float | Undefined
    se: float | Undefined
    low: float | Undefined
    high: float | Undefined
    confidence: float = 0.95


def corrected_rate(
    known: Confusion, passed: int, judged: int, confidence: float = 0.95
) -> Corrected:
    """Rogan & Gladen (1978): (q + TNR - 1) / (TPR + TNR - 1), with a delta-method interval.

    `known` is the reader against labels; `passed` of `judged` other items passed by it. Undefined
    where nothing was judged, a class has no label, or the reader is no better than chance: where
    TPR + TNR <= 1. Computed in whole numbers and rounded once. Raises ValueError when `passed` is
    not in 0..judged.

    >>> perfect = Confusion(true_positive=40, false_negative=0, true_negative=40, false_positive=0)
    >>> corrected_rate(perfect, 150, 200).estimate
    0.75
    >>> even = Confusion(true_positive=1, false_negative=1, true_negative=1, false_positive=1)
    >>> corrected_rate(even, 150, 200).estimate
    Undefined(reason='uninformative')
    """
    observed = rate(passed, judged, confidence)
    if judged == 0 or known.positives == 0 or known.negatives == 0:
        none = Undefined("no_data" if judged == 0 or known.n == 0 else "one_class")
        return Corrected(observed, none, none, none, none, none, confidence)
    tpr = Fraction(known.true_positive, known.positives)
    tnr = Fraction(known.true_negative, known.negatives)
    q, told = Fraction(passed, judged), tpr + tnr - 1
    if told <= 0:
        none = Undefined("uninformative")
        return Corrected(observed, none, none, none, none, none, confidence)
    raw = (q + tnr - 1) / told
    variance = (
        q * (1 - q) / judged
        + raw ** 2 * tpr * (1 - tpr) / known.positives
        + (1 - raw) ** 2 * tnr * (1 - tnr) / known.negatives
    ) / told ** 2
    se = sqrt(variance)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * se
    ends = (_clipped(raw), _clipped(raw - half), _clipped(raw + half))
    return Corrected(observed, float(raw), ends[0], se, *ends[1:], confidence)


def _clipped(share: Fraction | float) -> float:
    return min(1.0, max(0.0, float(share)))
