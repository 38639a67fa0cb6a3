"""Every statistic is held to reference values computed outside Python.

The folder is named by EQUIPOISE_GOLDEN; the default is the project's own copy. A file whose
statistic is not built yet is reported as missing.
"""

import json
import os
from pathlib import Path

import pytest

from equipoise.instruments.fingerprint.slot import slot
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


BUILT = {f.__name__: f for f in (wilson_interval, replay_stamp, pair_commit)}


def agrees(found, wanted, tolerance):
    if wanted is None:
        return isinstance(found, Undefined)
    if isinstance(wanted, float | int) and not isinstance(wanted, bool):
        return found == pytest.approx(wanted, abs=tolerance)
    return found == wanted


def test_the_folder_holds_reference_values():
    assert FILES, f"no golden files in {FOLDER}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_statistic_agrees_with_its_reference_values(file):
    golden = json.loads(file.read_text(encoding="utf-8"))
    statistic = golden.get("statistic", file.stem)
    if statistic not in BUILT:
        pytest.xfail(f"missing: {statistic} is not built yet")
    compute = BUILT[statistic]
    _, _, said = golden["tolerance"].partition("abs ")
    tolerance = float(said.split()[0]) if said else 1e-12
    assert golden["cases"]
    for case in golden["cases"]:
        found = compute(case["input"])
        for name, wanted in case["expected"].items():
            assert agrees(found[name], wanted, tolerance), (case["id"], name, found[name], wanted)

