"""The Messages form of Anthropic: what is sent, and what a reply in it says.

Sent with the version 2023-06-01 of the API: the next one takes no temperature of any model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from equipoise.providers import faults
from equipoise.providers.body import Held, asked
from equipoise.providers.forms import Form, Unreadable, read, total
from equipoise.terms import (
    AnswerMode,
    Completion,
    Fault,
    Finish,
    Message,
    Reply,
    Request,
    Subject,
    Usage,
)

PATH = "/v1/messages"
HOME = "https://api.anthropic.com"
VERSION = "2023-06-01"
SETTINGS = frozenset((
    "temperature", "max_tokens", "top_p", "top_k", "stop", "effort", "thinking", "service_tier",
))
FINISHES: dict[str, Finish] = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "filter",
}
"""What else a reply may stop for (`pause_turn`, `tool_use`) is no end of an answer."""


def headers(key: str | None) -> Mapping[str, str]:
    """The version that is spoken, and the key."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The request whose body is the canonical JSON of a message to be created.

    What `subject.settings` does not hold is not sent: the provider's default applies.
    """
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value: what a system says stands beside the messages."""
    settings = dict(subject.settings)
    effort, thinking = settings.pop("effort", ""), settings.pop("thinking", None)
    stop = settings.pop("stop", None)
    output = {
        **({"effort": effort} if effort else {}),
        **({"format": {"type": "json_schema", "schema": held.schema}} if held else {}),
    }
    system = [m.text for m in messages if m.role == "system"]
    return {
        "model": subject.model, **settings,
        **({"stop_sequences": [stop] if isinstance(stop, str) else stop} if stop else {}),
        **({"thinking": _thinking(thinking)} if thinking is not None else {}),
        **({"output_config": output} if output else {}),
        **({"system": system[0]} if len(system) == 1 else {}),
        **({"system": [{"type": "text", "text": s} for s in system]} if len(system) > 1 else {}),
        "messages": [{"role": m.role, "content": m.text} for m in messages if m.role != "system"],
    }


def _thinking(setting: Any) -> dict[str, Any]:
    """`adaptive` or `disabled`, or a budget in tokens."""
    if isinstance(setting, int):
        return {"type": "enabled", "budget_tokens": setting}
    return {"type": setting}


class _Block(Form):
    needed: ClassVar = frozenset(("type", "text"))
    type: str
    text: str | None = None
    thinking: str | None = None


class _Details(Form):
    thinking_tokens: int | None = None


class _Usage(Form):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Stop(Form):
    explanation: str | None = None


class _Body(Form):
    needed: ClassVar = frozenset(("type", "content", "error"))
    type: str | None = None
    content: list[_Block] | None = None
    stop_reason: str | None = None
    stop_details: _Stop | None = None
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Body)


def decode(reply: Reply) -> Completion | Fault:
    """What a reply says, or which fault it is; raises nothing, whatever the bytes."""
    if faults.failed(reply):
        return faults.by_status(reply)
    try:
        body = read(reply.body, _decoder)
    except Unreadable as error:
        return faults.malformed(reply, f"not a message: {error}")
    if body.error or body.type == "error":
        return faults.by_error(reply, body.error)
    if body.type != "message" or body.content is None:
        return faults.malformed(reply, "not a message with content")
    return _completion(body, body.content)


def _completion(body: _Body, blocks: list[_Block]) -> Completion:
    text = "".join(block.text or "" for block in blocks if block.type == "text")
    finish: Finish = FINISHES.get(body.stop_reason or "", "other")
    if finish == "filter" and not text and body.stop_details:
        text = body.stop_details.explanation or ""
    return Completion(
        text, finish, "".join(b.thinking or "" for b in blocks if b.type == "thinking"),
        body.model or "", usage=_usage(body.usage),
    )


def _usage(usage: _Usage | None) -> Usage:
    """Tokens read from a cache or written to it are tokens of the prompt."""
    if usage is None:
        return Usage()
    details = usage.output_tokens_details
    prompt = None if usage.input_tokens is None else total(
        usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    return Usage(prompt, usage.output_tokens, details.thinking_tokens if details else None,
                 cached=usage.cache_read_input_tokens)
