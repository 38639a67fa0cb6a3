"""Names: what each option may be called, and where a reply calls it so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from equipoise.reading.folding import Folded, bare
from equipoise.terms import Misuse

CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
LETTER = rf"[^\W_{CJK}]"
ONE_LETTER = re.compile(LETTER)
"""A letter or digit of a script that puts spaces between words."""

LABEL_WORDS = "option|choice|letter|label|lettre|choix|选项|选择|方案|答案|answer|reponse|statement"
NOT_OPTIONS = frozenset({
    "plan", "vitamin", "vitamine", "hepatitis", "grade", "type", "class", "group", "team",
    "section", "appendix", "exhibit", "serie", "series", "level", "note", "page", "figure",
    "table", "chapter", "phase", "drive"
})
PICK_WORDS = frozenset({
    "pick", "choose", "select", "prefer", "with", "for", "say", "is", "answer", "choisis",
    "prefere", "prends", "dis", "est", "pour"
})
AFTER_LETTER = frozenset({
    "is", "has", "was", "because", "since", "and", "or", "over", "not", "rather", "instead",
    "would", "wins", "it", "seems", "feels", "but", "as", "vs", "versus", "et", "ou", "est",
    "car", "plutot", "pas", "parce", "puisque", "however", "although", "though", "while", "more",
    "than", "for", "please"
})
NEAR_SINGLE = frozenset("选择是要喜爱欢挑取为对的和与或比跟我只更好吧呢啊了因不而也都")
BEFORE_SINGLE = NEAR_SINGLE | frozenset("喝吃养看听玩去住用买做杯条份有如开非其到过于起较想说答没")
AFTER_SINGLE = NEAR_SINGLE | frozenset("没胜优才最固虽第至莫远还差糟逊强佳可重值")
PET = "(?:咪|儿|子|仔)"
"""What makes a pet form of a one-character Chinese name, as doubling it and 小 do."""

OPENS, SHUTS = '([{*_`$"\'<', ')]}*_`$"\'>'
LABELLED = re.compile(rf"(?:{LABEL_WORDS})s?[\s:#*_`\"'(\[$]{{0,6}}$")


@dataclass(frozen=True, slots=True)
class Mention:
    """One option named at one place of a folded text."""

    start: int
    end: int
    option: int
    lettered: bool


@dataclass(frozen=True, slots=True)
class Names:
    """What the options may be called, made ready for looking up and for finding."""

    values: tuple[str, ...]
    exact: Mapping[str, int]
    spelled: tuple[str, ...]
    lettered: tuple[str, ...]
    proper: frozenset[str] = frozenset()
    """Names of one word that are given with a capital."""

    @property
    def words(self) -> re.Pattern[str] | None:
        return _word_pattern(self.spelled)

    @property
    def letters(self) -> re.Pattern[str] | None:
        return _letters(self.lettered)

    def whole(self, text: str) -> int | None:
        """The option that a short text names and names alone; None if it is not one.

        >>> names({"A": ("A", "mercy"), "B": ("B", "punishment")}).whole("**Option B**")
        1
        """
        said = bare(text)
        if said in self.exact:
            return self.exact[said]
        parts = re.split(r"[\s.):,(\-—]+", said, maxsplit=1)
        if len(parts) == 2 and len(parts[0]) == 1:
            if parts[0] in "aioy" and re.match(rf"{re.escape(parts[0])} \w", said):
                return None
            label, word = self.exact.get(parts[0]), self.exact.get(parts[1].strip(" ()-—:."))
            return label if label is not None and label == word else None
        return None

    def mentions(self, folded: Folded, original: str) -> list[Mention]:
        """Every place where an option is named, in order; letters only where they are labels."""
        text = folded.text
        found: list[Mention] = []
        taken = bytearray(len(text))
        if self.words is not None:
            for match in apart(self.words, text):
                option = self._word(match[0])
                if option is None or not _stands_alone(match):
                    continue
                start = match.start() - 2 * _has_article(match, folded, original)
                found.append(Mention(start, match.end(), option, False))
                taken[start : match.end()] = b"\1" * (match.end() - start)
        if self.letters is not None:
            found += [
                Mention(*match.span(), self.exact[match[0]], True)
                for match in self.letters.finditer(text)
                if not taken[match.start()] and _is_label(match, folded, original)
            ]
        return sorted(found, key=lambda mention: mention.start)

    def _word(self, said: str) -> int | None:
        said = " ".join(said.split())
        for name in (said, said[:-1], said[:-2], said.removeprefix("小")[:1]):
            if name in self.exact:
                return self.exact[name]
        return None


def names(options: Mapping[str, Sequence[str]]) -> Names:
    """The names of a set of options; a name that two of them share is a Misuse.

    >>> names({"x": ("tea",), "y": ("Tea",)})
    Traceback (most recent call last):
        ...
    equipoise.terms.Misuse: 'tea' names both 'x' and 'y': give each option names of its own
    """
    return _names(tuple((value, tuple(called)) for value, called in options.items()))


@lru_cache(maxsize=16384)
def _names(options: tuple[tuple[str, tuple[str, ...]], ...]) -> Names:
    exact: dict[str, int] = {}
    for option, (_, called) in enumerate(options):
        for name in called:
            folded = bare(name)
            known = exact.setdefault(folded, option)
            if not folded or known != option:
                other = options[known][0]
                raise Misuse(
                    f"{folded!r} names both {other!r} and {options[option][0]!r}: "
                    "give each option names of its own"
                    if folded
                    else f"{name!r} names nothing: give option {options[option][0]!r} a word"
                )
    words = sorted((n for n in exact if not _is_letter(n)), key=lambda n: (-len(n), n))
    letters = [n for n in exact if _is_letter(n)]
    for letter in letters:
        for label in ("option", "choice", "选项", "选", "我选", "我选择", "选择", "选项 "):
            joint = " " if label.isascii() else ""
            exact.setdefault(label + joint + letter, exact[letter])
    proper = frozenset(name.lower() for _, called in options for name in called if name.istitle())
    return Names(tuple(v for v, _ in options), exact, tuple(words), tuple(letters), proper)


def _is_letter(name: str) -> bool:
    return len(name) == 1 and re.fullmatch(LETTER, name) is not None


@lru_cache(maxsize=4096)
def _word_pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds the words wherever they stand; `apart` keeps those that stand apart.

    The pattern holds no character classes: they take milliseconds to compile, and there are
    thousands of sets of options.
    """
    if not words:
        return None
    either = []
    for word in words:
        body = re.escape(word).replace(r"\ ", r"\s{1,3}")
        if re.fullmatch(f"[{CJK}]", word):
            body = rf"小?{word}(?:{word}|{PET})?"
        plural = "(?:e?s)?" if word[-3:].isascii() and word[-3:].isalpha() else ""
        either.append(f"{body}{plural if len(word) > 2 else ''}")
    return re.compile("|".join(either))


