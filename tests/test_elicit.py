"""A question is asked, read, and given one chance to be corrected."""

import asyncio

import pytest

from equipoise.elicit import NO_REPLY, elicit
from equipoise.terms import (
    Completion,
    Nonresponse,
    Reading,
    Subject,
    assistant,
    user,
)

QUESTION = user("A number, please.")
INVALID = Nonresponse("invalid", "no digit in it")


def correction(problems):
    return f"That was no number: {problems}. A number, please."


def number(completion):
    said = completion.text
    return Reading(int(said) if said.isdigit() else INVALID, "digits")


def asked(*answers, **terms):
    """The reading, and what was asked: (stage, the conversation, by whom)."""
    left, seen = list(answers), []

    async def ask(stage, messages, *, by=None, **_):
        seen.append((stage, tuple(messages), by))
        answer = left.pop(0)
        return Completion(answer) if isinstance(answer, str) else answer

    found = asyncio.run(elicit(ask, "guess", (QUESTION,), number, **terms))
    return found.reading, seen


def test_a_valid_answer_is_asked_for_once():
    reading, seen = asked("7", correct=correction)
    assert (reading.value, seen) == (7, [("guess", (QUESTION,), None)])


def test_an_invalid_answer_is_asked_for_once_more_in_the_same_conversation_by_the_same_subject():
    judge = Subject("judge", "m", "family", "openai")
    reading, seen = asked("seven", "7", correct=correction, by=judge)
    again = user("That was no number: no digit in it. A number, please.")
    assert reading.value == 7
    assert seen == [("guess", (QUESTION,), judge),
                    ("guess/corrected", (QUESTION, assistant("seven"), again), judge)]


def test_the_second_answer_stands_even_if_it_is_invalid_too():
    reading, seen = asked("seven", "nine", correct=correction)
    assert (reading.value, len(seen)) == (INVALID, 2)


def test_without_a_correction_an_invalid_answer_stands():
    reading, seen = asked("seven")
    assert (reading.value, len(seen)) == (INVALID, 1)


@pytest.mark.parametrize("kind", ["refused", "unclear", "truncated"])
def test_only_an_invalid_answer_is_corrected(kind):
    async def ask(stage, messages, *, by=None, **_):
        return Completion("hm")

    found = asyncio.run(elicit(
        ask, "guess", (QUESTION,), lambda _: Reading(Nonresponse(kind), "r"), correct=correction))
    assert found.reading.value == Nonresponse(kind)


def test_where_no_reply_comes_the_reading_says_why():
    lost = Nonresponse("error", "unreachable: refused")
    assert asked(lost, correct=correction)[0] == Reading(lost, NO_REPLY)
    assert asked("seven", lost, correct=correction)[0] == Reading(lost, NO_REPLY)
