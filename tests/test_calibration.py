"""A reader's trust, its rolling check, and the rates that its errors would bias."""

from fractions import Fraction
from itertools import product
from math import comb, isnan, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.calibration import (
    Calibration,
    calibrate,
    chance_trusted,
    human_ceiling,
    spot_check,
    trust,
)
from equipoise.stats.confusion import Confusion, confusion
from equipoise.stats.corrected_rate import corrected_rate
from equipoise.stats.cusum import CusumPlan, alarm, cusum, cusum_plan
from equipoise.stats.detection import Moment, detection
from equipoise.stats.prediction_powered import prediction_powered_mean
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate
from equipoise.terms import Nonresponse

COUNTS = st.integers(0, 60)
CONFUSIONS = st.builds(Confusion, COUNTS, COUNTS, COUNTS, COUNTS)
HUMANS = st.integers(1, 40).flatmap(lambda n: st.builds(rate, st.integers(0, n), st.just(n)))
MAYBE = st.none() | st.booleans()
UNKNOWN = Nonresponse("unclear")
PEOPLE = rate(36, 40)


# The trust bar.


def swapped(found):
    return Confusion(found.true_negative, found.false_positive,
                     found.true_positive, found.false_negative)


@given(CONFUSIONS, HUMANS)
def test_trust_does_not_depend_on_which_class_is_called_present(counts, human):
    found, other = trust(Calibration(counts), human), trust(Calibration(swapped(counts)), human)
    assert (found.trusted, found.reasons, found.least) == (
        other.trusted, other.reasons, other.least)
    assert found.sensitivity == other.specificity


@given(CONFUSIONS, HUMANS)
def test_trusted_is_as_the_rule_says_in_fractions(counts, human):
    found = trust(Calibration(counts), human)
    assert found.trusted == (
        counts.positives >= 40 and counts.negatives >= 40
        and 20 * counts.true_positive >= 17 * counts.positives
        and 20 * counts.true_negative >= 17 * counts.negatives
        and min(Fraction(counts.true_positive, counts.positives),
                Fraction(counts.true_negative, counts.negatives))
        >= Fraction(human.count, human.n) - Fraction(1, 10))
    assert found.trusted == (not found.reasons)


@given(CONFUSIONS, HUMANS)
def test_the_lower_bound_asks_for_more(counts, human):
    assert trust(Calibration(counts), human, "lower bound").trusted <= trust(
        Calibration(counts), human).trusted


def test_the_lower_bound_takes_thirty_nine_of_forty():
    for right, wanted in [(39, True), (38, False)]:
        found = Calibration(Confusion(right, 40 - right, 40, 0))
        assert trust(found, PEOPLE, "lower bound").trusted == wanted


def test_unknowns_are_counted_and_never_decide():
    found = calibrate([(True, True)] * 40 + [(False, False)] * 40 + [(True, UNKNOWN)] * 20)
    assert found == Calibration(Confusion(40, 0, 40, 0), 20)
    assert trust(found, PEOPLE).trusted and trust(found, PEOPLE).unknown.estimate == 0.2


def test_no_people_no_trust():
    found = trust(Calibration(Confusion(40, 0, 40, 0)), rate(0, 0))
    assert found.reasons == ("human_ceiling_missing",)


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_chance_above_the_bar_is_the_beta_tail(drawn):
    k, n = drawn
    found = trust(Calibration(Confusion(k, n - k, k, n - k)), PEOPLE).chance_above
    if n == 0:
        assert found == Undefined("no_data")
        return
    # The integral of the density above .85 by Simpson, on the tail itself.
    x = np.linspace(0.85, 1, 20_001)
    density = (n + 1) * comb(n, k) * x ** k * (1 - x) ** (n - k)
    weights = np.ones_like(x)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    tail = float(density @ weights) * 0.15 / 20_000 / 3
    assert found == pytest.approx(tail ** 2, abs=1e-9)


