"""Told to stop, a run sends nothing more and keeps what it paid for; told twice, it ends."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from equipoise.ledger import verify
from serving_thread import served
from storms import MERCY

IN_FLIGHT = 8


class Slow:
    """Replies after so many seconds, and knows when each request came (by the monotonic clock)."""

    def __init__(self, seconds):
        self.seconds, self.came = seconds, []

    async def behave(self, got, wire):
        self.came.append(time.monotonic())
        await asyncio.sleep(self.seconds)
        await wire.send(MERCY)


def started(folder, server, provider, wait_for):
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", "run", "fingerprint", "--suite", "demo",
         "--subject", f"openai:m@http://127.0.0.1:{server.port}/v1", "--yes", "--price", "1,1",
         "--max-usd", "5", "--at-once", str(IN_FLIGHT), "--ledger", str(folder / "l.db")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    deadline = time.monotonic() + 60
    while len(provider.came) < wait_for and time.monotonic() < deadline:
        time.sleep(0.005)
    return process


@pytest.mark.parametrize("number, code", [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
])
def test_told_once_a_run_sends_nothing_more_within_100_ms_and_keeps_what_was_in_flight(
    tmp_path, number, code
):
    provider = Slow(0.4)
    with served(provider.behave) as server:
        process = started(tmp_path, server, provider, 2 * IN_FLIGHT + 1)
        at = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        took = time.monotonic() - at
    assert process.returncode == code
    assert [came for came in provider.came if came > at + 0.1] == []
    assert took < 5
    assert "To go on: equipoise run fingerprint" in err
    assert re.search(r"· \$0\.\d{4}", err)
    found = verify(tmp_path / "l.db")
    assert (found.unsettled, found.faults) == (0, ())
    # The registration and its prices stand beside an intent and a reply a call.
    assert found.rows == 2 + 2 * len(provider.came)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_twice_a_run_ends_within_a_second_and_what_was_in_flight_is_unknown(
    tmp_path, number
):
    provider = Slow(0.01)
    with served(provider.behave) as server:
        process = started(tmp_path, server, provider, 3 * IN_FLIGHT)
        provider.seconds = 60
        time.sleep(0.3)
        process.send_signal(number)
        while not process.stderr.readline().startswith("Stopping"):
            pass
        at = time.monotonic()
        process.send_signal(number)
        process.communicate(timeout=60)
        took = time.monotonic() - at
    assert took < 1
    assert process.returncode == 130
    found = verify(tmp_path / "l.db")
    assert found.unsettled == IN_FLIGHT and not found.faults
    assert found.rows == 2 + 2 * len(provider.came) - IN_FLIGHT
