"""The comparisons of fingerprints on the inputs of `tests/golden/`: one function a file."""

from math import dist

import numpy as np

from equipoise.stats.distance import distances
from equipoise.stats.scaling import classical_scaling
from equipoise.stats.tree import neighbour_joining, upgma


def square(names, of):
    return [[of(one, other) for other in names] for one in names]


def fingerprint_distance(given):
    found = distances(
        {name: [None if word == "unclear" else word for word in words]
         for name, words in given["fingerprints"].items()},
        given["min_shared"])
    names, pairs = found.names, found.pairs
    return {
        "names": list(names),
        "shared_slots": square(names, lambda *pair: pairs[pair].shared),
        "distance": square(names, lambda *pair: pairs[pair].estimate),
        "distance_three_symbol": square(names, lambda *pair: pairs[pair].three_symbol),
    }


def tree_and_map(given):
    names, distance = given["names"], np.array(given["distance"])
    tree, joined = upgma(names, distance), neighbour_joining(names, distance)
    drawn = classical_scaling(names, distance)
    return {
        "upgma_merge_heights": [merge.height for merge in tree.merges],
        "upgma_cophenetic": square(names, lambda *pair: tree.cophenetic[pair]),
        "cophenetic_correlation": tree.correlation,
        "nj_path_lengths": square(names, lambda *pair: joined.paths[pair]),
        "nj_total_length": joined.total,
        "nj_negative_branches": joined.negative,
        "mds_eigenvalues": list(drawn.eigenvalues),
        "mds2_embedded_distances": square(
            names, lambda one, other: dist(drawn.points[one], drawn.points[other])),
        "mds2_share_of_positive_eigenvalues": drawn.share,
        "mds2_stress1": drawn.stress,
    }
