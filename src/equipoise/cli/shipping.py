"""Several runs of one change: ready to ship, and two runs scored again on today's labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from equipoise.cli.comparison import registered
from equipoise.cli.running import read_run
from equipoise.cli.screen import emit, emit_json, table
from equipoise.cli.studies import Study
from equipoise.cli.verdicts import verdict_values
from equipoise.instruments.replay.contract import Seen
from equipoise.instruments.replay.instrument import NAME
from equipoise.instruments.replay.measures import Compared, analyse
from equipoise.instruments.replay.outcomes import fate
from equipoise.instruments.replay.suite import SHIPPED, Suite, Turn, suite
from equipoise.ledger import Ledger, Where
from equipoise.report import verdicts
from equipoise.report.words import p_value
from equipoise.stats.shipping import RunVerdict, shipping
from equipoise.stimuli import load
from equipoise.terms import Misuse, Nonresponse, Observation, Reading, content_hash

RULES = {
    "two_independent_better": "two runs of their own draws each found it better",
    "single_twice_floor": "one better, by at least twice its noise floor",
    "none": "neither two runs that found it better, nor one by twice its noise floor",
}


PLACE = ("opening", "engine", "answer", "arm", "draw", "version", "bias", "reader")
Place = tuple[str, ...]
"""Where a reading of a page stands, as a queue's key names it: PLACE, each as text."""


@dataclass(frozen=True)
class Replayed:
    """A recorded replay, read again."""

    name: str
    laid_out: Study
    observations: Sequence[Observation[Any]]


def _replay(path: Where, name: str) -> Replayed:
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
    finally:
        ledger.close()
    if laid_out.registration.instrument != NAME:
        raise Misuse(f"The run {name!r} is of {laid_out.registration.instrument}, not a replay.")
    return Replayed(run.name, laid_out, laid_out.in_registered_order(found.observations))


def ship(path: Where, names: Sequence[str], as_json: bool) -> None:
    """Say whether the change that these runs were about is ready to ship, and by which rule.

    Raises Misuse for runs that were not about one and the same change.
    """
    runs = [_replay(path, name) for name in names]
    _require_one_change(runs)
    found = [(r, c) for r in runs for c in r.laid_out.analyse(r.observations).comparisons]
    decided = shipping([
        RunVerdict(r.name, c.verdict.kind, c.verdict.net_points, c.verdict.floor_points,
                   f"{r.laid_out.registration.stamp}/{'/'.join(r.laid_out.registration.items)}")
        for r, c in found])
    if as_json:
        emit_json({"ship": decided.ship, "rule": decided.rule, "worse": list(decided.worse),
                   "same_samples": decided.same_samples, "runs": [r.name for r in runs]})
        return
    emit(_rows(found))
    emit(f"{'Ready to ship' if decided.ship else 'Not ready to ship'}: {RULES[decided.rule]}.")
    if decided.rule == "single_twice_floor" and any(
        c.verdict.floor_points == 0 for _, c in found if c.verdict.kind == "better"):
        emit("Its noise floor is 0, as A never differed from itself: any better is twice that."
             " A second run says more.")
    if decided.same_samples:
        emit("Both runs are on the same openings: the model's own noise is beaten, and nothing is"
             " said of other openings.")
    if decided.worse:
        emit(f"Weigh that too: {', '.join(decided.worse)} found it worse.")


def _require_one_change(runs: Sequence[Replayed]) -> None:
    """Raises Misuse unless these are finished runs of one change, each of replies of its own."""
    for run in runs:
        left = sum(isinstance(next(iter(o.value.readings.values())).value, Nonresponse)
                   and next(iter(o.value.readings.values())).value.kind == "not asked"
                   for o in run.observations)
        if left:
            raise Misuse(f"The run {run.name!r} is not finished: {left} conversations were not"
                         " asked. Give its command again first.")
    if len({_change(run) for run in runs}) > 1:
        raise Misuse("These runs are not about one change: their engine, arms, changed prompt or"
                     " metric differ. A change ships on runs of its own.")
    told: dict[str, str] = {}
    for run in runs:
        twin = told.setdefault(_replies(run), run.name)
        if twin != run.name:
            raise Misuse(f"The runs {twin!r} and {run.name!r} hold the same replies on the same"
                         " openings: that is one run twice, and confirms nothing.")


def _change(run: Replayed) -> str:
    """Names what a run compared: the engines as set up, the arms, the prompts and the metric."""
    said = run.laid_out.registration.declared
    return content_hash({
        "engines": [*run.laid_out.registration.subjects, said.get("second")],
        "arms": said["arms"], "metric": said["metric"],
        "prompts": [run.laid_out.suite.engine, run.laid_out.suite.changed],
        "instructions": {key: dict(bias.instruction)
                         for key, bias in run.laid_out.suite.biases.items()}})


def _replies(run: Replayed) -> str:
    """Names every reply of a run's engines, in the order of its conversations."""
    return content_hash([[o.trial.key, list(o.value.replies), o.value.text,
                          [[[x.text, x.answer] for x in page.lines] for page in o.value.versions]]
                         for o in sorted(run.observations, key=lambda o: o.trial.key)])


