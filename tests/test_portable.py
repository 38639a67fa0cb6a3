"""A run goes to one file and back with nothing lost, nothing changed and nothing half written."""

import asyncio
import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
import zstandard

import dying
from equipoise.cli.running import read_run
from equipoise.ledger import Ledger, portable, verify
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.registration import Registration
from equipoise.terms import (
    Fault,
    Misuse,
    Reply,
    Request,
    Subject,
    canonical_json,
    content_hash,
)
from studying import registered, studied

RUNS = {
    "fingerprint": ["--suite", "demo", "-s", "planted:holds", "-s", "planted:follows-position"],
    "label-swap": ["--decisions", "grant", "-s", "planted:leans"],
    "debates": ["--debates", "pineapple-on-pizza,tea-or-coffee", "-s", "planted:hedges"],
    "replay": ["--openings", "sell-the-piano", "--change", "instruction:all", "-s",
               "planted:better", "--reader", "planted:perfect"],
}


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


def stamp_of(run):
    return Registration.from_json(run.registration).stamp


def exported(path, out, name=None):
    ledger = Ledger.open(path, read_only=True)
    try:
        run = ledger.run(name) if name else ledger.runs()[0]
        return portable.write(ledger, run, stamp_of(run), out)
    finally:
        ledger.close()


def small(path, name="r1"):
    """A ledger with a small run whose first reply is `yes`."""
    async def provider(request):
        return Reply(b'{"choices":[{"message":{"content":"vodka"},"finish_reason":"stop"}]}')

    subject = Subject("s", "m", "f", "openai")
    registration, stimuli = registered(subjects=(subject,))
    few = replace(registration, cells=1)
    ledger = Ledger.open(path)
    run = ledger.register(name, few.as_json(), stimuli.texts)

    async def ask():
        for n in range(6):
            request = Request(subject, (), body=b'{"n":%d}' % n)
            intent = await ledger.intend(run.seq, f"s/{n}/1", "choice", 1, request)
            reply = Reply(b'{"said":"%d"}' % n, 200, (("x-id", str(n)),), 0.25)
            await ledger.settle(run.seq, intent, reply, 0.25)

    asyncio.run(ask())
    ledger.close()
    return path


@pytest.fixture
def path(tmp_path):
    return small(tmp_path / "a.db")


@pytest.fixture
def file(path, tmp_path):
    exported(path, tmp_path / "run.eqp")
    return tmp_path / "run.eqp"


