"""Agreement of raters and of draws, beside luck; consensus, and each rater without themselves."""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.agreement import agreement
from equipoise.stats.cohen import cohen_kappa, cohen_of
from equipoise.stats.consensus import consensus, leave_one_out, pairwise
from equipoise.stats.dawid_skene import dawid_skene
from equipoise.stats.draws import majority_of_draws, self_agreement
from equipoise.stats.undefined import Undefined

LABELS = st.sampled_from(["a", "b", "c"])
MAYBE = st.none() | LABELS
TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(MAYBE, min_size=raters, max_size=raters), max_size=12))
COLUMNS = st.lists(st.tuples(MAYBE, MAYBE), max_size=20)
COEFFICIENTS = ("percent_complete", "fleiss", "conger", "percent", "ac1", "alpha")
RENAMED = {None: None, "a": "c", "b": "x", "c": "a"}
RATINGS = st.lists(st.tuples(
    st.integers(0, 5), st.sampled_from([*"ABCD"]), st.none() | st.sampled_from([*"xyz"])),
    max_size=40)


def close(found, wanted):
    if isinstance(wanted, Undefined):
        return found == wanted
    return found == pytest.approx(wanted, abs=1e-12)


# Two raters.


def test_kappa_of_the_textbook_table_is_point_four():
    # 20 and 15 of 50 agree: .7. Luck: .5 * .6 + .5 * .4 = .5. Kappa: .2 / .5.
    found = cohen_of({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    assert (found.n, found.agreed.count, found.expected, found.kappa) == (50, 35, 0.5, 0.4)


def fleiss_cohen_everitt(table):
    """The standard error as the paper writes it, in shares."""
    n = sum(table.values())
    p = {cell: count / n for cell, count in table.items()}
    classes = {label for cell in table for label in cell}
    row = {i: sum(p.get((i, j), 0) for j in classes) for i in classes}
    column = {j: sum(p.get((i, j), 0) for i in classes) for j in classes}
    chance = sum(row[i] * column[i] for i in classes)
    kappa = (sum(p.get((i, i), 0) for i in classes) - chance) / (1 - chance)
    variance = sum(
        share * (1 - (row[i] + column[i]) * (1 - kappa)) ** 2 if i == j
        else (1 - kappa) ** 2 * share * (column[i] + row[j]) ** 2
        for (i, j), share in p.items()) - (kappa - chance * (1 - kappa)) ** 2
    return kappa, math.sqrt(max(0.0, variance) / n) / (1 - chance)


@given(st.dictionaries(st.tuples(LABELS, LABELS), st.integers(1, 30), min_size=2))
def test_kappa_and_its_error_are_those_of_the_published_formula(table):
    found = cohen_of(table)
    if isinstance(found.kappa, Undefined):
        assert len(table) == 1
        return
    kappa, se = fleiss_cohen_everitt(table)
    assert found.kappa == pytest.approx(kappa, abs=1e-12)
    # Under the root a rounding of 1e-16 is 1e-8.
    assert found.se == pytest.approx(se, abs=1e-7)
    assert found.low <= found.kappa <= found.high <= found.kappa + 1.96 * found.se + 1e-12


@given(COLUMNS)
def test_kappa_does_not_change_with_names_order_or_who_is_first(pairs):
    def parts(found):
        return found.agreed, found.expected, found.kappa, found.se

    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    found = parts(cohen_kappa(first, second))
    assert parts(cohen_kappa([RENAMED[x] for x in first], [RENAMED[x] for x in second])) == found
    assert parts(cohen_kappa(first[::-1], second[::-1])) == found
    assert parts(cohen_kappa(second, first)) == found


@given(COLUMNS)
def test_a_kappa_is_a_number_or_says_why_not(pairs):
    found = cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
    both = [pair for pair in pairs if None not in pair]
    if not both:
        wanted = Undefined("no_overlap" if pairs else "no_data")
    elif len({label for pair in both for label in pair}) == 1:
        wanted = Undefined("one_class")
    else:
        assert -1 <= found.kappa <= 1
        assert (found.kappa == 1) == (found.agreed.count == found.n)
        return
    assert {found.kappa, found.se, found.low, found.high} == {wanted}


def test_a_constant_rater_agrees_as_luck_does():
    found = cohen_kappa("mmmmmm", "mmnmnm")
    assert (found.kappa, found.se, found.low, found.high) == (0, 0, 0, 0)


def test_raters_of_unlike_lists_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        cohen_kappa("ab", "a")


# Several raters.


def fleiss_by_pairs(items):
    """Fleiss from all pairs of labels, one by one."""
    whole = [row for row in items if None not in row]
    pairs = [one == other for row in whole for one, other in combinations(row, 2)]
    labels = [label for row in whole for label in row]
    chance = sum(Fraction(n, len(labels)) ** 2 for n in Counter(labels).values())
    return Fraction(sum(pairs), len(pairs)), chance


@given(TABLES)
def test_fleiss_is_the_share_of_agreeing_pairs_discounted(items):
    found = agreement(items)
    if not any(None not in row for row in items):
        assert found.fleiss == found.conger == found.percent_complete == Undefined("incomplete")
        return
    observed, chance = fleiss_by_pairs(items)
    assert found.percent_complete == float(observed)
    assert found.fleiss == (
        Undefined("one_class") if chance == 1 else float((observed - chance) / (1 - chance)))


@given(COLUMNS)
def test_conger_of_two_raters_is_cohen(pairs):
    found = agreement(pairs)
    both = [pair for pair in pairs if None not in pair]
    cohen = cohen_kappa([one for one, _ in both], [other for _, other in both])
    assert found.conger == (cohen.kappa if both else Undefined("incomplete"))


def alpha_by_coincidence(items):
    """Krippendorff's alpha from the coincidences of labels within an item, one by one."""
    cells = Counter()
    for row in items:
        labels = [label for label in row if label is not None]
        for i, one in enumerate(labels):
            for j, other in enumerate(labels):
                if i != j:
                    cells[one, other] += Fraction(1, len(labels) - 1)
    totals = Counter()
    for (one, _), weight in cells.items():
        totals[one] += weight
    n = sum(totals.values())
    observed = sum(weight for (one, other), weight in cells.items() if one != other)
    expected = sum(
        totals[one] * totals[other] for one in totals for other in totals if one != other)
    return None if not expected else 1 - (n - 1) * observed / expected


@given(TABLES)
def test_alpha_is_that_of_the_matrix_of_coincidences(items):
    found = agreement(items).alpha
    several = any(sum(label is not None for label in row) > 1 for row in items)
    wanted = alpha_by_coincidence(items) if several else None
    if wanted is None:
        assert isinstance(found, Undefined)
    else:
        assert found == float(wanted)


def test_alpha_of_krippendorff_s_own_example_is_seventy_four():
    # Krippendorff 2011, "Computing Krippendorff's alpha-reliability", C: four observers, twelve
    # units, missing data; nominal alpha .743.
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    found = agreement([list(row) for row in zip(*observers, strict=True)])
    assert round(found.alpha, 3) == 0.743
    assert (found.items, found.compared, found.complete) == (12, 11, 8)


def test_fleiss_s_own_example_is_forty_three():
    # Fleiss 1971: 30 patients, 6 psychiatrists, 5 diagnoses; kappa .430.
    rows = """
        0 0 0 6 0 / 0 3 0 0 3 / 0 1 4 0 1 / 0 0 0 0 6 / 0 3 0 3 0 / 2 0 4 0 0 / 0 0 4 0 2
        2 0 3 1 0 / 2 0 0 4 0 / 0 0 0 0 6 / 1 0 0 5 0 / 1 1 0 4 0 / 0 3 3 0 0 / 1 0 0 5 0
        0 2 0 3 1 / 0 0 5 0 1 / 3 0 0 1 2 / 5 1 0 0 0 / 0 2 0 4 0 / 1 0 2 0 3 / 0 0 0 0 6
        0 1 0 5 0 / 0 2 0 1 3 / 2 0 0 4 0 / 1 0 0 4 1 / 0 5 0 1 0 / 4 0 0 0 2 / 0 2 0 4 0
        1 0 5 0 0 / 0 0 0 0 6""".replace("\n", "/").split("/")
    counts = [[int(n) for n in row.split()] for row in rows if row.strip()]
    assert len(counts) == 30 and all(sum(row) == 6 for row in counts)
    items = [[label for label, n in enumerate(row) for _ in range(n)] for row in counts]
    assert round(agreement(items).fleiss, 3) == 0.430


def test_ac1_stays_where_kappa_falls_to_nothing():
    # 90 of 100 agree on "y" and the rest is one "n" each way. Luck by Gwet, with q = 2:
    # 2 * .95 * .05 = .095; kappa's: .95^2 + .05^2 = .905.
    found = agreement([["y", "y"]] * 90 + [["y", "n"]] * 5 + [["n", "y"]] * 5)
    assert found.percent == 0.9
    assert found.fleiss == pytest.approx((0.9 - 0.905) / 0.095)
    assert found.ac1 == pytest.approx((0.9 - 0.095) / 0.905)


@given(TABLES, st.randoms(use_true_random=False))
def test_no_coefficient_depends_on_names_or_on_order(items, random):
    found = agreement(items)
    places = list(range(len(items[0]) if items else 0))
    random.shuffle(places)
    moved = [[RENAMED[row[place]] for place in places] for row in items]
    random.shuffle(moved)
    other = agreement(moved)
    for name in COEFFICIENTS:
        assert getattr(other, name) == getattr(found, name), name


@given(TABLES)
def test_one_class_is_undefined_and_never_perfect(items):
    alike = [[None if label is None else "a" for label in row] for row in items]
    found = agreement(alike)
    for name in ("fleiss", "conger", "ac1", "alpha"):
        assert isinstance(getattr(found, name), Undefined)
    for name in ("percent", "percent_complete"):
        assert isinstance(getattr(found, name), Undefined) or getattr(found, name) == 1


def test_without_two_labels_of_anything_there_is_only_a_reason():
    assert agreement([]).percent == Undefined("no_data")
    assert agreement([[None, None]]).percent == Undefined("no_data")
    assert agreement([["a", None], [None, "b"]]).alpha == Undefined("too_few_units")
    assert agreement([["a"], ["b"]]).fleiss == Undefined("incomplete")


def test_rows_of_unlike_length_are_refused():
    with pytest.raises(ValueError, match="differ in how many raters"):
        agreement([["a", "b"], ["a"]])


# Consensus, and a rater against that of the others.


@given(st.lists(st.sampled_from([*"xyz"])))
def test_a_consensus_has_two_labels_and_more_than_half(labels):
    found = consensus(Counter(labels))
    for label in set(labels):
        wins = labels.count(label) >= 2 and 2 * labels.count(label) > len(labels)
        assert (found == label) == wins


def left_out_by_hand(ratings, rater):
    """Gold of the others, item by item, then Cohen."""
    latest = {(item, who): label for item, who, label in ratings if label is not None}
    mine, others = [], []
    for item in sorted({item for item, who in latest if who == rater}):
        rest = Counter(label for (it, who), label in latest.items() if it == item and who != rater)
        agreed = consensus(rest)
        if not isinstance(agreed, Undefined):
            mine.append(latest[item, rater])
            others.append(agreed)
    return cohen_kappa(mine, others)


@given(RATINGS)
def test_each_rater_is_compared_with_what_the_others_agree_on(ratings):
    latest = {(item, who): label for item, who, label in ratings if label is not None}
    found = leave_one_out(ratings)
    assert {one.rater for one in found} == {who for _, who in latest}
    for one in found:
        wanted = left_out_by_hand(ratings, one.rater)
        assert (one.cohen.n, one.cohen.agreed) == (wanted.n, wanted.agreed)
        assert one.cohen.kappa == wanted.kappa and one.cohen.se == wanted.se
        assert one.rated == sum(who == one.rater for _, who in latest)
        assert one.dropped == one.rated - wanted.n


@given(RATINGS)
def test_every_two_raters_are_compared_on_what_both_labelled(ratings):
    latest = {(item, who): label for item, who, label in ratings if label is not None}
    items = sorted({item for item, _ in latest})
    order = list(dict.fromkeys(who for _, who in latest))
    found = pairwise(ratings)
    for one, other in combinations(order, 2):
        wanted = cohen_kappa(*([latest.get((item, who)) for item in items] for who in (one, other)))
        if wanted.n:
            assert found.pop((one, other)) == wanted
    assert not found


def test_two_raters_have_no_gold_without_themselves_but_a_kappa_of_the_pair():
    ratings = [(item, who, label) for item, labels in enumerate(["xx", "yy", "xy", "yy"])
               for who, label in zip("AB", labels, strict=True)]
    assert [(one.cohen.n, one.dropped) for one in leave_one_out(ratings)] == [(0, 4), (0, 4)]
    assert pairwise(ratings)["A", "B"].kappa == cohen_kappa("xyxy", "xyyy").kappa == 0.5


def test_one_rater_voting_twice_is_one_vote():
    ratings = [("i", "A", "x"), ("i", "A", "y"), ("i", "B", "y"), ("i", "C", "y")]
    assert [one.cohen.agreed.count for one in leave_one_out(ratings)] == [1, 1, 1]
    # A skip after a label leaves the label.
    assert leave_one_out([*ratings, ("i", "A", None)]) == leave_one_out(ratings)


def test_leaving_one_out_may_settle_what_was_a_split():
    # x, x, y, y is a split; without either x it is y by two of three.
    ratings = [("i", who, label) for who, label in zip("ABCD", "xxyy", strict=True)]
    assert [(one.cohen.n, one.cohen.agreed.count) for one in leave_one_out(ratings)] == [(1, 0)] * 4


def test_nothing_rated_is_no_rater():
    assert leave_one_out([]) == leave_one_out([("i", "A", None)]) == ()
    assert pairwise([]) == {}


# What is likely if raters err in ways of their own.


def planted(accuracies, items=600, seed=4):
    """Items with a true label, and raters right so often on each, else any other label."""
    draws = random.Random(seed)
    truth = {f"i{n}": draws.choice("xyz") for n in range(items)}
    return truth, [
        (item, rater, label if draws.random() < right else draws.choice("xyz".replace(label, "")))
        for item, label in truth.items() for rater, right in accuracies.items()]


def test_a_planted_expert_is_found_among_raters_who_guess_more():
    accuracies = {"A": 0.95, "B": 0.7, "C": 0.6, "D": 0.55}
    truth, rated = planted(accuracies)
    found = dawid_skene(rated)
    assert found.converged
    for rater, right in accuracies.items():
        own = sum(found.prevalence[true] * found.errors[rater][true][true] for true in "xyz")
        assert own == pytest.approx(right, abs=4 * math.sqrt(right * (1 - right) / 600) + 0.02)
    correct = sum(found.label(item) == label for item, label in truth.items())
    majority = sum(
        consensus(Counter(label for it, _, label in rated if it == item)) == truth[item]
        for item in truth)
    assert correct > majority + 30


@given(RATINGS, st.randoms(use_true_random=False))
def test_likely_labels_are_probabilities_and_order_does_not_matter(ratings, shuffler):
    last = {(item, who): (item, who, label) for item, who, label in ratings if label is not None}
    found, moved = dawid_skene(ratings, most_steps=30), [*last.values()]
    shuffler.shuffle(moved)
    assert dawid_skene(moved, most_steps=30) == found
    if not last:
        assert found == Undefined("no_data")
        return
    assert set(found.chances) == {item for item, _ in last}
    rows = [found.prevalence, *found.chances.values(),
            *(row for table in found.errors.values() for row in table.values())]
    for row in rows:
        assert sum(row.values()) == pytest.approx(1) and min(row.values()) >= 0


def test_where_all_agree_the_label_is_certain_and_a_tie_is_none():
    agreed = dawid_skene([(item, who, label) for item, label in enumerate("xyxy") for who in "AB"])
    assert agreed.chances[0]["x"] == 1 and agreed.errors["A"]["y"]["y"] == 1
    assert dawid_skene([("i", "A", "x"), ("i", "B", "y")]).label("i") == Undefined("tied")


# Draws.


@given(st.lists(MAYBE, max_size=5), st.integers(1, 5))
def test_a_majority_is_of_the_planned_draws(said, planned):
    if len(said) > planned:
        with pytest.raises(ValueError, match="planned"):
            majority_of_draws(said, planned)
        return
    found = majority_of_draws(said, planned)
    winners = [label for label in set(said) - {None} if said.count(label) > planned / 2]
    assert found.valid == len(said) - said.count(None)
    if winners:
        assert [found.answer] == winners
        assert (found.status == "unanimous") == (said == winners * planned)
    else:
        assert found.status == ("no_majority" if found.valid else "no_answer")
        assert isinstance(found.answer, Undefined)


def test_a_majority_of_no_draws_is_refused():
    with pytest.raises(ValueError, match="0 draws of 0 planned"):
        majority_of_draws([], 0)


@given(st.lists(st.lists(MAYBE, min_size=3, max_size=3), max_size=10))
def test_self_agreement_is_the_mean_share_of_agreeing_pairs(items):
    found = self_agreement(items)
    shares = []
    for row in items:
        pairs = [*combinations([draw for draw in row if draw is not None], 2)]
        if pairs:
            shares.append(Fraction(sum(one == other for one, other in pairs), len(pairs)))
    whole = [row for row in items if None not in row]
    assert (found.items, found.compared, found.complete) == (len(items), len(shares), len(whole))
    assert close(found.pairwise, sum(shares) / len(shares) if shares else found.pairwise)
    assert (found.unanimous.count, found.unanimous.n) == (
        sum(len(set(row)) == 1 for row in whole), len(whole))
    if not shares:
        assert isinstance(found.pairwise, Undefined)


def test_two_runs_agree_as_often_as_was_counted():
    # Of 155 items two runs agree on 100.
    found = self_agreement([["a", "a"]] * 60 + [["b", "b"]] * 40 + [["a", "b"]] * 55)
    assert found.pairwise == found.unanimous.estimate == 100 / 155


def test_a_kappa_of_nine_tenths_is_steady_and_one_class_is_not():
    # Both classes half of 40 labels; one of 20 pairs differs: (.95 - .5) / .5 = .9.
    items = [["a", "a"]] * 10 + [["b", "b"]] * 9 + [["a", "b"]]
    labels = Counter(label for row in items for label in row)
    chance = sum(Fraction(n, 40) ** 2 for n in labels.values())
    assert self_agreement(items).kappa == float((Fraction(19, 20) - chance) / (1 - chance))
    even = [["a", "a"]] * 19 + [["b", "b"]] * 19 + [["a", "b"]] * 2
    assert self_agreement(even).kappa == 0.9 and self_agreement(even).is_steady
    assert not self_agreement([["a", "a"]] * 9).is_steady
