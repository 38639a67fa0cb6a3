"""The ledger keeps what it acknowledged, changes nothing, and shows what was changed.

One suite, two stores: what takes `where` or `path` runs on SQLite and on PostgreSQL. What only a
file can meet stands in test_ledger_file.py, what only a server can in test_postgres.py.
"""

import asyncio
import random
import threading

import apsw
import psycopg
import pytest

from equipoise.ledger import Head, Ledger, copy, verify
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.terms import Fault, Misuse, Reply, Request, Subject, canonical_json, user
from meddling import as_it_was, changed, everything, owner, past_the_triggers, rows

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
def path(where):
    return filled(where)


def published(where):
    ledger = Ledger.open(where, read_only=True)
    ledger.close()
    return ledger.store.published()


def outcome_of(ledger, intent):
    """The number of the entry that settles an intent."""
    return next(ledger.store.rows("select seq from entries where intent = $1", (intent,)))[0]


HOSTILE = [
    b"", b"\x00", b"\x00" * 50, b"\xff\xfe invalid", b'"\\ud800"', b"\xed\xa0\x80",
    b"x" * 10_000_000,
    "\u202ebidi\ufeff".encode(), b"1e400", b"NaN", b"[" * 100_000, b"a\nb\r\n", b"9" * 5000,
    b"\\x00", b"\\", b"'; drop table entries; --", b"$1 %s {}", b"\xc0\x80", b"\xf4\x90\x80\x80",
    *(random.Random(n).randbytes(n) for n in range(1, 182)),
]


def test_two_hundred_hostile_replies_come_back_byte_for_byte(where):
    assert len(HOSTILE) == 200
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def calls():
        for n, body in enumerate(HOSTILE):
            intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n))
            ledger.settle(run.seq, intent, Reply(body, 200, (("x", str(n)),)), 0.5)

    asyncio.run(calls())
    ledger.close()
    ledger = Ledger.open(where, read_only=True)
    found = [ledger.reply(recorded) for recorded in ledger.recorded(run.seq).values()]
    ledger.close()
    assert [(r.body, r.headers, r.status) for r in found] == [
        (body, (("x", str(n)),), 200) for n, body in enumerate(HOSTILE)]
    assert not verify(where).faults


def test_equal_requests_are_stored_once(where):
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def twice():
        for draw in (1, 2):
            await ledger.intend(run.seq, f"s/x/{draw}", "choice", 1, request(0))

    asyncio.run(twice())
    ledger.close()
    assert rows(where, "select count(*) from requests") == [(1,)]


def test_calls_handed_in_together_share_commits_and_keep_their_order(where):
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def calls():
        return await asyncio.gather(*(
            ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n)) for n in range(300)))

    assert asyncio.run(calls()) == list(range(2, 302))
    ledger.close()
    found = rows(where, "select key from entries where kind = 'intent' order by seq")
    assert found == [(f"s/{n}/1",) for n in range(300)]


ANYWHERE = [
    "update entries set status = 500 where kind = 'reply'",
    "delete from entries where seq = 3",
    "delete from entries",
    "insert into entries select * from entries where seq = 3 on conflict (seq) do update"
    " set status = 1",
    "insert into entries select -1, kind, run, key || 'x', stage, attempt, request, intent, at,"
    " micros, status, link from entries where kind = 'intent' limit 1",
    "insert into entries select (select max(seq) + 1 from entries), kind, run, key, stage,"
    " attempt, request, intent, at, micros, status, link from entries where kind = 'intent'"
    " limit 1",
    "insert into entries select (select max(seq) + 1 from entries), kind, run, key, stage,"
    " attempt, request, intent, at, micros, status, link from entries where kind = 'reply'"
    " limit 1",
    "insert into entries select (select max(seq) + 1 from entries), 'reply', run, null, null,"
    " null, null, null, at, null, null, link from entries where seq = 3",
    "insert into entries select (select max(seq) + 1 from entries), 'erased', run,"
    " null, null, null, null, null, at, null, null, link from entries where seq = 3",
    "update words set body = salt",
    "delete from words",
    "insert into words select 1000, salt, dictionary, body from words limit 1",
    "update requests set body = salt",
    "delete from requests",
    "update subjects set body = '{}'",
    "delete from subjects",
    "update stimuli set body = 'x'",
    "delete from stimuli",
    "update dictionaries set bytes = bytes",
]


