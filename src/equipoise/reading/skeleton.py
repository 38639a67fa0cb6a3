"""The skeleton of a reply: its folded words with every named option as one sign.

Rules are written over the skeleton, so that they know "an option" and "another option" but
never which: no rule can favour one. Each sign keeps the place in the reply it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.reading.folding import Folded
from equipoise.reading.names import CJK, Mention

FIRST_LETTERED, FIRST_NAMED = 0xE000, 0xE800
P = "[\ue000-\uefff]"
"""Any option, in a pattern."""

GONE, HUSH = "\x00", "¤"
"""What is dropped, and what stands for another's words."""

MARKS = re.compile(
    r"\\(?:boxed|text(?:bf|it)?|mathbf|mathrm)\b|\\[()\[\]]"
)
ANSWER_TAG = re.compile(r"<(/?)(?:final_?answer|answer|choice|pick|response)>")
QUOTED = re.compile(r'"[^"\n]{1,600}"')
GLOSS = re.compile(
    rf"^( ?(?:(?:the|la|le|les|l'|un|une) ?)?{P}) ?\((?!(?:not?|never|maybe|perhaps|or|and|"
    rf"sometimes|probably|possibly|but|if|unless|"
    r"just|only|wrong|bad|worst|rejected|joke|sarcas|lol|kidding|second|last|least|non|pas|ou|et|"
    r"si|peut|mais|je|i|it|no|nope|当|不|如果|或|和|开玩笑|可能|也许|假)(?![a-z])|sarcas|kidding|"
    r"[^)]*(?:玩笑|如果|不))([^()\n\d?\ue000-\uefff]{1,24})\)(?=[ .!]*\Z)"
)
"""A reply that is one name with its gloss in another language: clémence (mercy)."""

FIXED = re.compile(rf"(?<=\bin )({P})(?= (?:to|that|of|for) )")
"""A name inside a fixed phrase, which is no name there: in order to."""

