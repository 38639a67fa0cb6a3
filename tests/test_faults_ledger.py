"""What a ledger survives: a full disk, other writers, changes by hand, copies, erasures."""

import asyncio
import contextlib
import os
import random
import shutil

import apsw
import pytest

from equipoise.ledger import Head, Ledger, chain, disks, verify, words
from equipoise.ledger.backup import back_up
from equipoise.ledger.chain import Entry, head_file, published
from equipoise.providers import planted
from equipoise.terms import Misuse, Reply
from power import pen
from studying import studied
from test_faults_steps import SERVER
from test_ledger import filled, request


def database(path):
    return apsw.Connection(str(path))


# A full disk.


@pytest.mark.parametrize("room", range(20))
def test_at_any_size_of_a_full_disk_nothing_acknowledged_is_lost_and_the_run_goes_on(
    tmp_path, room
):
    path, acknowledged = filled(tmp_path / "l.db", 4), []
    ledger = Ledger.open(path)
    db = pen(ledger)
    db.execute(f"pragma max_page_count = {db.pragma('page_count') + 2 * room}")

    async def one(n):
        intent = await ledger.intend(1, f"s/f{n}/1", "choice", 1, request(f"f{n}"))
        written = ledger.settle(1, intent, Reply(random.Random(n).randbytes(6000)), 0.1)
        acknowledged.append(await written)

    async def every():
        return await asyncio.gather(*map(one, range(60)), return_exceptions=True)

    ended = [e for e in asyncio.run(every()) if e is not None]
    assert ended and all(isinstance(e, Misuse) and e.code == 6 for e in ended)
    assert "The disk is full" in str(ended[0])
    with contextlib.suppress(Misuse):
        ledger.close()
    found = verify(path)
    assert not found.faults
    db = database(path)
    assert db.execute("pragma integrity_check").get == "ok"
    there = {seq for seq, in db.execute("select seq from entries where kind = 'reply'")}
    db.close()
    assert set(acknowledged) <= there
    again = Ledger.open(path)
    again.note(1, "n", "there is room again")
    again.close()
    assert not verify(path).faults


def test_what_could_not_be_written_down_is_not_sent(tmp_path, monkeypatch):
    """Below twice what the rest may take nothing goes out, and where room runs out later, from
    then on nothing goes out."""
    sent, usage = [], shutil.disk_usage

    def provider(request):
        sent.append(request.stamp)
        return "mercy"

    def left(free):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(path)._replace(free=free()))

    left(lambda: 300_000)
    _, found, _ = studied(tmp_path / "l.db", planted.answering(provider))
    assert found.stopped.code == 6 and "300,000 bytes free" in str(found.stopped)
    assert sent == []
    left(lambda: 10**9 if len(sent) < 60 else 0)
    _, found, _ = studied(tmp_path / "l.db", planted.answering(provider), at_once=4)
    assert found.stopped.code == 6 and 60 <= len(sent) <= 60 + 64 + 4
    monkeypatch.undo()
    _, found, _ = studied(tmp_path / "l.db", planted.answering(provider))
    assert found.stopped is None and len(sent) == len(set(sent)) == len(found.observations)
    assert verify(tmp_path / "l.db").unsettled == 0


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.51.2"])
def test_no_ledger_opens_with_an_sqlite_that_may_lose_commits(
    tmp_path, monkeypatch, equipoise, version
):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    with pytest.raises(Misuse, match="lose commits") as error:
        Ledger.open(tmp_path / "l.db")
    assert error.value.code == 5 and not (tmp_path / "l.db").exists()
    code, out, _ = equipoise("doctor")
    assert code == 1 and version in out


# Other writers.


def writes(folder, name):
    """2,500 appends by one process, a few at a time."""
    from pathlib import Path

    ledger = Ledger.open(Path(folder) / "l.db")

    async def go():
        for n in range(0, 2500, 50):
            await asyncio.gather(*(
                ledger.intend(1, f"{name}/{m}/1", "choice", 1, request(m))
                for m in range(n, n + 50)))

    asyncio.run(go())
    ledger.close()


