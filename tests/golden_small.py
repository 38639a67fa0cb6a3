"""The small statistics on the inputs of `tests/golden/`: one function a file, named as it is."""

from equipoise.stats import differential_loss as losses
from equipoise.stats import equivalence as bounds
from equipoise.stats import flag_counts
from equipoise.stats.clusters import clustered
from equipoise.stats.multiplicity import adjusted
from equipoise.stats.undefined import Undefined


def multiplicity(given):
    found = adjusted([Undefined("no_data") if p is None else p for p in given["p"]])
    return {name: list(getattr(found, name)) for name in ("bonferroni", "holm", "bh")}


def flag_count_test(given):
    if "null_flag_probabilities" not in given:
        return {"p_upper": flag_counts.binomial_upper(**given)}
    own = given["null_flag_probabilities"]
    return {
        "p_upper": flag_counts.poisson_binomial_upper(given["flags"], own),
        "expected_flags": flag_counts.expected_flags(own),
    }


def cluster_interval(given):
    found = clustered(given["values"], given["cluster"])
    return {
        "units": found.units,
        "clusters": found.clusters,
        "mean": found.mean,
        "iid_low": found.over_units.low,
        "iid_high": found.over_units.high,
        "cluster_mean_of_means": found.over_clusters.mean,
        "cluster_df": found.over_clusters.df,
        "cluster_low": found.over_clusters.low,
        "cluster_high": found.over_clusters.high,
        "miller_clustered_se": found.miller_se,
        "cr2_se": found.cr2_se,
        "cr2_df": found.cr2_df,
        "cr2_low": found.cr2_low,
        "cr2_high": found.cr2_high,
    }


def equivalence_tost(given):
    found = bounds.equivalence(**given)
    return {name: getattr(found, name) for name in ("p_lower", "p_upper", "p", "equivalent")}


def differential_loss(given):
    tables = [
        losses.Table(
            stratum["lost_label1_first"], stratum["lost_label2_first"],
            stratum["kept_label1_first"], stratum["kept_label2_first"],
        )
        for stratum in given["strata"]
    ]
    return {"p": losses.differential_loss(tables).p}
