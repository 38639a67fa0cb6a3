"""Every statistic is held to reference values computed outside Python.

The folder is named by EQUIPOISE_GOLDEN; the default is the project's own copy. A file whose
statistic is not built yet is reported as missing.
"""

import json
import os
from pathlib import Path

import pytest

import golden_debates
import golden_fingerprint
import golden_label_swap
import golden_replay
import golden_small
from equipoise.instruments.fingerprint.slot import slot
from equipoise.stats.sign_test import least_wins, sign_test
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate
from equipoise.terms import Nonresponse, content_hash

FOLDER = Path(os.environ.get("EQUIPOISE_GOLDEN") or Path(__file__).parent / "golden")
FILES = sorted(FOLDER.glob("*.json"))


def wilson_interval(given):
    found = rate(given["successes"], given["n"], given["confidence"])
    return {"estimate": found.estimate, "low": found.low, "high": found.high}


def replay_stamp(given):
    return {"sha256": content_hash(given)}


def pair_commit(given):
    words = given["word_a"], given["word_b"]
    cells = [
        Nonresponse("not asked") if cell is None
        else cell if cell in words else Nonresponse(cell)
        for cell in given["cells"]
    ]
    found = slot(cells, words)
    committed = found.committed
    return {
        "committed": committed.kind if isinstance(committed, Nonresponse) else committed,
        "picked": found.picked,
        "refused": found.lost.get("refused", 0),
        "unclear": found.lost.get("unclear", 0),
        "missing": found.lost.get("not asked", 0),
        "winner": found.winner,
        "sharpness": found.sharpness,
    }


BUILT = {f.__name__: f for f in (
    wilson_interval, replay_stamp, pair_commit,
    golden_small.multiplicity, golden_small.flag_count_test, golden_small.cluster_interval,
    golden_small.equivalence_tost, golden_small.differential_loss,
    golden_label_swap.label_bias_trial, golden_label_swap.label_swap_run,
    golden_label_swap.mock_validation,
    golden_debates.disagreement_index, golden_debates.paired_difference,
    golden_debates.flip_measures, golden_debates.hedging_rules, golden_debates.publication_gate,
    golden_debates.sign_test, golden_debates.minimum_detectable_effect,
    *golden_replay.BUILT, golden_fingerprint.fingerprint_distance,
    golden_fingerprint.tree_and_map,
)}


def agrees(found, wanted, tolerance):
    if wanted is None:
        return isinstance(found, Undefined)
    if isinstance(found, golden_label_swap.Share):
        return found.agrees(wanted)
    if isinstance(wanted, dict):
        return all(agrees(found[name], value, tolerance) for name, value in wanted.items())
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(
            agrees(one, other, tolerance) for one, other in zip(found, wanted, strict=True))
    if isinstance(wanted, float | int) and not isinstance(wanted, bool):
        within = max(tolerance["abs"], getattr(found, "within", 0.0))
        return found == pytest.approx(wanted, abs=within, rel=tolerance["rel"])
    return found == wanted


def tolerance_of(golden):
    """What a file allows: `abs 1e-9` or `rel 1e-9`, with words after it; else 1e-12."""
    words = golden.get("tolerance", "exact").split()
    said = {kind: float(words[words.index(kind) + 1].rstrip(";,"))
            for kind in ("abs", "rel") if kind in words}
    return {"abs": 1e-12, "rel": 0, **said}


def cases_of(golden):
    """A file's cases; a plain table's rows are cases too, of what was needed for the rest."""
    return golden.get("cases") or [
        {"id": str(row), "input": {name: row[name] for name in row if name != "n_needed"},
         "expected": {"n_needed": row["n_needed"]}}
        for row in golden["table"]
    ]


def test_the_folder_holds_reference_values():
    assert FILES, f"no golden files in {FOLDER}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_statistic_agrees_with_its_reference_values(file):
    golden = json.loads(file.read_text(encoding="utf-8"))
    statistic = golden.get("statistic", file.stem)
    if statistic not in BUILT:
        pytest.xfail(f"missing: {statistic} is not built yet")
    compute = BUILT[statistic]
    tolerance, cases = tolerance_of(golden), cases_of(golden)
    assert cases
    for case in cases:
        found = compute(case["input"])
        for name, wanted in case["expected"].items():
            assert agrees(found[name], wanted, tolerance), (case["id"], name, found[name], wanted)


def test_the_fewest_wins_that_reject_are_those_of_the_table():
    golden = json.loads((FOLDER / "sign_test.json").read_text(encoding="utf-8"))
    table = golden["minimum_wins_table"]
    assert [row["differing"] for row in table] == list(range(1, 41))
    for row in table:
        differing, wins = row["differing"], row["min_wins"]
        assert least_wins(differing) == wins, row
        if wins is not None:
            p = sign_test(wins, differing - wins).p
            assert p == pytest.approx(row["p"], abs=1e-12) and p < 0.05
            assert sign_test(wins - 1, differing - wins + 1).p >= 0.05

