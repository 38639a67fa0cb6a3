"""The exact label-order test and its omnibus, against plain enumeration and under seeded mocks."""

import math
import random
import statistics
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.stats.flag_counts import poisson_binomial_upper
from equipoise.stats.lattice import (
    Distribution,
    added,
    moved,
    relabellings,
    scale,
    scaled,
    subset_sums,
)
from equipoise.stats.permutation import drawn_omnibus, omnibus, swap_test
from equipoise.stats.t_interval import t_interval
from equipoise.stats.undefined import Undefined

STEADY = settings(derandomize=True, deadline=None, max_examples=60)
BRIEF = settings(STEADY, max_examples=30)

# Replies: whole numbers, fives, one or two decimals, thirds.
GRIDS = [st.integers(0, 100).map(Fraction), st.integers(0, 20).map(lambda n: Fraction(5 * n)),
         st.integers(0, 1000).map(lambda n: Fraction(n, 10)),
         st.integers(0, 10_000).map(lambda n: Fraction(n, 100)),
         st.integers(0, 300).map(lambda n: Fraction(n, 3))]
SIZES = {1: st.integers(1, 5), 2: st.integers(1, 3), 3: st.integers(1, 2), 4: st.integers(1, 2)}


@st.composite
def strata(draw, counts=(1, 2, 3, 4), sizes=SIZES, grids=GRIDS, balanced=None):
    """A block as exact fractions: one to four strata, with equal or unequal counts."""
    how_many = draw(st.sampled_from(counts))
    values = draw(st.sampled_from(grids))
    if draw(st.booleans()) if balanced is None else balanced:
        n = draw(sizes[how_many])
        counted = [(n, n)] * how_many
    else:
        counted = [(draw(sizes[how_many]), draw(sizes[how_many])) for _ in range(how_many)]
    return [tuple(draw(st.lists(values, min_size=n, max_size=n)) for n in both)
            for both in counted]


def floats(block):
    return [tuple([float(y) for y in cell] for cell in both) for both in block]


# Enumeration: every relabelling within strata, written out.


def mean(values):
    return sum(values) / Fraction(len(values))


def shifts(stratum):
    """Half the difference of means, for every choice of which replies had label 1 first."""
    one, other = stratum
    pool = [*one, *other]
    for chosen in combinations(range(len(pool)), len(one)):
        rest = [y for i, y in enumerate(pool) if i not in chosen]
        yield (mean([pool[i] for i in chosen]) - mean(rest)) / 2


def shift(stratum):
    return (mean(stratum[0]) - mean(stratum[1])) / 2


def leans(block):
    return [mean(each) for each in product(*map(list, map(shifts, block)))]


@pytest.mark.parametrize("counts", [(1,), (2,), (3,), (4,)], ids=lambda n: f"{n[0]} strata")
@settings(STEADY, max_examples=40)
@given(data=st.data(), alpha=st.sampled_from([0.05, 0.1, 0.2, 0.35]),
       bound=st.sampled_from([0.5, 1.95, 2.0, 10.0]))
def test_every_figure_of_a_block_is_that_of_all_its_relabellings(counts, data, alpha, bound):
    block = data.draw(strata(counts))
    everything = leans(block)
    lean, total = mean([shift(each) for each in block]), len(everything)
    rising = sorted(map(abs, everything))
    found = swap_test(floats(block), alpha=alpha, bound=bound)

    def as_extreme(each):
        return total - bisect_left(rising, abs(each))

    def flags(each):
        rare = Fraction(as_extreme(each), total) < Fraction(str(alpha))
        return rare and abs(each) >= Fraction(str(bound))

    assert (found.permutations, found.as_extreme) == (total, as_extreme(lean))
    assert found.p == float(Fraction(as_extreme(lean), total))
    assert found.least_p == float(Fraction(as_extreme(rising[-1]), total))
    assert found.lean == float(lean)
    assert found.flagged is flags(lean)
    assert found.null_flag == float(Fraction(sum(map(flags, everything)), total))
    assert found.null_sd == pytest.approx(math.sqrt(mean([each ** 2 for each in everything])))
    cells = list(chain.from_iterable(block))
    assert found.counts == tuple(map(len, cells))
    assert found.position == pytest.approx(float(mean(list(map(mean, cells))) - 50), abs=1e-10)


