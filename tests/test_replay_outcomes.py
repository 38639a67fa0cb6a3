"""What became of a debias is told by page versions alone, by rule."""

import pytest

from equipoise.instruments.replay.contract import Seen
from equipoise.instruments.replay.outcomes import fate
from equipoise.instruments.replay.page import Edit, Page, edited, page
from equipoise.terms import Nonresponse, Reading


def seen(*lines):
    """Readings by version: the line met, None where not met, "?" where undecided."""
    return [Reading(Seen("unknown") if line == "?" else
                    Seen("not met") if line is None else Seen("met", line), "test")
            for line in lines]


def versions(*turns):
    found = [page([("Why now?", "")], "A year's rent.")]
    for edits in turns:
        found.append(edited(found[-1], edits))
    return found


ASK, SETTLE, DROP = Edit("ask", 0, "By when?"), Edit("settle", 2, "In May."), Edit("drop", 2)


def test_a_debias_settled_on_a_later_turn_was_successful():
    found = fate("b", 1, versions([ASK], [SETTLE]), seen(None, 2, 2))
    assert (found.shown, found.turn, found.line, found.outcome) == (True, 1, 2, "successful")
    assert found.stayed is True and found.misfires == ()


def test_a_debias_left_open_while_the_person_went_on_was_ignored():
    assert fate("b", 1, versions([ASK], []), seen(None, 2, 2)).outcome == "ignored"


def test_a_debias_taken_off_the_page_was_dismissed_and_did_not_stay():
    found = fate("b", 1, versions([ASK], [DROP]), seen(None, 2, None))
    assert (found.shown, found.outcome, found.stayed) == (True, "dismissed", False)


def test_a_debias_on_the_last_page_has_no_outcome_yet():
    assert fate("b", 2, versions([], [ASK]), seen(None, None, 2)).outcome == "not answered yet"


def test_a_line_asked_and_settled_in_one_turn_was_answered_by_nobody():
    found = fate("b", 1, versions([ASK, SETTLE]), seen(None, 2))
    assert (found.shown, found.outcome, found.stayed) == (True, "answered unasked", False)


def test_a_debias_one_turn_late_is_shown():
    found = fate("b", 1, versions([], [ASK]), seen(None, None, 2))
    assert (found.shown, found.turn) == (True, 2)


def test_a_settled_line_and_the_at_stake_line_count_as_shown():
    start = page([("By when?", "In May.")], "A year's rent.")
    assert fate("b", 1, [start, start], seen(1, 1)).shown is True
    assert fate("b", 1, [start, start], seen(0, 0)).outcome == "at stake"


def test_asking_again_after_the_answer_is_a_misfire_and_still_shown():
    again = Edit("ask", 0, "When, again?")
    found = fate("b", 1, versions([ASK], [SETTLE], [again]), seen(None, 2, 2, 3))
    assert (found.shown, found.misfires) == (True, ("asked again",))


def test_asking_what_stood_on_the_page_already_is_a_misfire():
    found = fate("b", 1, versions([ASK]), seen(1, 2))
    assert found.misfires == ("on the page already",)


def test_a_debias_where_no_bias_was_is_a_misfire():
    assert fate("b", 0, versions([ASK]), seen(None, 2)).misfires == ("no bias there",)


def test_a_debias_that_stood_there_before_is_no_misfire_of_the_engine():
    assert fate("b", 0, versions([]), seen(1, 1)).misfires == ()


def test_a_debias_before_there_was_a_bias_is_a_misfire_and_counts_once_there_is_one():
    found = fate("b", 2, versions([ASK], []), seen(None, 2, 2))
    assert found.misfires == ("before there was one",) and found.shown is True


def test_a_page_nobody_could_decide_about_is_undecided_and_never_a_score():
    found = fate("b", 1, versions([ASK], []), seen(None, "?", None))
    assert isinstance(found.shown, Nonresponse) and found.shown.kind == "unclear"
    lost = [Reading(Nonresponse("error"), "no-reply")] * 2
    assert isinstance(fate("b", 1, versions([ASK]), lost).shown, Nonresponse)


def test_one_page_that_decides_settles_it_whatever_the_others_left_open():
    assert fate("b", 1, versions([ASK], []), seen(None, "?", 2)).shown is True


def test_a_number_is_never_used_again_after_its_line_is_gone():
    last = versions([ASK], [DROP], [ASK])[-1]
    assert [line.number for line in last.lines] == [1, 3]


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_page_that_is_never_changed_shows_nothing_new(turns):
    assert fate("b", 0, [Page()] * (turns + 1), seen(*[None] * (turns + 1))).shown is False
