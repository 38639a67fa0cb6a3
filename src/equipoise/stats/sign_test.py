"""The exact sign test, its power, and the smallest net difference it would detect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, fsum, lgamma, log, sqrt
from statistics import NormalDist

from equipoise.stats.undefined import Undefined

STEPS = 200


@dataclass(frozen=True, slots=True)
class SignTest:
    """Units that differ one way and the other; ties are out of the test and in `net_points`.

    `p` is two-sided, `p_wins` one-sided for more wins. Net in points of 100, over all units.
    """

    wins: int
    losses: int
    ties: int
    p: float
    p_wins: float
    net_points: float | Undefined


def sign_test(wins: int, losses: int, ties: int = 0) -> SignTest:
    """The exact two-sided sign test: min(1, 2 P(X >= the larger)), X ~ Bin(wins + losses, 1/2).

    >>> sign_test(6, 0).p, sign_test(5, 0).p, sign_test(7, 1).p
    (0.03125, 0.0625, 0.0703125)
    """
    n = wins + losses
    larger, net = max(wins, losses), wins - losses
    every = wins + losses + ties
    return SignTest(
        wins, losses, ties, min(1.0, 2 * _tail(n, larger)), _tail(n, wins),
        100 * net / every if every else Undefined("no_data"),
    )


def _tail(n: int, least: int) -> float:
    """P(X >= least) for X ~ Bin(n, 1/2)."""
    return float(sum(comb(n, k) for k in range(least, n + 1)) / 2 ** n)


def least_wins(n: int, alpha: float = 0.05) -> int | None:
    """The fewest wins among n that differ with which the two-sided test rejects; None if none do.

    >>> [least_wins(n) for n in (5, 6, 10, 24)]
    [None, 6, 9, 18]
    """
    least = _least(_rounded_up(n), alpha)[n]
    return least if least <= n else None


def _rounded_up(n: int) -> int:
    return 1 << max(6, n.bit_length())


@lru_cache(maxsize=32)
def _least(most: int, alpha: float) -> tuple[int, ...]:
    """For n = 0 to `most` the least wins that reject, n + 1 where none do; in whole numbers.

    With one unit more the least stays or rises by one: T(n + 1, k) = 2 T(n, k) + C(n, k - 1),
    where T(n, k) counts the outcomes of n with k wins or more.
    """
    share = Fraction(str(alpha))
    k, tail, below, every = 1, 0, 1, 1
    found = [k]
    for n in range(1, most + 1):
        tail, every = 2 * tail + below, 2 * every
        below = below * n // (n + 1 - k)
        if 2 * tail * share.denominator >= share.numerator * every:
            below = below * (n + 1 - k) // k
            tail, k = tail - below, k + 1
        found.append(k)
    return tuple(found)


def power(n: int, discordance: float, net: float, alpha: float = 0.05) -> float:
    """The chance of a rejection in favour, when so many units differ and by this net share.

    D ~ Bin(n, discordance) units differ and wins ~ Bin(D, (1 + net / discordance) / 2). Raises
    ValueError where the net is larger than the discordance.

    >>> round(power(36, 0.3, 0.25), 3)
    0.783
    """
    if not 0 <= abs(net) <= discordance <= 1:
        raise ValueError(f"a net of {net} cannot come from a discordance of {discordance}")
    if discordance == 0:
        return 0.0
    chances = rejections(n, (1 + net / discordance) / 2, alpha)
    return fsum(binomial(n, differ, discordance) * chance for differ, chance in enumerate(chances))


def rejections(n: int, share: float, alpha: float = 0.05) -> list[float]:
    """The chance of a rejection in favour when 0, 1, ... n units differ, a win having `share`.

    >>> rejections(6, 0.5)  # six of six, and nothing else
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.015625]
    """
    least = _least(_rounded_up(n), alpha)
    found = [0.0]
    for differ in range(n):
        k = least[differ]
        found.append(
            found[-1] + share * binomial(differ, k - 1, share) if least[differ + 1] == k
            else found[-1] - (1 - share) * binomial(differ, k, share))
    return found


def binomial(n: int, k: int, p: float) -> float:
    """P(X = k) for X ~ Bin(n, p).

    >>> round(binomial(3, 1, 0.5), 12), binomial(3, 4, 0.5), binomial(3, 3, 1)
    (0.375, 0.0, 1.0)
    """
    if k > n:
        return 0.0
    if p in (0.0, 1.0):
        return float(k == n * p)
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p)
               + (n - k) * log(1 - p))


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest net share detected with the wanted power, by three accounts.

    `exact` is that of the exact test with the number of differing units random, the one to use;
    `simple` and `connor` (1987) are normal approximations, to compare with others' figures.
    `most_power` is the power if all that differ went one way: where it is too little, nothing
    is detectable.
    """

    simple: float
    connor: float | Undefined
    exact: float | Undefined
    most_power: float


def detectable(
    n: int, discordance: float, alpha: float = 0.05, wanted: float = 0.8
) -> Detectable:
    """What net difference n units would show, where a share `discordance` of them differ.

    >>> found = detectable(24, 0.3)
    >>> found.exact
    Undefined(reason='too_few_units')
    """
    a, b = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(wanted)
    most = power(n, discordance, discordance, alpha)
    none = Undefined("too_few_units")

    def connor(net: float) -> float:
        return net * sqrt(n) - a * sqrt(discordance) - b * sqrt(discordance - net * net)

    top = min(discordance, sqrt(discordance))
    return Detectable(
        (a + b) * sqrt(discordance / n),
        root(connor, top) if connor(top) >= 0 else none,
        root(lambda net: power(n, discordance, net, alpha) - wanted, discordance)
        if most >= wanted else none,
        most,
    )


def root(rising: Callable[[float], float], top: float) -> float:
    """Where a function that rises through zero between 0 and `top` does so."""
    low, high = 0.0, top
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if rising(middle) >= 0 else (middle, high)
    return high
