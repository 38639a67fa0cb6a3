"""Trees of subjects from their distances: UPGMA, neighbour joining, and how well they fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.undefined import Undefined

Floats = NDArray[np.float64]
TIE = 1e-12
"""Distances this near are equal, and the order of names decides."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two clusters joined at `height`, the mean distance between their members."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    height: float

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(sorted(self.one + self.other))


@dataclass(frozen=True, slots=True)
class Tree:
    """An UPGMA tree, its merges from the lowest up.

    `cophenetic` is the height at which two subjects first meet; `correlation` is that of these
    heights with the distances, over pairs: how well a tree fits at all. UPGMA takes all subjects
    to have moved equally far; see `neighbour_joining` where they have not.
    """

    names: tuple[str, ...]
    merges: tuple[Merge, ...]
    cophenetic: Mapping[tuple[str, str], float]
    correlation: float | Undefined

    def clusters(self, height: float) -> tuple[tuple[str, ...], ...]:
        """The clusters that are left where the tree is cut at this height."""
        found: dict[str, tuple[str, ...]] = {name: (name,) for name in self.names}
        for merge in self.merges:
            if merge.height <= height:
                found.update(dict.fromkeys(merge.members, merge.members))
        return tuple(dict.fromkeys(found[name] for name in self.names))


def upgma(names: Sequence[str], distance: Floats) -> Tree:
    """Average linkage (Sokal & Michener 1958): the two nearest clusters are joined, time and again.

    Of clusters equally near the first by name are joined, so that the order of subjects does not
    matter. Raises ValueError unless the distances are symmetric, finite and 0 on the diagonal.

    >>> found = upgma(["x", "y", "z"], np.array([[0, 1, 4.0], [1, 0, 2], [4, 2, 0]]))
    >>> [(merge.members, merge.height) for merge in found.merges]
    [(('x', 'y'), 1.0), (('x', 'y', 'z'), 3.0)]
    """
    order, d = in_order(names, distance)
    members: dict[int, tuple[str, ...]] = {i: (name,) for i, name in enumerate(order)}
    sums = d.copy()
    sizes = np.ones(len(order))
    merges: list[Merge] = []
    met: dict[tuple[str, str], float] = {(name, name): 0.0 for name in order}
    open_ = np.ones(len(order), bool)
    for _ in range(len(order) - 1):
        i, j = _nearest(sums / np.outer(sizes, sizes), open_)
        height = float(sums[i, j] / (sizes[i] * sizes[j]))
        merges.append(Merge(members[i], members[j], height))
        for one in members[i]:
            for other in members[j]:
                met[one, other] = met[other, one] = height
        members[i] = tuple(sorted(members[i] + members.pop(j)))
        sums[i] += sums[j]
        sums[:, i] = sums[i]
        sizes[i] += sizes[j]
        open_[j] = False
    pairs = [*combinations(order, 2)]
    place = {name: i for i, name in enumerate(order)}
    correlation = _pearson([float(d[place[a], place[b]]) for a, b in pairs],
                           [met[pair] for pair in pairs])
    return Tree(tuple(order), tuple(merges), met, correlation)


def in_order(names: Sequence[str], distance: Floats) -> tuple[list[str], Floats]:
    """Names and distances in the order of names; ValueError where these are no distances.

    >>> in_order(["b", "a"], np.array([[0, 2.0], [2, 0]]))[0]
    ['a', 'b']
    """
    d = np.asarray(distance, np.float64).reshape(len(names), len(names))
    if not (np.isfinite(d).all() and (d == d.T).all() and not d.diagonal().any()):
        raise ValueError("distances must be symmetric, finite and 0 on the diagonal")
    if len(set(names)) < len(names):
        raise ValueError(f"a name occurs twice among {', '.join(names)}")
    order = sorted(range(len(names)), key=lambda i: names[i])
    return [names[i] for i in order], d[np.ix_(order, order)]


def _nearest(distance: Floats, open_: NDArray[np.bool_]) -> tuple[int, int]:
    """The first pair of open clusters that is as near as any."""
    between = np.where(np.triu(np.outer(open_, open_), 1), distance, np.inf)
    i, j = np.argwhere(between <= between.min() + TIE)[0].tolist()
    return i, j