def test_the_bar_s_operating_characteristic_is_that_of_the_specification():
    # statistics.md 5.3, 40 items of each class.
    for true, wanted in [(0.80, 0.08), (0.85, 0.37), (0.90, 0.81), (0.95, 0.99)]:
        assert round(chance_trusted(true, true, 40, 40), 2) == wanted
    assert chance_trusted(1.0, 1.0, 39, 400) == 0
    assert chance_trusted(0.95, 0.95, 40, 40, "lower bound") == pytest.approx(
        (0.95 ** 40 + 40 * 0.95 ** 39 * 0.05) ** 2)


@given(st.dictionaries(st.tuples(st.booleans(), st.booleans()), st.integers(1, 40)))
def test_the_ceiling_of_two_people_is_the_mean_of_each_as_the_other_s_reader(table):
    found = human_ceiling(table)

    def least(pairs):
        counts = confusion(pairs)
        rates = counts.sensitivity.estimate, counts.specificity.estimate
        return None if any(isinstance(one, Undefined) for one in rates) else min(rates)

    pairs = [pair for pair, n in table.items() for _ in range(n)]
    one, other = least(pairs), least([(b, a) for a, b in pairs])
    if one is None or other is None:
        assert isinstance(found, Undefined)
    else:
        assert found == pytest.approx((one + other) / 2, abs=1e-12)


def test_the_planned_split_cannot_reach_the_bar():
    # statistics.md 5.3: 45% of 150 outputs with 40 fails leave 18 fails, and 40 are asked for.
    frozen = Calibration(Confusion(18, 0, 49, 0))
    assert trust(frozen, PEOPLE).reasons == ("too_few_per_class",)
    assert chance_trusted(1, 1, 18, 49) == 0


# The rolling check.


@given(st.lists(st.booleans() | st.just(UNKNOWN), max_size=30), st.integers(1, 6))
def test_each_figure_is_of_the_last_decided_items(agreed, window):
    found = spot_check(agreed, window, Fraction(1, 2))
    first = None
    for at in range(len(agreed)):
        decided = [one for one in agreed[: at + 1] if one is not UNKNOWN][-window:]
        if len(decided) < window:
            assert found.figures[at] == Undefined("too_few_units")
            continue
        assert found.figures[at] == sum(decided) / window
        if first is None and 2 * sum(decided) < window:
            first = at + 1
    assert found.flipped_at == first
    assert found.decided == len(agreed) - agreed.count(UNKNOWN)


def test_a_good_reader_loses_its_badge_as_often_as_is_said():
    # statistics.md 5.4: by item 140 at .90, .92 and .95; in 4,000 runs, 4 standard errors.
    draws = np.random.default_rng(3)
    for true, wanted in [(0.90, 0.53), (0.92, 0.28), (0.95, 0.03)]:
        sums = (draws.random((4_000, 140)) < true).cumsum(axis=1)
        rolling = sums[:, 39:] - np.pad(sums, ((0, 0), (1, 0)))[:, : 101]
        flipped = (rolling < 34).any(axis=1).mean()
        assert abs(flipped - wanted) < 0.005 + 4 * sqrt(wanted * (1 - wanted) / 4_000)


def test_a_window_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no window"):
        spot_check([], window=0)


# The CUSUM.


def test_the_chance_of_an_alarm_is_that_of_all_sequences():
    weight, limit, items, p = 3, 5, 9, 0.3
    by = CusumPlan(weight, limit, items, 0.0)
    ever = sum(p ** sum(errors) * (1 - p) ** (items - sum(errors))
               for errors in product((False, True), repeat=items)
               if cusum(errors, by).alarm_at is not None)
    assert alarm(weight, limit, p, items) == pytest.approx(ever, abs=1e-12)


