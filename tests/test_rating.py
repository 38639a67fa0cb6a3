"""A seat at the terminal: one key an answer, on disk as it is given, and blind to everyone else."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from equipoise.answers import Settled, lines_of, read_lines
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.labelling import Answer, Item, done, ordered, standing
from equipoise.stimuli import load

BIASES = suite(load(SHIPPED)).biases
RATERS = '[ann]\nlanguages = ["en", "fr"]\n[bob]\nlanguages = ["en"]\n[cleo]\nlanguages = ["en"]\n'
PAGE = "0. At stake: A year.\n1. [open] By when?\n2. [settled] Who says so? — My uncle."


def item(n, bias="framing", language="en", task="shown", page=PAGE):
    of = BIASES[bias]
    more = {"question": "Stay or go?", "said": "It is nothing."} if task == "present" else {}
    return Item(f"{n:016x}", task, language, bias, of.title[language], of.definition[language],
                of.debias[language], of.stamp, page, **more)


@pytest.fixture
def seat(equipoise, tmp_path):
    """A queue of six items of one bias, raters, and a rater's session from keys."""
    (tmp_path / "raters.toml").write_text(RATERS)
    write(tmp_path, [item(n) for n in range(6)])

    def session(keys, *more, rater="ann", out="a.jsonl"):
        lines = "".join(f"{key}\n" for key in keys)
        return equipoise("rate", "q.jsonl", "--rater", rater, "-o", out, *more, stdin=lines)

    session.folder = tmp_path
    return session


def write(folder, items):
    (folder / "q.jsonl").write_bytes(lines_of(items))


def answers(folder, out="a.jsonl"):
    return read_lines(folder / out, Answer)


def labels(folder, rater="ann", out="a.jsonl"):
    return [one.label for one in done(answers(folder, out), rater) if one.act == "answer"]


def test_a_key_an_answer_and_the_guideline_beside_each_item(seat):
    code, out, err = seat(["", "y", "n", "u", "q"])
    assert code == 0 and labels(seat.folder) == ["yes", "no", "unknown"]
    assert "3 of 6 items answered" in out
    assert err.count(BIASES["framing"].title["en"]) == 5  # Read once, then beside four items.
    assert "0 of 6 answered" in err and "3 of 6 answered" in err


def test_the_same_command_goes_on_in_the_rater_s_order(seat):
    order = [one.id for one in ordered([item(n) for n in range(6)], "ann")]
    seat(["", "y", "y"])
    seat(["n", "q"])
    given = [one.id for one in answers(seat.folder) if one.act == "answer"]
    assert given == order[:3]
    code, out, _ = seat(["y"] * 10)
    assert code == 0 and "6 of 6 items answered" in out
    assert len(answers(seat.folder)) == 7  # One reading, six answers; the spare keys went nowhere.


def test_going_back_takes_back_ten_answers_and_more_over_sessions(seat):
    write(seat.folder, [item(n) for n in range(15)])
    seat(["", *["y"] * 8])
    seat([*["y"] * 6, *["b"] * 12, *["n"] * 12, "q"])
    assert labels(seat.folder) == ["yes"] * 2 + ["no"] * 12
    assert len({one.id for one in standing(answers(seat.folder))}) == 14
    code, _, _ = seat(["b"] * 40)
    assert code == 0 and labels(seat.folder) == []


def test_what_is_put_off_comes_last_and_is_no_label(seat):
    order = [one.id for one in ordered([item(n) for n in range(6)], "ann")]
    code, out, _ = seat(["", "s", *["y"] * 5])
    assert code == 0 and "5 of 6 items answered, 1 put off" in out
    seat(["n"])
    last = answers(seat.folder)[-1]
    assert (last.id, last.label) == (order[0], "no")


def test_a_number_is_yes_on_that_line_and_a_line_there_is_not_is_none(seat):
    _, _, err = seat(["", "2", "7", "0", "q"])
    assert [(one.label, one.line) for one in answers(seat.folder) if one.act == "answer"] == [
        ("yes", 2), ("yes", 0)]
    assert "There is no line 7 on the page" in err


