"""Where the parts of a JSON text stand in it, so that they can be kept as they were written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from equipoise.recorded.record import NotARecord

WHITE = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder()


def members(text: str, at: int = 0) -> Iterator[tuple[str, int, int]]:
    """Each key of the object that begins at `at`, and from where to where its value stands.

    >>> [(key, '{"a": [1, 2], "b": 3}'[start:end])
    ...  for key, start, end in members('{"a": [1, 2], "b": 3}')]
    [('a', '[1, 2]'), ('b', '3')]
    """
    at = _opened(text, at, "{")
    while text[at : at + 1] != "}":
        key, at = _value(text, at)
        if not isinstance(key, str):
            raise NotARecord(f"{line_of(text, at)}a key that is no text")
        at = _skipped(text, at)
        start = _skipped(text, _expected(text, at, ":"))
        _, end = _value(text, start)
        yield key, start, end
        at = _next(text, end, "}")


def elements(text: str, at: int = 0) -> Iterator[tuple[int, int]]:
    """From where to where each element of the array that begins at `at` stands.

    >>> [' [{"a":1}, 2 ]'[start:end] for start, end in elements(' [{"a":1}, 2 ]')]
    ['{"a":1}', '2']
    """
    at = _opened(text, at, "[")
    while text[at : at + 1] != "]":
        _, end = _value(text, at)
        yield at, end
        at = _next(text, end, "]")


def line_of(text: str, at: int) -> str:
    """The line a place is in, as the beginning of a sentence."""
    return f"line {1 + text.count(chr(10), 0, at)}: "


def _value(text: str, at: int) -> tuple[object, int]:
    try:
        return DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise NotARecord(f"line {error.lineno}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise NotARecord(f"{line_of(text, at)}nested too deeply") from error


def _opened(text: str, at: int, bracket: str) -> int:
    return _skipped(text, _expected(text, _skipped(text, at), bracket))


def _next(text: str, at: int, bracket: str) -> int:
    """Where the next part begins, or the closing bracket stands."""
    at = _skipped(text, at)
    if text[at : at + 1] == bracket:
        return at
    after = _skipped(text, _expected(text, at, ","))
    if text[after : after + 1] == bracket:
        raise NotARecord(f"{line_of(text, after)}a comma before {bracket}")
    return after


def _expected(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise NotARecord(f"{line_of(text, at)}wanted {mark}")
    return at + 1


def _skipped(text: str, at: int) -> int:
    found = WHITE.match(text, at)
    return at if found is None else found.end()
