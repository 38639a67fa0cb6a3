"""Multiplicity, flag counts, cluster intervals, planning, equivalence and differential loss."""

import json
import math
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden_small
from equipoise.stats.clusters import clustered, cr2, miller_se, over_clusters, smallest_sign_flip_p
from equipoise.stats.differential_loss import Table, differential_loss
from equipoise.stats.equivalence import equivalence
from equipoise.stats.flag_counts import binomial_upper, expected_flags, poisson_binomial_upper
from equipoise.stats.multiplicity import adjusted, tarone
from equipoise.stats.planner import power, units_needed
from equipoise.stats.t_interval import average, t_interval, t_quantile
from equipoise.stats.undefined import Undefined

GOLDEN = Path(__file__).parent / "golden"
STATISTICS = (
    "multiplicity", "flag_count_test", "cluster_interval", "equivalence_tost", "differential_loss",
)

PROBABILITIES = st.floats(0, 1)
NOT_A_TEST = Undefined("no_data")
POINTS = st.floats(-100, 100).map(lambda value: round(value, 3))


# Against the reference values.


def agrees(found, wanted, tolerance):
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(
            agrees(f, w, tolerance) for f, w in zip(found, wanted, strict=True))
    if wanted is None:
        return isinstance(found, Undefined)
    if isinstance(wanted, bool):
        return found is wanted
    return found == pytest.approx(wanted, abs=tolerance, rel=0)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_small_statistic_agrees_with_its_reference_values(statistic):
    golden = json.loads((GOLDEN / f"{statistic}.json").read_text(encoding="utf-8"))
    tolerance = float(golden["tolerance"].removeprefix("abs "))
    assert golden["cases"]
    for case in golden["cases"]:
        found = getattr(golden_small, statistic)(case["input"])
        for name, wanted in case["expected"].items():
            assert agrees(found[name], wanted, tolerance), (case["id"], name, found[name], wanted)


# Multiplicity.


@given(st.lists(PROBABILITIES))
def test_holm_is_at_most_bonferroni_and_benjamini_hochberg_at_most_holm(p):
    found = adjusted(p)
    for raw, bh, holm, bonferroni in zip(p, found.bh, found.holm, found.bonferroni, strict=True):
        assert raw <= bh <= holm <= bonferroni <= 1


@given(st.lists(PROBABILITIES | st.just(NOT_A_TEST)).flatmap(
    lambda p: st.tuples(st.just(p), st.permutations(range(len(p))))))
def test_adjusting_does_not_depend_on_the_order_of_tests(drawn):
    p, order = drawn
    found, moved = adjusted(p), adjusted([p[i] for i in order])
    for name in ("bonferroni", "holm", "bh"):
        assert list(getattr(moved, name)) == [getattr(found, name)[i] for i in order]


@given(st.lists(PROBABILITIES, max_size=8), st.integers(0, 8))
def test_what_is_no_test_is_not_counted(p, at):
    found, more = adjusted(p), adjusted([*p[:at], NOT_A_TEST, *p[at:]])
    for name in ("bonferroni", "holm", "bh"):
        before, after = getattr(found, name), getattr(more, name)
        assert after == (*before[:at], NOT_A_TEST, *before[at:])


def test_holm_keeps_all_five_models_and_bonferroni_two():
    # statistics.md 7.1: omnibus p of 1, 5, 26, 32 and 46 in 2,001.
    found = adjusted([k / 2001 for k in (1, 5, 26, 32, 46)])
    assert sum(p <= 0.05 for p in found.holm) == 5
    assert sum(p <= 0.05 for p in found.bonferroni) == 2


@pytest.mark.parametrize("p", [[1.5], [-0.1], [math.nan]])
def test_what_is_no_probability_is_not_adjusted(p):
    with pytest.raises(ValueError, match="not all of these are probabilities"):
        adjusted(p)


