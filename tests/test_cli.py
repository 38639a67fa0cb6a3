"""The command line: results on stdout, messages on stderr, and exit codes that mean something."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from equipoise.ledger import Ledger
from equipoise.terms import Misuse

HOLDS = ["run", "fingerprint", "--suite", "demo", "-s", "planted:holds", "--no-progress"]


def run_name(equipoise):
    return json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]


def test_a_run_prints_its_findings_and_its_head(equipoise):
    code, out, err = equipoise(*HOLDS)
    assert code == 0
    assert "12 of 12 · 100%" in out
    assert "head 289:" in err
    assert "144 calls" in err


def test_the_same_command_again_asks_nothing(equipoise):
    equipoise(*HOLDS)
    _, again, err = equipoise(*HOLDS)
    assert "0 calls" in err and "144 cells were on record already" in err
    assert "12 of 12" in again


@pytest.mark.parametrize("words", [
    ["plan", "fingerprint", "-s", "planted:holds", "--json"], [*HOLDS, "--json"],
    [*HOLDS, "--dry-run", "--json"], ["runs", "--json"], ["verify", "--json"],
    ["doctor", "--json"], ["models", "list", "--json"], ["selftest", "--suite", "demo", "--json"],
])
def test_json_is_one_object_with_a_version_and_nothing_else_on_stdout(equipoise, words):
    equipoise(*HOLDS)
    code, out, _ = equipoise(*words)
    assert code == 0
    assert json.loads(out)["schema_version"] == 1


def test_a_dry_run_sends_nothing_and_writes_nothing(equipoise, tmp_path):
    code, out, _ = equipoise(*HOLDS[:-1], "--dry-run")
    assert code == 0 and "Calls         144 exactly" in out
    assert not (tmp_path / "ledger.db").exists()


def test_plan_gives_exact_calls_and_bounds_the_cost(equipoise):
    words = ["plan", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1?max_tokens=16",
             "--suite", "quick", "--price", "1,2", "--json"]
    said = json.loads(equipoise(*words)[1])
    assert said["calls"] == 60 * 12
    cost = said["cost_usd"]
    assert 0 < cost["low"] < cost["expected"] < cost["worst"]


def test_a_plan_until_dissent_says_what_it_may_save(equipoise):
    said = json.loads(equipoise("plan", "fingerprint", "-s", "planted:holds", "--json",
                                "--until-dissent")[1])
    assert (said["calls"], said["calls_least"]) == (144, 12)


@pytest.mark.parametrize("words, code, said", [
    (["run", "palmistry", "-s", "planted:holds"], 2, "No instrument 'palmistry'"),
    (["run", "fingerprint", "-s", "planted:hold"], 2, "Did you mean 'holds'"),
    (["run", "fingerprint", "-s", "holds"], 2, "wanted local:MODEL"),
    (["run", "fingerprint", "-s", "local:smollm3"], 2, "smollm2-135m"),
    (["run", "fingerprint", "-s", "local:/nowhere/x.gguf"], 2, "x.gguf"),
    (["run", "fingerprint", "-s", "openai:m@ftp://x"], 2, "http://"),
    (["run", "fingerprint", "-s", "planted:holds", "--suite", "dmo"], 2, "Did you mean 'demo'"),
    (["run", "fingerprint", "-s", "planted:holds", "--suite", "./no/such"], 2, "no folder"),
    (["run", "fingerprint", "-s", "planted:holds", "--answers", "shouted"], 2, "shouted"),
    (["run", "fingerprint", "-s", "planted:holds", "--order", "sideways"], 2, "sideways"),
    (["run", "fingerprint", "-s", "planted:holds", "--draws", "0"], 2, "at least 1"),
    (["run", "fingerprint", "-s", "planted:holds", "-s", "planted:holds"], 2, "one name"),
    (["run", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1"], 2, "nothing caps it"),
    (["run", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1", "--max-usd", "1"], 2,
     "needs a price"),
    (["run", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1", "--max-calls", "9"], 2,
     "needs --yes"),
    (["run", "fingerprint", "-s", "openai:m@http://me:secret@127.0.0.1:9/v1"], 2, "name or pass"),
    (["run", "fingerprint", "-s", "planted:holds?messages=1"], 2, "'messages'"),
    (["run", "fingerprint", "-s", "planted:holds?temperature=NaN"], 2, "temperature=nan"),
    (["run", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1", "--price", "a"], 2,
     "two numbers"),
    (["read", "nothing"], 2, "There is no ledger"),
    (["verify"], 2, "There is no ledger"),
    (["verify", "--head", "12"], 2, "ROWS:LINK"),
    (["completion", "tcsh"], 2, "bash, zsh and fish"),
    (["try-reader", "palm", "-"], 2, "No reader 'palm'"),
    (["try-reader", "first_word", "/nowhere.jsonl"], 2, "cannot be read"),
    (["models", "pull", "smollm2"], 2, "smollm2-135m"),
    (["frobnicate"], 2, "frobnicate"),
    (["run", "--frob"], 2, "frob"),
])
def test_a_bad_command_ends_in_a_sentence_and_its_code(equipoise, words, code, said):
    ended, out, err = equipoise(*words)
    assert (ended, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_a_run_that_is_not_on_record_is_answered_with_those_that_are(equipoise):
    equipoise(*HOLDS)
    code, _, err = equipoise("read", "nothing")
    assert code == 2 and run_name(equipoise) in err


def test_a_named_run_with_another_plan_is_refused(equipoise):
    equipoise(*HOLDS, "--run", "mine")
    code, _, err = equipoise(*HOLDS, "--run", "mine", "--draws", "2")
    assert code == 2 and "registered otherwise" in err


def test_reading_by_another_reader_says_what_would_move(equipoise):
    equipoise(*HOLDS)
    code, out, _ = equipoise("read", run_name(equipoise), "--reader", "first_word")
    assert code == 0
    assert "0 of 12 pairs commit otherwise by first_word than by stated_choice" in out


def test_a_provider_that_is_not_there_ends_the_run_resumably(equipoise):
    code, _, err = equipoise(
        "run", "fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1", "--yes", "--max-calls",
        "1000", "--no-progress", "--attempts", "1")
    assert code == 75
    assert "To go on: equipoise run fingerprint" in err


def test_verify_finds_what_was_changed(equipoise, tmp_path):
    import apsw

    equipoise(*HOLDS)
    assert equipoise("verify")[0] == 0
    db = apsw.Connection(str(tmp_path / "ledger.db"))
    db.execute("drop trigger entries_no_update")
    db.execute("update entries set status = 500 where seq = 9")
    db.close()
    code, out, err = equipoise("verify")
    assert code == 10
    assert "entry 9" in out and "entries_no_update" in out
    assert "in 2 places" in err


def test_verify_holds_a_ledger_to_a_head_kept_elsewhere(equipoise):
    _, _, err = equipoise(*HOLDS)
    head = err.split("head ")[1].split()[0]
    assert equipoise("verify", "--head", head)[0] == 0
    assert equipoise("verify", "--head", "5:" + "0" * 64)[0] == 10


def test_a_replay_check_gives_two_numbers(equipoise):
    equipoise(*HOLDS)
    code, out, err = equipoise("replay-check", run_name(equipoise), "--sample", "30")
    assert code == 0
    assert "Readings that came back equal  30 of 30" in out and "equal     30 of 30" in out
    assert "-again-1" in err
    assert len(json.loads(equipoise("runs", "--json")[1])["runs"]) == 2


def test_an_export_has_a_row_for_every_cell(equipoise, tmp_path):
    equipoise(*HOLDS)
    name = run_name(equipoise)
    rows = [json.loads(line) for line in
            equipoise("export", name, "--format", "jsonl")[1].splitlines()]
    assert len(rows) == 144
    assert {row["stated_choice"] for row in rows if row["item"] == "vodka~whiskey"} <= {
        "vodka", "whiskey"}
    assert equipoise("export", name, "-o", tmp_path / "c.csv")[0] == 0
    assert len((tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()) >= 145
    assert equipoise("export", name, "--format", "xls")[0] == 2


def test_a_report_is_written_whole_or_said_not_to_be(equipoise, tmp_path):
    equipoise(*HOLDS)
    name = run_name(equipoise)
    assert equipoise("report", name, "-o", tmp_path / "page.html")[0] == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
    code, _, err = equipoise("report", name, "-o", "/proc/nowhere/page.html")
    assert code == 6 and "page.html" in err


def test_try_reader_prints_a_reading_a_line_with_its_rule(equipoise, tmp_path):
    lines = [
        {"reply": "ANSWER: (B)", "options": {"A": "mercy", "B": "punishment"}},
        {"reply": "Both.", "options": {"A": "mercy", "B": "punishment"}},
        {"reply": "mercy", "options": {"A": "mercy", "B": "punishment"}, "finish": "length"},
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)))
    code, out, _ = equipoise("try-reader", "stated_choice", tmp_path / "r.jsonl")
    said = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [s.get("reading", s.get("nonresponse")) for s in said] == ["B", "unclear", "truncated"]
    assert all(s["rule"] for s in said)


@pytest.mark.parametrize("line, said", [
    ("{", "Line 1 is not JSON"), ('["a"]', 'no text under "reply"'),
    ('{"reply": 5}', 'no text under "reply"'), ('{"reply": "a"}', "options"),
    ('{"reply": "a", "options": {"A": "x", "B": "X"}}', "names both"),
])
def test_try_reader_says_which_line_is_wrong(equipoise, line, said):
    code, _, err = equipoise("try-reader", "stated_choice", "-", stdin=line)
    assert code == 2 and said in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(equipoise, shell):
    code, out, _ = equipoise("completion", shell)
    assert code == 0 and "_EQUIPOISE_COMPLETE" in out


def test_the_file_a_person_named_is_not_a_ledger(equipoise, tmp_path):
    (tmp_path / "notes.txt").write_text("shopping\n" * 200)
    code, _, err = equipoise("verify", "--ledger", tmp_path / "notes.txt")
    assert code == 5 and "another kind of file" in err
    assert (tmp_path / "notes.txt").read_text() == "shopping\n" * 200


def test_a_run_held_by_another_process_is_refused(equipoise, tmp_path):
    equipoise(*HOLDS, "--run", "mine")
    other = Ledger.open(tmp_path / "ledger.db")
    with other.administering("mine"):
        code, _, err = equipoise(*HOLDS, "--run", "mine")
    other.close()
    assert code == 6 and "Another process" in err


def test_a_fault_of_our_own_is_said_without_a_traceback(equipoise, monkeypatch):
    def broken(*args):
        raise KeyError("x")

    monkeypatch.setattr("equipoise.cli.results.runs", broken)
    code, _, err = equipoise("runs")
    assert code == 1 and "fault of equipoise" in err and "Traceback" not in err


def test_no_colour_and_no_control_bytes_off_a_terminal(equipoise):
    _, out, err = equipoise(*HOLDS[:-1])
    assert "\x1b" not in out + err and "\r" not in out + err


def test_a_cap_on_calls_holds_over_a_resume(equipoise, tmp_path):
    asked = [*HOLDS, "--run", "capped", "--max-calls", "50"]
    code, _, err = equipoise(*asked)
    assert code == 7 and "cap of 50 calls" in err
    code, _, err = equipoise(*asked)
    assert code == 7 and "0 calls" in err
    code, _, err = equipoise(*HOLDS, "--run", "capped", "--max-calls", "144")
    assert code == 0 and "94 calls" in err


SLOW = """
import asyncio, os, sys
from equipoise.cli import main, subjects
from equipoise.providers import planted
real = planted.answering
def slow(answer):
    quick = real(answer)
    async def provider(request):
        await asyncio.sleep(float(os.environ.get("SLOW", "0.15")))
        return await quick(request)
    return provider