@pytest.mark.parametrize("attack", ANYWHERE)
def test_no_statement_changes_what_is_written(path, attack):
    before, db = everything(path), owner(path)
    if attack.startswith("update dictionaries"):
        db.execute("insert into dictionaries values (1, 'x')"
                   if isinstance(db, psycopg.Connection) else
                   "insert into dictionaries values (1, x'00')")
        before = everything(path)
    db.execute("pragma foreign_keys = on") if isinstance(db, apsw.Connection) else None
    with pytest.raises((apsw.ConstraintError, apsw.SQLError, psycopg.Error)):
        db.execute(attack)
    db.close()
    assert before == everything(path)


MUTATIONS = {
    "edit": "update entries set status = 201 where seq = {n}",
    "delete": "delete from entries where seq = {n}",
    "key": "update entries set key = 'other' where seq = {n} and key is not null",
    "words": "update words set body = (select body from words where seq <> {n} and body <>"
             " (select body from words where seq = {n}) limit 1) where seq = {n}",
    "salt": "update words set salt = {zeros} where seq = {n}",
    "lost words": "delete from words where seq = {n}",
    "link": "update entries set link = {zeros} where seq = {n}",
    "none": "update entries set key = 'None', stage = 'None' where seq = {n} and kind = 'reply'",
    "time": "update entries set at = at - 1000000 where seq = {n}",
    "insert": "insert into entries select 26, kind, run, 'x', stage, attempt, request, intent, at,"
              " micros, status, link from entries where seq = {n} and kind = 'intent'",
    "run": "update entries set run = 2 where seq = {n}",
}
ZEROS = {apsw.Connection: "zeroblob(16)", psycopg.Connection: "decode(repeat('00', 16), 'hex')"}


@pytest.mark.parametrize("kind", MUTATIONS)
def test_every_mutation_past_the_triggers_is_found(path, tmp_path, kind):
    rng, tried = random.Random(kind), 0
    for _ in range(16):
        with as_it_was(path, tmp_path) as place:
            with past_the_triggers(place) as db:
                so = changed(db, MUTATIONS[kind].format(
                    n=rng.randrange(1, 26), zeros=ZEROS[type(db)]))
            tried += so
            assert bool(verify(place).faults) == so
    assert verify(path).faults == ()
    assert tried >= 4


def test_a_swapped_request_is_found(path):
    with past_the_triggers(path) as db:
        db.execute("update requests set body = (select body from requests where id = 2)"
                   " where id = 1")
    assert any("request 1" in fault for fault in verify(path).faults)


def test_a_ledger_cut_short_does_not_open(path):
    head = published(path)
    with past_the_triggers(path) as db:
        db.execute("delete from words where seq > 20")
        db.execute("delete from entries where seq > 20")
    with pytest.raises(Misuse, match="holds 20 entries, and they do not reach") as error:
        Ledger.open(path)
    assert error.value.code == 5
    assert verify(path, head).faults


def test_a_ledger_rewritten_whole_is_found_by_a_head_kept_elsewhere(path, tmp_path):
    known = published(path)
    other = filled(tmp_path / "other.db")
    assert not verify(other).faults
    assert verify(other, known).faults


def test_the_head_is_kept_outside_the_ledger(path):
    ledger = Ledger.open(path, read_only=True)
    assert published(path) == ledger.head() != Head(0, "")
    assert ledger.head().rows == 25
    assert ledger.store.head_file.exists()
    ledger.close()


def test_erased_words_are_gone_and_the_chain_still_verifies(where):
    words = b"the words of a person, to be forgotten"
    path = filled(where, 3, words)
    ledger = Ledger.open(path)
    for recorded in ledger.recorded(1).values():
        ledger.erase(outcome_of(ledger, recorded.seq), "asked to")
    assert {r.kind for r in ledger.recorded(1).values()} == {"erased"}
    with pytest.raises(Misuse, match="holds no words"):
        ledger.erase(3, "again")
    ledger.close()
    found = verify(path)
    assert (found.erased, found.faults) == (3, ())
    assert not any(b"to be forgotten" in bytes(str(row), "utf-8") for row in everything(path))


