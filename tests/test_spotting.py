"""Spot checks: the rolling figure over runs, drift that stays, and rates helped by the labels."""

import json
from fractions import Fraction

import pytest

from equipoise.answers import Settled, lines_of, read_queue
from equipoise.calibration import spot_check
from equipoise.cli.queueing import KEY_FORM, SPOT, Key, read_key
from equipoise.cli.spotting import APART, NOBODY, checks, helped, rolling
from equipoise.labelling import Answer
from equipoise.ledger import Ledger
from equipoise.registration import Registration
from equipoise.stats.prediction_powered import prediction_powered_mean
from equipoise.stats.undefined import Undefined

READERS = {"reader": {"name": "reader"}}


def key(run, at, verdicts, reader="reader", counts=None):
    """A run's key: its random verdicts, each met or not met."""
    rows = tuple({"id": f"{run}-{n}", "why": SPOT, "reader": reader, "verdict": said,
                  "definition": "w", "n": n} for n, said in enumerate(verdicts))
    return Key({"form": KEY_FORM, "run": run, "at": at, "readers": READERS, "holds_for": "s",
                "verdicts": {reader: counts or {"met": 30, "not met": 70}}}, rows)


def answered(of, agrees, rater="lead"):
    """One rater's answers to a key's verdicts: agreeing, not, or None for unknown."""
    other = {"met": "no", "not met": "yes"}
    same = {"met": "yes", "not met": "no"}
    return [Answer("answer", row["id"], "shown", "b", rater, "w",
                   "unknown" if one is None else (same if one else other)[row["verdict"]])
            for row, one in zip(of.rows, agrees, strict=True)]


