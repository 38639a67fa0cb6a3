"""What was said against what is so: the four counts, and their rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.stats.wilson import Rate, rate


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of decided items: said to be so or not, and so or not.

    Each rate carries its numerator, its denominator and Wilson's 95% interval. Raises ValueError
    when a count is below zero.

    >>> found = Confusion(true_positive=34, false_negative=6, true_negative=40, false_positive=0)
    >>> found.sensitivity.estimate, found.specificity.estimate, found.precision.n
    (0.85, 1.0, 34)
    """

    true_positive: int
    false_negative: int
    true_negative: int
    false_positive: int

    def __post_init__(self) -> None:
        if min(self.true_positive, self.false_negative, self.true_negative,
               self.false_positive) < 0:
            raise ValueError(f"not counts: {self}")

    @property
    def positives(self) -> int:
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        return self.true_negative + self.false_positive

    @property
    def n(self) -> int:
        return self.positives + self.negatives

    @property
    def sensitivity(self) -> Rate:
        """Of what is so, the share that was said: true-positive rate, recall."""
        return rate(self.true_positive, self.positives)

    @property
    def specificity(self) -> Rate:
        """Of what is not so, the share that was not said: true-negative rate."""
        return rate(self.true_negative, self.negatives)

    @property
    def precision(self) -> Rate:
        """Of what was said, the share that is so."""
        return rate(self.true_positive, self.true_positive + self.false_positive)


def confusion(pairs: Iterable[tuple[bool, bool]]) -> Confusion:
    """The counts from pairs of what is so and what was said.

    >>> confusion([(True, True), (True, False), (False, False)])
    Confusion(true_positive=1, false_negative=1, true_negative=1, false_positive=0)
    """
    found = list(pairs)
    said_of_so = [said for so, said in found if so]
    said_of_other = [said for so, said in found if not so]
    return Confusion(
        sum(said_of_so), len(said_of_so) - sum(said_of_so),
        len(said_of_other) - sum(said_of_other), sum(said_of_other),
    )