def test_erased_words_are_in_no_dictionary_either(where):
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def calls():
        for n in range(450):
            name = "Ann of the Meadows" if n % 100 == 7 else f"nobody {n}"
            intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request(n))
            reply = Reply(canonical_json({"id": n, "model": "m-1", "text": f"It was {name}."}))
            ledger.settle(run.seq, intent, reply, 0.1)

    asyncio.run(calls())
    ledger.close()
    ledger = Ledger.open(where)
    for n in range(7, 450, 100):
        recorded = ledger.recorded(run.seq)[f"s/{n}/1", "choice"]
        ledger.erase(outcome_of(ledger, recorded.seq), "asked to")
    ledger.close()
    found = rows(where, "select bytes from dictionaries")
    assert len(found) == 2
    assert not any(b"Meadows" in trained for [trained] in found)
    assert verify(where).faults == ()


def test_writers_in_turn_leave_no_gap(where):
    Ledger.open(where).close()

    def write(name):
        ledger = Ledger.open(where)
        run = ledger.register(name, b"{}", {})
        for n in range(50):
            ledger.note(run.seq, "n", str(n))
        ledger.close()

    writers = [threading.Thread(target=write, args=(f"r{n}",)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = verify(where)
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


def test_what_came_of_a_call_is_kept_when_nothing_came(where):
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def calls():
        for key, fault in (("a", Fault("unreachable", sent=False)), ("b", Fault("unknown"))):
            intent = await ledger.intend(run.seq, key, "choice", 1, request(key))
            await ledger.settle(run.seq, intent, fault, 1.0)

    asyncio.run(calls())
    kinds = [recorded.kind for recorded in ledger.recorded(run.seq).values()]
    ledger.close()
    assert kinds == ["fault", "unknown"]




def test_what_cannot_be_written_stops_everything_after_it(where):
    """The same attempt twice: an intent is refused, and so is all that is handed in later."""
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})

    async def calls():
        first = await ledger.intend(run.seq, "a", "choice", 1, request(1))
        again = ledger.journal.hand_in(handed_in(run.seq, "a", request(1)))
        reply = ledger.settle(run.seq, first, Reply(b"kept"), 0.1)
        await asyncio.wait([again, reply])
        return again.exception(), reply.exception()

    again, reply = asyncio.run(calls())
    assert again is not None and again is reply
    ledger.close()
    found = verify(where)
    assert (found.unsettled, found.faults) == (0, ())


def handed_in(run, key, asked):
    return Draft(Entry("intent", run, key, "choice", 1), request=asked)


@pytest.mark.parametrize("way", [("sqlite", "sqlite"), ("sqlite", "postgres"),
                                 ("postgres", "sqlite"), ("postgres", "postgres")])
def test_a_copy_has_the_same_head_and_holds(tmp_path, server, way):
    source, target = (tmp_path / f"{n}.db" if kind == "sqlite" else server.database()
                      for n, kind in enumerate(way))
    filled(source, 700)
    ledger = Ledger.open(source)
    ledger.erase(outcome_of(ledger, 2), "asked to")
    ledger.close()
    head = copy(source, target)
    assert head == published(source) == published(target)
    assert verify(target, head).faults == ()
    assert everything(source) == everything(target)


def test_a_copy_goes_on_where_it_stopped_and_takes_out_what_was_erased_since(where, tmp_path):
    filled(where, 5)
    copy(where, tmp_path / "copy.db")
    filled(where, 600, name="r2")
    ledger = Ledger.open(where)
    ledger.erase(outcome_of(ledger, 2), "asked to")
    ledger.close()
    head = copy(where, tmp_path / "copy.db")
    assert verify(tmp_path / "copy.db", head).faults == ()
    assert everything(where) == everything(tmp_path / "copy.db")


def test_a_copy_onto_another_ledger_is_refused(where, tmp_path):
    filled(where)
    filled(tmp_path / "other.db", 3)
    before = everything(tmp_path / "other.db")
    with pytest.raises(Misuse, match="not the beginning of"):
        copy(where, tmp_path / "other.db")
    with pytest.raises(Misuse, match="onto itself"):
        copy(where, where)
    assert everything(tmp_path / "other.db") == before