def _pearson(one: Sequence[float], other: Sequence[float]) -> float | Undefined:
    if len(one) < 2:
        return Undefined("too_few_units")
    x, y = fsum(one) / len(one), fsum(other) / len(other)
    across = fsum((a - x) * (b - y) for a, b in zip(one, other, strict=True))
    spread = fsum((a - x) ** 2 for a in one) * fsum((b - y) ** 2 for b in other)
    return across / sqrt(spread) if spread > TIE ** 4 else Undefined("one_class")


def support(tree: Tree, resamples: Sequence[Floats]) -> tuple[float | Undefined, ...]:
    """For each merge of a tree, the share of resampled trees that have the same cluster.

    `resamples` are distances of the tree's names, in its order, from slots drawn anew.

    >>> d = np.array([[0, 1, 4.0], [1, 0, 2], [4, 2, 0]])
    >>> support(upgma(["x", "y", "z"], d), [d, d[::-1, ::-1]])
    (0.5, 1.0)
    """
    if not resamples:
        return tuple(Undefined("no_data") for _ in tree.merges)
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    for distance in resamples:
        for merge in upgma(tree.names, distance).merges:
            seen[merge.members] += 1
    return tuple(seen[merge.members] / len(resamples) for merge in tree.merges)


@dataclass(frozen=True, slots=True)
class Branches:
    """An unrooted tree by its branches: leaves by name, inner nodes by number.

    `paths` is the length between two leaves along the tree. A branch may be negative where the
    distances fit no tree: it is kept, and `negative` says how many there are.
    """

    names: tuple[str, ...]
    branches: tuple[tuple[str | int, str | int, float], ...]
    paths: Mapping[tuple[str, str], float]
    total: float
    negative: int


def neighbour_joining(names: Sequence[str], distance: Floats) -> Branches:
    """Saitou & Nei's (1987) tree, for subjects that may have moved unequally far.

    Distances that fit a tree give that tree's own. Of pairs equally good the first by name is
    joined. Raises ValueError as `upgma` does.

    >>> star = np.array([[0, 3, 4.0], [3, 0, 5], [4, 5, 0]])  # arms of 1, 2 and 3
    >>> sorted(length for _, _, length in neighbour_joining(["x", "y", "z"], star).branches)
    [1.0, 2.0, 3.0]
    """
    order, d = in_order(names, distance)
    nodes: list[str | int] = list(order)
    branches: list[tuple[str | int, str | int, float]] = []
    inner = 0
    while len(nodes) > 3:
        n, rows = len(nodes), d.sum(axis=1)
        i, j = _nearest((n - 2) * d - rows[:, None] - rows, np.ones(n, bool))
        arm = float(d[i, j] / 2 + (rows[i] - rows[j]) / (2 * (n - 2)))
        branches += [(nodes[i], inner, arm), (nodes[j], inner, float(d[i, j]) - arm)]
        joined = (d[i] + d[j] - d[i, j]) / 2
        d[i], d[:, i], d[i, i] = joined, joined, 0.0
        nodes[i] = inner
        d = np.delete(np.delete(d, j, axis=0), j, axis=1)
        del nodes[j]
        inner += 1
    branches += _last(nodes, d, inner)
    lengths = [length for _, _, length in branches]
    return Branches(tuple(order), tuple(branches), _paths(order, branches), fsum(lengths),
                    sum(length < -TIE for length in lengths))


def _last(
    nodes: Sequence[str | int], d: Floats, inner: int
) -> list[tuple[str | int, str | int, float]]:
    """The branches of the last three nodes, a star, or of the two or one that there are."""
    if len(nodes) < 3:
        return [(nodes[0], nodes[1], float(d[0, 1]))] if len(nodes) == 2 else []
    half = float(d[0, 1] + d[0, 2] + d[1, 2]) / 2
    return [(nodes[a], inner, half - float(d[b, c])) for a, b, c in ((0, 1, 2), (1, 0, 2),
                                                                     (2, 0, 1))]


def _paths(
    names: Sequence[str], branches: Sequence[tuple[str | int, str | int, float]]
) -> dict[tuple[str, str], float]:
    beside: dict[str | int, list[tuple[str | int, float]]] = defaultdict(list)
    for one, other, length in branches:
        beside[one].append((other, length))
        beside[other].append((one, length))
    found: dict[tuple[str, str], float] = {}
    for name in names:
        reached: dict[str | int, float] = {name: 0.0}
        waiting: list[str | int] = [name]
        while waiting:
            node = waiting.pop()
            for other, length in beside[node]:
                if other not in reached:
                    reached[other] = reached[node] + length
                    waiting.append(other)
        found.update({(name, other): reached[other] for other in names})
    return found
