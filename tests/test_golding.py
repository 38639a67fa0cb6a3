"""Gold from raters' answers: two must agree, no tie is broken silently, old words count nothing."""

import csv
import json
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from equipoise.agreements import agreed, headline
from equipoise.answers import Settled, lines_of, read_lines
from equipoise.cli.datasets import Formed
from equipoise.gold import Rating
from equipoise.instruments.replay.labels import overlap
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.labelling import Answer
from equipoise.report.rated import discounted
from equipoise.stats.undefined import Undefined
from equipoise.stimuli import load

BIASES = suite(load(SHIPPED)).biases
STAMP = BIASES["framing"].stamp
NAMES = ("ann", "bob", "cleo", "dan")
ITEMS = ("i", "j", "k")


def said(rater, name, label, definition="w0", act="answer", bias="framing"):
    return Answer(act, name, "shown", bias, rater, definition, label)


class Raters(RuleBasedStateMachine):
    """People answer, take back, adjudicate and reword, beside a model that keeps it by hand."""

    @initialize()
    def begin(self):
        self.words = 0
        self.answers, self.settled = [], []
        self.labels, self.ruled = {}, {}

    @property
    def stamp(self):
        return f"w{self.words}"

    @rule(rater=st.sampled_from(NAMES), name=st.sampled_from(ITEMS),
          label=st.sampled_from(["yes", "no", "unknown"]))
    def answers_one(self, rater, name, label):
        self.answers.append(said(rater, name, label, self.stamp))
        self.labels.setdefault((name, rater), []).append(label)

    @rule(rater=st.sampled_from(NAMES), name=st.sampled_from(ITEMS))
    def skips(self, rater, name):
        self.answers.append(said(rater, name, "", self.stamp, "skip"))
        self.labels.setdefault((name, rater), []).append("")

    @rule(rater=st.sampled_from(NAMES), name=st.sampled_from(ITEMS))
    def takes_back(self, rater, name):
        self.answers.append(said(rater, name, "", self.stamp, "undo"))
        if self.labels.get((name, rater)):
            self.labels[name, rater].pop()

    @rule(name=st.sampled_from(ITEMS), label=st.sampled_from(["yes", "no", ""]),
          reason=st.sampled_from(["Seen again.", " "]))
    def adjudicates(self, name, label, reason):
        self.settled.append(Settled(name, "shown", "framing", "eve", self.stamp, reason, label))
        if reason.strip():
            self.ruled[name] = label

    @rule()
    def rewords(self):
        self.words += 1
        self.labels, self.ruled = {}, {}

    def votes(self, name):
        """The labels that stand, by rater: the last that is no skip, unless it is unknown."""
        found = {}
        for rater in NAMES:
            given = [one for one in self.labels.get((name, rater), ()) if one]
            if given and given[-1] != "unknown":
                found[rater] = given[-1]
        return found

    def found(self):
        return agreed(self.answers, [(one.task, one.bias, one.as_adjudication())
                                     for one in self.settled], {"framing": self.stamp})

    @invariant()
    def gold_is_what_two_agree_on_or_a_reason_settled(self):
        for row in self.found():
            for name, gold in row.golds.items():
                votes = Counter(self.votes(name).values())
                if name in self.ruled:
                    assert gold.status == ("adjudicated" if self.ruled[name] else "contested")
                    assert gold.is_gold == bool(self.ruled[name])
                    continue
                wins = [x for x, n in votes.items() if n >= 2 and 2 * n > votes.total()]
                assert gold.is_gold == bool(wins)
                assert not wins or gold.label == wins[0]
                assert (gold.status == "split") == (votes.total() >= 2 and not wins)
                assert gold.raters == votes.total()

    @invariant()
    def agreement_is_against_gold_formed_without_you(self):
        for row in self.found():
            for one in row.alone:
                same = compared = rated = 0
                for name in ITEMS:
                    votes = self.votes(name)
                    if one.rater not in votes:
                        continue
                    own = votes.pop(one.rater)
                    rated += 1
                    others = Counter(votes.values())
                    wins = [x for x, n in others.items() if n >= 2 and 2 * n > others.total()]
                    compared += bool(wins)
                    same += wins == [own]
                assert (one.rated, one.dropped) == (rated, rated - compared)
                assert (one.cohen.n, one.cohen.agreed.count) == (compared, same)


Raters.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestRaters = Raters.TestCase


