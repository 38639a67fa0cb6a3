"""The measurement log only grows: entries by date, marked corrections, a queue, and a page."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from equipoise.report.log import (
    TITLE,
    Entry,
    coded,
    differing,
    entries,
    is_corrected,
    page,
    plain,
    queued,
    with_correction,
    with_entry,
    with_queued,
    without_queued,
)
from equipoise.terms import Misuse

DAY = 86_400_000_000
RUN = ["run", "label-swap", "--decisions", "grant", "-s", "planted:leans", "--no-progress"]


def entry(run="r1", day=20_000, result=("A null.",), **more):
    said = {
        "head": "1:" + "a" * 64, "title": f"What {run} found", "question": "Does it?",
        "design": ("Asked twice.",), "table": (("", "p"), ("one", ".30")),
        "result": tuple(result), "not_shown": ("Nothing else.",), "cost": "12 calls.",
        "again": (f"equipoise read {run}",),
    }
    return Entry(run=run, at=day * DAY, **said | more)


def is_kept(before, after):
    """Whether every line of one text stands in the other, in the same order."""
    lines = iter(after.splitlines())
    return all(line in lines for line in before.splitlines())


@given(st.lists(st.integers(19_000, 21_000), min_size=1, max_size=8))
def test_entries_stand_by_date_and_nothing_that_stood_there_changes(days):
    log = ""
    for place, day in enumerate(days):
        grown = with_entry(log, entry(f"r{place}", day))
        assert is_kept(log, grown)
        log = grown
    found = entries(log)
    assert [one.date for one in found] == sorted(one.date for one in found)
    assert {one.run for one in found} == {f"r{place}" for place in range(len(days))}


def test_entries_of_one_day_stand_in_the_order_in_which_they_were_written():
    log = with_entry(with_entry(with_entry("", entry("a", 5)), entry("c", 6)), entry("b", 5))
    assert [one.run for one in entries(log)] == ["a", "b", "c"]


def test_what_a_person_writes_stays_and_is_dated_too():
    log = with_entry("", entry("a", 20_000)).replace("by hand.*", "by hand.*\n\nIt bears on X.")
    by_hand = log + "\n## 2024-10-20 · By hand\n\nCounted on paper.\n"
    assert entries(log)[0].date == "2024-10-04"
    grown = with_entry(by_hand, entry("b", 20_010))
    assert is_kept(by_hand, grown) and "It bears on X." in grown
    assert grown.index("What b found") < grown.index("By hand")


def test_a_run_has_one_entry_and_a_rerun_is_a_new_one():
    log = with_entry("", entry("a"))
    with pytest.raises(Misuse, match="An entry is not written twice"):
        with_entry(log, entry("a"))
    assert len(entries(with_entry(log, entry("a-again")))) == 2


def test_a_correction_is_marked_dated_and_stands_under_its_entry():
    log = with_entry(with_entry("", entry("a", 1)), entry("b", 2))
    corrected = with_correction(log, "a", "The p was\nmisread.", 20_000 * DAY)
    assert is_kept(log, corrected)
    said = "> **Corrected, 4 October 2024.** The p was misread."
    assert said in corrected
    assert corrected.index("What a found") < corrected.index(said) < corrected.index("What b found")
    assert is_corrected(corrected, "a") and not is_corrected(corrected, "b")
    twice = with_correction(corrected, "a", "And again.", 20_000 * DAY)
    assert is_kept(corrected, twice)


def test_a_correction_of_nothing_or_that_says_nothing_is_refused():
    with pytest.raises(Misuse, match="no entry of the run 'b'.*It has: a"):
        with_correction(with_entry("", entry("a")), "b", "x", 0)
    with pytest.raises(Misuse, match="empty"):
        with_correction(with_entry("", entry("a")), "a", " ", 0)


def test_the_queue_stands_last_and_holds_what_has_not_been_run():
    log = with_queued(with_queued("", "One. For this."), "Two. For that.")
    log = with_entry(log, entry("a"))
    assert queued(log) == ["- One. For this.", "- Two. For that."]
    assert log.index("What a found") < log.index("## Queued")
    assert queued(without_queued(log, "one")) == ["- Two. For that."]
    assert queued(with_queued(without_queued(without_queued(log, "One"), "Two"), "Three.")) == [
        "- Three."]
    with pytest.raises(Misuse, match="already"):
        with_queued(log, "One. For this.")
    with pytest.raises(Misuse, match="0 lines of the queue begin with 'three'"):
        without_queued(log, "three")


def test_a_result_that_the_record_does_not_yield_is_found():
    log = with_entry("", entry("a", result=("The lean is 3.6.",)))
    assert differing(log, entry("a", result=("The lean is 3.6.",))) == []
    assert differing(log.replace("3.6", "1.6"), entry("a", result=("The lean is 3.6.",))) == [
        "- The lean is 3.6."]
    assert differing("", entry("a")), "an entry that is not there differs"


def shown(text):
    """What Markdown makes of a text: its words, and whether anything acts."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return re.sub(r"<[^>]+>", "", html), set(re.findall(r"<(\w+)", html))


