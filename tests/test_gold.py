"""Gold: formed by majority, settled with a reason, and stale when its definition changes."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.gold import WAITING, Adjudication, Rating, gold, golds
from equipoise.stats.undefined import Undefined

DEFINITIONS = ("v1", "v2")
RATINGS = st.lists(st.builds(
    Rating, st.sampled_from(["i", "j"]), st.sampled_from([*"ABCDE"]),
    st.none() | st.sampled_from(["x", "y", "z"]), st.sampled_from(DEFINITIONS)), max_size=20)
ADJUDICATIONS = st.lists(st.builds(
    Adjudication, st.just("i"), st.sampled_from(["F", " "]),
    st.none() | st.sampled_from(["x", "y"]), st.sampled_from(["seen again", "", "  "]),
    st.sampled_from(DEFINITIONS)), max_size=3)


def ratings(labels, definition="v1"):
    return [Rating("i", rater, label, definition)
            for rater, label in zip("ABCDEFGH", labels, strict=False)]


def standing(rated, definition):
    """Each rater's last label under the definition, by going through them."""
    latest = {}
    for rating in rated:
        if rating.definition == definition and rating.label is not None:
            latest[rating.rater] = rating.label
    return Counter(latest.values())


@given(RATINGS, st.sampled_from(DEFINITIONS))
def test_no_gold_without_two_who_agree_and_more_than_half(rated, definition):
    found, counts = gold(rated, definition), standing(rated, definition)
    assert found.raters == counts.total()
    wins = [label for label, n in counts.items() if n >= 2 and 2 * n > counts.total()]
    if wins:
        assert [found.label] == wins and found.is_gold
        assert (found.status == "unanimous") == (len(counts) == 1)
    else:
        assert isinstance(found.label, Undefined) and found.status in WAITING
        assert (found.status == "split") == (counts.total() >= 2)
        assert (found.status == "unrated") == (not counts)


@given(RATINGS, ADJUDICATIONS)
def test_a_new_definition_retires_everything_at_once(rated, settled):
    found = gold(rated, "v3", settled)
    assert (found.status, found.raters) == ("unrated", 0)
    assert found.stale == len(rated) + len(settled)


@given(RATINGS, ADJUDICATIONS)
def test_only_a_person_with_a_reason_and_the_current_words_adjudicates(rated, settled):
    valid = [one for one in settled if one.definition == "v1"
             and one.by.strip() and one.reason.strip()]
    found = gold(rated, "v1", settled)
    if not valid:
        without = gold(rated, "v1")
        assert (found.status, found.label) == (without.status, without.label)
    elif valid[-1].label is None:
        assert (found.status, found.label) == ("contested", Undefined("contested"))
    else:
        assert (found.status, found.label) == ("adjudicated", valid[-1].label)


@given(st.lists(st.sampled_from(["x", "y", "z"]), max_size=5), st.randoms(use_true_random=False))
def test_who_rated_first_does_not_matter(labels, shuffler):
    rated = ratings(labels)
    moved = rated[:]
    shuffler.shuffle(moved)
    assert gold(rated, "v1") == gold(moved, "v1")


@given(RATINGS, st.sampled_from([*"ABCDE"]))
def test_a_skip_changes_nothing(rated, rater):
    before, after = gold(rated, "v1"), gold([*rated, Rating("i", rater, None, "v1")], "v1")
    assert before == after


@pytest.mark.parametrize(("labels", "status", "label"), [
    ("xx", "unanimous", "x"), ("xy", "split", None), ("xyy", "majority", "y"),
    ("xxyy", "split", None), ("xxyz", "split", None), ("xxxyz", "majority", "x"),
])
def test_gold_by_the_count_of_labels(labels, status, label):
    found = gold(ratings(labels), "v1")
    assert found.status == status
    assert found.label == (label if label else Undefined("no_majority"))


def test_one_rating_is_pending_and_twice_the_same_rater_is_one():
    assert gold(ratings("x"), "v1").label == Undefined("too_few_units")
    twice = [Rating("i", "A", "x", "v1"), Rating("i", "A", "x", "v1")]
    assert (gold(twice, "v1").status, gold(twice, "v1").raters) == ("pending", 1)


@given(RATINGS, ADJUDICATIONS)
def test_all_items_at_once_are_the_items_one_by_one(rated, settled):
    found = golds(rated, "v1", settled)
    assert set(found) == {one.item for one in (*rated, *settled)}
    for item, its in found.items():
        assert its == gold(
            [one for one in rated if one.item == item], "v1",
            [one for one in settled if one.item == item])


def test_a_planted_truth_is_found_by_three_raters_who_err_one_time_in_ten():
    # Two or three of three are right with .9^3 + 3 .9^2 .1 = .972; all 2,000 have a majority.
    draws = random.Random(11)
    truth = {f"i{n}": draws.choice("xy") for n in range(2_000)}
    wrong = {"x": "y", "y": "x"}
    rated = [Rating(item, rater, label if draws.random() < 0.9 else wrong[label], "v1")
             for item, label in truth.items() for rater in "ABC"]
    found = golds(rated, "v1")
    right = sum(found[item].label == label for item, label in truth.items())
    assert abs(right / 2_000 - 0.972) < 4 * (0.972 * 0.028 / 2_000) ** 0.5