def test_tests_that_could_never_be_rejected_leave_the_family():
    # Ten tests of four could reach .05 / 4 = .0125: at k = 1, 2, 3 four still could.
    least = [0.001, 0.001, 0.002, 0.01, *[1.0] * 6]
    found = tarone([0.012, 0.013, 0.002, 0.01, *[1.0] * 6], least)
    assert (found.family, found.divisor) == (4, 4)
    assert found.rejected == (True, False, True, True, *[False] * 6)


def test_the_family_may_be_smaller_than_the_divisor():
    # Two could reach .05 but not .025: k = 1 leaves two, k = 2 none.
    found = tarone([0.03, 0.03], least=[0.03, 0.03])
    assert (found.family, found.divisor, found.rejected) == (0, 2, (False, False))


def test_a_p_that_equals_its_threshold_is_rejected():
    # .15 / 3 is a rounding below .05 in floating point.
    assert 0.15 / 3 < 0.05
    assert tarone([0.05] * 3, [0.001] * 3, alpha=0.15).rejected == (True, True, True)


def test_the_identical_condition_costs_the_matched_tests_nothing():
    # statistics.md 2.6: where all replies are 50 the smallest p is 1.
    matched, identical = [1 / 2001, 5 / 2001], [1.0] * 5
    found = tarone(matched + identical, [2 / 63504] * 2 + [1.0] * 5)
    assert (found.family, found.divisor) == (2, 2)
    assert found.rejected == (True, True, *[False] * 5)


@given(st.lists(st.tuples(PROBABILITIES, PROBABILITIES | st.just(NOT_A_TEST))))
def test_tarone_rejects_whatever_bonferroni_does(drawn):
    least = [floor for floor, _ in drawn]
    p = [value if isinstance(value, Undefined) else max(value, floor) for floor, value in drawn]
    found = tarone(p, least)
    for value, rejected, bonferroni in zip(p, found.rejected, adjusted(p).bonferroni, strict=True):
        if isinstance(value, Undefined):
            assert not rejected
        elif bonferroni <= 0.05:
            assert rejected


# Flag counts.


@given(st.integers(0, 12), st.integers(0, 12), PROBABILITIES)
def test_with_one_rate_for_all_the_poisson_binomial_is_the_binomial(flags, more, rate):
    trials = flags + more
    q = Fraction(rate)
    exact = sum(math.comb(trials, k) * q**k * (1 - q) ** (trials - k)
                for k in range(flags, trials + 1))
    found = poisson_binomial_upper(flags, [rate] * trials)
    assert found == binomial_upper(flags, trials, rate)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


@given(st.lists(PROBABILITIES, max_size=8))
def test_flag_counts_are_those_of_every_outcome_added_up(own):
    chance = [Fraction(0)] * (len(own) + 1)
    for outcome in product((0, 1), repeat=len(own)):
        chance[sum(outcome)] += math.prod(
            (Fraction(p) if hit else 1 - Fraction(p) for p, hit in zip(own, outcome, strict=True)),
            start=Fraction(1))
    for flags in range(len(own) + 1):
        exact = float(sum(chance[flags:]))
        assert poisson_binomial_upper(flags, own) == pytest.approx(exact, rel=1e-12, abs=1e-300)
    assert expected_flags(own) == pytest.approx(
        float(sum(k * p for k, p in enumerate(chance))), rel=1e-12, abs=1e-300)


def test_a_tiny_chance_keeps_its_digits():
    # All of fifteen at one in twenty: 20^-15, far below the rounding of 1.
    assert binomial_upper(15, 15, 0.05) == pytest.approx(20.0**-15, rel=1e-14)


def test_more_flags_than_trials_is_a_mistake():
    with pytest.raises(ValueError, match="3 of 2 is not a count"):
        binomial_upper(3, 2, 0.05)
    with pytest.raises(ValueError, match="not in 0 to 1"):
        poisson_binomial_upper(1, [0.5, 1.5])


# Intervals and clusters.


