"""May a reader's readings be counted? The reader against people's labels, on one split.

Calibration asks exactly what scoring asks: the same prompt, the same contract, the same reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from msgspec import Struct

from equipoise.calibration import Calibration, Trust, calibrate, human_ceiling, trust
from equipoise.elicit import elicit
from equipoise.gold import Rating
from equipoise.instruments.replay.contract import (
    DETECTOR,
    PAGE,
    Detected,
    Seen,
    detection,
    page_line,
    schema,
)
from equipoise.instruments.replay.labels import Labelled, overlap
from equipoise.instruments.replay.suite import Moment, Opening, Suite, Turn
from equipoise.observations import blocks
from equipoise.stats.draws import SelfAgreement, majority_of_draws, self_agreement
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import (
    AnswerMode,
    Ask,
    Instrument,
    Nonresponse,
    Observation,
    Reader,
    Reading,
    Subject,
    Trial,
    content_hash,
    user,
)

NAME = "calibration"
Task = Literal["page", "detector"]
TASKS: tuple[Task, ...] = ("page", "detector")
ANY = "-"
READER = "verdict"
PRIMARY = "the lower of sensitivity and specificity by verdict"
UNDECIDED = Nonresponse("unclear", "the reader says unknown")


class Judged(Struct, frozen=True):
    """What a reader said of one moment; `verdicts` by bias, `text` its reply."""

    text: str
    readings: Mapping[str, Reading[Any]]
    verdicts: Mapping[str, bool | Nonresponse]


@dataclass(frozen=True)
class ByBias:
    """A reader on one bias's items."""

    bias: str
    found: Calibration


@dataclass(frozen=True)
class Wrong:
    """An item on which the reader and the label differ."""

    moment: str
    bias: str
    label: bool
    said: bool
    why: str


@dataclass(frozen=True)
class Calibrated:
    """One reader on one task: its rates against the labels, and whether they reach the bar.

    `weaker` is the reader on pages of the deliberately weaker engine alone; `ceiling` two people
    measured as the reader is, each against the other.
    """

    subject: str
    answer: str
    task: Task
    found: Calibration
    trust: Trust
    by_bias: Mapping[str, ByBias]
    weaker: Calibration
    ceiling: float | Undefined
    agreement: SelfAgreement
    wrong: tuple[Wrong, ...]
    unknown: tuple[tuple[str, str], ...]
    illustrative: bool = False


@dataclass(frozen=True)
class Findings:
    """Every reader's calibration."""

    calibrated: tuple[Calibrated, ...]


@dataclass(frozen=True)
class Labels:
    """The moments of one split with the blind ratings of the task.

    `illustrative`: they are the shipped ones, which no rater gave.
    """

    moments: Mapping[str, Labelled]
    ratings: tuple[Rating, ...]
    illustrative: bool = False


def calibration(
    suite: Suite, labels: Labels, task: Task, answers: Sequence[AnswerMode] = ("free",),
    draws: int = 1,
) -> Instrument[Judged]:
    """The instrument over the moments of a split: a trial a moment and, of pages, a bias."""
    return Instrument(NAME, suite.stamp, PRIMARY, partial(_design, suite, labels, task, answers,
                                                          draws),
                      partial(_conduct, suite, labels, task),
                      partial(analyse, suite, labels, task, draws))


def factors(suite: Suite, task: Task, answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "task": (task,),
            "bias": tuple(suite.biases) if task == "page" else (ANY,)}


def stamp(suite: Suite, task: Task) -> str:
    """Names what a calibration holds for: the reader's prompts and every definition.

    Change one and it is stale: the reader has to be validated again.
    """
    prompt = "page_reader" if task == "page" else "detector"
    return content_hash({
        "prompts": {language: said[prompt] for language, said in suite.prompts.items()},
        "definitions": {key: bias.stamp for key, bias in suite.biases.items()}})


def _design(
    suite: Suite, labels: Labels, task: Task, answers: Sequence[AnswerMode], draws: int,
    subject: Subject,
) -> list[Trial]:
    return [
        Trial(NAME, subject, key, {"answer": answer, "task": task, "bias": bias}, draw)
        for answer in answers
        for key in labels.moments
        for bias in factors(suite, task, answers)["bias"]
        for draw in range(1, draws + 1)
    ]


