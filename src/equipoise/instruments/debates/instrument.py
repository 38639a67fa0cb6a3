"""Which answer does a model pick, does it hold it under pressure, does it change with the language?

Four stages a trial. *Pick* asks the question. *Control* asks it again as if for the first time:
what moves there is ordinary instability. *Push* goes on from the pick and says that most experts
hold the subject's own runner-up right and its pick wrong. *Chinese* asks in Chinese for one pick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct

from equipoise.elicit import NO_REPLY, Elicited, elicit
from equipoise.instruments.debates.contract import Answer, Pick, full_answer, one_pick
from equipoise.instruments.debates.measures import analyse
from equipoise.instruments.debates.suite import Suite, schema
from equipoise.reading.canonical import clean
from equipoise.terms import (
    AnswerMode,
    Ask,
    Instrument,
    Message,
    Misuse,
    Nonresponse,
    Reader,
    Reading,
    Subject,
    Trial,
    Usage,
    user,
)

NAME = "debates"
READER = "contract"
PRIMARY = f"sycophancy net of the control by {READER}"
ANSWERS: tuple[AnswerMode, ...] = ("free", "constrained")
PUSHES = ("continued", "restated")
ASKED, MENU = "asked", "menu"
PICK, CONTROL, PUSH, CHINESE = "pick", "control", "push", "chinese"
STAGES = (PICK, CONTROL, PUSH, CHINESE)
NO_PICK = Nonresponse("not asked", "there was no pick to go on from")


class Stage(Struct, frozen=True):
    """One stage of a trial: the reading that stands, every reply, and what was asked again.

    `problem` is what the first answer was told was wrong, empty where it stood.
    """

    reading: Reading[Answer | Pick]
    texts: tuple[str, ...] = ()
    problem: str = ""
    usages: tuple[Usage, ...] = ()

    @property
    def pick(self) -> str | Nonresponse:
        value = self.reading.value
        return value if isinstance(value, Nonresponse) else value.pick


class Debated(Struct, frozen=True):
    """What one trial gave, by stage. `text` and `readings` are those of its pick."""

    text: str
    readings: Mapping[str, Reading[Any]]
    stages: Mapping[str, Stage]


def debates(
    suite: Suite,
    answers: Sequence[AnswerMode] = ("free",),
    draws: int = 1,
    pushes: Sequence[str] = PUSHES[:1],
    *,
    menu: bool = False,
) -> Instrument[Debated]:
    """The instrument over a suite, in these answer modes and ways of pushing.

    Raises Misuse for an answer mode or a way of pushing there is not.
    """
    for said, known, what in ((answers, ANSWERS, "answer modes"), (pushes, PUSHES, "pushes")):
        if not said or len(set(said)) < len(said) or not set(said) <= set(known):
            raise Misuse(f"The {what} {', '.join(said) or '(none)'} are not one or more, each once,"
                         f" of {', '.join(known)}.")
    return Instrument(
        NAME, suite.stamp, PRIMARY,
        partial(_design, suite, answers, draws, pushes, menu),
        partial(_conduct, suite),
        partial(analyse, suite),
    )


def factors(
    suite: Suite, answers: Sequence[AnswerMode], pushes: Sequence[str], menu: bool
) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "form": (ASKED, MENU) if menu else (ASKED,),
            "push": tuple(pushes)}


def _design(
    suite: Suite, answers: Sequence[AnswerMode], draws: int, pushes: Sequence[str], menu: bool,
    subject: Subject,
) -> list[Trial]:
    conditions = [(ASKED, push) for push in pushes] + ([(MENU, "none")] if menu else [])
    return [
        Trial(NAME, subject, key, {"answer": answer, "form": form, "push": push}, draw)
        for answer in answers
        for form, push in conditions
        for key, debate in suite.debates.items() if form == ASKED or debate.menu
        for draw in range(1, draws + 1)
    ]


async def _conduct(suite: Suite, trial: Trial, ask: Ask) -> Debated:
    answer, form, push = trial.condition.values()
    mode = cast(AnswerMode, answer)
    debate = suite.debates[trial.item]
    whole = full_answer(debate.kind, debate.names)
    asks = _Asks(ask, mode, schema(debate, whole=True), partial(suite.correct, "en"))
    if form == MENU:
        return _debated({PICK: await asks(MENU, [user(suite.menu(trial.item))], whole)})
    question = [user(suite.ask(trial.item))]
    pick = await asks(PICK, question, whole)
    control = await asks(CONTROL, question, whole)
    stages: dict[str, Elicited[Any]] = {PICK: pick, CONTROL: control}
    if isinstance(pick.reading.value, Answer):
        stages[PUSH] = await asks(PUSH, _pushing(suite, trial.item, push, pick), whole)
    else:
        stages[PUSH] = Elicited(Reading(NO_PICK, NO_REPLY), (), ())
    one = _Asks(ask, mode, schema(debate, whole=False), partial(suite.correct, "zh"))
    stages[CHINESE] = await one(CHINESE, [user(suite.ask(trial.item, "zh"))],
                                one_pick(debate.kind, debate.names))
    return _debated(stages)


class _Asks:
    """Puts a stage's question in one answer mode, with one chance to correct."""

    def __init__(
        self, ask: Ask, mode: AnswerMode, held: str, correct: Callable[[str], str]
    ) -> None:
        self._ask = partial(ask, mode=mode, schema=held if mode == "constrained" else "")
        self._correct = correct

    async def __call__(
        self, stage: str, messages: Sequence[Message], read: Reader[Any]
    ) -> Elicited[Any]:
        return await elicit(self._ask, stage, messages, read, correct=self._correct)


def _pushing(suite: Suite, key: str, push: str, pick: Elicited[Any]) -> list[Message]:
    """The pick's conversation with the pressure after it, or the pressure in a new one.

    The names are the subject's own words for its pick and its runner-up.
    """
    answer = pick.reading.value
    assert isinstance(answer, Answer)
    _, first, second, *_ = answer.named
    restated = push == "restated"
    pressure = suite.push(key, clean(first.said), clean(second.said), restated=restated)
    return [user(pressure)] if restated else [*pick.conversation, user(pressure)]


def _debated(stages: Mapping[str, Elicited[Any]]) -> Debated:
    kept = {
        name: Stage(found.reading, tuple(c.text for c in found.completions), found.problem,
                    tuple(c.usage for c in found.completions))
        for name, found in stages.items()
    }
    texts = kept[PICK].texts
    return Debated(texts[-1] if texts else "", {READER: kept[PICK].reading}, kept)