@given(st.lists(POINTS, min_size=2, max_size=12))
def test_a_t_interval_is_symmetric_under_negation(values):
    found, negated = t_interval(values), t_interval([-value for value in values])
    assert (negated.mean, negated.se) == (-found.mean, found.se)
    assert (negated.low, negated.high) == (-found.high, -found.low)


CLUSTERED = st.lists(st.tuples(POINTS, st.sampled_from("abcde")), min_size=1, max_size=20)


@given(CLUSTERED)
def test_a_cluster_interval_is_symmetric_under_negation(drawn):
    values, clusters = zip(*drawn, strict=True)
    found, negated = clustered(values, clusters), clustered([-v for v in values], clusters)
    for low, high, low_negated, high_negated in (
        (found.over_clusters.low, found.over_clusters.high,
         negated.over_clusters.low, negated.over_clusters.high),
        (found.cr2_low, found.cr2_high, negated.cr2_low, negated.cr2_high),
    ):
        if isinstance(low, Undefined):
            assert low_negated == high_negated == low == Undefined("unit_count_one")
        else:
            assert (low_negated, high_negated) == (-high, -low)


@given(CLUSTERED.flatmap(lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))))
def test_the_order_of_rows_never_matters_to_a_cluster_interval(both):
    one, other = (clustered(*zip(*drawn, strict=True)) for drawn in both)
    assert one == other


