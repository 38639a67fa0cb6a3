"""Label swap from the command line."""

import csv
import io
import json

import pytest

from equipoise.cli.calibrating import calibrated, show_calibration
from equipoise.instruments.label_swap.proof import reference
from equipoise.terms import Misuse

SWAP = ["run", "label-swap", "--decisions", "grant", "--no-progress"]


def test_a_plan_counts_the_calls_of_the_standard_design_and_the_decisions_it_would_take(equipoise):
    said = json.loads(equipoise("plan", "label-swap", "-s", "planted:leans", "--json")[1])
    # 4 decisions x 5 pairs x (2 identical + 4 matched cells) x 5 draws
    assert (said["calls"], said["blocks"], said["decisions"]) == (600, 20, 4)
    assert [n["decisions"] for n in said["decisions_needed"]] == [5, 12]
    code, out, _ = equipoise("plan", "label-swap", "-s", "planted:leans", "--detect", "8.1",
                             "--spread", "8.57")
    assert code == 0 and "8.1 points of position bias: 11 decisions" in out


@pytest.mark.parametrize("vary, times", [
    ("wording", 3), ("asked", 2), ("alphabet", 3), ("wording,asked", 6),
    ("alphabet, asked, wording", 18),
])
def test_each_factor_multiplies_the_calls(equipoise, vary, times):
    said = json.loads(equipoise("plan", "label-swap", "-s", "planted:leans", "--vary", vary,
                                "--json")[1])
    assert said["calls"] == 600 * times


@pytest.mark.parametrize("words, said", [
    (["run", "label-swap", "-s", "planted:holds"], "No planted trait 'holds'"),
    (["run", "fingerprint", "-s", "planted:leans"], "No planted trait 'leans'"),
    (["run", "labelswap", "-s", "planted:leans"], "Did you mean 'label-swap'"),
    (["run", "label-swap", "-s", "planted:leans", "--until-dissent"],
     "--until-dissent is no option of label-swap. It takes --decisions"),
    (["run", "fingerprint", "-s", "planted:holds", "--vary", "asked"],
     "--vary is no option of fingerprint"),
    (["run", "label-swap", "-s", "planted:leans", "--vary", "mood"], "No factor 'mood'"),
    (["run", "label-swap", "-s", "planted:leans", "--vary", "asked,asked"], "named twice"),
    (["run", "label-swap", "-s", "planted:leans", "--decisions", "grants"],
     "Did you mean 'grant'"),
    (["run", "label-swap", "-s", "planted:leans", "--draws", "2"], "needs at least 3"),
    (["run", "label-swap", "-s", "planted:leans", "--draws", "0"], "needs at least 3"),
    (["run", "label-swap", "-s", "planted:leans", "--family", "all"], "No family 'all'"),
    (["run", "label-swap", "-s", "planted:leans", "--suite", "demo"], "no suite 'demo'"),
    (["run", "label-swap", "-s", "planted:leans", "--answers", "first-token"], "answer modes"),
    (["run", "label-swap", "-s", "planted:leans?grid=3"], "grid is 3"),
    (["plan", "label-swap", "-s", "openai:m@http://127.0.0.1:9/v1?seed=7"],
     "would be one reply over again"),
    (["plan", "debates", "-s", "openai:m@http://127.0.0.1:9/v1?seed=7"],
     "would be one reply over again"),
    (["selftest", "palmistry"], "No instrument 'palmistry'"),
])
def test_a_mistake_is_answered_with_what_was_wanted(equipoise, words, said):
    code, _, err = equipoise(*words)
    assert code == 2 and said in err, err


