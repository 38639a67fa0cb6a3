"""A request's body: canonical JSON, made once for all requests that differ in their texts alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from equipoise.terms import AnswerMode, Message, Request, Subject, canonical_json

PLACE_OF_SCHEMA = "the place of the schema"
"""A schema is put in as it is written: engines write a reply's keys in the order of its own."""

SCHEMA = -1


@dataclass(frozen=True, slots=True)
class Held:
    """What a constrained reply must be: one of the choices, or what fits a schema put in later."""

    choices: tuple[str, ...] = ()
    by_schema: bool = False

    @property
    def name(self) -> str:
        """What the schema is called where a form wants a name."""
        return "answer" if self.by_schema else "choice"

    @property
    def schema(self) -> Any:
        """The JSON Schema that lets a reply be one of the choices and nothing else."""
        if self.by_schema:
            return PLACE_OF_SCHEMA
        return {
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": list(self.choices)}},
            "required": ["choice"],
            "additionalProperties": False,
        }


Say = Callable[[Subject, Sequence[Message], AnswerMode, Held | None], dict[str, Any]]
"""A dialect's whole body as a value; it is held to something where the mode is constrained."""


def asked(
    say: Say, subject: Subject, messages: Sequence[Message], mode: AnswerMode,
    choices: Sequence[str], schema: str,
) -> Request:
    """The request whose body is the canonical JSON of what `say` makes of it.

    A reply quoted back may hold lone surrogates, which UTF-8 cannot: that body is all escaped.
    """
    said = tuple(messages)
    held = Held(() if schema else tuple(choices), bool(schema)) if mode == "constrained" else None
    try:
        texts = [encode_basestring(message.text).encode() for message in said]
    except UnicodeEncodeError:
        whole = say(subject, said, mode, held)
        body = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        body = body.replace(canonical_json(PLACE_OF_SCHEMA), schema.encode()) if schema else body
    else:
        roles = tuple(message.role for message in said)
        shape = _Shape(say, subject.stamp, mode, roles, held, subject)
        body = _filled(_around(shape), texts, schema.encode())
    return Request(subject, said, mode, tuple(choices), body, schema)


def _filled(around: tuple[bytes | int, ...], texts: Sequence[bytes], schema: bytes) -> bytes:
    return b"".join(
        part if isinstance(part, bytes) else schema if part == SCHEMA else texts[part]
        for part in around
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of a request but its texts; the stamp stands for the subject."""

    say: Say
    stamp: str
    mode: AnswerMode
    roles: tuple[Any, ...]
    held: Held | None
    subject: Subject = field(compare=False)


@lru_cache(maxsize=256)
def _around(shape: _Shape) -> tuple[bytes | int, ...]:
    """The canonical JSON of a request, cut where its texts stand; a number is a text's place."""
    messages = [Message(role, f"text {place} of {shape.stamp}")
                for place, role in enumerate(shape.roles)]
    whole = canonical_json(shape.say(shape.subject, messages, shape.mode, shape.held))
    schema = re.escape(canonical_json(PLACE_OF_SCHEMA)) if shape.held and shape.held.by_schema \
        else b"(?!)"
    places = re.compile(b'("text [0-9]+ of %s"|%s)' % (shape.stamp.encode(), schema))
    return tuple(
        part if not place % 2 else int(part[6:].split(b" ")[0]) if part[:6] == b'"text ' else SCHEMA
        for place, part in enumerate(places.split(whole))
    )