@pytest.mark.soak
def test_ten_thousand_steps_break_no_rule():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Raters, settings=settings(
        max_examples=200, stateful_step_count=50, deadline=None))


# The figures


def three(labels):
    """Answers of three raters, a string of labels an item: y, n, or a dot for none."""
    full = {"y": "yes", "n": "no"}
    return [said(rater, f"i{n}", full[label]) for n, row in enumerate(labels)
            for rater, label in zip(NAMES, row, strict=False) if label != "."]


def one_row(labels):
    [row] = agreed(three(labels), [], {"framing": "w0"})
    return row


def test_three_raters_of_the_same_items_have_fleiss():
    # Of three items two agree wholly and one by 1 of 3 pairs: 7/9. Luck: (5/9)^2 + (4/9)^2 = 41/81.
    found = headline(one_row(["yyy", "nnn", "yyn"]))
    assert (found.kind, found.n) == ("Fleiss", 3)
    assert found.percent == pytest.approx(7 / 9)
    assert found.kappa == pytest.approx((7 / 9 - 41 / 81) / (1 - 41 / 81))
    assert discounted(found.percent, found.kappa) == "78% · 0.55 once luck is discounted"


def test_two_raters_have_cohen_and_no_gold_without_one_of_them():
    row = one_row(["yy", "nn", "yn", "nn"])
    found = headline(row)
    assert (found.kind, found.n, found.percent) == ("Cohen", 4, 0.75)
    assert found.kappa == 0.5  # Luck: 1/2 1/4 + 1/2 3/4 = 1/2.
    assert [(one.dropped, one.cohen.n) for one in row.alone] == [(4, 0), (4, 0)]


def test_three_raters_with_no_item_in_common_have_alpha():
    found = headline(one_row(["yy.", "n.n", ".yy", "nn."]))
    assert (found.kind, found.n, found.percent) == ("alpha", 4, 1.0) and found.kappa == 1.0


def test_where_all_said_the_same_luck_cannot_be_discounted():
    found = headline(one_row(["yyy", "yyy"]))
    assert found.kappa == Undefined("one_class")
    assert discounted(found.percent, found.kappa) == "100% · one class"


def test_items_that_only_the_easy_ones_compare_are_counted():
    [ann, *_] = one_row(["yyy", "yyn", "nyn", "yny"]).alone
    assert (ann.rated, ann.dropped, ann.cohen.n) == (4, 3, 1)


# The command


@pytest.fixture
def gold(equipoise, tmp_path):
    """Form gold from answers; gives back stdout."""
    def made(answers, *more, settled=()):
        (tmp_path / "r.jsonl").write_bytes(lines_of(answers))
        (tmp_path / "s.jsonl").write_bytes(lines_of(settled))
        code, out, err = equipoise("gold", "r.jsonl", "--adjudications", "s.jsonl", *more)
        assert code == 0, err
        return out

    return made


def now(rater, name, label, **more):
    return said(rater, name, label, STAMP, **more)


def test_the_table_counts_each_state_and_names_what_waits(gold):
    out = gold([now("ann", "a", "yes"), now("bob", "a", "yes"),
                now("ann", "b", "yes"), now("bob", "b", "no"),
                now("ann", "c", "yes"), now("bob", "c", "no"),
                now("ann", "d", "yes"), now("bob", "d", "unknown"),
                said("ann", "e", "yes", "old"), now("ann", "f", "", act="skip")],
               settled=[Settled("c", "shown", "framing", "eve", STAMP, "Both are fair.", "")])
    head, row = out.splitlines()[:2]
    assert dict(zip(head.split(), row.split(), strict=True)) == {
        "task": "shown", "bias": "framing", "items": "6", "unanimous": "1", "split": "1",
        "contested": "1", "pending": "1", "unrated": "1", "stale": "1", "unknown": "1"}
    assert "33% · −0.50 once luck is discounted" not in out and "ann and bob" in out
    assert "1 labels were given under other words" in out and "1 splits wait" in out
    assert "gold formed without one of them does not exist" in out


