"""How many units a suite needs for the exact sign test to see a net difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.sign_test import power, rejections, root
from equipoise.stats.undefined import Undefined

GUARD, MOST = 10, 10_000


def units_for_net(
    net: float, discordance: float, wanted: float = 0.8, alpha: float = 0.05, most: int = MOST
) -> int | Undefined:
    """The fewest units whose exact power reaches `wanted`, there and at each of the next ten.

    A share `discordance` of units differ and `net` is the difference of wins and losses, as a
    share of all; the number that differ is random. The ten guard against the sawtooth of a
    discrete test's power. Undefined when it takes more than `most` units. Raises ValueError
    unless 0 < net <= discordance <= 1. Source: golden suite_size_table.

    >>> units_for_net(net=0.25, discordance=0.3)
    38
    """
    if not 0 < net <= discordance <= 1:
        raise ValueError(f"a net of {net} cannot come from a discordance of {discordance}")
    share, up_to = (1 + net / discordance) / 2, 64
    while True:
        chances = np.array(rejections(up_to + GUARD, share, alpha))
        powers = (float(row @ chances[: len(row)]) for row in binomials(up_to + GUARD, discordance))
        found = first_lasting(powers, wanted)
        if found is not None and found <= most:
            return found
        if up_to >= most:
            return Undefined("too_few_units")
        up_to *= 2


def binomials(most: int, p: float) -> Iterator[NDArray[np.float64]]:
    """The distributions of Bin(1, p), Bin(2, p), ... Bin(most, p), each from the one before.

    >>> [row.tolist() for row in binomials(2, 0.5)]
    [[0.5, 0.5], [0.25, 0.5, 0.25]]
    """
    row = np.ones(1)
    for _ in range(most):
        longer = np.zeros(len(row) + 1)
        longer[:-1] = (1 - p) * row
        longer[1:] += p * row
        row = longer
        yield row


def first_lasting(powers: Iterable[float], wanted: float) -> int | None:
    """The first n, counted from 1, from which on eleven in a row reach what is wanted.

    >>> first_lasting([0.9, 0.7] + [0.8] * 11, wanted=0.8)
    3
    """
    run = 0
    for n, reached in enumerate(powers, 1):
        run = run + 1 if reached >= wanted else 0
        if run > GUARD:
            return n - GUARD
    return None


def detectable_over_noise(
    n: int, noise: float, alpha: float = 0.05, wanted: float = 0.8
) -> float | Undefined:
    """The smallest true gain, a share of n units, that the exact test sees with chance `wanted`.

    Two runs of the same variant differ on a share `noise` of units. With a gain g units that the
    change did not touch still differ: noise (1 - g) + g in all, of which the net is g. That is
    the figure to plan with, noise being measured. Undefined where even a gain of 1 is not seen.
    Raises ValueError unless 0 <= noise <= 1.

    >>> round(100 * detectable_over_noise(56, noise=0.15), 1)
    22.0
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"a noise of {noise} is not a share")

    def excess(gain: float) -> float:
        return power(n, min(1.0, noise * (1 - gain) + gain), gain, alpha) - wanted

    return root(excess, 1.0) if excess(1.0) >= 0 else Undefined("too_few_units")
