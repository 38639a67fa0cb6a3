"""A mock OpenAI-compatible endpoint that costs less a call than any client of it.

`python benchmarks/mock_server.py --port 0` prints its port on the first line and serves until
it is stopped. The reply's word depends on the prompt alone: the alphabetically smaller of the
two it offers, in whatever order it offers them.

    POST */chat/completions   a completion, after --latency seconds
    GET  */models             the one model there is
    GET  /count               completions asked for so far
    GET  /lap                 completions since the last lap, and the seconds between the first
                              and the last of them
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import re
import resource
import signal
import socket
import time
from functools import lru_cache

WORD = r"""["“«]\s?([^"“”«»\n]+?)\s?["”»]"""
PAIRS = [
    re.compile(WORD + r"(?: or |, | et |和)" + WORD),
    re.compile(r"(?:^|: )([^:?\n]+?) or ([^:?\n]+?)\?"),
]
LENGTH = b"content-length:"
CHAT = b"/chat/completions"
BACKLOG = 4096

COMPLETION = {
    "id": "chatcmpl-0000000000000000",
    "object": "chat.completion",
    "created": 1750000000,
    "model": "mock",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "WORD", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 42,
        "completion_tokens": 1,
        "total_tokens": 43,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    },
    "system_fingerprint": "fp_0123456789",
}
MODELS = {"object": "list", "data": [{"id": "mock", "object": "model", "owned_by": "mock"}]}


@lru_cache(maxsize=65536)
def pick(prompt: str) -> str:
    """The word a prompt is answered with.

    >>> pick('Answer with one word: "tea" or "coffee"?'), pick("Which is it: tea or coffee?")
    ('coffee', 'coffee')
    >>> pick("Entre « thé » et « café », tu prends quoi ?"), pick("no pair is shown here")
    ('café', 'yes')
    """
    for pair in PAIRS:
        if found := pair.search(prompt):
            return min(found.groups())
    return "yes"


def prompt_of(body: bytes) -> str:
    """The text of the last message, whether it is a string or a list of parts."""
    try:
        content = json.loads(body)["messages"][-1]["content"]
    except (ValueError, LookupError, TypeError):
        return ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def http(body: bytes, status: str = "200 OK") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: keep-alive\r\n\r\n"
    )
    return head.encode() + body


class Mock:
    """What the connections share: the count, the latency and the parts of a reply."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.count = 0
        self.lap_count, self.lap_first, self.lap_last = 0, 0.0, 0.0
        text = json.dumps(COMPLETION, separators=(",", ":"))
        self._before, self._middle, self._after = (
            part.encode() for part in re.split(r"0{16}|WORD", text)
        )

    def completion(self, body: bytes) -> bytes:
        self.count += 1
        self.lap_last = time.perf_counter()
        if not self.lap_count:
            self.lap_first = self.lap_last
        self.lap_count += 1
        word = json.dumps(pick(prompt_of(body)), ensure_ascii=False).encode()[1:-1]
        return http(b"%b%016x%b%b%b" % (
            self._before, self.count, self._middle, word, self._after
        ))

    def other(self, path: bytes) -> bytes:
        if path.endswith(b"/models"):
            return http(json.dumps(MODELS).encode())
        if path == b"/count":
            return http(b"%d" % self.count)
        if path == b"/lap":
            return http(json.dumps(self.lap()).encode())
        return http(b'{"error":{"message":"no such route"}}', "404 Not Found")

    def lap(self) -> dict[str, float]:
        count, seconds = self.lap_count, self.lap_last - self.lap_first
        self.lap_count, self.lap_first, self.lap_last = 0, 0.0, 0.0
        return {"count": count, "seconds": seconds}


class Connection(asyncio.Protocol):
    """One keep-alive HTTP/1.1 connection that looks at nothing but path and length."""

    def __init__(self, mock: Mock) -> None:
        self.mock = mock
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            stop = end + 4 + content_length(head)
            if len(self.buffer) < stop:
                return
            body, self.buffer = self.buffer[end + 4 : stop], self.buffer[stop:]
            self.answer(head.split(b" ", 2)[1], body)

    def answer(self, path: bytes, body: bytes) -> None:
        if not path.endswith(CHAT):
            self.write(self.mock.other(path))
            return
        reply = self.mock.completion(body)
        if self.mock.latency:
            asyncio.get_running_loop().call_later(self.mock.latency, self.write, reply)
        else:
            self.write(reply)

    def write(self, reply: bytes) -> None:
        if self.transport is not None:
            self.transport.write(reply)


def content_length(head: bytes) -> int:
    """The length a request announces; 0 where it announces none.

    >>> content_length(b"POST / HTTP/1.1\\r\\nContent-Length: 12\\r\\nHost: x")
    12
    """
    low = head.lower()
    at = low.find(LENGTH)
    if at < 0:
        return 0
    return int(low[at + len(LENGTH) :].split(b"\r\n", 1)[0])


def listen(port: int) -> socket.socket:
    sock = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    sock.setblocking(False)
    return sock


def lift_open_files() -> None:
    """A thousand connections need more files than the usual soft limit leaves."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def serve(port: int, latency: float) -> None:
    mock = Mock(latency)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stopped.set)
    sock = listen(port)
    server = await loop.create_server(lambda: Connection(mock), sock=sock, backlog=BACKLOG)
    print(sock.getsockname()[1], flush=True)
    await stopped.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    args = parser.parse_args()
    lift_open_files()
    gc.disable()  # nothing here is cyclic for long, and a pause would be taken for latency
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(args.port, args.latency))


if __name__ == "__main__":
    main()
