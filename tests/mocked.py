"""The benchmarks' mock of a provider, in a process of its own, counting what reaches it."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = Path(__file__).parents[1] / "benchmarks" / "mock_server.py"


class Mock:
    """`subject()` names it on the command line."""

    def __init__(self, port: int) -> None:
        self.port = port

    def subject(self, settings: str = "max_tokens=8") -> str:
        return f"openai:mock@http://127.0.0.1:{self.port}/v1?{settings}"

    @property
    def count(self) -> int:
        """Completions asked for so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/count") as answer:
            return int(answer.read())


@contextmanager
def mocked(latency: float) -> Iterator[Mock]:
    """A mock that answers each call after `latency` seconds."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "--port", "0", "--latency", str(latency)],
        stdout=subprocess.PIPE, text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield Mock(int(process.stdout.readline().split()[-1]))
        finally:
            process.terminate()
