"""Any provider of Inspect, by its own `generate`: an extra, and another route to a model.

Inspect makes the request that goes over the wire, so what is on record is the question as it
was put to Inspect and the ModelOutput it gave back. A subject reached so is never the same as
one reached directly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, ClassVar

import msgspec

from equipoise.providers import faults
from equipoise.providers.body import Held, asked
from equipoise.providers.forms import Form, Unreadable, finite, read, total
from equipoise.providers.keys import environment_secrets, struck_out
from equipoise.terms import (
    AnswerMode,
    Completion,
    Fault,
    Finish,
    Message,
    Misuse,
    Provider,
    Reply,
    Request,
    Subject,
    Usage,
)

SETTINGS = frozenset((
    "temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "frequency_penalty",
    "presence_penalty", "effort",
))
NAMES = {"effort": "reasoning_effort", "stop": "stop_seqs"}
FIRST_TOKEN_ALTERNATIVES = 20
FINISHES: dict[str, Finish] = {
    "stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "filter",
}


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The request as it is put to Inspect: a model, messages and a GenerateConfig."""
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The question as a value."""
    config = {NAMES.get(name, name): value for name, value in subject.settings.items()}
    if isinstance(stop := config.get("stop_seqs"), str):
        config["stop_seqs"] = [stop]
    if held:
        config["response_schema"] = {"name": held.name, "strict": True,
                                     "json_schema": held.schema}
    if mode == "first-token":
        config |= {"logprobs": True, "top_logprobs": FIRST_TOKEN_ALTERNATIVES, "max_tokens": 1}
    return {"model": subject.model, "config": config,
            "messages": [{"role": m.role, "content": m.text} for m in messages]}


def version() -> str:
    """Inspect's name and version; raises Misuse where it is not installed."""
    try:
        return f"inspect-ai {metadata.version('inspect-ai')}"
    except metadata.PackageNotFoundError:
        raise Misuse(
            "inspect-ai, which reaches the subjects named inspect:MODEL, is not installed. Wanted"
            " the extra that brings it. Run `pip install 'equipoise[inspect]'`."
        ) from None


def model_named(name: str, base_url: str = "") -> Any:
    """Inspect's model of that name, where it says or at a base URL; raises Misuse for none."""
    version()
    from inspect_ai.model import GenerateConfig, get_model

    try:
        # It retries nothing: an attempt is on record before it is made.
        return get_model(name, config=GenerateConfig(max_retries=0), memoize=False,
                         base_url=base_url or None)
    except Exception as error:
        raise Misuse(f"Inspect has no model {name!r}: {error}. Name one as Inspect does, as in"
                     " inspect:openai/gpt-4o.") from error


def answering(model: Any) -> Provider:
    """A provider that puts each request to Inspect's model."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
    )

    roles: Mapping[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser,
                                "assistant": ChatMessageAssistant}

    async def ask(request: Request) -> Reply | Fault:
        said = msgspec.json.decode(request.body)
        messages = [roles[m["role"]](content=m["content"]) for m in said["messages"]]
        try:
            output = await model.generate(
                messages, config=GenerateConfig(**said["config"], max_retries=0))
        except Exception as error:
            return _fault(error)
        return Reply(output.model_dump_json(exclude_none=True).encode())

    # Which keys Inspect sends is its own affair: none of the environment's is written down.
    secrets = environment_secrets()

    async def provider(request: Request) -> Reply | Fault:
        outcome = await ask(request)
        for secret in secrets:
            outcome = struck_out(outcome, secret)
        return outcome

    return provider


def _fault(error: Exception) -> Fault:
    """What Inspect raised, by its status where it has one; else what became of it is unknown."""
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        found = faults.by_status(Reply(b"", status))
        return Fault(found.kind, detail, found.transient)
    return Fault("unknown", detail)


class _Part(Form):
    needed: ClassVar = frozenset(("type", "text"))
    type: str | None = None
    text: str | None = None
    reasoning: str | None = None


class _Message(Form):
    needed: ClassVar = frozenset(("content",))
    content: str | list[_Part] | None = None


class _Alternative(Form):
    token: str
    logprob: float | None = None


class _Token(Form):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(Form):
    content: list[_Token] | None = None


class _Choice(Form):
    needed: ClassVar = frozenset(("message",))
    message: _Message
    stop_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Form):
    input_tokens: int | None = None
    input_tokens_cache_write: int | None = None
    input_tokens_cache_read: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_cost: float | None = None


class _Body(Form):
    needed: ClassVar = frozenset(("choices", "error"))
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Body)


def decode(reply: Reply) -> Completion | Fault:
    """What a ModelOutput says, or which fault it is; raises nothing, whatever the bytes."""
    if faults.failed(reply):
        return faults.by_status(reply)
    try:
        body = read(reply.body, _decoder)
    except Unreadable as error:
        return faults.malformed(reply, f"not a ModelOutput: {error}")
    if not body.choices:
        return faults.by_error(reply, body.error) if body.error else faults.malformed(
            reply, "a ModelOutput without choices")
    choice = body.choices[0]
    content = choice.message.content
    parts = [_Part("text", content)] if isinstance(content, str) else content or []
    return Completion(
        "".join(part.text or "" for part in parts if part.type == "text"),
        FINISHES.get(choice.stop_reason or "", "other"),
        "".join(part.reasoning or "" for part in parts if part.type == "reasoning"),
        body.model or "", "inspect", usage=_usage(body.usage),
        first_token=_first_token(choice.logprobs),
    )


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    prompt = total(usage.input_tokens, usage.input_tokens_cache_write,
                   usage.input_tokens_cache_read)
    return Usage(prompt, usage.output_tokens, usage.reasoning_tokens, finite(usage.total_cost),
                 usage.input_tokens_cache_read)


def _first_token(logprobs: _Logprobs | None) -> tuple[tuple[str, float], ...]:
    if logprobs is None or not logprobs.content:
        return ()
    return tuple((a.token, a.logprob) for a in logprobs.content[0].top_logprobs or ()
                 if a.logprob is not None and a.logprob < math.inf)
