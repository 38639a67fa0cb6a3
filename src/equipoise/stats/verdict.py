"""What a paired comparison of two variants allows one to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.stats.multiplicity import adjusted
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
Why = Literal[
    "significant_only_alone", "inside_noise_floor", "margin_below_detectable",
    "interval_passes_margin",
]
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

    `gates` are all that forbid a verdict, empty where there is one. `why` says what kept a small p
    or a registered margin from being called. `p` is the two-sided sign test's, and `p_adjusted`,
    which decides, what it comes to among the comparisons made together. `low` to `high` is Tango's
    95% interval of the net, `detectable` the smallest net seen with 80% power at the planned
    discordance, `floor` the net that noise alone makes. The figures are there without a verdict
    too.
    """

    kind: Kind
    gates: tuple[Gate, ...]
    why: tuple[Why, ...]
    n: int
    wins: int
    losses: int
    p: float
    p_adjusted: float
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
    return _said(plan, comparison, 1, _p(comparison))


def verdicts(compared: Mapping[str, tuple[Plan, Comparison]]) -> dict[str, Verdict]:
    """A verdict of each of several comparisons that were registered together, under Holm (1979).

    The chance that any is called better or worse by luck is kept below .05: the adjusted p decides
    in place of the own, and what is detectable is at the first step, .05 over how many there are.
    A comparison without units is none, and is not counted.

    >>> from equipoise.stats.noise_floor import floor_of
    >>> six = Comparison(36, 6, 0, (0, 0), (108, 108), floor_of(0, 36), reader_trusted=True)
    >>> verdict(Plan(36, 0.3), six).kind
    'better'
    >>> found = verdicts({"a": (Plan(36, 0.3), six), "b": (Plan(36, 0.3), six)})
    >>> found["a"].kind, found["a"].p, found["a"].p_adjusted
    ('no detectable difference', 0.03125, 0.0625)
    """
    own = [_p(comparison) if comparison.n else Undefined("no_data")
           for _, comparison in compared.values()]
    family = sum(not isinstance(p, Undefined) for p in own)
    return {
        name: _said(plan, comparison, family, 1.0 if isinstance(p, Undefined) else p)
        for (name, (plan, comparison)), p in zip(
            compared.items(), adjusted(own).holm, strict=True)
    }


def _p(comparison: Comparison) -> float:
    return sign_test(comparison.wins, comparison.losses).p


def _said(plan: Plan, comparison: Comparison, family: int, p: float) -> Verdict:
    """The verdict by a p adjusted for a family of so many comparisons."""
    n, wins, losses = comparison.n, comparison.wins, comparison.losses
    ties, floor = n - wins - losses, comparison.floor
    tested, net = sign_test(wins, losses, ties), paired(0, wins, losses, ties)
    none = Undefined("no_data")
    least = detectable(n, plan.discordance, ALPHA / family, WANTED).exact if n else none
    low, high, seen = (_points(share) for share in (net.low, net.high, least))
    gates = tuple(_gates(plan, comparison))
    kind, why = ("no verdict", ()) if gates else _kind(plan, comparison, p, low, seen)
    return Verdict(
        kind, gates, why, n, wins, losses, tested.p, p, tested.net_points, low, high, seen,
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
    elif _p(comparison) < ALPHA:
        why.append("significant_only_alone")
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
