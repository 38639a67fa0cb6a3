"""Erased words are nowhere; what is asked before they are; and findings do not depend on where."""

import json
import os
import subprocess
import sys

import pytest

from equipoise.cli import keeping
from equipoise.ledger import verify
from faulty_server import response
from serving_thread import served
from test_faults_runs import run, said

PERSON = "Zsófia Kovács of number {n}, Lindenstraße"


@pytest.fixture
def told(equipoise):
    """A run of which twenty replies hold a person's words, each its own."""
    async def behave(got, wire):
        n = got.place
        words = f"A. {PERSON.format(n=n)} \u2603" if n < 20 else "B"
        body = said(words) if n % 2 else json.dumps(json.loads(said(words))).encode()
        await wire.send(response(body))

    with served(behave) as server:
        code, _, err = run(equipoise, server)
    assert code == 0, err
    return equipoise


def traces(folder, n):
    """Files that hold the words of a person, in any form in which they may stand there."""
    text = PERSON.format(n=n)
    forms = {text.encode(), text.encode("utf-16-le"), json.dumps(text)[1:-1].encode(),
             text.encode().hex().encode()}
    return [p.name for p in folder.rglob("*") if p.is_file()
            and any(form in p.read_bytes() for form in forms)]


def test_twenty_erased_replies_are_in_no_file_and_the_chain_still_verifies(told, tmp_path):
    assert told("export", "r1", "--out", "before.csv")[0] == 0
    assert traces(tmp_path, 7) == ["before.csv"]
    (tmp_path / "before.csv").unlink()
    _, out, _ = told("erase", "--find", "Zsófia Kovács", "--json")
    found = json.loads(out)["entries"]
    assert len(found) == 20 and {f["run"] for f in found} == {"r1"}
    code, _, err = told("erase", *(f["seq"] for f in found), "--reason", "she asked", "--yes")
    assert code == 0 and "20 entries erased" in err
    assert json.loads(told("erase", "--find", "Zsófia", "--json")[1])["entries"] == []
    for words in (("export", "r1", "--out", "cells.csv"), ("backup", "copy.db"),
                  ("export", "r1", "--format", "jsonl", "--out", "cells.jsonl"),
                  ("report", "r1", "--out", "page.html"), ("verify",)):
        assert told(*words)[0] == 0, words
    assert [traces(tmp_path, n) for n in range(20)] == [[]] * 20
    for ledger in ("ledger.db", "copy.db"):
        kept = verify(tmp_path / ledger)
        assert (kept.erased, kept.faults) == (20, ())
    # The words are compressed in the file, so the compressed bytes must be gone as well: what is
    # restored from every row holds none of them.
    assert told("erase", "--find", "Lindenstra")[1].splitlines()[1:] == []


def test_an_erased_reply_leaves_no_compressed_copy_either(told, tmp_path):
    """The bytes as they lay in the file are looked for themselves."""
    import apsw

    db = apsw.Connection(str(tmp_path / "ledger.db"))
    found = json.loads(told("erase", "--find", "number 7,", "--json")[1])["entries"]
    [seq] = [entry["seq"] for entry in found]
    body = db.execute("select body from words where seq = ?", (seq,)).get
    db.close()
    assert told("erase", seq, "--reason", "she asked", "--yes")[0] == 0
    part = body[20:60]
    assert len(part) == 40
    assert not [p.name for p in tmp_path.iterdir() if p.is_file() and part in p.read_bytes()]


def test_erasing_is_asked_for_by_name_and_refused_off_a_terminal(told, tmp_path, monkeypatch):
    before = verify(tmp_path / "ledger.db").head
    [entry] = json.loads(told("erase", "--find", "number 1,", "--json")[1])["entries"]
    code, _, err = told("erase", entry["seq"], "--reason", "x")
    assert code == 2 and "off a terminal this needs --yes" in err
    monkeypatch.setattr(keeping.sys.stdin, "isatty", lambda: True, raising=False)
    for typed, code in (("r2", 2), ("", 2), ("r1", 0)):
        monkeypatch.setattr("builtins.input", lambda typed=typed: typed)
        assert told("erase", entry["seq"], "--reason", "x")[0] == code
        assert (verify(tmp_path / "ledger.db").head == before) == (code != 0)


@pytest.mark.parametrize("words, said_", [
    ((), "Nothing to erase"), ((3,), "Say why with --reason"),
    ((1, "--reason", "x", "--yes"), "Entry 1 holds no words that can be erased"),
    ((999, "--reason", "x", "--yes"), "Entry 999 holds no words"),
])
def test_what_cannot_be_erased_is_said_and_nothing_is(told, tmp_path, words, said_):
    before = verify(tmp_path / "ledger.db").head
    code, _, err = told("erase", *words)
    assert code == 2 and said_ in err
    assert verify(tmp_path / "ledger.db").head == before


# The same bytes anywhere.

AGAIN = """
import hashlib, io, itertools, json, locale, os, socket, sys, time
from contextlib import redirect_stdout

def refuse(*args, **more):
    raise OSError("the network is off")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from equipoise.cli.app import app

def said(*words):
    out = io.StringIO()
    with redirect_stdout(out):
        app([*words, "--ledger", ledger], standalone_mode=False)
    return out.getvalue()

ledger, folders = os.path.abspath("ledger.db"), sys.argv[1:]
for zone, speech, folder in itertools.product(
        ("UTC", "Pacific/Kiritimati", "America/St_Johns"), ("C", "C.UTF-8", "POSIX"), folders):
    os.environ["TZ"] = zone
    time.tzset()
    locale.setlocale(locale.LC_ALL, speech)
    os.chdir(folder)
    made = [said(*words) for words in (
        ("report", "r1", "--out", "-"), ("read", "r1", "--json"), ("export", "r1"))]
    print(hashlib.sha256("".join(made).encode()).hexdigest(), sum(map(len, made)) > 50_000)
"""


def test_reports_are_the_same_bytes_in_any_zone_speech_hash_seed_and_folder(told, tmp_path):
    """27 ways: three time zones, three locales and a random hash seed in each of three folders."""
    seen = []
    for place in range(3):
        folder = tmp_path / f"here {place}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", AGAIN, str(folder)], cwd=tmp_path, check=True, text=True,
            capture_output=True, env=os.environ | {"PYTHONHASHSEED": "random"})
        seen += done.stdout.splitlines()
    assert len(seen) == 27
    assert len(set(seen)) == 1 and seen[0].endswith("True")
