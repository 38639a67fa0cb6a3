"""The chat-completions form: what is sent, and what a reply in it says.

OpenAI, OpenRouter, vLLM, llama.cpp, Ollama and LM Studio all speak it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

import msgspec

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
    canonical_json,
)

PATH = "/chat/completions"
PLACE_OF_SCHEMA = "the place of the schema"
"""A schema is put in as it is written: engines write a reply's keys in the order of its own."""

FIRST_TOKEN_ALTERNATIVES = 20
PASSING_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
PASSING_WORDS = re.compile(r"overloaded|rate.?limit|unavailable|server.error|timed? ?out"
                           r"|^\W*(429|50[0234]|529)\b", re.IGNORECASE)
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
    said = tuple(messages)
    held = ""
    if mode == "constrained":
        held = json.dumps(fitting(PLACE_OF_SCHEMA, "answer") if schema else constraint(choices))
    body = body_of(subject, said, mode, held)
    if schema:
        body = body.replace(canonical_json(PLACE_OF_SCHEMA), schema.encode())
    return Request(subject, said, mode, tuple(choices), body, schema)


def body_of(
    subject: Subject, messages: tuple[Message, ...], mode: AnswerMode, held: str = ""
) -> bytes:
    """The bytes sent: the canonical JSON of the request; `held` are further fields, as JSON.

    Most requests of a subject differ in their messages' texts alone, so what stands around
    those is made once. A reply quoted back may hold lone surrogates, which UTF-8 cannot: that
    body is all escaped.
    """
    roles = tuple(message.role for message in messages)
    around = iter(_around(_Shape(subject.stamp, mode, roles, held, subject)))
    try:
        texts = [encode_basestring(message.text).encode() for message in messages]
    except UnicodeEncodeError:
        whole = fields(subject, mode, held) | {
            "messages": [{"role": m.role, "content": m.text} for m in messages]
        }
        return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([next(around), *(part for text in texts for part in (text, next(around)))])


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of a request but its texts; the stamp stands for the subject."""

    stamp: str
    mode: AnswerMode
    roles: tuple[str, ...]
    held: str
    subject: Subject = field(compare=False)


@lru_cache(maxsize=256)
def _around(shape: _Shape) -> tuple[bytes, ...]:
    """The canonical JSON of a request, cut where its texts stand."""
    place = f"the text of {shape.stamp}"
    said = fields(shape.subject, shape.mode, shape.held) | {
        "messages": [{"role": role, "content": place} for role in shape.roles]
    }
    return tuple(canonical_json(said).split(canonical_json(place)))


def fields(subject: Subject, mode: AnswerMode, held: str) -> dict[str, Any]:
    """Every field but the messages."""
    said: dict[str, Any] = {"model": subject.model, **subject.settings}
    if mode == "first-token":
        limit = "max_completion_tokens" if "max_completion_tokens" in said else "max_tokens"
        said |= {"logprobs": True, "top_logprobs": FIRST_TOKEN_ALTERNATIVES, limit: 1}
    return said | (json.loads(held) if held else {})


def constraint(choices: Sequence[str]) -> dict[str, Any]:
    """A JSON schema that lets a reply be one of the choices and nothing else."""
    schema = {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }
    return fitting(schema, "choice")


def fitting(schema: Mapping[str, Any] | str, name: str) -> dict[str, Any]:
    """What holds a reply to a JSON Schema."""
    named = {"name": name, "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


class _Alternative(msgspec.Struct, gc=False):
    token: str
    logprob: float | None = None


class _Token(msgspec.Struct, gc=False):
    top_logprobs: list[_Alternative | None] | None = None


class _Logprobs(msgspec.Struct, gc=False):
    content: list[_Token] | None = None


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: Any = None


class _Details(msgspec.Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    cost: float | None = None


class _Body(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    model: str | None = None
    provider: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Body)


def decode(reply: Reply) -> Completion | Fault:
    """What a reply says, or which fault it is; raises nothing, whatever the bytes."""
    if reply.status >= 300 or reply.status < 200:
        return _status_fault(reply)
    try:
        body = _decoder.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        found = _looked_at_again(reply.body)
        if found is None:
            return Fault("malformed", f"not a chat completion: {error} ({shown(reply.body)})")
        body = found
    if body.error:
        return Fault("server error", f"status 200 with an error: {shown(reply.body)}",
                     transient=_passing(body.error))
    if not body.choices:
        return Fault("malformed", f"a completion without choices ({shown(reply.body)})")
    choice = body.choices[0]
    if choice.finish_reason == "error":
        return Fault("server error", f"the reply broke off in an error: {shown(reply.body)}",
                     transient=_passing(choice.error))
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
    details, cost = usage.completion_tokens_details, usage.cost
    return Usage(usage.prompt_tokens, usage.completion_tokens,
                 details.reasoning_tokens if details else None,
                 cost if cost is not None and math.isfinite(cost) else None)


def _first_token(logprobs: _Logprobs | None) -> tuple[tuple[str, float], ...]:
    if logprobs is None or not logprobs.content:
        return ()
    alternatives = logprobs.content[0].top_logprobs or ()
    return tuple(
        (a.token, a.logprob) for a in alternatives
        if a is not None and a.logprob is not None and a.logprob < math.inf
    )


def _looked_at_again(body: bytes) -> _Body | None:
    """A body whose words are plain though the strict decoder refuses it; None where they are not.

    It may escape lone surrogates (valid JSON, though no valid Unicode), begin with a byte-order
    mark, or hold beside its words a field in a form of its own: that field is left out.
    """
    try:
        said = json.loads(body.decode("utf-8-sig"), parse_int=_number)
        said["usage"] = _fitting(said.get("usage"), _Usage)
        for choice in said.get("choices") or ():
            choice["message"] = _fitting(choice["message"], _Message, "content", "refusal")
        said["choices"] = [_fitting(c, _Choice, "message") for c in said.get("choices") or ()]
        return msgspec.convert(_fitting(said, _Body, "choices"), _Body)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _fitting(said: Any, form: type[msgspec.Struct], *needed: str) -> Any:
    """An object without the fields that the form cannot take, save those that are needed."""
    if not isinstance(said, dict):
        return said
    return {
        part.encode_name: said[part.encode_name] for part in msgspec.structs.fields(form)
        if part.encode_name in said
        and (part.encode_name in needed or _fits(said[part.encode_name], part.type))
    }


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (ValueError, RecursionError):
        return False
    return True


def _number(digits: str) -> float:
    return int(digits) if len(digits) < 30 else float(digits)


def _status_fault(reply: Reply) -> Fault:
    detail = f"status {reply.status}: {shown(reply.body)}"
    if reply.status in (401, 403):
        return Fault("auth", detail)
    if reply.status == 402:
        return Fault("over budget", detail)
    if reply.status == 404:
        return Fault("not found", detail)
    if reply.status == 429 and b"insufficient_quota" in reply.body:
        return Fault("over budget", detail)
    if reply.status == 429:
        return Fault("rate limited", detail, transient=True)
    if reply.status in (408, 409, 425) or reply.status >= 500:
        return Fault("server error", detail, transient=reply.status not in (501, 505))
    return Fault("rejected", detail)


def _passing(error: Any) -> bool:
    """Whether an error under status 200 is one that passes: by its code, else by its words."""
    said = error if isinstance(error, dict) else {"message": error}
    code = said.get("code")
    if isinstance(code, int):
        return code in PASSING_STATUSES
    words = (code, said.get("type"), said.get("message"))
    return any(isinstance(word, str) and PASSING_WORDS.search(word) for word in words)


def shown(body: bytes, limit: int = 200) -> str:
    """The beginning of a body, safe to print."""
    text = body[:limit].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else " " for c in text) + ("…" if len(body) > limit else "")