@STEADY
@given(strata())
def test_the_interval_pools_the_variance_within_cells(block):
    found, cells = swap_test(floats(block)), list(chain.from_iterable(block))
    df = sum(map(len, cells)) - len(cells)
    assert found.df == df
    if df == 0:
        assert {found.se, found.low, found.high} == {Undefined("too_few_units")}
        return
    within = sum((y - mean(cell)) ** 2 for cell in cells for y in cell) / df
    variance = within * sum(Fraction(1, len(cell)) for cell in cells) / (2 * len(block)) ** 2
    assert found.se == pytest.approx(math.sqrt(variance), abs=1e-10)
    assert (found.low + found.high) / 2 == pytest.approx(found.lean, abs=1e-10)


def test_the_standard_error_of_a_balanced_block_is_the_pooled_sd_over_the_root_of_its_replies():
    # Four cells of five: s / sqrt(20), df 16, whose 97.5% t quantile is 2.1199 in any t table.
    cell = [48, 52, 48, 52, 50]  # sum of squares 16, so s = 2
    found = swap_test([(cell, cell), ([y + 10 for y in cell], cell)])
    assert (found.df, found.se) == (16, pytest.approx(2 / math.sqrt(20)))
    assert found.high - found.lean == pytest.approx(2.1199 * 2 / math.sqrt(20), abs=1e-4)


def test_the_square_of_the_null_sd_has_its_closed_form():
    # statistics.md 2.3: sum over strata of S^2 (1/n1 + 1/n2), over (2 K)^2.
    block = [([62, 60, 71], [50, 48, 55, 40]), ([50, 52], [40, 38, 90])]
    squares = sum(statistics.variance([*one, *other]) * (1 / len(one) + 1 / len(other))
                  for one, other in block)
    assert swap_test(block).null_sd ** 2 == pytest.approx(squares / 16)


def exactly(block):
    return [tuple([Fraction(y).limit_denominator(1_000) for y in cell] for cell in both)
            for both in block]


def squared(block, by_stratum):
    """What is squared and summed over a block, for each of its relabellings."""
    if not by_stratum:
        return [lean ** 2 for lean in leans(block)]
    return [sum(each ** 2 for each in found) for found in product(*map(shifts, block))]


def enumerated(blocks, by_stratum):
    """The sum of squares as observed, and that of every relabelling of all blocks, rising."""
    exact = [exactly(block) for block in blocks]
    sums = sorted(map(sum, product(*(squared(block, by_stratum) for block in exact))))
    observed = [[shift(each) for each in block] for block in exact]
    return sum(sum(each ** 2 for each in found) if by_stratum else mean(found) ** 2
               for found in observed), sums


BOTH = pytest.mark.parametrize("by_stratum", [False, True], ids=["leans", "each stratum"])


@BOTH
@pytest.mark.parametrize("n, counts, size", [(2, 1, 3), (3, 1, 2), (2, 2, 2), (3, 2, 1)])
@BRIEF
@given(data=st.data())
def test_the_exact_omnibus_is_that_of_all_relabellings_of_all_blocks(
    n, counts, size, by_stratum, data,
):
    grid = data.draw(st.sampled_from(GRIDS[:2]))
    one = strata((counts,), {counts: st.just(size)}, [grid], balanced=True)
    blocks = [data.draw(one) for _ in range(n)]
    observed, sums = enumerated(blocks, by_stratum)
    found = omnibus([swap_test(floats(b)) for b in blocks], by_stratum=by_stratum)
    assert found.method == "exact convolution"
    assert (found.draws, found.seed, found.error) == (0, 0, 0)
    assert found.p == pytest.approx(sum(each >= observed for each in sums) / len(sums), rel=1e-12)
    # The smallest r with P(RMS* <= r) >= .95.
    at_95 = sums[math.ceil(Fraction(95, 100) * len(sums)) - 1]
    squares = n * (counts if by_stratum else 1)
    assert found.null_95 == pytest.approx(math.sqrt(at_95 / squares), abs=1e-12)


def test_of_one_block_the_omnibus_is_its_own_test():
    found = swap_test([([62, 60, 55], [50, 48, 58]), ([50, 52, 47], [40, 38, 49])])
    assert omnibus([found]).p == pytest.approx(found.p, rel=1e-12)