@given(st.lists(st.lists(POINTS, min_size=3, max_size=3), min_size=2, max_size=6))
def test_clusters_of_one_size_make_cr2_the_interval_over_cluster_means(groups):
    values = [value for group in groups for value in group]
    clusters = [i for i in range(len(groups)) for _ in range(3)]
    headline, wide = over_clusters(values, clusters), cr2(values, clusters)
    assert wide.df == pytest.approx(headline.df, rel=1e-12)
    for name in ("mean", "se", "low", "high"):
        assert getattr(wide, name) == pytest.approx(getattr(headline, name), rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_cr2_degrees_of_freedom_are_satterthwaites_from_the_matrices_themselves(sizes):
    # Bell & McCaffrey 2002: p_g = (I - H)_g' A_g X_g / N, A_g the inverse root of I - H_gg;
    # df = tr(B)^2 / tr(B^2), B_gh = p_g' p_h. Here by numpy, for the column of ones.
    n = sum(sizes)
    left = np.eye(n) - np.ones((n, n)) / n
    ends = np.cumsum([0, *sizes])
    columns = []
    for first, last in zip(ends, ends[1:], strict=False):
        own, vectors = np.linalg.eigh(left[first:last, first:last])
        root = vectors @ np.diag(own**-0.5) @ vectors.T
        columns.append(left[:, first:last] @ root @ np.ones(last - first) / n)
    b = np.array(columns) @ np.array(columns).T
    values = [float(i) for i in range(n)]
    clusters = [g for g, size in enumerate(sizes) for _ in range(size)]
    found = cr2(values, clusters)
    assert found.df == pytest.approx(np.trace(b) ** 2 / np.trace(b @ b), rel=1e-9)
    variance = sum((np.array(values) @ column) ** 2 for column in columns)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_equal_values_have_exactly_no_spread():
    found = clustered([0.1] * 9, [*"aabbbcccc"])
    assert found.mean == found.over_clusters.low == found.over_clusters.high == 0.1
    assert found.over_units.se == found.miller_se == found.cr2_se == 0


def test_three_decisions_give_the_published_interval():
    # statistics.md 2.4: t of 4.303 at df 2 gives [-13, +29] around 8.1.
    found = over_clusters([18, 3.15, 3.15], ["analyst", "x", "y"])
    assert (found.n, found.df) == (3, 2)
    assert (round(found.low), round(found.high)) == (-13, 29)


def test_one_cluster_has_a_mean_and_no_interval():
    found = clustered([1, 2, 3], ["a", "a", "a"])
    alone = Undefined("unit_count_one")
    assert found.over_clusters.mean == found.mean == 2
    assert found.over_clusters.low == found.miller_se == found.cr2_se == found.cr2_df == alone


def test_nothing_has_neither():
    found, none = clustered([], []), Undefined("no_data")
    assert (found.units, found.clusters, found.mean, found.cr2_low) == (0, 0, none, none)
    assert found.over_units.mean == found.over_clusters.high == found.miller_se == none


def test_a_value_that_is_not_finite_or_has_no_cluster_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        t_interval([1.0, math.nan])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        clustered([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="no t quantile"):
        t_interval([1.0, 2.0], confidence=1.0)


def test_t_quantiles_are_those_with_a_closed_form():
    # df 1 is Cauchy, tan(pi (p - 1/2)); df 2 is x / sqrt(2 p q) with x = 2 p - 1.
    for p in (0.6, 0.95, 0.975, 0.9995):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)
        assert t_quantile(p, 2) == pytest.approx(
            (2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-9)


def test_an_average_is_rounded_once():
    assert average([0.1] * 10) == 0.1  # a float sum gives .09999...
    assert average([1e16, 1.0, -1e16]) == pytest.approx(1 / 3, rel=1e-15)


def test_miller_s_standard_error_of_single_values_is_the_uncorrected_one():
    # Each value its own cluster: sqrt(sum of squares) / n; here deviations -1, 0, 1.
    assert miller_se([1, 2, 3], "abc") == pytest.approx(math.sqrt(2) / 3)


def test_fewer_than_six_clusters_cannot_reach_five_percent_by_flipping_signs():
    assert [smallest_sign_flip_p(k) for k in (3, 4)] == [0.25, 0.125]  # statistics.md 2.4
    assert all(smallest_sign_flip_p(k) > 0.05 for k in range(6))
    assert smallest_sign_flip_p(6) <= 0.05


def test_an_interval_over_four_decisions_covers_the_truth_as_often_as_it_says():
    # statistics.md 9.6. Decisions spread by 6 points, five blocks in each by 3 more. A true 95%
    # comes out beyond 93 to 97% of 3,000 runs, five standard errors, less than once in a million.
    draws = np.random.default_rng(20260101)
    runs, clusters = 3000, [*"aaaaabbbbbcccccddddd"]
    values = (draws.normal(2, 6, (runs, 4, 1)) + draws.normal(0, 3, (runs, 4, 5))).reshape(runs, 20)
    covered = sum(
        found.low <= 2 <= found.high
        for found in (over_clusters(row, clusters) for row in values.tolist()))
    assert 0.93 <= covered / runs <= 0.97


# Planning.

EVEN = 1e-6  # scipy 1.14's noncentral t is this uneven at the usual alphas; 1.17's is not
DECISIONS = t_interval([18, 3.15, 3.15]).se * math.sqrt(3)


def test_eleven_decisions_are_needed_to_see_the_published_position_bias():
    # statistics.md 2.4: its "8 points" is the published 8.1, for which ten give .758, eleven .806.
    assert units_needed(8.1, DECISIONS) == 11
    assert power(10, 8.1, DECISIONS) == pytest.approx(0.7578, abs=5e-5)
    assert power(11, 8.1, DECISIONS) == pytest.approx(0.8058, abs=5e-5)


def test_eight_points_sharp_take_a_twelfth_decision():
    assert units_needed(8, DECISIONS) == 12
    assert power(11, 8, DECISIONS) == pytest.approx(0.7962, abs=5e-5)
    assert power(12, 8, DECISIONS) == pytest.approx(0.8366, abs=5e-5)


def test_power_is_how_often_a_simulated_test_finds_the_effect():
    x = np.random.default_rng(7).normal(8, DECISIONS, (100_000, 11))
    t = x.mean(axis=1) / x.std(axis=1, ddof=1) * math.sqrt(11)
    found = (abs(t) > t_quantile(0.975, 10)).mean()
    assert power(11, 8, DECISIONS) == pytest.approx(found, abs=4 * math.sqrt(0.16 / 100_000))


def test_a_medium_effect_takes_thirty_four_units_for_eighty_percent():
    # Cohen's d = .5: the textbook 34 of a one-sample t test (R: power.t.test gives 33.37).
    assert units_needed(0.5, 1) == 34


@given(st.integers(2, 300), st.floats(0.01, 5), st.sampled_from([0.01, 0.05, 0.2]))
def test_power_rises_with_units_and_with_the_effect(n, effect, alpha):
    here = power(n, effect, 1, alpha)
    assert alpha - EVEN < here <= 1
    assert power(n + 1, effect, 1, alpha) >= here - EVEN
    assert power(n, 1.1 * effect, 1, alpha) >= here - EVEN
    assert power(n, -effect, 1, alpha) == here
    assert power(n, 2 * effect, 2, alpha) == here


@given(st.floats(0.1, 3), st.floats(0.06, 0.99))
def test_the_fewest_units_suffice_and_one_less_does_not(effect, wanted):
    n = units_needed(effect, 1, wanted)
    assert power(n, effect, 1) >= wanted
    assert n == 2 or power(n - 1, effect, 1) < wanted


@pytest.mark.parametrize("n", [2, 3, 10, 60, 280, 1000, 20_000])
@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.2])
def test_power_is_a_number_however_large_the_effect(n, alpha):
    # Where scipy's noncentral t is NaN; see `_beyond`.
    found = [power(n, effect, 1, alpha) for effect in np.geomspace(1e-3, 1e12, 301).tolist()]
    assert all(0 < one <= 1 for one in found)
    assert all(after >= before - EVEN for before, after in zip(found, found[1:], strict=False))
    assert found[-1] == pytest.approx(1)


