"""Looking before the end: what it costs a fixed test, and a test that allows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from equipoise.stats.sign_test import least_wins

STOP = 20


def peeking_inflation(looks: Collection[int], alpha: float = 0.05) -> float:
    """The chance that the two-sided sign test rejects at any look when nothing differs.

    `looks` are the numbers of differing units at which one looks. Exact, in whole numbers, over
    all paths of wins and losses. Raises ValueError when a look is below 1.

    >>> peeking_inflation([5]), peeking_inflation([6]), peeking_inflation([6, 7])
    (0.0, 0.03125, 0.03125)
    """
    if looks and min(looks) < 1:
        raise ValueError(f"no look at {min(looks)} differing units")
    seen = set(looks)

    def rejects(n: int) -> Callable[[int], bool]:
        least = least_wins(n, alpha) if n in seen else None
        return lambda wins: least is not None and not n - least < wins < least

    return _ever(max(looks, default=0), rejects)


@dataclass(frozen=True, slots=True)
class Evidence:
    """An e-process against even odds: valid at any time one cares to look, and under any stop.

    `values` has one e-value a differing unit. `p` is 1 over the largest so far, at most 1. The
    process `crossed` at the first unit (counted from 1) whose e-value is the bound or more, or
    not at all.
    """

    values: tuple[float, ...]
    p: float
    crossed: int | None


def evidence(wins: Iterable[bool], bound: int = STOP) -> Evidence:
    """The uniform-mixture e-process: E = 2^n / ((n + 1) C(n, w)) after w wins in n.

    Units that differ, in the order they came, true for a win. By Ville (1939) the chance that E
    ever reaches b is at most 1 / b when wins and losses are equally likely: to stop at 20 keeps
    false positives below .05. Computed in whole numbers; an e-value beyond what a float holds is
    given as the largest float.

    >>> evidence([True] * 8).crossed, evidence([True] * 7).crossed
    (8, None)
    >>> evidence([True, True, False]).values == (1, 4 / 3, 2 / 3)
    True
    """
    values: list[float] = []
    crossed, most, n, won, below = None, Fraction(1), 0, 0, 1
    for win in wins:
        n, won = n + 1, won + bool(win)
        # (n + 1) C(n, w) from the one before.
        below = below * (n + 1) // (won if win else n - won)
        values.append(_floated(1 << n, below))
        most = max(most, Fraction(1 << n, below))
        if crossed is None and 1 << n >= bound * below:
            crossed = n
    return Evidence(tuple(values), max(float(1 / most), sys.float_info.min), crossed)


def _floated(one: int, other: int) -> float:
    try:
        return one / other
    except OverflowError:
        return sys.float_info.max


def false_alarm(most: int, bound: int = STOP) -> float:
    """The chance that the e-process reaches the bound within `most` units when nothing differs.

    >>> false_alarm(7), false_alarm(8)  # only eight of eight, either way
    (0.0, 0.0078125)
    """

    def reaches(n: int) -> Callable[[int], bool]:
        ways = [1]
        for k in range(n):
            ways.append(ways[-1] * (n - k) // (k + 1))
        return lambda wins: 1 << n >= bound * (n + 1) * ways[wins]

    return _ever(most, reaches)


def _ever(most: int, ends: Callable[[int], Callable[[int], bool]]) -> float:
    """The chance that a path of fair coins is, at any of `most` flips, where a test ends it."""
    # paths[w]: how many paths of n flips with w wins no test has ended.
    paths, ended = [1], 0
    for n in range(1, most + 1):
        paths = [one + other for one, other in zip([*paths, 0], [0, *paths], strict=True)]
        stops, ended = ends(n), 2 * ended
        for wins, count in enumerate(paths):
            if count and stops(wins):
                ended, paths[wins] = ended + count, 0
    return ended / (1 << most)