def test_in_the_interaction_omnibus_a_shift_is_a_shift_however_many_strata_its_block_has():
    # One stratum of two and two strata of one have the same lattice: four units a point.
    blocks = [[([60, 50], [50, 40])], [([70], [50]), ([50], [60])]]
    whole = [swap_test(block) for block in blocks]
    assert [test.lattice for test in whole] == [4, 4]
    observed, sums = enumerated(blocks, True)
    found = omnibus(whole, by_stratum=True)
    assert found.p == pytest.approx(sum(each >= observed for each in sums) / len(sums))
    at_95 = sums[math.ceil(Fraction(95, 100) * len(sums)) - 1]
    assert found.null_95 == pytest.approx(math.sqrt(at_95 / 3))


def test_without_a_block_there_is_no_omnibus():
    none = Undefined("no_data")
    assert (omnibus([]), omnibus([], by_stratum=True), drawn_omnibus([])) == (none, none, none)


@pytest.mark.parametrize("block", [[], [([], [1])], [([1], [2]), ([1], [])]])
def test_a_block_with_an_empty_cell_has_no_test(block):
    with pytest.raises(ValueError, match="a cell holds no value"):
        swap_test(block)


# The lattice.


@STEADY
@given(st.lists(st.integers(0, 40), min_size=1, max_size=9), st.data())
def test_subset_sums_are_those_of_every_subset(values, data):
    size = data.draw(st.integers(1, len(values)))
    found = subset_sums(values, size)
    sums = [sum(each) for each in combinations(values, size)]
    assert {v: n for v, n in zip(found.values.tolist(), found.counts.tolist(), strict=True) if n
            } == {v: sums.count(v) for v in sums}
    assert found.total == math.comb(len(values), size) == relabellings([(size, len(values) - size)])


@pytest.mark.parametrize("length", [300, 3_000], ids=["directly", "by a Fourier transform"])
def test_adding_two_distributions_counts_every_pair_exactly(length):
    # 3,000 by 3,000 is above five million products; Python's whole numbers do not round.
    draw = random.Random(1)
    one, other = ([draw.randrange(10_000) for _ in range(length)] for _ in range(2))
    found = added(Distribution(3, 2, np.array(one, float)), Distribution(-1, 2,
                                                                         np.array(other, float)))
    # Multiplied as two long numbers of seven bytes a digit: 3,000 x 10^8 carries nowhere.
    both = (packed(one) * packed(other)).to_bytes(14 * length, "little")
    wanted = [int.from_bytes(both[at : at + 7], "little") for at in range(0, 14 * length - 7, 7)]
    assert (found.start, found.step) == (2, 2)
    assert found.counts.tolist() == wanted


def packed(counts):
    return int.from_bytes(b"".join(n.to_bytes(7, "little") for n in counts), "little")


def test_distributions_on_unlike_steps_add_on_the_finer():
    found = added(Distribution(0, 6, np.array([1.0, 1.0])), Distribution(1, 4, np.array([1.0, 2])))
    assert (found.start, found.step) == (1, 2)
    # 0 or 6, and 1 or 5: sums 1, 5, 5, 7, 7, 11 as often as 1, 2, -, 1, -, 2 ways.
    assert dict(zip(found.values.tolist(), found.counts.tolist(), strict=True)) == {
        1: 1, 3: 0, 5: 2, 7: 1, 9: 0, 11: 2}
    assert moved(found, 3, 4).values.tolist() == [-1, 5, 11, 17, 23, 29]


def test_the_scale_makes_values_whole_and_is_at_most_a_thousand():
    assert scale([50, 61.5, 100 / 3]) == 6
    assert scaled([61.5, 100 / 3], 6) == [369, 200]
    assert scale([0.001, 100 / 3]) == 1000


# Rules at their edge.


def test_a_lean_of_exactly_two_points_is_flagged_and_just_under_is_not():
    # Strata differ by 4 points of mean, halved: 2.0. One reply a point less: T = 39 of 40.
    at = swap_test([([52] * 5, [48] * 5), ([72] * 5, [68] * 5)])
    under = swap_test([([52] * 4 + [51], [48] * 5), ([72] * 5, [68] * 5)])
    assert (at.lean, at.flagged, under.lean, under.flagged) == (2.0, True, 1.95, False)
    assert at.p < 0.05 and under.p < 0.05
    assert at.null_flag == at.p and under.null_flag == 0


