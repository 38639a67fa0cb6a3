"""A server over real sockets that misbehaves as told, and counts what reached it.

A behaviour is an async function of one request and the wire it came over: what it sends is
what goes out, byte for byte. When it returns with the wire open, the next request is awaited.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Got:
    """One request as it came off the socket; `place` counts from 0 over all connections."""

    place: int
    head: bytes
    body: bytes
    at: float

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}


class Wire:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def half_close(self) -> None:
        """Say no more, and go on listening."""
        self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """Drop the connection with a RST, as a crashing server does."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    @property
    def closed(self) -> bool:
        return self._writer.is_closing()


Behaviour = Callable[[Got, Wire], Awaitable[None]]
Greeting = Callable[[Wire], Awaitable[None]]


@dataclass
class Server:
    """What came in, in order; `connections` counts accepted sockets, with a request or without."""

    port: int
    got: list[Got] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    @property
    def requests(self) -> int:
        return len(self.got)


@asynccontextmanager
async def serving(behave: Behaviour, greet: Greeting | None = None) -> AsyncIterator[Server]:
    """A server on a free loopback port; `greet` acts on a connection before it is read."""
    handlers: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        server.connections += 1
        try:
            await _converse(server, Wire(reader, writer), behave, greet)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            handlers.discard(task)
            writer.transport.abort()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**24)
    server = Server(listening.sockets[0].getsockname()[1])
    try:
        yield server
    finally:
        listening.close()
        for task in list(handlers):
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await listening.wait_closed()
        await asyncio.sleep(0)


async def _converse(
    server: Server, wire: Wire, behave: Behaviour, greet: Greeting | None
) -> None:
    if greet:
        await greet(wire)
    while not wire.closed:
        head = await wire.reader.readuntil(b"\r\n\r\n")
        got = Got(0, head.removesuffix(b"\r\n\r\n"), b"", 0.0)
        body = await wire.reader.readexactly(int(got.headers.get("content-length", 0)))
        now = asyncio.get_running_loop().time()
        got = Got(server.requests, got.head, body, now)
        server.got.append(got)
        await behave(got, wire)


@contextmanager
def serving_in_a_thread(behave: Behaviour) -> Iterator[Server]:
    """The same in a thread of its own, for what runs a loop itself."""
    servers: list[Server] = []
    up, done = threading.Event(), threading.Event()

    async def stay() -> None:
        async with serving(behave) as server:
            servers.append(server)
            up.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(stay()))
    thread.start()
    up.wait(10)
    try:
        yield servers[0]
    finally:
        done.set()
        thread.join()


def response(body: bytes = b"{}", status: int = 200, *headers: bytes) -> bytes:
    """A well-formed response, as bytes."""
    lines = (b"HTTP/1.1 %d Said" % status, b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def saying(*responses: bytes) -> Behaviour:
    """Gives these responses in turn, and the last one ever after."""

    async def behave(got: Got, wire: Wire) -> None:
        await wire.send(responses[min(got.place, len(responses) - 1)])

    return behave
