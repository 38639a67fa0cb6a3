"""What every recorded log is made of, whatever tool wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from equipoise.terms import Completion, Finish, Nonresponse

FINISHES: Mapping[str, Finish] = {
    "stop": "stop", "end_turn": "stop", "length": "length", "max_tokens": "length",
    "model_length": "length", "content_filter": "filter", "refusal": "filter",
}
"""How a reply ended, in the words of the tools that say so; any other word is `other`."""

SECRET = re.compile(r"(api.?key|secret|passw(or)?d|authorization|(access|auth).?token)$", re.I)
STRUCK_OUT = "[key struck out]"


class NotARecord(ValueError):
    """What stands in a log where a record should: why it is none, and where."""


class Record(Struct, frozen=True):
    """One record of a log: whose reply to what it is, and the bytes of it as they stand there.

    `prompt` is what was asked, as JSON. `again` says why a record is no draw of its own: it
    repeats a reply that another record holds.
    """

    subject: str
    item: str
    draw: int
    raw: bytes
    prompt: bytes
    again: str = ""


class Log(Struct, frozen=True):
    """A log: what wrote it, of what task, all of it that is no record, and its records.

    `records` begins anew each time it is called and raises NotARecord where one cannot be read.
    """

    version: str
    task: str
    header: str
    records: Callable[[], Iterator[Record]]


class Looked(Struct, frozen=True):
    """What a record says: a reply for each draw, and what the log says of its options."""

    said: tuple[Completion | Nonresponse, ...]
    options: Mapping[str, Sequence[str]] = {}
    target: str = ""
    cached: bool = False


def loaded(raw: bytes | str, where: str = "") -> dict[str, Any]:
    """A record as an object; raises NotARecord."""
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise NotARecord(f"{where}not JSON ({error})") from error
    if not isinstance(said, dict):
        raise NotARecord(f"{where}not a JSON object")
    return said


def as_prompt(said: object) -> bytes:
    """What was asked, as JSON that holds whatever a log can."""
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def header_of(said: object) -> str:
    """All of a log that is no record, as JSON, with the keys in it struck out.

    >>> header_of({"config": {"apiKey": "sk-1", "max_tokens": 5}})
    '{"config": {"apiKey": "[key struck out]", "max_tokens": 5}}'
    """
    return json.dumps(_without_keys(said))


def _without_keys(said: object) -> object:
    if isinstance(said, list):
        return [_without_keys(one) for one in said]
    if not isinstance(said, dict):
        return said
    return {name: STRUCK_OUT if isinstance(value, str) and SECRET.search(name)
            else _without_keys(value) for name, value in said.items()}


def plain(name: str) -> str:
    """A name that any text can hold: what Unicode cannot is an escape.

    >>> plain("a\\ud800")
    'a\\\\ud800'
    """
    return name.encode("utf-8", "backslashreplace").decode()


def part(said: object, *path: str | int) -> Any:
    """What stands in a JSON value at a path; None where there is nothing.

    >>> part({"a": [{"b": 1}]}, "a", 0, "b"), part({"a": 2}, "a", "b")
    (1, None)
    """
    for step in path:
        if isinstance(said, dict) and isinstance(step, str):
            said = said.get(step)
        elif isinstance(said, list) and isinstance(step, int) and step < len(said):
            said = said[step]
        else:
            return None
    return said


def text_at(said: object, *path: str | int) -> str:
    """The text that stands there; empty where there is none."""
    found = part(said, *path)
    return found if isinstance(found, str) else ""


def count_at(said: object, *path: str | int) -> int | None:
    """The whole number that stands there."""
    found = part(said, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def lettered(choices: object) -> dict[str, tuple[str, ...]]:
    """Choices as the letters they are shown under, each with what it stands for.

    >>> lettered(["mercy", "punishment"])
    {'A': ('mercy',), 'B': ('punishment',)}
    """
    if not isinstance(choices, list) or not all(isinstance(c, str) for c in choices):
        return {}
    if not 2 <= len(choices) <= 26:
        return {}
    return {chr(65 + place): (choice,) for place, choice in enumerate(choices)}
