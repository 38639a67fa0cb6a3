"""Replay's statistics on the inputs of `tests/golden/`: one function a file, named as it is."""

from fractions import Fraction

from equipoise import calibration
from equipoise.gold import Adjudication, Rating, gold
from equipoise.stats import draws, prediction_powered, sequential
from equipoise.stats import noise_floor as floors
from equipoise.stats import non_inferiority as margins
from equipoise.stats.agreement import agreement
from equipoise.stats.cohen import cohen_kappa as kappa_of
from equipoise.stats.confusion import Confusion
from equipoise.stats.consensus import leave_one_out
from equipoise.stats.corrected_rate import corrected_rate
from equipoise.stats.detection import Moment, detection
from equipoise.stats.shipping import RunVerdict, shipping
from equipoise.stats.suite_size import units_for_net
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Comparison, Plan
from equipoise.stats.verdict import verdict as judge
from equipoise.stats.wilson import rate
from equipoise.terms import Nonresponse

NEVER = Undefined("no_data")
UNKNOWN = Nonresponse("unclear")


def limits(name, found):
    return {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}


def suite_size_table(given):
    return {"n_needed": units_for_net(**given)}


def non_inferiority(given):
    found = margins.non_inferiority(**given)
    return {"z": found.z, "p": found.p, "low_95": found.low, "shown_at_025": found.shown}


def noise_floor(given):
    found = floors.noise_floor(given["run1"], given["run2"])
    return {
        "paired": found.n, "differing": found.differing, "gross_rate": found.gross.estimate,
        "gross_low": found.gross.low, "gross_high": found.gross.high,
        "net95_points": found.net_points,
    }


def majority_of_draws(given):
    found = draws.majority_of_draws(**given)
    return {"answer": found.answer, "status": found.status, "valid": found.valid}


def self_agreement(given):
    found = draws.self_agreement(given["items"])
    return {
        "items": found.items, "complete_items": found.complete,
        "pairwise_agreement": found.pairwise, "unanimous_share": found.unanimous.estimate,
        "fleiss_kappa_complete": found.kappa,
    }


def verdict(given):
    floor = NEVER if given["floor_differing"] is None else floors.floor_of(
        given["floor_differing"], given["floor_n"])
    found = judge(
        Plan(given["planned_n"], given["planned_discordance"], given["margin_points"]),
        Comparison(
            given["n"], given["wins"], given["losses"], (given["errors_a"], given["errors_b"]),
            (given["calls_a"], given["calls_b"]), floor, given["pending_splits"],
            given["reader_trusted"],
        ),
    )
    return {
        "verdict": found.kind, "gates": list(found.gates), "p": found.p,
        "net_points": found.net_points, "low_points": found.low_points,
        "high_points": found.high_points, "mde_points": found.detectable_points,
        "floor_points": found.floor_points,
    }


def ship_rule(given):
    found = shipping([
        RunVerdict(one["run"], one["verdict"], one["net_points"], one["floor_points"])
        for one in given["verdicts"]
    ])
    return {"ship": found.ship, "rule": found.rule}


def gold_formation(given):
    settled = given["adjudication"]
    found = gold(
        [Rating("item", vote["rater"], vote["label"], vote["definition"])
         for vote in given["votes"]],
        given["current_definition"],
        [Adjudication("item", **settled)] if settled else [],
    )
    return {"status": found.status, "label": found.label, "raters": found.raters}


def cohen_kappa(given):
    found = kappa_of(given["rater1"], given["rater2"])
    return {
        "n": found.n, "percent": found.agreed.estimate, "expected": found.expected,
        "kappa": found.kappa, "se": found.se, "low": found.low, "high": found.high,
    }


def multirater_agreement(given):
    found = agreement(given["items"])
    return {
        "items": found.items, "raters": found.raters, "complete_items": found.complete,
        "percent_complete": found.percent_complete, "fleiss_kappa": found.fleiss,
        "conger_kappa": found.conger, "percent_available": found.percent,
        "gwet_ac1": found.ac1, "krippendorff_alpha": found.alpha,
    }


def leave_one_out_agreement(given):
    found = leave_one_out((vote["item"], vote["rater"], vote["label"]) for vote in given["votes"])
    return {"raters": [
        {"rater": one.rater, "items": one.cohen.n, "percent": one.cohen.agreed.estimate,
         "kappa": one.cohen.kappa}
        for one in found
    ]}


def trust_bar(given):
    decided = Confusion(given["true_positive"], given["false_negative"],
                        given["true_negative"], given["false_positive"])
    human = rate(given["human_agree"] or 0, given["human_n"] or 0)
    found = calibration.trust(calibration.Calibration(decided, given["unknown"]), human)
    return {
        **limits("tpr", found.sensitivity), **limits("tnr", found.specificity),
        "min_rate": found.least, "unknown_share": found.unknown.estimate,
        "trusted": found.trusted, "reasons": list(found.reasons),
        "prob_both_above_bar": found.chance_above,
    }


def rolling_spot_check(given):
    agreed = [UNKNOWN if agrees is None else agrees for agrees in given["agree"]]
    found = calibration.spot_check(agreed, given["window"], Fraction(str(given["bar"])))
    return {
        "figures": list(found.figures), "decided": found.decided,
        "flips_at": NEVER if found.flipped_at is None else found.flipped_at,
    }


def corrected_pass_rate(given):
    known = Confusion(given["tp"], given["fn"], given["tn"], given["fp"])
    found = corrected_rate(known, given["judged_pass"], given["judged_n"])
    return {
        "observed": found.observed.estimate, "estimate_raw": found.raw,
        "estimate": found.estimate, "se": found.se, "low": found.low, "high": found.high,
    }


def prediction_powered_mean(given):
    found = prediction_powered.prediction_powered_mean(
        given["labels"], given["judge_on_labelled"], given["judge_on_unlabelled"])

    def ends(one):
        return {"estimate": one.estimate, "low": one.low, "high": one.high}

    return {"classical": ends(found.classical), "ppi": ends(found.ppi), "lambda": found.weight,
            "ppi_plus": ends(found.tuned)}


def peeking_inflation(given):
    return {"false_positive_rate": sequential.peeking_inflation(given["looks_at_differing"])}


def anytime_sign_evalue(given):
    found = sequential.evidence(map(bool, given["wins_in_order"]))
    return {
        "e_values": list(found.values), "anytime_p": found.p,
        "crosses_20_at": NEVER if found.crossed is None else found.crossed,
    }


def detection_and_shown(given):
    found = detection(
        Moment(one["present"], one["detected"], one["shown"]) for one in given["moments"])
    counts = found.confusion
    return {
        "true_positive": counts.true_positive, "false_positive": counts.false_positive,
        "false_negative": counts.false_negative, "true_negative": counts.true_negative,
        **limits("precision", found.precision), **limits("recall", found.recall),
        "shown_rate": found.shown.estimate, "shown_low": found.shown.low,
        "shown_high": found.shown.high, "misfires": found.misfires,
        "misfire_rate_of_absent": found.misfired.estimate, "misfire_low": found.misfired.low,
        "misfire_high": found.misfired.high,
        "misfire_share_of_shown": found.misplaced.estimate,
    }


BUILT = (
    suite_size_table, non_inferiority, noise_floor, majority_of_draws, self_agreement, verdict,
    ship_rule, gold_formation, cohen_kappa, multirater_agreement, leave_one_out_agreement,
    trust_bar, rolling_spot_check, corrected_pass_rate, prediction_powered_mean,
    peeking_inflation, anytime_sign_evalue, detection_and_shown,
)
