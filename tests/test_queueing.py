"""Queues: drawn uniformly, with all that nobody decided, and telling nothing of whence."""

import json
import stat
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from equipoise.answers import read_queue
from equipoise.cli import queueing
from equipoise.cli.queueing import Verdict, chosen, masking, page_item, read_key, verdicts
from equipoise.cli.running import Terms, read_run, run_registered
from equipoise.cli.studies import register
from equipoise.instruments.replay.labels import labelled
from equipoise.instruments.replay.page import page, worded
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.ledger import Ledger
from equipoise.stimuli import load
from equipoise.terms import Subject

STIMULI = load(SHIPPED)
SUITE = suite(STIMULI)
CANARIES = ("CANARYENGINE", "CANARYFAMILY", "CANARYREADER", "CANARYRUN", "CANARYSECOND")
FEW = list(SUITE.openings)[:5]


def canary_run(path, name, readers=("unsure", "perfect")):
    """A finished replay whose engine, family, readers and run have names that stand out."""
    engine = Subject("CANARYENGINE", "better", "CANARYFAMILY", "planted")
    planned, stimuli = register(
        "replay", [engine], change=("instruction:all",), openings=",".join(FEW),
        readers=tuple(f"planted:{one}" for one in readers))
    named = [{**one, "name": of} for one, of in zip(
        planned.declared["readers"], ("CANARYREADER", "CANARYSECOND"), strict=False)]
    planned = replace(planned, declared={**planned.declared, "readers": named})
    run_registered(path, planned, stimuli, name, Terms(quiet=True))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("queueing") / "ledger.db"
    canary_run(path, "CANARYRUN")
    return path


@pytest.fixture
def queue(equipoise, recorded, monkeypatch, tmp_path):
    """Queue the recorded run; gives back its items and its key."""
    monkeypatch.setenv("EQUIPOISE_LEDGER", str(recorded))

    def made(name="q", *more):
        code, _, err = equipoise("queue", "CANARYRUN", "-o", f"{name}.jsonl", "--key",
                                 f"{name}.key", *more)
        assert code == 0, err
        return read_queue(tmp_path / f"{name}.jsonl"), read_key(tmp_path / f"{name}.key")

    return made


def every_verdict(recorded):
    ledger = Ledger.open(recorded, read_only=True)
    try:
        _, laid_out, found = read_run(ledger, "CANARYRUN")
    finally:
        ledger.close()
    return list(verdicts(laid_out.suite, found.observations))


def test_nothing_in_a_queue_says_which_model_arm_run_or_verdict_it_is_of(queue, tmp_path):
    _, key = queue()
    text = (tmp_path / "q.jsonl").read_text("utf-8")
    held = json.dumps(key.header) + json.dumps(key.rows)
    for canary in (*CANARIES, *FEW, "A-again"):
        assert canary not in text
    assert all(canary in held for canary in ("CANARYENGINE", "CANARYREADER", "CANARYRUN"))
    lines = [json.loads(line) for line in text.splitlines()]
    assert {tuple(line) for line in lines} == {(
        "id", "task", "language", "bias", "title", "definition", "debias", "stamp", "page",
        "question", "said")}
    assert all(line["question"] == line["said"] == "" for line in lines)


def test_the_key_is_for_its_owner_s_eyes(queue, tmp_path):
    queue()
    assert stat.S_IMODE((tmp_path / "q.key").stat().st_mode) == 0o600


def test_an_item_shows_the_page_as_its_reader_saw_it(queue, recorded):
    items, key = queue()
    by_id = {item.id: item for item in items}
    at = {json.dumps(v.place): v for v in every_verdict(recorded)}
    for row in key.rows:
        item = by_id[row["id"]]
        place = {name: row[name] for name in ("opening", "engine", "answer", "arm", "draw",
                                              "version", "bias", "reader")}
        verdict = at[json.dumps(place)]
        assert item.page == worded(verdict.page, item.language)
        assert item.definition == SUITE.biases[row["bias"]].definition[item.language]
        assert (row["verdict"], row["definition"]) == (verdict.says, item.stamp)


def test_ten_decided_verdicts_and_every_one_that_nobody_decided(queue, recorded):
    items, key = queue()
    every = every_verdict(recorded)
    why = Counter(row["why"] for row in key.rows)
    assert why == {"spot": 10, "unknown": sum(not v.decided for v in every)} and why["unknown"]
    assert {row["id"] for row in key.rows} == {item.id for item in items}
    assert len(items) < len(key.rows)  # The same page and bias is one item, however often read.
    assert key.header["verdicts"]["CANARYREADER"] == Counter(
        v.says for v in every if v.place["reader"] == "CANARYREADER")
    queue("more", "--random", "3")
    with pytest.raises(AssertionError, match="there already"):
        queue("more")