def _rows(found: Sequence[tuple[Replayed, Compared]]) -> str:
    return table(["run", "verdict", "B : A", "openings", "net", "p", "noise floor"], [
        [r.name, c.verdict.kind, f"{c.verdict.wins} : {c.verdict.losses}", str(c.verdict.n),
         verdicts.points(c.verdict.net_points), p_value(c.verdict.p),
         verdicts.points(c.verdict.floor_points)] for r, c in found])


def rescore(
    path: Where, names: Sequence[str], folder: Path | None, settled: Sequence[Path], as_json: bool
) -> None:
    """Score recorded replays again on today's labels, with no call to anyone.

    What the readers decided stays as it is; which biases the labels find in each turn is today's,
    and what no reader decided is as people settled it, in the files that `gold` wrote.
    """
    today, people = suite(load(folder or SHIPPED)), _settled(settled)
    rows: list[dict[str, Any]] = []
    for name in names:
        run = _replay(path, name)
        then = run.laid_out.analyse(run.observations).comparisons
        now, moved, gone = rescored(run, today, people.get(name, {}))
        rows += [{"run": name, "reader": a.reader, "labels_moved": moved, "openings_gone": gone,
                  "settled": len(people.get(name, {})),
                  "then": verdict_values(a.verdict), "now": verdict_values(b.verdict)}
                 for a, b in zip(then, now, strict=True)]
        if not as_json:
            emit(f"{name}: {moved} label{'' if moved == 1 else 's'} moved since"
                 f"{f', {gone} openings are retired' if gone else ''}.")
            emit(table(["", "verdict", "B : A", "openings", "net", "p"], [
                [when, c.verdict.kind, f"{c.verdict.wins} : {c.verdict.losses}", str(c.verdict.n),
                 verdicts.points(c.verdict.net_points), p_value(c.verdict.p)]
                for a, b in zip(then, now, strict=True) for when, c in (("then", a), ("now", b))]))
    if as_json:
        emit_json({"rescored": rows})


def _settled(files: Sequence[Path]) -> dict[str, dict[Place, Seen]]:
    """By run, what people settled of the readings that no reader decided."""
    found: dict[str, dict[Place, Seen]] = {}
    for file in files:
        for row in _rows_of(file):
            label = row.get("label")
            if label not in ("yes", "no"):
                continue
            said = Seen("met", int(row.get("line", -1))) if label == "yes" else Seen("not met")
            for of in row.get("of", ()):
                place = tuple(str(of[part]) for part in PLACE)
                found.setdefault(str(of["run"]), {})[place] = said
    return found


def _rows_of(file: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        raise Misuse(f"There is no file {file}.") from None
    except (ValueError, UnicodeDecodeError):
        raise Misuse(f"{file} is no JSON Lines: equipoise gold … -o FILE --key KEY writes"
                     " it.") from None


def rescored(
    run: Replayed, today: Suite, people: Mapping[Place, Seen] = {}
) -> tuple[Sequence[Compared], int, int]:
    """The comparisons on today's labels, how many labels moved, and how many openings are gone."""
    old: Suite = run.laid_out.suite
    openings, moved, gone = {}, 0, 0
    for key, opening in old.openings.items():
        now = today.openings.get(key)
        if now is None or [t.said for t in now.turns] != [t.said for t in opening.turns]:
            gone += 1
            continue
        moved += sum(len(set(a.present) ^ set(b.present))
                     for a, b in zip(opening.turns, now.turns, strict=True))
        openings[key] = replace(opening, turns=tuple(
            Turn(t.said, tuple(b for b in t.present if b in old.biases)) for t in now.turns))
    labelled = replace(old, openings=openings)
    part = registered(run.laid_out.registration.declared)
    again = [_again(o, labelled, people) for o in run.observations if o.trial.item in openings]
    return (analyse(labelled, part, run.laid_out.registration.draws, again).comparisons,
            moved, gone)


def _again(
    o: Observation[Any], labelled: Suite, people: Mapping[Place, Seen]
) -> Observation[Any]:
    """An observation whose fates follow from the same readings and other labels."""
    value, present = o.value, labelled.openings[o.trial.item].present
    seen = {reader: {bias: _decided(o, reader, bias, readings, people)
                     for bias, readings in by_bias.items()}
            for reader, by_bias in value.seen.items()} if people else value.seen
    fates = {reader: {bias: fate(bias, present.get(bias, 0), value.versions, readings)
                      for bias, readings in by_bias.items()}
             for reader, by_bias in seen.items()}
    return Observation(o.trial, structs.replace(value, fates=fates))


def _decided(
    o: Observation[Any], reader: str, bias: str, readings: Sequence[Reading[Seen]],
    people: Mapping[Place, Seen],
) -> tuple[Reading[Seen], ...]:
    """The readings, with people's word where the reader had none; a page that stayed is as it was.

    What a reader decided is not overruled here: that is what its calibration is for.
    """
    trial, made = o.trial, list[Reading[Seen]]()
    for version, reading in enumerate(readings):
        open_still = isinstance(reading.value, Nonresponse) or reading.value.verdict == "unknown"
        place = (trial.item, trial.subject.name, trial.condition["answer"],
                 trial.condition["arm"], str(trial.draw), str(version), bias, reader)
        same = version and o.value.versions[version] == o.value.versions[version - 1]
        if open_still and place in people:
            made.append(Reading(people[place], "settled by people"))
        else:
            made.append(made[-1] if open_still and same else reading)
    return tuple(made)
