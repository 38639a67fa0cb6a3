"""The chat-completions form as llama.cpp speaks it: a grammar, and its prompt cache."""

from __future__ import annotations

import json
from collections.abc import Sequence

from equipoise.providers import openai_chat
from equipoise.terms import AnswerMode, Message, Request, Subject

PATH = openai_chat.PATH
decode = openai_chat.decode


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """As `openai_chat.encode`, but a choice of words is held by a grammar of bare words."""
    if mode != "constrained" or schema:
        return openai_chat.encode(subject, messages, mode, choices, schema)
    said, held = tuple(messages), json.dumps({"grammar": grammar(choices)})
    return Request(subject, said, mode, tuple(choices),
                   openai_chat.body_of(subject, said, mode, held))


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
