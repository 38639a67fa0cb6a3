"""What one provider's batch interface looks like, as a value; what all of them have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from equipoise.terms import Fault, Misuse, Reply

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def members(text: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each value as the bytes that stand in it; else none.

    The values are not looked into: what a model wrote may escape what is no Unicode, or be
    nested without end, and is still its reply.

    >>> members(b'{"id": "a", "body": {"x": [1.0, "\\\\ud800"]}}')["body"]
    b'{"x": [1.0, "\\\\ud800"]}'
    """
    found: dict[str, bytes] = {}
    depth, name, since, end = 0, b"", 0, -1
    for token in TOKEN.finditer(text):
        mark = token[0]
        if depth == 1 and mark == b":":
            since = token.end()
        elif depth == 1 and mark in (b",", b"}"):
            if since:
                found[text_of(name)] = text[since : token.start()].strip()
            since = 0
        elif depth == 1 and not since:
            name = mark
        depth += (mark in (b"{", b"[")) - (mark in (b"}", b"]"))
        if depth == 0:
            end = token.end()
            break
    whole = text.lstrip().startswith(b"{") and end >= 0 and not text[end:].strip()
    return found if whole else {}


def text_of(value: bytes) -> str:
    """A JSON string as text; nothing where it is none."""
    try:
        found = json.loads(value)
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True)
class Post:
    """One body to be posted below the base URL."""

    path: str
    body: bytes
    kind: str = "application/json"


@dataclass(frozen=True, slots=True)
class State:
    """A batch as its provider describes it.

    `done` and `total` count requests. `results` are the paths its result lines lie under.
    `never_ran` says why none of its requests was run; `full` that this will pass by itself.
    `token` is the mark we gave it, where the interface carries one; `created` is in seconds
    since 1970.
    """

    id: str
    status: str
    ended: bool = False
    done: int = 0
    total: int = 0
    results: tuple[str, ...] = ()
    never_ran: str = ""
    full: bool = False
    token: str = ""
    created: float = 0.0

    @property
    def cut_short(self) -> bool:
        """Whether it ended before all of its requests were run."""
        return self.status in ("expired", "cancelled")


class Result(NamedTuple):
    """One result line: the id we gave the request, and what came of it."""

    name: str
    outcome: Reply | Fault


class Listed(NamedTuple):
    """One page of a list of batches, newest first, and the path of the next page, if any."""

    states: list[State]
    following: str


@dataclass(frozen=True, slots=True)
class Form:
    """One batch interface: its limits, the bytes it takes, and what it says back.

    The readers return None, or no name, for bytes that are not what they read; they raise
    nothing.
    """

    most_calls: int
    most_bytes: int
    path: str
    line: Callable[[str, bytes], bytes]
    upload: Callable[[str, Sequence[bytes]], Post] | None
    file: Callable[[Reply], str]
    creation: Callable[[str, Sequence[bytes], str], Post]
    state: Callable[[bytes], State | None]
    listed: Callable[[bytes], Listed | None]
    result: Callable[[bytes], Result | None]
    marked: bool = True
    """Whether a batch carries our token itself, or only its requests' ids do."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: without a new request, until a batch is made of those gathered; of the first wait
    and the longest between two looks at it; and for which a provider may not yet show what was
    just made."""

    gather: float = 2.0
    first: float = 1.0
    longest: float = 50.0
    settling: float = 300.0

    def waits(self) -> Iterator[float]:
        """Waits between looks, growing by half to the longest."""
        wait = self.first
        while True:
            yield wait
            wait = min(self.longest, 1.5 * wait)


class Left(Exception):
    """A batch that is left as it is at the provider, to be picked up later, and why."""

    def __init__(self, misuse: Misuse) -> None:
        super().__init__(str(misuse))
        self.misuse = misuse


class Unheard(Left):
    """A batch that its provider does not know: it is gone, or the key is another account's."""


EXPIRED = Fault("server error", "the batch expired before this request was run: not billed",
                transient=True, sent=False)
CANCELLED = Fault("server error", "the batch was cancelled before this request was run: not billed",
                  sent=False)
