"""Ask, read, and give one chance to correct."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from equipoise.terms import (
    Ask,
    Completion,
    Message,
    Nonresponse,
    Reader,
    Reading,
    Subject,
    assistant,
    user,
)

T = TypeVar("T")

NO_REPLY = "no-reply"


@dataclass(frozen=True, slots=True)
class Elicited(Generic[T]):
    """What a question came to: the reading that stands, and all that was said on the way.

    `problem` is what the first answer was told was wrong with it, empty where it was not asked
    again; `conversation` ends with the answer that stands, where one came.
    """

    reading: Reading[T]
    completions: tuple[Completion, ...]
    conversation: tuple[Message, ...]
    problem: str = ""


async def elicit(
    ask: Ask,
    stage: str,
    messages: Iterable[Message],
    read: Reader[T],
    *,
    correct: Callable[[str], str] | None = None,
    by: Subject | None = None,
) -> Elicited[T]:
    """Put a question and read its answer; without a reply the reading says why.

    Given `correct`, which makes a prompt of the problems named, an invalid answer is asked for
    once more in the same conversation. The second answer stands, valid or not.
    """
    conversation = tuple(messages)
    completion = await ask(stage, conversation, by=by)
    if isinstance(completion, Nonresponse):
        return Elicited(Reading(completion, NO_REPLY), (), conversation)
    reading = read(completion)
    conversation += (assistant(completion.text),)
    value = reading.value
    if correct is None or not (isinstance(value, Nonresponse) and value.kind == "invalid"):
        return Elicited(reading, (completion,), conversation)
    conversation += (user(correct(value.detail)),)
    again = await ask(f"{stage}/corrected", conversation, by=by)
    if isinstance(again, Nonresponse):
        return Elicited(Reading(again, NO_REPLY), (completion,), conversation, value.detail)
    return Elicited(read(again), (completion, again), (*conversation, assistant(again.text)),
                    value.detail)
