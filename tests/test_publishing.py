"""A run becomes the live dataset as a whole or not at all, and every run is on the registry."""

import json
import os
import pickle
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import sites
from equipoise.cli import publishing as acts
from equipoise.instruments.debates.measures import gate
from equipoise.report import versions
from equipoise.report.comparing import compare
from equipoise.report.kept import as_of
from equipoise.report.publishing import publish, roll_back
from equipoise.report.registry import as_json
from equipoise.terms import Misuse
from sites import AT, SECOND, events, offer, pages, tree, whole
from test_kills import SERVER

SERVER.set_forkserver_preload(["killed", "sites"])


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


def put(site, run, after=0, others=()):
    return publish(site, run, pages, AT + after * SECOND, others)


def registry(site):
    return events(site / "current")


# What is made live


def test_a_run_becomes_the_live_dataset_with_its_pages_data_prompts_and_head(site):
    found = put(site, offer())
    assert (found.state, found.live, found.changed) == ("live", "r1", True)
    assert whole(site)["run"] == "r1"
    version = site / "current"
    assert os.readlink(version) == f"versions/{found.version}"
    for name in ("dataset.json", "registry.json", "published.json", "prompts.toml", "aliases.toml",
                 "debates.toml", "hedging.toml", "history/r1.json", "reports/r1.json"):
        assert (version / "data" / name).is_file(), name
    shown = json.loads((version / "index.html").read_text())
    assert shown["head"] == "9:r1" and shown["published"] == "2027-01-15T08:00:00Z"
    dataset = (version / "data/dataset.json").read_bytes()
    assert dataset == (version / "data/history/r1.json").read_bytes() == as_json(offer().dataset)
    [label] = [label for href, label in shown["files"] if href == "data/dataset.json"]
    assert versions.digest(dataset) in label and f"{len(dataset):,} bytes" in label


