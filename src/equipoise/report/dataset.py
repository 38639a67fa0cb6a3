"""A debates run as one dataset: what is published, and what every page of it is made from.

The dataset is plain JSON. The same rows of a ledger give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.instruments.debates.contract import Answer
from equipoise.instruments.debates.instrument import Debated, Stage
from equipoise.instruments.debates.measures import GATE, Findings, Profile, gate, hedges_of
from equipoise.instruments.debates.outcomes import LATER, Outcome, Said, majority
from equipoise.instruments.debates.suite import Debate, Suite
from equipoise.ledger import Run
from equipoise.registration import Registration
from equipoise.terms import Nonresponse, Observation

SCHEMA = 1
STAGES = ("pick", "control", "push", "chinese")
Dataset = dict[str, Any]


def dataset(
    run: Run,
    registration: Registration,
    suite: Suite,
    observations: Sequence[Observation[Debated]],
    findings: Findings,
    answered: Mapping[tuple[str, str], int],
) -> Dataset:
    """A run's dataset, without its head: a later head of the same ledger changes nothing in it.

    `answers` holds one row a subject, debate, condition and draw with every stage, each stamped
    with its run and the time when its last reply was on record, as `answered` has them by
    (trial, stage), in microseconds since 1970.
    """
    latest: dict[str, int] = {}
    for (trial, _), at in answered.items():
        latest[trial] = max(at, latest.get(trial, 0))
    rows = [answer_row(run, suite, o, findings, latest) for o in observations
            if o.trial.condition["form"] == "asked"]
    return {
        "schema": SCHEMA, "sample": False, "run": run.name, "registered_at": run.at,
        "registration": registration.hash, "stamp": registration.stamp,
        "suite": registration.suite, "draws": registration.draws,
        "declared": dict(registration.declared),
        "subjects": [dict(subject) for subject in registration.subjects],
        "conditions": [{"answer": answer, "push": push}
                       for answer in registration.factors["answer"]
                       for push in registration.factors["push"]],
        "debates": {key: debate_values(debate) for key, debate in suite.debates.items()},
        "answers": rows,
        "menu": [menu_row(run, o, latest) for o in observations
                 if o.trial.condition["form"] == "menu"],
        "coverage": coverage(rows),
    }


def debate_values(debate: Debate) -> dict[str, Any]:
    """What a debate is, for readers: its reference list was never shown to a model."""
    return {
        "kind": debate.kind, "title": debate.title, "question": debate.question,
        "chinese": debate.chinese, "reference": list(debate.reference),
        "criteria": list(debate.criteria), "menu": list(debate.menu),
    }


def answer_row(
    run: Run, suite: Suite, o: Observation[Debated], findings: Findings, latest: Mapping[str, int],
) -> dict[str, Any]:
    """One trial: its pick with ranking, points and criteria, and what each stage said."""
    level = o.trial.condition
    profile = _profile_of(findings, o)
    outcome = profile.outcomes[o.trial.item]
    answer = o.value.stages["pick"].reading.value
    whole = answer if isinstance(answer, Answer) else None
    return {
        "subject": o.trial.subject.name, "debate": o.trial.item, "answer": level["answer"],
        "push": level["push"], "draw": o.trial.draw, "run": run.name,
        "answered_at": latest.get(o.trial.key), "carried_over": False,
        "fate": outcome.fate, "succeeded": _succeeded(o),
        "ranking": list(whole.ranking) if whole else [],
        "points": dict(whole.points) if whole else {},
        "points_sum": whole.sum if whole else None,
        "criteria": list(whole.criteria) if whole else [],
        "stages": {name: stage_values(o.value.stages[name]) for name in STAGES},
        "hedges": [{"category": h.category, "words": h.words} for h in hedges_of(suite, o)],
    }


def _succeeded(o: Observation[Debated]) -> bool:
    return all(isinstance(o.value.stages[name].pick, str) for name in STAGES)


def _profile_of(findings: Findings, o: Observation[Debated]) -> Profile:
    level = o.trial.condition
    name = o.trial.subject.name, level["answer"], level["push"]
    return next(p for p in findings.profiles if p.name == name)


def stage_values(stage: Stage) -> dict[str, Any]:
    """A stage: its canonical pick and the rule, or why there is none; every raw reply."""
    value = stage.reading.value
    said: dict[str, Any] = {"replies": list(stage.texts), "problem": stage.problem}
    if isinstance(value, Nonresponse):
        return {**said, "pick": None, "nonresponse": value.kind, "detail": value.detail,
                "said": "", "rule": stage.reading.rule}
    named = value.named[0] if isinstance(value, Answer) else value.named
    return {**said, "pick": value.pick, "nonresponse": "", "detail": "", "said": named.said,
            "rule": named.rule}


def menu_row(
    run: Run, o: Observation[Debated], latest: Mapping[str, int]
) -> dict[str, Any]:
    """One answer to the cautionary menu."""
    return {
        "subject": o.trial.subject.name, "debate": o.trial.item,
        "answer": o.trial.condition["answer"], "draw": o.trial.draw, "run": run.name,
        "answered_at": latest.get(o.trial.key),
        **stage_values(o.value.stages["pick"]),
    }


def coverage(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many registered subject-debate pairs succeeded, in all, by subject and by debate.

    A pair succeeds when every draw of it in every condition has a valid answer at all four stages.
    """
    cells: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        cell = row["subject"], row["debate"], row["answer"], row["push"]
        cells.setdefault(cell, []).append(row)
    pairs: dict[tuple[str, str], bool] = {}
    for (subject, debate, *_), mine in cells.items():
        done_here = outcome_of(mine, True).succeeded
        pairs[subject, debate] = pairs.get((subject, debate), True) and done_here
    done = sum(pairs.values())
    by: dict[str, dict[str, list[int]]] = {"subjects": {}, "debates": {}}
    for (subject, debate), ok in pairs.items():
        for name, of in ((subject, by["subjects"]), (debate, by["debates"])):
            counts = of.setdefault(name, [0, 0])
            counts[0] += ok
            counts[1] += 1
    return {
        "succeeded": done, "registered": len(pairs), "needed_percent": GATE,
        "publishable": gate(done, len(pairs)),
        **{what: {name: {"succeeded": ok, "registered": n} for name, (ok, n) in of.items()}
           for what, of in by.items()},
    }


def outcome_of(answers: Sequence[Mapping[str, Any]], is_open: bool) -> Outcome:
    """The outcome of a debate from its published rows, one a draw: what every page computes from.

    A dataset may hold rows carried over from another run, so nothing is taken from findings.
    """
    planned = len(answers)
    by_stage = {stage: [_said(row["stages"][stage]) for row in answers] for stage in STAGES}
    pick = majority(by_stage["pick"], planned)
    own = next((row for row in answers if row["stages"]["pick"]["pick"] == pick), None)
    control, push, chinese = (majority(by_stage[stage], planned) for stage in LATER)
    flips = {stage: (sum(a != b for a, b in pairs), len(pairs)) for stage in LATER for pairs in [[
        (a, b) for a, b in zip(by_stage["pick"], by_stage[stage], strict=True)
        if isinstance(a, str) and isinstance(b, str)]]}
    return Outcome(answers[0]["debate"], is_open, pick, tuple(own["ranking"]) if own else (),
                   control, push, chinese, planned, flips, lost=sum(
                       any(row["stages"][stage]["pick"] is None for stage in STAGES)
                       for row in answers))


def _said(found: Mapping[str, Any]) -> Said:
    if found["pick"] is None:
        return Nonresponse(found["nonresponse"], found["detail"])
    return str(found["pick"])
