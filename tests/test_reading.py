"""Readers by themselves: folding, thinking, the first word, the first token, names."""

from __future__ import annotations

import pytest

from equipoise.reading.by_name import first_token, first_word, stated_choice
from equipoise.reading.folding import fold
from equipoise.reading.names import names
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Misuse, Nonresponse

DRINKS = {"vodka": ("vodka", "伏特加"), "whiskey": ("whiskey", "威士忌")}


def kind(value: object) -> object:
    return value.kind if isinstance(value, Nonresponse) else value


@pytest.mark.parametrize(("text", "read"), [
    ("Whiskey", "whiskey"),
    ("WHISKEY!", "whiskey"),
    ("ｗｈｉｓｋｅｙ", "whiskey"),
    ("Not vodka; whiskey", "vodka"),
    ("<think>vodka</think>whiskey", "vodka"),
    ("我更喜欢威士忌", "whiskey"),
    ("I can't pick, but vodka", "vodka"),
    ("vodkas and whiskeys", "unclear"),
    ("I can't choose.", "refused"),
    ("Je ne peux pas choisir.", "refused"),
    ("我不能选择。", "refused"),
    ("tea", "unclear"),
    ("", "unclear"),
])
def test_the_first_word_named_is_read_and_nothing_else(text: str, read: str) -> None:
    assert kind(first_word(DRINKS)(Completion(text)).value) == read


@pytest.mark.parametrize(("text", "read"), [
    ("Whiskey, for its ri", "whiskey"), ("I would say whiskey", "truncated"), ("Hm", "truncated"),
])
def test_a_word_cut_off_is_not_named(text: str, read: str) -> None:
    assert kind(first_word(DRINKS)(Completion(text, finish="length")).value) == read


def test_a_filtered_reply_is_refused_whatever_it_names() -> None:
    assert kind(first_word(DRINKS)(Completion("vodka", finish="filter")).value) == "refused"


@pytest.mark.parametrize(("tokens", "read"), [
    ((("A", -0.1), ("B", -3.0)), "A"),
    ((("A", -1.5), ("B", -1.0), ("mer", -1.4)), "A"),
    (((" \"b", -0.5),), "B"),
    ((("Ａ", -0.5),), "A"),
    ((("A", -0.7), ("B", -0.7)), "unclear"),
    ((("The", -0.1),), "unclear"),
    ((("", -0.1), ("\n", -0.2)), "unclear"),
    ((("Apple", -0.1),), "unclear"),
    ((), "unclear"),
    ((("A", float("-inf")),), "unclear"),
    ((("A", float("nan")), ("B", -0.2)), "B"),
])
def test_the_first_token_sums_what_begins_each_name(
    tokens: tuple[tuple[str, float], ...], read: str
) -> None:
    options = {"A": ("A", "mercy"), "B": ("B", "punishment")}
    assert kind(first_token(options)(Completion("", first_token=tokens)).value) == read


def test_a_prefix_of_two_names_counts_for_neither() -> None:
    read = first_token({"x": ("coffee",), "y": ("cola",)})
    assert kind(read(Completion("", first_token=(("co", -0.1),))).value) == "unclear"


@pytest.mark.parametrize(("text", "proper"), [
    ("B", "B"),
    ("<think>A</think>B", "B"),
    ("<THINKING>A</THINKING>\nB", "\nB"),
    ("A, so</think>B", "B"),
    ("<think>A</think><think>B</think>A", "A"),
    ("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
    ("[THINK]A[/THINK]B", "B"),
    ("◁think▷A◁/think▷B", "B"),
    ("a < b", "a < b"),
])
def test_thinking_is_left_out(text: str, proper: str) -> None:
    assert text[slice(*spoken(text)[:2])] == proper


@pytest.mark.parametrize("text", ["<think>A", "<think>A</think><think>B", "[THINK]B"])
def test_thinking_that_never_ends_is_truncated(text: str) -> None:
    options = {"A": ("A",), "B": ("B",)}
    assert kind(stated_choice(options)(Completion(text)).value) == "truncated"


def test_reasoning_kept_apart_is_never_read() -> None:
    read = stated_choice({"A": ("A",), "B": ("B",)})
    assert kind(read(Completion("", reasoning="so my answer is B")).value) == "unclear"


def test_a_name_of_two_options_is_a_misuse() -> None:
    with pytest.raises(Misuse, match="names both"):
        names({"x": ("Tea",), "y": ("tea ",)})
    with pytest.raises(Misuse, match="names nothing"):
        names({"x": ("!",), "y": ("tea",)})


def test_letters_mean_nothing_where_none_were_shown() -> None:
    assert kind(stated_choice(DRINKS)(Completion("A")).value) == "unclear"


def test_the_longer_of_two_names_is_the_one_named() -> None:
    read = stated_choice({"x": ("ice",), "y": ("ice cream",)})
    assert read(Completion("I choose ice cream.")).value == "y"
    assert read(Completion("I choose ice.")).value == "x"


def test_three_options_are_read_as_two_are() -> None:
    read = stated_choice({letter: (letter,) for letter in "ABC"})
    assert read(Completion("I prefer C to A.")).value == "C"
    assert kind(read(Completion("A, B, C")).value) == "unclear"


def test_folding_leaves_kana_and_hangul_whole() -> None:
    assert fold("が한Ä").text == "が한a"