def test_a_huge_effect_is_missed_only_where_the_spread_is_overestimated():
    # n = 2: the estimated sd is |Z| sigma, so a shift of 1e8 is missed where |Z| > 1e8 / t, and t
    # at alpha = 1e-8 is 1 / tan(pi alpha / 2).
    alpha, shift = 1e-8, 1e8
    most = shift * math.tan(math.pi * alpha / 2)
    assert power(2, shift / math.sqrt(2), 1, alpha) == pytest.approx(
        math.erf(most / math.sqrt(2)), rel=1e-9)


def test_without_spread_two_units_see_anything_and_nothing_is_never_seen():
    assert units_needed(5, sd=0) == 2
    assert power(2, 0, sd=0) == 0
    assert units_needed(0, sd=1) == units_needed(0, sd=0) == Undefined("too_few_units")
    assert units_needed(0.5, 1, most=33) == Undefined("too_few_units")


@pytest.mark.parametrize("wrong", [
    {"n": 1}, {"sd": -1}, {"effect": math.inf}, {"effect": math.nan}, {"alpha": 1}, {"alpha": 0},
])
def test_what_makes_no_test_has_no_power(wrong):
    with pytest.raises(ValueError, match="no t test of"):
        power(**{"n": 11, "effect": 8, "sd": 8, **wrong})


# Equivalence.

STANDARD_ERRORS, DEGREES = st.floats(0.01, 10), st.integers(1, 100)


@given(POINTS, STANDARD_ERRORS, DEGREES)
def test_the_least_bound_is_where_equivalence_begins(estimate, se, df):
    least = equivalence(estimate, se, df, bound=1).least_bound
    assert equivalence(estimate, se, df, bound=least).p == pytest.approx(0.05, rel=1e-6)
    assert not equivalence(estimate, se, df, bound=least * (1 - 1e-6)).equivalent
    assert equivalence(estimate, se, df, bound=least * (1 + 1e-6)).equivalent


@given(POINTS, st.floats(0, 10), DEGREES, st.floats(0.1, 10))
def test_negating_an_estimate_swaps_the_two_sides(estimate, se, df, bound):
    found, negated = (equivalence(e, se, df, bound) for e in (estimate, -estimate))
    assert (found.p_lower, found.p_upper) == (negated.p_upper, negated.p_lower)
    assert (found.p, found.equivalent) == (negated.p, negated.equivalent)
    assert found.least_bound == negated.least_bound


