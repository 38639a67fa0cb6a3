"""The ledger keeps what it acknowledged, changes nothing, and shows what was changed."""

import asyncio
import contextlib
import errno
import os
import random
import shutil
import threading

import apsw
import pytest

from equipoise.ledger import Head, Ledger, verify
from equipoise.ledger.chain import head_file, publish, published
from equipoise.ledger.opening import VERSION, require_safe_sqlite
from equipoise.terms import Fault, Misuse, Reply, Request, Subject, canonical_json, user

SUBJECT = Subject("s", "m", "f", "openai")


def request(n):
    return Request(SUBJECT, (user(str(n)),), body=canonical_json({"n": n}))


def filled(path, cells=12, body=b'{"text":"a"}', name="r1"):
    """A ledger with a run of so many settled calls."""
    ledger = Ledger.open(path)
    run = ledger.register(name, b'{"plan":1}', {"items.toml": "a = 1"})

    async def one(n):
        intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n))
        await ledger.settle(run.seq, intent, Reply(body, 200, (("x", str(n)),)), 0.5)

    async def every():
        await asyncio.gather(*map(one, range(cells)))

    asyncio.run(every())
    ledger.close()
    return path


@pytest.fixture
def path(tmp_path):
    return filled(tmp_path / "ledger.db")


def database(path):
    return apsw.Connection(str(path))


@pytest.mark.parametrize("body", [
    b"", b"\x00" * 50, b"\xff\xfe invalid", b'"\\ud800"', b"x" * 10_000_000,
    "\u202ebidi\ufeff".encode(), b"1e400", b"[" * 100_000, b"a\nb\r\n",
])
def test_a_reply_comes_back_byte_for_byte(tmp_path, body):
    filled(tmp_path / "l.db", 1, body)
    ledger = Ledger.open(tmp_path / "l.db", read_only=True)
    [recorded] = ledger.recorded(1).values()
    reply = ledger.reply(recorded)
    ledger.close()
    assert (reply.body, reply.headers, reply.status) == (body, (("x", "0"),), 200)
    assert not verify(tmp_path / "l.db").faults


def test_equal_requests_are_stored_once(tmp_path):
    ledger = Ledger.open(tmp_path / "l.db")
    run = ledger.register("r1", b"{}", {})

    async def twice():
        for draw in (1, 2):
            await ledger.intend(run.seq, f"s/x/{draw}", "choice", 1, request(0))

    asyncio.run(twice())
    ledger.close()
    assert database(tmp_path / "l.db").execute("select count(*) from requests").get == 1


@pytest.mark.parametrize("attack", [
    "update entries set status = 500 where kind = 'reply'",
    "delete from entries where seq = 3",
    "delete from entries",
    "insert or replace into entries select * from entries where seq = 3",
    "replace into entries select * from entries where seq = 3",
    "insert into entries select * from entries where seq = 3 on conflict do update set status = 1",
    "update or replace entries set seq = 4 where seq = 3",
    "insert into entries select -1, kind, run, key || 'x', stage, attempt, request, intent, at,"
    " micros, status, link from entries where kind = 'intent' limit 1",
    "insert into entries select (select max(seq) + 1 from entries), kind, run, key, stage,"
    " attempt, request, intent, at, micros, status, link from entries where kind = 'intent'"
    " limit 1",
    "insert or replace into entries select (select max(seq) + 1 from entries), kind, run, key,"
    " stage, attempt, request, intent, at, micros, status, link from entries"
    " where kind = 'reply' limit 1",
    "update words set body = x''",
    "delete from words",
    "insert or replace into words select * from words limit 1",
    "update requests set body = x''",
    "delete from requests",
    "insert or replace into requests select * from requests limit 1",
    "insert or replace into requests select id + 1000, stamp, subject, salt, dictionary, body"
    " from requests limit 1",
    "update subjects set body = '{}'",
    "delete from subjects",
    "insert or replace into subjects select * from subjects",
    "update stimuli set body = x''",
    "delete from stimuli",
    "insert or replace into entries select (select max(seq) + 1 from entries), 'erased', run,"
    " null, null, null, null, null, at, null, null, link from entries where seq = 3",
    "insert or replace into stimuli select * from stimuli",
])
def test_no_statement_changes_what_is_written(path, attack):
    db = database(path)
    before = [list(db.execute(f"select * from {t}"))
              for t in ("entries", "words", "requests", "subjects", "stimuli")]
    with pytest.raises((apsw.ConstraintError, apsw.SQLError)):
        db.execute(attack)
    after = [list(db.execute(f"select * from {t}"))
             for t in ("entries", "words", "requests", "subjects", "stimuli")]
    assert before == after


