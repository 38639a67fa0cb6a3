"""A seat at the terminal: keys one at a time, or lines where there is no terminal, and an item."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import textwrap
import tomllib
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.cli.screen import coloured, printable, say
from equipoise.labelling import Item, Rater, raters
from equipoise.stimuli import load
from equipoise.terms import Misuse

WIDTH, WHOLE = 78, 1_000_000
END = b"\x04"
CLEAR = "\x1b[2J\x1b[H"
NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
WORDS = {
    "en": {"shown": "Is this question, in any wording, on the page?",
           "present": "Is this in what the person says?",
           "debias": "The question that answers it:", "page": "The page",
           "before": "The page as it stood", "question": "The question: ",
           "said": "The person says"},
    "fr": {"shown": "Cette question est-elle sur la page, en quelques mots que ce soit ?",
           "present": "Est-ce dans ce que dit la personne ?",
           "debias": "La question qui y répond :", "page": "La page",
           "before": "La page telle qu'elle était", "question": "La question : ",
           "said": "La personne dit"},
}
RULE = "─" * WIDTH


@dataclass(frozen=True)
class Keys:
    """Where a person's keys come from: `key` is one of them, `line` words; None is the end."""

    key: Callable[[], str | None]
    line: Callable[[str], str | None]


@contextmanager
def seated() -> Iterator[Keys]:
    """The keys of the terminal, one at a time; where stdin is none, its lines."""
    if not sys.stdin.isatty():
        yield Keys(_read_key, _read)
        return
    at = sys.stdin.fileno()
    before = termios.tcgetattr(at)
    tty.setcbreak(at, termios.TCSADRAIN)
    try:
        yield Keys(partial(_pressed, at), partial(_typed, at, before))
    finally:
        termios.tcsetattr(at, termios.TCSADRAIN, before)


def _pressed(at: int) -> str | None:
    key = os.read(at, 1)
    # An arrow is several bytes, of which none is a key; a letter beyond ASCII is one key.
    while (key[:1] == b"\x1b" or key >= b"\xc0") and select.select([at], [], [], 0.05)[0]:
        key += os.read(at, 1)
    return None if key in (b"", END) else key.decode(errors="replace").lower()


def _typed(at: int, as_it_was: Any, prompt: str) -> str | None:
    """A line, typed with the terminal as it was, so that it can be mended while it is typed."""
    termios.tcsetattr(at, termios.TCSADRAIN, as_it_was)
    print(prompt, end="", file=sys.stderr, flush=True)
    try:
        return _read("")
    finally:
        tty.setcbreak(at, termios.TCSADRAIN)


def _read_key() -> str | None:
    line = _read("")
    return line.lower() if line is not None else None


def _read(prompt: str) -> str | None:
    line = sys.stdin.readline()
    return line.strip() if line else None


def rater_named(name: str, path: Path) -> Rater:
    """The rater of that name; raises Misuse for one the file does not hold.

    Nobody is a rater by default.
    """
    try:
        found = raters(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except FileNotFoundError:
        raise Misuse(f"There is no raters file {path}. Nobody is a rater by default: write one"
                     f' with a table a rater, as [{name}] and languages = ["en"].') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is not TOML: {error}. Mend that line.") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error
    if name not in found:
        raise Misuse(f"{name} is no rater in {path}. Nobody is a rater by default; there are:"
                     f" {', '.join(found) or 'none'}.")
    return found[name]


def definitions(folder: Path) -> Mapping[str, object]:
    """Today's biases of a folder, by key."""
    from equipoise.instruments.replay.suite import SHIPPED, suite

    return suite(load(folder, beneath=SHIPPED, only=(
        "prompts.toml", "biases.toml", "openings.toml"))).biases


def lines_on(item: Item) -> list[int]:
    """The numbers of the lines on an item's page.

    >>> from equipoise.labelling import Item
    >>> lines_on(Item("i", "shown", "en", "", "", "", "", "", "0. At stake: x\\n1. [open] Why?"))
    [0, 1]
    """
    return [int(number) for number in NUMBERED.findall(item.page)]


def show(parts: Sequence[str]) -> None:
    """Parts of a screen, on stderr, with nothing in them that could move a terminal."""
    say((CLEAR if coloured(sys.stderr) else RULE + "\n") + "\n".join(map(wrapped, parts)))


def wrapped(part: str) -> str:
    """A text in lines that fit, each made safe."""
    lines = []
    for line in part.split("\n"):
        lines += textwrap.wrap(printable(line, WHOLE), WIDTH,
                               subsequent_indent="   " if line[:1].isdigit() else "") or [""]
    return "\n".join(lines)


def guideline(item: Item) -> list[str]:
    """A bias's written contract, as it stands beside each item of it."""
    words = WORDS.get(item.language, WORDS["en"])
    said = [f"— {item.title} —", item.definition]
    if item.task == "shown":
        said += ["", words["debias"], item.debias]
    return [*said, "", words[item.task]]


def content(item: Item) -> list[str]:
    """What an item shows."""
    words = WORDS.get(item.language, WORDS["en"])
    if item.task == "shown":
        return ["", words["page"], item.page]
    return ["", words["question"] + item.question, "", words["before"], item.page, "",
            words["said"], item.said]
