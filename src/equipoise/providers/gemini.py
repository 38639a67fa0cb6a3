"""The generateContent form of Gemini: what is sent, and what a reply in it says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
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

PATH = "/models/{model}:generateContent"
HOME = "https://generativelanguage.googleapis.com/v1beta"
SETTINGS = frozenset((
    "temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "frequency_penalty",
    "presence_penalty", "effort", "thinking", "safety",
))
NAMES = {
    "max_tokens": "maxOutputTokens", "top_p": "topP", "top_k": "topK",
    "frequency_penalty": "frequencyPenalty", "presence_penalty": "presencePenalty",
}
FIRST_TOKEN_ALTERNATIVES = 20
HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
FINISHES: dict[str, Finish] = {
    "STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter", "RECITATION": "filter",
    "BLOCKLIST": "filter", "PROHIBITED_CONTENT": "filter", "SPII": "filter",
    "IMAGE_SAFETY": "filter", "ESCALATION": "filter",
}
"""What else a candidate may finish for (a call of a tool, a language it has not) is no end."""


def headers(key: str | None) -> Mapping[str, str]:
    """The key, never in the address."""
    return {"x-goog-api-key": key} if key else {}


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The request whose body is the canonical JSON of content to be generated; the model is in
    the address.

    What `subject.settings` does not hold is not sent: the provider's default applies.
    """
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value: what a system says stands beside the contents."""
    settings = dict(subject.settings)
    safety = settings.pop("safety", "")
    config = _config(settings, mode, held)
    system = [{"text": m.text} for m in messages if m.role == "system"]
    return {
        **({"generationConfig": config} if config else {}),
        **({"safetySettings": [{"category": f"HARM_CATEGORY_{harm}", "threshold": safety}
                               for harm in HARMS]} if safety else {}),
        **({"systemInstruction": {"parts": system}} if system else {}),
        "contents": [
            {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.text}]}
            for m in messages if m.role != "system"
        ],
    }


def _config(settings: dict[str, Any], mode: AnswerMode, held: Held | None) -> dict[str, Any]:
    effort, budget = settings.pop("effort", ""), settings.pop("thinking", None)
    stop = settings.pop("stop", None)
    thinking = {**({"thinkingLevel": effort} if effort else {}),
                **({"thinkingBudget": budget} if budget is not None else {})}
    config = {NAMES.get(name, name): value for name, value in settings.items()}
    if stop:
        config["stopSequences"] = [stop] if isinstance(stop, str) else stop
    if thinking:
        config["thinkingConfig"] = thinking
    if held:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": held.schema}
    if mode == "first-token":
        config |= {"responseLogprobs": True, "logprobs": FIRST_TOKEN_ALTERNATIVES,
                   "maxOutputTokens": 1}
    return config


class _Part(Form):
    needed: ClassVar = frozenset(("text", "thought"))
    text: str | None = None
    thought: bool | None = None


class _Content(Form):
    needed: ClassVar = frozenset(("parts",))
    parts: list[_Part] | None = None


class _Alternative(Form):
    token: str
    logProbability: float | None = None


class _Alternatives(Form):
    candidates: list[_Alternative] | None = None


class _Logprobs(Form):
    topCandidates: list[_Alternatives] | None = None


class _Candidate(Form):
    needed: ClassVar = frozenset(("content",))
    content: _Content | None = None
    finishReason: str | None = None
    logprobsResult: _Logprobs | None = None


class _Feedback(Form):
    needed: ClassVar = frozenset(("blockReason",))
    blockReason: str | None = None


class _Usage(Form):
    promptTokenCount: int | None = None
    cachedContentTokenCount: int | None = None
    candidatesTokenCount: int | None = None
    thoughtsTokenCount: int | None = None


class _Body(Form):
    needed: ClassVar = frozenset(("candidates", "error"))
    candidates: list[_Candidate] | None = None
    promptFeedback: _Feedback | None = None
    usageMetadata: _Usage | None = None
    modelVersion: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Body)


def decode(reply: Reply) -> Completion | Fault:
    """What a reply says, or which fault it is; raises nothing, whatever the bytes."""
    if faults.failed(reply):
        found = faults.by_status(reply)
        # A wrong key is said with the status of a wrong request.
        return replace(found, kind="auth") if b"API_KEY_INVALID" in reply.body else found
    try:
        body = read(reply.body, _decoder)
    except Unreadable as error:
        return faults.malformed(reply, f"not generated content: {error}")
    if body.error:
        return faults.by_error(reply, body.error)
    feedback = body.promptFeedback
    if not body.candidates and feedback and feedback.blockReason:
        return Completion("", "filter", "", body.modelVersion or "",
                          usage=_usage(body.usageMetadata))
    if not body.candidates:
        return faults.malformed(reply, "content without candidates")
    first = body.candidates[0]
    if first.content is None and not first.finishReason:
        return faults.malformed(reply, "a candidate without content")
    return _completion(body, first)


def _completion(body: _Body, first: _Candidate) -> Completion:
    parts = (first.content.parts if first.content else None) or []
    return Completion(
        "".join(part.text or "" for part in parts if not part.thought),
        FINISHES.get(first.finishReason or "", "other"),
        "".join(part.text or "" for part in parts if part.thought),
        body.modelVersion or "", usage=_usage(body.usageMetadata),
        first_token=_first_token(first.logprobsResult),
    )


def _usage(usage: _Usage | None) -> Usage:
    """Thoughts are billed as the reply is, and counted apart from it."""
    if usage is None:
        return Usage()
    return Usage(usage.promptTokenCount,
                 total(usage.candidatesTokenCount, usage.thoughtsTokenCount),
                 usage.thoughtsTokenCount, cached=usage.cachedContentTokenCount)


def _first_token(logprobs: _Logprobs | None) -> tuple[tuple[str, float], ...]:
    if logprobs is None or not logprobs.topCandidates:
        return ()
    return tuple(
        (a.token, a.logProbability) for a in logprobs.topCandidates[0].candidates or ()
        if a.logProbability is not None and a.logProbability < math.inf
    )
