"""A run killed at a named step, and killed there again as it is resumed, loses nothing and sends
nothing twice."""

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

import killed_at
from equipoise.ledger import Ledger, verify
from serving_thread import served
from storms import MERCY

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["killed_at", "killed"])


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


class Provider:
    """Counts each request, and kills the asker at a step of the wire."""

    def __init__(self):
        self.sent, self.process = Counter(), None
        self.step, self.left = "", 0

    def at(self, step):
        if step == self.step:
            self.left -= 1
            if not self.left:
                os.kill(self.process.pid, signal.SIGKILL)

    async def behave(self, got, wire):
        self.sent[got.body] += 1
        self.at("request at the server")
        await asyncio.sleep(0.003)
        if "byte" in self.step:
            await wire.send(MERCY[:1])
            await asyncio.sleep(0.002)
            self.at("first byte of the reply")
            await wire.send(MERCY[1:])
            self.at("last byte of the reply")
        else:
            await wire.send(MERCY)


def session(asked, folder, url, step):
    """One session of the run; returns how it ended."""
    asked.step, asked.left = step, killed_at.WIRE.get(step, -1)
    process = SERVER.Process(target=killed_at.run, args=(str(folder), url, step))
    asked.process = process
    process.start()
    process.join(60)
    return process.exitcode


ONCE = {"registering"}
"""Where the second session does not come by: what the first wrote is on record."""


@pytest.mark.parametrize("step", [*killed_at.OWN, *killed_at.WIRE])
def test_killed_at_a_step_twice_in_a_row_a_run_loses_nothing_and_sends_nothing_twice(
    tmp_path, step
):
    path, before = tmp_path / "ledger.db", 0
    asked = Provider()
    with served(asked.behave) as server:
        for turn in range(2):
            ended = session(asked, tmp_path, server.url, step)
            assert ended == -signal.SIGKILL or (turn and step in ONCE)
            found = verify(path)
            assert not found.faults
            assert found.unsettled - before <= killed_at.IN_FLIGHT
            before = found.unsettled
        assert session(asked, tmp_path, server.url, "none") == 0
        assert max(asked.sent.values()) == 1
    assert verify(path).unsettled == before
    ledger = Ledger.open(path, read_only=True)
    kinds = Counter(r.kind for r in ledger.recorded(1).values())
    kept = {key for (key, _), r in ledger.recorded(1).items() if r.kind == "reply"}
    ledger.close()
    assert set((tmp_path / "told").read_text().splitlines()) <= kept
    # Each cell is answered or unknown: nothing was forgotten either.
    assert kinds["reply"] + before == killed_at.CELLS
