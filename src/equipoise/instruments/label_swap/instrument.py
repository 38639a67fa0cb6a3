"""Does a judge lean toward a label that carries no information, or toward a position?

Each decision is asked under each pair of labels. In the identical condition both options have one
description and each label is listed first once; in the matched condition two comparable
descriptions are crossed with the labels and their order, as in an audit study: four cells. The
answer is the stated probability, from 0 to 100, of picking the option the question names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct

from equipoise.elicit import NO_REPLY
from equipoise.instruments.label_swap.blocks import Rules
from equipoise.instruments.label_swap.measures import analyse
from equipoise.instruments.label_swap.suite import Shown, Suite, shown_in
from equipoise.reading.stated_probability import stated_probability
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
    Usage,
    user,
)

NAME = "label-swap"
STAGE = "judge"
READER = "stated_probability"
PRIMARY = f"exact label omnibus of the matched condition by {READER}"
ANSWERS: tuple[AnswerMode, ...] = ("free", "constrained")
DRAWS = 5
RULES = Rules()
NUMBERS = tuple(str(number) for number in range(101))


class Stated(Struct, frozen=True):
    """What one cell gave: the reply's text, its reading by reader, how it ended, its tokens.

    A reading is the stated probability, in points, of picking the option the question named.
    """

    text: str
    readings: Mapping[str, Reading[float]]
    finish: str = ""
    usage: Usage = Usage()


def label_swap(
    suite: Suite,
    answers: Sequence[AnswerMode] = ("free",),
    draws: int = DRAWS,
    rules: Rules = RULES,
) -> Instrument[Stated]:
    """The instrument over a suite, in these answer modes.

    Raises Misuse for an answer mode there is not.
    """
    if not answers or len(set(answers)) < len(answers) or not set(answers) <= set(ANSWERS):
        raise Misuse(f"The answer modes {', '.join(answers) or '(none)'} are not one or more, each"
                     f" once, of {', '.join(ANSWERS)}.")
    prompts = {shown: suite.prompt(shown) for shown in suite.cells()}
    return Instrument(
        NAME, suite.stamp, PRIMARY,
        partial(_design, suite, answers, draws),
        partial(_conduct, prompts, _cached(stated_probability())),
        partial(analyse, suite, rules),
    )


def factors(suite: Suite, answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels, as they stand in a cell's condition."""
    wordings = dict.fromkeys(name for key in suite.decisions for name in suite.wordings(key))
    return {
        "answer": tuple(answers), "content": ("identical", "matched"), "wording": tuple(wordings),
        "pair": tuple(suite.pairs), "asked": suite.asked, "described": ("same", "x", "y"),
        "label": ("1", "2"),
    }


def _design(
    suite: Suite, answers: Sequence[AnswerMode], draws: int, subject: Subject
) -> list[Trial]:
    """Every cell of the design, `draws` times over: what varies is in the trial's condition."""
    return [
        Trial(NAME, subject, shown.decision, {
            "answer": answer, "content": shown.content, "wording": shown.wording,
            "pair": shown.pair, "asked": shown.asked, "described": shown.described,
            "label": shown.label,
        }, draw)
        for answer in answers
        for shown in suite.cells()
        for draw in range(1, draws + 1)
    ]


async def _conduct(
    prompts: Mapping[Shown, str], read: Reader[float], trial: Trial, ask: Ask
) -> Stated:
    mode = cast(AnswerMode, trial.condition["answer"])
    choices = NUMBERS if mode == "constrained" else ()
    messages = (user(prompts[shown_in(trial)]),)
    completion = await ask(STAGE, messages, mode=mode, choices=choices)
    if isinstance(completion, Nonresponse):
        return Stated("", {READER: Reading(completion, NO_REPLY)})
    return Stated(completion.text, {READER: read(completion)}, completion.finish,
                  completion.usage)


def _cached(read: Reader[float]) -> Reader[float]:
    """The reader, reading equal replies once."""
    seen: dict[tuple[str, str], Reading[Any]] = {}

    def cached(completion: Completion) -> Reading[float]:
        key = completion.text, completion.finish
        if (found := seen.get(key)) is None:
            found = seen[key] = read(completion)
        return found

    return cached
