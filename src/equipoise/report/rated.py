"""Raters' labels in sentences and rows: what gold was formed, and how far people agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equipoise.agreements import ALL, Agreed, headline
from equipoise.report.words import number, percent
from equipoise.stats.undefined import Undefined

STATUSES = ("unanimous", "majority", "adjudicated", "split", "contested", "pending", "unrated",
            "stale")
KAPPAS = {"Fleiss": "Fleiss’ kappa", "Cohen": "Cohen’s kappa", "alpha": "Krippendorff’s alpha"}


def discounted(share: float | Undefined, kappa: float | Undefined) -> str:
    """Agreement as people read it: percent, and what is left once luck is taken out.

    >>> discounted(0.857, 0.714), discounted(1.0, Undefined("one_class"))
    ('86% · 0.71 once luck is discounted', '100% · one class')
    """
    if isinstance(share, Undefined):
        return percent(share)
    luck = "" if isinstance(kappa, Undefined) else " once luck is discounted"
    return f"{percent(share)} · {number(kappa)}{luck}"


def gold_rows(found: Iterable[Agreed]) -> tuple[list[str], list[list[str]]]:
    """How many items of each task and bias are in which state; states that none is in left out."""
    rows = list(found)
    used = [s for s in STATUSES if any(row.statuses.get(s) for row in rows)]
    return ["task", "bias", "items", *used, "unknown"], [
        [row.task, _bias(row), f"{len(row.golds):,}",
         *(f"{row.statuses.get(status, 0):,}" for status in used), f"{row.unknown:,}"]
        for row in rows]


def agreement_rows(found: Iterable[Agreed]) -> tuple[list[str], list[list[str]]]:
    """How far the raters agree with each other, with every coefficient beside the display form."""
    header = ["task", "bias", "raters", "agreement", "by", "n", "Fleiss", "Conger", "AC1", "alpha"]
    rows = []
    for row in found:
        one, of = headline(row), row.together
        rows.append([row.task, _bias(row), str(len(row.raters)),
                     discounted(one.percent, one.kappa), KAPPAS[one.kind], f"{one.n:,}",
                     *map(number, (of.fleiss, of.conger, of.ac1, of.alpha))])
    return header, rows


def alone_rows(found: Iterable[Agreed]) -> tuple[list[str], list[list[str]]]:
    """Each rater against gold formed without them, with what was dropped."""
    header = ["task", "bias", "rater", "against gold formed without them", "n", "dropped"]
    return header, [
        [row.task, _bias(row), str(one.rater),
         discounted(one.cohen.agreed.estimate, one.cohen.kappa), f"{one.cohen.n:,}",
         f"{one.dropped:,}"]
        for row in found for one in row.alone]


def pair_rows(found: Iterable[Agreed]) -> tuple[list[str], list[list[str]]]:
    """Every two raters, where only two labelled a bias."""
    header = ["task", "bias", "pair", "agreement", "n"]
    return header, [
        [row.task, _bias(row), f"{one} and {other}",
         discounted(cohen.agreed.estimate, cohen.kappa), f"{cohen.n:,}"]
        for row in found for (one, other), cohen in row.pairs.items()]


def notes(found: Sequence[Agreed]) -> list[str]:
    """What the rows do not say by themselves."""
    said = []
    if any(len(row.raters) > 2 for row in found):
        said.append("Gold formed without a rater exists only where the others agree: these are the"
                    " easier items, so that agreement is biased upward. Dropped is how many there"
                    " are beside them.")
    if any(len(row.raters) == 2 for row in found):
        said.append("Where two people labelled, gold formed without one of them does not exist:"
                    " one other cannot agree. Cohen’s kappa of the pair stands in its place.")
    if stale := sum(g.stale for row in found if row.bias != ALL for g in row.golds.values()):
        said.append(f"{stale:,} labels were given under other words of their definitions: kept,"
                    " and in no figure.")
    if waiting := sum(row.statuses.get("split", 0) for row in found if row.bias != ALL):
        said.append(f"{waiting:,} splits wait: for a third rater, or for equipoise adjudicate.")
    return said


def _bias(row: Agreed) -> str:
    return "all of them" if row.bias == ALL else row.bias
