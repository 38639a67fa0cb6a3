"""Two raters' agreement, discounted for what their habits would give by luck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate


@dataclass(frozen=True, slots=True)
class Cohen:
    """Cohen's (1960) kappa with its large-sample interval.

    `agreed` is how many of the n items both labelled got the same label, with Wilson's interval;
    `expected` the share that two raters of these habits agree on by luck. `se` is that of Fleiss,
    Cohen & Everitt (1969) for a kappa that is not 0; `low` and `high` are normal limits and may
    pass 1. Kappa is undefined where luck alone agrees always, as when only one class was used.
    """

    n: int
    agreed: Rate
    expected: float | Undefined
    kappa: float | Undefined
    se: float | Undefined
    low: float | Undefined
    high: float | Undefined
    confidence: float = 0.95


def cohen_kappa(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], confidence: float = 0.95
) -> Cohen:
    """Kappa over the items that both raters labelled; None is no label.

    Raises ValueError when the raters differ in how many items they have a place for.

    >>> found = cohen_kappa([*"yyyn", None], [*"yynny"])  # luck: 3/4 2/4 + 1/4 2/4
    >>> found.agreed.estimate, found.expected, found.kappa
    (0.75, 0.5, 0.5)
    >>> cohen_kappa("yy", "yy").kappa
    Undefined(reason='one_class')
    """
    both = Counter((one, other) for one, other in zip(first, second, strict=True)
                   if one is not None and other is not None)
    if not both and len(first):
        return _none(Undefined("no_overlap"), confidence)
    return cohen_of(both, confidence)


def cohen_of(table: Mapping[tuple[Hashable, Hashable], int], confidence: float = 0.95) -> Cohen:
    """Kappa from how often each pair of labels occurred, the first rater's label first.

    In whole numbers throughout: kappa and the square of its standard error are rounded once.

    >>> found = cohen_of({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    >>> found.kappa, round(found.se, 4)
    (0.4, 0.127)
    """
    n = sum(table.values())
    if n == 0:
        return _none(Undefined("no_data"), confidence)
    first, second = _habits(table)
    agreed = sum(count for (one, other), count in table.items() if one == other)
    luck = sum(count * second[label] for label, count in first.items())
    share, most = rate(agreed, n, confidence), n * n - luck
    if most == 0:
        one = Undefined("one_class")
        return Cohen(n, share, 1.0, one, one, one, one, confidence)
    kappa = (n * agreed - luck) / most
    se = sqrt(_variance(table, first, second, agreed, luck))
    half = NormalDist().inv_cdf((1 + confidence) / 2) * se
    return Cohen(n, share, luck / (n * n), kappa, se, kappa - half, kappa + half, confidence)


def _none(reason: Undefined, confidence: float) -> Cohen:
    return Cohen(
        0, rate(0, 0, confidence), reason, reason, reason, reason, reason, confidence)


def _habits(
    table: Mapping[tuple[Hashable, Hashable], int]
) -> tuple[Counter[Hashable], Counter[Hashable]]:
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (one, other), count in table.items():
        first[one] += count
        second[other] += count
    return first, second


def _variance(
    table: Mapping[tuple[Hashable, Hashable], int], first: Counter[Hashable],
    second: Counter[Hashable], agreed: int, luck: int,
) -> Fraction:
    """Fleiss, Cohen & Everitt's variance, their shares multiplied out into counts."""
    n = sum(table.values())
    most, apart = n * n - luck, n - agreed
    total = 0
    for (one, other), count in table.items():
        # Of labels alike both habits of that one label; of others the habit of each for the
        # other's.
        habits = second[one] + first[other]
        part = most - habits * apart if one == other else habits * apart
        total += count * part * part
    off = n * (n * agreed - luck) - luck * apart
    return Fraction(n * (n * total - off * off), most ** 4)