@pytest.mark.parametrize("block", [
    [([70.1, 70.2, 70.3], [66.1, 66.2, 66.3])] * 2,
    [([0.7 + n / 10 for n in range(5)], [4.7 + n / 10 for n in range(5)])] * 2,
    [([100 / 3, 106 / 3, 112 / 3, 106 / 3], [94 / 3] * 3)] * 2,
    [([55, 53, 54], [50, 49, 51, 50, 50]), ([44, 46, 45, 45], [41, 40, 42])],
], ids=["tenths", "tenths of small numbers", "thirds", "unequal counts"])
def test_a_lean_of_two_points_survives_decimals_and_unequal_counts(block):
    found = swap_test(block)
    assert abs(found.lean) == 2.0 and found.flagged


def test_a_lean_needs_more_than_its_size_and_more_than_its_rarity():
    # Two in a cell: 2 of 36 at the least, .056, so never flagged; three: 2 of 400.
    two, three = ([([90] * n, [10] * n)] * 2 for n in (2, 3))
    assert (swap_test(two).p, swap_test(two).flagged) == (2 / 36, False)
    assert (swap_test(three).p, swap_test(three).flagged) == (2 / 400, True)
    assert swap_test(three).null_flag == 2 / 400 and swap_test(two).null_flag == 0


def test_a_p_of_alpha_is_not_below_it():
    # Six replies in one stratum, all apart: the two labellings of 20 that are most extreme.
    block = [([3, 4, 5], [0, 1, 2])]
    found = swap_test(block, alpha=0.1, bound=0.5)
    assert (found.p, found.flagged, found.null_flag) == (0.1, False, 0)
    assert swap_test(block, alpha=0.11, bound=0.5).flagged


def test_replies_that_are_all_alike_have_one_relabelling_in_effect():
    found = swap_test([([50] * 5, [50] * 5)] * 2)
    assert (found.lean, found.p, found.least_p, found.null_sd, found.null_flag) == (0, 1, 1, 0, 0)
    assert (found.as_extreme, found.permutations) == (63_504, 63_504)
    assert (omnibus([found] * 3).p, omnibus([found] * 3).null_95) == (1, 0)


def test_an_extreme_run_has_a_p_far_below_what_any_number_of_draws_could_show():
    # Every block leans as far as it can: 2 of 63,504 each, and independent.
    whole = [swap_test([([54, 55, 53, 54, 55], [47, 46, 46, 47, 45])] * 2) for _ in range(20)]
    found = omnibus(whole)
    assert 0 < found.p < 1e-9
    assert found.p == pytest.approx((2 / 63_504) ** 20, rel=1e-9)
    assert omnibus(whole, by_stratum=True).p == pytest.approx((2 / 252) ** 40, rel=1e-9)
    assert drawn_omnibus(whole).p == 1 / 2_001


@pytest.mark.parametrize("draws, unit", [(10, 1), (12, 10), (20, 1), (30, 1)])
def test_the_smallest_p_of_many_draws_in_four_strata_is_that_of_one_labelling_and_its_mirror(
    draws, unit,
):
    # Every reply with label 1 first lies above every one with label 2 first.
    chance = random.Random(1)
    block = [tuple([chance.randint(unit * low, unit * (low + 10)) / unit for _ in range(draws)]
                   for low in (80, 10)) for _ in range(4)]
    found = swap_test(block)
    assert found.p == found.least_p
    assert found.p == pytest.approx(2 / math.comb(2 * draws, draws) ** 4, rel=1e-9)


@pytest.mark.parametrize("strata_", [1, 2, 4])
def test_p_is_never_above_one_whatever_the_number_of_draws(strata_):
    # A lean of nought is as extreme as nothing: p is 1, and may not be a rounding more.
    chance = random.Random(1)
    for draws in range(3, 41):
        cells = [[chance.randint(45, 55) for _ in range(draws)] for _ in range(2)]
        block = [cells[:: (-1) ** place] for place in range(strata_)]
        found = swap_test(block if strata_ > 1 else [(cells[0], cells[0])])
        assert found.lean == 0 and found.p <= 1, draws
        assert found.p == pytest.approx(1)


