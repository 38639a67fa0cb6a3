"""The label that raters agreed on, and each rater's agreement with that of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.cohen import Cohen, cohen_of
from equipoise.stats.undefined import Undefined

Integers = NDArray[np.int64]
Labelled = tuple[Hashable, Hashable, Hashable | None]
"""An item, a rater, and the label the one got from the other; None is no label."""
LEAST = 2


def consensus(counts: Mapping[str, int]) -> str | Undefined:
    """The label with two ratings or more and more than half of all; `counts` are ratings a label.

    >>> consensus({"x": 2, "y": 1}), consensus({"x": 2, "y": 1, "z": 1})
    ('x', Undefined(reason='no_majority'))
    >>> consensus({"x": 1})
    Undefined(reason='too_few_units')
    """
    every = sum(counts.values())
    if every < LEAST:
        return Undefined("too_few_units" if every else "no_data")
    label, most = max(counts.items(), key=lambda item: item[1])
    return label if most >= LEAST and 2 * most > every else Undefined("no_majority")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One rater against what the others agreed on without this one.

    Of `rated` items the others agree on `cohen.n`, which are compared, and not on the `dropped`.
    What remains are the easier items, so that agreement is biased up: show how many were dropped.
    """

    rater: Hashable
    rated: int
    dropped: int
    cohen: Cohen


def leave_one_out(ratings: Iterable[Labelled]) -> tuple[LeftOut, ...]:
    """Each rater's agreement with the consensus of the others, in the order raters first occur.

    A rater's last label of an item counts. With two raters nothing is compared, since one other
    cannot agree: see `pairwise`. What a person adjudicated does not bring an item back.

    >>> three = [("i", rater, label) for rater, label in zip("ABC", "xxy")]
    >>> [(found.rater, found.cohen.n, found.cohen.agreed.count) for found in leave_one_out(three)]
    [('A', 0, 0), ('B', 0, 0), ('C', 1, 0)]
    """
    given = _last(ratings)
    if not given:
        return ()
    items, item = codes(key[0] for key in given)
    raters, rater = codes(key[1] for key in given)
    labels, label = codes(given.values())
    agreed, kept = _without(item, label, len(items), len(labels))
    rated = np.bincount(rater).tolist()
    tables: list[dict[tuple[Hashable, Hashable], int]] = [{} for _ in raters]
    k = len(labels)
    cells, counts = np.unique(
        (rater[kept] * k + label[kept]) * k + agreed[kept], return_counts=True)
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        tables[cell // (k * k)][cell // k % k, cell % k] = count
    compared = map(cohen_of, tables)
    return tuple(
        LeftOut(name, n, n - found.n, found)
        for name, n, found in zip(raters, rated, compared, strict=True)
    )


def _without(
    item: Integers, label: Integers, items: int, labels: int
) -> tuple[Integers, NDArray[np.bool_]]:
    """For every rating the label that most others gave the item, and whether they agree on it.

    Of the others' labels only the item's own two most frequent can have more than half.
    """
    k = max(2, labels)
    counts = np.bincount(item * k + label, minlength=items * k).reshape(items, k)
    order = np.argsort(-counts, axis=1, kind="stable")[:, :2]
    first, second = order[item].T
    ones, twos = np.take_along_axis(counts, order, axis=1)[item].T
    ones = ones - (label == first)
    twos = twos - (label == second)
    most = np.maximum(ones, twos)
    others = counts.sum(axis=1)[item] - 1
    return np.where(ones >= twos, first, second), (most >= LEAST) & (2 * most > others)


def pairwise(ratings: Iterable[Labelled]) -> Mapping[tuple[Hashable, Hashable], Cohen]:
    """Cohen's kappa of every two raters who labelled an item in common.

    >>> found = pairwise([("i", "A", "x"), ("i", "B", "x"), ("j", "B", "y"), ("j", "A", "y")])
    >>> found["A", "B"].kappa
    1.0
    """
    given = _last(ratings)
    if not given:
        return {}
    _, item = codes(key[0] for key in given)
    raters, rater = codes(key[1] for key in given)
    labels, label = codes(given.values())
    order = np.lexsort((rater, item))
    rater, label, size = rater[order], label[order], np.bincount(item)
    start, k = np.cumsum(size) - size, len(labels)
    found = [np.zeros(0, np.int64)]
    for n in np.unique(size[size > 1]).tolist():
        one, other = (start[size == n][:, None] + places for places in np.triu_indices(n, 1))
        pair = rater[one] * len(raters) + rater[other]
        found.append(((pair * k + label[one]) * k + label[other]).ravel())
    tables: dict[int, dict[tuple[Hashable, Hashable], int]] = defaultdict(dict)
    cells, counts = np.unique(np.concatenate(found), return_counts=True)
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        tables[cell // (k * k)][cell // k % k, cell % k] = count
    return {
        (raters[pair // len(raters)], raters[pair % len(raters)]): cohen_of(table)
        for pair, table in tables.items()
    }


def _last(ratings: Iterable[Labelled]) -> dict[tuple[Hashable, Hashable], Hashable]:
    return {(item, rater): label for item, rater, label in ratings if label is not None}


def codes(values: Iterable[Hashable]) -> tuple[list[Hashable], Integers]:
    """The distinct values as they first occur, and each value's place among them.

    >>> found, places = codes("abca")
    >>> found, places.tolist()
    (['a', 'b', 'c'], [0, 1, 2, 0])
    """
    code: dict[Hashable, int] = {}
    found = [code.setdefault(value, len(code)) for value in values]
    return list(code), np.array(found, np.int64)

