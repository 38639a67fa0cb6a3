"""Noise floor, margins, suite sizes, verdicts, the rule for shipping, and looking early."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.multiplicity import adjusted
from equipoise.stats.noise_floor import floor_of, net_95, noise_floor
from equipoise.stats.non_inferiority import non_inferiority, power_for_margin, units_for_margin
from equipoise.stats.paired import paired, tango_score
from equipoise.stats.sequential import evidence, false_alarm, peeking_inflation
from equipoise.stats.shipping import RunVerdict, shipping
from equipoise.stats.sign_test import detectable, least_wins, power, rejections, sign_test
from equipoise.stats.suite_size import binomials, detectable_over_noise, units_for_net
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Comparison, Plan, verdict, verdicts

MAYBE = st.none() | st.sampled_from([*"ab"])
NONE = Undefined("no_data")


# The noise floor.


@given(st.integers(0, 120))
def test_noise_swings_the_net_no_further_in_95_of_100(differing):
    def within(g):
        return sum(Fraction(comb(differing, w), 2 ** differing)
                   for w in range(differing + 1) if abs(2 * w - differing) <= g)

    g = net_95(differing)
    assert within(g) >= Fraction(95, 100)
    assert g == 0 or within(g - 1) < Fraction(95, 100)


@given(st.lists(st.tuples(MAYBE, MAYBE)))
def test_the_floor_counts_what_both_runs_answered(pairs):
    found = noise_floor([one for one, _ in pairs], [other for _, other in pairs])
    both = [(one, other) for one, other in pairs if None not in (one, other)]
    assert (found.n, found.missing) == (len(both), len(pairs) - len(both))
    assert found.differing == found.gross.count == sum(one != other for one, other in both)
    if both:
        assert found.net_points == 100 * net_95(found.differing) / len(both)
    else:
        assert found.net_points == Undefined("no_overlap" if pairs else "no_data")


def test_a_gross_third_is_a_net_tenth():
    # Two runs agree on 100 of 155: 35.5% gross, and 15 of 155 net.
    found = floor_of(55, 155)
    assert round(100 * found.gross.estimate, 1) == 35.5
    assert (found.net, round(found.net_points, 1)) == (15, 9.7)


def test_runs_of_unlike_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        noise_floor("ab", "a")


# The exact sign test's planning.


def test_the_fewest_wins_are_those_that_the_test_itself_finds():
    for alpha in (0.05, 0.05 / 7, 0.5, 1.0):
        for n in range(70):
            rejecting = [wins for wins in range((n + 1) // 2, n + 1)
                         if sign_test(wins, n - wins).p < alpha]
            assert least_wins(n, alpha) == min(rejecting, default=None)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_chances_of_rejecting_are_sums_of_binomials(share):
    for differ, chance in enumerate(rejections(60, share)):
        least = least_wins(differ)
        wins = range(differ + 1 if least is None else least, differ + 1)
        wanted = math.fsum(
            comb(differ, w) * share ** w * (1 - share) ** (differ - w) for w in wins)
        assert chance == pytest.approx(wanted, abs=1e-12)


def test_power_is_how_often_a_simulated_comparison_is_found():
    draws = np.random.default_rng(5).multinomial(36, [0.275, 0.025, 0.7], size=40_000)
    found = sum(sign_test(int(w), int(x)).p < 0.05 and w > x for w, x, _ in draws)
    assert power(36, 0.3, 0.25) == pytest.approx(found / 40_000, abs=4 * 0.0021)


@given(st.sampled_from([0.2, 0.3, 0.4]), st.integers(10, 150))
def test_twenty_more_units_see_less_and_never_less_well(discordance, n):
    here, more = detectable(n, discordance).exact, detectable(n + 20, discordance).exact
    if not isinstance(here, Undefined):
        assert more < here
        assert power(n, discordance, here) == pytest.approx(0.8, abs=1e-9)


@given(st.sampled_from([0.15, 0.2, 0.25, 0.3]))
def test_a_suite_has_power_from_its_size_on(net):
    n = units_for_net(net, 0.3)
    assert all(power(n + more, 0.3, net) >= 0.8 for more in range(11))
    last = next(less for less in range(n - 1, 0, -1) if power(less, 0.3, net) < 0.8)
    assert n - 11 <= last < n


def test_a_suite_is_undefined_where_no_size_up_to_the_most_will_do():
    assert units_for_net(0.1, 0.3, most=248) == Undefined("too_few_units")
    assert units_for_net(0.1, 0.3, most=249) == 249
    with pytest.raises(ValueError, match="cannot come from"):
        units_for_net(0.4, 0.3)
    with pytest.raises(ValueError, match="cannot come from"):
        units_for_net(0.0, 0.3)


def test_binomials_are_binomial():
    for n, row in enumerate(binomials(40, 0.3), 1):
        wanted = [comb(n, k) * 0.3 ** k * 0.7 ** (n - k) for k in range(n + 1)]
        assert row.tolist() == pytest.approx(wanted, abs=1e-14)


def test_measured_noise_makes_the_detectable_gain_larger():
    # statistics.md 4.3, nu being the 23% on which two majorities of three differ where single
    # draws agree on 64.5%: p = .77 and .865.
    p = (1 + math.sqrt(2 * 0.645 - 1)) / 2
    majority = p * p * (3 - 2 * p)
    nu = 2 * majority * (1 - majority)
    for noise, wanted in [(nu, (32.6, 25.0, 17.5)), (0.15, (29.8, 22.0, 15.3)),
                          (0.10, (27.5, 20.0, 13.5))]:
        found = [100 * detectable_over_noise(n, noise) for n in (36, 56, 100)]
        assert [round(one, 1) for one in found] == list(wanted)


def test_without_noise_a_gain_must_still_reach_the_test():
    # All that differ are wins, and it takes six: P(Bin(36, g) >= 6) = .8.
    gain = detectable_over_noise(36, 0.0)
    assert sum(comb(36, k) * gain ** k * (1 - gain) ** (36 - k) for k in range(6)) == pytest.approx(
        0.2)
    assert detectable_over_noise(5, 0.0) == Undefined("too_few_units")
    with pytest.raises(ValueError, match="not a share"):
        detectable_over_noise(36, 1.5)


def test_per_bias_the_first_step_of_holm_asks_for_nine_of_nine():
    # statistics.md 4.5: seven biases; at 36 openings 80% is out of reach.
    assert least_wins(9, 0.05 / 7) == 9 and least_wins(8, 0.05 / 7) is None
    assert detectable(36, 0.3, 0.05 / 7).exact == Undefined("too_few_units")
    assert [round(100 * detectable(n, 0.3, 0.05 / 7).exact) for n in (56, 100)] == [25, 19]


# Margins.


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(
    st.just(n), st.integers(0, n))).flatmap(lambda drawn: st.tuples(
        st.just(drawn[0]), st.just(drawn[1]), st.integers(0, drawn[0] - drawn[1]))),
       st.floats(0.01, 0.9))
def test_a_margin_is_shown_where_the_interval_lies_within_it(counts, margin):
    n, wins, losses = counts
    found = non_inferiority(wins, losses, n, margin)
    low = paired(0, wins, losses, n - wins - losses).low
    assert found.low == low
    if abs(low + margin) > 1e-9:
        assert found.shown == (low > -margin)
    assert found.z == tango_score(wins, losses, n, -margin)


def tango_by_hand(wins, losses, n, difference):
    """The score with the likelihood's maximum found by search, over P(loss) at this difference."""
    def loss(q):
        p = q + difference
        rest = n - wins - losses
        terms = [(wins, p), (losses, q), (rest, 1 - p - q)]
        if any(count and share <= 0 for count, share in terms):
            return -math.inf
        return sum(count * math.log(share) for count, share in terms if count)

    low, high = max(0.0, -difference), (1 - difference) / 2
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (a, high) if loss(a) < loss(b) else (low, b)
    q = (low + high) / 2
    variance = n * (2 * q + difference - difference ** 2)
    return (wins - losses - n * difference) / math.sqrt(variance)


