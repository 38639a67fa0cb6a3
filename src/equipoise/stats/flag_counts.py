"""Are this many flags more than chance gives?"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum


def binomial_upper(flags: int, trials: int, null_rate: float) -> float:
    """P(count >= flags) when each of `trials` is flagged independently with chance `null_rate`.

    A probability, 0 to 1. Raises ValueError when `flags` is not in 0..trials or the rate not in
    0 to 1.

    >>> binomial_upper(2, 2, 0.5), binomial_upper(1, 2, 0.5), binomial_upper(0, 0, 0.05)
    (0.25, 0.75, 1.0)
    """
    return poisson_binomial_upper(flags, [null_rate] * trials)


def poisson_binomial_upper(flags: int, null_probabilities: Sequence[float]) -> float:
    """P(count >= flags) when trial i is flagged independently with its own chance, 0 to 1.

    Exact by convolution: only positive terms are added, so that a small p keeps its digits.
    Raises ValueError when `flags` is not in 0..trials or a probability not in 0 to 1.

    >>> poisson_binomial_upper(2, [0.5, 0.1]), poisson_binomial_upper(1, [0.0, 0.0])
    (0.05, 0.0)
    """
    if not 0 <= flags <= len(null_probabilities):
        raise ValueError(f"{flags} of {len(null_probabilities)} is not a count")
    if not all(0 <= p <= 1 for p in null_probabilities):
        raise ValueError("a null probability is not in 0 to 1")
    # The last place holds all counts of `flags` and more.
    chance = [1.0] + [0.0] * flags
    for p in null_probabilities:
        for so_far in range(flags, 0, -1):
            stays = chance[so_far] * (1 - p) if so_far < flags else chance[flags]
            chance[so_far] = stays + chance[so_far - 1] * p
        chance[0] *= 1 - p
    return min(1.0, chance[flags]) if flags else 1.0


def expected_flags(null_probabilities: Sequence[float]) -> float:
    """The mean number of flags by chance.

    >>> expected_flags([0.5, 0.25])
    0.75
    """
    return fsum(null_probabilities)
