"""How long a provider asks to be left alone, in both forms it may say so."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from equipoise.terms import Reply


def retry_after(reply: Reply, now: Callable[[], float] = time.time) -> float | None:
    """Seconds to wait before trying again, as the reply says: in seconds, or as a date.

    A date is held against the reply's own Date, so that this machine's clock does not matter.

    >>> retry_after(Reply(b"", 429, (("Retry-After", "60"),)))
    60.0
    >>> retry_after(Reply(b"", 429, (("Date", "Mon, 30 Nov 2026 12:00:00 GMT"),
    ...                              ("retry-after", "Mon, 30 Nov 2026 12:01:30 GMT"))))
    90.0
    """
    headers = {name.lower(): value for name, value in reply.headers}
    said = headers.get("retry-after", "").strip()
    if not said:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        sent = headers.get("date")
        since = parsedate_to_datetime(sent).timestamp() if sent else now()
        return max(0.0, parsedate_to_datetime(said).timestamp() - since)
    except (ValueError, TypeError):
        return None
