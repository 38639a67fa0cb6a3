"""A key is in nothing that is written or shown, whatever a server does with it."""

import base64
import html
import json
import logging
import os
import re
import subprocess
import sys
import traceback
from urllib.parse import quote

import apsw
import pytest

from equipoise.ledger import Ledger
from equipoise.ledger.words import Codec
from faulty_server import response
from serving_thread import served
from test_faults_runs import said

KEY = 'sk-C4n4ry+/"<&>\\=7d9fQ2xk-LastEight'


def forms(key=KEY):
    """What gives the key away: each name of a form, and the bytes to look for."""
    raw = key.encode()
    found = {
        "plain": raw, "reversed": raw[::-1], "first eight": raw[:8], "last eight": raw[-8:],
        "address": quote(key, safe="").encode(), "address, lower":
            re.sub(r"%..", lambda m: m[0].lower(), quote(key, safe="")).encode(),
        "JSON": json.dumps(key)[1:-1].encode(), "JSON, all escaped":
            "".join(f"\\u{ord(c):04x}" for c in key).encode(),
        "HTML": html.escape(key).encode(), "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(), "repr": repr(key)[1:-1].encode(),
    }
    for shift in range(3):
        for name, encode in (("base64", base64.b64encode), ("base64url", base64.urlsafe_b64encode)):
            # The characters that neighbours share are left off.
            whole = encode(bytes(shift) + raw)
            found[f"{name} {shift}"] = whole[4 if shift else 0 : -4]
    return found


def sent():
    """The same as a server would send them: what is in base64 as a whole, among other bytes."""
    raw = KEY.encode()
    for name, form in forms().items():
        encoding, _, shift = name.partition(" ")
        if encoding in ("base64", "base64url"):
            encode = base64.b64encode if encoding == "base64" else base64.urlsafe_b64encode
            yield encode(b"key"[: int(shift)] + raw + b" and more")
        else:
            yield form


def traces(text):
    return [name for name, form in forms().items() if form in text]


def test_every_form_is_one_that_would_be_found():
    assert traces(KEY.encode()) and len(forms()) == 18
    for name, form in forms().items():
        assert name in traces(b"a" + form + b"b")


async def echoes(got, wire):
    """Sends the key back in every form: in answers, error pages, headers, addresses."""
    form = list(sent())[got.place % len(forms())]
    assert got.headers["authorization"] == f"Bearer {KEY}"
    shown = form.decode("latin-1")
    turn = got.place % 7
    header = b"X-Echo: " + form
    if turn == 1:
        return await wire.send(response(b"<html>bad key " + form, 400, header))
    if turn == 2:
        return await wire.send(response(b"", 302, b"Location: https://a.example/?k=" + form))
    if turn == 3 and got.place < 60:
        return await wire.send(response(b'{"error":"' + form + b'"}', 503, header))
    if turn == 4:
        await wire.send(response(said(shown), 200, header)[:-9])
        return wire.reset()
    return await wire.send(response(said(f"mercy {shown}", model=shown), 200, header))


async def refuses(got, wire):
    """A 401 that says which key it was."""
    body = b"Incorrect API key provided: " + KEY.encode() + b" " + b" ".join(sent())
    await wire.send(response(body, 401, b"WWW-Authenticate: Bearer " + KEY.encode()))


def restored(path):
    """Everything the ledger holds, uncompressed."""
    db = apsw.Connection(str(path))
    codec = Codec(dict(db.execute("select id, bytes from dictionaries")))
    for table in ("words", "requests"):
        for body, number in db.execute(f"select body, dictionary from {table}"):
            yield codec.restore(body, number)
    for table in ("entries", "subjects", "stimuli", "dictionaries"):
        for row in db.execute(f"select * from {table}"):
            yield repr(row).encode() + b"".join(
                part if isinstance(part, bytes) else str(part).encode() for part in row)
    db.close()