def test_four_processes_append_2500_each_and_leave_no_gap(tmp_path, monkeypatch):
    from pathlib import Path

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    ledger = Ledger.open(tmp_path / "l.db")
    ledger.register("r1", b"{}", {})
    ledger.close()
    writers = [SERVER.Process(target=writes, args=(str(tmp_path), f"w{n}")) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    found = verify(tmp_path / "l.db")
    assert (found.rows, found.unsettled, found.faults) == (10_001, 10_000, ())


# The write-ahead log, torn or flipped.


def links(path):
    db = database(path)
    found = [tuple(row) for row in db.execute("select seq, link from entries")]
    db.close()
    return found


def damaged(log, rng, cut):
    """The log cut off somewhere, or with one bit flipped."""
    if cut:
        return log[: rng.randrange(len(log))]
    flipped = bytearray(log)
    flipped[rng.randrange(len(log))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def test_of_1000_cuts_and_flips_of_the_log_each_opens_to_a_prefix_and_says_that_it_is_one(tmp_path):
    source, copy = filled(tmp_path / "l.db", 12), tmp_path / "copy.db"
    keeper = database(source)
    keeper.execute("begin; select * from entries").fetchall()
    filled(source, 60, name="r2")
    shutil.copy(head_file(source), head_file(copy))
    rng, shorter = random.Random(3), 0
    wal, every = source.with_name("l.db-wal").read_bytes(), links(source)
    assert len(every) == 146 and len(wal) > 10_000
    for trial in range(1000):
        shutil.copy(source, copy)
        copy.with_name("copy.db-wal").write_bytes(damaged(wal, rng, trial % 2))
        copy.with_name("copy.db-shm").unlink(missing_ok=True)
        left = links(copy)
        assert left == every[: len(left)] and len(left) >= 25
        if len(left) < 146:
            shorter += 1
            with pytest.raises(Misuse, match="do not reach its published head") as error:
                Ledger.open(copy, read_only=True)
            assert error.value.code == 5
    keeper.close()
    assert shorter > 900


# Changes by hand, past the triggers.


class Rows:
    """A ledger's entries as a list, to be changed at will and put back, with links made anew."""

    def __init__(self, path):
        self.db = database(path)
        self.rows = [list(row) for row in self.db.execute("select * from entries order by seq")]
        self.carried = {row[0]: list(row) for row in self.db.execute("select * from words")}
        found = list(self.db.execute(
            "select type, name, sql from sqlite_schema where type in ('trigger', 'index')"
            " and sql is not null"))
        self.guards = [sql for _, _, sql in found]
        self.db.execute("pragma synchronous = off; begin")
        for kind, name, _ in found:
            self.db.execute(f"drop {kind} {name}")
        self.db.execute("commit")

    def renumbered(self):
        """Numbers without a gap, and what is carried goes with its entry."""
        carried = {}
        for place, row in enumerate(self.rows, 1):
            if row[0] in self.carried:
                carried[place] = [place, *self.carried[row[0]][1:]]
            row[0] = place
        self.carried = carried

    def linked(self):
        """Every link as it should be: what someone who knows how would do."""
        codec = words.Codec(dict(self.db.execute("select id, bytes from dictionaries")))
        link = chain.ROOT
        for row in self.rows:
            seq, kind, run, key, stage, attempt, asked, intent, at, micros, status, _ = row
            if kind == "intent":
                salt, stamp = self.db.execute(
                    "select salt, stamp from requests where id = ?", (asked,)).fetchone()
                committed = chain.commitment(salt, stamp)
            else:
                _, salt, number, body = self.carried[seq]
                committed = chain.commitment(salt, codec.restore(body, number))
            entry = Entry(kind, run, key, stage, attempt, None, intent, at, micros, status)
            row[11] = link = chain.link(link, seq, entry, committed)

    def put_back(self):
        """Past triggers and indexes, which are made again as far as the rows let them."""
        db = self.db
        db.execute("pragma synchronous = off; begin; delete from words; delete from entries")
        db.executemany("insert into entries values (?,?,?,?,?,?,?,?,?,?,?,?)", self.rows)
        db.executemany("insert into words values (?,?,?,?)", self.carried.values())
        for sql in self.guards:
            with contextlib.suppress(apsw.ConstraintError):
                db.execute(sql)
        db.execute("commit")
        db.close()


def edited(rows, rng):
    row = rng.choice([r for r in rows.rows if r[1] == "reply"])
    row[10] += 1


def deleted(rows, rng):
    del rows.rows[rng.randrange(len(rows.rows) - 1)]


def inserted(rows, rng):
    place = rng.randrange(2, len(rows.rows))
    forged = list(rng.choice([r for r in rows.rows if r[1] == "intent"]))
    forged[3] += " forged"
    rows.rows.insert(place, forged)
    rows.renumbered()


def swapped(rows, rng):
    first, second = rng.sample(range(1, len(rows.rows)), 2)
    one, other = rows.rows[first], rows.rows[second]
    one[0], other[0] = other[0], one[0]


def cut_short(rows, rng):
    rows.rows = rows.rows[: rng.randrange(1, len(rows.rows))]
    rows.carried = {seq: row for seq, row in rows.carried.items() if seq <= len(rows.rows)}


def rewritten(rows, rng):
    for row in rows.rows:
        row[8] += rng.randrange(1, 1_000_000)
    rows.linked()


def edited_and_linked_again(rows, rng):
    edited(rows, rng)
    rows.linked()


def duplicated(rows, rng):
    place = rng.randrange(1, len(rows.rows))
    twin = list(rows.rows[place])
    if twin[0] in rows.carried:
        rows.carried[len(rows.rows) + 1] = [len(rows.rows) + 1, *rows.carried[twin[0]][1:]]
    twin[0] = len(rows.rows) + 1
    rows.rows.append(twin)


KINDS = (edited, deleted, inserted, swapped, cut_short, rewritten, edited_and_linked_again,
         duplicated)


@pytest.mark.parametrize("change", KINDS, ids=lambda kind: kind.__name__)
def test_of_125_changes_of_each_kind_every_one_is_found_with_the_published_head(tmp_path, change):
    source, rng = filled(tmp_path / "l.db", 8), random.Random(change.__name__)
    whole, head = source.read_bytes(), published(source)
    copy, missed = tmp_path / "copy.db", []
    for trial in range(125):
        copy.write_bytes(whole)
        rows = Rows(copy)
        change(rows, rng)
        rows.put_back()
        if not verify(copy, head).faults:
            missed.append(trial)
    assert missed == []



# Copies.


def test_a_backup_made_while_a_run_writes_holds_what_a_copied_file_does_not(tmp_path):
    path = filled(tmp_path / "l.db", 30)
    writer = Ledger.open(path)
    writer.note(1, "n", "in the log, not in the file")
    shutil.copy(path, tmp_path / "copied.db")
    head = back_up(path, tmp_path / "kept" / "backup.db")
    writer.note(1, "n", "later")
    writer.close()
    assert head.rows == 62 and verify(tmp_path / "copied.db").rows < 62
    # The drill: the ledger is gone, and the backup takes its place.
    for file in tmp_path.glob("l.db*"):
        file.unlink()
    shutil.copy(tmp_path / "kept" / "backup.db", path)
    found = verify(path, head)
    assert (found.rows, found.head, found.faults) == (62, head, ())
    assert published(tmp_path / "kept" / "backup.db") == head
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        "backup.db", "backup.db.head"]
    ledger = Ledger.open(path)
    assert len(ledger.recorded(1)) == 30
    ledger.close()


def test_a_backup_takes_no_files_place(tmp_path):
    path = filled(tmp_path / "l.db", 2)
    (tmp_path / "there").write_text("mine")
    with pytest.raises(Misuse, match="There is a file"):
        back_up(path, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"


def test_what_does_not_verify_is_not_kept_as_a_backup(tmp_path):
    path = filled(tmp_path / "l.db", 8)
    rows = Rows(path)
    edited(rows, random.Random(1))
    rows.put_back()
    with pytest.raises(Misuse, match="does not verify") as error:
        back_up(path, tmp_path / "backup.db")
    assert error.value.code == 5
    assert not list(tmp_path.glob("*backup*"))


@pytest.mark.parametrize("kind", sorted(disks.NETWORK_DISKS))
def test_a_ledger_on_a_network_disk_is_refused_unless_a_person_knows(tmp_path, monkeypatch, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/share {tmp_path} {kind} rw 0 0\n")
    monkeypatch.setattr(disks, "MOUNTS", mounts)
    with pytest.raises(Misuse, match=rf"network disk \({kind}\)") as error:
        Ledger.open(tmp_path / "l.db")
    assert error.value.code == 6 and not (tmp_path / "l.db").exists()
    monkeypatch.setenv(disks.I_KNOW, "1")
    Ledger.open(tmp_path / "l.db").close()


def test_a_local_disk_beside_a_network_disk_is_none(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"s:/x / nfs4 rw 0 0\ndisk {tmp_path} ext4 rw 0 0\ns:/y {tmp_path}/z nfs rw"
                      " 0 0\n")
    monkeypatch.setattr(disks, "MOUNTS", mounts)
    Ledger.open(tmp_path / "l.db").close()


# Who may read it.


def test_every_file_beside_a_ledger_is_the_owners_alone_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        path = tmp_path / "data" / "equipoise" / "l.db"
        ledger = Ledger.open(path)
        ledger.register("r1", b"{}", {})
        with ledger.administering("r1"):
            modes = {p.name: p.stat().st_mode & 0o777 for p in path.parent.iterdir()}
        ledger.close()
        back_up(path, tmp_path / "kept" / "b.db")
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("l.db", "l.db-wal", "l.db-shm", "l.db.r1.lock"), 0o600)
    for folder in (path.parent, path.parent.parent, tmp_path / "kept"):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
        for file in folder.iterdir():
            assert file.is_dir() or file.stat().st_mode & 0o777 == 0o600, file
    assert Head(1, "") != published(path)
