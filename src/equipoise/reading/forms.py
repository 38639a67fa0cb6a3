"""Forms: an option filled into a JSON object or returned by a Python function."""

from __future__ import annotations

import re
from typing import NamedTuple

from equipoise.reading.names import Names

KEYS = frozenset({
    "choice", "answer", "pick", "selection", "option", "preference", "preferred", "decision",
    "response", "final_answer", "result", "selected", "chosen", "choix", "reponse", "答案",
    "选择", "回答", "final", "finalanswer", "my_choice", "prefer", "vote", "value"
})
OBJECT = re.compile(r"\{[^{}]{0,4000}\}")
PAIR = re.compile(
    r"\\?([\"'])([^\"'\n]{1,40})\\?\1\s{0,9}:\s{0,9}(?:\\?\"([^\"\n]{0,400}?)\\?\"|"
    r"'([^'\n]{0,400})'"
    r"|([^\s,\"'}\[]{1,40}))(?=\s{0,99}(?:[,}]))"
)
KEY = re.compile(r"([\"'])([^\"'\n]{1,40})\1\s{0,9}:")
OPEN_OBJECT = re.compile(r"\{\s{0,99}[\"'][^\"'\n]{1,40}[\"']\s{0,9}:[^}]*$")
DOCSTRING = re.compile(r'"""(?:[^"]|"(?!"")){0,4000}"""')
RETURN = re.compile(r"^[ \t`>]{0,40}(?:return\b(?=[ \t]*[\"'(])|print\()[^\n]*$", re.MULTILINE)
RETURNED = re.compile(
    r"^[ \t`>]*(?:return[ \t]*\(?|print\()[ \t]*(?:\"([^\"\n]{0,200})\"|'([^'\n]{0,200})')"
    r"[ \t]*\)?[ \t;`]*(?:#[^\n]*)?$"
)
CODE = re.compile(r"^[ \t`>]{0,40}(?:def \w+|return\b)", re.MULTILINE)


class Filled(NamedTuple):
    """What one form says: the option (None where it says none that can be read) and where."""

    option: int | None
    start: int
    end: int
    rule: str


def filled(text: str, called: Names) -> tuple[list[Filled], str]:
    """The forms in a folded text, and the text with them blanked out, as long as before.

    >>> from equipoise.reading.names import names
    >>> filled('{"choice": "tea"}', names({"x": ("tea",), "y": ("milk",)}))[0]
    [Filled(option=0, start=11, end=16, rule='json-choice')]
    """
    forms: list[Filled] = []
    if "{" in text:
        for match in OBJECT.finditer(text):
            form = _object(match, called)
            if form is not None:
                forms.append(form)
                text = _blank(text, *match.span())
        if len({form.option for form in forms}) > 1:
            forms = [Filled(None, forms[0].start, forms[-1].end, "json-choice")]
        cut = OPEN_OBJECT.search(text)
        if cut is not None:
            forms.append(Filled(None, *cut.span(), "json-choice"))
            text = _blank(text, *cut.span())
    if "return" in text or "print(" in text:
        text = DOCSTRING.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        forms += _returns(text, called)
        if forms and forms[-1].rule == "python-return":
            start = CODE.search(text)
            text = _blank(text, min(start.start() if start else 1 << 60, forms[-1].start),
                          forms[-1].end)
    return forms, text


def _object(match: re.Match[str], called: Names) -> Filled | None:
    keys = [key[2].strip() for key in KEY.finditer(match[0])]
    asked = [key for key in keys if key.replace(" ", "_") in KEYS]
    if not asked and len(keys) != 1:
        return Filled(None, *match.span(), "json-choice") if keys else None
    wanted = asked or keys
    said: list[tuple[int | None, int, int]] = []
    for pair in PAIR.finditer(match[0]):
        if pair[2].strip() in wanted:
            group = next((g for g in (3, 4, 5) if pair[g] is not None), 3)
            said.append((called.whole(pair[group] or ""), *pair.span(group)))
    options = {option for option, _, _ in said}
    if len(said) != len(wanted) or len(options) != 1:
        return Filled(None, *match.span(), "json-choice")
    option, start, end = said[-1]
    return Filled(option, match.start() + start - 1, match.start() + end + 1, "json-choice")


def _returns(text: str, called: Names) -> list[Filled]:
    forms: list[Filled] = []
    for line in RETURN.finditer(text):
        value = RETURNED.match(line[0])
        option = called.whole(value[1] or value[2] or "") if value else None
        forms.append(Filled(option, *line.span(), "python-return"))
    hidden = "def " in text and len(re.findall(r"\breturn\b", text)) > len(forms)
    if forms and (hidden or len({form.option for form in forms}) > 1):
        return [Filled(None, forms[0].start, forms[-1].end, "python-return")]
    return forms


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + "\n" * min(1, end - start) + " " * (end - start - 1) + text[end:]