def test_a_plan_keeps_its_false_alarms_and_a_lower_limit_would_not():
    by = cusum_plan(good=0.10, bad=0.30, items=140)
    assert by.false_alarm == alarm(by.weight, by.limit, 0.10, 140) <= 0.05
    assert alarm(by.weight, by.limit - 1, 0.10, 140) > 0.05
    # The rolling check's false alarms there are .53. A fall to .70 is found by half within 27.
    assert alarm(by.weight, by.limit, 0.30, 26) < 0.5 < alarm(by.weight, by.limit, 0.30, 27)


def test_rates_that_cannot_be_told_apart_have_no_plan():
    with pytest.raises(ValueError, match="no check"):
        cusum_plan(0.3, 0.1, 10)
    assert cusum_plan(0.90, 0.95, 2_000) == Undefined("uninformative")


# Corrected rates.


@given(CONFUSIONS, st.integers(0, 50), st.integers(0, 50))
def test_a_rate_turned_round_is_corrected_the_other_way(known, passed, failed):
    n = passed + failed
    found = corrected_rate(known, passed, n)
    other = corrected_rate(swapped(known), failed, n)
    if isinstance(found.raw, Undefined):
        assert found.raw == other.raw == found.low
        return
    assert found.raw == pytest.approx(1 - other.raw, abs=1e-9)
    assert found.low == pytest.approx(1 - other.high, abs=1e-9)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_a_perfect_reader_s_rate_is_its_own():
    found = corrected_rate(Confusion(40, 0, 40, 0), 30, 40)
    assert (found.raw, found.se) == (0.75, sqrt(0.75 * 0.25 / 40))


def test_a_corrected_rate_says_why_there_is_none():
    known = Confusion(36, 4, 41, 5)
    assert corrected_rate(known, 0, 0).estimate == Undefined("no_data")
    assert corrected_rate(Confusion(0, 0, 0, 0), 1, 2).estimate == Undefined("no_data")
    assert corrected_rate(Confusion(9, 1, 0, 0), 1, 2).estimate == Undefined("one_class")
    assert corrected_rate(Confusion(5, 5, 5, 5), 1, 2).se == Undefined("uninformative")
    with pytest.raises(ValueError, match="not a rate"):
        corrected_rate(known, 3, 2)


@pytest.mark.parametrize("tpr", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("tnr", [0.7, 0.8, 0.9])
def test_a_corrected_rate_covers_the_truth(tpr, tnr):
    # statistics.md 9.11: 93% or more at each prevalence; 600 runs are within 4 standard errors.
    draws = np.random.default_rng(round(1e3 * tpr + 1e2 * tnr))
    for prevalence in (0.1, 0.5, 0.9):
        right, kept = draws.binomial(60, tpr, 600), draws.binomial(60, tnr, 600)
        said = draws.binomial(1_000, prevalence * tpr + (1 - prevalence) * (1 - tnr), 600)
        covered = 0
        for tp, tn, passed in zip(right.tolist(), kept.tolist(), said.tolist(), strict=True):
            found = corrected_rate(Confusion(tp, 60 - tp, tn, 60 - tn), passed, 1_000)
            if not isinstance(found.low, Undefined):
                covered += found.low <= prevalence <= found.high
        assert covered / 600 >= 0.93 - 4 * sqrt(0.93 * 0.07 / 600)


# Prediction-powered means.

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=30)
OTHERS = st.lists(st.integers(0, 1), min_size=2, max_size=40)


@given(BITS, OTHERS)
def test_the_best_weight_is_no_wider_than_either_end(pairs, others):
    labels, judged = [y for y, _ in pairs], [f for _, f in pairs]
    found = prediction_powered_mean(labels, judged, others)
    assert 0 <= found.weight <= 1
    mean, sd = sum(labels) / len(labels), np.std(labels)
    assert found.classical.estimate == pytest.approx(mean)
    assert found.classical.se == pytest.approx(sd / sqrt(len(labels)))
    corrected = np.mean(np.array(labels) - judged) + np.mean(others)
    assert found.ppi.estimate == pytest.approx(corrected)


