"""The chat-completions form as llama.cpp speaks it: a grammar, and its prompt cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.providers import openai_chat
from equipoise.providers.body import Held, asked
from equipoise.terms import AnswerMode, Message, Request, Subject

PATH = openai_chat.PATH
SETTINGS = openai_chat.SETTINGS
decode = openai_chat.decode


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """As `openai_chat.encode`, but a choice of words is held by a grammar of bare words."""
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value."""
    if held is None or held.by_schema:
        return openai_chat.say(subject, messages, mode, held)
    return openai_chat.say(subject, messages, mode, None) | {"grammar": grammar(held.choices)}


def grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar whose sentences are the choices.

    >>> grammar(["mercy", 'say "no"'])
    'root ::= "mercy" | "say \\\\"no\\\\""'
    """
    return "root ::= " + " | ".join(f'"{_literal(choice)}"' for choice in choices)


def _literal(text: str) -> str:
    """Text as it stands between a grammar's quotes, whose escapes are not all those of JSON."""
    return "".join(
        f"\\x{ord(c):02X}" if ord(c) < 32 else f"\\{c}" if c in '"\\' else c for c in text
    )
