"""What a site keeps: the answers of a moment, two versions side by side, and what may go."""

import json
import shutil

import pytest

from equipoise.cli import publishing as acts
from equipoise.cli.answers import moment
from equipoise.report import kept, versions
from equipoise.report.kept import as_of, prune, stored
from equipoise.report.publishing import publish, roll_back
from equipoise.terms import Misuse
from sites import AT, SECOND, events, offer, pages, tree, whole


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


@pytest.fixture
def equipoise(equipoise, monkeypatch):
    """The command, with pages of our own."""
    monkeypatch.setattr(acts, "site_pages", lambda: pages)
    return equipoise


def put(site, run, after=0):
    return publish(site, run, pages, AT + after * SECOND)


# The answers of a moment


def test_a_dataset_was_live_from_its_event_to_the_next(site):
    put(site, offer("r1"))
    put(site, offer("low", 4, 5, 2), 5)
    put(site, offer("r2"), 10)
    first, second = as_of(site, AT + 9 * SECOND), as_of(site, AT + 10 * SECOND)
    assert (first.dataset["run"], first.since, first.until) == (
        "r1", "2027-01-15T08:00:00Z", "2027-01-15T08:00:10Z")
    assert (second.dataset["run"], second.since, second.until) == (
        "r2", "2027-01-15T08:00:10Z", "")


@pytest.mark.parametrize("text, wanted", [
    # 2027-01-15T08:00:00Z is AT; the day ends sixteen hours later, less a microsecond.
    ("2027-01-15", AT + 16 * 3600 * SECOND - 1), ("2027-01-15T08:00:00Z", AT),
    ("2027-01-15T08:00:00", AT), ("2027-01-15T09:00:01+01:00", AT + SECOND),
    ("2027-01-15 08:00:02", AT + 2 * SECOND),
])
def test_a_date_is_its_end_and_a_time_without_a_zone_is_utc(text, wanted):
    assert moment(text) == wanted


@pytest.mark.parametrize("text", ["", "x", "2027-13-01", "2027-01-15T25:00", "yesterday",
                                  "9999-12-31T23:59:59-14:00", "1 January 2027"])
def test_what_is_no_date_is_refused_with_an_example(text):
    with pytest.raises(Misuse, match="wanted a date as 2026-11-30"):
        moment(text)


def test_the_answers_of_a_moment_are_printed_with_their_runs_and_times(equipoise, site):
    put(site, offer("r1"))
    put(site, offer("r2", 2, 1, rerun_of="r1"), 10)
    words = ["answers", "--site", "site", "--as-of"]
    code, out, _ = equipoise(*words, "2027-01-15T08:00:09Z", "--json")
    found = json.loads(out)
    assert code == 0 and (found["run"], found["until"]) == ("r1", "2027-01-15T08:00:10Z")
    assert found["answers"] == offer("r1").dataset["answers"]
    code, out, _ = equipoise(*words, "2027-01-15", "--json")
    assert [row["run"] for row in json.loads(out)["answers"]] == ["r2", "r1", "r1"] * 2
    debate = next(iter(offer("r1").dataset["debates"]))
    code, out, _ = equipoise(*words, "2027-01-15", "--debate", debate, "--subject",
                             "sample-steady")
    assert code == 0 and "r2, since 2027-01-15T08:00:10Z and still is" in out
    assert len([line for line in out.splitlines() if line.startswith("sample-")]) == 1


@pytest.mark.parametrize("words, said", [
    (["--as-of", "2020-01-01"], "The first dataset was published at 2027-01-15T08:00:00Z"),
    (["--as-of", "soon"], "wanted a date"), (["--as-of", "2027-01-15", "--subject", "x"], "steady"),
    (["--as-of", "2027-01-15", "--debate", "x"], "'x' is no debate of 'r1'"),
])
def test_answers_that_there_are_not_are_refused_with_what_there_is(equipoise, site, words, said):
    put(site, offer("r1"))
    code, _, err = equipoise("answers", "--site", "site", *words)
    assert code == 2 and said in err


def test_a_folder_with_no_site_says_so(equipoise):
    code, _, err = equipoise("answers", "--site", "site")
    assert code == 2 and "Nothing was live" in err


# Two versions side by side


def test_two_versions_of_a_site_are_compared_and_so_are_its_runs(equipoise, site):
    def changed(own):
        own["answers"][0]["stages"]["chinese"]["pick"] = "Somebody"

    a, b = put(site, offer("r1")), put(site, offer("r2", more=changed), 1)
    for words in ([a.version, b.version[:6]], ["r1", "r2"]):
        code, out, _ = equipoise("compare", *words, "--site", "site", "--json")
        found = json.loads(out)
        assert code == 0 and found["chinese"] == {"changed": 1, "of": 6}
    code, out, _ = equipoise("compare", a.version, "r2", "--site", "site")
    assert out.startswith(f"r1 in {a.version} → r2: 6 cells")