@given(BITS, OTHERS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter_to_the_last_bit(pairs, others, shuffler):
    def found():
        return prediction_powered_mean([y for y, _ in pairs], [f for _, f in pairs], others)

    before, pairs, others = found(), pairs[:], others[:]
    shuffler.shuffle(pairs)
    shuffler.shuffle(others)
    assert found() == before


def test_a_judge_that_is_always_right_is_worth_all_the_items():
    draws = np.random.default_rng(2)
    labels = draws.integers(0, 2, 50).tolist()
    others = draws.integers(0, 2, 5_000).tolist()
    found = prediction_powered_mean(labels, labels, others)
    assert found.ppi.se == pytest.approx(np.std(others) / sqrt(5_000))
    assert found.ppi.estimate == pytest.approx(np.mean(others))
    assert found.weight == pytest.approx(1 / 1.01, rel=0.05)
    assert found.tuned.se < 0.15 * found.classical.se


def test_prediction_powered_means_cover_the_truth():
    # A judge right four times in five, truth .3; 1,000 runs.
    draws = np.random.default_rng(9)
    covered = dict.fromkeys(("classical", "ppi", "tuned"), 0)
    for _ in range(1_000):
        truth = draws.random(560) < 0.3
        said = np.where(draws.random(560) < 0.8, truth, ~truth).astype(int).tolist()
        found = prediction_powered_mean(truth[:60].astype(int).tolist(), said[:60], said[60:])
        for name in covered:
            one = getattr(found, name)
            covered[name] += one.low <= 0.3 <= one.high
    assert all(0.92 <= count / 1_000 <= 0.98 for count in covered.values()), covered


def test_too_little_has_a_reason_and_no_interval():
    none, one = Undefined("no_data"), Undefined("unit_count_one")
    assert prediction_powered_mean([], [], [1.0]).classical.estimate == none
    alone = prediction_powered_mean([1, 0], [1, 0], [])
    assert alone.classical.estimate == 0.5 and alone.ppi.estimate == alone.weight == none
    assert prediction_powered_mean([1], [0], [1, 0]).classical.se == one
    assert prediction_powered_mean([1, 0], [1, 0], [1]).ppi.low == one
    with pytest.raises(ValueError, match="2 labels and 1"):
        prediction_powered_mean([1, 0], [1], [1])
    with pytest.raises(ValueError, match="not finite"):
        prediction_powered_mean([1, float("nan")], [1, 0], [1])


# Detection.


@given(st.lists(st.builds(Moment, MAYBE, MAYBE, MAYBE), max_size=30))
def test_every_rate_leaves_out_only_what_touches_it(moments):
    found = detection(moments)

    def counted(**wanted):
        return sum(all(getattr(one, name) is value for name, value in wanted.items())
                   for one in moments)

    both = [(present, detected) for present in (True, False) for detected in (True, False)]
    counts = {(p, d): counted(present=p, detected=d) for p, d in both}
    assert found.recall.count == found.precision.count == counts[True, True]
    assert found.recall.n == counts[True, True] + counts[True, False]
    assert found.precision.n == counts[True, True] + counts[False, True]
    assert found.shown.count == counted(present=True, shown=True)
    assert found.misfires == found.misplaced.count == counted(present=False, shown=True)
    assert found.misfired.n == found.misfires + counted(present=False, shown=False)
    assert found.misplaced.n == found.shown.count + found.misfires
    assert found.unknown == counted(present=None)
    for one in (found.recall, found.precision, found.shown, found.misfired, found.misplaced):
        assert isinstance(one.estimate, Undefined) if one.n == 0 else not isnan(one.estimate)


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="not counts"):
        Confusion(-1, 0, 0, 0)


def test_wilson_s_limits_are_those_of_the_rates():
    z = NormalDist().inv_cdf(0.975)
    found = Confusion(34, 6, 40, 0).sensitivity
    for limit in (found.low, found.high):
        assert abs(0.85 - limit) == pytest.approx(z * sqrt(limit * (1 - limit) / 40))