def pipeline(equipoise, server, folder, monkeypatch):
    """Every command that handles what came back; yields what each showed."""
    asks = ("--subject", f"openai:m@http://127.0.0.1:{server.port}/v1", "--max-calls", 4000,
            "--yes", "--attempts", 2)
    yield equipoise("run", "fingerprint", "--suite", "demo", *asks, "--run", "r1")
    yield equipoise("run", "fingerprint", "--suite", "demo", *asks, "--run", "r1", "--json")
    for words in (
        ("read", "r1"), ("read", "r1", "--json"), ("report", "r1"), ("runs",), ("verify", "--json"),
        ("export", "r1", "--out", "c.csv"), ("export", "r1", "--format", "jsonl", "--raw"),
        ("log", "r1", "--page", "log.html"), ("backup", "b.db"), ("doctor", "--json"),
        ("erase", "--find", "mercy"), ("log", "r1", "--check"),
    ):
        yield equipoise(*words)

    def broken(*args, **more):
        raise RuntimeError("forced")

    monkeypatch.setenv("EQUIPOISE_DEBUG", "1")
    monkeypatch.setattr(Ledger, "settle", broken)
    with pytest.raises(RuntimeError) as error:
        equipoise("run", "fingerprint", "--suite", "demo", *asks, "--run", "r2")
    text = "".join(traceback.format_exception(error.value))
    assert "forced" in text and "settle" in text
    yield 1, "", text


@pytest.mark.parametrize("behave", [echoes, refuses])
def test_a_key_that_a_server_sends_back_is_in_no_file_page_export_log_or_traceback(
    equipoise, tmp_path, monkeypatch, behave
):
    monkeypatch.setenv("EQUIPOISE_API_KEY", KEY)
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    handler = logging.FileHandler(tmp_path / "debug.log")
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    shown = []
    try:
        with served(behave) as server:
            shown = list(pipeline(equipoise, server, tmp_path, monkeypatch))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()
    codes = [code for code, _, _ in shown]
    assert codes[0] == (4 if behave is refuses else 3)
    for code, out, err in shown:
        assert traces(out.encode() + err.encode()) == [], (code, out, err)
    for file in filter(lambda p: p.is_file(), tmp_path.rglob("*")):
        assert traces(file.read_bytes()) == [], file
    words = list(restored(tmp_path / "ledger.db"))
    assert [found for text in words for found in traces(text)] == []
    assert any(b"[key struck out]" in text for text in words)
    assert "EQUIPOISE_API_KEY" in "".join(out for _, out, _ in shown), "doctor says where keys are"


def test_no_option_of_any_command_takes_a_key():
    import click

    from equipoise.cli.app import app

    def options(command):
        for part in command.params:
            # A file is named, not a secret: a queue's key says which verdict an item is of.
            if not isinstance(part.type, click.Path):
                yield from part.opts
        for child in getattr(command, "commands", {}).values():
            yield from options(child)

    found = sorted(set(options(app)))
    assert len(found) > 40 and isinstance(app, click.Group)
    assert [o for o in found if re.search(r"key|token|secret|passw|auth|credential", o)] == []


@pytest.mark.parametrize("spec", [
    f"openai:m?api_key={quote(KEY)}", f"openai:m?key={quote(KEY)}",
    f"openai:m@https://x:{quote(KEY, safe='')}@host/v1",
])
def test_a_key_in_a_subject_is_refused_and_not_repeated(equipoise, spec):
    code, out, err = equipoise("plan", "fingerprint", "--suite", "demo", "--subject", spec)
    assert code == 2
    assert traces(out.encode() + err.encode()) == []


def test_the_command_line_leaves_no_core_file():
    done = subprocess.run(
        [sys.executable, "-c", "import atexit, os, resource, sys; from equipoise import cli\n"
         "cli.command = lambda: print(resource.getrlimit(resource.RLIMIT_CORE)[0])\ncli.main()"],
        capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "0\n"
