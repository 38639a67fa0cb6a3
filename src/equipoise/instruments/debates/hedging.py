"""Hedging, by published phrases: whole phrases in a raw reply, each with where it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LONG = "long_preamble"
PREAMBLE_WORDS, BOTH_SIDES = 40, "both_sides"
CHINESE = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Hedge:
    """One phrase that was found: its category, its words in the reply, and where."""

    category: str
    words: str
    span: tuple[int, int]


def hedges(
    reply: str, pick: str | None, phrases: Mapping[str, Sequence[str]]
) -> tuple[Hedge, ...]:
    """Every hedging phrase of a reply, by category; `phrases` are lists by category.

    Apostrophes, case and white space do not matter; a phrase touches no letter, digit or
    apostrophe at either end, but in Chinese, which has no word ends, it may stand anywhere.
    A long preamble is forty words or more before the pick is first named, a both-sides phrase
    among them. Negation is not handled.

    >>> [h.words for h in hedges("It DEPENDS on the day", None, {"depends": ["it depends"]})]
    ['It DEPENDS']
    """
    plain = reply.replace("’", "'").replace("‘", "'").replace("ʼ", "'")
    found = [
        Hedge(category, reply[match.start() : match.end()], match.span())
        for category, listed in phrases.items()
        for phrase in listed
        for match in _pattern(phrase).finditer(plain)
    ]
    found.sort(key=lambda hedge: (hedge.span, hedge.category))
    return (*found, *_preamble(plain, reply, pick, found))


def categories(found: Sequence[Hedge]) -> tuple[str, ...]:
    """The categories that were found, in alphabetical order."""
    return tuple(sorted({hedge.category for hedge in found}))


def _pattern(phrase: str) -> re.Pattern[str]:
    if CHINESE.search(phrase):
        return re.compile(re.escape(phrase), re.IGNORECASE)
    words = r"\s+".join(map(re.escape, phrase.split()))
    return re.compile(rf"(?<![\w']){words}(?![\w'])", re.IGNORECASE)


def _preamble(plain: str, reply: str, pick: str | None, found: Sequence[Hedge]) -> list[Hedge]:
    said = re.search(re.escape(pick.replace("’", "'")), plain, re.IGNORECASE) if pick else None
    at = said.start() if said else -1
    if at < 0 or len(plain[:at].split()) < PREAMBLE_WORDS:
        return []
    before = [h for h in found if h.category == BOTH_SIDES and h.span[1] <= at]
    return [Hedge(LONG, reply[:at], (0, at))] if before else []
