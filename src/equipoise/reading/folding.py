"""Folding: one form for comparing, with the way back to the text as it was sent."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

DECORATION = " \t\r\n\v\f\0.,!:;\"'`*_$()[]{}<>#-—。、"
"""Marks that may stand round a name without changing what it says."""

QUOTES = dict.fromkeys("“”„‟«»「」『』《》〈〉＂〝〞", '"') | dict.fromkeys("‘’‚‛‹›ʼ´＇", "'")
DASHES = dict.fromkeys("–—―−─⸺", "—")
ARROWS = dict.fromkeys("→⇒➜➔➡⟶", ":")
BRACKETS = dict.fromkeys("【〔［", "[") | dict.fromkeys("】〕］", "]")
CROSSES = dict.fromkeys("❌✗✘✖❎🚫⛔👎", " not ")
LIGATURES = {"œ": "oe", "Œ": "oe", "æ": "ae", "Æ": "ae"}
SIMPLIFIED = dict(
    zip(
        "選擇項應該為爲會個還歡對覺認無沒種樣兩於傾絕這說問題嗎當們後實際傾願選過讓從時間總結論確決",
        "选择项应该为为会个还欢对觉认无没种样两于倾绝这说问题吗当们后实际倾愿选过让从时间总结论确决",
        strict=True,
    )
)
SPECIAL = QUOTES | DASHES | ARROWS | BRACKETS | CROSSES | LIGATURES | SIMPLIFIED

ASCII_FOLD = dict.fromkeys((*range(32), 127), " ") | {10: "\n", 13: "\n"}
ASCII_FOLD |= {c: chr(c + 32) for c in range(65, 91)}


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in the form that is compared; `starts` is empty where no character moved."""

    text: str
    starts: tuple[int, ...] = ()

    def origin(self, at: int) -> int:
        """Where in the text as sent the folded character `at` came from."""
        return self.starts[at] if self.starts else at


@lru_cache(maxsize=65536)
def fold_character(character: str) -> str:
    """One character's folded form: width, case and accents gone, marks in one form each.

    What cannot be seen (zero-width, direction marks) folds to nothing; what is neither
    letter, digit nor punctuation (emoji, lone surrogates, controls) to a space; a cross
    or a thumb down to the word "not".

    >>> [fold_character(c) for c in ("Ｂ", "É", "“", "🙂", "❌")]
    ['b', 'e', '"', ' ', ' not ']
    """
    if character in SPECIAL:
        return SPECIAL[character]
    if character in "\n\r\u2028\u2029\x85":
        return "\n"
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    if character.isspace() or category in ("Cc", "Cs", "Co", "Cn", "So"):
        wide = unicodedata.normalize("NFKC", character).casefold()
        return wide if wide.isascii() and wide.isalnum() else " "
    folded = unicodedata.normalize("NFKC", character).casefold()
    parts = unicodedata.normalize("NFKD", folded)
    if ord(parts[0]) < 0x600 or category == "Mn":
        folded = "".join(c for c in parts if unicodedata.category(c) != "Mn")
    return folded


def fold(text: str) -> Folded:
    """The text in its form for comparing, each character with the place it came from.

    >>> fold("Miséricorde").text
    'misericorde'
    >>> folded = fold("＂Ｂ＂ …")
    >>> folded.text, folded.origin(1)
    ('"b" ...', 1)
    """
    if text.isascii():
        return Folded(text.translate(ASCII_FOLD))
    pieces: list[str] = []
    starts: list[int] = []
    for at, character in enumerate(text):
        piece = fold_character(character)
        pieces.append(piece)
        if len(piece) == 1:
            starts.append(at)
        else:
            starts.extend([at] * len(piece))
    return Folded("".join(pieces), tuple(starts))


def bare(text: str) -> str:
    """A short text folded, without the marks round it and with single spaces.

    >>> bare(" **Option  B**. ")
    'option b'
    """
    return " ".join(fold(text).text.strip(DECORATION).split())
