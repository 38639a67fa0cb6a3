"""Label-swap's exact tests beside scipy's permutation test at 2,000 draws, in one run.

scipy's test has no strata and doubles the smaller tail, so it is another test of the same data:
what is compared is the time that a p from label order takes. Each figure is the median of many
repetitions.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import permutation_test

from equipoise.stats.permutation import drawn_omnibus, omnibus, swap_test

GOLDEN = Path(__file__).parents[1] / "tests/golden/label_swap_run.json"
DRAWS, REPEATS = 2_000, 21
TARGETS = {"20 blocks, exact": 10.0, "exact omnibus and its null 95th": 300.0,
           "2,000-draw omnibus": 20.0}


def blocks(case: dict) -> list:
    """The blocks of a golden run as strata of replies, label 1 first and label 2 first."""
    cells: dict = {}
    for decision, pair, described, label, _, y in case["input"]["matched"]:
        cells.setdefault((decision, pair), {}).setdefault((described, label), []).append(y)
    return [[(of[1, 1], of[1, 2]), (of[2, 1], of[2, 2])] for of in cells.values()]


def noisy(sd: float) -> list:
    """Twenty blocks of replies with this noise, as whole numbers."""
    random = np.random.RandomState(1)
    return [[tuple(np.clip(np.round(50 + 12 * d + random.normal(0, sd, 5)), 0, 100).tolist()
                   for _ in (1, 2)) for d in (1, -1)] for _ in range(20)]


def ms(act: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median time of an act, in milliseconds."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return 1e3 * statistics.median(times)


def scipys(found: list) -> None:
    """A p of every block by scipy: replies pooled over strata, which is all it can do."""
    for strata in found:
        one = np.array([y for first, _ in strata for y in first], float)
        two = np.array([y for _, second in strata for y in second], float)
        permutation_test((one, two), lambda x, y, axis: x.mean(axis) - y.mean(axis),
                         vectorized=True, n_resamples=DRAWS, rng=np.random.default_rng(1))


def main() -> None:
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    found = blocks(next(case for case in cases if case["id"] == "balanced_planted"))
    tests = [swap_test(strata) for strata in found]
    times = {
        "20 blocks, exact": ms(lambda: [swap_test(strata) for strata in found]),
        "exact omnibus and its null 95th": ms(lambda: omnibus(tests)),
        "the same with interactions": ms(lambda: omnibus(tests, by_stratum=True)),
        "2,000-draw omnibus": ms(lambda: drawn_omnibus(tests, DRAWS)),
    }
    for sd in (10, 20, 40):
        wide = [swap_test(strata) for strata in noisy(sd)]
        times[f"exact omnibus, noise SD {sd}"] = ms(lambda wide=wide: omnibus(wide), 3)
    theirs = ms(lambda: scipys(found), 5)
    print("| what | ms | target | met | of scipy |")
    print("| --- | ---: | ---: | --: | ---: |")
    for name, took in times.items():
        target = TARGETS.get(name)
        met = "" if target is None else "yes" if took < target else "NO"
        print(f"| {name} | {took:.1f} | {'' if target is None else f'< {target:g}'} | {met} |"
              f" {took / theirs:.3f}× |")
    print(f"| scipy permutation_test, 20 blocks, {DRAWS:,} draws | {theirs:.1f} | | | 1× |")


if __name__ == "__main__":
    main()