def test_a_no_on_a_page_gives_its_reason_where_reasons_are_asked_for(seat):
    seat(["", "n", "", "n", "Asks who, not when.", "y", "q"], "--reasons")
    found = [one for one in answers(seat.folder) if one.act == "answer"]
    assert [(one.label, one.reason) for one in found] == [
        ("no", "Asks who, not when."), ("yes", "")]


def test_an_unknown_key_says_what_the_keys_do_and_answers_nothing(seat):
    _, _, err = seat(["", "x", "?", "q"])
    assert labels(seat.folder) == [] and "take back the last answer" in err


def test_nobody_is_a_rater_who_is_not_in_the_file(seat):
    code, _, err = seat(["y"], rater="eve")
    assert code == 2 and "no rater" in err and not (seat.folder / "a.jsonl").exists()
    (seat.folder / "raters.toml").unlink()
    code, _, err = seat(["y"])
    assert code == 2 and "Nobody is a rater by default" in err


def test_a_french_item_is_not_shown_to_who_does_not_read_it(seat):
    write(seat.folder, [item(1), item(2, language="fr", page="1. [ouverte] Pour quand ?")])
    code, out, err = seat(["", "y", "y"], rater="bob")
    assert code == 0 and "1 of 1 items" in out and "Pour quand" not in err
    assert "1 items are in a language that bob does not read" in err
    _, out, err = seat(["", "y", "", "y", "y"])
    assert "2 of 2 items" in out and "La question qui y répond" in err


def test_another_rater_s_answers_are_never_shown(seat):
    seat(["", *["n", "CANARY"] * 6], "--reasons", rater="bob")
    _, out, err = seat(["", *["y"] * 6])
    assert "CANARY" not in out + err and "bob" not in out + err
    assert "6 of 6" in out and labels(seat.folder) == ["yes"] * 6


def test_a_message_is_shown_for_the_task_present_and_no_debias(seat):
    write(seat.folder, [item(1, task="present")])
    _, _, err = seat(["", "n"], "--reasons")
    assert "It is nothing." in err and "Stay or go?" in err
    assert "answers it" not in err and labels(seat.folder) == ["no"]


def test_nothing_in_an_item_moves_the_terminal(seat):
    write(seat.folder, [item(1, page="1. [open] \x1b[2J\x1b]0;x\x07Why\u202e?\x9b31m\r")])
    _, _, err = seat(["", "q"])
    shown = err.replace("\n", "")
    assert "\\x1b[2J" in shown and all(c.isprintable() for c in shown)


def test_reworded_definitions_are_read_anew_and_old_labels_are_history(seat):
    seat(["", *["y"] * 6])
    folder = seat.folder / "own"
    folder.mkdir()
    text = (SHIPPED / "biases.toml").read_text("utf-8")
    old = BIASES["framing"].definition["en"]
    (folder / "biases.toml").write_text(text.replace(old, "REWORDED. " + old), "utf-8")
    code, out, err = seat(["", "n", "q"], "--suite", folder)
    assert code == 0 and "These words were changed. Your 6 labels" in err and "REWORDED" in err
    assert "1 of 6 items answered" in out
    stamps = {one.definition for one in answers(seat.folder)}
    assert len(stamps) == 2 and labels(seat.folder).count("yes") == 6


def test_a_rater_s_counts_as_json(seat):
    _, out, _ = seat(["", "y", "s", "q"], "--json")
    assert {**json.loads(out), "schema_version": 0} == {
        "schema_version": 0, "rater": "ann", "items": 6, "answered": 1, "skipped": 1,
        "ratings": "a.jsonl"}


# With a process of its own


def start(folder, stdin, *more, out="a.jsonl", stderr=subprocess.PIPE):
    return subprocess.Popen(
        [sys.executable, "-m", "equipoise", "rate", "q.jsonl", "--rater", "ann", "-o", out,
         *more],
        cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
        env={**os.environ, "TERM": "xterm"})


