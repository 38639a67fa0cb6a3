"""Text from a model or a person, shown for what it is: nothing in it acts, nothing hides."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

LONGEST = 4_000
"""A longer reply is shown up to here, and the page says how much more there is."""

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Controls, marks that turn the direction of text, characters of no width, lone surrogates."""

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
LANGUAGE_TAGS = {"zh": "zh-Hans", "fr": "fr", "en": "en"}


def code(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def visible(text: str) -> str:
    r"""The text with each hidden or directing character named in its place.

    >>> visible("safe\u202etxt.exe\x00")
    'safe⟨U+202E⟩txt.exe⟨U+0000⟩'
    """
    return HIDDEN.sub(lambda found: code(found[0]), text)


def shown(value: object) -> object:
    """What a template may print: every text goes through `visible`, whatever wrote it."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def marked(text: str, span: tuple[int, int]) -> Markup:
    """A reply word for word, with the words that decided its reading in `<mark>`.

    >>> marked("I say <b>mercy</b>", (9, 14))
    Markup('I say &lt;b&gt;<mark>mercy</mark>&lt;/b&gt;')
    """
    start, end = span
    whole = text[:LONGEST]
    if not 0 <= start < end <= len(whole):
        return _plain(whole)
    before, within, after = whole[:start], whole[start:end], whole[end:]
    return _plain(before) + Markup("<mark>") + _plain(within) + Markup("</mark>") + _plain(after)


def _plain(text: str) -> Markup:
    named = Markup('<span class="hidden">{}</span>')
    parts, last = [], 0
    for found in HIDDEN.finditer(text):
        parts += [escape(text[last:found.start()]), named.format(code(found[0]))]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def left_out(text: str) -> str:
    """How much of a reply is not shown, in words; nothing for one that is shown whole."""
    more = len(text) - LONGEST
    return f"{more:,} more characters are on record" if more > 0 else ""


def tag(text: str, language: str) -> str:
    """The language to mark a reply with; a reply to a Chinese prompt may hold no Chinese.

    >>> tag("我选狗", "zh"), tag("dog", "zh"), tag("chien", "fr")
    ('zh-Hans', '', 'fr')
    """
    if language == "zh" and not HAN.search(text[:LONGEST]):
        return ""
    return LANGUAGE_TAGS.get(language, "")