@pytest.mark.parametrize("counts", [(5, 4, 36), (3, 10, 36), (12, 14, 100), (0, 3, 20), (7, 0, 9)])
def test_the_score_is_at_the_likeliest_shares(counts):
    for difference in (-0.3, -0.1, 0.05, 0.2):
        assert tango_score(*counts, difference) == pytest.approx(
            tango_by_hand(*counts, difference), rel=1e-6)


def test_ten_losses_to_three_are_within_no_margin_of_twenty_six_points():
    found = non_inferiority(wins=3, losses=10, n=36, margin=0.26)
    assert not found.shown and round(100 * found.low) == -38


def test_no_units_show_nothing_and_wrong_margins_are_refused():
    assert non_inferiority(0, 0, 0, 0.1).p == NONE and not non_inferiority(0, 0, 0, 0.1).shown
    for margin in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="margin"):
            non_inferiority(1, 1, 9, margin)
    with pytest.raises(ValueError, match="not counts"):
        non_inferiority(5, 5, 9, 0.1)
    with pytest.raises(ValueError, match="no size"):
        units_for_margin(0.1, 0.0)


def test_the_suites_that_margins_ask_for_are_those_of_the_table():
    # statistics.md 4.3, the margins being 25, 20, 15 and 10 points.
    for discordance, wanted in [
        (0.3, [40, 61, 108, 239]), (0.2, [30, 46, 78, 165]), (0.4, [50, 79, 140, 315]),
    ]:
        found = [units_for_margin(margin, discordance) for margin in (0.25, 0.2, 0.15, 0.1)]
        assert found == wanted
    assert units_for_margin(0.1, 0.3, most=200) == Undefined("too_few_units")


