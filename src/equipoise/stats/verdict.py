"""What a paired comparison of two variants allows one to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.stats.noise_floor import NoiseFloor
from equipoise.stats.paired import paired
from equipoise.stats.sign_test import detectable, sign_test
from equipoise.stats.undefined import Undefined

Kind = Literal[
    "better", "worse", "not detectably worse", "no detectable difference", "no verdict"
]
Gate = Literal[
    "no_units", "sample_count_changed", "error_rate_over_5_percent", "no_noise_floor",
    "pending_split", "reader_uncalibrated", "readers_disagree",
]
Why = Literal["inside_noise_floor", "margin_below_detectable", "interval_passes_margin"]
ALPHA, WANTED, MOST_ERRORS = 0.05, 0.8, 5
"""MOST_ERRORS is in percent of a variant's calls; exactly as many are allowed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was registered before the run.

    `margin_points` is for a change registered as saving cost, which need not be better: how many
    points of 100 it may lose. A comparison without one cannot end as not detectably worse.
    """

    n: int
    discordance: float
    margin_points: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the run left: of n units, how many one variant won and lost, and what holds a verdict.

    `errors` and `calls` are of the two variants. Raises ValueError when counts do not fit.
    """

    n: int
    wins: int
    losses: int
    errors: tuple[int, int]
    calls: tuple[int, int]
    floor: NoiseFloor | Undefined
    pending_splits: int = 0
    reader_trusted: bool = False
    readers_disagree: bool = False

    def __post_init__(self) -> None:
        fits = min(self.wins, self.losses) >= 0 and self.wins + self.losses <= self.n
        sent = zip(self.errors, self.calls, strict=True)
        if not (fits and all(0 <= lost <= made for lost, made in sent)):
            raise ValueError(f"counts do not fit into each other: {self}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said, with what it rests on; points are of 100, over all units.

    `gates` are all that forbid a verdict, empty where there is one. `why` says what kept a
    significant gain or a registered margin from being called. `p` is the two-sided sign test's,
    `low` to `high` Tango's 95% interval of the net, `detectable` the smallest net seen with 80%
    power at the planned discordance, `floor` the net that noise alone makes. The figures are there
    without a verdict too.
    """

    kind: Kind
    gates: tuple[Gate, ...]
    why: tuple[Why, ...]
    n: int
    wins: int
    losses: int
    p: float
    net_points: float | Undefined
    low_points: float | Undefined
    high_points: float | Undefined
    detectable_points: float | Undefined
    floor_points: float | Undefined


def verdict(plan: Plan, comparison: Comparison) -> Verdict:
    """Gates first, then the sign test against the noise floor, then a margin set before the run.

    *Better*: p < .05, more wins, and a net gap above the floor. *Worse*: p < .05 and more losses;
    the floor is not asked for, since a guard should err this way. *Not detectably worse*: a margin
    was registered, it is more than what is detectable, and the interval's lower end lies within
    it. Else *no detectable difference*. Any gate: *no verdict*. Source: golden verdict.

    >>> floor = Undefined("no_data")
    >>> verdict(Plan(36, 0.3), Comparison(36, 10, 1, (0, 0), (108, 108), floor, 1, True)).gates
    ('no_noise_floor', 'pending_split')
    """
    n, wins, losses = comparison.n, comparison.wins, comparison.losses
    ties, floor = n - wins - losses, comparison.floor
    tested, net = sign_test(wins, losses, ties), paired(0, wins, losses, ties)
    least = detectable(n, plan.discordance, ALPHA, WANTED).exact if n else Undefined("no_data")
    low, high, seen = (_points(share) for share in (net.low, net.high, least))
    gates = tuple(_gates(plan, comparison))
    kind, why = ("no verdict", ()) if gates else _kind(plan, comparison, tested.p, low, seen)
    return Verdict(
        kind, gates, why, n, wins, losses, tested.p, tested.net_points, low, high, seen,
        floor if isinstance(floor, Undefined) else floor.net_points,
    )


def _points(share: float | Undefined) -> float | Undefined:
    return share if isinstance(share, Undefined) else 100 * share


def _gates(plan: Plan, comparison: Comparison) -> Iterable[Gate]:
    if comparison.n == 0:
        yield "no_units"
    if comparison.n != plan.n:
        yield "sample_count_changed"
    sent = zip(comparison.errors, comparison.calls, strict=True)
    if any(100 * lost > MOST_ERRORS * made for lost, made in sent):
        yield "error_rate_over_5_percent"
    if isinstance(comparison.floor, Undefined) or comparison.floor.n == 0:
        yield "no_noise_floor"
    if comparison.pending_splits:
        yield "pending_split"
    if not comparison.reader_trusted:
        yield "reader_uncalibrated"
    if comparison.readers_disagree:
        yield "readers_disagree"


def _kind(
    plan: Plan, comparison: Comparison, p: float, low: float | Undefined, seen: float | Undefined
) -> tuple[Kind, tuple[Why, ...]]:
    why: list[Why] = []
    if p < ALPHA and comparison.losses > comparison.wins:
        return "worse", ()
    if p < ALPHA:
        if _above_floor(comparison):
            return "better", ()
        why.append("inside_noise_floor")
    if plan.margin_points is not None:
        if isinstance(seen, Undefined) or plan.margin_points <= seen:
            why.append("margin_below_detectable")
        if isinstance(low, Undefined) or low <= -plan.margin_points:
            why.append("interval_passes_margin")
        if "margin_below_detectable" not in why and "interval_passes_margin" not in why:
            return "not detectably worse", tuple(why)
    return "no detectable difference", tuple(why)


def _above_floor(comparison: Comparison) -> bool:
    """In whole numbers: wins - losses over n, against the floor's net over its own n."""
    floor = comparison.floor
    return not isinstance(floor, Undefined) and (
        (comparison.wins - comparison.losses) * floor.n > floor.net * comparison.n)


ShipRule = Literal["two_independent_better", "single_twice_floor", "none"]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """A verdict of one run, with the hash of the samples it was on where that is known."""

    run: str
    kind: Kind
    net_points: float | Undefined
    floor_points: float | Undefined
    samples: str = ""


@dataclass(frozen=True, slots=True)
class Shipping:
    """Whether a change is ready to ship, and by which rule.

    `same_samples`: both runs were on the same samples, so that only the model's noise is beaten.
    `worse` names the runs that found it worse, which the rule does not weigh and a person should.
    """

    ship: bool
    rule: ShipRule
    same_samples: bool
    worse: tuple[str, ...]


def shipping(verdicts: Sequence[RunVerdict]) -> Shipping:
    """Ready with *better* in two distinct runs, or one *better* by twice its noise floor or more.

    Chance gives two false ones with probability .000625 at the most. Source: golden ship_rule.

    >>> shipping([RunVerdict("r1", "better", 34.0, 17.0)]).rule
    'single_twice_floor'
    """
    better = {each.run: each for each in verdicts if each.kind == "better"}
    worse = tuple(dict.fromkeys(each.run for each in verdicts if each.kind == "worse"))
    if len(better) >= 2:
        samples = {each.samples for each in better.values()}
        same = len(samples) == 1 and "" not in samples
        return Shipping(True, "two_independent_better", same, worse)
    if any(_twice(each) for each in better.values()):
        return Shipping(True, "single_twice_floor", False, worse)
    return Shipping(False, "none", False, worse)


def _twice(each: RunVerdict) -> bool:
    # Points are one division of whole numbers, rounded once: equal fractions are equal here too.
    net, floor = each.net_points, each.floor_points
    return not isinstance(net, Undefined) and not isinstance(floor, Undefined) and net >= 2 * floor
