"""What only a ledger in a file can meet: a damaged file, a full disk, REPLACE, an old SQLite."""

import asyncio
import contextlib
import errno
import os
import random
import threading

import apsw
import pytest

from equipoise.ledger import Head, Ledger, verify
from equipoise.ledger.chain import head_file, publish, published
from equipoise.ledger.opening import VERSION, require_safe_sqlite
from equipoise.terms import Misuse, Reply
from meddling import everything
from test_ledger import filled, outcome_of, request


@pytest.fixture
def path(tmp_path):
    return filled(tmp_path / "ledger.db")


def database(path):
    return apsw.Connection(str(path))


@pytest.mark.parametrize("attack", [
    "insert or replace into entries select * from entries where seq = 3",
    "replace into entries select * from entries where seq = 3",
    "update or replace entries set seq = 4 where seq = 3",
    "insert or replace into entries select (select max(seq) + 1 from entries), kind, run, key,"
    " stage, attempt, request, intent, at, micros, status, link from entries"
    " where kind = 'reply' limit 1",
    "insert or replace into entries select (select max(seq) + 1 from entries), 'erased', run,"
    " null, null, null, null, null, at, null, null, link from entries where seq = 3",
    "insert or replace into words select * from words limit 1",
    "insert or replace into requests select * from requests limit 1",
    "insert or replace into requests select id + 1000, stamp, subject, salt, dictionary, body"
    " from requests limit 1",
    "insert or replace into subjects select * from subjects",
    "insert or replace into stimuli select * from stimuli",
])
def test_replace_changes_nothing_that_is_written(path, attack):
    db, before = database(path), everything(path)
    with pytest.raises((apsw.ConstraintError, apsw.SQLError)):
        db.execute(attack)
    assert before == everything(path)


def test_a_missing_trigger_is_found(path):
    db = database(path)
    db.execute("drop trigger words_no_delete")
    db.close()
    assert any("words_no_delete" in fault for fault in verify(path).faults)


@pytest.mark.parametrize("damage, code", [
    (lambda p: p.write_bytes(b"not a database at all, but long enough to be looked at" * 9), 5),
    (lambda p: p.write_bytes(p.read_bytes()[:5000]), 5),
    (lambda p: p.write_bytes(b""), 5),
    (lambda p: database(p).pragma("user_version", VERSION + 1), 5),
    (lambda p: database(p).pragma("application_id", 7), 5),
    (lambda p: head_file(p).write_text("{"), 5),
])
def test_a_damaged_ledger_is_refused_in_a_sentence(path, damage, code):
    damage(path)
    before = path.read_bytes()
    with pytest.raises(Misuse) as error:
        Ledger.open(path)
    assert error.value.code == code
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


def test_an_empty_ledger_is_said_to_be_empty_and_can_be_begun(tmp_path):
    apsw.Connection(str(tmp_path / "l.db")).execute("pragma journal_mode = wal").fetchall()
    with pytest.raises(Misuse, match="is empty"):
        Ledger.open(tmp_path / "l.db", read_only=True)
    Ledger.open(tmp_path / "l.db").close()
    assert verify(tmp_path / "l.db").faults == ()


def test_a_missing_ledger_is_not_made_by_reading(tmp_path):
    with pytest.raises(Misuse, match="There is no ledger"):
        Ledger.open(tmp_path / "none.db", read_only=True)
    assert not list(tmp_path.iterdir())


def test_an_sqlite_that_may_lose_commits_is_refused():
    with pytest.raises(Misuse, match=r"3\.40\.1.*lose commits"):
        require_safe_sqlite("3.40.1")
    require_safe_sqlite("3.51.3")


