"""Other tools' logs as recorded replies: kept byte for byte, read by our readers, never a plan."""

import json
import os
import random
import shutil
import warnings
import zipfile
from pathlib import Path

import pytest
import zstandard

from equipoise.ledger import Ledger, verify
from equipoise.providers import dialect
from equipoise.recorded import archive
from equipoise.recorded.archive import Archive
from equipoise.recorded.forms import DIALECT, FORMS
from equipoise.recorded.record import NotARecord
from equipoise.terms import Completion, Fault, Misuse, Reply

HERE = Path(__file__).parent / "imports"
LEANING = "samples_leaning_2026-03-01T10-00-00.000000.jsonl"
LIKELIHOODS = "samples_likelihoods_2026-03-01T10-00-00.000000.jsonl"
LOGS = ["inspect.eval", "inspect.json", "promptfoo.json", LEANING, LIKELIHOODS]


def taken(equipoise, file, *more):
    code, _, err = equipoise("import", file, "--run", "r", *more)
    assert code == 0, err


def counts(equipoise, reader, *more):
    """What a reader made of the run's replies: how often each reading and each nonresponse."""
    code, out, err = equipoise("read", "r", "--reader", reader, "--json", *more)
    assert code == 0, err
    return {row["nonresponse"] or row["reading"]: row["count"] for row in [
        {**row, "count": sum(other["count"] for other in json.loads(out)["counts"]
                             if (other["reading"], other["nonresponse"]) == (
                                 row["reading"], row["nonresponse"]))}
        for row in json.loads(out)["counts"]]}


def bodies(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.db", read_only=True)
    found = [reply.body for *_, reply in ledger.calls(ledger.run("r").seq)]
    ledger.close()
    return found


def sample(name="a", epoch=1, **more):
    return {"id": name, "epoch": epoch, "input": "Which?", "choices": ["mercy", "punishment"],
            "target": "A", "output": {"model": "m", "choices": [
                {"message": {"role": "assistant", "content": "ANSWER: A"},
                 "stop_reason": "stop"}]}} | more


def inspect_json(tmp_path, *samples):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({
        "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
        "samples": list(samples)}, indent=1))
    return path


def promptfoo_json(tmp_path, *results):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": [
        {"provider": {"id": "m"}, "prompt": {"raw": "?"}, "vars": {}} | one for one in results]}}))
    return path


def test_a_real_inspect_log_is_read_with_every_nonresponse_of_its_kind(equipoise):
    taken(equipoise, HERE / "inspect.eval")
    # Inspect's own scorer called the refusal and the cut-off reply incorrect.
    assert counts(equipoise, "stated_choice") == {
        "A": 2, "B": 2, "refused": 2, "truncated": 1, "unclear": 1}


def test_samples_that_failed_are_errors_and_targets_can_be_the_options(equipoise):
    taken(equipoise, HERE / "inspect.json")
    assert counts(equipoise, "first_word") == {"yes": 1, "no": 1, "error": 2}
    _, _, err = equipoise("read", "r", "--reader", "first_word")
    assert "the log's targets (no, yes)" in err and "nothing was registered" in err


def test_promptfoo_draws_from_its_cache_are_one_draw_counted_once(equipoise):
    taken(equipoise, HERE / "promptfoo.json")
    found = counts(equipoise, "stated_choice", "--words", "mercy,punishment")
    # Ten results: two are the first draw over again from the cache. A failed assertion is no
    # error, and an empty reply no choice.
    assert found == {"mercy": 3, "punishment": 1, "refused": 1, "truncated": 1, "error": 1,
                     "unclear": 1}
    _, _, err = equipoise("read", "r", "--reader", "stated_choice", "--words", "mercy,punishment")
    assert "2 more draws came from a cache" in err