def test_a_run_finds_what_was_planted_and_says_what_it_does_not_show(equipoise, tmp_path):
    code, out, err = equipoise(*SWAP, "-s", "planted:leans")
    assert code == 0
    assert "1 of 5" in out and "Option A~Option B flagged" in out
    assert "Identical condition: every one of 50 answers is 50, so it measured nothing." in out
    assert "150 calls" in err
    _, again, err = equipoise(*SWAP, "-s", "planted:leans")
    assert "0 calls" in err and again == out
    run = json.loads(equipoise("runs", "--json")[1])["runs"][0]
    assert run["instrument"] == "label-swap"
    assert equipoise("report", run["name"], "-o", "page.html")[0] == 0
    assert "What this does not show" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_findings_as_json_name_every_block_its_test_and_its_bounds(equipoise):
    equipoise(*SWAP, "-s", "planted:leans", "-s", "planted:truncates-one-label")
    name = json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]
    said = json.loads(equipoise("read", name, "--json")[1])
    assert [judge["subject"] for judge in said["judges"]] == ["leans", "truncates-one-label"]
    leans, cut = said["judges"]
    assert len(leans["each_block"]) == 10 and leans["each_block"][5]["flagged"] is True
    assert cut["losses"]["selected_subset"] == ["grant"]
    assert leans["position_by_decision"]["over_decisions"]["low_reason"] == "unit_count_one"
    assert [test["subject"] for test in said["family"]["tests"]] == ["leans",
                                                                    "truncates-one-label"]


def test_nothing_that_came_back_is_no_finding(equipoise):
    code, out, err = equipoise("run", "label-swap", "--decisions", "grant", "--no-progress", "-s",
                               "openai:m@http://127.0.0.1:9/v1", "--max-calls", "900", "--yes",
                               "--attempts", "1")
    assert code == 75
    assert "No probability came back" in out and "There is no finding" in out


def test_an_export_has_the_design_the_reply_its_reading_and_its_tokens(equipoise):
    equipoise(*SWAP, "-s", "planted:leans")
    name = json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]
    rows = list(csv.DictReader(io.StringIO(equipoise("export", name)[1])))
    assert len(rows) == 150
    assert {"item", "content", "wording", "pair", "asked", "described", "label", "draw", "reply",
            "stated_probability", "stated_probability_rule", "finish",
            "reasoning_tokens"} <= rows[0].keys()
    identical = [row for row in rows if row["content"] == "identical"]
    assert {row["stated_probability"] for row in identical} == {"50.0"}


def test_a_rerun_of_some_decisions_under_another_limit_is_another_run_that_names_the_first(
    equipoise, tmp_path,
):
    equipoise(*SWAP, "-s", "planted:leans")
    first = json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]
    equipoise(*SWAP, "-s", "planted:leans?max_tokens=9000", "--rerun-of", first)
    names = [run["name"] for run in json.loads(equipoise("runs", "--json")[1])["runs"]]
    assert len(names) == 2 and names[0] == first
    equipoise("report", names[1], "-o", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"A rerun of <code>{first}</code>" in page and "max_tokens 9000" in page


def test_read_by_its_only_reader_says_nothing_moved_and_by_another_is_refused(equipoise):
    equipoise(*SWAP, "-s", "planted:leans")
    name = json.loads(equipoise("runs", "--json")[1])["runs"][0]["name"]
    assert equipoise("read", name, "--reader", "stated_probability")[0] == 0
    code, _, err = equipoise("read", name, "--reader", "first_word")
    assert code == 2 and "there are stated_probability" in err


def test_a_planted_judge_gives_the_same_replies_in_whatever_order_it_is_asked(equipoise):
    found = []
    for name, order in (("one", "grouped"), ("two", "random:5")):
        equipoise(*SWAP, "-s", "planted:leans", "--order", order, "--run", name)
        said = json.loads(equipoise("read", name, "--json")[1])
        found.append(said["judges"])
    assert found[0] == found[1]


def test_the_table_of_detections_lies_within_its_bands_and_says_so(capsys):
    rows = calibrated(runs=6)
    assert {(found.row.noise, found.row.grid) for found in rows} == set(reference())
    show_calibration(rows, as_json=False)
    out = capsys.readouterr().out
    assert out.count("yes") == 8 and "flagged at 2/4/8/12 points" in out


def test_a_figure_outside_its_band_fails_the_self_test_by_name():
    from dataclasses import replace

    from equipoise.stats.wilson import rate

    [first, *rest] = calibrated(runs=2)
    wrong = replace(first, bands=tuple(
        replace(band, found=rate(band.found.n, band.found.n)) if band.name == "false flags"
        else band for band in first.bands))
    with pytest.raises(Misuse, match="false flags at noise 2.7") as error:
        show_calibration([wrong, *rest], as_json=True)
    assert error.value.code == 10