def test_the_file_is_the_owners_alone(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_erased_words_are_on_no_page_of_the_file(tmp_path):
    path = filled(tmp_path / "l.db", 3, b"the words of a person, to be forgotten")
    ledger = Ledger.open(path)
    for recorded in ledger.recorded(1).values():
        ledger.erase(outcome_of(ledger, recorded.seq), "asked to")
    ledger.close()
    for file in tmp_path.iterdir():
        assert not file.is_file() or b"to be forgotten" not in file.read_bytes()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path):
    path = filled(tmp_path / "l.db", 20)
    ledger = Ledger.open(path)
    ledger.journal._pen._db.execute(
        f"pragma max_page_count = {ledger.journal._pen._db.pragma('page_count') + 2}")

    async def fill():
        for n in range(100, 2000):
            intent = await ledger.intend(1, f"s/{n}/1", "choice", 1, request(n))
            await ledger.settle(1, intent, Reply(random.Random(n).randbytes(900)), 0.1)

    with pytest.raises(Misuse, match="The disk is full") as error:
        asyncio.run(fill())
    assert error.value.code == 6
    with contextlib.suppress(Misuse):
        ledger.close()
    found = verify(path)
    assert not found.faults
    assert found.unsettled <= 1


def test_what_came_back_on_a_full_disk_is_written_once_there_is_room(tmp_path):
    path = filled(tmp_path / "l.db", 4)
    ledger = Ledger.open(path)
    db = ledger.journal._pen._db
    db.execute(f"pragma max_page_count = {db.pragma('page_count') + 8}")

    async def calls():
        intents = [await ledger.intend(1, f"s/f{n}/1", "choice", 1, request(f"f{n}"))
                   for n in range(6)]
        written = [ledger.settle(1, intent, Reply(random.Random(intent).randbytes(9000)), 0.1)
                   for intent in intents]
        await asyncio.wait(written)
        return sum(w.exception() is not None for w in written)

    assert asyncio.run(calls()) == 6
    db.execute("pragma max_page_count = 1000000")
    ledger.close()
    found = verify(path)
    assert (found.unsettled, found.faults) == (0, ())


def test_a_database_of_another_kind_is_left_as_it_is(tmp_path):
    other = apsw.Connection(str(tmp_path / "mine.db"))
    other.execute("create table t (x); insert into t values (1)")
    other.close()
    before = (tmp_path / "mine.db").read_bytes()
    for read_only in (True, False):
        with pytest.raises(Misuse, match="not a ledger"):
            Ledger.open(tmp_path / "mine.db", read_only=read_only)
    assert (tmp_path / "mine.db").read_bytes() == before


def test_many_may_open_a_new_ledger_at_once(tmp_path):
    failed = []

    def begin():
        try:
            Ledger.open(tmp_path / "l.db").close()
        except BaseException as error:
            failed.append(error)

    for _ in range(5):
        threads = [threading.Thread(target=begin) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for file in tmp_path.iterdir():
            file.unlink()
    assert failed == []


def test_nothing_becomes_durable_after_what_could_not_be_written(tmp_path):
    path = filled(tmp_path / "l.db", 4)
    ledger = Ledger.open(path)
    db = ledger.journal._pen._db
    full = db.pragma("page_count") + 8

    async def calls():
        intents = [await ledger.intend(1, f"s/g{n}/1", "choice", 1, request(f"g{n}"))
                   for n in range(2)]
        db.execute(f"pragma max_page_count = {full}")
        large = ledger.settle(1, intents[0], Reply(random.Random(1).randbytes(900_000)), 0.1)
        await asyncio.wait([large])
        db.execute("pragma max_page_count = 1000000")
        small = ledger.settle(1, intents[1], Reply(b"small"), 0.1)
        await asyncio.wait([small])
        return [str(write.exception()) for write in (large, small)]

    large, small = asyncio.run(calls())
    assert large == small
    assert large.startswith("The disk is full")
    ledger.close()
    found = verify(path)
    assert (found.unsettled, found.faults) == (0, ())


def test_a_head_that_cannot_be_written_is_said_and_the_one_before_stays(path, monkeypatch):
    before = published(path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Misuse, match="No space left on device.*still holds") as error:
        publish(Head(99, "f" * 64), path)
    assert error.value.code == 6
    assert published(path) == before
    assert not list(path.parent.glob(".*.part"))
