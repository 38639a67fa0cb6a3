"""The least a client can do: a bare loop that posts a question, reads every byte, stores nothing.

`python benchmarks/contender_bare.py pyreqwest --url http://127.0.0.1:PORT/v1 --cells 20000`
prints one JSON line: cells, seconds, CPU seconds of this process, peak memory, loop lag.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

Post = Callable[[bytes], Awaitable[tuple[int, object, bytes]]]

SETTLE = 0.05
"""pyreqwest's thread must be idle when the interpreter ends, or the process aborts."""
PROMPT = (
    'Which of the two do you prefer, "word{0:05d}" or "other{0:05d}"? Answer with exactly one of '
    "the two words and nothing else: no punctuation, no explanation, no second choice."
)


def body_of(number: int) -> bytes:
    """About 300 bytes, different for each cell."""
    question = {"role": "user", "content": PROMPT.format(number)}
    body = {"model": "mock", "messages": [question], "temperature": 0, "max_tokens": 16}
    return json.dumps(body, separators=(",", ":")).encode()


async def with_pyreqwest(stack: AsyncExitStack, url: str) -> Post:
    from pyreqwest.client import ClientBuilder

    builder = ClientBuilder().gzip(False).brotli(False).zstd(False).deflate(False)
    builder = builder.follow_redirects(False).no_proxy().http1_only()
    builder = builder.connect_timeout(timedelta(seconds=10)).timeout(timedelta(seconds=120))
    client = await stack.enter_async_context(builder.build())
    headers = {"content-type": "application/json"}

    async def post(body: bytes) -> tuple[int, object, bytes]:
        response = await client.post(url).headers(headers).body_bytes(body).build().send()
        data = await response.bytes()
        return response.status, list(response.headers.items()), bytes(data)

    return post


async def with_aiohttp(stack: AsyncExitStack, url: str) -> Post:
    import aiohttp
    from yarl import URL

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=120, connect=10),
        headers={"content-type": "application/json", "accept-encoding": "identity"},
    )
    await stack.enter_async_context(session)
    address = URL(url, encoded=True)

    async def post(body: bytes) -> tuple[int, object, bytes]:
        async with session.post(address, data=body, allow_redirects=False) as response:
            return response.status, response.raw_headers, await response.read()

    return post


CLIENTS = {"pyreqwest": with_pyreqwest, "aiohttp": with_aiohttp}


async def drain(post: Post, bodies: list[bytes], at_once: int, ramp: float = 0.0) -> None:
    """Posts every body, `at_once` at a time; any reply but a 200 ends the run.

    The first posts are spread over `ramp` seconds: under latency, replies to one burst would
    come back as one burst, for ever.
    """
    queue = iter(bodies)

    async def worker(number: int) -> None:
        await asyncio.sleep(ramp * number / at_once)
        for body in queue:
            status, _, data = await post(body)
            if status != 200 or not data:
                raise SystemExit(f"the mock answered {status}")

    await asyncio.gather(*(worker(number) for number in range(at_once)))


async def watch_lag(lags: list[float]) -> None:
    """Notes how late a 10 ms sleep wakes up."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - before - 0.01)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(
    client: str, url: str, cells: int, at_once: int, ramp: float
) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        post = await CLIENTS[client](stack, f"{url}/chat/completions")
        await drain(post, [body_of(n) for n in range(at_once)], at_once)
        bodies = [body_of(n) for n in range(cells)]
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        lags: list[float] = []
        watch = asyncio.create_task(watch_lag(lags))
        began, spent = time.perf_counter(), cpu()
        await drain(post, bodies, at_once, ramp)
        seconds, spent = time.perf_counter() - began, cpu() - spent
        watch.cancel()
    await asyncio.sleep(SETTLE)
    lags.sort()
    return {
        "cells": cells,
        "seconds": seconds,
        "cpu": spent,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "lag_p99_ms": lags[int(len(lags) * 0.99)] * 1000 if lags else 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("--url", required=True)
    parser.add_argument("--cells", type=int, default=20000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--ramp", type=float, default=0.0, help="seconds to spread the start over")
    args = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = measure(args.client, args.url, args.cells, args.at_once, args.ramp)
    print(json.dumps(asyncio.run(found)))


if __name__ == "__main__":
    main()
