"""A ledger in PostgreSQL: who may do what, what a restart or a kill leaves, and every command."""

import asyncio
import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

import killed
from equipoise.ledger import Cap, Database, Ledger, open_book, place, verify
from equipoise.ledger.chain import publish
from equipoise.ledger.postgres_roles import lay_out
from equipoise.terms import Misuse, Reply
from meddling import everything, owner, past_the_triggers, rows
from test_kills import lines
from test_ledger import filled, outcome_of, request

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["killed", "test_postgres"])


@pytest.fixture
def where(server):
    return server.database()


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


@pytest.fixture
def path(where):
    return filled(where)


@pytest.mark.parametrize("attack", [
    "update ledger.entries set status = 1",
    "delete from ledger.entries",
    "truncate ledger.entries",
    "truncate ledger.words",
    "insert into ledger.entries select * from ledger.entries where seq = 3"
    " on conflict (seq) do update set status = 1",
    "alter table ledger.entries disable trigger all",
    "alter table ledger.entries disable trigger entries_no_change",
    "drop trigger entries_no_change on ledger.entries",
    "drop table ledger.words",
    "create or replace function ledger.refuse() returns trigger language plpgsql"
    " as 'begin return new; end'",
    "create table ledger.entries2 (x int)",
    "set session_replication_role = replica",
    "set role postgres",
    "alter role app superuser",
    "comment on schema ledger is 'equipoise ledger 9'",
    "begin; lock table ledger.entries in exclusive mode",
])
def test_the_applications_role_can_change_nothing(path, attack):
    before = everything(path)
    with psycopg.connect(path.url, autocommit=True) as db, \
            pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException,
                           psycopg.errors.FeatureNotSupported)):
        db.execute(attack)
    assert everything(path) == before
    assert verify(path).faults == ()


def test_words_go_by_no_other_way_than_a_tombstone(path):
    before = everything(path)
    with psycopg.connect(path.url, autocommit=True) as db, \
            pytest.raises(psycopg.errors.RaiseException, match="only after an erasure"):
        db.execute("select ledger.forget(20)")
    assert everything(path) == before


def test_a_table_of_the_roles_own_does_not_stand_in_for_the_ledgers(path):
    with psycopg.connect(path.url, autocommit=True) as db:
        db.execute("create temp table entries (seq bigint, kind text, intent bigint)")
        db.execute("insert into entries values (99, 'erased', 20)")
        db.execute("set search_path = pg_temp, ledger")
        with pytest.raises(psycopg.errors.RaiseException, match="only after an erasure"):
            db.execute("select ledger.forget(20)")


@pytest.mark.parametrize("attack, named", [
    ("alter table ledger.entries disable trigger entries_no_change", "entries_no_change"),
    ("drop trigger words_no_delete on ledger.words", "words_no_delete"),
    ("create or replace function ledger.refuse() returns trigger language plpgsql"
     " as 'begin return null; end'", "refuse"),
    ("drop index ledger.one_outcome", "one_outcome"),
    ("create function ledger.more() returns int language sql as 'select 1'", "more"),
    ("create view ledger.entries2 as select 1", "several owners, or views"),
    ("alter table ledger.words owner to app", "several owners"),
])
def test_what_the_owner_takes_away_is_found(path, attack, named):
    with owner(path) as db:
        db.execute(attack)
    assert any(named in fault for fault in verify(path).faults)


@pytest.mark.parametrize("grant, why", [
    ("grant update on ledger.words to app", "may update, delete or truncate"),
    ("grant delete (seq) on ledger.words to app", None),
    ("alter table ledger.words owner to app", "owns the ledger's tables"),
    ("alter schema ledger owner to app", "owns the ledger"),
])
def test_a_role_that_could_change_the_record_may_not_append(path, grant, why):
    with owner(path) as db:
        if why is None:
            with pytest.raises(psycopg.Error):
                db.execute(grant)
            return
        db.execute(grant)
    with pytest.raises(Misuse, match=why):
        Ledger.open(path)
    Ledger.open(path, read_only=True).close()


def test_the_owner_may_read_and_not_append(server, path):
    name = path.url.split("/")[3].partition("?")[0]
    Ledger.open(server.as_owner(name), read_only=True).close()
    with pytest.raises(Misuse, match="is a superuser.*--app-role"):
        Ledger.open(server.as_owner(name))