PAIR = re.compile(rf"[(\[{{<] ?({P}) ?[)\]}}>]")
ARTICLES = r"(?:the|la|le|les|l'|du|de la|de l'|des|d'|un|une|an)"
LABELS = r"(?:option|choice|letter|label|side|team|lettre|choix|(?<!ma )(?<!ta )reponse|选项|方案)"
ABSORB = re.compile(
    rf"(?:\b{ARTICLES} ?)?(?:(?<![a-z])(?:(?:first|second) )?{LABELS} ?(?:of |de |d')?#? ?)?"
    rf"(?:\b{ARTICLES} ?)?({P})(?: ?(?:option|choice|side|选项|方案)(?![a-z]))?"
)
LABEL_AND_NAME = re.compile(r"([\ue000-\ue7ff]) ?[.:,=—\-]?[ \-—]{0,3}([\ue800-\uefff]),?")
NAME_AND_LABEL = re.compile(r"([\ue800-\uefff]) ?,? ?([\ue000-\ue7ff]),?")
AGAIN = re.compile(rf"({P})(?: ?[,=—\-/]? ?\1)+")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Words and signs; `starts` and `ends` say where in the folded text each came from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def replace(self, pattern: re.Pattern[str], by: Callable[[re.Match[str]], str]) -> Skeleton:
        """The skeleton with each match replaced, its signs covering what was matched."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for match in pattern.finditer(self.text):
            first, last = match.span()
            piece = by(match)
            if first == last or piece == match[0]:
                continue
            pieces += self.text[at:first], piece
            starts += self.starts[at:first]
            ends += self.ends[at:first]
            starts += [self.starts[first]] * len(piece)
            ends += [self.ends[last - 1]] * len(piece)
            at = last
        if not pieces:
            return self
        pieces.append(self.text[at:])
        starts += self.starts[at:]
        ends += self.ends[at:]
        return Skeleton("".join(pieces), starts, ends)


def skeleton(folded: Folded, mentions: Sequence[Mention]) -> Skeleton:
    """What a folded text looks like once names are signs and markup is gone.

    >>> from equipoise.reading.folding import fold
    >>> from equipoise.reading.names import names
    >>> called, text = names({"x": ("tea",), "y": ("milk",)}), "I **prefer** the *tea*  (not milk)"
    >>> skeleton(fold(text), called.mentions(fold(text), text)).text.encode("ascii", "replace")
    b'i prefer ?, not ?, '
    """
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for mention in mentions:
        first = FIRST_LETTERED if mention.lettered else FIRST_NAMED
        pieces += _cleared(folded.text[at : mention.start]), chr(first + mention.option)
        starts += range(at, mention.start + 1)
        ends += range(at + 1, mention.start + 1)
        ends.append(mention.end)
        at = mention.end
    pieces.append(_cleared(folded.text[at:]))
    starts += range(at, len(folded.text))
    ends += range(at + 1, len(folded.text) + 1)
    return _tidy(Skeleton("".join(pieces), starts, ends))


def _cleared(text: str) -> str:
    return re.sub("[\ue000-\uf8ff\x00¤]", " ", text)


STEPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\s{2,}"), lambda m: "\n" if "\n" in m[0] else " "),
    (MARKS, lambda m: ""),
    (ANSWER_TAG, lambda m: "\n" if m[1] else "\nanswer: "),
    (re.compile(r"[*_`$#|\\]+|^ ?(?:[>+•·]|-(?= )|—(?= ))+", re.M), lambda m: ""),
    (QUOTED, lambda m: _unquoted(m[0])),
    (GLOSS, lambda m: m[1]),
    (FIXED, lambda m: "¤"),
    (PAIR, lambda m: " " + m[1] + " "),
    (re.compile(rf"'({P})'"), lambda m: m[1]),
    (re.compile(r"[\[\]{}]"), lambda m: ""),
    (re.compile(r"\("), lambda m: ", "),
    (re.compile(r"\) ?(?=[,.!?;:\n])"), lambda m: ""),
    (re.compile(r"\)"), lambda m: ", "),
    (re.compile(r"\s+"), lambda m: "\n" if "\n" in m[0] else " "),
    (re.compile(rf" (?=[,.!?;:{CJK}、。])|(?<=[{CJK}、。]) "), lambda m: ""),
    (re.compile(r"(?: ?, ?){2,}|, ?(?=[.!?;])"), lambda m: ", " if "," in m[0][1:] else ""),
    (ABSORB, lambda m: m[1]),
    (LABEL_AND_NAME, lambda m: _same(m)),
    (NAME_AND_LABEL, lambda m: _same(m)),
    (re.compile("[\ue800-\uefff]"), lambda m: chr(ord(m[0]) - FIRST_NAMED + FIRST_LETTERED)),
    (AGAIN, lambda m: m[1]),
)


def _tidy(bones: Skeleton) -> Skeleton:
    for pattern, by in STEPS:
        bones = bones.replace(pattern, by)
    return bones


def _unquoted(quoted: str) -> str:
    """What stays of quoted words: a name by itself stays, a sentence is somebody's speech."""
    inside = quoted[1:-1].strip(" .,!")
    if re.fullmatch(rf"(?:{ARTICLES} )?(?:{LABELS} )?{P}(?:[ .):,\-—(]+{P}\)?)?", inside):
        return " " + inside + (" ¤" if quoted[-2] == "," else "")
    return f" {HUSH} " if len(inside) > 16 or re.search(P, inside) else quoted[1:-1]


def _same(match: re.Match[str]) -> str:
    """A label and a name of one option are one sign; of two, a contradiction that stays."""
    lettered, named = sorted(map(ord, match.groups()))
    if named - FIRST_NAMED == lettered - FIRST_LETTERED:
        return match[1] + ("," if match[0].endswith(",") else "")
    return match[0]
