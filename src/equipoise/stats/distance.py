"""How far apart the words lie that subjects committed to, slot by slot."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.undefined import Undefined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]
DRAWS, SEED = 1_000, 20_261_015
LEAST, LEAST_SHARE = 30, 10


@dataclass(frozen=True, slots=True)
class Distance:
    """Two subjects, 0 to 1: of `shared` slots, where both committed, `differing` differ.

    `estimate` is their share, with the bootstrap's 95% limits, slots drawn anew; undefined where
    too few are shared. It is no metric: among subjects that leave slots open a third may be
    nearer to both than they are to each other. `three_symbol` is the share of all slots where
    they differ, no word being a word too: it measures shyness as much as taste.
    """

    shared: int
    differing: int
    estimate: float | Undefined
    low: float | Undefined
    high: float | Undefined
    three_symbol: float | Undefined


@dataclass(frozen=True, slots=True)
class Distances:
    """Every two subjects of `names`, in either order and with themselves.

    `least_shared` slots or more must be shared for an estimate.
    """

    names: tuple[str, ...]
    slots: int
    least_shared: int
    pairs: Mapping[tuple[str, str], Distance]

    def complete(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names that have all distances among each other, and those left out for it.

        Left out is, while any distance is undefined, whoever has the most undefined ones; of
        several the last by name.
        """
        kept, left = sorted(self.names), list[str]()
        while True:
            none = {one: sum(isinstance(self.pairs[one, other].estimate, Undefined)
                             for other in kept) for one in kept}
            if not any(none.values()):
                return tuple(kept), tuple(left)
            left.append(max(kept, key=lambda one: (none[one], one)))
            kept.remove(left[-1])


def distances(
    fingerprints: Mapping[str, Sequence[Hashable | None]], least_shared: int | None = None
) -> Distances:
    """The distances of subjects by the word that each committed to in each slot; None is none.

    Without `least_shared` it is 30, or a tenth of the slots where that is more. Raises ValueError
    when subjects differ in how many slots they have.

    >>> found = distances({"x": ["A", "B", None], "y": ["A", "A", "B"]}, least_shared=1)
    >>> pair = found.pairs["x", "y"]
    >>> pair.shared, pair.estimate, round(pair.three_symbol, 3)
    (2, 0.5, 0.667)
    """
    names, codes = tuple(fingerprints), coded(list(fingerprints.values()))
    slots = codes.shape[1]
    least = max(LEAST, -(-slots // LEAST_SHARE)) if least_shared is None else max(1, least_shared)
    pairs: dict[tuple[str, str], Distance] = {}
    for i, one in enumerate(names):
        for j in range(i, len(names)):
            pairs[one, names[j]] = pairs[names[j], one] = _distance(codes[i], codes[j], least)
        pairs[one, one] = _own(codes[i])
    return Distances(names, slots, least, pairs)


def coded(fingerprints: Sequence[Sequence[Hashable | None]]) -> Integers:
    """A row a subject, a column a slot, a whole number a word, -1 where there is none.

    >>> coded([["A", None], ["B", "A"]]).tolist()
    [[0, -1], [1, 0]]
    """
    slots = len(fingerprints[0]) if fingerprints else 0
    if any(len(row) != slots for row in fingerprints):
        raise ValueError("fingerprints differ in how many slots they have")
    code: dict[Hashable | None, int] = {None: -1}
    flat = [code.setdefault(word, len(code) - 1) for row in fingerprints for word in row]
    return np.array(flat, np.int64).reshape(len(fingerprints), slots)


def _distance(one: Integers, other: Integers, least: int) -> Distance:
    both, unlike = (one >= 0) & (other >= 0), one != other
    shared, differing = int(both.sum()), int((both & unlike).sum())
    three = int(unlike.sum()) / len(one) if len(one) else Undefined("no_data")
    if shared < least:
        none = Undefined("no_overlap")
        return Distance(shared, differing, none, none, none, three)
    low, high = _limits(both, both & unlike)
    return Distance(shared, differing, differing / shared, low, high, three)


def _own(codes: Integers) -> Distance:
    return Distance(int((codes >= 0).sum()), 0, 0.0, 0.0, 0.0, 0.0)


def _limits(both: Truths, differing: Truths) -> tuple[float, float]:
    """The middle 95 of 100 shares, slots being drawn anew as many times as there are slots."""
    weights = resampled(len(both))
    shared = weights @ both.astype(np.float32)
    kept = shared > 0
    shares = (weights @ differing.astype(np.float32))[kept] / shared[kept]
    low, high = np.quantile(shares.astype(np.float64), [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


@lru_cache(maxsize=2)
def resampled(slots: int, draws: int = DRAWS) -> NDArray[np.float32]:
    """How often each slot is drawn, a row a bootstrap sample: the same for every pair, and seeded.

    >>> resampled(5, draws=2).sum(axis=1).tolist()
    [5.0, 5.0]
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    drawn = generator.integers(0, slots, (draws, slots))
    places = drawn + slots * np.arange(draws)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws * slots)
    return counts.reshape(draws, slots).astype(np.float32)


def resampled_distances(
    fingerprints: Mapping[str, Sequence[Hashable | None]], draws: int = DRAWS
) -> list[Floats]:
    """The matrix of distances from slots drawn anew, as often as `draws` says, names as given.

    What a tree's support is counted over. A sample in which two subjects share no slot has no
    matrix and is left out: fewer come back than were drawn.

    >>> len(resampled_distances({"x": "AB", "y": "AA"}, draws=3))
    3
    """
    codes = coded(list(fingerprints.values()))
    m, slots = codes.shape
    if slots == 0:
        return []
    weights = resampled(slots, draws)
    shared, apart = (np.zeros((draws, m, m)) for _ in range(2))
    for i in range(m):
        both = (codes >= 0) & (codes[i] >= 0)
        shared[:, i] = weights @ both.T.astype(np.float32)
        apart[:, i] = weights @ (both & (codes != codes[i])).T.astype(np.float32)
    return [one / of for one, of in zip(apart, shared, strict=True) if of.all()]


def permuted(
    fingerprints: Mapping[str, Sequence[Hashable | None]], seed: int = SEED
) -> dict[str, tuple[Hashable | None, ...]]:
    """Fingerprints with each slot's words dealt out anew among the subjects.

    Every slot keeps how often each word was committed to, and no subject anything of its own: a
    tree of these is what a tree looks like when there is nothing to find.

    >>> permuted({"x": "AB", "y": "AB"})
    {'x': ('A', 'B'), 'y': ('A', 'B')}
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    dealt = [
        [slot[i] for i in generator.permutation(len(slot)).tolist()]
        for slot in zip(*fingerprints.values(), strict=True)
    ]
    return {name: tuple(slot[i] for slot in dealt) for i, name in enumerate(fingerprints)}
