"""Counts from a user's own pages: no word is let out, and no small count can be told."""

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from equipoise.cli.counting import FIELDS, NAMES, checked
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.stats.small_cells import HIDDEN, SMALL, Row, let_out
from equipoise.stimuli import load
from equipoise.terms import Misuse
from faulty_server import response, serving_in_a_thread

SUITE = suite(load(SHIPPED))
BIASES = list(SUITE.biases)
ALONE = SUITE.biases["single-option"].debias["en"]
TWICE = SUITE.biases["framing"].debias["fr"]


# What a row lets out


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 200))
def test_what_is_let_out_is_a_true_count_of_ten_or_more_or_hidden(shown, unknown, rest):
    row = let_out(shown + unknown + rest, shown, unknown)
    truth = Row(shown + unknown + rest, shown, unknown)
    for cell, true in ((row.pages, truth.pages), (row.shown, truth.shown),
                       (row.unknown, truth.unknown)):
        assert cell == HIDDEN or (cell == true and true >= SMALL)


def test_counts_that_do_not_fit_into_each_other_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        let_out(10, 8, 3)


def test_no_cell_that_is_not_written_has_one_value_for_one_who_knows_the_rule():
    """Every row of up to 80 pages: all truths that look alike, and what each cell can then be."""
    alike = defaultdict(list)
    for pages in range(81):
        for shown in range(pages + 1):
            for unknown in range(pages - shown + 1):
                truth = pages, shown, unknown, pages - shown - unknown
                alike[let_out(*truth[:3])].append(truth)
    assert len(alike) > 20_000
    for row, truths in alike.items():
        pages, shown, unknown, rest = map(set, zip(*truths, strict=True))
        for cell, values in ((row.pages, pages), (row.shown, shown), (row.unknown, unknown)):
            assert len(values) > 1 if cell == HIDDEN else values == {cell}
        # The rest is never written: it follows where both others stand, and then is not small.
        assert len(rest) > 1 or min(rest) >= SMALL


def bounds(rows, row, place):
    """The least and most one cell can be, from all rows of a table, in whole numbers.

    Cells are shown, unknown and rest of each row, and the pages of the day, which its rows share.
    """
    size = 3 * len(rows) + 1
    equal, values = [], []
    for at, one in enumerate(rows):
        line = np.zeros(size)
        line[3 * at : 3 * at + 3], line[-1] = 1, -1
        equal.append(line)
        values.append(0)
        for where, cell in ((3 * at, one.shown), (3 * at + 1, one.unknown), (size - 1, one.pages)):
            if cell != HIDDEN:
                equal.append(np.eye(size)[where])
                values.append(cell)
    target = np.zeros(size)
    target[3 * row + place if place < 3 else -1] = 1
    found = []
    for sign in (1, -1):
        # A day of 1,000 pages or fewer, as one who looks may suppose.
        solved = milp(sign * target, constraints=LinearConstraint(np.array(equal), values, values),
                      integrality=np.ones(size), bounds=(0, 1000))
        assert solved.success
        found.append(round(sign * solved.fun))
    return found


def test_a_solver_over_200_tables_recovers_no_hidden_cell():
    rng = np.random.default_rng(1)
    hidden = recovered = 0
    for _ in range(200):
        pages = int(rng.choice([rng.integers(0, 25), rng.integers(10, 200)]))
        rows = []
        for share in rng.choice([0.0, 0.03, 0.3, 0.6, 0.97], 2):
            shown = int(rng.binomial(pages, share))
            unknown = int(rng.binomial(pages - shown, rng.choice([0.0, 0.05, 0.5])))
            rows.append(let_out(pages, shown, unknown))
        for at, row in enumerate(rows):
            for place, cell in enumerate((row.shown, row.unknown, None, row.pages)):
                derived = place == 2 and HIDDEN not in (row.pages, row.shown, row.unknown)
                if cell == HIDDEN or (place == 2 and not derived):
                    least, most = bounds(rows, at, place)
                    hidden += 1
                    recovered += least == most
                elif derived:
                    assert row.pages - row.shown - row.unknown >= SMALL
    assert hidden > 300 and recovered == 0


# What passes the check


