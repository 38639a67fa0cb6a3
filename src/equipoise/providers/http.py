"""Sending over HTTP: exact bytes out, exact bytes back, and which failures may have been billed.

One client, no retries of its own, no redirects, no cookies, no decompression. A key goes only to
the host it is for, and is struck out of what comes back.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from equipoise.providers.keys import bearer, credential, struck_out
from equipoise.terms import Fault, Misuse, Provider, Reply, Request

BODY_CAP = 5_000_000
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


@asynccontextmanager
async def sender(
    url: str, *, key: str | None = None,
    headers: Callable[[str | None], Mapping[str, str]] = bearer,
    timeouts: Timeouts = Timeouts(), cap: int = BODY_CAP,
) -> AsyncIterator[Provider]:
    """A provider that posts each request's body to `url`; connections close on leaving.

    `headers` makes of the key what a request carries beside its body. Raises Misuse for an
    address, a key or a proxy that nothing can be sent to or with.
    """
    address, key = address_of(url), credential(key)
    context = ssl.create_default_context() if url.startswith("https") else None
    connector = aiohttp.TCPConnector(limit=0, ssl=context or True, keepalive_timeout=15)
    carried = {"Content-Type": "application/json", **headers(key)}
    async with aiohttp.ClientSession(
        connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False, max_line_size=LONGEST_HEADER, max_field_size=LONGEST_HEADER,
        headers={"Accept-Encoding": "identity", "User-Agent": "equipoise"},
    ) as session:
        post = _poster(session, address, carried, timeouts, cap)

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
    # The total must not run out while connecting: nothing was sent, yet it would pass for unknown.
    limits = aiohttp.ClientTimeout(
        total=timeouts.total, connect=min(timeouts.connect, timeouts.total / 2),
        sock_read=timeouts.read,
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
                return Reply(body, answer.status, headers_in(answer.raw_headers),
                             time.monotonic() - begun)
        except NEVER_SENT as error:
            return Fault("unreachable", reason(error), transient=True, sent=False)
        except MAYBE_SENT as error:
            return Fault("unknown", f"{reason(error)}, after {len(body):,} bytes of a reply")

    return post


def headers_in(raw: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Header names and values as they came; a cookie is a credential, and left out."""
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in raw if name.lower() != b"set-cookie"
    )


def reason(error: BaseException) -> str:
    """What went wrong, without the address: a proxy's may hold its password."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{type(error).__name__}: {error.status} {error.message}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def address_of(url: str) -> URL:
    """The address as given; raises Misuse for one that no request can go to."""
    shown = url.rpartition("@")[2]
    try:
        parts, address = urlsplit(url), URL(url, encoded=True)
        port, host = parts.port, (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise Misuse(f"The address {shown!r} cannot be reached: {error}.") from None
    if parts.username is not None:
        raise Misuse(
            f"The address of {shown} holds a name or password. Leave it out, and set the"
            " environment variable EQUIPOISE_API_KEY instead.", 4
        )
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise Misuse(f"The address {shown!r} is not http:// or https://, a host and a port.")
    return address


def proxy_for(url: str) -> str | None:
    """The HTTP proxy the environment names for this address, unless it is excepted there.

    This machine itself is never asked through one. Raises Misuse for another kind of proxy.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    named = f"{host}:{parts.port}" if parts.port and ":" not in host else host
    proxy = getproxies().get(parts.scheme)
    if not proxy or _is_loopback(host) or proxy_bypass(named):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        URL(proxy)
    except ValueError:
        raise Misuse(f"The address of the proxy for {parts.scheme}:// cannot be read.") from None
    if not proxy.startswith(("http://", "https://")):
        raise Misuse(
            f"The environment names a {proxy.partition(':')[0]} proxy for {parts.scheme}://, and"
            f" only HTTP proxies are spoken to. Name one, or add {host} to NO_PROXY."
        )
    return proxy


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
