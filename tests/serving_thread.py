"""A faulty server in a thread of its own, for a run in another process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from faulty_server import Behaviour, Server, serving


@contextmanager
def served(behave: Behaviour) -> Iterator[Server]:
    """The server, up for as long as the block lasts."""
    up, found = threading.Event(), []

    async def serve():
        async with serving(behave) as server:
            end = asyncio.Event()
            found.extend((server, asyncio.get_running_loop(), end))
            up.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    up.wait()
    server, loop, end = found
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