def runs(pattern, size=10):
    """Keys of ten verdicts a run, and answers that agree as the pattern says."""
    keys, answers = [], []
    for start in range(0, len(pattern), size):
        part = pattern[start:start + size]
        one = key(f"r{start // size}", start + 1, ["met", "not met"] * (len(part) // 2)
                  + ["met"] * (len(part) % 2))
        keys.append(one)
        answers += answered(one, part)
    return keys, answers


def of_reader(pattern, by="rolling"):
    keys, answers = runs(pattern)
    return rolling("reader", checks(keys, answers)["reader"], by)


def test_the_figure_is_of_the_last_forty_over_runs_and_none_before():
    assert of_reader([True] * 39).figure == Undefined("too_few_units")
    found = of_reader([False] * 5 + [True] * 45)
    assert found.figure == 1.0 and found.drifted == ""
    assert found.spot == spot_check([False] * 5 + [True] * 45, bar=Fraction(85, 100))


def test_thirty_four_of_forty_stands_and_thirty_three_is_drift_and_stays():
    assert of_reader([False] * 6 + [True] * 34).drifted == ""
    found = of_reader([False] * 7 + [True] * 73)
    assert found.figure == 1.0 and found.drifted.startswith(
        "people agreed with 33 of its last 40 spot checks in the run r3")


def test_keys_count_in_the_order_of_their_runs_however_they_are_given():
    keys, answers = runs([False] * 7 + [True] * 53)
    one, other = (checks(k, answers)["reader"] for k in (keys, [*reversed(keys), keys[0]]))
    assert one == other and len(one) == 60


def test_what_people_did_not_decide_is_passed_over():
    one = key("r", 1, ["met"] * 4)
    answers = [*answered(one, [True, None, True, False])[:3],
               *answered(one, [True, True, False, True], "second")[2:3]]
    found = checks([one], answers)["reader"]
    assert [c.label for c in found] == [True, APART, APART, NOBODY]
    assert rolling("reader", found, "rolling").spot.decided == 1
    settled = [Settled("r-2", "shown", "b", "lead", "w", "Seen again.", "no")]
    assert [c.label for c in checks([one], answers, settled)["reader"]] == [
        True, APART, False, NOBODY]


def test_labels_under_other_words_are_no_answer():
    one = key("r", 1, ["met"])
    old = Answer("answer", "r-0", "shown", "b", "lead", "old", "yes")
    assert checks([one], [old])["reader"][0].label == NOBODY


def test_the_running_sum_finds_what_the_window_finds_late_and_states_how_seldom_it_errs():
    # From an error in ten to three in ten: the plan's weight 5, so an error adds 4.
    found = of_reader([True] * 20 + [False] * 6, "cusum")
    assert found.plan.false_alarm <= 0.05 and found.plan.weight == 5
    assert found.alarm.alarm_at == 20 + -(-found.plan.limit // 4)
    assert "spot checks its errors passed the limit" in found.drifted
    assert of_reader([True] * 20 + [False] * 6).drifted == ""


def test_a_run_s_rate_is_helped_by_its_own_labels_alone():
    one = key("r", 1, ["met"] * 4 + ["not met"] * 6)
    other = key("s", 2, ["met"] * 10)
    answers = answered(one, [True] * 9 + [None]) + answered(other, [False] * 10)
    [found] = helped(one, answers)
    assert (found.said, found.of, found.found.labelled) == (30, 100, 9)
    assert found.found == prediction_powered_mean(
        [1] * 4 + [0] * 5, [1] * 4 + [0] * 5, [1] * 26 + [0] * 65)
    # A reader that is always right leaves what it said of the rest, and its weight.
    assert found.found.ppi.estimate == pytest.approx(26 / 91)


# The commands


@pytest.fixture
def drifting(equipoise, tmp_path):
    """A trusted reader's badge, a replay read by it, and its spot check of 50 verdicts."""
    badge = "-s", "planted:perfect", "--run"
    replay = ("run", "replay", "-s", "planted:better", "--change", "instruction:all", "--reader",
              "planted:perfect", "--trust", "b.json", "--no-progress", "--openings",
              "paint-the-boat-hull,choose-a-physio-room")
    for words in (("run", "calibration", *badge, "cal", "--no-progress"),
                  ("badge", "cal", "-o", "b.json"), (*replay, "--run", "r1"),
                  ("queue", "r1", "--random", "50", "-o", "q.jsonl", "--key", "k.jsonl")):
        code, _, err = equipoise(*words)
        assert code == 0, err

    def state():
        return json.loads((tmp_path / "b.json").read_text())["badges"][0].get("drifted", "")

    def label(wrong):
        """Answer with the reader, but for so many."""
        verdicts = {}
        for row in read_key(tmp_path / "k.jsonl").rows:
            verdicts.setdefault(row["id"], row["verdict"])
        text = {True: {"met": "yes", "not met": "no"}, False: {"met": "no", "not met": "yes"}}
        (tmp_path / "r.jsonl").write_bytes(lines_of(
            Answer("answer", item.id, "shown", item.bias, "lead", item.stamp,
                   text[n >= wrong][verdicts[item.id]])
            for n, item in enumerate(read_queue(tmp_path / "q.jsonl"))))

    return tmp_path, replay, state, label


def test_drift_is_written_into_the_badge_and_takes_the_verdict(equipoise, drifting):
    folder, replay, state, label = drifting
    label(0)
    code, out, err = equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--badge", "b.json")
    assert code == 0 and "no reader has drifted" in err and "stands" in out and state() == ""
    label(30)
    code, out, err = equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--badge", "b.json")
    assert code == 0 and "perfect drifted" in err and "of its last 40 spot checks" in state()
    # It stays: neither better answers nor the same calibration written out again bring it back.
    label(0)
    code, _, err = equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--badge", "b.json")
    assert code == 0 and "perfect drifted" in err
    code, _, _ = equipoise("badge", "cal", "-o", "b.json")
    assert code == 0 and "of its last 40" in state()
    code, out, err = equipoise(*replay, "--run", "r2", "--json")
    assert code == 0, err
    [found] = json.loads(out)["comparisons"]
    assert found["verdict"]["gates"] == ["reader_uncalibrated"]
    assert found["verdict"]["kind"] == "no verdict"
    ledger = Ledger.open(folder / "ledger.db", read_only=True)
    [badge] = Registration.from_json(ledger.run("r2").registration).declared["badges"]
    ledger.close()
    assert badge["state"] == "drifted" and badge["why"] == state()


def test_a_reader_that_is_validated_again_starts_anew(equipoise, drifting):
    folder, _, state, label = drifting
    label(30)
    equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--badge", "b.json")
    assert state()
    for words in (("run", "calibration", "-s", "planted:perfect", "--run", "again",
                   "--no-progress"), ("badge", "again", "-o", "b.json")):
        code, _, err = equipoise(*words)
        assert code == 0, err
    assert state() == ""
    # The old run's checks are from before, and are not held against it.
    code, _, err = equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--badge", "b.json")
    assert code == 0 and "no reader has drifted" in err and state() == ""


def test_the_spot_check_as_json_names_figure_and_rate(equipoise, drifting):
    *_, label = drifting
    label(0)
    code, out, _ = equipoise("spot", "r.jsonl", "--key", "k.jsonl", "--json")
    found = json.loads(out)
    assert code == 0 and found["readers"][0]["drifted"] == ""
    assert found["readers"][0]["decided"] >= 40 and found["readers"][0]["figure"] == 1.0
    [rate] = found["rates"]
    assert rate["labelled"] == found["readers"][0]["decided"]
    assert rate["low"] <= rate["met"] / rate["of"] <= rate["high"]


def test_the_key_of_a_folder_s_moments_is_no_spot_check(equipoise, tmp_path):
    code, _, _ = equipoise("queue", "--moments", "standard", "--split", "few-shot", "-o",
                           "q.jsonl", "--key", "k.jsonl")
    (tmp_path / "r.jsonl").write_text("")
    code, _, err = equipoise("spot", "r.jsonl", "--key", "k.jsonl")
    assert code == 2 and "needs the key of a run" in err
