"""What must hold of every reader on any reply at all."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.reading.by_name import READERS, stated_choice
from equipoise.reading.folding import fold
from equipoise.reading.rules import RULES
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Nonresponse

LINE: dict[str, Any] = {
    "options": {"A": "mercy", "B": ["punishment", "惩罚"]},
    "contract": '{"pick": string}',
    "scale": "0 to 100",
}
NAMES = {"A": ("a", "mercy"), "B": ("b", "punishment", "惩罚")}
PARTS = (
    "A", "B", "mercy", "punishment", "惩罚", " ", "\n", "I choose ", "not ", "my answer is ",
    ", ", ".", "?", "ANSWER: ", "**", "(", ")", '"', "“", "”", "<think>", "</think>",
    '{"choice": ', "}", " or ", " and ", " because ", "我选", "不", "je préfère ", "pas ", "\0",
    "\ud800", "é", "Ａ", "🙂", "70", "%", "if ", "but ", "wait, no: ", "既", "return ", "'", "[",
    "]", "\\boxed{", "—", "：", "，", "。",
)
BROKEN = st.text(st.characters(exclude_categories=()), max_size=80)
REPLIES = BROKEN | st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


@pytest.mark.parametrize("name", READERS)
@given(text=REPLIES, finish=st.sampled_from(["stop", "length", "filter", "other"]))
@settings(max_examples=400, deadline=None)
def test_no_reply_raises_and_every_rule_is_published(name: str, text: str, finish: Any) -> None:
    tokens = ((text, -0.1), (text[:3], -2.0))
    reading = READERS[name](LINE)(Completion(text, finish=finish, first_token=tokens))
    assert reading.rule in RULES
    first, last = reading.span
    assert (first, last) == (-1, -1) or 0 <= first <= last <= len(text)


@given(text=REPLIES)
@settings(max_examples=1500, deadline=None)
def test_the_deciding_text_names_the_choice(text: str) -> None:
    reading = stated_choice(NAMES)(Completion(text))
    if not isinstance(reading.value, Nonresponse):
        decided = fold(text[slice(*reading.span)]).text
        named = {"A": "B", "B": "A"}[reading.value] if reading.rule == "other-of-two" else (
            reading.value
        )
        assert any(name in decided for name in NAMES[named]), (text, reading)


@given(text=REPLIES)
@settings(max_examples=1500, deadline=None)
def test_the_order_of_options_never_changes_a_choice(text: str) -> None:
    turned = dict(reversed(NAMES.items()))
    assert stated_choice(NAMES)(Completion(text)) == stated_choice(turned)(Completion(text))


@given(text=REPLIES)
@settings(max_examples=500, deadline=None)
def test_swapping_two_names_in_a_reply_swaps_its_reading(text: str) -> None:
    names = {"x": ("vodka",), "y": ("whisky",)}
    plain = text.replace("mercy", "vodka").replace("punishment", "whisky")
    swapped = text.replace("mercy", "whisky").replace("punishment", "vodka")
    read = stated_choice(names)
    one, other = read(Completion(plain)).value, read(Completion(swapped)).value
    assert {"x": "y", "y": "x"}.get(one, one) == other if isinstance(one, str) else one == other


@given(text=REPLIES, spaces=st.text(" \n\t\0", max_size=5))
@settings(max_examples=500, deadline=None)
def test_white_space_round_a_reply_changes_nothing(text: str, spaces: str) -> None:
    read = stated_choice(NAMES)
    assert read(Completion(text)).value == read(Completion(f"{spaces}{text}{spaces}")).value


@given(text=BROKEN)
def test_folding_keeps_a_way_back(text: str) -> None:
    folded = fold(text)
    places = [folded.origin(at) for at in range(len(folded.text))]
    assert places == sorted(places)
    assert all(0 <= place < len(text) for place in places)


@given(text=REPLIES)
def test_the_reply_proper_lies_inside_the_reply(text: str) -> None:
    start, end, _ = spoken(text)
    assert 0 <= start <= end <= len(text)


HOSTILE = (
    "A, ", "not ", "so, ", '"a ', "{ ", "\n", "if i had to choose ", "<think>", " ",
    "我选择仁慈，", "我会更", "a", "- ", '{"a":', ",", "<b>", "mercy ", "(mercy ", 'return "',
    '"""', "\\boxed{", "70 ", "70%, ", "9", "1,", "1,000,", "my answer is ",
    "i would definitely ", "[", "{'", "answer:", "答案：", "—", "A.\n", "no, ",
    "between A and B ", "je donc, plutot, ", "\\", "'", "\ud800", "é", "[[{",
)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
@pytest.mark.parametrize("size", [9_000, 100_000, 1_000_000])
def test_no_text_takes_long(name: str, part: str, size: int) -> None:
    completion = Completion("A " + part * (size // len(part)) + " B")
    reader = READERS[name](LINE)
    started = time.process_time()
    reader(completion)
    assert time.process_time() - started < (0.2 if size < 1_000_000 else 2)


def test_deep_nesting_and_huge_integers_are_faults_not_crashes() -> None:
    read = READERS["json_object"](LINE)
    deep = '{"pick":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert read(Completion(deep)).rule in ("too-deep", "too-long")
    assert read(Completion('{"pick":' + "[" * 9_000 + "]" * 9_000 + "}")).rule == "too-deep"
    assert read(Completion('{"pick":"x","n":' + "9" * 5_000 + "}")).rule == "no-number"