@pytest.mark.parametrize("n", [200, 600, 1_000])
def test_as_many_draws_as_can_be_registered_can_be_tested(n):
    found = swap_test([([50] * n, [50] * n)] * 2)
    assert (found.lean, found.null_sd) == (0, 0)
    assert found.p <= 1 and found.p == pytest.approx(1)
    assert found.permutations == math.comb(2 * n, n) ** 2


# Properties that any implementation has.


def exact(found):
    return (found.permutations, found.as_extreme, found.p, found.least_p, found.flagged,
            found.null_flag, found.df)


def spread(found):
    """What is computed in floating point, where the order of a sum may move the last digit."""
    return [0.0 if isinstance(each, Undefined) else each for each in (found.null_sd, found.se)]


@STEADY
@given(strata())
def test_swapping_the_labels_negates_the_lean_and_keeps_p(block):
    found = swap_test(floats(block))
    swapped = swap_test([(other, one) for one, other in floats(block)])
    assert swapped.lean == -found.lean
    assert exact(swapped) == exact(found)
    assert spread(swapped) == pytest.approx(spread(found))
    assert swapped.position == pytest.approx(found.position, abs=1e-10)


@STEADY
@given(strata())
def test_asking_about_the_other_option_with_both_orders_swapped_keeps_the_lean(block):
    # 100 - y speaks of the option listed second: list it first, and with it its label.
    found = swap_test(floats(block))
    other = swap_test(floats([([100 - y for y in two], [100 - y for y in one])
                              for one, two in reversed(block)]))
    assert other.lean == found.lean
    assert exact(other) == exact(found)
    assert spread(other) == pytest.approx(spread(found))
    assert other.position == pytest.approx(-found.position, abs=1e-10)


@STEADY
@given(strata(), st.lists(st.integers(-40, 40), min_size=4, max_size=4))
def test_a_constant_within_a_description_order_moves_neither_lean_nor_p(block, constants):
    found = swap_test(floats(block))
    added_ = zip(block, constants, strict=False)
    moved_ = swap_test(floats([([y + c for y in one], [y + c for y in other])
                               for (one, other), c in added_]))
    assert (moved_.lean, exact(moved_)) == (found.lean, exact(found))
    assert spread(moved_) == pytest.approx(spread(found))
    by = statistics.fmean(constants[: len(block)])
    assert moved_.position == pytest.approx(found.position + by, abs=1e-10)


@STEADY
@given(strata(), st.randoms(use_true_random=False))
def test_the_order_of_replies_and_of_strata_moves_nothing(block, chance):
    found = swap_test(floats(block))
    mixed = [tuple(chance.sample(cell, len(cell)) for cell in both) for both in block]
    chance.shuffle(mixed)
    moved_ = swap_test(floats(mixed))
    assert (moved_.lean, exact(moved_)) == (found.lean, exact(found))
    assert spread(moved_) == pytest.approx(spread(found))
    assert moved_.position == pytest.approx(found.position, abs=1e-10)


@BOTH
def test_the_order_of_blocks_does_not_move_the_exact_omnibus(by_stratum):
    for seed in range(20):
        whole = [swap_test(b) for b in mock(seed, blocks=8, lean=1.0)]
        found = omnibus(whole, by_stratum=by_stratum)
        mixed = omnibus(random.Random(seed).sample(whole, 8), by_stratum=by_stratum)
        assert mixed.p == pytest.approx(found.p, rel=1e-12)
        assert mixed.null_95 == pytest.approx(found.null_95, rel=1e-12)
        turned = [swap_test([(two, one) for one, two in b])
                  for b in mock(seed, blocks=8, lean=1.0)]
        assert omnibus(turned, by_stratum=by_stratum).p == pytest.approx(found.p, rel=1e-12)


# Seeded mocks, as in statistics.md 3: four decisions under five pairs of labels, five draws.

DESCRIBED, POSITIONS = (12, -6, 20, 3), (2, 0, -3, 1)
NOISES = (2.7, 4.5, 7.0, 10.0)
ALPHAS = (0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.9)


