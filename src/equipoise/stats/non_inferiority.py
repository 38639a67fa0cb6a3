"""Whether a change is shown not to lose more than a margin that was set before the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import erfc, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.paired import paired, tango_score
from equipoise.stats.suite_size import GUARD, MOST, first_lasting
from equipoise.stats.undefined import Undefined

ALPHA = 0.025
Z = NormalDist().inv_cdf(1 - ALPHA)
NEGLIGIBLE, WIDE, LEAST = 1e-18, 4.5, 1e-300
"""Chances left out, and how many square roots of its number around the half are kept."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Tango's score test that the net share lost is less than the margin.

    `z` and the one-sided `p` are at a true net of -margin; `low` is the lower end of the 95%
    interval of the net, a share of all units. `shown` is p < .025, where `low` > -margin.
    """

    margin: float
    z: float | Undefined
    p: float | Undefined
    low: float | Undefined
    shown: bool


def non_inferiority(wins: int, losses: int, n: int, margin: float) -> NonInferiority:
    """Test that P(win) - P(loss) > -margin, of n units of which so many differ each way.

    The margin is a share, 0 to 1, and is set before the run. Without units nothing is shown.
    Source: Tango 1998; golden non_inferiority. Raises ValueError unless 0 < margin < 1 and the
    counts fit into n.

    >>> found = non_inferiority(wins=0, losses=0, n=36, margin=0.1)
    >>> round(found.z, 9), round(found.p, 4), found.shown
    (2.0, 0.0228, True)
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin of {margin} is not a share between 0 and 1")
    if min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(f"{wins} wins and {losses} losses are not counts of {n} units")
    if n == 0:
        none = Undefined("no_data")
        return NonInferiority(margin, none, none, none, False)
    z = tango_score(wins, losses, n, -margin)
    p = erfc(z / sqrt(2)) / 2
    return NonInferiority(margin, z, p, paired(0, wins, losses, n - wins - losses).low, p < ALPHA)


def units_for_margin(
    margin: float, discordance: float, wanted: float = 0.8, most: int = MOST
) -> int | Undefined:
    """The fewest units that show a margin with chance `wanted` when nothing is lost or won.

    A share `discordance` of units differ, either way alike. As many units as are given, and each
    of the ten numbers above, reach the chance: the test's power is a sawtooth. Undefined when it
    takes more than `most`. Raises ValueError unless margin and discordance are between 0 and 1.

    >>> units_for_margin(margin=0.25, discordance=0.3)
    40
    """
    if not (0 < margin < 1 and 0 < discordance < 1):
        raise ValueError(f"no size for a margin of {margin} at a discordance of {discordance}")
    normal = (Z + NormalDist().inv_cdf(wanted)) ** 2 * discordance / margin**2
    # Far below the normal approximation's number no sawtooth reaches the chance.
    start = max(1, int(0.9 * normal) - 30)
    chances = (power_for_margin(n, margin, discordance) for n in range(start, most + GUARD + 1))
    found = first_lasting(chances, wanted)
    return Undefined("too_few_units") if found is None else start - 1 + found


def power_for_margin(n: int, margin: float, discordance: float) -> float:
    """The chance that n units show the margin when a share of them differs, either way alike.

    >>> round(power_for_margin(40, margin=0.25, discordance=0.3), 2)
    0.81
    """
    chance = _binomial(n, np.arange(n + 1), discordance)
    differ = np.flatnonzero(chance > NEGLIGIBLE)
    half = int(WIDE * sqrt(differ[-1])) + 1
    wins = (differ // 2)[:, None] + np.arange(-half, half + 1)
    wins = np.clip(wins, -1, differ[:, None] + 1)
    possible = (wins >= 0) & (wins <= differ[:, None])
    wins = np.where(possible, wins, 0)
    shown = possible & (_scores(wins, differ[:, None] - wins, n, -margin) > Z)
    mass = np.where(shown, _binomial(differ[:, None], wins, 0.5), 0.0)
    return float(chance[differ] @ mass.sum(axis=1))


def _binomial(n: int | Integers, k: Integers, p: float) -> Floats:
    found = _log_factorials(1 << int(np.max(n)).bit_length())
    ways = found[n] - found[k] - found[n - k]
    chance: Floats = np.exp(ways + k * log(p) + (n - k) * log(1 - p))
    return chance


@lru_cache(maxsize=32)
def _log_factorials(most: int) -> Floats:
    return np.concatenate([[0.0], np.log(np.arange(1, most + 1)).cumsum()])


def _scores(wins: Integers, losses: Integers, n: int, difference: float) -> Floats:
    """`tango_score` of many at once."""
    mid = -wins - losses + (2 * n - wins + losses) * difference
    down = -losses * difference * (1 - difference)
    q = (np.sqrt(np.maximum(0.0, mid * mid - 8 * n * down)) - mid) / (4 * n)
    variance = np.maximum(n * (2 * q + difference * (1 - difference)), LEAST)
    z: Floats = (wins - losses - n * difference) / np.sqrt(variance)
    return z
