"""The label that people agreed on: formed by majority, settled with a reason, or contested."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.stats.consensus import consensus
from equipoise.stats.undefined import Undefined

Status = Literal[
    "unrated", "pending", "unanimous", "majority", "split", "adjudicated", "contested"
]
WAITING: tuple[Status, ...] = ("unrated", "pending", "split")


@dataclass(frozen=True, slots=True)
class Rating:
    """A person's label of an item, under the definition they read; None is a skip."""

    item: str
    rater: str
    label: str | None
    definition: str


@dataclass(frozen=True, slots=True)
class Adjudication:
    """What a person decided where raters did not agree, with the reason; None: not to be settled.

    It counts under the definition it was made for, and only with a reason and a name.
    """

    item: str
    by: str
    label: str | None
    reason: str
    definition: str

    def counts(self, definition: str) -> bool:
        return self.definition == definition and bool(self.by.strip() and self.reason.strip())


@dataclass(frozen=True, slots=True)
class Gold:
    """An item's label under the current definition, or why there is none.

    `raters` labelled it under that definition; `stale` ratings and adjudications were made under
    another, and are kept, shown and never counted.
    """

    status: Status
    label: str | Undefined
    raters: int
    stale: int = 0

    @property
    def is_gold(self) -> bool:
        return not isinstance(self.label, Undefined)


def gold(
    ratings: Iterable[Rating], definition: str, adjudications: Iterable[Adjudication] = ()
) -> Gold:
    """One item's gold from its ratings and adjudications, in the order in which they were given.

    Of a rater the last label counts, once, and a skip leaves it. Gold is the label of at least
    two raters and of more than half of those who answered; else the item is a split, or pending
    after one. The last adjudication that counts outranks the ratings; one without a label makes
    the item contested. A changed definition makes all of it stale at once.

    >>> said = [Rating("i", rater, label, "v1") for rater, label in zip("ABC", "xyy")]
    >>> gold(said, "v1")
    Gold(status='majority', label='y', raters=3, stale=0)
    >>> gold(said, "v2").status, gold(said, "v2").stale
    ('unrated', 3)
    """
    ratings, adjudications = list(ratings), list(adjudications)
    latest = {rating.rater: rating.label for rating in ratings
              if rating.label is not None and rating.definition == definition}
    old = sum(each.definition != definition for each in ratings) + sum(
        each.definition != definition for each in adjudications)
    settled = [each for each in adjudications if each.counts(definition)]
    if settled:
        label = settled[-1].label
        if label is None:
            return Gold("contested", Undefined("contested"), len(latest), old)
        return Gold("adjudicated", label, len(latest), old)
    counts = Counter(latest.values())
    agreed = consensus(counts)
    return Gold(_status(counts, agreed), agreed, len(latest), old)


def _status(counts: Mapping[str, int], agreed: str | Undefined) -> Status:
    if not isinstance(agreed, Undefined):
        return "unanimous" if len(counts) == 1 else "majority"
    return "split" if agreed.reason == "no_majority" else "pending" if counts else "unrated"


def golds(
    ratings: Iterable[Rating], definition: str, adjudications: Iterable[Adjudication] = ()
) -> dict[str, Gold]:
    """The gold of every item that was rated or adjudicated, in the order items first occur.

    >>> found = golds([Rating("i", "A", "x", "v1"), Rating("i", "B", "x", "v1")], "v1")
    >>> found["i"].label
    'x'
    """
    rated: dict[str, list[Rating]] = defaultdict(list)
    settled: dict[str, list[Adjudication]] = defaultdict(list)
    for rating in ratings:
        rated[rating.item].append(rating)
    for adjudication in adjudications:
        settled[adjudication.item].append(adjudication)
    return {
        item: gold(rated.get(item, ()), definition, settled.get(item, ()))
        for item in dict.fromkeys((*rated, *settled))
    }
