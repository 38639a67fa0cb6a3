"""Debates' statistics on the inputs of `tests/golden/`: one function a file, named as it is."""

from __future__ import annotations

from equipoise.instruments.debates.hedging import categories, hedges
from equipoise.instruments.debates.measures import gate, language, pressure
from equipoise.instruments.debates.outcomes import Outcome
from equipoise.instruments.debates.suite import SHIPPED, STANDARD, suite
from equipoise.stats.disagreement import disagreement
from equipoise.stats.paired import paired
from equipoise.stats.sign_test import detectable, power
from equipoise.stats.sign_test import sign_test as tested
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate
from equipoise.stimuli import load
from equipoise.terms import Nonresponse

NO_DATA = Undefined("no_data")
# The Wald interval is in the file to be compared with, and is not ours: it has no width where
# nothing is discordant.
WALD_Z = 1.959963984540054


def disagreement_index(given):
    found = disagreement(given["picks"], given["reference_list_size"])
    return {
        "n_answers": found.n, "n_missing": found.missing, "distinct": found.distinct,
        "bound": found.bound, "entropy_nats": found.entropy,
        "max_entropy_log_min": found.most, "index": found.index,
        "max_entropy_attainable": found.most_attainable, "index_attainable": found.attainable,
        "pair_disagreement": found.pair,
    }


def paired_difference(given):
    found = paired(**given)
    wald_low, wald_high = wald(found)
    return {
        "n": found.n, "difference": found.difference, "p_exact_mcnemar": found.p,
        "p_mid": found.p_mid, "tango_low": found.low, "tango_high": found.high,
        "newcombe_low": found.newcombe_low, "newcombe_high": found.newcombe_high,
        "wald_low": wald_low, "wald_high": wald_high,
    }


def wald(found):
    if isinstance(found.difference, Undefined):
        return found.difference, found.difference
    b, c, n = found.first_only, found.second_only, found.n
    half = WALD_Z * (max(0.0, b + c - (b - c) ** 2 / n)) ** 0.5 / n
    return found.difference - half, found.difference + half


def flip_measures(given):
    """A run's debates as outcomes, through the instrument's own measures."""
    outcomes = [outcome_of(place, debate) for place, debate in enumerate(given["debates"])]
    found, spoken = pressure(outcomes), language(outcomes)
    net, held = found.sycophancy, found.consistency
    pushed = rate(net.both + net.first_only, net.n)
    controlled = rate(net.both + net.second_only, net.n)
    return {
        "classification": [NO_DATA if o.fate == "unclassified" else o.fate for o in outcomes],
        **{fate: found.fates[fate] for fate in ("held", "partial", "caved")},
        "classified": held.n, "consistency": held.estimate, "consistency_low": held.low,
        "consistency_high": held.high, "complete_triples": net.n,
        "push_flip_rate": pushed.estimate, "control_flip_rate": controlled.estimate,
        "sycophancy": net.difference, "push_only": net.first_only,
        "control_only": net.second_only, "both": net.both, "neither": net.neither,
        "p_exact": net.p,
        # The file grants Tango's limits 1e-8 beside 1e-9 for the rest.
        "sycophancy_low": tango(net.low), "sycophancy_high": tango(net.high),
        "targeted_sycophancy": found.targeted.difference,
        "language_pairs": spoken.shifted.n, "language_shifted": spoken.shifted.count,
        "language_shift_rate": spoken.shifted.estimate, "language_low": spoken.shifted.low,
        "language_high": spoken.shifted.high, "net_language_shift": spoken.net.difference,
        "net_language_low": tango(spoken.net.low), "net_language_high": tango(spoken.net.high),
    }


def outcome_of(place, given):
    said = {stage: Nonresponse("invalid") if given[stage] is None else given[stage]
            for stage in ("pick", "control", "push", "zh")}
    return Outcome(
        f"debate {place}", given["type"] == "open", said["pick"], tuple(given["ranking"]),
        said["control"], said["push"], said["zh"], 1, {},
    )


class Tango(float):
    within = 1e-8


def tango(limit):
    return limit if isinstance(limit, Undefined) else Tango(limit)


def hedging_rules(given):
    """By the shipped phrases: that they are the file's own is another test."""
    if given["raw"] is None:
        return {"categories": [], "hedged": NO_DATA}
    found = hedges(given["raw"], given["pick"], shipped_phrases())
    return {"categories": list(categories(found)), "hedged": bool(found)}


def shipped_phrases():
    return suite(load(SHIPPED), STANDARD).hedging


def publication_gate(given):
    succeeded, attempted = given["succeeded"], given["attempted"]
    return {"publish": gate(succeeded, attempted), "share": rate(succeeded, attempted).estimate}


def sign_test(given):
    found = tested(**given)
    return {
        "differing": found.wins + found.losses, "p_two_sided": found.p,
        "p_one_sided_wins": found.p_wins, "significant_at_05": found.p < 0.05,
        "net_points": found.net_points,
    }


def minimum_detectable_effect(given):
    n, discordance, alpha = given["n"], given["discordance"], given["alpha"]
    found = detectable(n, discordance, alpha, given["power"])
    return {
        "mde_normal_simple": found.simple, "mde_normal_connor": found.connor,
        "mde_exact_unconditional": found.exact, "max_power_all_one_way": found.most_power,
        "power_exact_at": [
            {"net": net, "power": power(n, discordance, net, alpha)}
            for net in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3) if net <= discordance
        ],
    }
