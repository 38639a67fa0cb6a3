"""Did the change make it better: one verdict an engine and reader, per opening, and per bias.

A sample is an opening. In one arm its answer is, for each bias, what more than half of the
planned draws came to. The metric makes one figure of an opening's answers, and one sign of two
arms' figures: B more, A more, or the same. Arm A is run twice, and how often A differs from
itself is the noise floor that a difference must clear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.instruments.replay.arms import AGAIN, ARMS, A, B
from equipoise.instruments.replay.outcomes import Fate
from equipoise.instruments.replay.scorecard import (
    Answer,
    Scorecard,
    fates_of,
    misfired,
    scorecard,
    shown,
)
from equipoise.instruments.replay.suite import Suite
from equipoise.observations import blocks
from equipoise.stats.confusion import Confusion
from equipoise.stats.corrected_rate import Corrected, corrected_rate
from equipoise.stats.draws import SelfAgreement, self_agreement
from equipoise.stats.noise_floor import NoiseFloor, noise_floor
from equipoise.stats.sequential import Evidence, evidence
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Comparison, Plan, Verdict, verdict, verdicts
from equipoise.terms import Nonresponse, Observation

SHOWN, MISFIRE = "shown", "misfire"


@dataclass(frozen=True)
class Sample:
    """An opening in each arm: the figure that decides, or why there is none."""

    opening: str
    figures: Mapping[str, int | Nonresponse]

    @property
    def sign(self) -> int | Nonresponse:
        """1 where B has more than A, -1 where it has less, 0 where they are the same."""
        a, b = self.figures[A], self.figures[B]
        if isinstance(a, Nonresponse) or isinstance(b, Nonresponse):
            return a if isinstance(a, Nonresponse) else b
        return (b > a) - (b < a)


@dataclass(frozen=True)
class ByBias:
    """One bias's comparison, over the openings whose labels hold it, under Holm over the biases."""

    bias: str
    samples: tuple[Sample, ...]
    verdict: Verdict
    floor: NoiseFloor

    @property
    def holm(self) -> float | Undefined:
        """Its p adjusted for all the biases that have an opening."""
        return self.verdict.p_adjusted if self.verdict.n else Undefined("no_data")


@dataclass(frozen=True)
class Compared:
    """What one reader's readings say of one engine's change, in one answer mode.

    `corrected` are the shown rates of the arms with the reader's errors against people's labels
    taken out (Rogan-Gladen, both uncertainties in the interval); empty for a reader without a
    badge. `evidence` is the e-process over the openings that differ, in the suite's order: the
    one way to look before the end. Every verdict stands beside its gates. `pending` are the
    openings and biases that wait for a person, since no reader could decide about them; `unread`
    counts whole conversations whose pages were not all read yet.
    """

    subject: str
    answer: str
    reader: str
    metric: str
    samples: tuple[Sample, ...]
    verdict: Verdict
    floor: NoiseFloor
    by_bias: Mapping[str, ByBias]
    scorecards: Mapping[str, Scorecard]
    agreement: Mapping[str, SelfAgreement]
    corrected: Mapping[str, Corrected]
    evidence: Evidence
    pending: tuple[tuple[str, str, str], ...]
    unread: int = 0


@dataclass(frozen=True)
class Findings:
    """Every comparison of a run, by subject, answer mode and reader."""

    comparisons: tuple[Compared, ...]


def analyse(
    suite: Suite, taking_part: Any, draws: int, observations: Sequence[Observation[Any]]
) -> Findings:
    """Compare the arms of every subject in every answer mode, once a reader.

    Where two readers read, a verdict stands only where both agree on its direction.
    """
    found: list[Compared] = []
    for of in blocks(observations, lambda t: (t.subject.name, t.condition["answer"])).values():
        arms = {arm: [o for o in of if o.trial.condition["arm"] == arm] for arm in ARMS}
        each = [_compared(suite, taking_part, draws, arms, reader.name)
                for reader in taking_part.readers]
        found += _agreed(each)
    return Findings(tuple(found))


def _agreed(each: Sequence[Compared]) -> list[Compared]:
    """The comparisons as they are, or without a verdict where readers differ in direction."""
    directions = {_direction(one.verdict) for one in each}
    if len(directions) < 2:
        return list(each)
    return [replace(one, verdict=replace(
        one.verdict, kind="no verdict", gates=(*one.verdict.gates, "readers_disagree")))
        for one in each]


def _direction(of: Verdict) -> int:
    return (of.wins > of.losses) - (of.wins < of.losses)


def _compared(
    suite: Suite, taking_part: Any, draws: int, arms: Mapping[str, list[Observation[Any]]],
    reader: str,
) -> Compared:
    first = arms[A][0].trial
    answers = {arm: _answers(suite, of, reader, draws, taking_part.metric)
               for arm, of in arms.items()}
    samples = [Sample(key, {arm: _figure(answers[arm][key], taking_part.metric) for arm in ARMS})
               for key in suite.openings if answers[A][key]]
    judge = _Judge(taking_part, reader, {arm: _calls(of, draws) for arm, of in arms.items()})
    pending = tuple((key, bias, arm) for arm in ARMS for key, said in answers[arm].items()
                    for bias, answer in said.items()
                    if isinstance(answer, Nonresponse) and answer.kind == "unclear")
    cards = {arm: scorecard(suite, of, reader, draws) for arm, of in arms.items()}
    plan, comparison, floor = judge(samples, len({(key, bias) for key, bias, _ in pending}))
    return Compared(
        first.subject.name, first.condition["answer"], reader, taking_part.metric,
        tuple(samples), verdict(plan, comparison), floor,
        _by_bias(suite, answers, taking_part.metric, judge),
        cards,
        {arm: _self_agreement(suite, of, reader, draws) for arm, of in arms.items()},
        _corrected(taking_part.confusions.get(reader), cards), _evidence(samples, taking_part),
        pending, sum(_is_unread(o, reader) for of in arms.values() for o in of),
    )


