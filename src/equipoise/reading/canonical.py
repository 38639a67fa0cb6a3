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
EDGES = ("\"'`“”„‟‘’‚‛«»‹›「」『』《》〈〉（）()[]【】{}*_~#.,;:!?。，；：！？、…—–- \t\r\n"
         "\u00a0\u3000")
NOT_ONE = re.compile(
    r"[/\\&+|,;=<>，、；／＆｜\n]|(?:^|\s)(?:and|or|vs|versus|not|no|never|nor|neither|both|either|"
    r"except|but|than|maybe|perhaps|probably|over|without|anyone|et|ou|pas|ni|sauf)(?=\s|$)|"
    r"[或和与與跟及不非没沒]",
    re.IGNORECASE,
)
"""What joins, denies or compares names: such an answer is not one name with a word more."""


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
    word of another beside it is not that name with a word more.
    """

    names: tuple[str, ...]
    forms: Mapping[str, str]
    compact: Mapping[str, str]
    tokens: Mapping[str, tuple[str, ...]]
    words: Mapping[str, str]

    def canonical(self, said: str) -> Named:
        """What an answer is called, and by which rule.

        >>> names({"Michael Jordan": ["MJ", "乔丹"]}).canonical("“mj.”")
        Named(name='Michael Jordan', said='“mj.”', rule='alias')
        >>> names({"Michael Jordan": ["MJ"]}).canonical("not Michael Jordan").rule
        'verbatim'
        """
        cleaned = clean(said)
        if cleaned in self.names:
            return Named(cleaned, said, "clean")
        folded = normal(cleaned)
        if folded in self.forms:
            return Named(self.forms[folded], said, "alias")
        if folded and (name := self.compact.get(folded.replace(" ", ""))):
            return Named(name, said, "normalised")
        found = self._by_tokens(cleaned, folded)
        if len(found) == 1:
            return Named(found[0], said, "token")
        return Named(cleaned, said, "verbatim")

    def _by_tokens(self, cleaned: str, folded: str) -> list[str]:
        """The names whose words are the answer's but for one word more or less."""
        if NOT_ONE.search(cleaned):
            return []
        words = tuple(folded.split())
        return [name for name, own in self.tokens.items() if words and (
            _spare(words, own) if len(words) < len(own) else
            any(self.words.get(more, name) == name for more in _spare(own, words)))]


def _spare(short: Sequence[str], long: Sequence[str]) -> list[str]:
    """The one word that a sequence has more than another; nothing where they differ otherwise."""
    if len(long) - len(short) != 1:
        return []
    return [word for place, word in enumerate(long)
            if (*long[:place], *long[place + 1 :]) == tuple(short)]


def names(table: Mapping[str, Iterable[str]]) -> Names:
    """The names of a table of canonical name and forms.

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
    return Names(known, forms, compact, tokens, words)


def _key(form: str, name: str) -> str:
    if key := normal(form):
        return key
    raise ValueError(f"the form {form!r} of {name!r} holds no letter or digit")


def _claim(claimed: dict[str, str], key: str, name: str, form: str) -> None:
    """Give a key to a name, unless another holds it."""
    if (other := claimed.setdefault(key, name)) != name:
        raise ValueError(f"{form!r} is claimed by {other!r} and by {name!r}")


def clean(said: str) -> str:
    """An answer without surrounding quotes, brackets, punctuation and marks; its words as said.

    >>> clean(' **"Jordan"!** ')
    'Jordan'
    """
    text = " ".join(said.split())
    while (cut := text.strip(EDGES)) != text:
        text = cut
    return text


def normal(text: str) -> str:
    """What names are compared by: NFKC, no case, no accents, punctuation as spaces.

    >>> normal("Pelé—(O  Rei)")
    'pele o rei'
    """
    wide = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFD", wide) if not unicodedata.combining(c))
    kept = "".join(c if c.isalnum() else "" if c in "'’.·・‧•" else " "
                   for c in unicodedata.normalize("NFC", plain))
    return " ".join(kept.split())
