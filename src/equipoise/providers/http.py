"""Sending over HTTP: exact bytes out, exact bytes back, and which failures may have been billed.

One client, no retries of its own, no redirects, no cookies, no decompression. A key goes only to
the host it is for, and is struck out of what comes back.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from equipoise.terms import Fault, Misuse, Provider, Reply, Request

BODY_CAP = 5_000_000
STRUCK_OUT = b"[key struck out]"
LONGEST_HEADER = 65_536


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect (DNS, TCP and TLS), of silence between two reads, and in all."""

    connect: float = 10.0
    read: float = 120.0
    total: float = 300.0


# Nothing of the request left this machine. ConnectionTimeoutError is a TimeoutError and
# ClientConnectorError a ClientOSError, so these are asked about first.
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)
MAYBE_SENT = (aiohttp.ClientError, TimeoutError, OSError)


def key_for(base_url: str, name: str = "") -> str | None:
    """The API key for a server, from the environment variable `name`.

    Without a name, OPENAI_API_KEY for OpenAI itself and EQUIPOISE_API_KEY for any other server,
    so that no key reaches a host it was not meant for. Raises Misuse when `name` is not set.
    """
    if name:
        if not (key := os.environ.get(name)):
            raise Misuse(f"The environment variable {name}, which is to hold a key, is not set.", 4)
        return key
    host = urlsplit(base_url).hostname or ""
    return os.environ.get("OPENAI_API_KEY" if host == "api.openai.com" else "EQUIPOISE_API_KEY")


@asynccontextmanager
async def sender(
    url: str, *, key: str | None = None, timeouts: Timeouts = Timeouts(), cap: int = BODY_CAP
) -> AsyncIterator[Provider]:
    """A provider that posts each request's body to `url`; connections close on leaving."""
    context = ssl.create_default_context() if url.startswith("https") else None
    connector = aiohttp.TCPConnector(limit=0, ssl=context or True, keepalive_timeout=15)
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    async with aiohttp.ClientSession(
        connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False, max_line_size=LONGEST_HEADER, max_field_size=LONGEST_HEADER,
        headers={"Accept-Encoding": "identity", "User-Agent": "equipoise"},
    ) as session:
        post = _poster(session, URL(url, encoded=True), headers, timeouts, cap)

        async def provider(request: Request) -> Reply | Fault:
            return struck_out(await post(request), key)

        yield provider if key else post


def _poster(
    session: aiohttp.ClientSession,
    url: URL,
    headers: Mapping[str, str],
    timeouts: Timeouts,
    cap: int,
) -> Provider:
    limits = aiohttp.ClientTimeout(
        total=timeouts.total, connect=timeouts.connect, sock_read=timeouts.read
    )
    proxy = proxy_for(str(url))

    async def post(request: Request) -> Reply | Fault:
        body, begun = b"", time.monotonic()
        try:
            async with session.post(
                url, data=request.body, headers=headers, timeout=limits, allow_redirects=False,
                proxy=proxy,
            ) as answer:
                while chunk := await answer.content.readany():
                    body += chunk
                    if len(body) > cap:
                        answer.close()
                        return Fault("malformed", f"the body is longer than {cap:,} bytes")
                return Reply(body, answer.status, _headers(answer.raw_headers),
                             time.monotonic() - begun)
        except NEVER_SENT as error:
            return Fault("unreachable", _said(error), transient=True, sent=False)
        except MAYBE_SENT as error:
            return Fault("unknown", f"{_said(error)}, after {len(body):,} bytes of a reply")

    return post


def _headers(raw: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Header names and values as they came; a cookie is a credential, and left out."""
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in raw if name.lower() != b"set-cookie"
    )


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def struck_out(outcome: Reply | Fault, key: str | None) -> Reply | Fault:
    """The outcome without the key, should a server send it back.

    >>> struck_out(Reply(b"bad key sk-123"), "sk-123").body
    b'bad key [key struck out]'
    """
    if not key:
        return outcome
    mark = STRUCK_OUT.decode()
    if isinstance(outcome, Fault):
        if key not in outcome.detail:
            return outcome
        return Fault(outcome.kind, outcome.detail.replace(key, mark), outcome.transient,
                     outcome.sent, outcome.retry_after)
    secret = key.encode()
    if secret not in outcome.body and not any(key in value for _, value in outcome.headers):
        return outcome
    headers = tuple((name, value.replace(key, mark)) for name, value in outcome.headers)
    return Reply(outcome.body.replace(secret, STRUCK_OUT), outcome.status, headers,
                 outcome.seconds)


def proxy_for(url: str) -> str | None:
    """The proxy the environment names for this address, unless it is excepted there."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)