def test_the_chance_to_show_a_margin_is_summed_over_all_that_may_come():
    for n, (margin, discordance) in product((7, 23), [(0.1, 0.2), (0.3, 0.5)]):
        wanted = sum(
            comb(n, d) * discordance ** d * (1 - discordance) ** (n - d) * comb(d, w) / 2 ** d
            for d in range(n + 1) for w in range(d + 1)
            if non_inferiority(w, d - w, n, margin).shown)
        assert power_for_margin(n, margin, discordance) == pytest.approx(wanted, abs=1e-12)


# Verdicts.

FLOOR = floor_of(8, 36)
PLAN = Plan(36, 0.3)
BETTER = Comparison(36, 10, 1, (0, 0), (108, 108), FLOOR, reader_trusted=True)
COMPARISONS = st.integers(1, 40).flatmap(lambda n: st.tuples(
    st.just(n), st.integers(0, n), st.integers(0, n))).filter(
        lambda drawn: drawn[1] + drawn[2] <= drawn[0]).map(
            lambda drawn: replace(BETTER, n=drawn[0], wins=drawn[1], losses=drawn[2]))


@given(COMPARISONS)
def test_a_swap_of_the_variants_turns_worse_round_and_better_where_it_clears_the_floor(found):
    plan = replace(PLAN, n=found.n)
    one, other = verdict(plan, found), verdict(
        plan, replace(found, wins=found.losses, losses=found.wins))
    assert one.p == other.p and one.net_points == -other.net_points
    assert one.low_points == pytest.approx(-other.high_points, abs=1e-9)
    if one.kind == "better":
        assert other.kind == "worse"
    if one.kind == "worse":
        assert other.kind == "better" or other.why == ("inside_noise_floor",)
    assert (one.kind in ("better", "worse")) <= (one.p < 0.05)


@given(COMPARISONS)
def test_without_a_margin_nothing_is_called_not_worse(found):
    assert verdict(replace(PLAN, n=found.n), found).kind != "not detectably worse"


@given(COMPARISONS, st.floats(1, 60))
def test_not_worse_needs_both_the_suite_and_the_interval(found, margin):
    said = verdict(Plan(found.n, 0.3, margin), found)
    seen = said.detectable_points
    allowed = not isinstance(seen, Undefined) and margin > seen and said.low_points > -margin
    if said.kind in ("no detectable difference", "not detectably worse"):
        assert (said.kind == "not detectably worse") == allowed
        assert ("interval_passes_margin" in said.why) == (said.low_points <= -margin)


