"""An engine of a person's own behind an address: a turn's JSON goes out, the new page comes back.

The body is the turn as it stands, byte for byte, and nothing round it. What comes back is one
JSON object with `reply`, and either `edits` or the whole new `page`; `usage` may say
`prompt_tokens` and `completion_tokens`. What else it holds is kept in the record and not read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from equipoise.providers import faults
from equipoise.terms import AnswerMode, Completion, Fault, Message, Reply, Request, Subject, Usage

READ = ("reply", "edits", "page")


def encode(
    subject: Subject, messages: Sequence[Message], mode: AnswerMode, choices: Sequence[str],
    schema: str = "",
) -> Request:
    """The last message's text as the exact body; no mode, choice or schema has a place in it.

    >>> mine = Subject("mine", "mine", "none", "endpoint")
    >>> encode(mine, [Message("user", '{"said": "Why now?"}')], "free", ()).body
    b'{"said": "Why now?"}'
    """
    text = messages[-1].text
    try:
        body = text.encode()
    except UnicodeEncodeError:  # A lone surrogate, which JSON can escape and UTF-8 cannot hold.
        body = json.dumps(json.loads(text), sort_keys=True).encode()
    return Request(subject, tuple(messages), mode, tuple(choices), body, schema)


def decode(reply: Reply) -> Completion | Fault:
    """What an engine's object says, as JSON text, or which fault it is; raises nothing."""
    if faults.failed(reply):
        return faults.by_status(reply)
    try:
        said = json.loads(reply.body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return faults.malformed(reply, f"not JSON: {error}")
    if not isinstance(said, dict):
        return faults.malformed(reply, "not a JSON object")
    if said.get("error"):
        return faults.by_error(reply, said["error"])
    try:
        text = json.dumps({key: said[key] for key in READ if key in said}, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        return faults.malformed(reply, error)
    return Completion(text, usage=_usage(said.get("usage")))


def _usage(said: Any) -> Usage:
    """The tokens an engine says it took; what is no count is not stated."""
    counts = said if isinstance(said, dict) else {}
    prompt, completion = (
        value if isinstance(value := counts.get(name), int) and not isinstance(value, bool)
        and 0 <= value < 2**53 else None for name in ("prompt_tokens", "completion_tokens"))
    return Usage(prompt, completion)
