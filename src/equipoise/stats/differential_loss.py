"""Is losing a reply related to which of two came first? Exact, stratum by stratum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb, exp, fsum, inf, log

from equipoise.stats.undefined import Undefined

TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Table:
    """One stratum's counts: replies lost and kept, with 1 first and with 2 first.

    Raises ValueError when a count is below 0.
    """

    lost_1: int
    lost_2: int
    kept_1: int
    kept_2: int

    def __post_init__(self) -> None:
        if min(self.lost_1, self.lost_2, self.kept_1, self.kept_2) < 0:
            raise ValueError(f"not counts: {self}")


@dataclass(frozen=True, slots=True)
class DifferentialLoss:
    """Two-sided p, 0 to 1, and the odds of loss with 1 first over those with 2 first.

    `low` and `high` are the exact 95% interval of that common odds ratio.
    """

    p: float
    odds_ratio: float | Undefined
    low: float | Undefined
    high: float | Undefined


def differential_loss(strata: Iterable[Table]) -> DifferentialLoss:
    """The exact conditional Cochran-Mantel-Haenszel test, as R's mantelhaen.test(exact = TRUE).

    Given every stratum's margins, the total lost with 1 first is a sum of independent
    hypergeometrics. p adds the totals no more likely than the observed one. The odds ratio is the
    conditional maximum likelihood estimate; each end of its interval leaves .025 in the tail at
    and beyond the observed total. A total at the least it can be has odds ratio and low end 0, at
    the most infinity. When the margins allow one total only, p is 1 and the odds undefined.

    >>> found = differential_loss([Table(lost_1=2, lost_2=0, kept_1=0, kept_2=2)])
    >>> round(found.p, 6), found.odds_ratio, found.high  # 2 of the 6 ways to lose two of four
    (0.333333, inf, inf)
    >>> differential_loss([Table(0, 0, 25, 25)]).odds_ratio
    Undefined(reason='no_data')
    """
    strata = list(strata)
    ways = [1]
    for stratum in strata:
        ways = _convolved(ways, _ways(stratum))
    if len(ways) == 1:
        none = Undefined("no_data")
        return DifferentialLoss(1.0, none, none, none)
    observed = sum(each.lost_1 - _least(each) for each in strata)
    # R's relative slack of 1e-7 for ties, here in whole numbers.
    unlikely = (each for each in ways if each * 10**7 <= ways[observed] * (10**7 + 1))
    return DifferentialLoss(sum(unlikely) / sum(ways), *_odds(ways, observed))


def _least(stratum: Table) -> int:
    return max(0, stratum.lost_1 - stratum.kept_2)


def _ways(stratum: Table) -> list[int]:
    """In how many ways 1 loses its least, one more, ... up to its most, all margins held."""
    lost = stratum.lost_1 + stratum.lost_2
    of_1, of_2 = stratum.lost_1 + stratum.kept_1, stratum.lost_2 + stratum.kept_2
    totals = range(_least(stratum), min(lost, of_1) + 1)
    return [comb(of_1, total) * comb(of_2, lost - total) for total in totals]


def _convolved(a: Sequence[int], b: Sequence[int]) -> list[int]:
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def _odds(ways: Sequence[int], observed: int) -> tuple[float, float, float]:
    """The estimate and both ends, from the distribution of the total at any odds ratio."""
    logs = [log(each) for each in ways]
    steps = range(-observed, len(ways) - observed)

    def weights(log_odds: float) -> list[float]:
        powers = [each + log_odds * step for each, step in zip(logs, steps, strict=True)]
        top = max(powers)
        return [exp(each - top) for each in powers]

    def mean_above(log_odds: float) -> float:
        return fsum(w * step for w, step in zip(weights(log_odds), steps, strict=True))

    def as_many(log_odds: float) -> float:
        w = weights(log_odds)
        return fsum(w[observed:]) / fsum(w) - TAIL

    def more_than_as_few(log_odds: float) -> float:
        w = weights(log_odds)
        return TAIL - fsum(w[: observed + 1]) / fsum(w)

    if observed == 0:
        return 0.0, 0.0, exp(_root(more_than_as_few))
    if observed == len(ways) - 1:
        return inf, exp(_root(as_many)), inf
    return exp(_root(mean_above)), exp(_root(as_many)), exp(_root(more_than_as_few))


def _root(rising: Callable[[float], float]) -> float:
    """Where a rising function crosses 0, by halving until there is nothing left to halve."""
    low, high = -1.0, 1.0
    while rising(low) > 0:
        low *= 2
    while rising(high) < 0:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return middle