def mock(seed, *, blocks=20, noise=None, grid=1, lean=0.0, interaction=0.0):
    """The blocks of one mock run; a lean or interaction stands in four of them: in one pair."""
    chance = np.random.RandomState(seed)
    for place in range(blocks):
        sd = NOISES[place % 4] if noise is None else noise
        d, has = place % 4, place < 4
        yield [tuple(
            np.clip(grid * np.rint(chance.normal(
                50 + POSITIONS[d] + s_d * DESCRIBED[d] + has * s_l * (lean + s_d * interaction),
                sd, 5) / grid), 0, 100).tolist()
            for s_l in (1, -1)) for s_d in (1, -1)]


@cache
def null_run(seed):
    """Twenty tests of a judge without a lean, at four noises; every other judge in fives."""
    return [swap_test(b) for b in mock(seed, grid=1 + 4 * (seed % 2))]


def null_runs(n):
    return [null_run(seed) for seed in range(n)]


def at_most(found, alpha, n):
    return found / n <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / n)


GROUP = pytest.mark.xdist_group("null mocks")


@GROUP
def test_p_of_a_judge_without_a_lean_is_at_most_alpha_in_a_share_alpha_of_blocks():
    ps = [test.p for run in null_runs(1_000) for test in run]
    for alpha in ALPHAS:
        assert at_most(sum(p <= alpha for p in ps), alpha, len(ps)), alpha


@GROUP
def test_the_omnibus_of_a_judge_without_a_lean_rejects_at_its_level():
    runs = null_runs(300)
    for by_stratum in (False, True):
        ps = [omnibus(run, by_stratum=by_stratum).p for run in runs]
        for alpha in ALPHAS:
            assert at_most(sum(p <= alpha for p in ps), alpha, len(ps)), (by_stratum, alpha)


@GROUP
def test_rms_stays_under_its_null_95th_percentile_in_at_least_95_of_100_null_runs():
    runs = null_runs(300)
    above = sum(math.sqrt(statistics.fmean(test.lean ** 2 for test in run)) > omnibus(run).null_95
                for run in runs)
    assert at_most(above, 0.05, len(runs))


@GROUP
def test_the_square_of_the_excess_rms_is_nought_on_average_before_it_is_cut_at_nought():
    excess = [statistics.fmean(test.lean ** 2 - test.null_sd ** 2 for test in run)
              for run in null_runs(1_000)]
    found = t_interval(excess)
    assert abs(found.mean) <= 4 * found.se
    cut = t_interval([max(0.0, each) for each in excess])
    assert cut.mean > 4 * cut.se  # what is cut is biased: the proof above can fail


@GROUP
def test_flags_are_as_many_as_the_blocks_own_null_rates_say_and_fewer_than_one_in_twenty():
    tests = [test for run in null_runs(1_000) for test in run]
    own, flags = [test.null_flag for test in tests], sum(test.flagged for test in tests)
    assert abs(flags - sum(own)) <= 4 * math.sqrt(sum(p * (1 - p) for p in own))
    assert flags < 0.04 * len(own)


@GROUP
def test_the_poisson_binomial_p_of_null_runs_is_at_most_alpha_in_a_share_alpha_of_them():
    ps = [poisson_binomial_upper(sum(test.flagged for test in run),
                                 [test.null_flag for test in run]) for run in null_runs(2_000)]
    for alpha in ALPHAS:
        assert at_most(sum(p <= alpha for p in ps), alpha, len(ps)), alpha
    # And not for want of power: as close to its level as counts this small allow.
    assert sum(p <= 0.25 for p in ps) > 0.1 * len(ps)


@BOTH
def test_two_thousand_draws_come_within_their_error_of_the_exact_p(by_stratum):
    seen = []
    for seed in range(120):
        whole = [swap_test(b) for b in mock(seed, blocks=8, noise=4.5, lean=0.5 * (seed % 5))]
        p = omnibus(whole, by_stratum=by_stratum).p
        drawn = drawn_omnibus(whole, seed=seed, by_stratum=by_stratum)
        within = 4 * math.sqrt(p * (1 - p) / 2_000) + 1 / 2_001
        assert abs(drawn.p - p) <= within, (seed, p, drawn.p)
        seen.append(p)
    assert min(seen) < 1e-3 and max(seen) > 0.9  # over the whole scale