def test_what_a_model_said_does_not_act_on_a_terminal(equipoise, site):
    def said(own):
        own["answers"][0]["stages"]["pick"]["pick"] = "\x1b[31mred\u202e"

    put(site, offer("r1"))
    put(site, offer("r2", more=said), 1)
    for words in (["compare", "r1", "r2"], ["answers"]):
        code, out, _ = equipoise(*words, "--site", "site", "--as-of", "2027-01-15") if (
            words == ["answers"]) else equipoise(*words, "--site", "site")
        assert code == 0 and "\\x1b[31mred\\u202e" in out
        assert "\x1b" not in out and "\u202e" not in out


def test_a_refused_runs_snapshot_can_be_compared_too(site):
    put(site, offer("r1"))
    put(site, offer("low", 4, 5, 2), 1)
    assert stored(site, "low")[1] == offer("low", 4, 5, 2).dataset


def test_what_a_site_does_not_keep_is_refused_with_what_it_does(site):
    found = put(site, offer("r1"))
    with pytest.raises(Misuse, match=rf"There are: {found.version} .* And runs: r1\."):
        stored(site, "r9")


# What may go


def test_all_but_the_newest_versions_go_and_nothing_of_the_record(site):
    made = [put(site, offer(f"r{n}"), n).version for n in range(5)]
    before = tree(site / "current")
    gone = prune(site, 2)
    assert [name for name, _ in gone] == [made[2], made[1], made[0]]
    assert gone[0][1] == "r2, 2027-01-15T08:00:02Z"
    assert sorted(made[3:]) == versions.versions(site)
    assert tree(site / "current") == before and whole(site)["run"] == "r4"
    assert as_of(site, AT).dataset == offer("r0").dataset
    assert roll_back(site, "r0", pages, AT + 9 * SECOND).live == "r0"
    assert whole(site) == offer("r0").dataset
    assert prune(site, 3) == ()


def test_the_live_version_stays_though_it_is_not_among_the_newest(site):
    made = [put(site, offer(f"r{n}"), n).version for n in range(3)]
    (site / "current").unlink()
    (site / "current").symlink_to(f"versions/{made[0]}")
    assert [name for name, _ in prune(site, 1)] == [made[1]]
    assert versions.versions(site) == sorted([made[0], made[2]])


def test_nothing_goes_from_a_site_that_was_changed_by_hand_and_nothing_that_is_no_version(site):
    for n in range(3):
        put(site, offer(f"r{n}"), n)
    (site / "versions/mine").mkdir()
    (site / "versions/mine/note.txt").write_text("x")
    (site / "current/index.html").write_text("x")
    before = tree(site)
    with pytest.raises(Misuse, match="not as it was published"):
        prune(site, 1)
    assert tree(site) == before
    roll_back(site, "r2", pages, AT + 3 * SECOND)
    prune(site, 1)
    assert (site / "versions/mine/note.txt").exists() and len(versions.versions(site)) == 2


def test_a_version_goes_in_one_step_and_what_a_kill_leaves_of_it_is_cleared_away(
    site, monkeypatch
):
    for n in range(3):
        put(site, offer(f"r{n}"), n)

    def killed(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(versions.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        prune(site, 1)
    monkeypatch.undo()
    assert whole(site)["run"] == "r2" and len(versions.versions(site)) == 2
    assert len(prune(site, 1)) == 1 and not list(site.rglob("*.part"))
    assert len(versions.versions(site)) == 1


def test_versions_are_taken_away_from_the_command_line_with_a_run_or_alone(equipoise, site):
    put(site, offer("r1"))
    put(site, offer("r2"), 1)
    code, out, err = equipoise("publish", "--keep", "1", "--site", "site")
    assert code == 0 and "Versions taken away: 1.\n  " in out
    assert "(r1, 2027-01-15T08:00:00Z)" in out and "http.server" in err
    code, out, _ = equipoise("publish", "--rollback", "r1", "--keep", "1", "--site", "site",
                             "--json")
    found = json.loads(out)
    assert code == 0 and found["live"] == "r1" and len(found["taken_away"]) == 1
    assert len(events(site / "current")) == 3 and len(versions.versions(site)) == 1
    code, _, err = equipoise("publish", "--keep", "1", "--site", "elsewhere")
    assert code == 2 and "holds nothing yet" in err


def test_a_site_that_cannot_be_read_is_said_plainly(site):
    put(site, offer("r1"))
    shutil.rmtree(site / "current/data/history")
    with pytest.raises(Misuse, match="history"):
        as_of(site, AT)
    assert kept.current(site) is not None
