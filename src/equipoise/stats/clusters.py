"""Values that come in clusters, such as trials of one decision: what is the unit?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, sqrt

from equipoise.stats.t_interval import Interval, average, limits, t_interval
from equipoise.stats.undefined import Undefined


@dataclass(frozen=True, slots=True)
class Clustered:
    """One mean under four accounts of what was replicated; all in the units of the values.

    `over_clusters` is the headline: the mean of the cluster means, its n the clusters.
    `over_units` takes every value for a unit of its own; its mean is `mean`, of all values.
    `cr2_low` to `cr2_high` is an interval of that mean with clusters as the unit, for clusters of
    unequal size; `miller_se` is its uncorrected standard error, to compare with others' figures.
    """

    units: int
    clusters: int
    mean: float | Undefined
    over_clusters: Interval
    over_units: Interval
    miller_se: float | Undefined
    cr2_se: float | Undefined
    cr2_df: float | Undefined
    cr2_low: float | Undefined
    cr2_high: float | Undefined


def clustered(
    values: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> Clustered:
    """All four accounts; `clusters` names each value's cluster.

    Raises ValueError when a value is not finite or the two sequences differ in length.

    >>> found = clustered([1, 2, 3, 7], ["a", "a", "b", "b"])  # cluster means 1.5 and 5
    >>> found.clusters, found.over_clusters.mean, found.over_clusters.df, found.over_units.df
    (2, 3.25, 1, 3)
    >>> clustered([1, 2, 3], ["a", "a", "a"]).over_clusters.low
    Undefined(reason='unit_count_one')
    """
    headline, units = over_clusters(values, clusters, confidence), t_interval(values, confidence)
    se, wide = miller_se(values, clusters), cr2(values, clusters, confidence)
    return Clustered(
        units.n, headline.n, units.mean, headline, units, se, wide.se, wide.df, wide.low, wide.high
    )


def over_clusters(
    values: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> Interval:
    """The mean of the cluster means with its t interval, df = clusters - 1.

    Every cluster weighs the same, however many values it has. With one cluster there is a mean
    and no interval. Raises ValueError as `clustered` does.

    >>> found = over_clusters([18, 3, 3, 3.3, 3.3], ["a", "b", "b", "c", "c"])
    >>> round(found.mean, 3), found.df, round(found.low, 2), round(found.high, 2)
    (8.1, 2, -13.2, 29.4)
    """
    means = [average(group) for group in _groups(values, clusters)]
    return t_interval(means, confidence, "t over cluster means")


def miller_se(values: Sequence[float], clusters: Sequence[Hashable]) -> float | Undefined:
    """Miller's (2024, arXiv 2411.00640) clustered standard error of the mean of all values.

    This is CR0: the root of the summed squares of the clusters' residual sums, over the number of
    values, with no correction for few clusters; it is too small when they are few. Undefined for
    one cluster. Raises ValueError as `clustered` does.

    >>> miller_se([0, 0, 2, 2], ["a", "a", "b", "b"])  # sums -2 and 2: root of 8, over 4
    0.7071067811865476
    """
    groups = _groups(values, clusters)
    if len(groups) < 2:
        return _too_few(groups)
    return sqrt(fsum(total * total for total in _residual_sums(groups))) / len(values)


def cr2(
    values: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> Interval:
    """The mean of all values with Bell & McCaffrey's (2002) CR2 interval, Satterthwaite's df.

    For a mean alone: a cluster of share w = its values / all has its residual sum divided by
    sqrt(1 - w). df = tr(B)^2 / tr(B^2), B the covariances of the adjusted sums were all values
    independent: here 1 / (sum of w_g^2 + sum over g != h of u_g u_h), with u = w^2 / (1 - w).
    Clusters of one size give `over_clusters`. Undefined but for the mean with one cluster. Raises
    ValueError as `clustered` does.

    >>> found = cr2([1, 2, 3, 7], ["a", "a", "b", "b"])
    >>> found.mean, found.se, found.df  # as the means 1.5 and 5
    (3.25, 1.75, 1.0)
    """
    groups = _groups(values, clusters)
    n, method = len(values), "CR2 over clusters, Satterthwaite t"
    if len(groups) < 2:
        none = _too_few(groups)
        middle = average(values) if groups else none
        return Interval(middle, none, none, none, none, len(groups), method, confidence)
    middle = average(values)
    sizes = [len(group) for group in groups]
    sums = zip(sizes, _residual_sums(groups), strict=True)
    se = sqrt(fsum(total * total * n / (n - size) for size, total in sums)) / n
    # Products of pairs by running sums, since the square of the sum less the sum of squares
    # cancels when one cluster is nearly everything; sorted, so that order never matters.
    u = sorted(size * size / (n * (n - size)) for size in sizes)
    pairs = fsum(before * each for before, each in zip(accumulate(u), u[1:], strict=False))
    df = 1 / (fsum((size / n) ** 2 for size in sizes) + 2 * pairs)
    ends = limits(middle, se, df, confidence)
    return Interval(middle, se, df, *ends, len(groups), method, confidence)


def smallest_sign_flip_p(k: int) -> float:
    """The smallest two-sided p a sign-flip test of k clusters can give: 2 of its 2**k flips.

    Below six clusters no such test can reach .05.

    >>> smallest_sign_flip_p(3), smallest_sign_flip_p(5), smallest_sign_flip_p(6)
    (0.25, 0.0625, 0.03125)
    """
    return min(1.0, 2.0 ** (1 - k))


def _groups(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return list(groups.values())


def _residual_sums(groups: list[list[float]]) -> list[float]:
    middle = average([value for group in groups for value in group])
    return [fsum(value - middle for value in group) for group in groups]


def _too_few(groups: list[list[float]]) -> Undefined:
    return Undefined("unit_count_one" if groups else "no_data")
