"""How many units a t test needs to see an effect."""

from __future__ import annotations

from bisect import bisect_left
from math import isfinite, sqrt

from equipoise.stats.t_interval import t_quantile
from equipoise.stats.undefined import Undefined


def power(n: int, effect: float, sd: float, alpha: float = 0.05) -> float:
    """The chance that a two-sided one-sample t test of n units finds a mean of `effect`.

    Exact for normal values by the noncentral t distribution, both tails: an effect of 0 is found
    with chance alpha. `effect` and `sd`, the spread between units, share one unit. With sd 0 an
    effect is certain to be seen, and no effect certain not to be. Raises ValueError when n < 2,
    sd < 0, the effect is not finite or alpha is not between 0 and 1.

    >>> round(power(11, effect=8.1, sd=8.574), 3)
    0.806
    >>> round(power(11, effect=0, sd=8.574), 6)
    0.05
    """
    if not (n >= 2 and sd >= 0 and isfinite(effect) and 0 < alpha < 1):
        raise ValueError(f"no t test of {n} units, effect {effect}, spread {sd}, alpha {alpha}")
    critical = -t_quantile(alpha / 2, n - 1)
    if sd == 0:
        return 1.0 if effect else 0.0
    shift = abs(effect) / sd * sqrt(n)
    return min(1.0, _beyond(critical, shift, n - 1) + _beyond(critical, -shift, n - 1))


def _beyond(critical: float, shift: float, df: float) -> float:
    """P(T > critical), T noncentral t."""
    from scipy.special import gammainc, nctdtr

    if -9 < shift < 1e4:
        chance = 1 - float(nctdtr(df, shift, critical))
        if chance == chance:
            return chance
    # Outside that range scipy is slow and less exact, and 1.17 is NaN in some tails. With the
    # normal part of T left out only the estimated sd varies: within 1e-8, and 1e-12 in the tails.
    return float(gammainc(df / 2, df / 2 * (max(0.0, shift) / critical) ** 2))


_power = power  # `units_needed` takes a power of its own


def units_needed(
    effect: float, sd: float, power: float = 0.8, alpha: float = 0.05, most: int = 100_000
) -> int | Undefined:
    """The fewest units, 2 or more, with which that t test sees `effect` with chance `power`.

    Undefined when more than `most` would be needed, as always when there is no effect. Raises
    ValueError as `power` does.

    >>> units_needed(effect=8.1, sd=8.574)
    11
    >>> units_needed(effect=5, sd=0)
    2
    >>> units_needed(effect=0, sd=1)
    Undefined(reason='too_few_units')
    """
    counts = range(2, most + 1)
    at = bisect_left(counts, power, key=lambda n: _power(n, effect, sd, alpha))
    return counts[at] if at < len(counts) else Undefined("too_few_units")
