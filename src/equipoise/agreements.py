"""What raters' answers come to, a bias at a time: gold, and how far each agrees with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.gold import Adjudication, Gold, Rating, golds
from equipoise.labelling import TASKS, UNKNOWN, Answer, Task, as_ratings, standing
from equipoise.stats.agreement import Agreement, agreement
from equipoise.stats.cohen import Cohen
from equipoise.stats.consensus import LeftOut, leave_one_out, pairwise
from equipoise.stats.undefined import Undefined

ALL = "all"


@dataclass(frozen=True)
class Agreed:
    """One task and bias (or all biases) under the definitions of now.

    `golds` are the items by id; `unknown` how many answers were unknown, which are no label.
    `alone` has each rater against gold formed without them, `pairs` Cohen's kappa of every two,
    `together` what all raters come to. Labels under other definitions are in `golds` as stale,
    and in no figure.
    """

    task: Task
    bias: str
    golds: Mapping[str, Gold]
    unknown: int
    raters: tuple[str, ...]
    alone: tuple[LeftOut, ...]
    pairs: Mapping[Any, Cohen]
    together: Agreement

    @property
    def statuses(self) -> Mapping[str, int]:
        """How many items are in each state, `stale` where only old labels are."""
        return Counter("stale" if found.status == "unrated" and found.stale else found.status
                       for found in self.golds.values())


@dataclass(frozen=True)
class Headline:
    """Percent agreement and kappa, which kappa it is, and over how many items."""

    percent: float | Undefined
    kappa: float | Undefined
    kind: str
    n: int


def agreed(
    answers: Iterable[Answer], settled: Iterable[tuple[Task, str, Adjudication]],
    stamps: Mapping[str, str],
) -> list[Agreed]:
    """Every task and bias that has an answer, in the order of `stamps`, then each task as a whole.

    `stamps` are the definitions of now by bias, `settled` the adjudications with task and bias.
    """
    every, judged = list(answers), list(settled)
    found: list[Agreed] = []
    for task in TASKS:
        parts = []
        for bias, stamp in stamps.items():
            own = [a for a in every if (a.task, a.bias) == (task, bias)]
            ruled = [each for t, b, each in judged if (t, b) == (task, bias)]
            if own or ruled:
                parts.append((bias, own, golds(_with_unrated(own), stamp, ruled), stamp))
        rows = [_agreed(task, bias, own, its, {bias: stamp}) for bias, own, its, stamp in parts]
        if len(rows) > 1:
            whole = {item: one for _, _, its, _ in parts for item, one in its.items()}
            rows.append(_agreed(task, ALL, [a for _, own, _, _ in parts for a in own], whole,
                                stamps))
        found += rows
    return found


def _with_unrated(answers: Sequence[Answer]) -> list[Rating]:
    """The ratings, and a skip for each item that was only ever skipped or taken back."""
    rated = as_ratings(answers)
    seen = {rating.item for rating in rated}
    bare = [Rating(a.id, a.rater, None, a.definition) for a in answers
            if a.act != "read" and a.id not in seen]
    return [*rated, *{rating.item: rating for rating in bare}.values()]


def _agreed(
    task: Task, bias: str, answers: Sequence[Answer], its: Mapping[str, Gold],
    stamps: Mapping[str, str],
) -> Agreed:
    now = [one for one in standing(answers) if one.definition == stamps[one.bias]]
    labels = [(one.id, one.rater, one.label) for one in now if one.label != UNKNOWN]
    raters = tuple(sorted({rater for _, rater, _ in labels}))
    given = {(item, rater): label for item, rater, label in labels}
    items = dict.fromkeys(item for item, _, _ in labels)
    return Agreed(
        task, bias, its, len(now) - len(labels), raters, leave_one_out(labels), pairwise(labels),
        agreement([[given.get((item, rater)) for rater in raters] for item in items]),
    )


def headline(found: Agreed) -> Headline:
    """The one figure of a row: Fleiss' kappa where three raters or more labelled the same items.

    With two raters it is Cohen's. With more who have no item in common it is Krippendorff's
    alpha, which allows for labels that are missing.
    """
    of = found.together
    if len(found.raters) == 2:
        [cohen] = found.pairs.values() or [None]
        if cohen is None:
            none = Undefined("no_overlap")
            return Headline(none, none, "Cohen", 0)
        return Headline(cohen.agreed.estimate, cohen.kappa, "Cohen", cohen.n)
    if of.complete:
        return Headline(of.percent_complete, of.fleiss, "Fleiss", of.complete)
    return Headline(of.percent, of.alpha, "alpha", of.compared)
