"""What a person sees: results on stdout, messages on stderr, no control bytes from a model."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

SCHEMA_VERSION = 1
NUMBER = re.compile(r"[-−]?[\d,]+(\.\d+)?%?")


def say(message: str) -> None:
    """A message, for a person, on stderr."""
    print(message, file=sys.stderr, flush=True)


def emit(result: str, end: str = "\n") -> None:
    """A result on stdout."""
    print(result.encode("utf-8", "backslashreplace").decode(), end=end, flush=True)


def emit_json(result: dict[str, Any]) -> None:
    """A result as one JSON object; the schema only ever gains fields."""
    print(json.dumps({"schema_version": SCHEMA_VERSION, **result}), flush=True)


def printable(text: str, limit: int = 200) -> str:
    """A model's words, safe on a terminal: control, format and lone-surrogate characters shown.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def coloured(stream: Any) -> bool:
    """Whether this stream takes colour and movement: NO_COLOR wins, then FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def width(text: str) -> int:
    """Columns a text takes on a terminal: Chinese characters take two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns that line up: numbers to the right, words to the left.

    >>> print(table(["", "n", "kind"], [["cats", "3", "pet"], ["mice", "12", "pest"]]))
           n  kind
    cats   3  pet
    mice  12  pest
    """
    body = [list(row) for row in rows]
    lines = [list(header), *body]
    columns = list(zip(*lines, strict=True))
    sizes = [max(map(width, column)) for column in columns]
    right = [all(NUMBER.fullmatch(cell) for cell in column[1:]) and bool(body)
             for column in columns]
    drawn = []
    for line in lines:
        cells = [
            " " * (size - width(cell)) + cell if to_right else cell + " " * (size - width(cell))
            for cell, size, to_right in zip(line, sizes, right, strict=True)
        ]
        drawn.append("  ".join(cells).rstrip())
    return "\n".join(drawn)
