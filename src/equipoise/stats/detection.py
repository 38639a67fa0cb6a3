"""Was what is there detected, and was what answers it shown there and only there?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.stats.confusion import Confusion, confusion
from equipoise.stats.wilson import Rate, rate


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment: present by gold, detected by one reader, shown by another; None is unknown."""

    present: bool | None
    detected: bool | None
    shown: bool | None


@dataclass(frozen=True, slots=True)
class Detection:
    """Detection against gold, and what was shown where it was wanted and where it was not.

    `shown` is the share of the present moments that were shown it. `misfires` were shown where
    nothing was present: `misfired` is their share of the absent moments, the headline, and
    `misplaced` their share of all that was shown. `unknown` moments have no gold.
    """

    confusion: Confusion
    shown: Rate
    misfired: Rate
    misplaced: Rate
    unknown: int

    @property
    def precision(self) -> Rate:
        return self.confusion.precision

    @property
    def recall(self) -> Rate:
        return self.confusion.sensitivity

    @property
    def misfires(self) -> int:
        return self.misfired.count


def detection(moments: Iterable[Moment]) -> Detection:
    """Precision, recall, shown and misfire rates of one kind of thing, with Wilson intervals.

    A moment with something unknown is left out of what touches it, and of nothing else. The
    intervals take moments as independent: over several conversations use `clusters`.

    >>> found = detection([Moment(True, True, True), Moment(False, False, True),
    ...                    Moment(False, None, False), Moment(None, True, True)])
    >>> found.recall.n, found.shown.estimate, found.misfired.estimate, found.misplaced.estimate
    (1, 1.0, 0.5, 0.5)
    """
    moments = list(moments)
    detected = confusion(
        (moment.present, moment.detected) for moment in moments
        if moment.present is not None and moment.detected is not None)
    seen = confusion(
        (moment.present, moment.shown) for moment in moments
        if moment.present is not None and moment.shown is not None)
    return Detection(
        detected, seen.sensitivity, rate(seen.false_positive, seen.negatives),
        rate(seen.false_positive, seen.true_positive + seen.false_positive),
        sum(moment.present is None for moment in moments),
    )
