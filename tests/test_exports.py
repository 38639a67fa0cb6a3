"""Exported cells: safe in a spreadsheet, exact and typed elsewhere, and whole wherever they go."""

import csv
import hashlib
import io
import json
import random
import subprocess
import sys

import pytest

from equipoise.report.columns import Column, columns, value
from equipoise.report.flat import FORMULA
from equipoise.report.parquet import parquet
from equipoise.terms import Misuse

HOLDS = ["run", "fingerprint", "--suite", "demo", "-s", "planted:holds", "--no-progress",
         "--run", "r"]
RUNS = {
    "fingerprint": HOLDS,
    "label-swap": ["run", "label-swap", "--decisions", "grant", "-s", "planted:leans",
                   "--no-progress", "--run", "r"],
    "debates": ["run", "debates", "--debates", "tea-or-coffee", "--menu", "-s", "planted:hedges",
                "--no-progress", "--run", "r"],
    "replay": ["run", "replay", "--openings", "sell-the-piano", "--change", "instruction:all",
               "-s", "planted:better", "--reader", "planted:perfect", "--no-progress",
               "--run", "r"],
    "calibration": ["run", "calibration", "-s", "planted:perfect", "--no-progress", "--run", "r"],
}
BEGINNINGS = ["=", "+", "-", "−", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
BODIES = ["1+1", "cmd|' /C calc'!A0", "SUM(1,2)", 'HYPERLINK("http://x","y")', "DDE(1)",
          "IMPORTXML(A1)", "2", "'quoted'", '"quoted"', "a;b,c", "x\n=1+1", "", " =1", "Ａ１",
          "1E5", "@x", "=x"]


def payloads():
    every = [begins + body for begins in BEGINNINGS for body in BODIES]
    return random.Random(1).sample(every, 200)


def read_rows(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def logged(tmp_path, replies):
    """A promptfoo log in which those were the replies."""
    results = [{"provider": {"id": "m"}, "prompt": {"raw": "?"}, "vars": {"n": n}, "promptIdx": 0,
                "response": {"output": reply, "finishReason": "stop", "cost": -0.5}}
               for n, reply in enumerate(replies)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"results": results}}))
    return path


def parquet_rows(path):
    import polars as pl

    return pl.read_parquet(path)


def test_of_two_hundred_formulas_none_is_one_in_a_csv(equipoise, tmp_path):
    said = payloads()
    assert equipoise("import", logged(tmp_path, said), "--run", "r")[0] == 0
    assert equipoise("export", "r", "-o", "c.csv")[0] == 0
    rows = read_rows((tmp_path / "c.csv").read_bytes().decode())
    assert len(rows) == 200
    for row, payload in zip(rows, said, strict=True):
        assert row["reply"] == "'" + payload
        assert not any(cell.startswith(FORMULA) for cell in row.values())
    equipoise("export", "r", "--raw", "-o", "raw.csv")
    raw = read_rows((tmp_path / "raw.csv").read_bytes().decode())
    assert [row["reply"] for row in raw] == said


def test_numbers_stay_numbers_in_a_csv(equipoise, tmp_path):
    equipoise("import", logged(tmp_path, ["-5", "62"]), "--run", "r")
    rows = read_rows(equipoise("export", "r", "--reader", "stated_probability")[1])
    assert [row["draw"] for row in rows] == ["1", "1"]
    assert rows[0]["reply"] == "'-5" and float(rows[1]["stated_probability"]) == 62


def test_parquet_holds_the_exact_text_of_every_reply(equipoise, tmp_path):
    said = [*payloads(), "a\x00b", "\u202ebidi\ufeff", "乔丹 🂡", "x" * 100_000, ""]
    equipoise("import", logged(tmp_path, [*said, "lone \ud800"]), "--run", "r")
    assert equipoise("export", "r", "--format", "parquet", "-o", "c.parquet")[0] == 0
    found = parquet_rows(tmp_path / "c.parquet")
    assert found["reply"].to_list() == [*said, "lone \\ud800"]