def worsened(path):
    """Give a recorded run faults, unknown calls, calls cut off by a kill, and erased words."""
    ledger = Ledger.open(path)
    run = ledger.runs()[-1]
    intents = [kept for kept in ledger.kept(run.seq) if kept.kind == "intent"]

    async def again():
        for place, kept in enumerate(intents[:9]):
            request = Request(Subject(**json.loads(kept.subject)), (), body=kept.sent)
            intent = await ledger.intend(run.seq, kept.key, kept.stage, 2, request)
            if place < 6:
                fault = Fault("unreachable", "timed out", sent=place < 3)
                await ledger.settle(run.seq, intent, fault, 0.1)

    asyncio.run(again())
    replies = [kept.seq for kept in ledger.kept(run.seq) if kept.kind == "reply"]
    for seq in (replies[len(replies) // 4], replies[len(replies) // 2], replies[-1]):
        ledger.erase(seq, "asked for by a person")
    ledger.note(run.seq, "ended", "a remark")
    ledger.close()


@pytest.mark.parametrize("instrument", RUNS)
def test_readings_report_and_times_are_those_of_the_source(equipoise, tmp_path, instrument):
    assert equipoise("run", instrument, *RUNS[instrument], "--run", "r", "--no-progress")[0] == 0
    worsened(tmp_path / "ledger.db")
    other = ["--ledger", tmp_path / "other.db"]
    # So that its entries have other numbers there.
    equipoise("run", "fingerprint", "-s", "planted:holds", "--suite", "demo", "--no-progress",
              *other)
    assert equipoise("export", "r", "--format", "run", "-o", "run.eqp")[0] == 0
    code, out, err = equipoise("import", "run.eqp", *other)
    assert code == 0 and "Imported the run r" in out, err

    def shown(*where):
        said = [equipoise("read", "r", "--json", *where)[1],
                equipoise("export", "r", "--format", "jsonl", *where)[1]]
        assert equipoise("report", "r", "-o", "page.html", *where)[0] == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        ledger = Ledger.open(Path(where[1]) if where else tmp_path / "ledger.db", read_only=True)
        run = ledger.run("r")
        kept = [k._replace(seq=0, intent=None, link=b"") for k in ledger.kept(run.seq)
                if k.key not in (portable.EXPORTED, portable.IMPORTED)]
        head, times = str(ledger.head()), ledger.answered(run.seq)
        ledger.close()
        return [*said, page.replace(head, "HEAD"), kept, times, run.at]

    assert shown() == shown(*other)
    assert verify(tmp_path / "other.db").erased == 3
    assert not verify(tmp_path / "other.db").faults


def test_the_file_is_a_ledger_that_verifies_and_names_where_it_came_from(equipoise, path, tmp_path):
    source = Ledger.open(path, read_only=True)
    head, kept = str(source.head()), list(source.kept(1))
    source.close()
    made = exported(path, tmp_path / "run.eqp")
    code, out, _ = equipoise("verify", "--ledger", "run.eqp", "--head", made)
    assert code == 0 and "Everything holds" in out
    with portable.opened(tmp_path / "run.eqp") as (ledger, run, _):
        note = list(ledger.kept(run.seq))[-1]
    said = json.loads(note.words)
    assert (note.kind, note.key) == ("note", "exported")
    assert said == {"ledger": head, "run": "r1",
                    "first": {"entry": kept[0].seq, "link": kept[0].link.hex()},
                    "last": {"entry": kept[-1].seq, "link": kept[-1].link.hex()}}


def test_a_run_that_is_there_with_the_same_content_is_not_written_again(equipoise, file, tmp_path):
    said = json.loads(equipoise("import", file, "--json")[1])
    assert (said["run"], said["written"], said["entries"]) == ("r1", True, 14)
    assert json.loads(equipoise("import", file, "--json")[1])["written"] is False
    before = verify(tmp_path / "ledger.db").head
    code, out, _ = equipoise("import", file)
    assert code == 0 and "already, with the same content. Nothing was written" in out
    # Nor where it came from: an export of the copy is of the same run.
    exported(tmp_path / "ledger.db", tmp_path / "again.eqp")
    assert equipoise("import", "again.eqp", "--ledger", "a.db")[0] == 0
    assert verify(tmp_path / "ledger.db").head == before


def test_a_run_of_that_name_with_other_content_is_refused_and_can_be_named(equipoise, file,
                                                                           tmp_path):
    small(tmp_path / "ledger.db")
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.note(1, "ended", "gone on")
    ledger.close()
    before = verify(tmp_path / "ledger.db").head
    code, _, err = equipoise("import", file)
    assert code == 2 and "with other content" in err and "--run NAME" in err
    assert verify(tmp_path / "ledger.db").head == before
    assert equipoise("import", file, "--run", "r2")[0] == 0
    assert [run["name"] for run in json.loads(equipoise("runs", "--json")[1])["runs"]] == [
        "r1", "r2"]


def test_a_run_goes_on_in_its_new_ledger_where_it_stopped(tmp_path):
    async def stops(request):
        stops.asked = getattr(stops, "asked", 0) + 1
        if stops.asked > 50:
            return Fault("auth", "no", sent=False)
        return Reply(b'{"choices":[{"message":{"content":"vodka"},"finish_reason":"stop"}]}')

    async def goes_on(request):
        return Reply(b'{"choices":[{"message":{"content":"vodka"},"finish_reason":"stop"}]}')

    subject = Subject("s", "m", "f", "openai")
    planned = registered(subjects=(subject,))
    studied(tmp_path / "a.db", stops, planned, at_once=1)
    exported(tmp_path / "a.db", tmp_path / "run.eqp")
    portable.take(tmp_path / "b.db", tmp_path / "run.eqp", None)
    _, _, desk = studied(tmp_path / "b.db", goes_on, planned, at_once=1)
    assert desk.outcomes["calls"] == 144 - 50


@pytest.mark.parametrize("attack, named", [
    ("update entries set at = at + 1 where seq = 5", "entry 5 (reply)"),
    ("update entries set kind = 'fault' where seq = 3", "entry 3 (fault)"),
    ("delete from entries where seq = 7", "entry 8 (intent)"),
    ("update entries set key = 's/0/2' where seq = 2", "entry 2 (intent)"),
    ("update words set salt = x'00' where seq = 1", "entry 1 (run)"),
    ("update requests set body = (select body from requests where id = 2) where id = 1",
     "request 1"),
    ("update subjects set body = '{}'", "subject 1"),
    ("update stimuli set body = (select body from words where seq = 1)", "stimuli"),
])
def test_an_altered_file_is_refused_with_the_entry_named(equipoise, file, tmp_path, attack, named):
    act, *words = attack.split()
    guard = f"{words[act == 'delete']}_no_{act}"
    db = apsw.Connection(str(file))
    db.execute("pragma foreign_keys = off")
    sql = db.execute("select sql from sqlite_schema where name = ?", (guard,)).get
    db.execute(f"drop trigger {guard}")
    db.execute(attack)
    db.execute(sql)
    db.close()
    code, _, err = equipoise("import", file)
    assert code == 5 and named in err and "Nothing was imported" in err, err
    assert not (tmp_path / "ledger.db").exists()


def test_a_file_cut_or_flipped_anywhere_is_refused_or_says_the_same(equipoise, file, tmp_path):
    whole, rng = file.read_bytes(), random.Random(1)
    refused = 0
    for trial in range(60):
        bad = bytearray(whole)
        if trial < 20:
            del bad[rng.randrange(1, len(bad)):]
        else:
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        (tmp_path / "bad.eqp").write_bytes(bad)
        code, _, err = equipoise("import", "bad.eqp", "--format", "run", "--ledger",
                                 f"to{trial}.db")
        assert "fault of equipoise" not in err, err
        if code:
            refused += 1
            assert code in (2, 5) and not (tmp_path / f"to{trial}.db").exists(), err
        else:
            # A flip in a page's empty part changes nothing that is read.
            assert equipoise("import", file, "--ledger", f"to{trial}.db")[0] == 0
    assert refused > 20


def test_a_body_that_would_unpack_without_end_is_refused(equipoise, file):
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 300_000_000)
    db = apsw.Connection(str(file))
    db.execute("drop trigger words_no_update")
    db.execute("update words set body = ? where seq = 3", (bomb,))
    db.close()
    code, _, err = equipoise("import", file)
    assert code == 5 and "the words of entry 3 would unpack to more than" in err


def test_a_ledger_of_several_runs_and_other_files_are_refused(equipoise, path, file, tmp_path):
    small(path, "r2")
    code, _, err = equipoise("import", path)
    assert code == 2 and "holds 2 runs (r1, r2)" in err and "--format run" in err
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert equipoise("import", "x.db")[0] == 5
    apsw.Connection(str(tmp_path / "y.db")).execute("create table t (a)")
    assert equipoise("import", "y.db")[0] == 5
    assert equipoise("import", "nowhere")[0] == 2
    assert equipoise("import", file, "--run", "../../x")[0] == 2
    assert equipoise("export", "r1", "--format", "run", "--ledger", path)[0] == 2


def test_nothing_is_written_beside_a_file_that_is_imported(equipoise, file, tmp_path):
    inside = tmp_path / "kept"
    inside.mkdir()
    shutil.copy(file, inside / "run.eqp")
    before = (inside / "run.eqp").read_bytes()
    assert equipoise("import", "kept/run.eqp")[0] == 0
    assert [p.name for p in inside.iterdir()] == ["run.eqp"]
    assert (inside / "run.eqp").read_bytes() == before


@pytest.mark.parametrize("act, points", [("file", 50), ("hf", 50), ("run", 50), ("import", 30)])
def test_killed_at_any_point_the_old_stands_or_the_new_never_a_mixture(tmp_path, act, points):
    begun = tmp_path / "begun"
    begun.mkdir()
    small(begun / "from.db")
    exported(begun / "from.db", begun / "whole.eqp")
    small(begun / "to.db", "before")
    (begun / "run.eqp").write_bytes(dying.OLD)
    (begun / "cells.csv").write_bytes(dying.OLD)
    *states, end = dying.killed(act, tmp_path, points)
    assert len(states) == points and end == "new"
    assert set(states) <= {"old", "new"} and "old" in states, states


def test_a_full_run_is_read_again_from_the_file_alone(file):
    with portable.opened(file) as (ledger, run, _):
        _, laid_out, found = read_run(ledger, run.name)
    assert len(found.observations) == len(laid_out.trials)


def test_a_misnamed_stimuli_stamp_is_no_reason_to_fail_oddly(tmp_path):
    ledger = Ledger.open(tmp_path / "l.db")
    ledger.register("r1", b'{"stamp":"nothing"}', {"a": "b"})
    ledger.close()
    with pytest.raises(Misuse, match="does not hold the stimuli"), portable.opened(
            tmp_path / "l.db"):
        raise AssertionError("it must not open")


PLAN = {"instrument": "imported", "suite": "inspect", "stamp": "", "subjects": [], "items": [],
        "factors": {}, "draws": 1, "cells": 1, "order": "", "readers": [], "primary": "",
        "until_dissent": False}
SUBJECT = {"name": "s", "model": "m", "family": "f", "dialect": "openai", "base_url": "",
           "settings": {}, "engine": {}}


@pytest.mark.parametrize("plan", [
    b"not json", b"[]", b"{}", b'{"stamp":"x"}', PLAN | {"cells": "many"},
    PLAN | {"subjects": [{"name": "s"}]}, PLAN | {"subjects": [SUBJECT | {"name": 7}]},
    PLAN | {"instrument": None}, PLAN | {"more": 1},
])
def test_a_plan_that_could_not_be_listed_is_not_taken_in(equipoise, tmp_path, plan):
    made(tmp_path, plan, b"[]\n{}")
    code, _, err = equipoise("import", "odd.db")
    assert code == 5 and "fault of equipoise" not in err, err
    assert not (tmp_path / "ledger.db").exists() or equipoise("runs")[0] == 0


@pytest.mark.parametrize("words, key", [
    (b"no headers", "s/1/1"), (b"{}\n{}", "s/1/1"), (b"[]\n{}", "s/1"), (b"[]\n{}", "s/1/x"),
    (b"[]\n[[[[", "s/1/1"), (b"[]\n" + b"[" * 100_000, "s/1/1"),
])
def test_what_no_import_writes_is_refused_or_read_as_an_error(equipoise, tmp_path, words, key):
    made(tmp_path, PLAN | {"subjects": [SUBJECT]}, words, key)
    code, _, err = equipoise("import", "odd.db")
    assert code in (0, 5) and "fault of equipoise" not in err, err
    for act in (["read", "r1", "--reader", "stated_choice", "--words", "a,b"], ["export", "r1"],
                ["export", "r1", "--format", "eval", "-o", "x.eval"], ["report", "r1"]):
        _, _, err = equipoise(*act)
        assert "fault of equipoise" not in err, err


def made(tmp_path, plan, words, key="s/1/1"):
    """A ledger whose chain holds, with one run that no command would have written."""
    ledger = Ledger.open(tmp_path / "odd.db")
    if isinstance(plan, dict):
        plan = canonical_json(plan | {"stamp": content_hash({"log.json": "{}"})})
    run = ledger.register("r1", plan, {"log.json": "{}"})
    [intent] = ledger.journal.append([Draft(
        Entry("intent", run.seq, key, "recorded", 1),
        request=Request(Subject(**SUBJECT), (), body=b"{}"))])
    ledger.journal.append([Draft(Entry("reply", run.seq, intent=intent, micros=0, status=200),
                                 words)])
    ledger.close()