GOOD = {"schema_version": 1, "hidden_below": 10, "days": [
    {"year": 2026, "month": 11, "day": 30, "reader": "trusted",
     "biases": {"framing": {"pages": 40, "shown": "hidden", "unknown": "hidden"}}}]}


def test_whole_numbers_and_known_names_pass():
    assert json.loads(checked(GOOD, BIASES)) == GOOD


@pytest.mark.parametrize("spoil", [
    {"note": 1}, {"days": ["My uncle"]}, {"days": [{"day": "30"}]}, {"days": [{"day": 3.5}]},
    {"days": [{"day": True}]}, {"days": [{"day": None}]}, {"days": [{"day": -1}]},
    {"days": [{"biases": {"My uncle": 1}}]}, {"days": [{"reader": "gpt"}]}, {"days": ({},)},
    {"hidden_below": float("nan")}, {"days": [[["x"]]]}, {"days": [{"biases": {1: 1}}]},
])
def test_anything_else_is_refused_and_not_quoted(spoil):
    with pytest.raises(Misuse) as error:
        checked({**GOOD, **spoil}, BIASES)
    assert "uncle" not in str(error.value) and error.value.code == 1


@given(st.text().filter(lambda text: text not in NAMES | FIELDS | set(BIASES)))
def test_no_free_text_passes_as_a_name_or_a_value(text):
    for said in ({text: 1}, {"days": [{"biases": {text: 1}}]}, {"days": [{"reader": text}]}):
        with pytest.raises(Misuse):
            checked(said, BIASES)


# The command


def pages_file(path, *days, language="en"):
    """Days as (day, pages, how many of them show the question about one option)."""
    with Path(path).open("w", encoding="utf-8") as file:
        for day, pages, shown in days:
            for place in range(pages):
                lines = [{"text": f"Why now, {place}?"}]
                lines += [{"text": ALONE, "answer": "I would wait."}] if place < shown else []
                file.write(json.dumps({"day": day, "language": language, "more": "kept out",
                                       "page": {"at_stake": "", "lines": lines}}) + "\n")
    return path


def test_the_counts_are_those_that_were_put_there(equipoise):
    pages_file("p.jsonl", ("2026-11-28", 40, 25), ("2026-11-29", 9, 9), ("2026-11-30", 30, 4))
    code, out, err = equipoise("count", "p.jsonl", "--reader", "planted:perfect", "--json")
    assert code == 0, err
    days = {d["day"]: d["biases"] for d in json.loads(out)["days"]}
    assert days[28]["single-option"] == {"pages": 40, "shown": 25, "unknown": "hidden"}
    assert days[28]["framing"] == {"pages": 40, "shown": "hidden", "unknown": "hidden"}
    assert set(days[29]["single-option"].values()) == {"hidden"}
    assert days[30]["single-option"] == {"pages": 30, "shown": "hidden", "unknown": "hidden"}
    assert not Path("ledger.db").exists()
    # How many pages were read would tell what is hidden.
    assert "79" not in out + err and not re.search(r"\bpages were\b", err)


def test_the_badge_of_the_reader_stands_beside_its_counts(equipoise):
    pages_file("p.jsonl", ("2026-11-30", 12, 12))
    equipoise("run", "calibration", "-s", "planted:perfect", "--run", "cal")
    equipoise("badge", "cal", "-o", "b.json")
    for more, state in (((), "uncalibrated"), (("--trust", "b.json"), "trusted")):
        _, out, err = equipoise("count", "p.jsonl", "--reader", "planted:perfect", *more, "--json")
        assert json.loads(out)["days"][0]["reader"] == state
        assert ("not trusted" in err) == (state != "trusted")


def test_a_day_that_was_counted_is_not_counted_again(equipoise):
    pages_file("p.jsonl", ("2026-11-29", 20, 12))
    said = ("count", "p.jsonl", "--reader", "planted:perfect", "-o", "c.json", "--json")
    _, first, _ = equipoise(*said)
    pages_file("p.jsonl", ("2026-11-29", 21, 13), ("2026-11-30", 30, 11))
    _, second, err = equipoise(*said)
    one, other = (json.loads(text)["days"] for text in (first, second))
    assert other[0] == one[0] and other[1]["biases"]["single-option"]["shown"] == 11
    assert "Days counted: 1, and 1 before." in err
    assert json.loads(Path("c.json").read_text()) == json.loads(second)


