"""What labels are likely if raters err in ways of their own: a view beside gold, never gold."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.consensus import Labelled, codes
from equipoise.stats.undefined import Undefined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STEPS, CLOSE, LEAST, EVEN = 1_000, 1e-6, 1e-300, 1e-6


@dataclass(frozen=True, slots=True)
class Likely:
    """Dawid & Skene's (1979) estimates, all probabilities, by label.

    `chances` are each item's own; `errors` say for a rater and a true label how often each label
    is given; `prevalence` is how frequent the labels are. `converged` says whether the estimates
    had come to rest, no chance moving by a millionth, within the steps allowed.
    """

    prevalence: Mapping[Hashable, float]
    chances: Mapping[Hashable, Mapping[Hashable, float]]
    errors: Mapping[Hashable, Mapping[Hashable, Mapping[Hashable, float]]]
    steps: int
    converged: bool

    def label(self, item: Hashable) -> Hashable | Undefined:
        """The likeliest label of an item, or that several are as likely."""
        chances = self.chances[item]
        most = max(chances.values())
        best = [label for label, chance in chances.items() if chance >= most - EVEN]
        return best[0] if len(best) == 1 else Undefined("tied")


def dawid_skene(ratings: Iterable[Labelled], most_steps: int = STEPS) -> Likely | Undefined:
    """True labels, their prevalence and each rater's errors, by maximum likelihood.

    From ratings as item, rater and label (None is none; of a rater's labels of an item the last
    counts), by EM from the shares of labels of each item. Raters are taken to err independently,
    and alike on all items of a label: where that fails, as on items that are hard for everyone,
    it is surer than it should be. Neither the order of ratings nor names matter. Undefined where
    nothing was labelled.

    >>> said = [(item, rater, label) for item, labels in enumerate(["xxx", "yyy", "xxy", "yyy"])
    ...         for rater, label in zip("ABC", labels)]
    >>> found = dawid_skene(said)
    >>> found.label(2), round(found.errors["C"]["x"]["y"], 6)
    ('x', 0.5)
    """
    last = {(item, rater): label for item, rater, label in ratings if label is not None}
    if not last:
        return Undefined("no_data")
    given = sorted(((*key, label) for key, label in last.items()), key=repr)
    items, item = codes(one[0] for one in given)
    raters, rater = codes(one[1] for one in given)
    labels, label = codes(one[2] for one in given)
    k = len(labels)
    counts = np.bincount(item * k + label, minlength=len(items) * k).reshape(-1, k)
    chances: Floats = counts / counts.sum(axis=1, keepdims=True)
    steps, converged = 0, False
    while steps < most_steps and not converged:
        prevalence, errors = _estimates(chances, item, rater, label, len(raters))
        before, chances = chances, _chances(prevalence, errors, item, rater, label)
        steps, converged = steps + 1, bool(np.abs(chances - before).max() < CLOSE)
    prevalence, errors = _estimates(chances, item, rater, label, len(raters))
    return Likely(
        _named(labels, prevalence),
        {name: _named(labels, chances[i]) for i, name in enumerate(items)},
        {name: {true: _named(labels, errors[g, t]) for t, true in enumerate(labels)}
         for g, name in enumerate(raters)},
        steps, converged,
    )


def _estimates(
    chances: Floats, item: Integers, rater: Integers, label: Integers, raters: int
) -> tuple[Floats, Floats]:
    """Prevalence, and a table a rater: rows of true labels, columns of given ones."""
    k = chances.shape[1]
    errors = np.stack([
        np.bincount(rater * k + label, weights=chances[item, true], minlength=raters * k)
        for true in range(k)
    ]).reshape(k, raters, k).transpose(1, 0, 2)
    # A label that a rater never met has no errors to go by: every one is as likely.
    met = errors.sum(axis=2, keepdims=True)
    return chances.mean(axis=0), np.where(met > LEAST, errors / np.maximum(met, LEAST), 1 / k)


def _chances(
    prevalence: Floats, errors: Floats, item: Integers, rater: Integers, label: Integers
) -> Floats:
    logs = np.log(np.maximum(errors, LEAST))
    found = np.stack([
        np.bincount(item, weights=logs[rater, true, label]) for true in range(len(prevalence))
    ], axis=1) + np.log(np.maximum(prevalence, LEAST))
    weights: Floats = np.exp(found - found.max(axis=1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _named(labels: list[Hashable], shares: Floats) -> dict[Hashable, float]:
    return dict(zip(labels, shares.tolist(), strict=True))
