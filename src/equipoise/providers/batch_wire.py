"""A provider's batch interface over HTTP: one exchange at a time, each tried by whoever asks."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp
from yarl import URL

from equipoise.providers.batch_form import Post
from equipoise.providers.http import (
    LONGEST_HEADER,
    MAYBE_SENT,
    NEVER_SENT,
    Timeouts,
    address_of,
    headers_in,
    proxy_for,
    reason,
)
from equipoise.terms import Fault, Reply

Exchange = Callable[[str | Post], Awaitable[Reply | Fault]]
"""Gets a path below the base URL, or posts; a Fault where no whole reply came."""

PATIENT = Timeouts(connect=10.0, read=300.0, total=3600.0)


@asynccontextmanager
async def exchanging(
    base_url: str, headers: Mapping[str, str], timeouts: Timeouts = PATIENT
) -> AsyncIterator[Exchange]:
    """Exchanges with one server; a key in `headers` goes nowhere else: no redirects, no cookies.

    Raises Misuse for an address or a proxy that nothing can be sent to or with.
    """
    address_of(base_url)
    proxy = proxy_for(base_url)
    limits = aiohttp.ClientTimeout(
        total=timeouts.total, connect=timeouts.connect, sock_read=timeouts.read
    )
    context = ssl.create_default_context() if base_url.startswith("https") else None
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context or True, keepalive_timeout=15),
        auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False,
        max_line_size=LONGEST_HEADER, max_field_size=LONGEST_HEADER, timeout=limits,
        headers={"Accept-Encoding": "identity", "User-Agent": "equipoise", **headers},
    ) as session:

        async def exchange(asked: str | Post) -> Reply | Fault:
            begun = time.monotonic()
            path, data, kind = asked, None, {}
            if isinstance(asked, Post):
                # As a file: the client warns of long bytes, which it would send in one piece.
                path, data, kind = asked.path, BytesIO(asked.body), {"Content-Type": asked.kind}
            try:
                async with session.request(
                    "GET" if data is None else "POST", URL(f"{base_url}{path}", encoded=True),
                    data=data, headers=kind, allow_redirects=False, proxy=proxy,
                ) as answer:
                    body = await answer.read()
                    return Reply(body, answer.status, headers_in(answer.raw_headers),
                                 time.monotonic() - begun)
            except NEVER_SENT as error:
                return Fault("unreachable", reason(error), transient=True, sent=False)
            except MAYBE_SENT as error:
                return Fault("unknown", reason(error))

        yield exchange
