"""Subjects with a lean put there on purpose, to see whether an instrument finds it.

Their form on the wire is one JSON object: `messages`, `mode` and `choices` go out,
`{"text": …, "finish": …}` comes back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from equipoise.terms import (
    AnswerMode,
    Completion,
    Fault,
    Message,
    Provider,
    Reply,
    Request,
    Subject,
    canonical_json,
)


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    body = canonical_json({
        **({"schema": json.loads(schema)} if schema else {}),
        "messages": [{"role": m.role, "text": m.text} for m in messages],
        "mode": mode,
        "choices": list(choices),
        "settings": dict(subject.settings),
    })
    return Request(subject, tuple(messages), mode, tuple(choices), body, schema)


def decode(reply: Reply) -> Completion | Fault:
    if reply.status != 200:
        return Fault("server error", f"status {reply.status}", transient=True)
    try:
        said = msgspec.json.decode(reply.body, type=dict[str, Any])
        return Completion(said["text"], said["finish"], first_token=tuple(
            (token, logprob) for token, logprob in said.get("first_token", ())
        ))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        return Fault("malformed", str(error))


def said(text: str, finish: str = "stop", **more: Any) -> Reply:
    """A planted subject's reply.

    >>> said("whiskey").body
    b'{"finish":"stop","text":"whiskey"}'
    """
    return Reply(canonical_json({"text": text, "finish": finish, **more}))


def subject(name: str, family: str = "planted", **settings: Any) -> Subject:
    """A subject whose replies are computed, for proofs that an instrument works."""
    return Subject(name, name, family, "planted", settings=settings)


def answering(answer: Callable[[Request], str | Completion]) -> Provider:
    """A provider that says what `answer` makes of the request."""

    async def provider(request: Request) -> Reply:
        found = answer(request)
        if isinstance(found, Completion):
            return said(found.text, found.finish)
        if request.mode == "first-token":
            return said(found, first_token=[[found, 0.0]])
        return said(found)

    return provider