def test_gold_as_lines_and_as_json(gold, tmp_path):
    answers = [Answer("answer", "a", "shown", "framing", name, STAMP, "yes", line)
               for name, line in (("ann", 2), ("bob", 2), ("cleo", 1))]
    found = json.loads(gold([*answers, now("ann", "b", "no")], "-o", "gold.jsonl", "--json"))
    a, b = read_lines(tmp_path / "gold.jsonl", Formed)
    assert (a.item, a.status, a.label, a.line) == ("a", "unanimous", "yes", 2)
    assert (b.status, b.label) == ("pending", "")
    [row] = found["gold"]
    assert row["statuses"] == {"unanimous": 1, "pending": 1} and row["kappa_of"] == "Fleiss"
    assert row["kappa"] is None and row["kappa_reason"] == "one_class"
    assert row["alone"][0]["dropped"] == 1


def test_labels_of_other_words_alone_are_refused(equipoise, tmp_path):
    (tmp_path / "r.jsonl").write_bytes(lines_of([said("ann", "a", "yes", "old")]))
    code, _, err = equipoise("gold", "r.jsonl")
    assert code == 2 and "All 1 labels were given under other definitions" in err
    (tmp_path / "r.jsonl").write_text("")
    code, _, err = equipoise("gold", "r.jsonl")
    assert code == 2 and "There is no label" in err


def test_the_shipped_ratings_are_read_as_they_stand(equipoise):
    code, out, _ = equipoise("gold", SHIPPED / "ratings.csv", "--json")
    assert code == 0
    with (SHIPPED / "ratings.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["label"] in ("yes", "no")]
    by_item = {}
    for row in rows:
        by_item.setdefault((row["task"], row["bias"], row["moment"]), []).append(row["label"])
    for found in json.loads(out)["gold"]:
        if found["bias"] == "all":
            continue
        labels = [given for (task, bias, _), given in by_item.items()
                  if (task, bias) == (found["task"], found["bias"])]
        whole = sum(len(given) > 1 and len(set(given)) == 1 for given in labels)
        assert found["statuses"].get("unanimous", 0) == whole
        splits = sum(len(given) == 2 and len(set(given)) == 2 for given in labels)
        assert found["statuses"].get("split", 0) == splits


def test_gold_of_a_run_s_items_names_the_verdicts_they_are_about(gold, tmp_path):
    place = {"id": "a", "why": "unknown", "opening": "o", "arm": "B", "verdict": "unknown"}
    (tmp_path / "k.jsonl").write_bytes(lines_of([
        {"form": "equipoise key 1", "run": "r"}, place, {**place, "arm": "A"}]))
    gold([now("ann", "a", "yes"), now("ann", "b", "no")], "-o", "g.jsonl", "--key", "k.jsonl")
    a, b = map(json.loads, (tmp_path / "g.jsonl").read_text().splitlines())
    assert [one["arm"] for one in a["of"]] == ["B", "A"] and a["of"][0]["run"] == "r"
    assert "of" not in b


def test_two_people_s_overlap_is_that_of_the_two_who_share_most():
    def rated(rater, labels):
        return [Rating(f"i{n}", rater, label, "w") for n, label in enumerate(labels)
                if label != "skip"]

    found = overlap([*rated("x", ["yes"]), *rated("y", ["yes", "no", "yes"]),
                     *rated("z", ["no", "no", "yes", "yes"])])
    assert found == {(True, False): 1, (False, False): 1, (True, True): 1}
    assert overlap(rated("x", ["yes"])) == {} == overlap([])


def test_labels_of_a_queue_become_a_suite_s_ratings(equipoise, tmp_path):
    code, _, err = equipoise("queue", "--moments", "standard", "--split", "few-shot", "--task",
                             "shown", "-o", "q.jsonl", "--key", "q.key")
    assert code == 0, err
    (tmp_path / "raters.toml").write_text('[ann]\nlanguages = ["en", "fr"]\n')
    keys = "\n".join(["", "y"] * 200)
    code, _, err = equipoise("rate", "q.jsonl", "--rater", "ann", "-o", "r.jsonl", stdin=keys)
    assert code == 0, err
    code, _, err = equipoise("gold", "r.jsonl", "--csv", "ratings.csv")
    assert code == 2 and "--key" in err
    code, _, err = equipoise("gold", "r.jsonl", "--key", "q.key", "--csv", "ratings.csv", "-o",
                             "g.jsonl")
    assert code == 0, err
    given = read_lines(tmp_path / "r.jsonl", Answer)
    with (tmp_path / "ratings.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(one.act == "answer" for one in given) > 50
    assert {row["moment"] for row in rows} <= load(SHIPPED)["moments"].keys()
    code, _, err = equipoise("gold", "ratings.csv")
    assert code == 0, err