def test_the_same_seed_draws_the_same_verdicts_under_other_ids(queue):
    (_, one), (_, again), (_, other) = queue("a"), queue("b"), queue("c", "--seed", "2")

    def places(key):
        return [{k: v for k, v in row.items() if k != "id"} for row in key.rows]

    assert places(one) == places(again) != places(other)
    assert not {r["id"] for r in one.rows} & {r["id"] for r in again.rows}
    assert one.header["seed"] == 1 and other.header["seed"] == 2


def test_the_draw_is_uniform_and_knows_no_interesting_verdict():
    # 100 verdicts, 5 of them undecided, 20 said to be met; 10 drawn by each of 3,000 seeds.
    says = ["unknown"] * 5 + ["met"] * 20 + ["not met"] * 75
    every = [Verdict({"n": n}, page([]), "en", said) for n, said in enumerate(says)]
    times = Counter()
    for seed in range(3_000):
        drawn, waiting = chosen(every, seed, 10)
        assert len(drawn) == len({v.place["n"] for v in drawn}) == 10
        assert [v.place["n"] for v in waiting] == [0, 1, 2, 3, 4]
        times.update(v.place["n"] for v in drawn)
    share = 10 / 95
    spread = (3_000 * share * (1 - share)) ** 0.5
    assert set(times) == set(range(5, 100))
    assert max(abs(n - 3_000 * share) for n in times.values()) < 4.5 * spread
    met = sum(times[n] for n in range(5, 25)) / 30_000
    assert abs(met - 20 / 95) < 0.01


def test_an_id_tells_no_verdict_and_no_arm(recorded):
    # No feature of an item but its text is left but its id, by which the file is sorted.
    rows = [(v, page_item(b"s" * 32, SUITE, v, lambda text: text)) for v in every_verdict(recorded)]
    one = {item.id: v for v, item in rows}
    order = sorted(one)
    for feature in (lambda v: v.says == "met", lambda v: v.place["arm"] == "B"):
        marks = np.array([feature(one[each]) for each in order])
        places = np.flatnonzero(marks).mean()
        shuffled = np.random.default_rng(5)
        means = [np.flatnonzero(shuffled.permutation(marks)).mean() for _ in range(400)]
        p = np.mean(np.abs(np.array(means) - len(order) / 2) >= abs(places - len(order) / 2))
        assert p > 0.05


def test_a_model_that_names_itself_on_the_page_is_masked():
    masked = masking([
        {"dialect": "openai", "name": "org_gpt-x", "model": "org/gpt-x", "family": "gpt-x"},
        {"dialect": "planted", "name": "better", "model": "better", "family": "planted"}])
    verdict = Verdict({"bias": "framing"}, page([("As GPT-X I ask: is it better?", "")]), "en",
                      "met")
    item = page_item(b"s", SUITE, verdict, masked)
    assert item.page == "1. [open] As ▮▮▮ I ask: is it better?"
    assert masked("gpt-xy org/gpt-x, org_gpt-x.") == "gpt-xy ▮▮▮, ▮▮▮."


def test_moments_are_queued_without_their_labels_or_their_engine(equipoise, tmp_path):
    code, _, err = equipoise("queue", "--moments", "standard", "--split", "few-shot", "-o",
                             "q.jsonl", "--key", "q.key")
    assert code == 0, err
    items, key = read_queue(tmp_path / "q.jsonl"), read_key(tmp_path / "q.key")
    moments = {name: one for name, one in labelled(STIMULI, SUITE.biases).items()
               if one.split == "few-shot"}
    assert len(items) == len(moments) * 7 * 2
    names = {row["id"]: row for row in key.rows}
    text = (tmp_path / "q.jsonl").read_text("utf-8")
    assert not any(name in text for name in moments) and "weaker" not in text
    for item in items:
        of = moments[names[item.id]["moment"]]
        if item.task == "shown":
            assert (item.page, item.said) == (worded(of.after, of.language), "")
        else:
            assert (item.page, item.said, item.question) == (
                worded(of.before, of.language), of.said, of.question)
    code, _, _ = equipoise("queue", "--moments", "standard", "--split", "few-shot", "--task",
                           "shown", "-o", "s.jsonl", "--key", "s.key")
    assert code == 0 and {i.task for i in read_queue(tmp_path / "s.jsonl")} == {"shown"}


def test_what_cannot_be_queued_says_why(queue, equipoise, tmp_path):
    ends = "-o", "x.jsonl", "--key", "x.key"
    for words, said in ((("queue", *ends), "either a run, or a folder"),
                        (("queue", "CANARYRUN", "--moments", "standard", *ends), "either a run"),
                        (("queue", "none", *ends), "No run 'none'"),
                        (("queue", "--moments", "standard", "--split", "all", *ends), "'all'")):
        code, _, err = equipoise(*words)
        assert code == 2 and said in err
    code, _, err = equipoise("queue", "CANARYRUN", "-o", "no/x.jsonl", "--key", "no/x.key")
    assert code == 6 and "cannot be written" in err
    (tmp_path / "not.key").write_text("[]\n")
    with pytest.raises(queueing.Misuse, match="no key file"):
        read_key(tmp_path / "not.key")