def _unlock(db):
    for name, in list(db.execute("select name from sqlite_schema where type = 'trigger'")):
        db.execute(f"drop trigger {name}")


MUTATIONS = {
    "edit": "update entries set status = 201 where seq = {n}",
    "delete": "delete from entries where seq = {n}",
    "key": "update entries set key = 'other' where seq = {n} and key is not null",
    "words": "update words set body = (select body from words where seq <> {n} and body <>"
             " (select body from words where seq = {n}) limit 1) where seq = {n}",
    "salt": "update words set salt = zeroblob(16) where seq = {n}",
    "lost words": "delete from words where seq = {n}",
    "link": "update entries set link = zeroblob(32) where seq = {n}",
    "none": "update entries set key = 'None', stage = 'None' where seq = {n} and kind = 'reply'",
    "time": "update entries set at = at - 1000000 where seq = {n}",
}


@pytest.mark.parametrize("kind", MUTATIONS)
def test_every_mutation_past_the_triggers_is_found(path, tmp_path, kind):
    rng, tried = random.Random(kind), 0
    for trial in range(24):
        copy = tmp_path / f"{trial}.db"
        shutil.copy(path, copy)
        shutil.copy(head_file(path), head_file(copy))
        db = database(copy)
        schema = list(db.execute("select sql from sqlite_schema where type = 'trigger'"))
        _unlock(db)
        before = db.total_changes()
        db.execute(MUTATIONS[kind].format(n=rng.randrange(1, 26)))
        changed = db.total_changes() > before
        for statement, in schema:
            db.execute(statement)
        db.close()
        tried += changed
        assert bool(verify(copy).faults) == changed
    assert tried >= 6


def test_a_swapped_request_is_found(path):
    db = database(path)
    _unlock(db)
    db.execute("update requests set body = (select body from requests where id = 2) where id = 1")
    db.close()
    assert any("request 1" in fault for fault in verify(path).faults)


def test_a_missing_trigger_is_found(path):
    db = database(path)
    db.execute("drop trigger words_no_delete")
    db.close()
    assert any("words_no_delete" in fault for fault in verify(path).faults)


def test_a_ledger_cut_short_does_not_open(path):
    head = published(path)
    db = database(path)
    _unlock(db)
    db.execute("delete from words where seq > 20; delete from entries where seq > 20")
    db.close()
    with pytest.raises(Misuse, match="holds 20 entries, and they do not reach") as error:
        Ledger.open(path)
    assert error.value.code == 5
    assert verify(path, head).faults


def test_a_ledger_rewritten_whole_is_found_by_a_head_kept_elsewhere(path, tmp_path):
    known = published(path)
    other = filled(tmp_path / "other.db")
    assert not verify(other).faults
    assert verify(other, known).faults


def test_the_head_is_kept_beside_the_file(path):
    ledger = Ledger.open(path, read_only=True)
    assert published(path) == ledger.head() != Head(0, "")
    assert ledger.head().rows == 25
    ledger.close()


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


