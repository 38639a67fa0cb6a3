"""How long a provider asks to be left alone, in each form it may say so."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime

from equipoise.terms import Reply

SECONDS = re.compile(r"\d+(\.\d*)?", re.ASCII)
RETRY_INFO = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
"""How Gemini says it, in the body of the error alone."""


def retry_after(reply: Reply, now: Callable[[], float] = time.time) -> float | None:
    """Seconds to wait before trying again, as the reply says: in seconds, or as a date.

    A date is held against the reply's own Date, so that this machine's clock does not matter.
    Without that header the body may say it. What is neither, or without end, says nothing.

    >>> retry_after(Reply(b"", 429, (("Retry-After", "60"),)))
    60.0
    >>> retry_after(Reply(b"", 429, (("Date", "Mon, 30 Nov 2026 12:00:00 GMT"),
    ...                              ("retry-after", "Mon, 30 Nov 2026 12:01:30 GMT"))))
    90.0
    >>> retry_after(Reply(b'{"error":{"details":[{"retryDelay":"34.5s"}]}}', 429))
    34.5
    """
    headers = {name.lower(): value for name, value in reply.headers}
    said = headers.get("retry-after", "").strip()
    if not said and reply.status == 429 and (delay := RETRY_INFO.search(reply.body)):
        return float(delay[1])
    if SECONDS.fullmatch(said):
        return seconds if math.isfinite(seconds := float(said)) else None
    if (until := _instant(said)) is None:
        return None
    since = _instant(headers.get("date", ""))
    return max(0.0, until - (now() if since is None else since))


def _instant(date: str) -> float | None:
    """Seconds since 1970 of an HTTP date, which is in UTC; None for any other text."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
