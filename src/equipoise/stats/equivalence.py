"""Whether an effect is shown to be small; not finding one shows nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from equipoise.stats.t_interval import t_quantile

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided p-values, 0 to 1, of an effect at or beyond each bound, and the larger as p.

    `equivalent` is p < .05. `least_bound`, in the units of the estimate, is the limit of the
    bounds that would pass: every larger one does, itself it does not.
    """

    p_lower: float
    p_upper: float
    p: float
    equivalent: bool
    least_bound: float


def equivalence(estimate: float, se: float, df: float, bound: float) -> Equivalence:
    """Schuirmann's (1987) two one-sided t tests that |effect| < bound; all in one unit.

    p_lower is for effect <= -bound, p_upper for effect >= bound. With se 0 each p is 0 or 1: the
    answer is |estimate| < bound, and whether replies that never vary can show anything is the
    caller's to say. Raises ValueError unless bound and df are above 0, se is 0 or more, and all
    are finite.

    >>> found = equivalence(estimate=2, se=0.2, df=16, bound=2)  # at the bound: even odds
    >>> found.p_upper, found.equivalent
    (0.5, False)
    >>> round(equivalence(estimate=1, se=1, df=1, bound=2).least_bound, 3)  # 1 + 6.314
    7.314
    """
    if not (bound > 0 and se >= 0 and all(map(isfinite, (estimate, se, bound)))):
        raise ValueError(f"no equivalence of {estimate} with standard error {se} within {bound}")
    least = abs(estimate) + t_quantile(1 - ALPHA, df) * se
    p_lower, p_upper = _p(estimate + bound, se, df), _p(bound - estimate, se, df)
    p = max(p_lower, p_upper)
    return Equivalence(p_lower, p_upper, p, p < ALPHA, least)


def _p(inside: float, se: float, df: float) -> float:
    """How often an effect on the bound looks this far inside it."""
    if se == 0:
        return 0.0 if inside > 0 else 1.0
    from scipy.special import stdtr

    return float(stdtr(df, -inside / se))