planted.answering = slow
sys.argv = ["equipoise", *sys.argv[1:]]
main()
"""


def started(tmp_path, seconds="0.15"):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *HOLDS, "--at-once", "4", "--ledger",
         str(tmp_path / "l.db")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "SLOW": seconds})
    deadline = time.monotonic() + 60
    while not (tmp_path / "l.db-wal").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    return process


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_once_a_run_keeps_what_is_in_flight(tmp_path, number, code):
    process = started(tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "To go on: equipoise run fingerprint" in err
    from equipoise.ledger import verify

    found = verify(tmp_path / "l.db")
    assert (found.unsettled, found.faults) == (0, ())
    assert 1 < found.rows < 289


def test_interrupted_twice_a_run_ends_at_once_and_lists_the_unknown(tmp_path):
    process = started(tmp_path, seconds="20")
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "\n"
    assert process.stderr.readline().startswith("Stopping")
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    process.communicate(timeout=60)
    assert time.monotonic() - begun < 10
    assert process.returncode == 130
    from equipoise.ledger import verify

    found = verify(tmp_path / "l.db")
    assert found.unsettled == 4 and not found.faults


def test_every_exit_code_a_misuse_carries_is_documented():
    import re
    from pathlib import Path

    root = Path(__file__).parents[1]
    table = (root / "docs/exit-codes.md").read_text(encoding="utf-8")
    documented = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.M)
                  for code in row.split(", ")}
    used = {Misuse("x").code}
    for file in (root / "src").rglob("*.py"):
        used |= {int(code) for code in re.findall(
            r"Misuse\((?:[^()]|\([^()]*\))*?,\s*(\d+)\s*\)", file.read_text(encoding="utf-8"))}
    assert used <= documented


def test_every_command_stands_in_one_section_of_the_help(equipoise):
    from equipoise.cli.app import SECTIONS, app

    listed = [name for names in SECTIONS.values() for name in names if name in app.commands]
    assert sorted(listed) == sorted(app.commands)
    out = equipoise("--help")[1]
    assert all(f"\n  {name} " in out for name in app.commands)
