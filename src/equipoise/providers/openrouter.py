"""The chat-completions form as OpenRouter speaks it: the upstream is pinned, the cost is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.providers import openai_chat
from equipoise.providers.body import Held, asked
from equipoise.terms import AnswerMode, Message, Request, Subject

PATH = openai_chat.PATH
HOME = "https://openrouter.ai/api/v1"
SETTINGS = (openai_chat.SETTINGS - {"max_completion_tokens", "repeat_penalty"}) | {"upstream"}
ANY = "any"
"""As an upstream: whichever OpenRouter picks. Who replied is then known of each reply alone."""

decode = openai_chat.decode


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """As `openai_chat.encode`, from the one upstream that the subject names and no other.

    An upstream that does not take a setting refuses the request: left to itself, OpenRouter
    would leave the setting out unsaid.
    """
    return asked(say, subject, messages, mode, choices, schema)


def say(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, held: Held | None
) -> dict[str, Any]:
    """The body as a value."""
    settings = dict(subject.settings)
    upstream, effort = settings.pop("upstream", ANY), settings.pop("effort", "")
    pinned = {} if upstream == ANY else {"order": [upstream], "allow_fallbacks": False}
    return {
        **openai_chat.fields(subject.model, settings, mode),
        **(openai_chat.fitting(held) if held else {}),
        **({"reasoning": {"effort": effort}} if effort else {}),
        "provider": {**pinned, "require_parameters": True},
        "usage": {"include": True},
        "messages": [{"role": m.role, "content": m.text} for m in messages],
    }
