"""Whole replies of a few known shapes that no clause of their own would state."""

from __future__ import annotations

import re
import unicodedata

from equipoise.reading.folding import Folded, bare
from equipoise.reading.names import Mention, Names

TITLED = r"(?:[A-Z]\.? ?){1,3}|[A-Z][^\W\d_]+"
FULL_NAME = re.compile(rf"\W{{0,4}}(?:(?:{TITLED})[ -]){{1,4}}([A-Z][^\W\d_]+)\W{{0,4}}")
NO_FORENAME = re.compile(
    r"\b(?:no|not|never|non|more|less|without|against|anti|the|a|an|of|and|or|both|neither|either|"
    r"any|some|my|your|his|her|le|la|les|de|du|et|ou|pas|sans|ni|is|was|has)\b",
    re.IGNORECASE,
)
ORDINALS = re.compile(
    r"\b(?:the )?(?:(first|second) (?:one|option|choice)|option (1|2|one|two)|(?:number|no\.) (1|"
    r"2))"
    r"\b|\b(?:le |la )(premiere?|seconde?|deuxieme)(?: option| choix)?\b|第(一|二)(?:个|项|种)|"
    r"选项(一|二)"
)
SECOND = frozenset({"second", "2", "two", "seconde", "deuxieme", "二"})


def emoji_named(proper: str, called: Names) -> int | None:
    """The option whose name is the Unicode name of every emoji in a reply of emoji alone.

    >>> from equipoise.reading.names import names
    >>> emoji_named("🐶", names({"A": ("A", "cat"), "B": ("B", "dog")}))
    1
    """
    if proper.isascii():
        return None
    signs = [c for c in proper if unicodedata.category(c) == "So"]
    if not signs or any(c.isalnum() for c in proper):
        return None
    said = {unicodedata.name(c, "").lower().removesuffix(" face") for c in signs}
    named = {called.exact.get(bare(name)) if name else None for name in said}
    return named.pop() if len(named) == 1 else None


def full_name(proper: str, called: Names) -> int | None:
    """The option that ends a reply which is one full name: Johann Sebastian Bach, W. Mozart.

    Only for options that are given with a capital, after two forenames or an initial.
    """
    name = FULL_NAME.fullmatch(proper.strip())
    if name is None or name[1].lower() not in called.proper:
        return None
    forenames = re.findall(r"[^\W\d_]+", proper[: name.start(1)])
    if NO_FORENAME.search(proper) or (len(forenames) < 2 and len(forenames[0]) > 2):
        return None
    return called.exact.get(bare(name[1]))


def ordinals(folded: Folded, called: Names) -> list[Mention]:
    """Places that name an option by its place, where options are lettered in order."""
    first, second = called.exact.get("a"), called.exact.get("b")
    if first is None or second is None or len(called.values) != 2:
        return []
    return [
        Mention(*match.span(), second if (match[match.lastindex or 0] in SECOND) else first, False)
        for match in ORDINALS.finditer(folded.text)
    ]
