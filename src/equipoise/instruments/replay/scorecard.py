"""What the readers saw, per bias, engine and arm: shown, misfires, outcome, persistence, quality.

Each opening counts once a bias: its draws come to one answer, that of more than half of the draws
planned. What happened to a shown line is counted draw by draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.instruments.replay.contract import CHECKS
from equipoise.instruments.replay.outcomes import Fate
from equipoise.instruments.replay.suite import Suite
from equipoise.stats.confusion import Confusion, confusion
from equipoise.stats.draws import majority_of_draws
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Nonresponse, Observation

Answer = bool | Nonresponse
NO_MAJORITY = Nonresponse("unclear", "no answer has more than half of the planned draws")
AS_LABELLED = "as labelled"
"""The rule under which the labels stand in for a detector that did not take part."""

LOST = Nonresponse("error", "too few of its draws were whole")
UNASKED = Nonresponse("not asked", "too few of its draws were asked")


@dataclass(frozen=True)
class Row:
    """One bias in one arm, over openings.

    `shown` is of the openings whose labels hold the bias; `misfired` of those whose labels do
    not, `misfired_of_shown` of everything shown. `again` counts draws in which it was put over
    again; `outcomes` and `stayed` draws in which a labelled bias's debias was shown.
    """

    bias: str
    shown: Rate
    misfired: Rate
    misfired_of_shown: Rate
    again: Rate
    outcomes: Mapping[str, int]
    stayed: Rate
    quality: Mapping[str, Rate]
    undecided: int


@dataclass(frozen=True)
class Scorecard:
    """One engine in one arm by one reader: a row a bias and one over all.

    `detected` is the detector against the labels, turn by turn and draw by draw, by bias and over
    `all`; empty where no detector took part. Turns it did not decide are in neither.
    """

    subject: str
    arm: str
    reader: str
    rows: Mapping[str, Row]
    total: Row
    whole: Rate
    lost: Mapping[str, int]
    tokens: Mapping[str, int | None]
    detected: Mapping[str, Confusion]


def majority(answers: Sequence[Answer], planned: int) -> Answer:
    """The answer of more than half of the planned draws, or why there is none.

    Unclear, and a person's to settle, only where a reader left one of the draws open.

    >>> majority([True, False, True], 3), majority([True, NO_MAJORITY, False], 3).kind
    (True, 'unclear')
    """
    found = majority_of_draws([a if isinstance(a, bool) else None for a in answers], planned)
    if isinstance(found.answer, bool):
        return found.answer
    kinds = {a.kind for a in answers if isinstance(a, Nonresponse)}
    return NO_MAJORITY if "unclear" in kinds else UNASKED if "not asked" in kinds else LOST


def fates_of(
    observations: Iterable[Observation[Any]], reader: str, biases: Collection[str]
) -> dict[str, dict[str, list[Fate | Nonresponse]]]:
    """By opening and bias, the fates of each draw; of a draw that was lost, its nonresponse."""
    found: dict[str, dict[str, list[Fate | Nonresponse]]] = {}
    for o in observations:
        of = found.setdefault(o.trial.item, {})
        for bias, fate in _fates(o, reader, biases).items():
            of.setdefault(bias, []).append(fate)
    return found


def _fates(
    o: Observation[Any], reader: str, biases: Collection[str]
) -> Mapping[str, Fate | Nonresponse]:
    lost = next(iter(o.value.readings.values())).value
    if isinstance(lost, Nonresponse):
        return dict.fromkeys(biases, lost)
    fates: Mapping[str, Fate] = o.value.fates[reader]
    return fates


def shown(fates: Sequence[Fate | Nonresponse], planned: int) -> Answer:
    """Whether a debias was shown, by the majority of the planned draws."""
    return majority([f if isinstance(f, Nonresponse) else f.shown for f in fates], planned)


def misfired(fates: Sequence[Fate | Nonresponse], planned: int) -> Answer:
    """Whether a debias was put where it should not have been, by the majority of the draws."""
    return majority([f if isinstance(f, Nonresponse) else bool(f.misfires) for f in fates],
                    planned)


def scorecard(
    suite: Suite, observations: Sequence[Observation[Any]], reader: str, planned: int
) -> Scorecard:
    """The scorecard of the observations of one engine in one arm."""
    fates = fates_of(observations, reader, suite.biases)
    rows = {bias: _row([bias], suite, fates, observations, planned) for bias in suite.biases}
    readings = [next(iter(o.value.readings.values())).value for o in observations]
    lost: Counter[str] = Counter(value.kind for value in readings if isinstance(value, Nonresponse))
    first = observations[0].trial
    return Scorecard(
        first.subject.name, first.condition["arm"], reader, rows,
        _row(list(suite.biases), suite, fates, observations, planned),
        rate(len(readings) - sum(lost.values()), len(readings)), dict(lost), _tokens(observations),
        _detected(suite, observations),
    )


def _detected(suite: Suite, observations: Sequence[Observation[Any]]) -> dict[str, Confusion]:
    pairs: dict[str, list[tuple[bool, bool]]] = {bias: [] for bias in suite.biases}
    for o in observations:
        for turn, found in zip(suite.openings[o.trial.item].turns, o.value.detected, strict=False):
            if found.rule == AS_LABELLED or isinstance(found.value, Nonresponse):
                continue
            for bias in suite.biases:
                if bias not in found.value.unknown:
                    pairs[bias].append((bias in turn.present, bias in found.value.present))
    if not any(pairs.values()):
        return {}
    every = confusion(pair for of in pairs.values() for pair in of)
    return {**{bias: confusion(of) for bias, of in pairs.items()}, "all": every}


def _row(
    biases: Sequence[str], suite: Suite, fates: Mapping[str, Mapping[str, Any]],
    observations: Sequence[Observation[Any]], planned: int,
) -> Row:
    there: list[bool] = []
    absent: list[bool] = []
    undecided = 0
    for key, opening in suite.openings.items():
        for bias in biases:
            of = fates.get(key, {}).get(bias, [])
            answer = (shown if bias in opening.present else misfired)(of, planned)
            undecided += isinstance(answer, Nonresponse)
            if not isinstance(answer, Nonresponse):
                (there if bias in opening.present else absent).append(answer)
    each = [f for of in fates.values() for bias in biases for f in of.get(bias, ())
            if isinstance(f, Fate)]
    delivered = [f for f in each if f.identified and f.shown is True]
    stayed = [f.stayed for f in delivered if isinstance(f.stayed, bool)]
    again = [any(why in ("asked again", "on the page already") for why in f.misfires)
             for f in each if f.shown is True]
    return Row(
        biases[0] if len(biases) == 1 else "all", rate(sum(there), len(there)),
        rate(sum(absent), len(absent)), rate(sum(absent), sum(absent) + sum(there)),
        rate(sum(again), len(again)),
        dict(Counter(f.outcome for f in delivered if isinstance(f.outcome, str))),
        rate(sum(stayed), len(stayed)), _quality(biases, observations), undecided,
    )


def _quality(biases: Sequence[str], observations: Sequence[Observation[Any]]) -> dict[str, Rate]:
    found = [reading.value for o in observations for bias, reading in o.value.quality.items()
             if bias in biases and not isinstance(reading.value, Nonresponse)]
    checks = {}
    for name in CHECKS:
        decided = [said[name] == "met" for said in found if said[name] != "unknown"]
        if found:
            checks[name] = rate(sum(decided), len(decided))
    return checks


def _tokens(observations: Sequence[Observation[Any]]) -> dict[str, int | None]:
    """Tokens of the engine's calls, None where its provider did not count them all."""
    usages = [usage for o in observations for usage in o.value.usages]
    said = {"prompt": [u.prompt for u in usages], "completion": [u.completion for u in usages]}
    return {name: None if None in counts else sum(c for c in counts if c is not None)
            for name, counts in said.items()}