def test_a_file_that_holds_something_else_is_not_written_over(equipoise):
    pages_file("p.jsonl", ("2026-11-29", 20, 12))
    Path("c.json").write_text('{"days": [{"note": "mine"}]}')
    code, _, err = equipoise("count", "p.jsonl", "--reader", "planted:perfect", "-o", "c.json")
    assert code == 2 and "holds no counts" in err and "mine" in Path("c.json").read_text()


def test_pages_may_come_from_stdin_and_a_page_in_french_is_read_in_french(equipoise):
    page = {"day": "2026-11-30", "language": "fr", "page": {"lines": [{"text": TWICE}]}}
    plain = {**page, "page": {"lines": [{"text": "Et alors ?"}]}}
    said = "\n".join([json.dumps(page)] * 12 + [json.dumps(plain)] * 15)
    code, out, err = equipoise("count", "-", "--reader", "planted:perfect", "--json", stdin=said)
    assert code == 0, err
    assert json.loads(out)["days"][0]["biases"]["framing"]["shown"] == 12


@pytest.mark.parametrize("reader", [
    "openai:m@https://a.example/v1", "openai:m@http://127.0.0.1:1/v1", "anthropic:m?max_tokens=9"])
def test_a_reader_that_is_a_server_needs_leave_to_see_pages(equipoise, reader):
    pages_file("p.jsonl", ("2026-11-30", 12, 12))
    code, _, err = equipoise("count", "p.jsonl", "--reader", reader, "--max-calls", 1000)
    assert code == 2 and "would be given every page, word for word" in err


def test_a_reader_over_the_network_is_reached_with_tls_or_not_at_all(equipoise):
    pages_file("p.jsonl", ("2026-11-30", 12, 12))
    code, _, err = equipoise("count", "p.jsonl", "--reader", "openai:m@http://a.example/v1",
                             "--max-calls", 1000, "--reader-may-see-pages")
    assert code == 2 and "without TLS" in err


def test_a_reader_that_may_send_a_bill_needs_a_cap_which_does_not_tell_how_many_pages(equipoise):
    pages_file("p.jsonl", ("2026-11-30", 12, 12))
    said = ("count", "p.jsonl", "--reader", "openai:m@https://a.example/v1",
            "--reader-may-see-pages")
    code, _, err = equipoise(*said)
    assert code == 2 and "nothing caps them" in err and "Up to 1,000 calls" in err
    code, _, err = equipoise(*said, "--max-calls", 83)
    assert code == 7 and "the cap is 83" in err and "84" not in err


# Nothing gets out


CANARIES = [f"Canary sentence number {n:04} sings of {n * 7919 % 10007:05} things."
            for n in range(1000)]
MARK = re.compile(r"canary|sings of", re.IGNORECASE)


def canaries(path, spoiled=()):
    """Pages full of sentences: as questions, answers and stakes, and beside the page."""
    rows = []
    for n in range(0, 1000, 4):
        a, b, c, d = CANARIES[n : n + 4]
        rows.append(json.dumps({"day": f"2026-11-{28 + n // 400:02}", "language": "en", "person": a,
                                "page": {"at_stake": b, "lines": [{"text": c, "answer": d}]}}))
    for n, line in enumerate(spoiled):
        rows.insert(7 * n, line)
    Path(path).write_text("\n".join(rows), encoding="utf-8")


def said_of(body):
    return json.dumps({"choices": [{"message": {"content": body}, "finish_reason": "stop"}]})


def quoting(got):
    """What the reader was asked, as it could be quoted back."""
    return json.loads(got.body)["messages"][0]["content"]


async def reads(got, wire):
    verdict = {"verdict": "met", "line": 1, "quote": quoting(got)[-300:]}
    await wire.send(response(said_of(json.dumps(verdict)).encode()))


async def talks(got, wire):
    await wire.send(response(said_of(quoting(got)).encode()))


async def refuses(got, wire):
    await wire.send(response(json.dumps({"error": {"message": quoting(got)}}).encode(), 400))


async def denies(got, wire):
    await wire.send(response(quoting(got).encode(), 401))


