"""Free-text names to canonical ones, by five published rules; never by how near letters are.

A form that could be two names stays as it was said, and every reading names the rule that made it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

RULES: Mapping[str, str] = {
    "clean": "surrounding quotes and punctuation off, it is a canonical name",
    "alias": "a form of the published alias table",
    "normalised": "a canonical name but for case, accents, punctuation or spaces",
    "token": "the words of one canonical name, with one word more or less",
    "verbatim": "no rule fits, or more than one name does: kept as it was said",
}
EDGES = "'`‘’‚‛*_~#.,;:!?。，；：！？、…—–- \t\r\n\u00a0\u3000"
CLOSES = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "「": "」", "『": "』", "《": "》",
          "〈": "〉", "“": "”", "„": "“", "«": "»", "‹": "›", '"': '"'}
OPENS = {close: opens for opens, close in CLOSES.items()}
STROKES = "/\\|&+／＆｜"
JOINED = re.compile(r"[/\\&+|,;=<>，、；／＆｜\n]|[或和与與跟及不非没沒]")
BESIDE = frozenset((
    "and", "or", "vs", "versus", "not", "no", "never", "nor", "neither", "both", "either",
    "except", "but", "than", "then", "maybe", "perhaps", "probably", "possibly", "over",
    "without", "anyone", "anything", "hardly", "barely", "scarcely", "isnt", "arent", "wasnt",
    "dont", "doesnt", "wont", "non", "anti", "un", "ex", "partly", "half", "almost", "nearly",
    "hate", "hates", "depends", "sometimes", "et", "ou", "pas", "ni", "sauf", "jamais", "sans",
))
"""Words that join, deny or weaken: with one beside it, a name is not that name with a word more."""

SEQUEL = re.compile(r"\d+|[ivx]+|one|two|three|four|five|first|second|third|part|junior|jr")
ARTICLES = frozenset(("the", "a", "an", "of", "le", "la", "les", "el", "da", "de", "van", "von"))
CHINESE = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Named:
    """A name as it counts, how it was said, and by which rule."""

    name: str
    said: str
    rule: str


@dataclass(frozen=True)
class Names:
    """The canonical names of one question and the forms that mean them.

    `words` says whose each word is, nobody's alone where several names hold it: a name with the
    word of another beside it is not that name with a word more. Only where `loose` is a name
    read with a word more or less: in a closed question another word is another answer.
    """

    names: tuple[str, ...]
    forms: Mapping[str, str]
    compact: Mapping[str, str]
    tokens: Mapping[str, tuple[str, ...]]
    words: Mapping[str, str]
    loose: bool = True

    def canonical(self, said: str) -> Named:
        """What an answer is called, and by which rule.

        >>> names({"Michael Jordan": ["MJ", "乔丹"]}).canonical("“mj.”")
        Named(name='Michael Jordan', said='“mj.”', rule='alias')
        >>> names({"Michael Jordan": ["MJ"]}).canonical("not Michael Jordan").rule
        'verbatim'
        """
        cleaned = clean(said)
        for whole in (" ".join(said.split()), cleaned):
            if whole in self.names:
                return Named(whole, said, "clean")
        folded = normal(cleaned)
        if folded in self.forms:
            return Named(self.forms[folded], said, "alias")
        if folded and (name := self.compact.get(folded.replace(" ", ""))):
            return Named(name, said, "normalised")
        found = self._by_tokens(cleaned, folded) if self.loose else []
        if len(found) == 1:
            return Named(found[0], said, "token")
        return Named(cleaned, said, "verbatim")

    def _by_tokens(self, cleaned: str, folded: str) -> list[str]:
        """The names whose words are the answer's but for one word more or less."""
        words = tuple(folded.split())
        if JOINED.search(cleaned) or set(words) <= ARTICLES:
            return []
        return [name for name, own in self.tokens.items() if (
            _spare(words, own) and not BESIDE & set(words) if len(words) < len(own) else
            any(self._may_be_more(word, name) for word in _spare(own, words)))]

    def _may_be_more(self, word: str, name: str) -> bool:
        """Whether a word beside a name leaves it that name: no sequel, no other name's word."""
        return (self.words.get(word, name) == name and word not in BESIDE
                and not SEQUEL.fullmatch(word) and not CHINESE.search(word))