def test_erased_words_are_gone_and_the_chain_still_verifies(tmp_path):
    words = b"the words of a person, to be forgotten"
    path = filled(tmp_path / "l.db", 3, words)
    ledger = Ledger.open(path)
    for recorded in ledger.recorded(1).values():
        seq = ledger._db.execute("select seq from entries where intent = ?", (recorded.seq,)).get
        ledger.erase(seq, "asked to")
    assert {r.kind for r in ledger.recorded(1).values()} == {"erased"}
    with pytest.raises(Misuse, match="holds no words"):
        ledger.erase(3, "again")
    ledger.close()
    found = verify(path)
    assert (found.erased, found.faults) == (3, ())
    for file in tmp_path.iterdir():
        assert b"to be forgotten" not in file.read_bytes()


def test_erased_words_are_in_no_dictionary_either(tmp_path):
    ledger = Ledger.open(tmp_path / "l.db")
    run = ledger.register("r1", b"{}", {})

    async def calls():
        for n in range(450):
            name = "Ann of the Meadows" if n % 100 == 7 else f"nobody {n}"
            intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n))
            reply = Reply(canonical_json({"id": n, "model": "m-1", "text": f"It was {name}."}))
            await ledger.settle(run.seq, intent, reply, 0.1)

    asyncio.run(calls())
    for n in range(7, 450, 100):
        recorded = ledger.recorded(run.seq)[f"s/{n}/1", "choice"]
        ledger.erase(ledger._db.execute(
            "select seq from entries where intent = ?", (recorded.seq,)).get, "asked to")
    assert database(tmp_path / "l.db").execute("select count(*) from dictionaries").get == 2
    ledger.close()
    assert verify(tmp_path / "l.db").faults == ()
    for file in tmp_path.iterdir():
        assert b"Meadows" not in file.read_bytes()


def test_writers_in_turn_leave_no_gap(tmp_path):
    path = tmp_path / "l.db"
    Ledger.open(path).close()

    def write(name):
        ledger = Ledger.open(path)
        run = ledger.register(name, b"{}", {})
        for n in range(50):
            ledger.note(run.seq, "n", str(n))
        ledger.close()

    writers = [threading.Thread(target=write, args=(f"r{n}",)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = verify(path)
    assert (found.rows, found.faults) == (204, ())


def test_a_run_is_held_by_one_process_at_a_time(path):
    one, other = Ledger.open(path), Ledger.open(path)
    with one.administering("r1"), pytest.raises(Misuse, match="Another process"), \
            other.administering("r1"):
        pass
    with other.administering("r1"):
        pass
    one.close()
    other.close()


def test_a_registered_run_cannot_be_registered_otherwise(path):
    ledger = Ledger.open(path)
    assert ledger.register("r1", b'{"plan":1}', {}).seq == 1
    with pytest.raises(Misuse, match="registered otherwise"):
        ledger.register("r1", b'{"plan":2}', {})
    ledger.close()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path):
    path = filled(tmp_path / "l.db", 20)
    ledger = Ledger.open(path)
    ledger.journal._db.execute(
        f"pragma max_page_count = {ledger.journal._db.pragma('page_count') + 2}")

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
    db = ledger.journal._db
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


def test_what_came_of_a_call_is_kept_when_nothing_came(tmp_path):
    ledger = Ledger.open(tmp_path / "l.db")
    run = ledger.register("r1", b"{}", {})

    async def calls():
        for key, fault in (("a", Fault("unreachable", sent=False)), ("b", Fault("unknown"))):
            intent = await ledger.intend(run.seq, key, "choice", 1, request(key))
            await ledger.settle(run.seq, intent, fault, 1.0)

    asyncio.run(calls())
    kinds = [recorded.kind for recorded in ledger.recorded(run.seq).values()]
    ledger.close()
    assert kinds == ["fault", "unknown"]


def test_nothing_becomes_durable_after_what_could_not_be_written(tmp_path):
    path = filled(tmp_path / "l.db", 4)
    ledger = Ledger.open(path)
    db = ledger.journal._db
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
