"""The Responses form of OpenAI: what is sent, and what a reply in it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from equipoise.providers import faults
from equipoise.providers.body import Held, asked
from equipoise.providers.forms import Form, Unreadable, read
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

PATH = "/responses"
HOME = "https://api.openai.com/v1"
SETTINGS = frozenset(("temperature", "max_tokens", "top_p", "effort", "user", "service_tier"))
FIRST_TOKEN_ALTERNATIVES, LEAST_TOKENS = 20, 16
"""A response is never shorter than 16 tokens: the first of them is looked at."""

UNFINISHED: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The request whose body is the canonical JSON of a response to be made; none is stored.

    What `subject.settings` does not hold is not sent: the provider's default applies.
    """
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value."""
    said: dict[str, Any] = {"model": subject.model, "store": False, **subject.settings}
    if "max_tokens" in said:
        said["max_output_tokens"] = said.pop("max_tokens")
    if effort := said.pop("effort", ""):
        said["reasoning"] = {"effort": effort}
    if held:
        said["text"] = {"format": {"type": "json_schema", "name": held.name, "strict": True,
                                   "schema": held.schema}}
    if mode == "first-token":
        said |= {"include": ["message.output_text.logprobs"], "max_output_tokens": LEAST_TOKENS,
                 "top_logprobs": FIRST_TOKEN_ALTERNATIVES}
    return said | {"input": [{"role": m.role, "content": m.text} for m in messages]}


class _Alternative(Form):
    token: str
    logprob: float | None = None


class _Token(Form):
    top_logprobs: list[_Alternative] | None = None


class _Part(Form):
    needed: ClassVar = frozenset(("type", "text", "refusal"))
    type: str
    text: str | None = None
    refusal: str | None = None
    logprobs: list[_Token] | None = None


class _Item(Form):
    needed: ClassVar = frozenset(("type", "content", "summary"))
    type: str
    content: list[_Part] | None = None
    summary: list[_Part] | None = None


class _Why(Form):
    needed: ClassVar = frozenset(("reason",))
    reason: str | None = None


class _Details(Form):
    reasoning_tokens: int | None = None


class _InputDetails(Form):
    cached_tokens: int | None = None


class _Usage(Form):
    input_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Body(Form):
    needed: ClassVar = frozenset(("status", "output", "incomplete_details", "error"))
    status: str | None = None
    output: list[_Item] | None = None
    incomplete_details: _Why | None = None
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
        return faults.malformed(reply, f"not a response: {error}")
    if body.error or body.status == "failed":
        return faults.by_error(reply, body.error)
    if body.output is None or body.status not in ("completed", "incomplete"):
        return faults.malformed(reply, "a response that has not come to its end")
    messages = [item for item in body.output if item.type == "message"]
    if not messages and body.status == "completed":
        return faults.malformed(reply, "a response without a message")
    return _completion(body, messages, [item for item in body.output if item.type == "reasoning"])


def _completion(body: _Body, messages: list[_Item], thoughts: list[_Item]) -> Completion:
    parts = [part for item in messages for part in item.content or ()]
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    refusal = "".join(part.refusal or "" for part in parts if part.type == "refusal")
    finish: Finish = "stop"
    if body.status == "incomplete":
        why = body.incomplete_details
        finish = UNFINISHED.get((why.reason if why else None) or "", "other")
    if refusal:
        text, finish = text or refusal, "filter"
    reasoning = "".join(part.text or "" for item in thoughts
                        for part in [*(item.content or ()), *(item.summary or ())])
    return Completion(text, finish, reasoning, body.model or "", usage=_usage(body.usage),
                      first_token=_first_token(parts))


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    details, read_again = usage.output_tokens_details, usage.input_tokens_details
    return Usage(usage.input_tokens, usage.output_tokens,
                 details.reasoning_tokens if details else None,
                 cached=read_again.cached_tokens if read_again else None)


def _first_token(parts: list[_Part]) -> tuple[tuple[str, float], ...]:
    logprobs = next((part.logprobs for part in parts if part.logprobs), None)
    if not logprobs:
        return ()
    return tuple((a.token, a.logprob) for a in logprobs[0].top_logprobs or ()
                 if a.logprob is not None and a.logprob < math.inf)