def test_a_ledger_is_made_by_its_owner_and_never_by_a_run(server):
    bare = server.database(laid_out=False)
    for read_only in (True, False):
        with pytest.raises(Misuse, match="There is no ledger.*equipoise ledger init"):
            Ledger.open(bare, read_only=read_only)
    with pytest.raises(Misuse, match="may not do this"):
        lay_out(bare, "app")


def test_init_makes_the_ledger_and_the_role_and_may_be_said_again(server):
    bare = server.database(laid_out=False)
    name = bare.url.split("/")[3].partition("?")[0]
    with server.superuser("postgres") as db:
        db.execute("create role lab login createrole")
        db.execute(f"alter database {name} owner to lab")
    owned = Database(*[server.url("lab", name)] * 2)
    said = lay_out(owned, "reader one")
    assert [line.split()[:2] for line in said] == [["Made", "the"], ["Made", "the"],
                                                   ["The", "role"]]
    assert len(lay_out(owned, "reader one")) == 1
    app = Database(*[server.url("reader%20one", name)] * 2)
    assert verify(filled(app)).faults == ()
    with pytest.raises(Misuse, match="owns the ledger"):
        Ledger.open(owned)
    with pytest.raises(Misuse, match="owns the ledger, so it could change"):
        lay_out(owned, "lab")


def test_the_printed_statements_make_the_same_ledger(server, equipoise):
    bare = server.database(laid_out=False)
    code, out, _ = equipoise("ledger", "init", bare.url, "--app-role", "printed", "--sql")
    assert code == 0
    with owner(bare) as db:
        db.execute(out)
    app = Database(*[bare.url.replace("app@", "printed@")] * 2)
    assert verify(filled(app)).faults == ()


@pytest.mark.parametrize("make, says, code", [
    ("comment on schema ledger is 'equipoise ledger 2'", "of version 2", 5),
    ("comment on schema ledger is 'mine'", "not a ledger of equipoise", 5),
    ("revoke usage on schema ledger from app", "may not use the ledger", 6),
])
def test_a_database_that_cannot_be_used_is_refused_in_a_sentence(path, make, says, code):
    with owner(path) as db:
        db.execute(make)
    with pytest.raises(Misuse, match=says) as error:
        Ledger.open(path)
    assert error.value.code == code


def test_a_server_that_is_not_there_is_said_in_a_sentence():
    with pytest.raises(Misuse, match="cannot be reached") as error:
        Ledger.open(place("postgresql://app@127.0.0.1:9/none"))
    assert error.value.code == 6


def test_a_password_in_a_url_is_refused_and_never_shown(equipoise, monkeypatch):
    secret = "postgresql://app:s3cr3t@127.0.0.1:9/lab"
    for hidden in (secret, "postgresql://127.0.0.1:9/lab?user=app&password=s3cr3t"):
        code, out, err = equipoise("runs", "--ledger", hidden)
        assert code == 2 and "PGPASSWORD" in err
        assert "s3cr3t" not in out + err
    monkeypatch.setenv("EQUIPOISE_LEDGER", secret)
    for words in (["runs"], ["verify"], ["doctor"], ["doctor", "--json"]):
        code, out, err = equipoise(*words)
        assert code in (1, 6) and "127.0.0.1" in out + err
        assert "s3cr3t" not in out + err
    found = place(secret, hidden=True)
    assert "s3cr3t" not in f"{found} {found!r}"


def test_a_database_emptied_behind_its_head_does_not_open(path):
    with past_the_triggers(path) as db:
        db.execute("truncate entries, words, requests")
    with pytest.raises(Misuse, match="holds 0 entries, and they do not reach"):
        Ledger.open(path)


def test_a_later_head_is_not_overwritten_by_an_earlier_one(path):
    one, other = Ledger.open(path), Ledger.open(path)
    other.note(1, "n", "later")
    before = one.head()
    other.close()
    one.store.publish(type(before)(20, "0" * 64))
    assert one.store.published() == before
    one.close()
    ledger = Ledger.open(path, read_only=True)
    publish(type(before)(-1, ""), ledger.store._marks)
    ledger.close()
    with pytest.raises(Misuse, match="do not reach"):
        Ledger.open(path)


def append_notes(where, name, times):
    ledger = Ledger.open(where)
    run = ledger.register(name, b"{}", {})
    for n in range(times):
        ledger.note(run.seq, "n", str(n))
    ledger.close()


