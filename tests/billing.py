"""A provider that bills: chat completions over a real socket, with an account of what is owed.

A call is owed at its worst from the moment it arrives, and at what it costs once it is answered.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from equipoise.providers.prices import Price
from equipoise.terms import Usage

PIECES = re.compile(r"[一-鿿]|[A-Za-zÀ-ÿ]{1,7}|\d{1,3}|[^\w\s]+|\s{2,}")


def pieces(text: str) -> int:
    """Tokens as a tokenizer for words and their parts counts them, more or less."""
    return len(PIECES.findall(text))


def mercy(said: dict[str, Any]) -> str:
    return "mercy"


def counted(rng: random.Random, text: str) -> int:
    return max(1, pieces(text))


@dataclass
class Account:
    """How the server bills; what it was asked, what it billed, and the most it was ever owed.

    `resets` is the share of calls whose connection breaks off in the reply, `times` by how much
    a call is billed above its tokens.
    """

    price: Price
    seed: int = 0
    answer: Callable[[dict[str, Any]], str] = mercy
    tokens: Callable[[random.Random, str], int] = counted
    states_cost: bool = False
    resets: float = 0.0
    times: float = 1.0
    seconds: float = 0.0
    bills: dict[str, float] = field(default_factory=dict)
    worsts: dict[str, float] = field(default_factory=dict)
    owed: float = 0.0
    most_owed: float = 0.0
    calls: int = 0
    at_once: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self._rng, self._lock = random.Random(self.seed), threading.Lock()

    @property
    def billed(self) -> float:
        return sum(self.bills.values())

    def arrived(self, body: bytes) -> tuple[str, float, bool]:
        with self._lock:
            self.calls += 1
            worst = self.price.worst(body)
            self.owed += worst
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.most_owed = max(self.most_owed, self.owed)
            self.worsts[f"gen-{self.calls}"] = worst
            return f"gen-{self.calls}", worst, self._rng.random() < self.resets

    def answered(self, name: str, worst: float, body: bytes) -> bytes:
        said = json.loads(body)
        text = self.answer(said)
        with self._lock:
            limit = said.get("max_tokens") or said.get("max_completion_tokens")
            completion = min(self.tokens(self._rng, text), limit)
            prompt = 3 + sum(4 + pieces(m["content"]) for m in said["messages"])
            cost = self.times * self.price.cost(Usage(prompt, completion))
            self.bills[name] = cost
            self.owed += cost - worst
            self.most_owed = max(self.most_owed, self.owed)
            self.at_once -= 1
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        if self.states_cost:
            usage["cost"] = cost
        return json.dumps({
            "id": name, "model": said["model"], "usage": usage,
            "choices": [{"message": {"content": text}, "finish_reason": "stop", "logprobs": {
                "content": [{"top_logprobs": [{"token": text, "logprob": 0.0}]}]}}],
        }).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        account: Account = self.server.account
        body = self.rfile.read(int(self.headers["content-length"]))
        name, worst, reset = account.arrived(body)
        time.sleep(account.seconds)
        reply = account.answered(name, worst, body)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(reply)}\r\n\r\n".encode()
        if reset:
            self.wfile.write(head + reply[: len(reply) // 2])
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.wfile.write(head + reply)

    def log_message(self, *said) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 300

    def handle_error(self, request, client_address) -> None:
        pass


@contextmanager
def billing(account: Account):
    """Serve on a free loopback port; gives back the base URL of the subject."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.account = account
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