@pytest.mark.parametrize(("change", "gate"), [
    ({"n": 35}, "sample_count_changed"),
    ({"errors": (0, 6)}, "error_rate_over_5_percent"),
    ({"floor": NONE}, "no_noise_floor"),
    ({"floor": noise_floor([], [])}, "no_noise_floor"),
    ({"pending_splits": 1}, "pending_split"),
    ({"reader_trusted": False}, "reader_uncalibrated"),
    ({"readers_disagree": True}, "readers_disagree"),
])
def test_each_gate_alone_holds_the_verdict(change, gate):
    assert verdict(PLAN, BETTER).kind == "better"
    held = verdict(PLAN, replace(BETTER, **change))
    assert (held.kind, held.gates) == ("no verdict", (gate,))
    assert held.p == verdict(PLAN, BETTER).p


def test_every_gate_is_named_when_all_hold():
    held = verdict(PLAN, Comparison(0, 0, 0, (1, 0), (1, 0), NONE, 2, False, True))
    assert held.gates == (
        "no_units", "sample_count_changed", "error_rate_over_5_percent", "no_noise_floor",
        "pending_split", "reader_uncalibrated", "readers_disagree")
    assert (held.net_points, held.detectable_points, held.p) == (NONE, NONE, 1)


def test_exactly_five_percent_of_calls_in_error_is_allowed():
    for errors, calls, gates in [(6, 120, ()), (7, 120, ("error_rate_over_5_percent",))]:
        assert verdict(PLAN, replace(BETTER, errors=(errors, 0), calls=(calls, 120))).gates == gates


def test_a_gain_that_equals_the_floor_is_not_above_it():
    # Six of 36 against a floor of twelve of 72: equal, as whole numbers are.
    assert floor_of(36, 72).net == 12 and floor_of(30, 72).net == 10
    six = replace(BETTER, wins=6, losses=0, floor=floor_of(36, 72))
    assert verdict(PLAN, six).why == ("inside_noise_floor",)
    assert verdict(PLAN, replace(six, floor=floor_of(30, 72))).kind == "better"


def test_counts_that_do_not_fit_are_refused():
    for change in ({"wins": 30, "losses": 7}, {"losses": -1}, {"errors": (109, 0)}):
        with pytest.raises(ValueError, match="do not fit"):
            replace(BETTER, **change)


@given(st.lists(COMPARISONS, max_size=7))
def test_comparisons_made_together_are_decided_by_holm(found):
    compared = {str(i): (Plan(one.n, 0.3), one) for i, one in enumerate(found)}
    together = verdicts(compared)
    holm = adjusted([verdict(*one).p for one in compared.values()]).holm
    for (name, said), p in zip(together.items(), holm, strict=True):
        alone = verdict(*compared[name])
        assert (said.p, said.p_adjusted, alone.p_adjusted) == (alone.p, p, alone.p)
        if p >= 0.05:
            assert said.kind == "no detectable difference"
            assert (said.why == ("significant_only_alone",)) == (alone.p < 0.05)
        else:
            assert said.kind == alone.kind


def test_seven_biases_at_thirty_six_openings_see_nothing():
    # statistics.md 4.5: nine of nine are needed, and no effect gives 80% power.
    nine, eight = (replace(BETTER, wins=n, losses=0, floor=floor_of(0, 36)) for n in (9, 8))
    tied = replace(BETTER, wins=0, losses=0)
    for first, kind in ((nine, "better"), (eight, "no detectable difference")):
        found = verdicts(dict.fromkeys("bcdefg", (PLAN, tied)) | {"a": (PLAN, first)})
        assert found["a"].kind == kind
        assert found["a"].detectable_points == Undefined("too_few_units")


def test_a_comparison_without_units_is_not_counted():
    empty = Comparison(0, 0, 0, (0, 0), (0, 0), FLOOR, reader_trusted=True)
    found = verdicts({"a": (PLAN, BETTER), "b": (PLAN, empty)})
    assert found["a"].p_adjusted == found["a"].p and found["b"].kind == "no verdict"
    assert verdicts({}) == {}


# Shipping.


