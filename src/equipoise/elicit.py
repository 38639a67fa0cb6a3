"""Ask, read, and give one chance to correct."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from equipoise.stimuli import render
from equipoise.terms import (
    Ask,
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


async def elicit(
    ask: Ask,
    stage: str,
    messages: Iterable[Message],
    read: Reader[T],
    *,
    correct: str | None = None,
    by: Subject | None = None,
) -> Reading[T]:
    """Put a question and return its reading; without a reply the reading says why.

    Given `correct`, a prompt with a `$problems` slot, an invalid answer is asked for once more
    in the same conversation. The second answer stands, valid or not.
    """
    conversation = tuple(messages)
    completion = await ask(stage, conversation, by=by)
    if isinstance(completion, Nonresponse):
        return Reading(completion, NO_REPLY)
    reading = read(completion)
    problem = reading.value
    if correct is None or not (isinstance(problem, Nonresponse) and problem.kind == "invalid"):
        return reading
    conversation += assistant(completion.text), user(render(correct, problems=problem.detail))
    again = await ask(f"{stage}/corrected", conversation, by=by)
    return Reading(again, NO_REPLY) if isinstance(again, Nonresponse) else read(again)