def test_four_processes_append_without_a_gap(where):
    writers = [SERVER.Process(target=append_notes, args=(where, f"r{n}", 100)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    found = verify(where)
    assert (found.rows, found.faults) == (404, ())


def asked_while(where, disturbed, cells=400, apart=0.004):
    """Ask `cells` cells while something goes on beside; the intents acknowledged, by key."""
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})
    told = {}

    async def one(n):
        await asyncio.sleep(apart * n)
        told[f"s/{n}/1"] = intent = await ledger.intend(
            run.seq, f"s/{n}/1", "choice", 1, request(n))
        await ledger.settle(run.seq, intent, Reply(b"%d" % n), 0.1)

    async def every():
        await asyncio.gather(*map(one, range(cells)))

    beside = threading.Thread(target=disturbed)
    beside.start()
    try:
        asyncio.run(every())
    finally:
        beside.join()
    ledger.close()
    found = verify(where)
    assert (found.rows, found.unsettled, found.faults) == (1 + 2 * cells, 0, ())
    assert dict(rows(where, "select key, seq from entries where kind = 'intent'")) == told


def test_connections_cut_at_random_moments_lose_nothing_and_write_nothing_twice(where):
    rng = random.Random(5)

    def cut():
        with owner(where) as db:
            for _ in range(25):
                time.sleep(rng.uniform(0.01, 0.12))
                db.execute("select pg_terminate_backend(pid) from pg_stat_activity"
                           " where usename = 'app' and datname = current_database()")

    asked_while(where, cut)


def test_a_server_that_restarts_loses_nothing_and_the_run_goes_on(server, where):
    asked_while(where, lambda: (time.sleep(0.4), server.restart("immediate")))


def test_a_writer_that_sleeps_while_it_holds_the_ledger_is_cut_off(where, monkeypatch):
    """Its turn ends, others go on, and it begins the same batch anew."""
    one, other = Ledger.open(where), Ledger.open(where)
    run = one.register("r1", b"{}", {})
    pen = one.journal._pen
    pen._db.execute("set idle_in_transaction_session_timeout = 200")
    pen.begin(())
    pen.put_stimuli("x", b"never")
    other.note(run.seq, "n", "goes on")
    with pytest.raises(Exception) as ended:
        pen.commit()
    assert type(ended.value).__name__ == "Again"
    assert one.note(run.seq, "n", "and so does this") == 3
    one.close()
    other.close()
    assert verify(where).faults == ()


def test_kills_of_a_writer_lose_nothing_and_send_nothing_twice(tmp_path, where):
    unknown = killed_often(tmp_path, where, 8)
    assert unknown > 0


def killed_often(folder: Path, where: Database, times: int) -> int:
    """Kill a run so many times; returns how many calls are unknown after it."""
    rng, before = random.Random(1), 0
    for _ in range(times):
        so_far = len(lines(folder / "sent"))
        process = SERVER.Process(target=killed.run, args=(str(folder), where))
        process.start()
        while len(lines(folder / "sent")) < so_far + rng.randrange(20, 200) and process.is_alive():
            time.sleep(0.002)
        process.kill()
        process.join()
        found = verify(where)
        assert found.faults == ()
        assert found.unsettled - before <= killed.IN_FLIGHT
        before = found.unsettled
    sent, told = lines(folder / "sent"), lines(folder / "told")
    assert max(Counter(sent).values()) == 1
    ledger = Ledger.open(where)
    kept = {key for (key, _), r in ledger.recorded(1).items() if r.kind == "reply"}
    ledger.close()
    assert set(told) <= kept
    assert len(told) > times
    return before


def test_erased_words_are_in_no_file_of_the_table_once_it_is_rewritten(server, where):
    path = filled(where, 3, b"the words of a person, to be forgotten" + os.urandom(8))
    ledger = Ledger.open(path)
    for recorded in ledger.recorded(1).values():
        ledger.erase(outcome_of(ledger, recorded.seq), "asked to")
    ledger.close()
    with owner(path) as db:
        db.execute("vacuum full ledger.words")
        db.execute("checkpoint")
        [file] = db.execute("select pg_relation_filepath('ledger.words')").fetchone()
    lying = (server.folder / "data" / file).read_bytes()
    assert lying and b"to be forgotten" not in lying