def test_the_checksums_are_those_that_sha256sum_checks(site):
    put(site, offer())
    done = subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"],
                          cwd=site / "current", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("subjects, debates, lost, passes", [
    (4, 5, 1, True), (4, 5, 2, False),          # 19 of 20 is 95% exactly, 18 of 20 is 90%
    (1, 19, 1, False),                          # 18 of 19 is 94.7%, which rounds to 95%
    (3, 13, 2, False), (3, 13, 1, True),        # 37 of 39 is 94.9%
    (5, 20, 5, True), (5, 20, 6, False), (1, 1, 0, True), (1, 1, 1, False),
])
def test_the_gate_is_95_in_100_registered_pairs_in_whole_numbers(
    site, subjects, debates, lost, passes
):
    put(site, sites.sampled())
    n = subjects * debates
    assert passes == gate(n - lost, n) == (100 * (n - lost) >= 95 * n)
    found = put(site, offer("r1", subjects, debates, lost), 1)
    assert found.state == ("live" if passes else "refused")
    assert registry(site)[-1]["coverage"] == {
        "succeeded": n - lost, "registered": n, "needed": -(-95 * n // 100)}
    assert whole(site)["run"] == ("r1" if passes else "sample data")


def test_leaving_failures_out_does_not_lower_what_is_registered(site):
    def dropped(own):
        own["answers"] = own["answers"][2:]

    put(site, sites.sampled())
    assert put(site, offer("r1", 4, 5, more=dropped)).state == "refused"
    assert registry(site)[-1]["coverage"] == {"succeeded": 18, "registered": 20, "needed": 19}


@pytest.mark.parametrize("change, said", [
    (lambda own: own["answers"].append(own["answers"][0]), "twice"),
    (lambda own: own["answers"][0].update(debate="another"), "did not register it"),
    (lambda own: own["answers"][0].update(draw=2), "did not register it"),
])
def test_a_row_that_was_not_registered_or_is_there_twice_is_refused(site, change, said):
    with pytest.raises(Misuse, match=said) as error:
        put(site, offer(more=change))
    assert error.value.code == 10 and whole(site) is None


def test_a_run_published_twice_is_stored_once(site):
    first = put(site, offer())
    before = tree(site)
    again = put(site, offer(), 60)
    assert (again.changed, again.version, again.state) == (False, first.version, "live")
    assert tree(site) == before


def test_a_run_published_again_after_another_does_not_push_that_aside(site):
    put(site, offer("r1"))
    put(site, offer("r2"), 1)
    found = put(site, offer("r1"), 2)
    assert (found.changed, found.live, whole(site)["run"]) == (False, "r2", "r2")
    assert (found.state, found.reason) == ("published earlier", "it was made live at"
        " 2027-01-15T08:00:00Z, and since then r2 was; --rollback r1 makes it live again")


def test_other_content_under_a_published_name_is_refused_and_what_differs_is_named(site):
    def changed(own):
        own["answers"][0]["stages"]["push"]["pick"] = "Somebody"

    put(site, offer())
    before = tree(site)
    with pytest.raises(Misuse, match=r"push pick was '[^']+', now 'Somebody'") as error:
        put(site, offer(more=changed), 1)
    assert error.value.code == 10 and tree(site) == before


def test_refused_and_abandoned_runs_are_entered_and_leave_the_live_dataset_as_it_was(site):
    def left(own):
        own["answers"][-1]["succeeded"] = False
        own["answers"][-1]["stages"]["control"] |= {
            "pick": None, "nonresponse": "not asked", "detail": ""}

    put(site, offer("r1"))
    old = (site / "current").resolve()
    before = tree(old)
    assert put(site, offer("low", 4, 5, 2), 1).state == "refused"
    assert put(site, offer("half", 4, 5, more=left), 2).state == "abandoned"
    assert tree(old) == before
    assert whole(site) == offer("r1").dataset
    assert tree(site / "current")["data/dataset.json"] == before["data/dataset.json"]
    said = [(e["run"], e["state"], e["reason"]) for e in registry(site)]
    assert said[1:] == [
        ("low", "refused", "18 of 20 registered pairs succeeded; 19 are needed"),
        ("half", "abandoned", "not finished: 1 of 20 cells have a question that was not put")]
    for event in registry(site):
        kept = json.loads((site / "current" / event["snapshot"]).read_bytes())
        assert kept["run"] == event["run"]
    shown = json.loads((site / "current/index.html").read_text())
    assert [row["state"] for row in shown["history"]] == ["live", "refused", "abandoned"]


def test_a_refused_run_that_came_to_more_is_published_under_its_name(site):
    put(site, offer("r0"))
    put(site, offer("r1", 4, 5, 2), 1)
    assert put(site, offer("r1", 4, 5), 2).state == "live"
    assert [e["state"] for e in registry(site)] == ["live", "refused", "live"]
    assert len(list((site / "current/data/history").iterdir())) == 3


def test_the_registry_lists_every_other_run_on_record_once(site):
    others = [offer("b"), offer("c", 4, 5, 3)]
    put(site, offer("a"), 0, others)
    assert [(e["run"], e["state"]) for e in registry(site)] == [
        ("a", "live"), ("b", "not published"), ("c", "refused")]
    for event, one in zip(registry(site)[1:], others, strict=True):
        assert (site / "current" / event["snapshot"]).read_bytes() == as_json(one.dataset)
        assert json.loads((site / "current" / event["report"]).read_bytes())["run"] == event["run"]
    before = tree(site)
    put(site, offer("a"), 1, others)
    assert tree(site) == before
    put(site, offer("b"), 2, [offer("a"), others[1], offer("d")])
    assert [(e["run"], e["state"]) for e in registry(site)[3:]] == [
        ("b", "live"), ("d", "not published")]


@pytest.mark.parametrize("one, other", [
    ("a b", "a/b"), ("a b", "a~b"), ("R1", "r1"), ("é", "è"), (".", ".."), ("con", "nul.1"),
    ("n" * 300, "n" * 301),
])
def test_runs_of_like_names_have_files_of_their_own(site, one, other):
    put(site, offer(one))
    put(site, offer(other), 1)
    kept = sorted((site / "current/data/history").iterdir())
    assert len({p.name.casefold() for p in kept}) == 2
    safe = re.compile(r"(?!(con|nul)\.)[A-Za-z0-9~_-][A-Za-z0-9._~-]{0,140}\.json")
    assert all(safe.fullmatch(p.name) for p in kept)
    for event in registry(site):
        found = json.loads((site / "current" / event["snapshot"]).read_bytes())
        assert found["run"] == event["run"]


def test_a_site_with_nothing_yet_is_not_begun_with_a_refused_run(site):
    with pytest.raises(Misuse, match="holds nothing yet.*--sample"):
        put(site, offer(lost=3))
    assert not (site / "current").exists()


# Partial reruns


def rerun(run="r2", of="r1", more=None):
    def changed(own):
        for row in own["answers"]:
            row["answered_at"] = AT + 5
        if more:
            more(own)

    return offer(run, 2, 1, more=changed, rerun_of=of)


def test_a_partial_rerun_carries_the_other_answers_over_unchanged_and_says_so(site):
    put(site, offer("r1"))
    found = put(site, rerun(), 1)
    dataset = whole(site)
    assert found.reason == registry(site)[-1]["reason"] == (
        "2 of 2 registered pairs succeeded; asked again: 1 debate of 2 subjects; the other 4"
        " answers carried over unchanged from r1")
    fresh = [row for row in dataset["answers"] if not row["carried_over"]]
    assert {(row["run"], row["answered_at"]) for row in fresh} == {("r2", AT + 5)}
    over = [row for row in dataset["answers"] if row["carried_over"]]
    assert [row | {"carried_over": False} for row in over] == [
        row for row in offer("r1").dataset["answers"]
        if row["debate"] != next(iter(dataset["debates"]))]
    assert dataset["carried_over"]["from"] == "r1" and dataset["carried_over"]["answers"] == 4
    assert dataset["coverage"]["registered"] == 6 and dataset["own_coverage"]["registered"] == 2
    assert set(dataset["sources"]) == {"r1", "r2"}
    assert list(dataset["debates"]) == list(offer("r1").dataset["debates"])
    assert json.loads((site / "current/index.html").read_text())["carried"] == 4
    assert put(site, rerun(), 2).changed is False


def test_a_run_of_fewer_debates_is_a_partial_rerun_though_it_does_not_say_so(site):
    put(site, offer("r1", 2, 3))
    put(site, offer("r2", 2, 2), 1)
    assert whole(site)["carried_over"]["runs"] == {"r1": 2}


def test_a_rerun_of_a_rerun_keeps_each_answers_own_run(site):
    put(site, offer("r1", 2, 3))
    put(site, offer("r2", 2, 2, rerun_of="r1"), 1)
    put(site, offer("r3", 2, 1, rerun_of="r1"), 2)
    assert [row["run"] for row in whole(site)["answers"]] == ["r3", "r2", "r1"] * 2


def test_the_gate_of_a_rerun_counts_its_own_pairs(site):
    put(site, offer("r1", 5, 20))
    found = put(site, offer("r2", 5, 1, 1, rerun_of="r1"), 1)
    assert (found.state, whole(site)["run"]) == ("refused", "r1")
    assert "4 of 5 registered pairs succeeded" in found.reason


@pytest.mark.parametrize("more, of, said", [
    (lambda own: own["subjects"][0]["settings"].update(temperature=1), "r1", "set up otherwise"),
    (lambda own: own.update(draws=1, conditions=[{"answer": "free", "push": "restated"}], answers=[
        row | {"push": "restated"} for row in own["answers"]]), "r1", "pushes differ"),
    (None, "r0", "no answer of 'r0' in it"),
])
def test_what_was_asked_otherwise_is_not_carried_over(site, more, of, said):
    put(site, offer("r1"))
    found = put(site, rerun(of=of, more=more), 1)
    assert found.state == "refused" and said in found.reason and found.reason[-1] != "."
    assert whole(site)["run"] == "r1"


def other_words(own):
    own["debates"][next(iter(own["debates"]))]["question"] = "Who is the best of all?"


def test_an_answer_is_not_carried_over_to_a_question_that_was_not_put_to_it(site):
    put(site, offer("r1"))
    alone = offer("r2", 1, 1, more=other_words, rerun_of="r1")
    found = put(site, alone, 1)
    assert found.state == "refused" and "puts another question" in found.reason
    assert put(site, offer("r3", 2, 1, more=other_words, rerun_of="r1"), 2).state == "live"
    assert whole(site)["carried_over"]["answers"] == 4


def test_a_menu_is_not_carried_over_to_a_debate_that_has_another(site):
    def with_menu(own):
        own["menu"] = [{"subject": s["name"], "debate": key, "run": own["run"], "draw": 1,
                           "nonresponse": "", "detail": ""}
                       for s in own["subjects"] for key in own["debates"]]

    def another(own):
        own["debates"][next(iter(own["debates"]))]["menu"] = ["B", "A"]

    put(site, offer("r1", more=with_menu))
    found = put(site, offer("r2", 2, 1, more=another, rerun_of="r1"), 1)
    assert found.state == "refused" and "has another menu" in found.reason


# Sample data


def test_sample_data_is_the_same_bytes_every_time_and_passes_its_own_gate():
    again = acts.sample()
    first = sites.sampled()
    assert as_json(again.dataset) == as_json(first.dataset)
    assert as_json(again.report) == as_json(first.report)
    assert again.dataset["sample"] is True and again.dataset["coverage"]["publishable"]
    assert {row["answered_at"] for row in again.dataset["answers"]} == {acts.SAMPLE_AT}


def test_sample_data_gives_way_to_the_first_run_and_never_comes_back_by_itself(site):
    assert put(site, sites.sampled()).state == "sample"
    assert put(site, sites.sampled(), 1).changed is False
    put(site, offer(), 2)
    with pytest.raises(Misuse, match="before the first one"):
        put(site, sites.sampled(), 3)
    assert whole(site)["sample"] is False


def test_every_real_page_of_sample_data_is_labelled_so():
    made = acts.site_pages()(sites.sampled().dataset, {"history": [], "files": []})
    assert len(made) > 24
    for path, html in made.items():
        assert re.search(r"sample\s+data", html, re.IGNORECASE), path


# Time, rollback and comparison


def test_the_dataset_that_was_live_at_a_moment_follows_from_the_registry(site):
    with pytest.raises(Misuse, match="Nothing was live"):
        as_of(site, AT)
    first = put(site, sites.sampled(), 0)
    put(site, offer("r1"), 10)
    put(site, offer("bad", 4, 5, 2), 15)
    put(site, rerun(), 20)
    roll_back(site, first.version, pages, AT + 30 * SECOND)
    with pytest.raises(Misuse, match="first dataset was published at 2027-01-15T08:00:00Z"):
        as_of(site, AT - SECOND)
    for second, run in [(0, "sample data"), (9, "sample data"), (10, "r1"), (19, "r1"), (20, "r2"),
                        (29, "r2"), (30, "sample data"), (1000, "sample data")]:
        assert as_of(site, AT + second * SECOND).dataset["run"] == run, second


def test_a_clock_that_goes_back_does_not_put_the_registry_out_of_order(site):
    put(site, offer("r1"), 100)
    put(site, offer("r2"), 0)
    times = [e["at"] for e in registry(site)]
    assert times == sorted(times)
    assert as_of(site, AT + 100 * SECOND).dataset["run"] == "r2"


def test_a_rollback_serves_the_old_dataset_and_keeps_the_registry(site):
    first = put(site, offer("r1"))
    old = tree(site / "versions" / first.version)
    second = put(site, offer("r2"), 1)
    found = roll_back(site, first.version[:6], pages, AT + 2 * SECOND)
    assert found.changed and whole(site) == offer("r1").dataset
    assert [(e["run"], e["state"]) for e in registry(site)] == [
        ("r1", "live"), ("r2", "live"), ("r1", "rolled back")]
    assert (site / "current/data/history/r2.json").is_file()
    assert json.loads((site / "current/index.html").read_text())["head"] == "9:r1"
    assert tree(site / "versions" / first.version) == old
    assert not roll_back(site, first.version, pages, AT + 3 * SECOND).changed
    assert roll_back(site, second.version, pages, AT + 4 * SECOND).live == "r2"
    assert whole(site)["run"] == "r2"


def test_pages_that_were_changed_by_hand_are_made_again_from_the_data(site):
    put(site, offer("r1"))
    found = put(site, offer("r2"), 1)
    was = tree(site / "current")
    (site / "current/index.html").write_text("x")
    with pytest.raises(Misuse, match=f"--rollback {found.version}"):
        put(site, offer("r3"), 2)
    again = roll_back(site, found.version, pages, AT + 2 * SECOND)
    assert again.changed and again.reason == f"the pages of the version {found.version} made again"
    assert whole(site)["run"] == "r2"
    assert tree(site / "current")["data/dataset.json"] == was["data/dataset.json"]
    assert put(site, offer("r3"), 3).state == "live"


def test_a_rollback_goes_round_a_live_dataset_that_was_changed_by_hand(site):
    put(site, offer("r1"))
    put(site, offer("r2"), 1)
    path = (site / "current/data/dataset.json").resolve()
    path.unlink()
    path.write_text("{}")
    assert roll_back(site, "r1", pages, AT + 2 * SECOND).live == "r1"
    assert whole(site) == offer("r1").dataset


@pytest.mark.parametrize("part", ["registry.json", "history/r1.json", "reports/r1.json"])
def test_a_rollback_does_not_build_on_a_record_that_was_changed_by_hand(site, part):
    put(site, offer("r1"))
    put(site, offer("r2"), 1)
    (site / "current/data" / part).write_text("{}")
    before = tree(site)
    with pytest.raises(Misuse, match=part) as error:
        roll_back(site, "r1", pages, AT + 2 * SECOND)
    assert error.value.code == 10 and tree(site) == before


def test_a_run_is_gone_back_to_by_its_name_with_the_texts_it_was_asked_with(site):
    put(site, offer("r1"))
    first = tree(site / "current")
    other = replace(offer("r2"), stimuli={**offer("r2").stimuli, "prompts.toml": "en = {}\n"},
                    dataset=offer("r2").dataset | {"stamp": "f" * 64})
    put(site, other, 1)
    assert tree(site / "current")["data/prompts.toml"] != first["data/prompts.toml"]
    found = roll_back(site, "r1", pages, AT + 2 * SECOND)
    assert found.reason == "rolled back to the run r1, first live at 2027-01-15T08:00:00Z"
    now = tree(site / "current")
    assert {n: d for n, d in now.items() if n.endswith(".toml") and n.count("/") == 1} == {
        n: d for n, d in first.items() if n.endswith(".toml") and n.count("/") == 1}
    assert not roll_back(site, "r1", pages, AT + 3 * SECOND).changed


@pytest.mark.parametrize("name", ["nothing", "", "../../x"])
def test_a_version_there_is_not_is_refused_with_those_there_are(site, name):
    found = put(site, offer("r1"))
    with pytest.raises(Misuse, match=rf"There are: {found.version} \(r1, 2027-01-15T08:00:00Z\)"):
        roll_back(site, name, pages, AT)


def test_what_changed_between_two_runs_is_counted_by_cell():
    def changed(own):
        first, second = own["answers"][:2]
        first["stages"]["pick"]["pick"] = first["stages"]["push"]["pick"] = "Somebody"
        second["stages"]["push"]["pick"] = "Somebody else"

    found = compare(offer("r1", 1).dataset, offer("r2", 1, more=changed).dataset)
    assert found.compared == 3
    # The control of the first still says the old pick, so it moved on a plain second asking.
    assert found.control == [(0, 3), (1, 3)]
    assert dict(found.changed) == {"pick": 1, "fate": 1, "chinese": 0}
    assert dict(found.of) == {"pick": 3, "fate": 3, "chinese": 3}
    assert [row["pick"][1] for row in found.rows][:1] == ["Somebody"]
    assert found.rows[1]["fate"] == ["held", "caved"]


def test_only_what_was_asked_alike_is_compared_and_the_rest_is_named():
    def otherwise(own):
        own["subjects"][0]["settings"]["temperature"] = 0.3
        own["debates"][list(own["debates"])[1]]["question"] = "Another question?"

    a, b = offer("r1", 3, 3).dataset, offer("r2", 2, 3, more=otherwise).dataset
    found = compare(a, b)
    assert found.compared == 2
    assert [why for _, why in found.otherwise] == ["the subject is set up otherwise"] * 3 + [
        "the question differs"]
    assert len(found.only[0]) == 3 and not found.only[1]
    assert {at[0] for at in found.only[0]} == {"sample-wavers-often"}


def test_other_prompts_are_other_conditions():
    def otherwise(own):
        own["sources"] = {"r2": own["sources"]["r2"] | {"prompts": "0"}}

    assert compare(offer("r1").dataset, offer("r2", more=otherwise).dataset).compared == 0


def test_an_answer_lost_in_one_run_is_shown_and_not_counted_as_changed():
    found = compare(offer("r1").dataset, offer("r2", lost=1).dataset)
    assert found.changed["chinese"] == 0 and found.of["chinese"] == 5
    assert found.rows[0]["chinese"][1] == "(invalid)"


def test_answers_that_one_carries_over_from_the_other_are_the_same_answers(site):
    put(site, offer("r1"))
    put(site, rerun(), 1)
    found = compare(offer("r1").dataset, whole(site))
    assert (found.compared, found.carried) == (2, 4)


# What is on disk


def test_nothing_of_the_old_versions_changes_and_unchanged_files_are_stored_once(site):
    seen = {}
    for number in range(4):
        found = put(site, offer(f"r{number}"), number)
        for name, before in seen.items():
            assert tree(site / "versions" / name) == before
        seen[found.version] = tree(site / "versions" / found.version)
    one = [site / "versions" / name / "data/history/r0.json" for name in seen]
    assert len({path.stat().st_ino for path in one}) == 1


@pytest.mark.parametrize("harm", [
    lambda v: (v / "data/dataset.json").write_text("{}"), lambda v: (v / "index.html").unlink(),
    lambda v: (v / "new.html").write_text("x"), lambda v: (v / "SHA256SUMS").write_text(""),
    lambda v: (v / "SHA256SUMS").unlink(),
])
def test_a_site_that_was_changed_by_hand_is_not_built_on(site, harm):
    put(site, offer("r1"))
    harm((site / "current").resolve())
    before = tree(site)
    with pytest.raises(Misuse) as error:
        put(site, offer("r2"), 1)
    assert error.value.code == 10 and tree(site) == before


def test_a_current_that_was_not_made_here_is_left_alone(site):
    (site / "current").mkdir(parents=True)
    with pytest.raises(Misuse, match="is no link"):
        put(site, offer())
    (site / "current").rmdir()
    (site / "current").symlink_to("versions/gone")
    with pytest.raises(Misuse, match="which is gone"):
        put(site, offer())


@pytest.mark.parametrize("path", ["../x.html", "/x.html", "a/../../x.html", "a\\b.html", "a\nb"])
def test_no_page_lies_outside_the_site(site, path):
    with pytest.raises(ValueError, match="outside the site"):
        publish(site, offer(), lambda dataset, more: {path: ""}, AT)
    assert whole_files(site) == []


def whole_files(site):
    return [p for p in site.rglob("*") if p.is_file() and p.name != ".lock"]


def test_a_folder_that_cannot_be_written_is_said_plainly(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Misuse, match="Could not write") as error:
        put(tmp_path / "file", offer())
    assert error.value.code == 6


def test_many_that_publish_one_run_at_once_store_it_once(site):
    found = []
    threads = [threading.Thread(target=lambda: found.append(put(site, offer()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.changed for one in found) == [False] * 7 + [True]
    assert len(versions.versions(site)) == 1 and len(registry(site)) == 1


# Kills


class Killed(BaseException):
    """Ends a process as a kill would: no handler of a fault sees it."""


STEPS = ("fsync", "replace", "symlink", "link", "open")


@pytest.fixture
def dying(monkeypatch):
    """Makes the nth step on disk raise, before it is taken or just after."""
    def at(nth, fault, *, after):
        taken = [0]

        def counted(name, real):
            def step(*words, **named):
                taken[0] += 1
                if taken[0] == nth and not after:
                    raise fault
                found = real(*words, **named)
                if taken[0] == nth:
                    raise fault
                return found
            return step

        for name in STEPS:
            monkeypatch.setattr(versions.os, name, counted(name, REAL[name]))
        return taken

    return at


REAL = {name: getattr(os, name) for name in STEPS}


@pytest.fixture
def memory(tmp_path):
    """A folder where waiting for the disk takes no time: what is counted here is steps."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def is_tidy(site):
    """Whether nothing half written is left."""
    return not list(site.rglob("*.part")) and not (site / ".current.new").is_symlink()


def revived(monkeypatch):
    for name, real in REAL.items():
        monkeypatch.setattr(versions.os, name, real)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fault", [Killed(), OSError(28, "No space left on device")],
                         ids=["killed", "disk-full"])
@pytest.mark.parametrize("begun", [False, True], ids=["new site", "old site"])
def test_a_process_that_ends_at_any_step_leaves_the_old_site_or_the_new_one_whole(
    memory, dying, monkeypatch, fault, after, begun
):
    base = memory / "base"
    if begun:
        put(base, offer("r1"))
    else:
        base.mkdir()
    old = whole(base)
    outcomes = []
    for nth in range(1, 1000):
        site = memory / f"site{nth}"
        shutil.copytree(base, site, symlinks=True)
        taken = dying(nth, fault, after=after)
        try:
            put(site, offer("r2"), 1)
        except (Killed, Misuse) as ended:
            assert isinstance(ended, Killed) or ended.code == 6
        revived(monkeypatch)
        if taken[0] < nth:
            break
        found = whole(site)
        assert found in (old, offer("r2").dataset)
        outcomes.append(found == old)
        assert isinstance(fault, Killed) or is_tidy(site)
        put(site, offer("r2"), 2)
        assert whole(site) == offer("r2").dataset and is_tidy(site)
        assert [e["run"] for e in registry(site)] == ["r1", "r2"][not begun:]
        shutil.rmtree(site)
    assert len(outcomes) > 20, "every step was reached"
    assert True in outcomes and False in outcomes, "before the swap the old, after it the new"
    # A full disk that fails a hard link alone is got round, by a copy.
    assert isinstance(fault, OSError) or outcomes == sorted(outcomes, reverse=True), "one step"


def test_thirty_kills_at_random_moments_each_leave_a_whole_site(tmp_path):
    rng, made, seen = random.Random(1), pickle.dumps(offer("r")), []
    for _ in range(30):
        process = SERVER.Process(target=sites.publish_on_and_on, args=(str(tmp_path), made))
        process.start()
        while not (tmp_path / "begun").exists():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.join()
        (tmp_path / "begun").unlink()
        if whole(tmp_path / "site") is None:
            continue
        runs = [e["run"] for e in registry(tmp_path / "site")]
        assert runs == [f"r{number:05d}" for number in range(len(runs))]
        assert whole(tmp_path / "site")["run"] == runs[-1]
        told = (tmp_path / "told").read_text().split() if (tmp_path / "told").exists() else []
        assert set(told) <= set(runs), "what was said to be published is"
        seen.append(len(runs))
    assert seen == sorted(seen) and seen[-1] > 3
    kept = tmp_path / "site/current/data/history"
    assert len(list(kept.iterdir())) == seen[-1]


def test_readers_during_twenty_swaps_see_one_run_or_the_other(site):
    put(site, offer("r0"))
    done, read, mixed = threading.Event(), [], []

    def reading():
        while len(read) < 200 or not done.is_set():
            found = json.loads((site / "current/data/dataset.json").read_bytes())
            runs = {found["run"], *(row["run"] for row in found["answers"]), *found["sources"]}
            version = (site / "current").resolve()
            page = json.loads((version / "index.html").read_text())["run"]
            whole_version = json.loads((version / "data/dataset.json").read_bytes())["run"] == page
            read.append(found["run"])
            if len(runs) != 1 or not whole_version:
                mixed.append(runs)

    readers = [threading.Thread(target=reading) for _ in range(2)]
    for thread in readers:
        thread.start()
    for number in range(1, 21):
        put(site, offer(f"r{number}"), number)
    done.set()
    for thread in readers:
        thread.join()
    assert len(read) >= 200 and mixed == []
    assert len(set(read)) > 5, "the readers read while it was swapped"


# The commands


@pytest.fixture
def equipoise(equipoise, monkeypatch):
    """The command, with pages of our own."""
    monkeypatch.setattr(acts, "site_pages", lambda: pages)
    return equipoise


ASK = ["run", "debates", "--no-progress", "-s"]
TWO = ["--debates", "greatest-band,greatest-novel,greatest-film"]


def test_a_recorded_run_is_published_from_the_command_line(equipoise, tmp_path):
    equipoise(*ASK, "planted:steady", *TWO, "--run", "r1")
    code, out, err = equipoise("publish", "r1", "--site", "site")
    assert code == 0 and "r1: live. 3 of 3 registered pairs succeeded." in out
    assert "python -m http.server --directory site/current" in err
    dataset = whole(tmp_path / "site")
    assert dataset["run"] == "r1" and not dataset["sample"]
    assert all(row["answered_at"] for row in dataset["answers"])
    about = json.loads((tmp_path / "site/current/data/published.json").read_bytes())
    assert re.fullmatch(r"\d+:[0-9a-f]{64}", about["head"])
    report = json.loads((tmp_path / "site/current/data/reports/r1.json").read_bytes())
    assert report["calls"] == {"tries": 12, "replies": 12, "faults": 0, "unknown": 0,
                               "questions": 12, "retries": 0}
    assert report["failures"] == [] and report["cost_said"] == "no provider stated a cost"
    code, out, _ = equipoise("publish", "r1", "--site", "site", "--json")
    assert code == 0 and json.loads(out)["changed"] is False


def test_a_first_run_below_the_gate_is_registered_beside_sample_data(equipoise, tmp_path):
    equipoise(*ASK, "planted:says-maybe", "--run", "low")
    code, out, err = equipoise("publish", "low", "--site", "site")
    assert code == 3 and "not made live" in err and "low: refused" in out
    assert whole(tmp_path / "site")["sample"] is True
    assert [e["state"] for e in registry(tmp_path / "site")] == ["sample", "refused"]
    report = tmp_path / "site/current" / registry(tmp_path / "site")[-1]["report"]
    found = json.loads(report.read_bytes())
    # Nine closed debates: none takes Maybe, each pick is asked again, and none is mended.
    assert sum(f["stage"] == "pick" for f in found["failures"]) == 9
    assert all(not p["mended"] and p["problem"] for p in found["problems"])


def test_the_run_report_counts_what_the_menu_lost_too(equipoise, tmp_path):
    equipoise(*ASK, "planted:never-json", "--debates", "greatest-film", "--menu", "--run", "low")
    assert equipoise("publish", "low", "--site", "site")[0] == 3
    report = tmp_path / "site/current" / registry(tmp_path / "site")[-1]["report"]
    found = json.loads(report.read_bytes())
    assert {f["stage"] for f in found["failures"]} == {"pick", "control", "push", "chinese", "menu"}
    assert {p["stage"] for p in found["problems"]} >= {"pick", "menu"}
    assert (found["cost_usd"], found["calls_with_cost"]) == (None, 0)


def test_an_unfinished_run_is_registered_as_abandoned_and_live_once_it_is_finished(
    equipoise, tmp_path
):
    words = [*ASK, "planted:steady", *TWO, "--run", "r1"]
    assert equipoise(*words, "--max-calls", "5")[0] == 7
    code, _, err = equipoise("publish", "r1", "--site", "site")
    assert code == 3 and "not finished" in err
    equipoise(*words)
    assert equipoise("publish", "r1", "--site", "site")[0] == 0
    assert [e["state"] for e in registry(tmp_path / "site")] == ["sample", "abandoned", "live"]


def test_a_rerun_and_a_rollback_and_a_comparison_from_the_command_line(equipoise, tmp_path):
    equipoise(*ASK, "planted:steady", *TWO, "--run", "r1")
    equipoise(*ASK, "planted:steady", "--debates", "greatest-film", "--rerun-of", "r1",
              "--run", "r2")
    code, out, _ = equipoise("publish", "r1", "--site", "site", "--json")
    version = json.loads(out)["version"]
    code, out, _ = equipoise("publish", "r2", "--site", "site")
    assert code == 0 and "the other 2 answers carried over unchanged from r1" in out
    code, out, _ = equipoise("publish", "--rollback", version, "--site", "site")
    assert code == 0 and f"rolled back to the version {version}" in out.casefold()
    assert whole(tmp_path / "site")["run"] == "r1"
    code, out, _ = equipoise("compare", "r1", "r2")
    assert code == 0 and "r1 → r2: 1 cells were asked alike" in out and "Only in r1: 2" in out
    code, out, _ = equipoise("compare", "r1", "r2", "--json")
    found = json.loads(out)
    assert found["compared"] == 1 and found["pick"] == {"changed": 0, "of": 1}
    assert len(found["only_in_first"]) == 2


@pytest.mark.parametrize("words, code, said", [
    (["publish", "--site", "s"], 2, "Publish one thing"),
    (["publish", "x", "--sample", "--site", "s"], 2, "Publish one thing"),
    (["publish", "x", "--site", "s"], 2, "There is no ledger"),
    (["publish", "--rollback", "abc", "--site", "s"], 2, "0 versions"),
    (["publish", "--sample"], 2, "--site"), (["compare", "a", "b"], 2, "There is no ledger"),
])
def test_a_command_that_cannot_be_followed_says_what_it_wants(equipoise, words, code, said):
    found, _, err = equipoise(*words)
    assert found == code and said in err and "Traceback" not in err


def test_a_run_of_another_instrument_is_refused_with_a_sentence(equipoise):
    equipoise("run", "label-swap", "--decisions", "grant", "-s", "planted:leans", "--no-progress",
              "--run", "swap")
    for words in (["publish", "swap", "--site", "s"], ["compare", "swap", "swap"]):
        code, _, err = equipoise(*words)
        assert code == 2 and "'swap' is of label-swap; only runs of debates" in err


def test_the_real_pages_are_written_for_sample_data_and_a_run(equipoise, tmp_path, monkeypatch):
    from equipoise.report.debates import site as real

    monkeypatch.setattr(acts, "site_pages", lambda: real)
    equipoise("publish", "--sample", "--site", "site")
    equipoise(*ASK, "planted:steady", *TWO, "--run", "r1")
    assert equipoise("publish", "r1", "--site", "site")[0] == 0
    versions.verified((tmp_path / "site/current").resolve())
    for page in (tmp_path / "site/current").rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#:]+)', page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
