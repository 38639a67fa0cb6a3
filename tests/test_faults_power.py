"""When the power fails, what was acknowledged is on the disk."""

import asyncio
import random

from equipoise.ledger import Ledger, verify
from equipoise.ledger.opening import connect
from equipoise.terms import Reply, Request, Subject, canonical_json, user
from power import disk, pen

SUBJECT = Subject("s", "m", "f", "openai")
CUTS, CALLS = 100, 240


def request(n):
    return Request(SUBJECT, (user(str(n)),), body=canonical_json({"n": n}))


def session(path, on):
    """A run of so many calls, eight at once, with checkpoints in between; says what is durable."""
    ledger = Ledger.open(path)
    pen(ledger).execute("pragma wal_autocheckpoint = 20")
    run = ledger.register("r1", b"{}", {"a": "b"})
    on.said("run")
    rng = random.Random(5)

    async def worker(first):
        for n in range(first, CALLS, 8):
            intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n))
            on.said(f"intent {intent}")
            body = rng.randbytes(rng.randrange(10, 900))
            seq = await ledger.settle(run.seq, intent, Reply(body), 0.1)
            on.said(f"reply {seq}")

    async def every():
        await asyncio.gather(*map(worker, range(8)))

    asyncio.run(every())
    ledger.close()


def test_a_hundred_power_cuts_lose_nothing_that_was_acknowledged(tmp_path):
    (tmp_path / "before").mkdir()
    with disk() as on:
        session(tmp_path / "before" / "l.db", on)
    assert sum(what == "sync" and name == "l.db" for what, name, *_ in on.done) > 5
    rng, lost, acknowledged, fewer = random.Random(7), [], 0, 0
    first = next(n for n, done in enumerate(on.done) if done[:2] == ("told", "run"))
    for trial in range(CUTS):
        cut = rng.randrange(first, len(on.done))
        files, told = on.after(cut, rng)
        folder = tmp_path / str(trial)
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        found = verify(folder / "l.db")
        assert found.faults == ()
        db = connect(folder / "l.db")
        there = {f"{kind} {seq}" for kind, seq in db.execute("select kind, seq from entries")}
        db.close()
        lost += [one for one in told if one != "run" and one not in there]
        acknowledged += len(told)
        fewer += found.rows < 1 + 2 * CALLS
    assert lost == []
    assert acknowledged > 100 * CUTS and fewer > CUTS / 2


def test_the_simulated_disk_loses_what_a_ledger_did_not_sync(tmp_path):
    """The simulation can fail: without syncs (`synchronous = off`) entries are gone."""
    (tmp_path / "before").mkdir()
    with disk() as on:
        ledger = Ledger.open(tmp_path / "before" / "l.db")
        pen(ledger).execute("pragma synchronous = off")
        run = ledger.register("r1", b"{}", {})
        for n in range(50):
            on.said(f"note {ledger.note(run.seq, 'n', str(n))}")
        cut = len(on.done)
        ledger.close()
    files, told = on.after(cut, random.Random(1))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    db = connect(tmp_path / "l.db")
    there = {f"note {seq}" for seq, in db.execute("select seq from entries where kind = 'note'")}
    db.close()
    assert len(told - there) > 10