def test_a_cached_draw_with_a_text_of_its_own_is_a_draw(equipoise, tmp_path):
    def said(text, cached):
        return {"response": {"output": text, "cached": cached, "finishReason": "stop"}}

    taken(equipoise, promptfoo_json(tmp_path, said("yes", True), said("no", True),
                                    said("yes", True), said("yes", False)))
    assert counts(equipoise, "stated_choice", "--words", "yes,no") == {"yes": 2, "no": 1}


def test_lm_eval_repeats_are_draws_and_other_filters_are_not(equipoise, tmp_path):
    folder = tmp_path / "org__model"
    folder.mkdir()
    shutil.copy(HERE / LEANING, folder)
    taken(equipoise, folder / LEANING)
    assert counts(equipoise, "stated_choice") == {"A": 2, "B": 1, "refused": 1, "unclear": 2}
    code, out, _ = equipoise("export", "r", "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["subject"] for row in rows} == {"org/model"}
    assert [(row["item"], row["draw"]) for row in rows if not row["copy_of_a_draw"]] == [
        ("0", 1), ("0", 2), ("1", 1), ("1", 2), ("2", 1), ("2", 2)]
    assert {row["copy_of_a_draw"] for row in rows} == {"", "filter flexible-extract"}


def test_log_likelihoods_are_not_texts_and_are_never_read(equipoise):
    taken(equipoise, HERE / LIKELIHOODS, "--subject", "named")
    assert counts(equipoise, "stated_choice") == {"not asked": 3}
    _, out, _ = equipoise("read", "r", "--reader", "stated_choice")
    assert "log-likelihoods: no text was asked for" in out and "named" in out


@pytest.mark.parametrize("resps, arguments, kind", [
    ([["-3.5"]], {"gen_args_0": {"arg_0": "a rolling text"}}, "not asked"),
    ([[["-1.0", "True"]]], None, "not asked"), ([["-3.5"]], None, "not asked"),
    ([[-3.5, True]], [["ctx", "continuation"]], "not asked"),
    ([["-3.5"]], {"gen_args_0": {"arg_0": "q", "arg_1": {"until": []}}}, "unclear"),
    ([["62"]], [["q", {"until": []}]], "unclear"), ([[]], [["q", {"until": []}]], "error"),
    ([[None]], [["q", {"until": []}]], "error"), ([["yes"]], None, "yes"),
])
def test_what_was_asked_tells_a_text_from_a_number(equipoise, tmp_path, resps, arguments, kind):
    (tmp_path / "s.jsonl").write_text(json.dumps(
        {"doc_id": 0, "doc": {}, "target": "", "arguments": arguments, "resps": resps}) + "\n")
    taken(equipoise, "s.jsonl")
    assert counts(equipoise, "stated_choice", "--words", "yes,no") == {kind: 1}


@pytest.mark.parametrize("more, kind", [
    ({"error": {"message": "boom"}}, "error"),
    ({"output": {"choices": [], "error": "500"}}, "error"),
    ({"output": {}}, "error"), ({"output": None}, "error"),
    ({"output": {"choices": []}, "limit": {"type": "token", "limit": 5}}, "error"),
    ({"output": {"choices": [{"message": {"content": "AN"}, "stop_reason": "model_length"}]}},
     "truncated"),
    ({"output": {"choices": [{"message": {"content": "A"}, "stop_reason": "content_filter"}]}},
     "refused"),
    ({"output": {"choices": [{"message": {"content": None}, "stop_reason": "stop"}]}}, "unclear"),
    ({"output": {"choices": [{"message": {"content": [
        {"type": "reasoning", "reasoning": "B, surely"}, {"type": "text", "text": "ANSWER: A"}]},
        "stop_reason": "stop"}]}}, "A"),
    ({"output": {"choices": [{"message": {"content": "attachment://x"}, "stop_reason": "stop"}]},
      "attachments": {"x": "ANSWER: B"}}, "B"),
    ({"scores": {"s": {"value": float("nan")}}}, "A"),
])
def test_an_inspect_sample_is_read_or_lost_for_the_right_reason(equipoise, tmp_path, more, kind):
    taken(equipoise, inspect_json(tmp_path, sample(**more)))
    assert counts(equipoise, "stated_choice") == {kind: 1}


@pytest.mark.parametrize("result, kind", [
    ({"response": {"output": "yes"}, "error": "Latency is greater", "failureReason": 1}, "yes"),
    ({"response": {"output": "yes"}, "error": "timed out", "failureReason": 2}, "error"),
    ({"response": {"error": "429"}}, "error"), ({"error": "no key"}, "error"), ({}, "error"),
    ({"response": {"output": "yes", "finishReason": "length"}}, "truncated"),
    ({"response": {"output": "yes", "isRefusal": True}}, "refused"),
    ({"response": {"output": ""}}, "unclear"),
    ({"response": {"output": {"pick": "yes"}, "raw": "yes"}}, "yes"),
    ({"provider": "echo", "response": {"output": "no"}}, "no"),
])
def test_a_promptfoo_result_is_read_or_lost_for_the_right_reason(equipoise, tmp_path, result,
                                                                 kind):
    taken(equipoise, promptfoo_json(tmp_path, result))
    assert counts(equipoise, "stated_choice", "--words", "yes,no") == {kind: 1}


def test_promptfoo_json_lines_are_read_too(equipoise, tmp_path):
    rows = [{"promptIdx": 0, "testIdx": n, "provider": {"id": "m"}, "prompt": {"raw": "?"},
             "vars": {"n": n}, "response": {"output": said}}
            for n, said in enumerate(("yes", "no"))]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken(equipoise, "r.jsonl")
    assert counts(equipoise, "stated_choice", "--words", "yes,no") == {"yes": 1, "no": 1}


def test_every_reader_reads_recorded_replies(equipoise, tmp_path):
    probable = {"response": {"output": "62", "finishReason": "stop"}}
    pick = {"vars": {"n": 1}, "response": {"output": '{"pick": "Jordan"}', "finishReason": "stop"}}
    taken(equipoise, promptfoo_json(tmp_path, probable, pick))
    assert counts(equipoise, "stated_probability")["62.0"] == 1
    assert counts(equipoise, "json_object", "--contract", '{"pick": string}')[
        '{"pick": "Jordan"}'] == 1
    for words in (["--reader", "json_object"], ["--reader", "first_word"], [],
                  ["--reader", "second_word"], ["--reader", "first_word", "--words", "one"]):
        code, _, err = equipoise("read", "r", *words)
        assert code == 2 and err, words
    equipoise("import", HERE / "inspect.eval", "--run", "i")
    top = {"choices": [{"message": {"content": "A"}, "stop_reason": "stop", "logprobs": {
        "content": [{"token": "A", "logprob": -0.1, "top_logprobs": [
            {"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]}]}}]}
    equipoise("import", inspect_json(tmp_path, sample(output=top)), "--run", "t")
    code, out, _ = equipoise("read", "t", "--reader", "first_token", "--json")
    assert [row["reading"] for row in json.loads(out)["counts"]] == ["A"]


@pytest.mark.parametrize("file", LOGS)
def test_replies_are_kept_byte_for_byte_as_they_stood_in_the_log(equipoise, tmp_path, file):
    taken(equipoise, HERE / file)
    found, whole = bodies(tmp_path), (HERE / file).read_bytes()
    if file.endswith(".eval"):
        members = Archive(HERE / file)
        held = [members.read(name) for name in members.names if name.startswith("samples/")]
        assert found == held
    elif file.endswith(".jsonl"):
        assert found == whole.splitlines()
    else:
        places = [whole.find(body) for body in found]
        assert -1 not in places and places == sorted(places)
    assert not verify(tmp_path / "ledger.db").faults


@pytest.mark.parametrize("file", LOGS)
def test_an_import_is_labelled_and_can_be_read_and_exported_and_nothing_else(equipoise, file,
                                                                            tmp_path):
    taken(equipoise, HERE / file)
    [run] = json.loads(equipoise("runs", "--json")[1])["runs"]
    assert run["instrument"] == "imported" and run["registration"] is None
    before = verify(tmp_path / "ledger.db").head
    for words in (["report", "r"], ["publish", "r", "--site", "site"], ["replay-check", "r"],
                  ["log", "r"], ["compare", "r", "r"]):
        code, _, err = equipoise(*words)
        assert code == 2 and "was imported from a log of" in err, (words, err)
    code, _, err = equipoise("run", "fingerprint", "-s", "planted:holds", "--suite", "demo",
                             "--run", "r", "--no-progress")
    assert code == 2 and verify(tmp_path / "ledger.db").head == before
    assert not (tmp_path / "site").exists()


def test_nothing_can_be_asked_of_what_was_recorded():
    with pytest.raises(Misuse, match="nothing can be asked"):
        dialect(DIALECT + "inspect").encode(None, (), "free", (), "")


def test_an_import_says_which_file_it_is_of_and_goes_in_once(equipoise, tmp_path):
    import hashlib

    taken(equipoise, HERE / "promptfoo.json")
    words = ["--words", "mercy,punishment", "--json"]
    said = json.loads(equipoise("read", "r", "--reader", "first_word", *words)[1])["imported"]
    digest = hashlib.sha256((HERE / "promptfoo.json").read_bytes()).hexdigest()
    assert (said["file"], said["sha256"], said["tool"], said["version"], said["task"]) == (
        "promptfoo.json", digest, "promptfoo", "0.120.0", "leaning judge")
    before = verify(tmp_path / "ledger.db").head
    code, out, _ = equipoise("import", HERE / "promptfoo.json", "--run", "r")
    assert code == 0 and "Nothing was written" in out
    code, _, err = equipoise("import", HERE / "inspect.eval", "--run", "r")
    assert code == 2 and "--run NAME" in err
    assert verify(tmp_path / "ledger.db").head == before
    # It names itself by the file's content, too.
    assert equipoise("import", HERE / "promptfoo.json")[0] == 0
    assert json.loads(equipoise("runs", "--json")[1])["runs"][1]["name"] == (
        f"promptfoo-leaning-judge-{digest[:8]}")


def test_an_imported_run_travels_in_a_portable_file(equipoise, tmp_path):
    taken(equipoise, HERE / "inspect.eval")
    assert equipoise("export", "r", "--format", "run", "-o", "r.eqp")[0] == 0
    shown = equipoise("read", "r", "--reader", "stated_choice")[1]
    assert equipoise("import", "r.eqp", "--ledger", "other.db")[0] == 0
    assert equipoise("read", "r", "--reader", "stated_choice", "--ledger", "other.db")[1] == shown


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "hf", "eval"])
def test_an_imported_run_is_exported_with_its_readings_in_every_form(equipoise, tmp_path, form):
    taken(equipoise, HERE / "inspect.eval")
    words = ["--format", form, "-o", f"out.{form}", "--reader", "stated_choice"]
    code, _, err = equipoise("export", "r", *words)
    assert code == 0 and "8 cells" in err, err
    if form == "eval":
        equipoise("import", "out.eval", "--run", "back")
        assert sorted(json.loads(line)["reply"] for line in equipoise(
            "export", "back", "--format", "jsonl")[1].splitlines()) == sorted(
            json.loads(line)["reply"] for line in equipoise(
                "export", "r", "--format", "jsonl")[1].splitlines())


@pytest.mark.parametrize("file, asked", [
    ("promptfoo.json", "theft: Mercy or punishment? Answer with one word."),
    (LEANING, "Question: Mercy or punishment?\nAnswer:"), ("inspect.json", "No or yes?"),
])
def test_an_inspect_log_of_an_import_asks_what_its_log_says_was_asked(equipoise, tmp_path, file,
                                                                      asked):
    taken(equipoise, HERE / file)
    row = json.loads(equipoise("export", "r", "--format", "jsonl")[1].splitlines()[0])
    words = ["--format", "eval", "-o", "o.eval", "--subject", row["subject"]]
    assert equipoise("export", "r", *words)[0] == 0
    members = Archive(tmp_path / "o.eval")
    first = next(name for name in members.names if name.startswith("samples/"))
    assert json.loads(members.read(first))["input"] == [{"role": "user", "content": asked}]


@pytest.mark.parametrize("name, content, said", [
    ("a.jsonl", '{"doc_id": 0, "resps": [["x"]], "arguments": []}\n{"doc_id": 1,\n', "line 2"),
    ("a.jsonl", '{"doc_id": 0, "resps": [["x"]]}\n\n[1]\n', "line 3: not a JSON object"),
    ("a.jsonl", '{"doc_id": 0, "resps": [["x"]]}\n{"doc": 1}\n', "line 2: no doc_id"),
    ("a.jsonl", b'{"doc_id": 0, "resps": [["x"]]}\n{"doc_id": "\xff"}\n', "line 2: not UTF-8"),
    ("a.json", '{"eval": {"task": "t", "model": "m"}, "status": "success",\n "samples": [\n'
     ' {"id": 1, "epoch": 1, "input": ""},\n {"id": 2,, }]}', "line 4"),
    ("a.json", '{"eval": {"task": "t", "model": "m"}, "status": "s", "samples": [{"id": 1}]}',
     "sample 1: no id, epoch and input"),
    ("a.json", '{"eval": {"task": "t", "model": "m"}, "status": "s", "samples": [' + ",".join(
        ['{"id": 1, "epoch": 1, "input": ""}'] * 2) + "]}", "stands twice"),
    ("a.json", '{"eval": {}, "status": "s"}', "no Inspect log"),
    ("a.json", '{"eval": {"task": "t", "model": "m"}, "status": "s"}', "no records"),
    ("a.json", '{"evalId": "e", "results": {"results": [{"vars": {}}]}}', "no provider"),
    ("a.json", '{"results": {}}', "no list of results"),
    ("a.json", '{"results": [1]}', "not a JSON object"),
    ("a.json", "[1, 2]", "--format"), ("a.json", "", "--format"), ("a.json", '"x"', "--format"),
    ("a.json", "{", "line 1: not JSON"), ("a.json", '{"a": 1}', "--format"),
    ("a.json", '{"eval": ' + "[" * 100_000, "nested too deeply"),
    ("a.eval", b"PK\x03\x04" + b"\0" * 100, "not a whole zip file"),
])
def test_a_malformed_log_is_refused_with_its_place_and_nothing_is_imported(
        equipoise, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, err = equipoise("import", name)
    assert code == 2 and said in err and "fault of equipoise" not in err, err
    assert not (tmp_path / "ledger.db").exists() or not json.loads(
        equipoise("runs", "--json")[1])["runs"]


def test_a_log_cut_or_flipped_anywhere_is_refused_or_imported_whole(equipoise, tmp_path):
    rng = random.Random(2)
    for trial in range(120):
        file = LOGS[trial % len(LOGS)]
        bad = bytearray((HERE / file).read_bytes())
        if trial % 2:
            del bad[rng.randrange(1, len(bad)):]
        else:
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        place = tmp_path / f"bad{Path(file).suffix}"
        place.write_bytes(bad)
        code, out, err = equipoise("import", place, "--run", f"r{trial}")
        assert "fault of equipoise" not in err, err
        assert (code == 0) == ("Imported" in out), (code, out, err)
    assert not verify(tmp_path / "ledger.db").faults


NAMES = ["../x", "../../x", "/etc/x", "C:\\x", "\\\\host\\share\\x", "..\\..\\x", "a/../../x",
         "./x", "~/x", "con", "nul.txt", "aux", "x\0y", "x" * 300, ".", "..", " ", "x.", "-rf",
         "%2e%2e%2fx", "x:stream", "\u202ex", "x\ny", "$(x)", "|x", "*"]


def hostile_names():
    ends = ["", ".json", "/", "/y", "\\y", " ", "\t", ".."]
    return [start + end for start in NAMES for end in ends][:200]


def files_below(folder):
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*")}


def hostile(path, names):
    """An Inspect log whose task, model, samples and members are named like that."""
    with zipfile.ZipFile(path, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A name ends at a NUL, so two of them may be one.
        made.writestr("header.json", json.dumps(
            {"version": 2, "eval": {"task": "../../task", "model": "../../model"}}))
        for name in names:
            member = zipfile.ZipInfo(f"samples/{name}.json")
            if len(name) % 2:
                member.external_attr = 0o120777 << 16  # A symbolic link.
            made.writestr(member, json.dumps(sample(name)))
        made.writestr("../../outside.txt", "x")
    return path


def test_of_two_hundred_hostile_names_none_is_a_path(equipoise, tmp_path, monkeypatch):
    names = hostile_names()
    assert len(set(names)) == 200
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    bad = hostile(tmp_path / "bad.eval", names)
    monkeypatch.chdir(inside)
    monkeypatch.setenv("EQUIPOISE_LEDGER", str(inside / "ledger.db"))
    before = {k: v for k, v in files_below(tmp_path).items() if not k.startswith("a/b")}
    code, _, err = equipoise("import", bad)
    assert code == 0, err
    name = json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]
    assert equipoise("export", name, "--format", "eval", "-o", "out.eval")[0] == 0
    assert equipoise("export", name, "--format", "hf", "-o", "hf")[0] == 0
    assert equipoise("export", name, "--format", "run", "-o", "run.eqp")[0] == 0
    rows = equipoise("export", name, "--format", "jsonl")[1].splitlines()
    assert {json.loads(row)["item"] for row in rows} <= set(names) and len(rows) > 180
    for written in zipfile.ZipFile(inside / "out.eval").namelist():
        parts = written.split("/")
        assert len(parts) <= 2 and len(written) < 300 and not {"..", "", "."} & set(parts)
        assert not set(written) & set('\\\0:\n')
    assert {p.name for p in inside.iterdir()} == {
        "ledger.db", "ledger.db.head", f"ledger.db.{name}.lock", "out.eval", "hf", "run.eqp"} | {
        p.name for p in inside.iterdir() if p.name.startswith(("ledger.db-", "run.eqp-"))}
    for refused in names[:60]:
        code, _, err = equipoise("import", HERE / "promptfoo.json", "--run", refused)
        assert code in (0, 2), err
    assert {k: v for k, v in files_below(tmp_path).items() if not k.startswith("a/b")} == before


def packed(path, name, content, method, **claims):
    """A zip of one member; `claims` overwrite what its entry says."""
    with zipfile.ZipFile(path, "w") as made:
        member = zipfile.ZipInfo(name)
        member.compress_type = method
        made.writestr(member, content)
        for claim, value in claims.items():
            setattr(made.infolist()[0], claim, value)
    return path


def test_a_member_that_unpacks_to_more_than_it_claims_or_may_is_refused(tmp_path):
    zeros = b"\0" * 5_000_000
    ok = packed(tmp_path / "ok.zip", "a", zeros, zipfile.ZIP_DEFLATED)
    assert Archive(ok).read("a") == zeros
    for claims in ({"file_size": 10}, {"file_size": 10_000_000_000}, {"CRC": 1},
                   {"header_offset": 7}, {"compress_type": 12}, {"flag_bits": 1},
                   {"compress_size": 3}):
        bad = packed(tmp_path / "bad.zip", "a", zeros, zipfile.ZIP_DEFLATED, **claims)
        with pytest.raises(NotARecord):
            Archive(bad).read("a")


def test_zstd_members_of_several_frames_are_read_and_bombs_are_not(tmp_path, monkeypatch):
    frames = b"".join(zstandard.ZstdCompressor().compress(part) for part in (b"one ", b"two"))
    assert archive._unpacked(frames, archive.ZSTD, 8) == b"one two"
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 100_000_000)
    assert len(archive._unpacked(bomb, archive.ZSTD, 1001)) == 1001
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as made:
        for n in range(4):
            made.writestr(str(n), "x")
    with pytest.raises(NotARecord, match="at most 3"):
        Archive(tmp_path / "many.zip")


def test_words_from_a_log_reach_a_terminal_without_control_bytes(equipoise, tmp_path):
    evil = "\x1b[31mred\x07\u202e"
    taken(equipoise, inspect_json(tmp_path, sample(error={"message": evil})), "--subject", evil)
    _, out, err = equipoise("read", "r", "--reader", "stated_choice")
    assert "\x1b" not in out + err and "\x07" not in out + err and "\u202e" not in out + err


@pytest.mark.parametrize("form", FORMS)
def test_no_bytes_make_the_dialect_of_a_log_raise(form):
    spoken, rng = dialect(DIALECT + form), random.Random(3)
    real = [b"", b"{}", b"[]", b"null", b'{"output":{"choices":[{"message":1}]}}',
            b'{"resps":[["a"]],"arguments":[["q",{}]]}', b"[" * 100_000, b"\xff",
            b'{"response":{"output":[1]},"provider":{}}', json.dumps(sample()).encode()]
    for body in real:
        assert isinstance(spoken.decode(Reply(body)), Completion | Fault)
        for _ in range(20):
            bad = bytearray(body or b"x")
            bad[rng.randrange(len(bad))] = rng.randrange(256)
            assert isinstance(spoken.decode(Reply(bytes(bad))), Completion | Fault)


def test_an_erased_reply_of_an_import_says_so(equipoise, tmp_path):
    taken(equipoise, HERE / "inspect.eval")
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.erase(3, "asked for")
    ledger.close()
    found = counts(equipoise, "stated_choice", "--words", "A,B")
    assert found["error"] == 1 and sum(found.values()) == 8
    assert os.path.getsize(tmp_path / "ledger.db")


def test_keys_in_a_logs_settings_are_struck_out(equipoise, tmp_path):
    path = promptfoo_json(tmp_path, {"response": {"output": "yes"}})
    log = json.loads(path.read_text()) | {"config": {"providers": [
        {"id": "m", "config": {"apiKey": "sk-canary-1", "max_tokens": 7}}]}}
    path.write_text(json.dumps(log))
    taken(equipoise, path)
    ledger = Ledger.open(tmp_path / "ledger.db", read_only=True)
    header = ledger.stimuli(json.loads(ledger.run("r").registration)["stamp"])["log.json"]
    ledger.close()
    assert "sk-canary" not in header and '"max_tokens": 7' in header


def test_names_that_no_text_can_hold_are_escaped(equipoise, tmp_path):
    path = inspect_json(tmp_path, sample("\ud800"))
    taken(equipoise, path, "--subject", "org/\u202em")
    row = json.loads(equipoise("export", "r", "--format", "jsonl")[1])
    assert (row["item"], row["subject"]) == ("\\ud800", "org/\u202em")


def test_an_inspect_log_that_was_broken_off_gives_the_samples_it_has(equipoise, tmp_path):
    with zipfile.ZipFile(tmp_path / "begun.eval", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("_journal/start.json", json.dumps(
            {"version": 2, "eval": {"task": "t", "model": "m"}}))
        made.writestr("samples/a_epoch_1.json", json.dumps(sample()))
    taken(equipoise, "begun.eval")
    assert counts(equipoise, "stated_choice") == {"A": 1}
