"""Gold, agreement and the exact planner beside plain loops over the same data, in one run.

The loops are what one would write first: the published formulas, item by item and pair by pair.
Both must give the same figures. Each time is the median of a few repetitions.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import comb

from equipoise.gold import Rating, golds
from equipoise.stats.agreement import agreement
from equipoise.stats.cohen import cohen_kappa
from equipoise.stats.consensus import consensus, leave_one_out, pairwise
from equipoise.stats.non_inferiority import units_for_margin
from equipoise.stats.sign_test import detectable
from equipoise.stats.suite_size import detectable_over_noise, units_for_net
from equipoise.stats.undefined import Undefined

RATERS, ITEMS, REPEATS = "ABCD", 25_000, 5
RATINGS_S, PLANNING_S = 3.0, 1.0

Rated = list[tuple[int, str, str]]
Matrix = list[list[str | None]]


def ratings() -> tuple[Rated, Matrix]:
    """100,000 ratings of 25,000 items by four who err one time in five; and as a matrix."""
    draws = random.Random(1)
    rated: Rated = []
    for item in range(ITEMS):
        truth = draws.choice("xyz")
        rated += [(item, rater, truth if draws.random() < 0.8 else draws.choice("xyz"))
                  for rater in RATERS]
    matrix: Matrix = [[label for _, _, label in rated[i:i + len(RATERS)]]
                      for i in range(0, len(rated), len(RATERS))]
    return rated, matrix


def seconds(act: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median time of an act."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def looped_alpha(matrix: Matrix) -> float:
    """Krippendorff's alpha from every ordered pair of labels of an item."""
    cells: Counter[tuple[str, str]] = Counter()
    for row in matrix:
        labels = [label for label in row if label is not None]
        for i, one in enumerate(labels):
            for j, other in enumerate(labels):
                if i != j:
                    cells[one, other] += 1 / (len(labels) - 1)
    totals: Counter[str] = Counter()
    for (one, _), weight in cells.items():
        totals[one] += weight
    n = sum(totals.values())
    apart = sum(weight for (one, other), weight in cells.items() if one != other)
    expected = sum(totals[a] * totals[b] for a in totals for b in totals if a != b)
    return 1 - (n - 1) * apart / expected


def looped_leave_one_out(rated: Rated) -> list[float]:
    """Every rater against the consensus of the others, item by item."""
    of: dict[int, dict[str, str]] = {}
    for item, rater, label in rated:
        of.setdefault(item, {})[rater] = label
    found = []
    for rater in RATERS:
        mine, theirs = [], []
        for labels in of.values():
            agreed = consensus(Counter(
                label for other, label in labels.items() if other != rater))
            if rater in labels and not isinstance(agreed, Undefined):
                mine.append(labels[rater])
                theirs.append(agreed)
        found.append(cohen_kappa(mine, theirs).kappa)
    return found


def looped_pairwise(rated: Rated) -> list[float]:
    """Every two raters, over the items that both of them rated."""
    of: dict[str, dict[int, str]] = {}
    for item, rater, label in rated:
        of.setdefault(rater, {})[item] = label
    found = []
    for one, other in combinations(of.values(), 2):
        both = [item for item in one if item in other]
        found.append(cohen_kappa([one[i] for i in both], [other[i] for i in both]).kappa)
    return found


def looped_power(n: int, discordance: float, net: float) -> float:
    """The sign test's power, summed over every number of wins and of units that differ."""
    share, total = (1 + net / discordance) / 2, 0.0
    for d in range(n + 1):
        differ = comb(n, d) * discordance ** d * (1 - discordance) ** (n - d)
        for wins in range(d // 2 + 1, d + 1):
            p = 2 * sum(comb(d, k) for k in range(wins, d + 1)) / 2 ** d
            if p < 0.05:
                total += differ * comb(d, wins) * share ** wins * (1 - share) ** (d - wins)
    return total


def looped_detectable(n: int, discordance: float) -> float:
    low, high = 0.0, discordance
    for _ in range(50):
        middle = (low + high) / 2
        low, high = ((low, middle) if looped_power(n, discordance, middle) >= 0.8
                     else (middle, high))
    return high


def main() -> None:
    rated, matrix = ratings()
    given = [Rating(str(item), rater, label, "v1") for item, rater, label in rated]
    alpha = agreement(matrix).alpha
    assert not isinstance(alpha, Undefined) and abs(alpha - looped_alpha(matrix)) < 1e-9
    assert [one.cohen.kappa for one in leave_one_out(rated)] == looped_leave_one_out(rated)
    assert [one.kappa for one in pairwise(rated).values()] == looped_pairwise(rated)
    swing = detectable(56, 0.3).exact
    assert not isinstance(swing, Undefined) and abs(swing - looped_detectable(56, 0.3)) < 1e-9
    rows = [
        ("gold of every item", lambda: golds(given, "v1"), None, RATINGS_S),
        ("six coefficients of agreement", lambda: agreement(matrix),
         lambda: looped_alpha(matrix), RATINGS_S),
        ("each rater against the others' gold", lambda: leave_one_out(rated),
         lambda: looped_leave_one_out(rated), RATINGS_S),
        ("Cohen's kappa of every two raters", lambda: pairwise(rated),
         lambda: looped_pairwise(rated), RATINGS_S),
        ("detectable swing, 56 units", lambda: detectable(56, 0.3),
         lambda: looped_detectable(56, 0.3), PLANNING_S),
        ("detectable swing, 1,000 units", lambda: detectable(1_000, 0.3), None, PLANNING_S),
        ("the same over measured noise", lambda: detectable_over_noise(1_000, 0.2), None,
         PLANNING_S),
        ("suite size for 2 points", lambda: units_for_net(0.02, 0.3), None, PLANNING_S),
        ("suite size for a margin of 5 points", lambda: units_for_margin(0.05, 0.3), None,
         PLANNING_S),
    ]
    print(f"{len(rated):,} ratings of {ITEMS:,} items; the planner at 30% differing\n")
    print("| what | ms | target | met | of a plain loop |")
    print("| --- | ---: | ---: | --: | ---: |")
    for name, ours, loop, target in rows:
        took = seconds(ours)
        ratio = f"{took / seconds(loop, 1):.3f}×" if loop else ""
        met = "yes" if took < target else "NO"
        print(f"| {name} | {1e3 * took:.1f} | < {1e3 * target:,.0f} | {met} | {ratio} |")


if __name__ == "__main__":
    main()