def test_without_a_standard_error_the_bound_itself_does_not_pass():
    assert [equivalence(e, 0, 16, 2).equivalent for e in (1.999, 2, -2, 2.5)] == [
        True, False, False, False]
    at = equivalence(2, 0, 16, 2)
    assert (at.p_lower, at.p_upper, at.p, at.least_bound) == (0, 1, 1, 2)


def test_one_degree_of_freedom_gives_cauchy_tails():
    # P(T > 1) at df 1 is a quarter; the estimate is one standard error inside the upper bound.
    found = equivalence(1, 1, 1, 2)
    assert found.p_upper == pytest.approx(0.25)
    assert found.p_lower == pytest.approx(0.5 - math.atan(3) / math.pi)


@pytest.mark.parametrize("wrong", [
    {"bound": 0}, {"se": -1}, {"df": 0}, {"estimate": math.nan}, {"se": math.inf},
])
def test_equivalence_without_a_bound_a_spread_or_freedom_is_refused(wrong):
    right = {"estimate": 0, "se": 1, "df": 16, "bound": 2}
    with pytest.raises(ValueError, match="no equivalence|no t quantile"):
        equivalence(**{**right, **wrong})


# Differential loss.

COUNTS = st.integers(0, 6)
STRATA = st.lists(st.builds(Table, COUNTS, COUNTS, COUNTS, COUNTS), max_size=4)
ODDS = ("odds_ratio", "low", "high")


def swapped(table):
    return Table(table.lost_2, table.lost_1, table.kept_2, table.kept_1)


def inverse(odds):
    return math.inf if odds == 0 else 1 / odds


@given(STRATA)
def test_swapping_the_labels_keeps_p_and_inverts_the_odds(strata):
    found, other = differential_loss(strata), differential_loss(map(swapped, strata))
    assert found.p == other.p
    if isinstance(found.odds_ratio, Undefined):
        assert other == found
        return
    assert other.odds_ratio == pytest.approx(inverse(found.odds_ratio), rel=1e-9)
    assert other.low == pytest.approx(inverse(found.high), rel=1e-9)
    assert other.high == pytest.approx(inverse(found.low), rel=1e-9)


@given(STRATA)
def test_swapping_lost_for_kept_inverts_the_odds_too(strata):
    found = differential_loss(strata)
    other = differential_loss(Table(t.kept_1, t.kept_2, t.lost_1, t.lost_2) for t in strata)
    assert found.p == other.p
    if not isinstance(found.odds_ratio, Undefined):
        assert other.odds_ratio == pytest.approx(inverse(found.odds_ratio), rel=1e-9)


def chances(strata, odds):
    """P(total lost with 1 first) at an odds ratio, by going through all of the tables."""
    found = {}
    for totals in product(*(range(t.lost_1 + t.kept_1 + 1) for t in strata)):
        ways = math.prod(
            math.comb(t.lost_1 + t.kept_1, x) * math.comb(t.lost_2 + t.kept_2, rest)
            if (rest := t.lost_1 + t.lost_2 - x) >= 0 else 0
            for t, x in zip(strata, totals, strict=True))
        if ways:
            found[sum(totals)] = found.get(sum(totals), 0) + ways * odds ** sum(totals)
    return found


@given(STRATA)
def test_p_and_odds_are_those_of_every_table_with_these_margins(strata):
    found, observed = differential_loss(strata), sum(t.lost_1 for t in strata)
    ways = chances(strata, 1)
    as_unlikely = sum(n for n in ways.values() if n <= ways[observed])
    assert found.p == pytest.approx(as_unlikely / sum(ways.values()), rel=1e-12)
    if len(ways) == 1:
        assert {getattr(found, name) for name in ODDS} == {Undefined("no_data")}
        return
    assert found.low <= found.odds_ratio <= found.high
    assert (found.low == found.odds_ratio == 0) == (observed == min(ways))
    assert (found.high == found.odds_ratio == math.inf) == (observed == max(ways))
    if found.low > 0:
        there = chances(strata, found.low)
        at_least = sum(chance for total, chance in there.items() if total >= observed)
        assert at_least / sum(there.values()) == pytest.approx(0.025, rel=1e-9)
    if found.high < math.inf:
        there = chances(strata, found.high)
        at_most = sum(chance for total, chance in there.items() if total <= observed)
        assert at_most / sum(there.values()) == pytest.approx(0.025, rel=1e-9)
    if 0 < found.odds_ratio < math.inf:
        there = chances(strata, found.odds_ratio)
        mean = sum(total * chance for total, chance in there.items()) / sum(there.values())
        assert mean == pytest.approx(observed, rel=1e-9)


