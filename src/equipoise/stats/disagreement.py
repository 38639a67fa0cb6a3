"""How evenly answers spread over names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log

from equipoise.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Entropy in nats, the index from 0 (unanimity) to 100, and the chance that two differ.

    `index` divides by log min(n, bound), comparable over questions (Pielou 1966); `attainable`
    by the entropy of the most even split of n answers over the bound, which it can reach.
    `pair` is the unbiased chance that two different answers differ.
    """

    n: int
    missing: int
    distinct: int
    bound: int
    entropy: float | Undefined
    most: float | Undefined
    index: float | Undefined
    most_attainable: float | Undefined
    attainable: float | Undefined
    pair: float | Undefined


def disagreement(picks: Sequence[Hashable | None], reference: int) -> Disagreement:
    """Shannon entropy of the picks over its maximum, times 100; None is a missing pick.

    The bound is the larger of the reference list's size and the number of distinct picks. Fewer
    than two answers have no disagreement.

    >>> found = disagreement(["Coke", "Pepsi", "Coke", "Pepsi"], 2)
    >>> round(found.index, 6), round(found.pair, 4)
    (100.0, 0.6667)
    """
    given = [pick for pick in picks if pick is not None]
    counts = sorted(Counter(given).values(), reverse=True)
    n, bound = len(given), max(reference, len(counts))
    missing = len(picks) - n
    if n < 2:
        none = Undefined("too_few_units" if n else "no_data")
        return Disagreement(n, missing, len(counts), bound, 0.0 if n else none, none, none, none,
                            none, none)
    entropy = max(0.0, -sum(c / n * log(c / n) for c in counts))
    most, most_attainable = log(min(n, bound)), _even(n, bound)
    return Disagreement(
        n, missing, len(counts), bound, entropy, most,
        100 * entropy / most if most else 0.0, most_attainable,
        100 * entropy / most_attainable if most_attainable else 0.0,
        1 - sum(c * (c - 1) for c in counts) / (n * (n - 1)),
    )


def _even(n: int, bound: int) -> float:
    """The entropy of n answers split over so many names as evenly as whole answers can be."""
    each, more = divmod(n, bound)
    sizes = [each + 1] * more + [each] * (bound - more)
    return -sum(size / n * log(size / n) for size in sizes if size)
