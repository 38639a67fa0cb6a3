"""What a run would have found from first attempts alone, where many questions had several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.administer import read_again
from equipoise.cli.studies import Study
from equipoise.desk import Desk
from equipoise.ledger import Ledger, Run

SHOWN_ABOVE = 2
"""Per cent of the questions: with more retried, first attempts are shown beside."""


@dataclass(frozen=True)
class Retried:
    """How many questions were asked, how many more than once; the findings of first attempts.

    `first` is what the instrument finds when only each question's first attempt counts, and an
    attempt that brought no reply is an error; where too few were retried it is absent (`None`).
    """

    asked: int
    again: int
    first: Any

    @property
    def many(self) -> bool:
        """Whether so many were asked again that first attempts are shown beside."""
        return 100 * self.again > SHOWN_ABOVE * self.asked

    @property
    def sentence(self) -> str:
        share = 100 * self.again / max(1, self.asked)
        return (f"{self.again:,} of {self.asked:,} questions ({share:.1f}%) were asked more than"
                " once. First attempts only:")


def retried(ledger: Ledger, run: Run, laid_out: Study) -> Retried:
    """Count the questions asked again, and read first attempts alone where they are many."""
    asked, again = ledger.tried(run.seq)
    if not (few := Retried(asked, again, None)).many:
        return few
    desk = Desk(ledger, run)
    desk.only_first_attempts()
    found = read_again(laid_out.instrument, laid_out.trials, desk)
    return Retried(asked, again, laid_out.analyse(found.observations))
