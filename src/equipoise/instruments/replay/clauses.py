"""Which clause of the engine's prompt does a model refuse or trip over?

Each opening's first turn is put to the engine under the whole prompt and under the prompt without
each clause in turn. What a missing clause mends was refused with it; what it breaks needed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from msgspec import Struct

from equipoise.elicit import elicit
from equipoise.instruments.replay.arms import Arm, engine_question
from equipoise.instruments.replay.contract import ENGINE, Written, engine_answer, schema
from equipoise.instruments.replay.suite import MOMENT, Moment, Suite
from equipoise.observations import blocks
from equipoise.stats.multiplicity import adjusted
from equipoise.stats.paired import Paired, paired
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import (
    AnswerMode,
    Ask,
    Instrument,
    Nonresponse,
    Observation,
    Reading,
    Subject,
    Trial,
    user,
)

NAME = "clauses"
READER = "engine"
PRIMARY = "turns mended by leaving a clause out by engine"
WHOLE = "whole"


class Turned(Struct, frozen=True):
    """What the engine wrote on one turn, under one prompt."""

    text: str
    readings: Mapping[str, Reading[Written]]


@dataclass(frozen=True)
class Clause:
    """The prompt without one clause against the whole prompt, over openings.

    `mended` were lost under the whole prompt and written without the clause, `broken` the other
    way; `against` is the paired difference of the shares written, without less with. `holm` is
    its exact p over all clauses. `lost` counts what came of the rest, `refused` of it declined.
    """

    name: str
    written: Rate
    lost: Mapping[str, int]
    against: Paired
    holm: float

    @property
    def mended(self) -> int:
        return self.against.first_only

    @property
    def broken(self) -> int:
        return self.against.second_only

    @property
    def refused(self) -> bool:
        """Whether leaving it out mends more than it breaks, beyond chance over all clauses."""
        return self.holm < 0.05 and self.mended > self.broken


@dataclass(frozen=True)
class Tried:
    """One engine: the whole prompt, and the prompt without each clause."""

    subject: str
    answer: str
    whole: Rate
    lost: Mapping[str, int]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Findings:
    """Every engine's clauses."""

    tried: tuple[Tried, ...]


def clauses(
    suite: Suite, answers: Sequence[AnswerMode] = ("free",), draws: int = 1
) -> Instrument[Turned]:
    """The instrument over a suite's openings and its prompt's clauses."""
    return Instrument(NAME, suite.stamp, PRIMARY, partial(_design, suite, answers, draws),
                      partial(_conduct, suite), partial(analyse, suite))


def levels(suite: Suite) -> tuple[str, ...]:
    """The whole prompt, then each clause that can be left out, by name."""
    return (WHOLE, *(name for name in suite.engine["en"] if name != MOMENT))


def factors(suite: Suite, answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "without": levels(suite)}


def _design(
    suite: Suite, answers: Sequence[AnswerMode], draws: int, subject: Subject
) -> list[Trial]:
    return [
        Trial(NAME, subject, key, {"answer": answer, "without": clause}, draw)
        for answer in answers
        for key in suite.openings
        for clause in levels(suite)
        for draw in range(1, draws + 1)
    ]


async def _conduct(suite: Suite, trial: Trial, ask: Ask) -> Turned:
    opening, clause = suite.openings[trial.item], trial.condition["without"]
    mode = cast(AnswerMode, trial.condition["answer"])
    arm = Arm(dropped=() if clause == WHOLE else (clause,))
    moment = Moment(opening, opening.page, opening.earlier, opening.turns[0])
    held = schema(ENGINE, opening.page) if mode == "constrained" else ""
    found = await elicit(partial(ask, mode=mode, schema=held), "engine",
                         [user(engine_question(suite, arm, moment, ()))],
                         engine_answer(opening.page))
    text = found.completions[-1].text if found.completions else ""
    return Turned(text, {READER: found.reading})


def analyse(suite: Suite, observations: Sequence[Observation[Any]]) -> Findings:
    """Each engine's clauses, in each answer mode."""
    grouped = blocks(observations, lambda t: (t.subject.name, t.condition["answer"]))
    return Findings(tuple(_tried(suite, of) for of in grouped.values()))


def _tried(suite: Suite, observations: Sequence[Observation[Any]]) -> Tried:
    first = observations[0].trial
    by_level = {level: [o for o in observations if o.trial.condition["without"] == level]
                for level in levels(suite)}
    whole = {(o.trial.item, o.trial.draw): _is_written(o) for o in by_level[WHOLE]}
    pairs = {name: _against(of, whole) for name, of in by_level.items() if name != WHOLE}
    holm = adjusted([found.p for found in pairs.values()]).holm
    return Tried(
        first.subject.name, first.condition["answer"], _written(by_level[WHOLE]),
        _lost(by_level[WHOLE]),
        tuple(Clause(name, _written(by_level[name]), _lost(by_level[name]), found, cast(float, p))
              for (name, found), p in zip(pairs.items(), holm, strict=True)),
    )


def _is_written(o: Observation[Any]) -> bool:
    return not isinstance(o.value.readings[READER].value, Nonresponse)


def _written(observations: Sequence[Observation[Any]]) -> Rate:
    return rate(sum(map(_is_written, observations)), len(observations))


def _lost(observations: Sequence[Observation[Any]]) -> dict[str, int]:
    values = [o.value.readings[READER].value for o in observations]
    return dict(Counter(str(v.kind) for v in values if isinstance(v, Nonresponse)))


def _against(
    observations: Sequence[Observation[Any]], whole: Mapping[tuple[str, int], bool]
) -> Paired:
    """Without the clause against the whole prompt, paired by opening and draw."""
    counts = Counter((_is_written(o), whole[o.trial.item, o.trial.draw]) for o in observations
                     if (o.trial.item, o.trial.draw) in whole)
    return paired(counts[True, True], counts[True, False], counts[False, True],
                  counts[False, False])
