"""Does a forced choice survive every disguise?

Each pair is asked in six framings and both orders, at temperature 0. A pair is committed only if
all its cells agree; one dissent, refusal or unclear reply and it holds no preference. The answer
mode is a factor of its own: what a model says freely and what it says when it can say nothing
else are two fingerprints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import cast, get_args

from msgspec import Struct

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
ReadAll = Callable[[str, str, AnswerMode, Completion], Mapping[str, Reading[str]]]
READERS: Mapping[str, MakeReader] = {"stated_choice": stated_choice, "first_word": first_word}


class Choice(Struct, frozen=True):
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
    if not answers or len(set(answers)) < len(answers):
        raise Misuse(f"The answer modes {', '.join(answers) or '(none)'} are not one or more, each"
                     f" once, of {', '.join(ANSWERS)}.")
    if unknown := [answer for answer in answers if answer not in ANSWERS]:
        raise Misuse(f"No answer mode {unknown[0]!r}: there are {', '.join(ANSWERS)}.")
    return Instrument(
        NAME, suite.stamp, PRIMARY,
        partial(_design, suite, answers, draws),
        partial(_conduct, suite, _read_all(suite)),
        partial(analyse, suite),
    )


def factors(suite: Suite, answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "framing": tuple(suite.framings), "order": ORDERS}


def _design(
    suite: Suite, answers: Sequence[AnswerMode], draws: int, subject: Subject
) -> list[Trial]:
    return cross(NAME, subject, suite.pairs, factors(suite, answers), draws, together=2)


async def _conduct(suite: Suite, read: ReadAll, trial: Trial, ask: Ask) -> Choice:
    answer, framing, order = trial.condition.values()
    mode = cast(AnswerMode, answer)
    words = suite.shown(trial.item, framing, order)
    completion = await ask(STAGE, (user(suite.worded(framing, words)),), mode=mode, choices=words)
    if isinstance(completion, Nonresponse):
        none: Reading[str] = Reading(completion, NO_REPLY)
        return Choice("", dict.fromkeys(READERS, none))
    language = suite.framings[framing].language
    return Choice(completion.text, read(trial.item, language, mode, completion))


def _read_all(suite: Suite) -> ReadAll:
    """What every reader makes of a reply; equal replies to one pair are read once."""
    seen: dict[tuple[str, str, str, str], Mapping[str, Reading[str]]] = {}

    @cache
    def readers(item: str, language: str) -> Mapping[str, Reader[str]]:
        options = suite.pairs[item].options(language)
        return {name: make(options) for name, make in READERS.items()}

    def read(
        item: str, language: str, mode: AnswerMode, completion: Completion
    ) -> Mapping[str, Reading[str]]:
        if mode == "first-token":
            reading = first_token(suite.pairs[item].options(language))(completion)
            return dict.fromkeys(READERS, reading)
        key = item, language, completion.text, completion.finish
        if (found := seen.get(key)) is None:
            found = seen[key] = {
                name: reader(completion) for name, reader in readers(item, language).items()
            }
        return found

    return read
