"""Anthropic's Message Batches: requests in the body of one post, results as lines.

https://docs.claude.com/en/docs/build-with-claude/batch-processing and
https://docs.claude.com/en/api/creating-message-batches

A batch carries no mark of its own: that it is ours shows in the ids of its results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from equipoise.providers import anthropic
from equipoise.providers.batch_form import (
    CANCELLED,
    EXPIRED,
    Form,
    Listed,
    Post,
    Result,
    State,
    members,
    text_of,
)
from equipoise.terms import Fault, Reply, canonical_json

PATH = anthropic.PATH + "/batches"
STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}
"""The status under which an error of this type is sent where it is not in a batch."""


class _Counts(msgspec.Struct, gc=False):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class _Batch(msgspec.Struct, gc=False):
    id: str
    processing_status: str
    request_counts: _Counts
    created_at: datetime | None = None
    results_url: str | None = None
    archived_at: str | None = None


class _List(msgspec.Struct, gc=False):
    data: list[_Batch]
    has_more: bool = False


def line(name: str, body: bytes) -> bytes:
    """A request as it stands in the post; its parameters' bytes are the request's body."""
    return b'{"custom_id":' + canonical_json(name) + b',"params":' + body + b"}"


def creation(token: str, lines: Sequence[bytes], file: str) -> Post:
    return Post(PATH, b'{"requests":[' + b",".join(lines) + b"]}")


def state(body: bytes) -> State | None:
    try:
        return _state(msgspec.json.decode(body, type=_Batch, strict=False))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def listed(body: bytes) -> Listed | None:
    try:
        found = msgspec.json.decode(body, type=_List, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    more = found.has_more and found.data
    following = f"{PATH}?limit=100&after_id={found.data[-1].id}" if more else ""
    return Listed([_state(one) for one in found.data], following)


def _state(batch: _Batch) -> State:
    counts = batch.request_counts
    done = counts.succeeded + counts.errored + counts.canceled + counts.expired
    ended = batch.processing_status == "ended"
    # The documented address, not the one in the reply: a key goes only where it is meant to.
    results = (f"{PATH}/{batch.id}/results",) if ended and not batch.archived_at else ()
    return State(
        batch.id, batch.processing_status, ended, done, done + counts.processing, results,
        created=batch.created_at.timestamp() if batch.created_at else 0.0,
    )


def result(line: bytes) -> Result | None:
    """What a line of the results says; the message's bytes are those of the line."""
    said = members(line)
    name, outcome = text_of(said.get("custom_id", b"")), members(said.get("result", b""))
    kind = text_of(outcome.get("type", b""))
    if not name or not kind:
        return None
    if kind == "succeeded" and "message" in outcome:
        return Result(name, Reply(outcome["message"]))
    if kind == "errored" and "error" in outcome:
        return Result(name, _errored(outcome["error"]))
    known = {"expired": EXPIRED, "canceled": CANCELLED}.get(kind)
    return Result(name, known or Fault(
        "unknown", f"the batch says {kind!r} of this request, and no more"))


def _errored(error: bytes) -> Reply:
    """The error as the body it is where it is not in a batch, under the status it has there."""
    said = members(error)
    if "error" not in said:
        said, error = {"error": error}, b'{"type":"error","error":' + error + b"}"
    kind = text_of(members(said["error"]).get("type", b""))
    return Reply(error, STATUSES.get(kind, 500))


FORM = Form(
    100_000, 256_000_000, PATH, line, None, lambda reply: "", creation, state, listed,
    result, marked=False,
)
