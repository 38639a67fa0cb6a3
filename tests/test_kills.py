"""A run may be killed at any moment: nothing acknowledged is lost and nothing is sent twice."""

import multiprocessing
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

import killed
from equipoise.ledger import Ledger, verify

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["killed"])


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("part", range(4))
def test_fifty_kills_lose_nothing_and_send_nothing_twice(tmp_path, part):
    rng, unknown_before, kills = random.Random(part), 0, 0
    # Fifty, and on a slow machine as many more as it takes to have told enough.
    while kills < 50 or (len(lines(tmp_path / "told")) <= 500 and kills < 500):
        kills += 1
        process = SERVER.Process(target=killed.run, args=(str(tmp_path),))
        process.start()
        time.sleep(rng.uniform(0.02, 0.5))
        process.kill()
        process.join()
        if not killed.begun(tmp_path / "ledger.db"):
            continue
        found = verify(tmp_path / "ledger.db")
        assert not found.faults
        assert found.unsettled - unknown_before <= killed.IN_FLIGHT
        unknown_before = found.unsettled
    sent, told = lines(tmp_path / "sent"), lines(tmp_path / "told")
    assert max(Counter(sent).values()) == 1
    ledger = Ledger.open(tmp_path / "ledger.db")
    kept = {key for (key, _), r in ledger.recorded(1).items() if r.kind == "reply"}
    ledger.close()
    assert set(told) <= kept
    assert len(told) > 500
    assert unknown_before > 0