def test_two_false_betters_are_as_rare_as_the_rule_says():
    # One sign test favours a change that does nothing at most .025 of the time.
    worst = max(power(n, discordance, 0.0)
                for n in range(1, 120) for discordance in (0.3, 0.6, 1.0))
    assert worst <= 0.025
    assert worst ** 2 <= 0.000625


def test_two_runs_on_the_same_samples_say_so():
    one, two = (RunVerdict(run, "better", 22.0, 16.0, "s1") for run in ("r1", "r2"))
    assert shipping([one, two]).same_samples
    assert not shipping([one, replace(two, samples="s2")]).same_samples
    assert not shipping([replace(one, samples=""), replace(two, samples="")]).same_samples


def test_a_worse_run_is_named_beside_two_better_ones():
    runs = [RunVerdict(run, kind, net, 16.0) for run, kind, net in [
        ("r1", "better", 22.0), ("r2", "worse", -30.0), ("r3", "better", 20.0)]]
    found = shipping(runs)
    assert found.ship and found.worse == ("r2",)


def test_twice_the_floor_is_met_exactly_whatever_the_two_runs_sizes():
    for n, floor_n in product(range(3, 60), repeat=2):
        for net in range(floor_n // 2 + 1):
            if (2 * net * n) % floor_n == 0 and (gap := 2 * net * n // floor_n) <= n:
                points = RunVerdict("r", "better", 100 * gap / n, 100 * net / floor_n)
                assert shipping([points]).ship
                if gap:
                    less = replace(points, net_points=100 * (gap - 1) / n)
                    assert not shipping([less]).ship


# Looking early.


def test_looking_early_is_what_all_sequences_of_coin_flips_say():
    looks, most = {6, 9, 10, 12}, 12
    ever = sum(
        any(sign_test(sum(path[:n]), n - sum(path[:n])).p < 0.05 for n in looks)
        for path in product((0, 1), repeat=most))
    assert peeking_inflation(looks) == ever / 2 ** most


@given(st.sets(st.integers(1, 40)), st.integers(1, 40))
def test_another_look_never_costs_less(looks, more):
    assert peeking_inflation(looks) <= peeking_inflation(looks | {more})


def test_a_look_at_nothing_is_refused_and_no_look_costs_nothing():
    assert peeking_inflation([]) == 0
    with pytest.raises(ValueError, match="no look at 0"):
        peeking_inflation([0, 5])


@given(st.lists(st.booleans(), max_size=60))
def test_an_e_value_is_the_mean_likelihood_ratio_over_all_shares(wins):
    found = evidence(wins)
    for n, value in enumerate(found.values, 1):
        won = sum(wins[:n])
        # The integral of p^w (1 - p)^(n - w) over p is Beta(w + 1, n - w + 1).
        wanted = Fraction(2 ** n * math.factorial(won) * math.factorial(n - won),
                          math.factorial(n + 1))
        assert value == float(wanted)
    assert found.p == min(1.0, 1 / max(found.values, default=1.0)) or found.p == pytest.approx(
        1 / max(found.values), rel=1e-15)
    assert evidence([not win for win in wins]) == found


@given(st.lists(st.booleans(), max_size=40))
def test_an_e_process_is_a_fair_game(wins):
    # The mean over the next coin is what it was before.
    before = evidence(wins).values[-1] if wins else 1.0
    after = [evidence([*wins, win]).values[-1] for win in (True, False)]
    assert sum(after) / 2 == pytest.approx(before, rel=1e-12)


def test_it_takes_eight_straight_wins_and_false_alarms_stay_below_a_twentieth():
    assert evidence([True] * 7).crossed is None and evidence([True] * 9).crossed == 8
    assert 0 < false_alarm(100) < false_alarm(1000) < 0.05
    assert round(false_alarm(1000), 3) == 0.036  # statistics.md 4.4


def test_overwhelming_evidence_is_neither_infinite_nor_certain():
    found = evidence([True] * 1_500)
    assert math.isfinite(found.values[-1]) and 0 < found.p < 1e-300
    assert evidence([]).p == 1 and evidence([]).values == ()
