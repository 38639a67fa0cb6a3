"""Planted subjects: each with one trait, answering in the varied forms of real replies."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from equipoise.instruments.debates.contract import YES_NO
from equipoise.instruments.debates.suite import Debate, Suite
from equipoise.terms import Completion, Misuse, Request

Answer = Callable[[Request], Completion]
ELSEWHERE = "An Answer Of Its Own"
PREAMBLE = ("It depends on the reader, and there is much to be said on either side of it: both"
            " have their friends, their great days and their weaker ones, and many careful people"
            " who have weighed them for years still come down in different places. Even so: ")


@dataclass(frozen=True, slots=True)
class Trait:
    """How a planted subject answers.

    `flips` is the chance that any answer is its second choice instead of its first. Under push
    it `caves` to a name outside its own three (to the runner-up where the question is closed),
    or `yields` to the runner-up. `chinese` is whether it prefers its second choice in Chinese,
    `hedges` whether it hedges before its JSON, `says` an answer it always gives, `adds` whether
    it adds an option to a closed ranking, `json` whether it answers in JSON at all.
    """

    flips: float = 0.0
    caves: bool = False
    yields: bool = False
    chinese: bool = False
    hedges: bool = False
    says: str = ""
    adds: bool = False
    json: bool = True


TRAITS: Mapping[str, Trait] = {
    "steady": Trait(),
    "flips-at-random": Trait(flips=0.3),
    "caves-to-pressure": Trait(caves=True),
    "switches-to-runner-up": Trait(yields=True),
    "prefers-another-in-chinese": Trait(chinese=True),
    "hedges": Trait(hedges=True),
    "says-maybe": Trait(says="Maybe"),
    "adds-an-option": Trait(adds=True),
    "never-json": Trait(json=False),
}


def trait(name: str, settings: Mapping[str, object]) -> Trait:
    """The trait of that name; `rate` sets how often it flips.

    Raises Misuse for a rate that is no chance.
    """
    made = TRAITS[name]
    if "rate" not in settings:
        return made
    rate = float(str(settings["rate"]))
    if not 0 <= rate <= 1:
        raise Misuse(f"The setting rate is {rate:g}; wanted a chance from 0 to 1.")
    return replace(made, flips=rate)


def choices(debate: Debate) -> tuple[str, ...]:
    """A planted subject's order of a debate's reference names, the same every time."""
    names = debate.reference
    turn = crc32(debate.key.encode()) % len(names)
    return (*names[turn:], *names[:turn])


def answerer(suite: Suite, planted: Trait, seed: int | str = 0) -> Answer:
    """A planted subject over a suite: it knows a stage by the conversation it is put in.

    Its chances are a stream for each stage of each debate, so equal runs get equal replies; a
    run that is resumed begins the streams anew.
    """
    stages = {suite.ask(key): (key, "pick") for key in suite.debates}
    stages |= {suite.ask(key, "zh"): (key, "chinese") for key in suite.debates}
    stages |= {suite.menu(key): (key, "menu") for key in suite.debates}
    streams: dict[str, random.Random] = {}

    def answer(request: Request) -> Completion:
        asked = [m.text for m in request.messages if m.role == "user"]
        kept = [text for text in asked if text in stages]
        key, stage = stages[kept[-1]] if kept else (_asked_in(suite, asked[0]), "push")
        if stage == "pick" and len(asked) > 1 and asked[-1].startswith(_experts(suite, key)):
            stage = "push"
        chance = streams.setdefault(f"{stage}/{key}", random.Random(f"{seed}/{stage}/{key}"))
        return Completion(_reply(suite.debates[key], planted, stage, chance))

    return answer


def _asked_in(suite: Suite, text: str) -> str:
    """The debate that a restated push names."""
    return next(key for key, debate in suite.debates.items() if debate.question in text)


def _experts(suite: Suite, key: str) -> str:
    """How a push begins, before any name."""
    return suite.push(key, "\x00", "\x00").partition("\x00")[0]


def _reply(debate: Debate, planted: Trait, stage: str, chance: random.Random) -> str:
    order = list(choices(debate))
    if planted.flips and chance.random() < planted.flips:
        order[:2] = reversed(order[:2])
    if stage == "chinese" and planted.chinese:
        order[:2] = reversed(order[:2])
    if stage == "push" and (planted.yields or (planted.caves and not debate.is_open)):
        order[:2] = reversed(order[:2])
    elif stage == "push" and planted.caves:
        order = [ELSEWHERE, *order]
    if planted.says:
        order = [planted.says, *order]
    if not planted.json:
        return f"I would say {order[0]}."
    said = json.dumps(_object(debate, planted, stage, order, chance), ensure_ascii=False)
    form = chance.choice(("{}", "```json\n{}\n```", "Here is my answer:\n{}"))
    return (PREAMBLE if planted.hedges and stage == "pick" else "") + form.format(said)


def _object(
    debate: Debate, planted: Trait, stage: str, order: Sequence[str], chance: random.Random
) -> dict[str, object]:
    spoken = {name: _spoken(debate, name, stage, chance) for name in order}
    if stage == "chinese":
        return {"pick": spoken[order[0]]}
    ranked = [spoken[name] for name in order[: 3 if debate.is_open else len(debate.reference)]]
    if planted.adds and not debate.is_open:
        ranked.append("Something between the two")
    points = {name: 50 - 10 * place for place, name in enumerate(ranked)}
    return {"pick": ranked[0], "top3" if debate.is_open else "ranking": ranked,
            "points": points, "criteria": [*debate.criteria[:3], "taste", "habit"][:3]}


def _spoken(debate: Debate, name: str, stage: str, chance: random.Random) -> str:
    """A name as it might be said: canonical or one of its forms, Chinese ones in Chinese."""
    if debate.kind == YES_NO or name not in debate.names.names:
        return name
    forms = [form for form, of in debate.names.forms.items() if of == name]
    chinese = [form for form in forms if any("\u3400" <= c <= "\u9fff" for c in form)]
    if stage == "chinese":
        return chance.choice(chinese) if chinese else name
    latin = [form for form in forms if form.isascii()]
    return chance.choice([name, name, *latin[:2]])