def apart(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches that are no part of a longer word: letters of a script with spaces end them."""
    match = pattern.search(text)
    while match is not None:
        alone = _begins(text, match.start()) and _ends(text, match.end())
        if alone:
            yield match
        match = pattern.search(text, match.end() if alone else match.start() + 1)


def _begins(text: str, start: int) -> bool:
    if not is_letter(text[start]):
        return True
    before = text[start - 1 : start]
    return before != "-" and not (before and is_letter(before))


def _ends(text: str, end: int) -> bool:
    if not is_letter(text[end - 1]) or end == len(text):
        return True
    after = text[end : end + 2]
    return not is_letter(after[0]) and not (
        len(after) == 2 and after[0] == "-" and is_letter(after[1])
    )


@lru_cache(maxsize=4096)
def is_letter(character: str) -> bool:
    """A letter or digit of a script that puts spaces between words."""
    return ONE_LETTER.match(character) is not None


@lru_cache(maxsize=256)
def _letters(letters: tuple[str, ...]) -> re.Pattern[str] | None:
    if not letters:
        return None
    either = "".join(map(re.escape, sorted(letters)))
    apart = rf"(?<!{LETTER})(?<!{LETTER}['-])"
    return re.compile(rf"{apart}[{either}](?!{LETTER}|'{LETTER}|-{LETTER}|[.,/]\d)")


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a one-character Chinese name, or a pet form of it, is a word here, not a part."""
    if not re.fullmatch(rf"小?([{CJK}])(?:\1|{PET})?", match[0]):
        return True
    text, start, end = match.string, match.start(), match.end()
    before, after = text[start - 1 : start], text[end : end + 1]
    return all(
        c in known or not re.fullmatch(f"[{CJK}]", c)
        for c, known in ((before, BEFORE_SINGLE), (after, AFTER_SINGLE)) if c
    )


ABSTRACT = re.compile(r"\w(?:ment|ness|ty|cy|dom|[st]ion|ice|ship|th|ism|ance|ence)$")
"""How a word ends that is seldom counted, so that an "A" before it is rather a label."""


def _has_article(match: re.Match[str], folded: Folded, original: str) -> bool:
    """Whether the English article "a" stands before a name: "A cat", but not the label "A Cat"."""
    start = match.start()
    if match.string[max(0, start - 2) : start] != "a " or match[0][0] in "aeiou":
        return False
    sign, first = original[folded.origin(start - 2)], original[folded.origin(start)]
    before = match.string[start - 3 : start - 2]
    if ABSTRACT.search(match[0]):
        return False
    return sign in "aA" and first.islower() and not re.match(LETTER, before)


def _is_label(match: re.Match[str], folded: Folded, original: str) -> bool:
    """Whether a single letter or digit stands for an option here, and is not a word."""
    text, start, end = match.string, match.start(), match.end()
    before, after = text[max(0, start - 24) : start], text[end : end + 24]
    sign = original[folded.origin(start)]
    if fold_is_accented(sign):
        return False
    last, following = before.rstrip(" "), after.lstrip(" ")
    if before[-1:] and before[-1] in OPENS and after[:1] and after[0] in SHUTS:
        return True
    word = re.search(rf"({LETTER}+)[\s*_`\"'$(\[]*$", before)
    previous = word[1] if word else ""
    if previous in NOT_OPTIONS:
        return False
    next_word = re.match(rf"[*_`\"'$)\]]*\s*({LETTER}+)", after)
    bound = next_word is None or next_word[1] in AFTER_LETTER
    if LABELLED.search(before) and (bound or previous in ("option", "letter", "lettre")):
        return True
    if last[-1:] and re.match(f"[{CJK}]", last[-1]) and not next_word:
        return True
    clipped = not following or following[0] in ".,:;)!?/\n]*_`\"$—" or following[0] > "\u2e80"
    opening = not last or last[-1] in "\n:=" or (last[-1] in "-*#>" and last[:-1].strip(" ") == "")
    if sign.isupper():
        if match[0] not in "aioy":
            return True
        sentence = _is_shouted(previous, folded, original, start) or not previous or (
            last[-1:] in '.!?:\n"*-#>,(' or last[-1:] == "。"
        )
        return clipped or bound if sentence else not _is_titled(folded, original, end, bool(bound))
    if match[0] in "aioy" or match[0].isdigit():
        return clipped and (opening or previous in PICK_WORDS) and following[:1] != "/"
    return clipped or bound


def fold_is_accented(sign: str) -> bool:
    """Whether a letter carries an accent, so that it is a word of its own: à, À, ô."""
    return sign.isalpha() and "\u00c0" <= sign <= "\u024f"


def _is_shouted(previous: str, folded: Folded, original: str, start: int) -> bool:
    """Whether the word before is all capitals: in capitals, A is as likely the article."""
    at = folded.text.rfind(previous, 0, start)
    if not previous or len(previous) < 2 or at < 0:
        return False
    return original[folded.origin(at) : folded.origin(at + len(previous) - 1) + 1].isupper()


def _is_titled(folded: Folded, original: str, end: int, bound: bool) -> bool:
    """Whether the letter begins a title: A Better World."""
    if bound:
        return False
    following = original[folded.origin(end) :][:3].strip() if end < len(folded.text) else ""
    return following[:1].isupper()