def _is_unread(o: Observation[Any], reader: str) -> bool:
    """Whether a whole conversation's pages were not all read yet."""
    return any(isinstance(f.shown, Nonresponse) and f.shown.kind == "not asked"
               for f in o.value.fates.get(reader, {}).values())


def _corrected(
    found: Confusion | None, cards: Mapping[str, Scorecard]
) -> dict[str, Corrected]:
    if found is None:
        return {}
    return {arm: corrected_rate(found, card.total.shown.count, card.total.shown.n)
            for arm, card in cards.items()}


def _evidence(samples: Sequence[Sample], taking_part: Any) -> Evidence:
    more = -1 if taking_part.metric == MISFIRE else 1
    return evidence(s.sign == more for s in samples
                    if not isinstance(s.sign, Nonresponse) and s.sign)


class _Judge:
    """Puts samples under the registered plan."""

    def __init__(
        self, taking_part: Any, reader: str, calls: Mapping[str, tuple[int, int]]
    ) -> None:
        self._part, self._reader, self._calls = taking_part, reader, calls

    def __call__(
        self, samples: Sequence[Sample], pending: int
    ) -> tuple[Plan, Comparison, NoiseFloor]:
        """These samples under the plan, with their noise floor; all of them were planned."""
        part, more = self._part, -1 if self._part.metric == MISFIRE else 1
        signs = [s.sign for s in samples if not isinstance(s.sign, Nonresponse)]
        wins, losses = signs.count(more), signs.count(-more)
        floor = noise_floor(*([None if isinstance(s.figures[arm], Nonresponse) else s.figures[arm]
                               for s in samples] for arm in (A, AGAIN)))
        plan = Plan(len(samples), part.discordance, part.margin if part.saving else None)
        errors, calls = zip(self._calls[A], self._calls[B], strict=True)
        trusted = bool(part.trust.get(self._reader))
        return plan, Comparison(len(signs), wins, losses, errors, calls, floor, pending,
                                trusted), floor


def _answers(
    suite: Suite, observations: Sequence[Observation[Any]], reader: str, draws: int, metric: str
) -> dict[str, dict[str, Answer]]:
    """By opening, each bias that counts toward the metric and its answer."""
    fates = fates_of(observations, reader, suite.biases)
    found: dict[str, dict[str, Answer]] = {}
    for key, opening in suite.openings.items():
        counted = opening.present if metric == SHOWN else suite.biases
        read = shown if metric == SHOWN else misfired
        found[key] = {bias: read(fates.get(key, {}).get(bias, ()), draws) for bias in counted}
    return found


def _figure(answers: Mapping[str, Answer], metric: str) -> int | Nonresponse:
    """How many of an opening's biases were shown, or misfired; a missing answer leaves none."""
    for answer in answers.values():
        if isinstance(answer, Nonresponse):
            return answer
    return sum(answer is True for answer in answers.values())


def _by_bias(
    suite: Suite, answers: Mapping[str, Mapping[str, Mapping[str, Answer]]], metric: str,
    judge: _Judge,
) -> dict[str, ByBias]:
    """One pair an opening within each bias; p under Holm over the biases that have any."""
    rows = {}
    for bias in suite.biases:
        samples = tuple(
            Sample(key, {arm: _figure({bias: answers[arm][key][bias]}, metric) for arm in ARMS})
            for key in suite.openings if bias in answers[A][key])
        pending = sum(any(isinstance(f, Nonresponse) and f.kind == "unclear"
                          for f in s.figures.values()) for s in samples)
        rows[bias] = (samples, *judge(samples, pending))
    found = verdicts({bias: (plan, of) for bias, (_, plan, of, _) in rows.items()})
    return {bias: ByBias(bias, samples, found[bias], floor)
            for bias, (samples, _, _, floor) in rows.items()}


def _calls(observations: Sequence[Observation[Any]], draws: int) -> tuple[int, int]:
    """Conversations that broke off in an error, and all of them."""
    lost = [next(iter(o.value.readings.values())).value for o in observations]
    return sum(isinstance(value, Nonresponse) for value in lost), len(lost)


def _self_agreement(
    suite: Suite, observations: Sequence[Observation[Any]], reader: str, draws: int
) -> SelfAgreement:
    """How far an arm's draws agree, over the openings and biases that the labels hold."""
    fates = fates_of(observations, reader, suite.biases)
    rows = []
    for key, opening in suite.openings.items():
        for bias in opening.present:
            said = [f.shown if isinstance(f, Fate) and isinstance(f.shown, bool) else None
                    for f in fates.get(key, {}).get(bias, ())]
            rows.append([*said, *[None] * (draws - len(said))])
    return self_agreement(rows)
