"""Label-swap's statistics on the inputs of `tests/golden/`: one function a file, named as it is."""

from __future__ import annotations

from functools import cache
from math import sqrt
from statistics import fmean, stdev

from equipoise.instruments.label_swap.blocks import Cell as Draws
from equipoise.instruments.label_swap.blocks import Rules, tested
from equipoise.instruments.label_swap.instrument import READER, Stated
from equipoise.instruments.label_swap.measures import analyse
from equipoise.instruments.label_swap.planted import Judge
from equipoise.instruments.label_swap.proof import PLANTED, detection
from equipoise.instruments.label_swap.suite import SHIPPED, STANDARD, Decision, Pair, Suite, suite
from equipoise.stats.undefined import Undefined
from equipoise.stimuli import load
from equipoise.terms import Nonresponse, Observation, Reading, Trial

PROOF_RUNS = 40
LOST = Reading(Nonresponse("truncated"), "cut-off")


def label_bias_trial(given):
    cells = [
        Draws("first", str(place), label, tuple(y for y in stratum[name] if y is not None),
              {"truncated": stratum[name].count(None)})
        for place, stratum in enumerate(given["strata"])
        for label, name in (("1", "label1_first"), ("2", "label2_first"))
    ]
    found = tested(cells, given["min_valid_per_cell"], Rules())
    valid = {"valid_per_cell": [len(cell.values) for cell in cells]}
    if isinstance(found, Undefined):
        return {**valid, "complete": False}
    return {**valid, "complete": True, **of_test(found)}


def of_test(found):
    return {
        "lean_points": found.lean, "position_points": found.position,
        "permutations": found.permutations, "count_as_extreme": found.as_extreme,
        "p_exact": found.p, "min_attainable_p": found.least_p, "flagged": found.flagged,
        "null_sd_points": found.null_sd, "null_flag_probability": found.null_flag,
        "ci_df": found.df, "ci_low": found.low, "ci_high": found.high,
    }


def label_swap_run(given):
    """A whole run as observations, through the instrument's own analysis."""
    observations = [
        observed("matched", decision, pair, "xy"[described - 1], label, draw, y)
        for decision, pair, described, label, draw, y in given["matched"]
    ] + [
        observed("identical", decision, pair, "same", label, draw, y)
        for decision, pair, label, draw, y in given["identical"]
    ]
    decisions = dict.fromkeys(o.trial.item for o in observations)
    pairs = dict.fromkeys(o.trial.condition["pair"] for o in observations)
    laid_out = Suite(
        "golden", "", {name: Decision(name, "", "", "", "", {"plain": ""}) for name in decisions},
        {pair: Pair(pair, tuple(pair.split("~"))) for pair in pairs}, (),
    )
    rules = Rules(min_valid=given["min_valid_per_cell"])
    [f] = analyse(laid_out, rules, observations).judged
    labels, position, losses, alike = f.labels, f.position, f.losses, f.identical
    # With replies lost the file's own value is drawn, and agrees no closer than that.
    drawn = losses.overall.count > 0
    return {
        "trials": [
            {"decision": b.decision, "pair": b.pair.replace("~", "|"),
             "valid_per_cell": [len(cell.values) for cell in b.cells],
             "complete": not isinstance(b.test, Undefined),
             **({} if isinstance(b.test, Undefined) else of_test(b.test))}
            for b in f.matched
        ],
        "complete_trials": labels.complete, "excluded_trials": labels.blocks - labels.complete,
        "calls": losses.overall.n, "calls_lost": losses.overall.count,
        "flags": labels.flags.count, "p_binomial_nominal": labels.flags.p_nominal,
        "p_poisson_binomial": labels.flags.p_own, "expected_null_flags": labels.flags.expected,
        "rms_points": labels.rms, "null_mean_square": labels.null_mean_square,
        "excess_rms_points": labels.excess_rms,
        "rms_null_95_points": Near(labels.omnibus.null_95, 0.02 * drawn),
        "omnibus_p": Near(labels.omnibus.p, 0.003 * drawn),
        "omnibus_method": Method(labels.omnibus.method),
        "position_by_trial": of_interval(position.by_block),
        "position_by_decision": of_interval(position.by_decision.over_clusters),
        "lean_by_trial": of_interval(labels.by_block),
        "lean_by_decision": of_interval(labels.by_decision.over_clusters),
        "lean_by_pair": [{"pair": pair.replace("~", "|"), **of_interval(i)}
                         for pair, i in labels.by_pair.items()],
        "lost_rate_by_decision": {name: r.estimate for name, r in losses.by_decision.items()},
        "differential_loss_p": Near(losses.differential.p, 1e-7),
        "identical": {
            "calls": alike.asked, "share_exactly_50": alike.fifty.estimate,
            "rms_points": alike.rms, "omnibus_p": alike.omnibus.p,
            "rms_null_95_points": alike.omnibus.null_95,
        },
    }


def observed(content, decision, pair, *row):
    described, label, draw, y = row
    trial = Trial("label-swap", PLANTED, decision, {
        "answer": "free", "content": content, "wording": "plain", "pair": pair.replace("|", "~"),
        "asked": "first", "described": described, "label": str(label),
    }, draw)
    reading = LOST if y is None else Reading(float(y), "whole-number")
    return Observation(trial, Stated("" if y is None else str(y), {READER: reading}))


def of_interval(found):
    return {"mean": found.mean, "df": found.df, "low": found.low, "high": found.high}


class Near(float):
    """A number that may differ by more than the file's own tolerance."""

    def __new__(cls, value, within):
        made = super().__new__(cls, value)
        made.within = within
        return made


class Method(str):
    """The method's name; the file says more after a comma. Ours may be exact where it drew."""

    def __eq__(self, other):
        return other.startswith(str(self)) or (self, other[:5]) == ("exact convolution", "Monte")

    __hash__ = str.__hash__


def mock_validation(given):
    """Shares and means over our own runs, each within four of its Monte Carlo errors."""
    found = planted(given["sigma"], given["grid"], given.get("permutations") is not None)
    lean = given["lean_points"]
    assert list(Judge().described) == given["desc"] and list(Judge().positions) == given["pos"]
    if "permutations" in given:
        return {"omnibus_rejection_rate": Share(found.omnibus[lean], 1_500)}
    rms = found.rms[lean]
    return {
        "false_flag_rate": Share(found.false_flags, 400_000),
        "p_below_05_rate_unplanted": Share(found.below_alpha, 400_000),
        "planted_flag_rate": (Share(found.flagged[lean], 80_000) if lean else
                              Undefined("no_data")),
        "runs_with_any_flag": Share(found.any_flag[lean], 20_000),
        "mean_rms_points": Near(fmean(rms), 4 * stdev(rms) / sqrt(len(rms)) + 0.0005),
    }


@cache
def planted(noise, grid, omnibus):
    return detection(suite(load(SHIPPED), STANDARD), Judge(noise=noise, grid=grid),
                     runs=PROOF_RUNS, omnibus=(0.0, 2.0, 4.0, 8.0) if omnibus else ())


class Share:
    """A share of so many, beside a reference share of so many."""

    def __init__(self, found, of):
        self.found, self.of = found, of

    def agrees(self, wanted):
        n = self.found.n
        error = sqrt(wanted * (1 - wanted) * (1 / n + 1 / self.of))
        return abs(self.found.estimate - wanted) <= 4 * error + 0.5 / n + 0.5 / self.of

    def __repr__(self):
        return f"{self.found.count} of {self.found.n}"