@given(st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=60))
def test_a_text_is_shown_as_it_is(text):
    from html import unescape

    said, tags = shown(f"**Cost.** {plain(text)} end")
    assert tags == {"p", "strong"}
    assert unescape(said).split() == f"Cost. {text} end".split()


@pytest.mark.parametrize("text", [
    "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](https://evil.example/p.png)",
    "<img src=x onerror=alert(1)>", "](x) [y]: z", "`a` *b* _c_ | d", "# no heading",
])
def test_nothing_in_a_name_acts_on_the_page(text):
    found = page(with_queued(with_entry("", entry("a", title=text, result=(text,), cost=text,
                                                  table=((text,), (text,)))), text))
    assert not re.search(r"<(script|img|iframe|object|form|a)\b", found)
    assert "default-src 'none'" in found


def test_code_in_a_sentence_stays_code():
    assert coded("Use `--vary asked`, or *not*.") == "Use `--vary asked`, or \\*not\\*."


def last_run(equipoise):
    return json.loads(equipoise("runs", "--json")[1])["runs"][-1]["name"]


@pytest.mark.parametrize("words", [
    RUN, ["run", "fingerprint", "-s", "planted:holds", "--no-progress"],
], ids=["label-swap", "fingerprint"])
def test_a_finished_run_of_any_instrument_is_entered_and_checks_out(equipoise, tmp_path, words):
    equipoise(*words)
    run = last_run(equipoise)
    assert equipoise("log", run)[0] == 0
    log = (tmp_path / "measurement-log.md").read_text(encoding="utf-8")
    assert log.startswith(TITLE)
    for part in ("Question", "Design", "Result", "What it does not show", "Cost",
                 "To get it again"):
        assert f"**{part}.**" in log
    assert f"equipoise read {run} --json" in log
    code, out, _ = equipoise("log", "--check")
    assert (code, out) == (0, f"{run}: as recorded\n1 entries checked.\n")
    code, _, err = equipoise("log", run)
    assert code == 2 and "not written twice" in err
    assert (tmp_path / "measurement-log.md").read_text(encoding="utf-8") == log


def test_a_changed_result_fails_the_check_until_the_change_is_marked(equipoise, tmp_path):
    equipoise(*RUN)
    run, file = last_run(equipoise), tmp_path / "measurement-log.md"
    equipoise("log", run)
    file.write_text(file.read_text("utf-8").replace("flagged", "fine"), encoding="utf-8")
    code, out, err = equipoise("log", "--check")
    assert code == 10 and "differs" in out and "--correct" in err
    assert equipoise("log", run, "--correct", "The word was wrong.")[0] == 0
    code, out, _ = equipoise("log", "--check", "--json")
    assert code == 0 and json.loads(out)["entries"][0]["state"] == "corrected"


def test_an_unfinished_run_has_no_entry(equipoise, tmp_path):
    code, _, err = equipoise(*RUN, "--max-calls", "7")
    assert code == 7, err
    code, _, err = equipoise("log", last_run(equipoise))
    assert code == 2 and "is not finished: 143 of 150 cells" in err
    assert not (tmp_path / "measurement-log.md").exists()


@pytest.mark.parametrize("words, said", [
    (["log"], "Nothing to write"), (["log", "nothing"], "There is no ledger"),
    (["log", "--correct", "x"], "needs the run"), (["log", "--page", "x.html"], "no log"),
])
def test_a_log_command_that_asks_for_nothing_says_what_it_wants(equipoise, words, said):
    code, _, err = equipoise(*words)
    assert code == 2 and said in err


def test_the_queue_and_the_page_from_the_command_line(equipoise, tmp_path):
    assert equipoise("log", "--queue", "Later. For that.", "--page", "log.html")[0] == 0
    html = (tmp_path / "log.html").read_text(encoding="utf-8")
    assert "<li>Later. For that.</li>" in html
    assert equipoise("log", "--done", "later")[0] == 0
    assert "Later" not in (tmp_path / "measurement-log.md").read_text(encoding="utf-8")