def test_no_answer_is_lost_to_a_kill(seat):
    write(seat.folder, [item(n) for n in range(30)])
    process = start(seat.folder, subprocess.PIPE)
    process.stdin.write(b"\n" + b"y\n" * 12)
    process.stdin.flush()
    seen = b""
    while b"12 of 30 answered" not in seen:
        seen += os.read(process.stderr.fileno(), 65536)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert labels(seat.folder) == ["yes"] * 12
    code, out, _ = seat(["y"] * 18)
    assert code == 0 and "30 of 30 items answered" in out


def test_one_key_is_enough_at_a_terminal(seat):
    master, slave = pty.openpty()
    process = start(seat.folder, slave, "--reasons", stderr=slave)
    os.close(slave)

    def until(wanted):
        seen, ends = b"", time.monotonic() + 30
        while wanted not in seen and time.monotonic() < ends:
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 65536)
        assert wanted in seen, seen

    until(b"press Enter")
    for key, shown in ((b" ", b"0 of 6 answered"), (b"Y", b"1 of 6 answered"),
                       (b"y", b"2 of 6 answered"), (b"b", b"1 of 6 answered"),
                       (b"\x1b[5~", b"take back the last"), (b"u", b"2 of 6 answered")):
        os.write(master, key)
        until(shown)
    os.write(master, b"n")
    until(b"Why not?")
    os.write(master, b"Who, not whem\x7fn.\n")
    until(b"3 of 6 answered")
    os.write(master, b"\x04")
    process.communicate(timeout=30)
    os.close(master)
    assert process.returncode == 0 and labels(seat.folder) == [
        "yes", "unknown", "no"]
    assert answers(seat.folder)[-1].reason == "Who, not when."


# Adjudication


def rated(folder, by, **more):
    """Ratings of item 0 by each rater."""
    one = item(0)
    (folder / "r.jsonl").write_bytes(lines_of(
        Answer("answer", one.id, one.task, one.bias, rater, one.stamp, label, -1,
               more.get(rater, "")) for rater, label in by.items()))


@pytest.fixture
def bench(seat, equipoise):
    """An adjudicator's session from keys."""
    def session(*keys):
        lines = "".join(f"{key}\n" for key in keys)
        return equipoise("adjudicate", "q.jsonl", "r.jsonl", "--by", "cleo", stdin=lines)

    session.folder = seat.folder
    return session


def settled(folder):
    return read_lines(folder / "adjudications.jsonl", Settled)


def test_only_a_split_is_shown_with_its_reasons_and_without_names(bench):
    rated(bench.folder, {"ann": "yes", "bob": "no"}, bob="It asks who.")
    code, out, err = bench("y", "", "y", "It asks for the total too.")
    assert code == 0 and "1 of 1 splits settled" in out
    assert "raters said 1 no, 1 yes" in err and "no: It asks who." in err
    assert "ann" not in err.split() and "bob" not in err.split()
    [one] = settled(bench.folder)
    assert (one.label, one.by, one.reason) == ("yes", "cleo", "It asks for the total too.")
    code, out, _ = bench("n", "again")
    assert "0 of 0 splits" in out and len(settled(bench.folder)) == 1


@pytest.mark.parametrize("by", [
    {"ann": "yes"}, {"ann": "yes", "bob": "yes"}, {"ann": "yes", "bob": "yes", "cleo": "no"},
    {"ann": "yes", "bob": "unknown"},
])
def test_what_is_no_split_is_not_to_be_adjudicated(bench, by):
    rated(bench.folder, by)
    _, out, _ = bench("y", "because")
    assert "0 of 0 splits" in out and settled(bench.folder) == []


def test_nothing_is_settled_without_a_reason(bench):
    rated(bench.folder, {"ann": "yes", "bob": "no"})
    code, out, _ = bench("y", "   ", "c", "", "q")
    assert code == 0 and "0 of 1" in out and settled(bench.folder) == []


def test_a_split_may_be_left_contested_with_a_reason_or_for_later(bench):
    rated(bench.folder, {"ann": "yes", "bob": "no"})
    bench("s")
    assert settled(bench.folder) == []
    bench("c", "The words allow both.")
    assert [one.label for one in settled(bench.folder)] == [""]
    text = (bench.folder / "adjudications.jsonl").read_bytes()
    assert msgspec.json.decode(text)["reason"] == "The words allow both."
