"""Blind items, seats and answers: each order is one's own, and nothing that was said is lost."""

import json
import multiprocessing
import os
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.answers import read_answers, read_lines, read_queue
from equipoise.appending import appending
from equipoise.labelling import (
    Answer,
    Item,
    Rater,
    allowed,
    as_ratings,
    blind,
    done,
    has_read,
    ordered,
    queue_stamp,
    raters,
    standing,
    under,
    waiting,
)
from equipoise.terms import Misuse

STAMPS = {"framing": "v1"}


def item(name, language="en", stamp="v1", task="shown"):
    return Item(name, task, language, "framing", "T", "D", "Q", stamp, "1. [open] Why?")


def said(act, name, label="", rater="ann", definition="v1"):
    return Answer(act, name, "shown", "framing", rater, definition, label)


ITEMS = [item(f"i{n}") for n in range(40)]
ACTS = st.lists(st.builds(
    said, st.sampled_from(["answer", "skip", "undo", "read"]), st.sampled_from(["i0", "i1", "i2"]),
    st.sampled_from(["yes", "no", "unknown"]), st.sampled_from(["ann", "bob"]),
    st.sampled_from(["v1", "v2"])), max_size=25)


# Order and gate


def test_each_rater_has_an_order_of_their_own_and_keeps_it():
    ann, bob = ordered(ITEMS, "ann"), ordered(ITEMS, "bob")
    assert ann == ordered(list(reversed(ITEMS)), "ann")
    assert sorted(ann, key=lambda i: i.id) == sorted(bob, key=lambda i: i.id)
    assert ann != bob != ITEMS != ann


def test_a_rater_s_order_is_another_in_another_queue():
    more = [*ITEMS, item("another")]
    kept = [one for one in ordered(more, "ann") if one.id != "another"]
    assert queue_stamp(more) != queue_stamp(ITEMS) and kept != ordered(ITEMS, "ann")


def test_no_place_in_the_order_is_more_an_item_s_than_another():
    # 2,000 raters over 5 items: each first 400 times, within 4 standard errors of 18.
    first = Counter(ordered(ITEMS[:5], f"r{n}")[0].id for n in range(2_000))
    assert all(abs(n - 400) < 4 * (2_000 * 0.2 * 0.8) ** 0.5 for n in first.values())


def test_a_french_item_goes_only_to_who_reads_french():
    both = [item("e"), item("f", "fr")]
    assert allowed(both, Rater("ann", ("en",))) == both[:1]
    assert allowed(both, Rater("eve", ("fr", "en"))) == both


def test_a_rater_without_languages_is_none():
    for row in ({}, {"languages": []}, {"languages": "en"}, "en"):
        with pytest.raises(Misuse, match="needs the languages"):
            raters({"ann": row})


@given(st.binary(min_size=32, max_size=32), st.text(), st.text())
def test_a_blind_id_is_the_content_s_under_one_secret(secret, one, other):
    a, b = blind(secret, {"page": one}), blind(secret, {"page": other})
    assert (a == b) == (one == other) and len(a) == 16
    assert blind(secret + b"x", {"page": one}) != a


# What a rater said


def by_hand(acts, rater):
    """A rater's answers and skips, going through them with a list as a person would."""
    kept = []
    for act in acts:
        if act.rater != rater or act.act == "read":
            continue
        if act.act == "undo":
            own = [one for one in kept if one.id == act.id]
            if own:
                kept.reverse()
                kept.remove(own[-1])
                kept.reverse()
        else:
            kept.append(act)
    return kept


@given(ACTS)
def test_what_is_taken_back_is_as_if_it_had_not_been_said(acts):
    for rater in ("ann", "bob"):
        assert done(acts, rater) == by_hand(acts, rater)


@given(ACTS)
def test_the_last_word_of_each_rater_under_each_definition_stands(acts):
    wanted = {}
    for rater in ("ann", "bob"):
        for one in by_hand(acts, rater):
            if one.act == "answer":
                wanted[one.id, rater, one.definition] = one.label
    found = {(one.id, one.rater, one.definition): one.label for one in standing(acts)}
    assert found == wanted
    assert {(r.item, r.rater, r.definition): r.label for r in as_ratings(acts)} == {
        key: None if label == "unknown" else label for key, label in wanted.items()}


def test_unknown_after_yes_is_yes_no_longer():
    [rating] = as_ratings([said("answer", "i", "yes"), said("answer", "i", "unknown")])
    assert rating.label is None


@given(ACTS)
def test_a_rater_waits_for_what_they_have_not_answered_under_the_words_of_now(acts):
    items = [item(f"i{n}", stamp="v2") for n in range(3)]
    left = waiting(items, acts, "ann")
    answered = {one.id for one in by_hand(acts, "ann")
                if one.act == "answer" and one.definition == "v2"}
    assert {one.id for one in left} == {one.id for one in items} - answered
    skipped = {one.id for one in by_hand(acts, "ann") if one.act == "skip"}
    late = [one.id in skipped for one in left]
    assert late == sorted(late)


