"""Proofs on PostgreSQL that take minutes: `make soak`."""

import random
import signal
import time

import pytest

from equipoise.ledger import Ledger
from mocked import mocked
from test_postgres import asked_while, killed_often
from test_ray import counted, ended, kill_one, started

pytestmark = pytest.mark.soak


def test_five_thousand_appends_survive_a_server_that_keeps_restarting(server, capsys):
    rng, begun, restarts = random.Random(7), time.monotonic(), 0

    def disturb():
        nonlocal restarts
        while time.monotonic() - begun < 60:
            time.sleep(rng.uniform(2, 8))
            server.restart(rng.choice(["fast", "immediate"]))
            restarts += 1

    asked_while(server.database(), disturb, cells=2500, apart=0.024)
    with capsys.disabled():
        print(f"\n5,000 appends through {restarts} restarts of the server: 0 lost, 0 twice, no gap")


def test_two_hundred_kills_lose_nothing_and_send_nothing_twice(server, tmp_path, capsys):
    unknown = 0
    for part in range(10):
        folder = tmp_path / str(part)
        folder.mkdir()
        unknown += killed_often(folder, server.database(), 20)
    with capsys.disabled():
        print(f"\n200 kills of a writer to PostgreSQL: 0 lost, 0 sent twice, {unknown:,} unknown")


def test_workers_killed_every_two_seconds_lose_nothing_and_pay_nothing_twice(server, capsys):
    where, killed = server.database(), []
    with mocked(0.1) as mock:
        process = started(
            "run", "fingerprint", "--suite", "core", "--answers", "free,first-token",
            "--subject", mock.subject(), "--run", "r1", "--ledger", where.url, "--max-calls",
            9000, "--yes", "--at-once", 8, "--engine", "ray", "--workers", 4, "--no-progress")
        while process.poll() is None and mock.count < 5000:
            before = mock.count
            while process.poll() is None and (mock.count < before + 200):
                time.sleep(0.05)
            time.sleep(2)
            killed.append(kill_one(process, killed))
        code, _, err = ended(process, seconds=900)
        unknown = counted(where, mock, len(killed), 8)
        assert code in (0, 8), err
        ledger = Ledger.open(where, read_only=True)
        asked = len(ledger.recorded(1))
        ledger.close()
    assert asked == 8640
    with capsys.disabled():
        print(f"\n{asked:,} calls by 4 workers, {len(killed)} killed, one every 2 seconds: 0 lost,"
              f" 0 sent twice, {unknown} unknown of at most {8 * len(killed)}")


def test_an_interrupted_spread_run_goes_on_in_one_process(server, equipoise, monkeypatch):
    monkeypatch.setenv("EQUIPOISE_API_KEY", "k")
    where = server.database()
    with mocked(0.1) as mock:
        asked = ("run", "fingerprint", "--suite", "demo", "--answers", "free,first-token",
                 "--subject", mock.subject(), "--run", "r1", "--ledger", where.url, "--max-calls",
                 400, "--yes", "--at-once", 8)
        process = started(*asked, "--engine", "ray", "--workers", 2)
        while mock.count < 60 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        code, _, err = ended(process)
        assert code == 130 and "To go on: equipoise run" in err, err
        sent = mock.count
        assert sent < 250
        code, _, err = equipoise(*asked)
        assert code == 0, err
        assert counted(where, mock, 0, 0) == 0
        assert mock.count == 288
