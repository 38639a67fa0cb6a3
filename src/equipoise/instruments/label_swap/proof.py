"""What the instrument finds in planted judges of a given noise: false flags, and power by lean.

Every reply goes the whole way: the design, the prompt, an answer in words, the reader, the
completeness rule, the exact test and the flag rule.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from equipoise.instruments.label_swap.blocks import Block, Rules, blocks
from equipoise.instruments.label_swap.instrument import DRAWS, READER, Stated, label_swap
from equipoise.instruments.label_swap.measures import complete
from equipoise.instruments.label_swap.planted import Judge, answerer
from equipoise.instruments.label_swap.suite import MATCHED, Suite
from equipoise.stats.permutation import SwapTest, drawn_omnibus
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import (
    AnswerMode,
    Completion,
    Instrument,
    Message,
    Observation,
    Request,
    Subject,
    Trial,
)

T = TypeVar("T")

LEANS, OMNIBUS_LEANS = (2.0, 4.0, 8.0, 12.0), (0.0, 2.0, 4.0, 8.0)
RUNS, SEED = 200, 1
PLANTED = Subject("planted", "planted", "planted", "planted")
REFERENCE = Path(__file__).parent / "reference.csv"
REFERENCE_RUNS, OMNIBUS_RUNS = 20_000, 1_500


@dataclass(frozen=True, slots=True)
class Detection:
    """What became of planted judges whose replies to one prompt have this SD, in points.

    A lean is planted on the first pair in every decision. `false_flags` and `below_alpha` are
    shares of the blocks without a lean; `flagged` of those with one, by lean. By lean, 0 among
    them: `any_flag` the share of runs in which any block is flagged, `omnibus` of those in which
    the omnibus rejects at .05, and `rms` every run's RMS lean.
    """

    noise: float
    grid: int
    runs: int
    false_flags: Rate
    below_alpha: Rate
    flagged: Mapping[float, Rate]
    any_flag: Mapping[float, Rate]
    rms: Mapping[float, tuple[float, ...]]
    omnibus: Mapping[float, Rate]


def detection(
    suite: Suite,
    judge: Judge,
    *,
    runs: int = RUNS,
    draws: int = DRAWS,
    seed: int = SEED,
    omnibus: Sequence[float] = (),
) -> Detection:
    """Administer a planted judge, without a lean and with each, `runs` times over.

    A judge with a lean answers as the one without wherever the leaning pair is not shown, so
    only its own blocks are asked again.
    """
    instrument = label_swap(suite, draws=draws)
    trials = [t for t in instrument.design(PLANTED) if t.condition["content"] == MATCHED]
    first = next(iter(suite.pairs))
    leading = [t for t in trials if t.condition["pair"] == first]
    rules = Rules(min_valid=min(Rules.min_valid, draws))
    blank: list[SwapTest] = []
    found: dict[float, list[list[SwapTest]]] = {lean: [] for lean in (0.0, *LEANS)}
    planted: dict[float, list[SwapTest]] = {lean: [] for lean in LEANS}
    for run in range(runs):
        whole = _tests(suite, instrument, trials, judge, f"{seed}/{run}", rules)
        blank += [test for _, test in whole]
        found[0.0].append([test for _, test in whole])
        others = [test for block, test in whole if block.pair != first]
        for lean in LEANS:
            mine = [test for _, test in _tests(
                suite, instrument, leading, replace(judge, lean=lean), f"{seed}/{run}/{lean:g}",
                rules)]
            planted[lean] += mine
            found[lean].append([*others, *mine])
    return Detection(
        judge.noise, judge.grid, runs,
        _share(blank, lambda test: test.flagged),
        _share(blank, lambda test: test.p < rules.alpha),
        {lean: _share(planted[lean], lambda test: test.flagged) for lean in LEANS},
        {lean: _share(of, lambda tests: any(test.flagged for test in tests))
         for lean, of in found.items()},
        {lean: tuple(sqrt(fmean(test.lean ** 2 for test in tests)) for tests in of if tests)
         for lean, of in found.items()},
        {lean: rate(sum(_rejects(tests, run) for run, tests in enumerate(found[lean])), runs)
         for lean in omnibus},
    )


def _share(of: Sequence[T], holds: Callable[[T], bool]) -> Rate:
    return rate(sum(map(holds, of)), len(of))


def _tests(
    suite: Suite, instrument: Instrument[Stated], trials: Sequence[Trial], judge: Judge,
    seed: str, rules: Rules,
) -> list[tuple[Block, SwapTest]]:
    answer = answerer(suite, judge, seed)
    found = [Observation(trial, conducted(instrument, trial, answer)) for trial in trials]
    return complete(blocks(suite, found, READER, rules))


def conducted(instrument: Instrument[Stated], trial: Trial, answer: Any) -> Stated:
    """One trial, answered at once by a planted subject."""

    async def ask(
        stage: str, messages: Iterable[Message], *, mode: AnswerMode = "free", **_: Any
    ) -> Completion:
        found: Completion = answer(Request(trial.subject, tuple(messages), mode))
        return found

    coroutine: Any = instrument.conduct(trial, ask)
    try:
        coroutine.send(None)
    except StopIteration as done:
        stated: Stated = done.value
        return stated
    raise TypeError("a trial awaits something other than ask")


def _rejects(tests: Sequence[SwapTest], run: int) -> bool:
    found = drawn_omnibus(tests, seed=run)
    return not isinstance(found, Undefined) and found.p < Rules.alpha


@lru_cache(maxsize=1)
def reference() -> Mapping[tuple[float, int], Mapping[str, float]]:
    """The published shares, by noise and grid: 20,000 runs a row, the omnibus 1,500."""
    with REFERENCE.open(encoding="utf-8", newline="") as lines:
        return {
            (float(row["noise"]), int(row["grid"])): {
                name: float(value) for name, value in row.items() if value
            } for row in csv.DictReader(lines)
        }


@dataclass(frozen=True, slots=True)
class Band:
    """One figure of a row, where it must lie, and whether it does."""

    name: str
    found: Rate
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.found.n > 0 and self.low <= self.found.count / self.found.n <= self.high


def bands(row: Detection) -> Iterator[Band]:
    """Where each figure of a row must lie: within four Monte Carlo errors of the reference.

    Also: p < .05 at most 5% and four errors, whatever the noise (the test is exact), the omnibus
    likewise without a lean; and leans of 8 and 12 points found at least 98.5% up to a noise of 7.
    """
    wanted = reference()[row.noise, row.grid]
    yield _near("false flags", row.false_flags, wanted["false_flags"], REFERENCE_RUNS * 20)
    yield Band("p < .05", row.below_alpha, 0.0, 0.05 + 4 * sqrt(0.05 * 0.95 / row.below_alpha.n))
    for lean, found in row.flagged.items():
        band = _near(f"flagged at {lean:g}", found, wanted[f"flagged_{lean:g}"],
                     REFERENCE_RUNS * 4)
        sure = lean >= 8 and row.noise <= 7
        yield replace(band, low=max(band.low, 0.985)) if sure else band
    for lean, found in row.omnibus.items():
        if lean == 0:
            yield Band("omnibus at 0", found, 0.0, 0.05 + 4 * sqrt(0.05 * 0.95 / found.n))
        else:
            yield _near(f"omnibus at {lean:g}", found, wanted[f"omnibus_{lean:g}"], OMNIBUS_RUNS)


def _near(name: str, found: Rate, wanted: float, of: int) -> Band:
    """Four standard errors of both simulations, and half a count for a share near 0 or 1."""
    error = sqrt(wanted * (1 - wanted) * (1 / found.n + 1 / of))
    half = 4 * error + 0.5 / found.n + 0.5 / of
    return Band(name, found, wanted - half, wanted + half)
