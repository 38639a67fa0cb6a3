"""OpenAI's batch interface: a file of requests, a batch over it, files of results.

https://platform.openai.com/docs/guides/batch and .../docs/api-reference/batch
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from equipoise.providers import openai_chat, openai_responses
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

MARK = "equipoise"
BOUNDARY = "equipoise-batch-"
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class _Counts(msgspec.Struct, gc=False):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Error(msgspec.Struct, gc=False):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _Errors(msgspec.Struct, gc=False):
    data: list[_Error] | None = None


class _Batch(msgspec.Struct, gc=False):
    id: str
    status: str
    created_at: float = 0.0
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Errors | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None


class _List(msgspec.Struct, gc=False):
    data: list[_Batch]
    has_more: bool = False


def upload(token: str, lines: Sequence[bytes]) -> Post:
    """The input file as a form with two fields, and a boundary that no line can hold."""
    boundary = (BOUNDARY + token).encode()
    head = (
        b'--%s\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--%s\r\n'
        b'Content-Disposition: form-data; name="file"; filename="%s.jsonl"\r\n'
        b"Content-Type: application/jsonl\r\n\r\n"
    ) % (boundary, boundary, token.encode())
    body = b"".join([head, b"\n".join(lines), b"\n\r\n--", boundary, b"--\r\n"])
    return Post("/files", body, f"multipart/form-data; boundary={boundary.decode()}")


class _File(msgspec.Struct, gc=False):
    id: str


def file(reply: Reply) -> str:
    """The name of an uploaded file, or nothing where the reply names none."""
    if not 200 <= reply.status < 300:
        return ""
    try:
        return msgspec.json.decode(reply.body, type=_File).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


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
    following = f"/batches?limit=100&after={found.data[-1].id}" if more else ""
    return Listed([_state(one) for one in found.data], following)


def _state(batch: _Batch) -> State:
    counts = batch.request_counts or _Counts()
    # A file that there is none of is sometimes an empty name.
    files = tuple(f"/files/{name}/content"
                  for name in (batch.output_file_id, batch.error_file_id) if name)
    never_ran, full = "", False
    errors = batch.errors.data if batch.errors and batch.errors.data else []
    if batch.status == "failed":
        said = [f"{e.code}: {e.message}" + (f" (line {e.line})" if e.line else "") for e in errors]
        never_ran = "; ".join(said[:3]) or "no reason was given"
        full = any(e.code == "token_limit_exceeded" for e in errors)
    elif batch.status in ("expired", "cancelled") and not files and not counts.completed:
        never_ran = f"it was {batch.status} before any request was run"
        full = batch.status == "expired"
    token = (batch.metadata or {}).get(MARK, "")
    return State(
        batch.id, batch.status, batch.status in ENDED, counts.completed + counts.failed,
        counts.total, files, never_ran, full, str(token), batch.created_at,
    )


# The documented errors of a request that has no response.
WITHOUT_RESPONSE = {
    "batch_expired": EXPIRED,
    "batch_cancelled": CANCELLED,
    "request_timeout": Fault("server error", "the call to the model timed out in the batch",
                             transient=True, sent=False),
}


def result(line: bytes) -> Result | None:
    """What a line of an output or error file says; the body's bytes are those of the line."""
    said = members(line)
    name, response = text_of(said.get("custom_id", b"")), members(said.get("response", b""))
    if not name:
        return None
    status = response.get("status_code", b"")
    if status.isdigit() and int(status) and "body" in response:
        request = text_of(response.get("request_id", b""))
        kept = (("x-request-id", request),) if request else ()
        return Result(name, Reply(response["body"], int(status), kept))
    error = members(said.get("error", b""))
    code, message = (text_of(error.get(part, b"")) for part in ("code", "message"))
    return Result(name, WITHOUT_RESPONSE.get(code) or Fault(
        "unknown", f"the batch holds no response: {code}: {message}"))


def _form(path: str) -> Form:
    """The interface over one endpoint, which every line of a batch must name."""
    endpoint = "/v1" + path

    def line(name: str, body: bytes) -> bytes:
        """A request as a line of the input file; its body's bytes stand in it as they are."""
        return (b'{"custom_id":' + canonical_json(name) + b',"method":"POST","url":'
                + canonical_json(endpoint) + b',"body":' + body + b"}")

    def creation(token: str, lines: Sequence[bytes], file: str) -> Post:
        return Post("/batches", canonical_json({
            "input_file_id": file, "endpoint": endpoint, "completion_window": "24h",
            "metadata": {MARK: token},
        }))

    return Form(50_000, 200_000_000, "/batches", line, upload, file, creation, state, listed,
                result)


CHAT, RESPONSES = _form(openai_chat.PATH), _form(openai_responses.PATH)