def test_new_words_open_every_item_again_and_are_to_be_read():
    class Reworded:
        title = definition = debias = {"en": "New."}
        stamp = "v2"

    acts = [said("read", "i0"), said("answer", "i0", "yes")]
    assert has_read(acts, "ann", item("i0")) and not waiting([item("i0")], acts, "ann")
    [now] = under([item("i0")], {"framing": Reworded})
    assert (now.definition, now.page) == ("New.", "1. [open] Why?")
    assert not has_read(acts, "ann", now) and waiting([now], acts, "ann") == [now]
    with pytest.raises(Misuse, match="no longer"):
        under([item("i0")], {})


# Files


def test_a_line_that_was_cut_short_is_taken_off_and_a_whole_one_is_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    whole = msgspec.json.encode(said("answer", "i0", "yes"))
    for tail, kept in ((whole[:-4], 1), (whole, 2)):
        path.write_bytes(whole + b"\n" + tail)
        assert len(read_lines(path, Answer)) == kept
        with appending(path) as add:
            add(whole)
        assert len(read_lines(path, Answer)) == kept + 1


@given(st.integers(0, 400))
def test_answers_cut_at_any_byte_are_a_prefix(at):
    import tempfile
    from pathlib import Path

    every = [said("answer", f"i{n}", "yes") for n in range(4)]
    text = b"".join(msgspec.json.encode(one) + b"\n" for one in every)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(text[:at])
        with appending(path):
            pass
        found = read_lines(path, Answer)
    assert found == every[:len(found)] and len(found) >= text[:at].count(b"\n")


def test_each_line_is_on_disk_before_the_next_is_asked_for(tmp_path, monkeypatch):
    path, sizes = tmp_path / "a.jsonl", []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda at: (sizes.append(path.stat().st_size), real(at)))
    with appending(path) as add:
        sizes.clear()
        for n in range(1, 4):
            add(b"{}")
            assert sizes[-1] == 3 * n and len(sizes) == n


def _hold(path, held, let_go):
    with appending(path):
        held.set()
        let_go.wait(30)


def test_two_processes_do_not_write_one_file(tmp_path):
    path = tmp_path / "a.jsonl"
    spawn = multiprocessing.get_context("spawn")
    held, let_go = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(path, held, let_go))
    other.start()
    assert held.wait(30)
    with pytest.raises(Misuse, match="Another process") as error, appending(path):
        pass
    let_go.set()
    other.join(30)
    assert error.value.code == 6


@pytest.mark.parametrize("text, said_of_it", [
    ("{}\n", "line 1"), ("[]\n", "line 1"), ('{"act":"vote"}\n', "line 1"), ("nothing\n", "line 1"),
    (json.dumps({"act": "answer", "id": "i", "task": "shown", "bias": "b", "rater": "r",
                 "definition": "d", "label": "maybe"}) + "\n", "'maybe'"),
])
def test_a_line_that_is_no_answer_is_named(tmp_path, text, said_of_it):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(Misuse, match=said_of_it):
        read_answers(tmp_path / "a.jsonl", {})


def test_a_table_of_ratings_counts_as_given_under_the_words_of_now(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("moment,bias,task,rater,label,reason\n"
                    'm,framing,shown,ann,no,"No line, none\nat all."\nm,framing,shown,bob,,\n')
    one, other = read_answers(path, STAMPS)
    assert (one.id, one.definition, one.label, one.reason) == (
        "m/framing/shown", "v1", "no", "No line, none\nat all.")
    assert other.act == "skip" and len(standing([one, other])) == 1


@pytest.mark.parametrize("row, said_of_it", [
    ("m,flaming,shown,ann,no,", "'flaming' is not defined"),
    ("m,framing,seen,ann,no,", "task shown or present"),
    ("m,framing,shown,ann,maybe,", "yes, no, unknown"),
    ("m,framing,shown,ann,no", "cells"), ("m,framing,shown,ann,no,a,b", "cells"),
    ('m,framing,shown,ann,no,"x', "not CSV"),
])
def test_a_row_that_is_no_rating_is_named(tmp_path, row, said_of_it):
    path = tmp_path / "r.csv"
    path.write_text("moment,bias,task,rater,label,reason\n" + row + "\n")
    with pytest.raises(Misuse, match=said_of_it):
        read_answers(path, STAMPS)


def test_a_queue_of_nothing_or_with_an_item_twice_is_refused(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("")
    with pytest.raises(Misuse, match="no item"):
        read_queue(path)
    path.write_bytes(2 * (msgspec.json.encode(item("i")) + b"\n"))
    with pytest.raises(Misuse, match="twice"):
        read_queue(path)
    with pytest.raises(Misuse, match="no file"):
        read_queue(tmp_path / "none.jsonl")