def test_every_command_works_on_a_database(equipoise, where, tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIPOISE_LEDGER", where.url)
    asked = ("fingerprint", "--suite", "demo", "--subject", "planted:follows-position")
    code, _, err = equipoise("run", *asked, "--run", "r1")
    assert code == 0, err
    code, again, err = equipoise("run", *asked, "--run", "r1")
    assert code == 0 and "\n0 calls in" in err, err
    assert equipoise("runs")[1].count("\nr1 ") == 1
    code, read, _ = equipoise("read", "r1", "--json")
    assert code == 0
    code, page, err = equipoise("report", "r1", "--out", "-")
    assert code == 0 and page.startswith("<!doctype html>"), err
    code, cells, _ = equipoise("export", "r1")
    assert code == 0 and cells.count("\n") > 150
    assert equipoise("log", "r1")[0] == 0 and equipoise("log", "--check")[0] == 0
    code, out, _ = equipoise("verify")
    assert code == 0 and "Everything holds." in out
    assert equipoise("replay-check", "r1", "--sample", "20")[0] in (0, 10)
    code, out, _ = equipoise("doctor", "--json")
    assert code == 0 and '"PostgreSQL 18' in out and "append, and change nothing" in out
    code, out, err = equipoise("ledger", "copy", where.url, "copy.db")
    assert code == 0, err
    for words, before in ((("read", "r1", "--json"), read), (("export", "r1"), cells)):
        assert equipoise(*words, "--ledger", "copy.db")[1] == before
    assert equipoise("ledger", "copy", where.url, "copy.db")[0] == 0


def test_doctor_says_what_a_database_lacks(equipoise, server, where):
    code, out, _ = equipoise("doctor", "--ledger", server.as_owner("template_ledger").url)
    assert code == 1 and "is a superuser" in out
    bare = server.database(laid_out=False)
    code, out, _ = equipoise("doctor", "--ledger", bare.url)
    assert "There is no ledger here yet" in out


@pytest.mark.parametrize("seed", range(4))
def test_the_book_of_budgets_in_a_database_is_the_book_beside_a_file(where, tmp_path, seed):
    rng, books = random.Random(seed), [open_book(tmp_path / "l.db"), open_book(where)]
    for _ in range(80):
        act = rng.choice(["set_cap", "reserve_slice", "reserve_slice", "release", "settled"])
        budget, run = rng.choice("ab"), rng.choice("rst")
        given = ((Cap(rng.choice([None, 8.0, 64.0]), rng.choice([None, 100])),)
                 if act == "set_cap" else
                 (run, rng.choice([0.0, 0.25, 4.0]), rng.choice([0, 1, 7])))
        if act != "set_cap" and books[0].totals(budget) is None:
            continue
        one, other = (getattr(book, act)(budget, *given) for book in books)
        assert one == other
        for ask in (lambda book: [book.totals(b) for b in "ab"],
                    lambda book: [book.open_shares(b) for b in "ab"],
                    lambda book: [book.budgets(r) for r in "rst"]):
            assert ask(books[0]) == ask(books[1])
    for book in books:
        book.close()


def test_one_process_at_a_time_spends_for_a_run(where):
    one, other = open_book(where), open_book(where)
    assert not other.alive("r")
    with one.spending("r") as ours, other.spending("r", wait=False) as theirs:
        assert (ours, theirs, other.alive("r")) == (True, False, True)
    assert not other.alive("r")
    one.close()
    other.close()


def test_a_cap_holds_over_sessions_of_a_run_in_a_database(equipoise, where):
    asked = ("run", "fingerprint", "--suite", "demo", "--subject", "planted:holds", "--run", "r1",
             "--ledger", where.url)
    assert equipoise(*asked, "--max-calls", 40)[0] == 7
    assert equipoise(*asked, "--max-calls", 40)[0] == 7
    assert rows(where, "select count(*) from entries where kind = 'intent'") == [(40,)]
    code, _, err = equipoise(*asked, "--max-calls", 200)
    assert code == 0, err
    code, out, _ = equipoise("costs", "r1", "--ledger", where.url)
    assert code == 0 and "144" in out


def test_a_run_goes_from_a_database_to_a_file_and_back(equipoise, where, server):
    asked = ("run", "fingerprint", "--suite", "demo", "--subject", "planted:flips-coins",
             "--run", "r1")
    assert equipoise(*asked, "--ledger", where.url)[0] == 0
    exported = equipoise("export", "r1", "--format", "run", "-o", "r1.run", "--ledger", where.url)
    assert exported[0] == 0, exported
    again = server.database()
    for place_ in ("again.db", again.url):
        code, _, err = equipoise("import", "r1.run", "--ledger", place_)
        assert code == 0, err
        assert equipoise("export", "r1", "--ledger", place_)[1] == (
            equipoise("export", "r1", "--ledger", where.url)[1])
    assert verify(again).faults == ()
    code, _, err = equipoise("backup", "copy.db", "--ledger", where.url)
    assert code == 0, err
    assert equipoise("backup", "copy.db", "--ledger", where.url)[0] == 2