def test_rabbits_have_the_odds_that_r_gives_them():
    # Agresti 1990 by R's mantelhaen.test(Rabbits, exact = TRUE): S = 16, p = 0.0399449, common
    # odds ratio 10.36102, whose root R finds on 1 / odds to within about 1.2e-4.
    found = differential_loss([
        Table(0, 0, 6, 5), Table(3, 0, 3, 6), Table(6, 2, 0, 4), Table(5, 6, 1, 0),
        Table(2, 5, 0, 0)])
    assert found.p == pytest.approx(0.0399449, abs=5e-8)
    assert 1 / found.odds_ratio == pytest.approx(1 / 10.36102, abs=1.3e-4)


def test_one_table_has_fisher_s_p_and_the_interval_that_r_gives_it():
    # Fisher 1962 by R's fisher.test(Convictions): p 0.0005367, odds 0.04693661, 95% interval
    # 0.003325764 to 0.363182271, whose roots R finds to within about 1.2e-4.
    found = differential_loss([Table(lost_1=2, lost_2=15, kept_1=10, kept_2=3)])
    assert found.p == pytest.approx(0.0005367, abs=5e-8)
    assert (found.odds_ratio, found.low, found.high) == pytest.approx(
        (0.04693661, 0.003325764, 0.363182271), abs=1.3e-4)


def test_the_odds_of_a_table_of_four_have_a_closed_form():
    # One of two lost on each side: ways 1, 4, 1, so P(all) at odds w is w^2 / (1 + 4 w + w^2),
    # and P(1 or more) is .025 where w^2 + 4 w = 1 / .975 - 1 = r: w = sqrt(4 + r) - 2.
    found = differential_loss([Table(1, 1, 1, 1)])
    low = math.sqrt(4 + (1 / 0.975 - 1)) - 2
    assert (found.p, found.odds_ratio) == (1, pytest.approx(1))
    assert found.low == pytest.approx(low, rel=1e-12)
    assert found.high == pytest.approx(1 / low, rel=1e-12)


@given(STRATA, COUNTS, COUNTS)
def test_a_stratum_that_lost_nothing_or_everything_says_nothing(strata, first, second):
    found = differential_loss(strata)
    assert differential_loss([*strata, Table(0, 0, first, second)]) == found
    assert differential_loss([*strata, Table(first, second, 0, 0)]) == found


def test_margins_that_allow_one_outcome_leave_only_p():
    none = Undefined("no_data")
    for strata in ([], [Table(25, 25, 0, 0)], [Table(3, 0, 22, 0), Table(0, 0, 9, 9)]):
        found = differential_loss(strata)
        assert (found.p, found.odds_ratio, found.low, found.high) == (1, none, none, none)


def test_a_whole_study_s_losses_are_tested_in_a_blink():
    # Four decisions in five wordings and both orders, 250 replies each.
    started = time.perf_counter()
    found = differential_loss([Table(12 + i % 5, 10 + i % 3, 113, 115) for i in range(40)])
    assert found.low < found.odds_ratio < found.high
    assert time.perf_counter() - started < 3


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="not counts"):
        Table(-1, 0, 1, 1)


@given(STRATA)
def test_p_is_a_probability_and_never_zero(strata):
    assert 0 < differential_loss(strata).p <= 1
