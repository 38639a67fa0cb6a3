"""Does a forced choice survive every disguise?

Each pair is asked in six framings and both orders, at temperature 0. A pair is committed only if
all its cells agree; one dissent, refusal or unclear reply and it holds no preference. The answer
mode is a factor of its own: what a model says freely and what it says when it can say nothing
else are two fingerprints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import get_args

from equipoise.design import cross
from equipoise.elicit import NO_REPLY
from equipoise.instruments.fingerprint.measures import analyse
from equipoise.instruments.fingerprint.suite import Suite
from equipoise.reading.first_token import first_token
from equipoise.reading.first_word import first_word
from equipoise.reading.stated_choice import stated_choice
from equipoise.terms import (
    AnswerMode,
    Ask,
    Completion,
    Instrument,
    Misuse,
    Nonresponse,
    Reader,
    Reading,
    Subject,
    Trial,
    user,
)

NAME = "fingerprint"
STAGE = "choice"
PRIMARY = "pair-commit by stated_choice"
ANSWERS: tuple[AnswerMode, ...] = get_args(AnswerMode)
ORDERS = ("ab", "ba")
MakeReader = Callable[[Mapping[str, Sequence[str]]], Reader[str]]
READERS: Mapping[str, MakeReader] = {"stated_choice": stated_choice, "first_word": first_word}


@dataclass(frozen=True, slots=True)
class Choice:
    """What one cell gave: the reply's text, and each reader's reading of it, by name."""

    text: str
    readings: Mapping[str, Reading[str]]


def fingerprint(
    suite: Suite,
    answers: Sequence[AnswerMode] = ("free",),
    draws: int = 1,
) -> Instrument[Choice]:
    """The instrument over a suite, in these answer modes.

    Raises Misuse for an answer mode there is not.
    """
    if unknown := [answer for answer in answers if answer not in ANSWERS]:
        raise Misuse(f"No answer mode {unknown[0]!r}: there are {', '.join(ANSWERS)}.")
    readers = lru_cache(maxsize=None)(partial(_readers, suite))
    return Instrument(
        NAME, suite.stamp, PRIMARY,
        partial(_design, suite, answers, draws),
        partial(_conduct, suite, readers),
        partial(analyse, suite),
    )


def factors(suite: Suite, answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "framing": tuple(suite.framings), "order": ORDERS}


def _design(
    suite: Suite, answers: Sequence[AnswerMode], draws: int, subject: Subject
) -> list[Trial]:
    return cross(NAME, subject, suite.pairs, factors(suite, answers), draws)


async def _conduct(
    suite: Suite,
    readers: Callable[[str, str, bool], Mapping[str, Reader[str]]],
    trial: Trial,
    ask: Ask,
) -> Choice:
    answer, framing, order = trial.condition.values()
    mode: AnswerMode = answer  # type: ignore[assignment]
    read = readers(trial.item, suite.framings[framing].language, mode == "first-token")
    shown = suite.shown(trial.item, framing, order)
    completion = await ask(
        STAGE, (user(suite.prompt(trial.item, framing, order)),), mode=mode, choices=shown
    )
    if isinstance(completion, Nonresponse):
        none: Reading[str] = Reading(completion, NO_REPLY)
        return Choice("", dict.fromkeys(read, none))
    return Choice(completion.text, {name: reader(completion) for name, reader in read.items()})


def _readers(
    suite: Suite, item: str, language: str, by_token: bool
) -> Mapping[str, Reader[str]]:
    options = suite.pairs[item].options(language)
    if by_token:
        return {name: first_token(options) for name in READERS}
    return {name: once_each(make(options)) for name, make in READERS.items()}


def once_each(reader: Reader[str]) -> Reader[str]:
    """The reader, reading equal replies once: a reading depends on the text and its finish."""
    seen: dict[tuple[str, str], Reading[str]] = {}

    def read(completion: Completion) -> Reading[str]:
        key = completion.text, completion.finish
        if key not in seen:
            seen[key] = reader(completion)
        return seen[key]

    return read
