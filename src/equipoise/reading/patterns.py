"""The patterns of every language in one, as rules over a skeleton use them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from equipoise.reading import phrases_en, phrases_fr, phrases_zh
from equipoise.reading.names import CJK
from equipoise.reading.skeleton import P

BOOKS = (phrases_en, phrases_fr, phrases_zh)
CONTRACT, CORRECTED, REOPENED = "⊢", "⟲", "⟳"
"""What marks a contract line, a change of mind, and one that leaves the choice open anew."""


class InTurn:
    """One pattern of each language, tried in turn: far faster to search for than all in one."""

    def __init__(self, name: str) -> None:
        self.patterns = tuple(re.compile(_numbered(getattr(book, name))) for book in BOOKS)
        self.pattern = "|".join(pattern.pattern for pattern in self.patterns)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place where a language's pattern is found, the languages in order."""
        return next(filter(None, (pattern.search(text) for pattern in self.patterns)), None)

    def match(self, text: str, at: int) -> re.Match[str] | None:
        """What a language's pattern matches at a place, the languages in order."""
        return next(filter(None, (pattern.match(text, at) for pattern in self.patterns)), None)


def _numbered(parts: str | Sequence[str]) -> str:
    """Several patterns as one, their groups numbered apart."""
    flat = [parts] if isinstance(parts, str) else parts
    return "|".join(
        p.replace("(?P<pick>", f"(?P<pick{i}>").replace("(?P<drop>", f"(?P<drop{i}>")
        for i, p in enumerate(flat)
    )


def _any(name: str, end: str = "") -> re.Pattern[str]:
    """The patterns of that name in every language as one, its groups numbered apart."""
    flat: list[str] = []
    for book in BOOKS:
        part = getattr(book, name)
        flat += [part] if isinstance(part, str) else part
    return re.compile(f"(?:{_numbered(flat)}){end}")


WORD_END = r"(?![a-z'])"
OPENER = _any("OPENERS", rf"{WORD_END}[,:]? ?")
CORRECTION = re.compile(
    rf"(?:^|(?<=[,.;:—!?\n\-。])) ?(?:{'|'.join(book.CORRECTIONS for book in BOOKS)})"
    r"(?![a-z'])(?=[,:.;—!?\n。 …]|$)(?: ?[,:.;—!。…]+ ?| (?=[\ue000-\uefff]|i\b|my\b|je\b|ma\b|"
    r"actually))",
    re.MULTILINE,
)
STATEMENT, LEADING = InTurn("STATEMENTS"), _any("LEADING_STATEMENTS")
COMPARISON, REJECTED, NEGATED = InTurn("COMPARISONS"), _any("REJECTED"), _any("NEGATED")
CANCEL, REFUSAL = InTurn("CANCELS"), InTurn("REFUSALS")
EXPLAINS, GOES_ON = _any("EXPLAINS"), _any("GOES_ON", WORD_END)
BLOCK, RESET = InTurn("BLOCKS"), _any("RESETS")
BOUNDARY = re.compile(
    r"^|[,:] ?|\b(?:and|but|so|then|thus|therefore|hence|however|yet|et|mais|donc|alors) |"
    r"\bi (?:really |personally |still |do )?(?:think|believe|feel)(?: that)? |"
    r"\bit's that |\bje (?:pense|crois|trouve|dirais) qu[e'] ?|"
    r"但是?|所以|因此|不过|那么|(?:我|个人)(?:觉得|认为)|最终|于是"
)
STRONG = re.compile(
    r"[,:] ?(?:and )?(?:so|thus|therefore|hence|donc|alors|所以|因此|那就),? ?"
    rf"(?={P})"
)
OTHER = re.compile(
    r",? ?(?:over|rather than|instead of|not|and not|but not|never|above|before|as opposed to|"
    r"avant|devant|au-dessus de|"
    r"plutot que|et non(?: pas)?|et pas|pas|au lieu de|而?(?:不是|并非|非|不选|不要)) ?"
    rf"({P})"
)
THAN = re.compile(rf",? ?(?:to|than|more than|au?x?|que) ({P})")
CONDITION = re.compile(
    r"if |since i |s'il |si |如果|要我说|让我选|非要|要我选|(?:just )?for (?:the sake|argument)|"
    r"pour (?:les besoins|jouer)"
)
"""How an opener begins that lets a bare name follow it anywhere: if I had to choose, tea."""

SWAYS = re.compile(
    r"\b(?:actually|wait|chang(?:e|ed|ing) (?:my|to)|my mind|second thoughts?|correction|i meant|"
    r"my mistake|i was wrong|let me correct|reconsider\w*|scratch|oops|hmm|en fait|attends|"
    r"attendez|finalement|pardon|reflexion|erreur)\b|"
    rf"其实|不对|等等|改(?:变)?(?:主意|选|为|成|我的)|更正|说错|: ?{P}[.!。]?$"
)
"""What an unread clause says where it may take back a choice made before it."""

REOPENS = re.compile(
    r"reconsider|chang|second thought|reflection|scratch|correct|kidding|joking|revis|reflexion|"
    r"ravise|plaisant|rigole|blague|\bjk\b|改|重新|再想|更正|纠正|玩笑|笑的|说错"
)
"""What in a change of mind leaves the choice open until the next one is stated."""

CONCEDES = re.compile(
    r"^ ?(?:although|though|even though|despite|bien qu[e']|meme si|quoiqu[e']|certes|虽然|尽管|"
    r"固然)[^,]*,"
)
TURNS = re.compile(r"\b(?:actually|rather|instead|en fait|finalement)\b|其实")


DENIES = re.compile(
    r"(?:n't|\b(?:not|never|hardly|nobody|no one|few|doubt|wrong|false|jamais|pas|faux|personne))\b"
    r"[^,:]*$|[不没谁][^,:]*$"
)
DENIED = re.compile(r"^, ?(?:never|no|not|nope|nah|jamais|non|pas|plus jamais)\b|^, ?[绝不]|"
    r"^, ?(?:it|that|this|ce|c'|ca|cela|il|elle)\b[^,.]{0,20}(?:n't|\b(?:not|never|pas|jamais))\b|"
    r"^,我不(?!会选别|会选其|想选别)|^,(?:但|可)?不是我"
)
LISTED = re.compile(rf"^(?:, ?(?:and |et )?(?:[^\W{CJK}]+|[{CJK}]{{1,3}}))+[ .!。]*$")
"""A name that goes on as a list of single words, such as a motto, is no choice."""

DOUBTS = rf"{BLOCK.pattern}|n't\b|\b(?:not|never|pas|jamais)\b"
BARE = re.compile(f"(?P<pick0>{P})")