def test_an_interaction_is_found_by_the_interaction_omnibus_and_missed_by_that_of_leans():
    runs = [[swap_test(b) for b in mock(seed, noise=4.5, interaction=8.0)]
            for seed in range(100)]
    assert sum(omnibus(run, by_stratum=True).p < 0.05 for run in runs) >= 0.95 * len(runs)
    assert at_most(sum(omnibus(run).p < 0.05 for run in runs), 0.05, len(runs))


def test_a_lean_is_found_by_both_omnibus_tests():
    runs = [[swap_test(b) for b in mock(seed, noise=4.5, lean=8.0)]
            for seed in range(40)]
    assert all(omnibus(run).p < 1e-3 and omnibus(run, by_stratum=True).p < 1e-3 for run in runs)


def test_the_mean_of_the_descriptions_and_of_the_position_move_no_p():
    # Whole points, and nothing near 0 or 100: the same p, as statistics.md 3 asks.
    for seed in range(50):
        [block] = mock(seed, blocks=1, noise=4.5, lean=1.0)
        moved_ = [([y + c for y in one], [y + c for y in other])
                  for c, (one, other) in zip((-9, 14), block, strict=True)]
        found, other = swap_test(block), swap_test(moved_)
        assert (found.lean, exact(found)) == (other.lean, exact(other))
        assert (found.null_sd, found.se) == pytest.approx((other.null_sd, other.se))


# Monte Carlo where exact is too much.


def unequal():
    # Counts of 5, 4 and 3 in a cell: lattices of unlike fineness.
    return [swap_test([tuple(cell[:n] for cell in both) for both in block])
            for n, block in zip((5, 4, 3), mock(7, blocks=3, noise=4.5, lean=1.5), strict=True)]


def fine():
    # Hundredths of a point in twenty noisy blocks: a common lattice too fine to sum on.
    chance = random.Random(5)
    return [swap_test([tuple([round(y + chance.random(), 2) for y in cell] for cell in both)
                       for both in block]) for block in mock(7, blocks=20, noise=9.0, lean=1.5)]


def test_blocks_on_unlike_lattices_are_summed_on_their_common_one():
    whole = unequal()
    assert len({test.lattice for test in whole}) == 3
    assert omnibus(whole).method == "exact convolution"


def test_blocks_on_too_fine_a_lattice_are_drawn_and_say_so():
    found = omnibus(fine())
    assert (found.method, found.draws, found.seed) == ("Monte Carlo", 100_000, 20_261_015)
    assert found.error == pytest.approx(math.sqrt(found.p * (1 - found.p) / 100_000))
    assert round(found.p * 100_001) == pytest.approx(found.p * 100_001, abs=1e-6)


def test_a_monte_carlo_gives_the_same_bytes_twice_and_others_from_another_seed():
    one, again = omnibus(fine()), omnibus(fine())
    assert repr(one) == repr(again) and one == again
    assert repr(drawn_omnibus(unequal(), seed=1)) == repr(drawn_omnibus(unequal(), seed=1))
    assert drawn_omnibus(unequal(), seed=1) != drawn_omnibus(unequal(), seed=2)


@BOTH
def test_over_unlike_lattices_exact_and_drawn_agree_with_every_relabelling(by_stratum):
    blocks = [[([62, 55], [50, 53]), ([50, 52], [47, 44])],
              [([58, 50, 49], [52]), ([51, 49, 60], [44])],
              [([100 / 3], [31]), ([53], [50])]]
    observed, sums = enumerated(blocks, by_stratum)
    assert len(sums) == 36 * 16 * 4
    p = sum(each >= observed for each in sums) / len(sums)
    whole = [swap_test(block) for block in blocks]
    assert omnibus(whole, by_stratum=by_stratum).p == pytest.approx(p, rel=1e-9)
    found = drawn_omnibus(whole, 100_000, by_stratum=by_stratum)
    assert abs(found.p - p) <= 4 * math.sqrt(p * (1 - p) / 100_000) + 1 / 100_001
    count = 3 * (2 if by_stratum else 1)
    low, high = (math.sqrt(sums[int(at * len(sums))] / count) for at in (0.945, 0.955))
    assert low <= found.null_95 <= high
