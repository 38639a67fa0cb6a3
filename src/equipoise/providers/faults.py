"""Which fault a reply is that holds no completion, in the forms that providers share."""

from __future__ import annotations

import re
from typing import Any

from equipoise.terms import Fault, Reply

PASSING_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
PASSING_WORDS = re.compile(r"overloaded|rate.?limit|unavailable|server.error|timed? ?out"
                           r"|^\W*(429|50[0234]|529)\b", re.IGNORECASE)


def failed(reply: Reply) -> bool:
    """Whether the status alone says that there is no completion."""
    return reply.status >= 300 or reply.status < 200


def by_status(reply: Reply) -> Fault:
    """The fault that a failing status says."""
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


def by_error(reply: Reply, error: Any) -> Fault:
    """The fault of an error object that came under a status of success."""
    return Fault("server error", f"status {reply.status} with an error: {shown(reply.body)}",
                 transient=passing(error))


def malformed(reply: Reply, why: object) -> Fault:
    """A reply that is not in its form."""
    return Fault("malformed", f"{why} ({shown(reply.body)})")


def passing(error: Any) -> bool:
    """Whether an error under status 200 is one that passes: by its code, else by its words."""
    said = error if isinstance(error, dict) else {"message": error}
    code = said.get("code")
    if isinstance(code, int):
        return code in PASSING_STATUSES
    words = (code, said.get("type"), said.get("status"), said.get("message"))
    return any(isinstance(word, str) and PASSING_WORDS.search(word) for word in words)


def shown(body: bytes, limit: int = 200) -> str:
    """The beginning of a body, safe to print."""
    text = body[:limit].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else " " for c in text) + ("…" if len(body) > limit else "")
