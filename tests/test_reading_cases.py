"""Faults that other tools' users reported, each row of that list as a claim."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.reading.by_name import json_object, stated_choice, stated_probability
from equipoise.terms import Completion, Finish, Nonresponse

LETTERS = {"A": ("A", "mercy"), "B": ("B", "punishment")}


def choice(text: str, finish: Finish = "stop") -> object:
    return shown(stated_choice(LETTERS)(Completion(text, finish=finish)).value)


def points(text: str) -> object:
    return shown(stated_probability()(Completion(text)).value)


def pick(text: str, finish: Finish = "stop", **required: str) -> Any:
    reader = json_object(required or {"pick": "string"})
    return shown(reader(Completion(text, finish=finish)).value)


def shown(value: object) -> object:
    return value.kind if isinstance(value, Nonresponse) else value


@pytest.mark.parametrize("marked", ["$B$", "**B**", "(B)", "[B]", "`B`", "*B*", r"\boxed{B}"])
def test_1_marks_round_a_letter_do_not_hide_it(marked: str) -> None:
    assert choice(f"ANSWER: {marked}") == "B"


@pytest.mark.parametrize("words", ["bad question", "a bad idea", "abstain", "A bit of each"])
def test_2_letters_inside_words_are_no_choice(words: str) -> None:
    assert choice(f"ANSWER: {words}") == "unclear"


def test_3_the_last_contract_line_counts_in_any_case() -> None:
    assert choice("Answer: the task is about fruit…\nANSWER: b") == "B"


@pytest.mark.parametrize("text", ["Any of these could be right.", "Connection dropped"])
def test_4_a_capital_letter_somewhere_is_no_answer(text: str) -> None:
    assert choice(text) == "unclear"


@pytest.mark.parametrize("text", [
    "A 和 C 都不对，只有选项B是对的", "只有选项B是对的", "只有B是正确的", "选B", "答案：B",
    "我的选择是B", "我选择B", "B比A更好", "与其A，不如B", "不是A，而是B",
])
def test_6_each_chinese_pattern_reads_alone(text: str) -> None:
    assert choice(text) == "B"


def test_7_digits_are_never_glued_and_a_proportion_is_never_points() -> None:
    assert points("0.7") == "unclear"
    assert points("64.5") == 64.5
    assert points("1.0") == 100


def test_9_the_first_number_does_not_win_and_a_negated_word_is_no_score() -> None:
    assert points("I found 3 flaws, so I give 9") == 9
    assert points("hardly excellent") == "unclear"


def test_11_a_fence_is_removed_and_a_python_boolean_is_a_fault() -> None:
    fenced = '```json\n{"shown": %s, "why": "it is there"}\n```'
    assert pick(fenced % "true", shown="boolean")["shown"] is True
    assert pick(fenced % "True", shown="boolean") == "invalid"


def test_12_a_reply_cut_off_is_truncated_and_gets_no_brace() -> None:
    cut = '{"shown": "yes", "why": "the page'
    assert pick(cut, "length", shown="string") == "truncated"
    assert pick(cut, shown="string") == "invalid"


def test_13_thinking_before_the_object_is_no_part_of_it() -> None:
    assert pick('<think>maybe LeBron</think>{"pick":"Jordan"}') == {"pick": "Jordan"}
    assert pick('<think>maybe {"pick":"LeBron"}') == "truncated"


def test_14_curly_quotes_as_structure_are_read_by_a_named_rule() -> None:
    reading = json_object({"pick": "string"})(Completion("{“pick”:“乔丹”}"))
    assert (reading.value, reading.rule) == ({"pick": "乔丹"}, "wide-marks")


@pytest.mark.parametrize("text", ["I know it should stay", "bypass it", "yesterday", "nothing"])
def test_17_yes_and_no_are_whole_words(text: str) -> None:
    read = stated_choice({"yes": ("yes",), "no": ("no",)})
    assert shown(read(Completion(text)).value) == "unclear"
    assert read(Completion("No.")).value == "no"


def test_18_sympathy_and_quoted_speech_are_no_refusals() -> None:
    assert choice("I'm sorry about your week — B.") == "B"
    assert choice('"I cannot open the gate," she said') == "unclear"


def test_19_a_reply_without_an_answer_is_unread_and_never_scored() -> None:
    assert choice("The text was long and had several parts.") == "unclear"
    assert points("The text was long and had several parts.") == "unclear"
