"""The page a person sees: open questions, settled lines, and the line that says what is at stake.

It is the only surface that counts. The engine edits it; nobody else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

Op = Literal["ask", "revise", "settle", "drop", "stake"]
AT_STAKE = 0
"""The number under which a reader names the line that says what is at stake."""


class Line(Struct, frozen=True):
    """One question on the page; settled once it has an answer. Its number is never used again."""

    number: int
    text: str
    answer: str = ""

    @property
    def settled(self) -> bool:
        return bool(self.answer)


class Page(Struct, frozen=True):
    """A version of the page. `used` is the highest number a line ever had."""

    lines: tuple[Line, ...] = ()
    at_stake: str = ""
    used: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.lines and not self.at_stake

    def line(self, number: int) -> Line | None:
        return next((line for line in self.lines if line.number == number), None)

    def holds(self, number: int) -> bool:
        """Whether there is such a line; 0 is the one that says what is at stake."""
        return bool(self.at_stake) if number == AT_STAKE else self.line(number) is not None


class Edit(Struct, frozen=True):
    """One thing an engine does to the page; `line` is 0 where it makes or names none."""

    op: Op
    line: int = 0
    text: str = ""


def page(lines: Iterable[tuple[str, str]], at_stake: str = "") -> Page:
    """A page of (question, answer) lines, numbered from 1; an empty answer leaves it open."""
    made = tuple(Line(number, text, answer) for number, (text, answer) in enumerate(lines, 1))
    return Page(made, at_stake, len(made))


def edited(page: Page, edits: Iterable[Edit]) -> Page:
    """The page after these edits, in order.

    >>> before = page([("What would change your mind?", "")])
    >>> after = edited(before, [Edit("settle", 1, "A second offer."), Edit("ask", 0, "By when?")])
    >>> [(line.number, line.text, line.answer) for line in after.lines]
    [(1, 'What would change your mind?', 'A second offer.'), (2, 'By when?', '')]
    """
    for edit in edits:
        page = _edited(page, edit)
    return page


def _edited(page: Page, edit: Edit) -> Page:
    if edit.op == "stake":
        return Page(page.lines, edit.text, page.used)
    if edit.op == "ask":
        number = page.used + 1
        return Page((*page.lines, Line(number, edit.text)), page.at_stake, number)
    lines: Sequence[Line] = [_changed(line, edit) if line.number == edit.line else line
                             for line in page.lines
                             if edit.op != "drop" or line.number != edit.line]
    return Page(tuple(lines), page.at_stake, page.used)


def _changed(line: Line, edit: Edit) -> Line:
    if edit.op == "revise":
        return Line(line.number, edit.text, line.answer)
    return Line(line.number, line.text, edit.text)


def worded(page: Page, language: str = "en") -> str:
    """The page as engines and readers are shown it, a line each, with its number and state.

    >>> print(worded(page([("By when?", ""), ("Who says so?", "My uncle.")], "A year's rent.")))
    0. At stake: A year's rent.
    1. [open] By when?
    2. [settled] Who says so? — My uncle.
    """
    words = WORDS[language]
    said = [f"{AT_STAKE}. {words['stake']}{page.at_stake}"] if page.at_stake else []
    for line in page.lines:
        state = words["settled"] if line.settled else words["open"]
        said.append(f"{line.number}. [{state}] {line.text}"
                    + (f" — {line.answer}" if line.settled else ""))
    return "\n".join(said) or words["empty"]


WORDS = {
    "en": {"stake": "At stake: ", "open": "open", "settled": "settled", "empty": "(empty)"},
    "fr": {"stake": "En jeu : ", "open": "ouverte", "settled": "réglée", "empty": "(vide)"},
}