async def garbles(got, wire):
    await wire.send(response(b"<p>" + got.body))


async def redirects(got, wire):
    await wire.send(response(got.body, 307, b"Location: http://127.0.0.1:9/" + b"canary"))


def everything_written(folder, but):
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*")
                    if path.is_file() and path.name != but)


@pytest.mark.parametrize("behave, code", [
    (reads, 0), (talks, 0), (refuses, 75), (denies, 4), (garbles, 75), (redirects, 75)])
def test_of_1000_sentences_none_gets_out_whatever_the_reader_does(
    equipoise, tmp_path, monkeypatch, behave, code
):
    canaries("pages.jsonl")
    monkeypatch.setenv("EQUIPOISE_API_KEY", "canary-key")

    async def elsewhere(got, wire):
        await wire.send(response(b"{}"))

    with serving_in_a_thread(behave) as reader, serving_in_a_thread(elsewhere) as other:
        # A proxy in the environment is someone else, too.
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{other.port}")
        ended, out, err = equipoise(
            "count", "pages.jsonl", "--reader", f"openai:m@http://127.0.0.1:{reader.port}/v1",
            "--reader-may-see-pages", "--max-calls", 2000, "-o", "counts.json")
    assert ended == code, err
    assert other.requests == 0
    assert reader.requests >= (1000 if code == 0 else 1)
    told = (out + err).encode() + everything_written(tmp_path, "pages.jsonl")
    assert not MARK.search(told.decode("utf-8", "replace"))
    assert Path("counts.json").exists() == (code == 0)
    if code == 0:
        sent = "".join(quoting(got) for got in reader.got)
        assert all(line in sent for n, line in enumerate(CANARIES) if n % 4)
        assert not any(line in sent for n, line in enumerate(CANARIES) if not n % 4)


@pytest.mark.parametrize("line", [
    "Canary sentence that is no JSON", '"Canary sentence"', '{"page": "Canary"}',
    '{"page": {"lines": []}, "day": "Canary", "language": "en"}',
    '{"page": {"lines": []}, "day": "2026-11-30", "language": "Canary"}',
    '{"page": {"lines": ["Canary"]}, "day": "2026-11-30", "language": "en"}',
    '{"page": {"lines": [{"text": "", "answer": "Canary"}]}, "day": "2026-11-30",'
    ' "language": "en"}',
    '{"page": {"lines": [], "at_stake": ["Canary"]}, "day": "2026-11-30", "language": "en"}',
    "[" * 100_000,
])
def test_a_line_that_is_no_page_is_named_by_its_number_and_not_quoted(equipoise, tmp_path, line):
    canaries("pages.jsonl", [line])
    code, out, err = equipoise("count", "pages.jsonl", "--reader", "planted:perfect", "-o", "c")
    assert code == 2 and "line 1 " in err
    assert not MARK.search(out + err) and not Path("c").exists()


def test_a_fault_that_nobody_foresaw_is_named_by_its_kind_alone(equipoise, monkeypatch):
    class Broken:
        def __iter__(self):
            raise RuntimeError(CANARIES[0])

    monkeypatch.setattr("sys.stdin", Broken())
    monkeypatch.setenv("EQUIPOISE_DEBUG", "1")
    code, out, err = equipoise("count", "-", "--reader", "planted:perfect")
    assert code == 1 and "RuntimeError" in err and not MARK.search(out + err)


def test_too_many_calls_that_come_to_nothing_let_nothing_out(equipoise):
    pages_file("p.jsonl", ("2026-11-30", 12, 12))

    async def sometimes(got, wire):
        good = {"verdict": "not met", "line": -1}
        await wire.send(response(b"<p>" if got.place % 7 == 0 else said_of(
            json.dumps(good)).encode()))

    with serving_in_a_thread(sometimes) as reader:
        code, out, err = equipoise(
            "count", "p.jsonl", "--reader", f"openai:m@http://127.0.0.1:{reader.port}/v1",
            "--reader-may-see-pages", "--max-calls", 2000, "-o", "c.json")
    assert code == 3 and "More than 5% of the calls came to nothing (malformed)" in err
    assert out == "" and not Path("c.json").exists()
