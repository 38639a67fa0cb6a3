"""Distances of fingerprints, the trees and the map that are made of them."""

from itertools import combinations
from math import dist, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from equipoise.stats.distance import distances, permuted, resampled_distances
from equipoise.stats.scaling import classical_scaling, smallest_circle
from equipoise.stats.tree import neighbour_joining, support, upgma
from equipoise.stats.undefined import Undefined

WORDS = st.none() | st.sampled_from("AB")
FINGERPRINTS = st.integers(0, 20).flatmap(lambda slots: st.dictionaries(
    st.sampled_from([*"pqrstu"]), st.lists(WORDS, min_size=slots, max_size=slots), min_size=1))
NAMES = "abcdefgh"
COORDINATES = st.floats(-1, 1).map(lambda value: round(value, 3))
POINTS = st.lists(st.tuples(COORDINATES, COORDINATES), min_size=1, max_size=8)


def random_distances(m, seed):
    """Distances of m subjects, no two of them alike."""
    drawn = np.random.default_rng(seed).uniform(0.01, 1, m * (m - 1) // 2)
    return list(NAMES[:m]), squareform(drawn)


MATRICES = st.builds(random_distances, st.integers(2, 8), st.integers(0, 2**32))


def moved(names, distance, shuffler):
    order = list(range(len(names)))
    shuffler.shuffle(order)
    return [names[i] for i in order], distance[np.ix_(order, order)]


# Distances.


@given(FINGERPRINTS)
def test_a_distance_is_the_share_that_differs_of_what_both_committed(fingerprints):
    found = distances(fingerprints, least_shared=1)
    for one, other in combinations(fingerprints, 2):
        slots = [*zip(fingerprints[one], fingerprints[other], strict=True)]
        both = [pair for pair in slots if None not in pair]
        pair = found.pairs[one, other]
        assert pair == found.pairs[other, one]
        assert (pair.shared, pair.differing) == (len(both), sum(a != b for a, b in both))
        if both:
            assert pair.low <= pair.estimate <= pair.high
            assert pair.estimate == pair.differing / pair.shared
        else:
            assert pair.estimate == pair.low == Undefined("no_overlap")
    assert {found.pairs[one, one].estimate for one in fingerprints} == {0.0}


@given(FINGERPRINTS, st.randoms(use_true_random=False))
def test_distances_do_not_depend_on_the_order_of_subjects(fingerprints, shuffler):
    names = list(fingerprints)
    shuffler.shuffle(names)
    found = distances(fingerprints, least_shared=1)
    other = distances({name: fingerprints[name] for name in names}, least_shared=1)
    assert found.pairs == other.pairs and found.complete() == other.complete()


@given(FINGERPRINTS)
def test_whoever_is_kept_has_every_distance(fingerprints):
    found = distances(fingerprints, least_shared=5)
    kept, left = found.complete()
    assert sorted(kept + left) == sorted(fingerprints)
    assert not any(isinstance(found.pairs[pair].estimate, Undefined)
                   for pair in combinations(kept, 2))


def test_the_shy_one_is_left_out_and_not_all_it_does_not_meet():
    shy = distances({"x": "A" * 40, "y": "B" * 40, "z": "A" * 20 + "B" * 20, "s": [None] * 40})
    assert shy.complete() == (("x", "y", "z"), ("s",))


def test_thirty_slots_or_a_tenth_must_be_shared():
    assert distances({"x": "A" * 29, "y": "A" * 29}).pairs["x", "y"].estimate == Undefined(
        "no_overlap")
    assert distances({"x": "A" * 3048}).least_shared == 305


def test_the_triangle_may_fail_where_slots_are_open():
    # x and y share only the slot where they differ; z agrees with each on all it shares.
    found = distances({"x": ["A", "A", None], "y": ["B", None, "A"], "z": [None, "A", "A"]}, 1)
    assert found.pairs["x", "y"].estimate == 1
    assert found.pairs["x", "z"].estimate + found.pairs["z", "y"].estimate == 0


def test_a_bootstrap_interval_covers_the_truth():
    # 300 pairs that differ in each of 200 slots with chance .3.
    draws = np.random.default_rng(4)
    covered = 0
    for _ in range(300):
        differ = draws.random(200) < 0.3
        pair = distances({"x": "A" * 200, "y": np.where(differ, "B", "A").tolist()}).pairs["x", "y"]
        covered += pair.low <= 0.3 <= pair.high
    assert covered / 300 >= 0.94 - 4 * sqrt(0.94 * 0.06 / 300)


def test_fingerprints_of_unlike_length_are_refused():
    with pytest.raises(ValueError, match="how many slots"):
        distances({"x": "AB", "y": "A"})


# Trees.


@given(MATRICES)
def test_upgma_is_average_linkage(drawn):
    names, distance = drawn
    found = upgma(names, distance)
    wanted = linkage(squareform(distance), "average")
    assert [merge.height for merge in found.merges] == pytest.approx(wanted[:, 2].tolist())
    heights = squareform(cophenet(wanted))
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            assert found.cophenetic[one, other] == pytest.approx(heights[i, j])
    if len(names) > 2:
        fit = cophenet(wanted, squareform(distance))[0]
        assert found.correlation == pytest.approx(fit, abs=1e-9)


def test_two_subjects_have_a_tree_and_no_correlation():
    found = upgma(["x", "y"], np.array([[0, 0.5], [0.5, 0]]))
    assert found.correlation == Undefined("too_few_units")
    assert found.clusters(0.4) == (("x",), ("y",)) and found.clusters(0.5) == (("x", "y"),)


@given(MATRICES, st.randoms(use_true_random=False))
def test_trees_and_map_do_not_depend_on_the_order_of_subjects(drawn, shuffler):
    other = moved(*drawn, shuffler)
    assert upgma(*drawn) == upgma(*other)
    assert neighbour_joining(*drawn) == neighbour_joining(*other)
    assert classical_scaling(*drawn) == classical_scaling(*other)


def test_ties_go_by_name():
    distance = np.ones((4, 4)) - np.eye(4)
    for names in (list("abcd"), list("dbca")):
        found = upgma(names, distance)
        assert [merge.members for merge in found.merges] == [
            ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")]


@given(st.integers(3, 8), st.randoms(use_true_random=False))
def test_neighbour_joining_finds_a_tree_s_own_distances(leaves, shuffler):
    # Grown by hanging each new leaf on a branch; every branch has a length of its own.
    lengths = {("a", "b"): 1.0}
    for number, name in enumerate(NAMES[2:leaves]):
        one, other = shuffler.choice(sorted(lengths))
        del lengths[one, other]
        node = f"#{number}"
        for end in (one, other, name):
            lengths[end, node] = shuffler.uniform(0.1, 1)
    names = list(NAMES[:leaves])
    nodes = sorted({node for pair in lengths for node in pair})
    far = np.full((len(nodes), len(nodes)), np.inf)
    np.fill_diagonal(far, 0)
    for (one, other), length in lengths.items():
        i, j = nodes.index(one), nodes.index(other)
        far[i, j] = far[j, i] = length
    for k in range(len(nodes)):
        far = np.minimum(far, far[:, k, None] + far[k])
    places = [nodes.index(name) for name in names]
    distance = far[np.ix_(places, places)]
    found = neighbour_joining(names, (distance + distance.T) / 2)
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            assert found.paths[one, other] == pytest.approx(distance[i, j], abs=1e-9)
    assert found.total == pytest.approx(sum(lengths.values())) and found.negative == 0


def test_one_and_two_subjects_have_what_there_is_of_a_tree():
    assert neighbour_joining(["x"], np.zeros((1, 1))).branches == ()
    two = neighbour_joining(["x", "y"], np.array([[0, 0.5], [0.5, 0]]))
    assert two.paths["x", "y"] == two.total == 0.5
    assert upgma([], np.zeros((0, 0))).merges == ()


def families(slots=400):
    """Two families of three, whose members differ from their own in a tenth of the slots."""
    draws = np.random.default_rng(8)
    founders = {kind: draws.integers(0, 2, slots) for kind in "ab"}
    return {
        f"{kind}{n}": np.where(draws.random(slots) < 0.1, 1 - founder, founder).tolist()
        for kind, founder in founders.items() for n in range(3)
    }


def matrix(fingerprints):
    found = distances(fingerprints)
    return np.array([[found.pairs[one, other].estimate for other in fingerprints]
                     for one in fingerprints])


def test_planted_families_are_found_with_support_and_dealt_words_are_none():
    related = families()
    tree = upgma(list(related), matrix(related))
    again = resampled_distances(related, draws=100)
    found = dict(zip((merge.members for merge in tree.merges), support(tree, again), strict=True))
    assert found["a0", "a1", "a2"] == found["b0", "b1", "b2"] == 1
    assert tree.clusters(0.3) == (("a0", "a1", "a2"), ("b0", "b1", "b2"))
    assert tree.correlation > 0.99
    dealt = permuted(related)
    nothing = upgma(list(dealt), matrix(dealt))
    assert nothing.correlation < 0.9
    assert len(nothing.clusters(0.3)) == 6


@given(FINGERPRINTS)
def test_dealing_words_out_keeps_every_slot_s_own(fingerprints):
    dealt = permuted(fingerprints)
    assert list(dealt) == list(fingerprints)
    for before, after in zip(zip(*fingerprints.values(), strict=True),
                             zip(*dealt.values(), strict=True), strict=True):
        assert sorted(map(str, before)) == sorted(map(str, after))


@pytest.mark.parametrize("wrong", [
    [[0, 1], [2, 0]], [[1, 1], [1, 0]], [[0, np.nan], [np.nan, 0]],
])
def test_what_is_no_distance_is_refused(wrong):
    with pytest.raises(ValueError, match="symmetric, finite"):
        upgma(["x", "y"], np.array(wrong))
    with pytest.raises(ValueError, match="twice"):
        upgma(["x", "x"], np.array([[0, 1], [1, 0]]))


# The map.


@given(POINTS)
def test_points_of_a_plane_are_mapped_without_error(points):
    names = list(NAMES[: len(points)])
    distance = np.array([[dist(p, q) for q in points] for p in points])
    found = classical_scaling(names, distance)
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            assert dist(found.points[one], found.points[other]) == pytest.approx(
                distance[i, j], abs=1e-6)
    if distance.any():
        assert found.stress == pytest.approx(0, abs=1e-6)
        assert found.share == pytest.approx(1, abs=1e-6)
    else:
        assert found.share == found.stress == Undefined("one_class")
    for axis in range(2):
        coordinates = [found.points[name][axis] for name in names]
        assert max(coordinates) >= -min(coordinates) - 1e-9


def test_distances_of_no_space_have_a_negative_eigenvalue():
    # x is 1 from three others that are 2.5 from each other: two steps are shorter than one.
    distance = np.array([[0, 1, 1, 1], [1, 0, 2.5, 2.5], [1, 2.5, 0, 2.5], [1, 2.5, 2.5, 0]])
    found = classical_scaling(list("xyzw"), distance)
    assert found.eigenvalues[-1] < -0.1 and found.stress > 0


@given(POINTS)
def test_the_smallest_circle_holds_all_and_none_beside_it_is_smaller(points):
    # How far the farthest point lies is convex in the centre: no step lessens it, so none does.
    found = smallest_circle(points)
    assert all(found.holds(point) for point in points)
    for angle in np.linspace(0, 2 * np.pi, 16):
        for step in (1e-6, 1e-3, 0.1):
            beside = found.centre + step * np.array([np.cos(angle), np.sin(angle)])
            assert max(dist(beside, point) for point in points) >= found.radius - 1e-9


def test_a_circle_of_three_corners_and_of_none():
    found = smallest_circle([(0, 0), (2, 0), (1, sqrt(3))])
    assert found.radius == pytest.approx(2 / sqrt(3))
    assert smallest_circle([(1, 1), (1, 1)]).radius == 0
    with pytest.raises(ValueError, match="no point"):
        smallest_circle([])