@pytest.mark.parametrize("instrument", RUNS)
def test_parquet_holds_what_jsonl_holds_typed_and_each_column_explained(equipoise, tmp_path,
                                                                        instrument):
    assert equipoise(*RUNS[instrument])[0] == 0
    rows = [json.loads(line) for line in
            equipoise("export", "r", "--format", "jsonl")[1].splitlines()]
    assert equipoise("export", "r", "--format", "parquet", "-o", "c.parquet")[0] == 0
    found = parquet_rows(tmp_path / "c.parquet")
    assert str(found.schema["draw"]) == "Int64" and str(found.schema["reply"]) == "String"
    if instrument == "label-swap":
        assert str(found.schema["stated_probability"]) == "Float64"
    for row, typed in zip(rows, found.to_dicts(), strict=True):
        for name, held in typed.items():
            assert held in (row.get(name, ""), str(row.get(name, ""))) or (
                held is None and row.get(name, "") == "")
    table = read_rows(equipoise("export", "r", "--raw")[1])
    assert [row["reply"] for row in table] == [row["reply"] for row in rows]
    explained = read_rows((tmp_path / "c.parquet.columns.csv").read_text())
    assert [line["column"] for line in explained] == found.columns
    assert all(line["meaning"] and line["type"] for line in explained), explained
    first = (tmp_path / "c.parquet").read_bytes()
    equipoise("export", "r", "--format", "parquet", "-o", "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == first


def test_an_empty_number_is_null_and_never_zero():
    rows = [{"cost_usd": 0.5, "draw": 1, "cached": True}, {"cost_usd": "", "draw": 2,
                                                           "cached": False}]
    made = columns(rows, {}, [])
    assert [(c.name, c.type) for c in made] == [
        ("cost_usd", "number"), ("draw", "integer"), ("cached", "boolean")]
    assert value(made[0], rows[1]) is None
    assert columns([{"x": ""}], {}, []) == [Column("x", "text", "")]


def test_without_polars_parquet_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(Misuse, match=r"pip install 'equipoise\[parquet\]'"):
        parquet([], [], {})


def test_a_hugging_face_folder_holds_data_dictionary_plan_and_sums(equipoise, tmp_path):
    import polars as pl

    equipoise(*HOLDS)
    assert equipoise("export", "r", "--format", "hf", "-o", "out")[0] == 0
    out = tmp_path / "out"
    sums = dict(reversed(line.split("  ")) for line in
                (out / "SHA256SUMS").read_text().splitlines())
    held = {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in out.rglob("*") if p.is_file() and p.name != "SHA256SUMS"}
    assert sums == held
    assert set(held) == {"README.md", "data/train-00000-of-00001.parquet", "columns.csv",
                         "registration.json", "provenance.json"}
    assert len(pl.read_parquet(out / "data/train-00000-of-00001.parquet")) == 144
    about = json.loads((out / "provenance.json").read_text())
    assert hashlib.sha256((out / "registration.json").read_bytes()).hexdigest() == about[
        "registration"]
    head = json.loads((tmp_path / "ledger.db.head").read_text())
    assert about["head"] == f"{head['rows']}:{head['link']}"
    card = (out / "README.md").read_text()
    assert card.startswith(
        "---\n# license: name one before you publish this\n" 'pretty_name: "r"\ntags:\n'
        "- equipoise\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n"
        "    path: data/train-00000-of-00001.parquet\n---\n")
    assert about["head"] in card and "| `framing` | text |" in card
    # No folder is written into another that has something in it.
    (tmp_path / "empty").mkdir()
    assert equipoise("export", "r", "--format", "hf", "-o", "empty")[0] == 0
    assert {p.name for p in (tmp_path / "empty").iterdir()} == {p.name for p in out.iterdir()}
    assert equipoise("export", "r", "--format", "hf", "-o", "out")[0] == 2
    assert held["README.md"] == hashlib.sha256(card.encode()).hexdigest()


READ_BACK = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
first = log.samples[0]
one = read_eval_log_sample(sys.argv[1], id=first.id, epoch=first.epoch)
print(json.dumps({
    "status": log.status, "model": log.eval.model, "task": log.eval.task,
    "about": log.eval.metadata["equipoise"], "one": one.output.completion,
    "summaries": len(read_eval_log_sample_summaries(sys.argv[1])),
    "unscored": {s.name: [s.scored_samples, s.unscored_samples] for s in log.results.scores},
    "samples": [{
        "id": s.id, "epoch": s.epoch, "said": s.output.completion, "asked": s.input[-1].content,
        "stop": s.output.choices[0].stop_reason if s.output.choices else None,
        "error": s.error.message if s.error else None, "row": s.metadata,
        "scores": {name: [score.answer, score.value if score.value == score.value else "unscored",
                          score.reason, score.explanation] for name, score in s.scores.items()},
    } for s in log.samples],
}))
"""


def read_back(path):
    """What Inspect itself makes of a log, in a process of its own: it changes zipfile."""
    done = subprocess.run([sys.executable, "-c", READ_BACK, str(path)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_inspect_opens_our_log_with_every_reply_reading_and_nonresponse(equipoise, tmp_path):
    from equipoise.ledger import Ledger

    equipoise(*HOLDS)
    ledger = Ledger.open(tmp_path / "ledger.db")
    erased = next(kept for kept in ledger.kept(1) if kept.kind == "reply")
    ledger.erase(erased.seq, "asked for")
    ledger.close()
    assert equipoise("export", "r", "--format", "eval", "-o", "out.eval")[0] == 0
    found = read_back(tmp_path / "out.eval")
    rows = [json.loads(line) for line in
            equipoise("export", "r", "--format", "jsonl")[1].splitlines()]
    assert (found["status"], found["model"], found["task"]) == ("cancelled", "holds", "r")
    assert found["summaries"] == 144 and found["about"]["instrument"] == "fingerprint"
    assert found["unscored"] == {"stated_choice": [143, 1], "first_word": [143, 1]}
    by_row = {json.dumps(s["row"], sort_keys=True): s for s in found["samples"]}
    for row in rows:
        sample = by_row[json.dumps(row, sort_keys=True)]
        assert sample["epoch"] == row["draw"] and sample["said"] == row["reply"]
        for reader in ("stated_choice", "first_word"):
            answer, score, reason, why = sample["scores"][reader]
            if row[f"{reader}_nonresponse"]:
                assert (answer, score, reason) == (None, "unscored", "error")
                assert "erased" in why and "erased" in sample["error"]
            else:
                assert answer == score == row[reader]


def test_an_inspect_log_is_of_one_model_and_the_same_cells_give_the_same_bytes(equipoise,
                                                                               tmp_path):
    assert equipoise(*HOLDS, "-s", "planted:follows-position")[0] == 0
    code, _, err = equipoise("export", "r", "--format", "eval", "-o", "out.eval")
    assert code == 2 and "--subject" in err and "follows-position" in err
    for out in ("a.eval", "b.eval"):
        assert equipoise("export", "r", "--format", "eval", "--subject", "holds", "-o", out)[0] == 0
    assert (tmp_path / "a.eval").read_bytes() == (tmp_path / "b.eval").read_bytes()
    # And we read it ourselves: what went out comes in.
    assert equipoise("import", "a.eval", "--run", "back")[0] == 0
    code, out, _ = equipoise("export", "back", "--format", "jsonl")
    assert sorted(json.loads(line)["reply"] for line in out.splitlines()) == sorted(
        json.loads(line)["reply"] for line in
        equipoise("export", "r", "--format", "jsonl", "--subject", "holds")[1].splitlines())
    assert equipoise("export", "r", "--subject", "nobody")[0] == 2


@pytest.mark.parametrize("words, said", [
    (["--format", "parquet"], "say where with -o"), (["--format", "hf"], "say where with -o"),
    (["--format", "run", "-o", "x", "--subject", "holds"], "written whole"),
    (["--reader", "first_word"], "for imported runs"), (["--format", "xls"], "there are csv"),
    (["--format", "hf", "-o", "nowhere/out"], "Could not write"),
    (["--format", "run", "-o", "nowhere/out"], "Could not write"),
])
def test_what_cannot_be_exported_is_said(equipoise, words, said):
    equipoise(*HOLDS)
    code, _, err = equipoise("export", "r", *words)
    assert code in (2, 6) and said in err, err
