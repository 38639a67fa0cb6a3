"""Several tests at once: adjusted p-values, and the family a discrete test belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count

from equipoise.stats.undefined import Undefined

# A p computed as a fraction may land a rounding above the threshold it equals.
SLACK = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted p-values, 0 to 1, in the order given; what was no test is still none."""

    bonferroni: tuple[float | Undefined, ...]
    holm: tuple[float | Undefined, ...]
    bh: tuple[float | Undefined, ...]


def adjusted(p: Sequence[float | Undefined]) -> Adjusted:
    """Every p adjusted for the family of all defined ones, clipped at 1.

    Bonferroni: m p. Holm (1979): the largest of (m - i + 1) p_(i) up to this rank, stepping down.
    Benjamini & Hochberg (1995): the smallest of (m / i) p_(i) from this rank on, stepping up; it
    bounds the share of false finds, the others the chance of any. An undefined p is not a test:
    it is not counted in m and comes back as itself. Raises ValueError when a p is not in 0 to 1.

    >>> found = adjusted([0.5, 0.02, Undefined("no_data"), 0.01])
    >>> found.holm
    (0.5, 0.04, Undefined(reason='no_data'), 0.03)
    >>> found.bonferroni[0], found.bh[1]
    (1.0, 0.03)
    """
    tests = {i: value for i, value in enumerate(p) if not isinstance(value, Undefined)}
    if not all(0 <= value <= 1 for value in tests.values()):
        raise ValueError(f"not all of these are probabilities: {list(tests.values())}")
    m = len(tests)
    up = sorted(tests, key=tests.__getitem__)
    down = up[::-1]
    holm = accumulate(((m - rank) * tests[i] for rank, i in enumerate(up)), max)
    bh = accumulate((m / (m - rank) * tests[i] for rank, i in enumerate(down)), min)
    return Adjusted(
        _placed(p, {i: m * value for i, value in tests.items()}),
        _placed(p, dict(zip(up, holm, strict=True))),
        _placed(p, dict(zip(down, bh, strict=True))),
    )


def _placed(
    p: Sequence[float | Undefined], found: Mapping[int, float]
) -> tuple[float | Undefined, ...]:
    return tuple(min(1.0, found[i]) if i in found else value for i, value in enumerate(p))


@dataclass(frozen=True, slots=True)
class Tarone:
    """`family` hypotheses stay in the family, each tested at alpha / `divisor`; in order given."""

    family: int
    divisor: int
    rejected: tuple[bool, ...]


def tarone(
    p: Sequence[float | Undefined], least: Sequence[float | Undefined], alpha: float = 0.05
) -> Tarone:
    """Tarone's (1990) Bonferroni for discrete tests: what could never be rejected is not counted.

    `least` is the smallest p each test could have given, whatever the data. The divisor K is the
    smallest k = 1, 2, ... for which at most k hypotheses have least <= alpha / k; those with
    least <= alpha / K are the family, and those of them with p <= alpha / K are rejected: the
    chance of any false rejection is at most alpha. What is undefined is no test and is not
    rejected. Raises ValueError when the two sequences differ in length.

    >>> tarone([0.02, 1.0, 1.0], least=[0.01, 1.0, 1.0])  # two could never be: no price to pay
    Tarone(family=1, divisor=1, rejected=(True, False, False))
    """
    tests = {
        i: (value, floor)
        for i, (value, floor) in enumerate(zip(p, least, strict=True))
        if not isinstance(value, Undefined) and not isinstance(floor, Undefined)
    }
    floors = sorted(floor for _, floor in tests.values())

    def attaining(k: int) -> int:
        return bisect_right(floors, alpha / k * SLACK)

    divisor = next(k for k in count(1) if attaining(k) <= k)
    threshold = alpha / divisor * SLACK
    rejected = {i for i, test in tests.items() if max(test) <= threshold}
    return Tarone(attaining(divisor), divisor, tuple(i in rejected for i in range(len(p))))