def _spare(short: Sequence[str], long: Sequence[str]) -> list[str]:
    """The one word that a sequence has more than another; nothing where they differ otherwise."""
    if len(long) - len(short) != 1:
        return []
    return [word for place, word in enumerate(long)
            if (*long[:place], *long[place + 1 :]) == tuple(short)]


def names(table: Mapping[str, Iterable[str]], *, loose: bool = True) -> Names:
    """The names of a table of canonical name and forms; `loose` lets one word more or less be.

    Raises ValueError naming the form that two names claim, or a name that cannot be told from
    another.
    """
    known = tuple(table)
    forms: dict[str, str] = {}
    compact: dict[str, str] = {}
    for name in known:
        _claim(compact, _key(name, name).replace(" ", ""), name, name)
    for name, said in table.items():
        for form in said:
            key = _key(clean(form), name)
            _claim(compact, key.replace(" ", ""), name, form)
            forms[key] = name
    tokens = {name: tuple(normal(name).split()) for name in known}
    words: dict[str, str] = {}
    for name, said in table.items():
        for word in (*tokens[name], *(word for form in said for word in normal(form).split())):
            words[word] = name if words.get(word, name) == name else ""
    return Names(known, forms, compact, tokens, words, loose)


def _key(form: str, name: str) -> str:
    if any(c.isalnum() for c in form):
        return normal(form)
    raise ValueError(f"the form {form!r} of {name!r} holds no letter or digit")


def _claim(claimed: dict[str, str], key: str, name: str, form: str) -> None:
    """Give a key to a name, unless another holds it."""
    if (other := claimed.setdefault(key, name)) != name:
        raise ValueError(f"{form!r} is claimed by {other!r} and by {name!r}")


def clean(said: str) -> str:
    """An answer without surrounding quotes, brackets, punctuation and marks; its words as said.

    A bracket or quote goes only with its fellow, or where that is missing.

    >>> clean(' **"Jordan"!** '), clean("Pelé (Brazil)")
    ('Jordan', 'Pelé (Brazil)')
    """
    text = " ".join(said.split())
    while (cut := _cut(text)) != text:
        text = cut
    return text


def _cut(text: str) -> str:
    """One layer less."""
    text = text.strip(EDGES)
    if len(text) > 1 and CLOSES.get(text[0]) == text[-1] and not {text[0], text[-1]} & set(
        text[1:-1]
    ):
        return text[1:-1]
    if text and text[0] in CLOSES and CLOSES[text[0]] not in text[1:]:
        return text[1:]
    if text and text[0] in OPENS and text[0] not in CLOSES:
        return text[1:]
    if text and text[-1] in OPENS and OPENS[text[-1]] not in text[:-1]:
        return text[:-1]
    if text and text[-1] in CLOSES and text[-1] not in OPENS:
        return text[:-1]
    return text


def normal(text: str) -> str:
    """What names are compared by: NFKC, no case, no accents, punctuation as spaces, strokes kept.

    >>> normal("Pelé—(O  Rei)"), normal("AC/DC")
    ('pele o rei', 'ac / dc')
    """
    wide = unicodedata.normalize("NFKC", text).casefold()
    apart = unicodedata.normalize("NFD", wide)
    plain = "".join(c for c in apart if not unicodedata.combining(c))
    kept = "".join(map(_compared, unicodedata.normalize("NFC", plain)))
    return " ".join(kept.split())


def _compared(c: str) -> str:
    """A character as names are compared: strokes stand alone, dots and apostrophes go."""
    if c.isalnum():
        return c
    return f" {c} " if c in STROKES else "" if c in "'’.·・‧•" else " "