async def _conduct(suite: Suite, labels: Labels, task: Task, trial: Trial, ask: Ask) -> Judged:
    moment, bias = labels.moments[trial.item], trial.condition["bias"]
    mode = cast(AnswerMode, trial.condition["answer"])
    if task == "page":
        question = suite.page_question(moment.language, bias, moment.after)
        read: Reader[Any] = page_line(moment.after)
    else:
        question = suite.detector_question(_as_moment(moment))
        read = detection(moment.said, suite.biases)
    form = schema(PAGE, moment.after) if task == "page" else schema(DETECTOR)
    held = form if mode == "constrained" else ""
    found = await elicit(partial(ask, mode=mode, schema=held), task, [user(question)], read)
    value = found.reading.value
    verdicts = ({bias: _seen(value)} if task == "page"
                else {name: _detected(value, name) for name in suite.biases})
    text = found.completions[-1].text if found.completions else ""
    return Judged(text, {READER: found.reading}, verdicts)


def _as_moment(of: Labelled) -> Moment:
    """A labelled moment as the detector meets it: nothing was said before."""
    opening = Opening(of.key, of.language, of.question, of.before, (), (Turn(of.said, ()),))
    return Moment(opening, of.before, (), Turn(of.said, of.present))


def _seen(value: Seen | Nonresponse) -> bool | Nonresponse:
    if isinstance(value, Nonresponse):
        return value
    return UNDECIDED if value.verdict == "unknown" else value.verdict == "met"


def _detected(value: Detected | Nonresponse, bias: str) -> bool | Nonresponse:
    if isinstance(value, Nonresponse):
        return value
    return UNDECIDED if bias in value.unknown else bias in value.present


def analyse(
    suite: Suite, labels: Labels, task: Task, draws: int, observations: Sequence[Observation[Any]]
) -> Findings:
    """Each reader's calibration, in each answer mode."""
    grouped = blocks(observations, lambda t: (t.subject.name, t.condition["answer"]))
    return Findings(tuple(
        _calibrated(suite, labels, task, draws, of) for of in grouped.values()))


def _calibrated(
    suite: Suite, labels: Labels, task: Task, draws: int, observations: Sequence[Observation[Any]]
) -> Calibrated:
    first = observations[0].trial
    said: dict[tuple[str, str], list[bool | Nonresponse]] = {}
    for o in observations:
        for bias, verdict in o.value.verdicts.items():
            said.setdefault((o.trial.item, bias), []).append(verdict)
    answers = {item: _majority(verdicts, draws) for item, verdicts in said.items()}
    gold = {item: gold_of(labels.moments[item[0]], item[1], task) for item in answers}
    found = calibrate((gold[item], answer) for item, answer in answers.items())
    table = overlap(labels.ratings)
    human = rate(table.get((True, True), 0) + table.get((False, False), 0), sum(table.values()))
    return Calibrated(
        first.subject.name, first.condition["answer"], task, found, trust(found, human),
        {bias: ByBias(bias, calibrate((gold[i], a) for i, a in answers.items() if i[1] == bias))
         for bias in suite.biases},
        calibrate((gold[i], a) for i, a in answers.items()
                  if labels.moments[i[0]].engine == "weaker"),
        human_ceiling(table),
        self_agreement([[None if isinstance(v, Nonresponse) else v for v in verdicts]
                        + [None] * (draws - len(verdicts)) for verdicts in said.values()]),
        tuple(Wrong(key, bias, gold[key, bias], answer,
                    labels.moments[key].reason.get(bias, ""))
              for (key, bias), answer in answers.items()
              if isinstance(answer, bool) and answer != gold[key, bias]),
        tuple(item for item, answer in answers.items() if isinstance(answer, Nonresponse)),
        labels.illustrative,
    )


def gold_of(moment: Labelled, bias: str, task: Task) -> bool:
    """What the labels say of a moment and a bias."""
    return bias in (moment.shown if task == "page" else moment.present)


def _majority(verdicts: Sequence[bool | Nonresponse], draws: int) -> bool | Nonresponse:
    found = majority_of_draws([v if isinstance(v, bool) else None for v in verdicts], draws)
    if isinstance(found.answer, bool):
        return found.answer
    return next((v for v in verdicts if isinstance(v, Nonresponse)), UNDECIDED)


def wanted(found: Rate, per_class: int) -> int:
    """How many items a split needs so that a class as rare as this has `per_class` of them.

    >>> wanted(rate(18, 67), 40)
    149
    """
    return -(-per_class * found.n // found.count) if found.count else 0
