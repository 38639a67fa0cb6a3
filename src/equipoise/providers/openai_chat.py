"""The chat-completions form: what is sent, and what a reply in it says.

OpenAI, OpenRouter, vLLM, llama.cpp, Ollama and LM Studio all speak it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from equipoise.providers import faults
from equipoise.providers.body import Held, asked
from equipoise.providers.forms import Form, Unreadable, finite, read
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

PATH = "/chat/completions"
HOME = "https://api.openai.com/v1"
SETTINGS = frozenset((
    "temperature", "max_tokens", "max_completion_tokens", "seed", "top_p", "top_k", "min_p",
    "frequency_penalty", "presence_penalty", "repeat_penalty", "stop", "user", "service_tier",
    "effort",
))

FIRST_TOKEN_ALTERNATIVES = 20
FINISHES: dict[str, Finish] = {
    "stop": "stop", "length": "length", "max_tokens": "length", "content_filter": "filter",
}


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The request whose body is the canonical JSON of a chat completion.

    What `subject.settings` does not hold is not sent: the provider's default applies.
    """
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value."""
    settings = dict(subject.settings)
    if effort := settings.pop("effort", ""):
        settings["reasoning_effort"] = effort
    return {
        **fields(subject.model, settings, mode), **(fitting(held) if held else {}),
        "messages": [{"role": m.role, "content": m.text} for m in messages],
    }


def fields(model: str, settings: Mapping[str, Any], mode: AnswerMode) -> dict[str, Any]:
    """The model, its settings, and what asks for the alternatives of a first token."""
    said: dict[str, Any] = {"model": model, **settings}
    if mode == "first-token":
        limit = "max_completion_tokens" if "max_completion_tokens" in said else "max_tokens"
        said |= {"logprobs": True, "top_logprobs": FIRST_TOKEN_ALTERNATIVES, limit: 1}
    return said


def fitting(held: Held) -> dict[str, Any]:
    """What holds a reply to a JSON Schema."""
    named = {"name": held.name, "strict": True, "schema": held.schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


class _Alternative(Form):
    token: str
    logprob: float | None = None


class _Token(Form):
    top_logprobs: list[_Alternative | None] | None = None


class _Logprobs(Form):
    content: list[_Token] | None = None


class _Part(Form):
    needed: ClassVar = frozenset(("text",))
    text: str | None = None


class _Message(Form):
    needed: ClassVar = frozenset(("content", "refusal"))
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(Form):
    needed: ClassVar = frozenset(("message",))
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: Any = None


class _Details(Form):
    reasoning_tokens: int | None = None


class _PromptDetails(Form):
    cached_tokens: int | None = None


class _Usage(Form):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    prompt_tokens_details: _PromptDetails | None = None
    cost: float | None = None


class _Body(Form):
    needed: ClassVar = frozenset(("choices",))
    choices: list[_Choice] | None = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
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
        return faults.malformed(reply, f"not a chat completion: {error}")
    if body.error:
        return faults.by_error(reply, body.error)
    if not body.choices:
        return faults.malformed(reply, "a completion without choices")
    choice = body.choices[0]
    if choice.finish_reason == "error":
        return Fault("server error",
                     f"the reply broke off in an error: {faults.shown(reply.body)}",
                     transient=faults.passing(choice.error))
    return _completion(body, choice)


def _completion(body: _Body, choice: _Choice) -> Completion:
    said = choice.message
    text = said.content if isinstance(said.content, str) else _joined(said.content)
    finish: Finish = FINISHES.get(choice.finish_reason or "", "other")
    if said.refusal:
        text, finish = text or said.refusal, "filter"
    return Completion(
        text, finish,
        said.reasoning_content or said.reasoning or "",
        body.model or "", body.provider or "", body.system_fingerprint or "",
        _usage(body.usage), _first_token(choice.logprobs),
    )


def _joined(parts: list[_Part] | None) -> str:
    return "".join(part.text or "" for part in parts or ())


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    details, read_again = usage.completion_tokens_details, usage.prompt_tokens_details
    return Usage(usage.prompt_tokens, usage.completion_tokens,
                 details.reasoning_tokens if details else None, finite(usage.cost),
                 read_again.cached_tokens if read_again else None)


def _first_token(logprobs: _Logprobs | None) -> tuple[tuple[str, float], ...]:
    if logprobs is None or not logprobs.content:
        return ()
    alternatives = logprobs.content[0].top_logprobs or ()
    return tuple(
        (a.token, a.logprob) for a in alternatives
        if a is not None and a.logprob is not None and a.logprob < math.inf
    )
