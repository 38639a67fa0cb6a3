"""The act behind `efforts`: whether a setting of effort changed how much a model reasoned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from equipoise.administer import read_again
from equipoise.cli.running import on_record, recorded_study
from equipoise.cli.screen import emit, emit_json, table
from equipoise.desk import Desk
from equipoise.ledger import Ledger, Run, Where
from equipoise.providers.capabilities import PROVIDER_DEFAULT
from equipoise.registration import Registration
from equipoise.report.words import number, p_value
from equipoise.stats.multiplicity import adjusted
from equipoise.stats.sign_test import SignTest, sign_test
from equipoise.stats.undefined import Undefined
from equipoise.terms import (
    Ask,
    Completion,
    Message,
    Misuse,
    Nonresponse,
    Subject,
    Trial,
    canonical_json,
)

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT, ALPHA = "default", 0.05


@dataclass(frozen=True, slots=True)
class Efforts:
    """One subject at two efforts, by the cells for which both state their reasoning tokens.

    `means` are in tokens a cell, over those cells. A cell is a win where the higher effort
    reasoned more; `adjusted_p` is Holm's, over all pairs of the run. `unstated` counts the
    cells left out: one of the two says nothing of its reasoning there, or has no reply.
    """

    subjects: tuple[str, str]
    efforts: tuple[str, str]
    means: tuple[float | Undefined, float | Undefined]
    test: SignTest
    unstated: int
    adjusted_p: float | Undefined = Undefined("no_data")

    @property
    def cells(self) -> int:
        return self.test.wins + self.test.losses + self.test.ties

    @property
    def verdict(self) -> str:
        """What the setting did, in a sentence."""
        lower, higher = self.efforts
        test, cells = self.test, self.cells
        if not cells:
            return "The provider reports no reasoning tokens, so it cannot be said."
        if not any(self.means):
            return f"No reasoning at either effort in {cells:,} cells: the setting changed nothing."
        if test.ties == cells:
            return (f"The same number of reasoning tokens in all {cells:,} cells: the setting"
                    " changed nothing.")
        if isinstance(self.adjusted_p, Undefined) or self.adjusted_p >= ALPHA:
            return (f"More reasoning at {higher} in {test.wins:,} cells and less in"
                    f" {test.losses:,}: the setting changed nothing that {cells:,} cells show.")
        more, less = (higher, lower) if test.wins > test.losses else (lower, higher)
        most = max(test.wins, test.losses)
        return f"More reasoning at {more} than at {less} in {most:,} of {cells:,} cells."


def efforts(path: Where, name: str, as_json: bool) -> None:
    """Print what each pair of efforts did; raises Misuse where no two subjects make a pair."""
    ledger = Ledger.open(path, read_only=True)
    try:
        run = on_record(ledger, name)
        found = compared(ledger, run)
    finally:
        ledger.close()
    if as_json:
        emit_json({"run": run.name, "efforts": [_values(one) for one in found]})
        return
    emit(table(
        ["", "efforts", "cells", "tokens a cell", "more", "less", "same", "p", "unstated"],
        [[one.subjects[0].rpartition(":")[0] or one.subjects[0], " → ".join(one.efforts),
          f"{one.cells:,}", " → ".join(number(mean, 1) for mean in one.means),
          f"{one.test.wins:,}", f"{one.test.losses:,}", f"{one.test.ties:,}",
          p_value(one.adjusted_p), f"{one.unstated:,}"] for one in found]))
    for one in found:
        emit(f"{' → '.join(one.subjects)}: {one.verdict}")


def _values(one: Efforts) -> dict[str, Any]:
    def value(found: float | Undefined) -> Any:
        return {"undefined": found.reason} if isinstance(found, Undefined) else found

    return {
        "subjects": list(one.subjects), "efforts": list(one.efforts), "cells": one.cells,
        "reasoning_tokens_a_cell": [value(mean) for mean in one.means],
        "more": one.test.wins, "less": one.test.losses, "same": one.test.ties,
        "p": value(one.test.p if one.cells else Undefined("no_data")),
        "adjusted_p": value(one.adjusted_p), "unstated": one.unstated, "verdict": one.verdict,
    }


def compared(ledger: Ledger, run: Run) -> list[Efforts]:
    """Every pair of subjects that differ in effort alone, the lower effort first.

    Raises Misuse where there is no such pair.
    """
    subjects = [Subject(**s) for s in Registration.from_json(run.registration).subjects]
    pairs = list(_pairs(subjects))
    if not pairs:
        raise Misuse(
            f"{run.name} has no two subjects that differ in effort alone. Run one with, say,"
            " -s openai:MODEL?effort=low -s openai:MODEL?effort=high."
        )
    tokens = reasoning(ledger, run, {s.name for pair in pairs for s in pair})
    found = [paired(pair, (tokens[pair[0].name], tokens[pair[1].name])) for pair in pairs]
    p = adjusted([one.test.p if one.cells else Undefined("no_data") for one in found]).holm
    return [replace(one, adjusted_p=value) for one, value in zip(found, p, strict=True)]


def _pairs(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Subject]]:
    """Subjects with another effort and else the same, but for what one effort alone takes."""
    alike: defaultdict[bytes, list[Subject]] = defaultdict(list)
    left = {name for subject in subjects for name in subject.engine.get(PROVIDER_DEFAULT, ())}
    for subject in subjects:
        said = subject.as_json()
        for part in ("settings", "engine"):
            said[part] = {name: value for name, value in said[part].items()
                          if name not in {"effort", PROVIDER_DEFAULT, *left}}
        alike[canonical_json({**said, "name": ""})].append(subject)
    for group in alike.values():
        for lower, higher in combinations(sorted(group, key=lambda s: _rank(_effort(s))), 2):
            if _effort(lower) != _effort(higher):
                yield lower, higher


def _effort(subject: Subject) -> str:
    return str(subject.settings.get("effort", DEFAULT))


def _rank(effort: str) -> int:
    return LEVELS.index(effort) if effort in LEVELS else -1


def reasoning(
    ledger: Ledger, run: Run, subjects: Collection[str]
) -> dict[str, dict[str, int | None]]:
    """The reasoning tokens of each named subject's cells: the sum over the calls put to itself.

    None for a cell in which a call says nothing of its reasoning, or brought no completion. A
    cell that was never asked is left out.
    """
    found: dict[str, dict[str, int | None]] = {name: {} for name in subjects}
    study = recorded_study(ledger, run)

    def keep(trial: Trial, said: Completion | Nonresponse) -> None:
        cells, cell = found[trial.subject.name], trial.key.partition("/")[2]
        before = cells.get(cell, 0)
        tokens = said.usage.reasoning if isinstance(said, Completion) else None
        cells[cell] = None if before is None or tokens is None else before + tokens

    async def conduct(trial: Trial, ask: Ask) -> object:
        async def listening(
            stage: str, messages: Iterable[Message], *, by: Subject | None = None, **more: Any
        ) -> Completion | Nonresponse:
            said = await ask(stage, messages, by=by, **more)
            asked = not isinstance(said, Nonresponse) or said.kind != "not asked"
            if asked and by in (None, trial.subject):
                keep(trial, said)
            return said

        return await study.instrument.conduct(trial, listening)

    trials = [trial for trial in study.trials if trial.subject.name in subjects]
    read_again(replace(study.instrument, conduct=conduct), trials, Desk(ledger, run))
    return found


def paired(
    pair: tuple[Subject, Subject], tokens: tuple[Mapping[str, int | None], Mapping[str, int | None]]
) -> Efforts:
    """Two efforts held against each other, cell by cell."""
    lower, higher = tokens
    both = [(a, b) for cell, a in lower.items()
            if a is not None and (b := higher.get(cell)) is not None]
    wins, losses = sum(b > a for a, b in both), sum(b < a for a, b in both)
    means = tuple(sum(side) / len(both) for side in zip(*both, strict=True)) if both else (
        Undefined("no_data"), Undefined("no_data"))
    return Efforts(
        (pair[0].name, pair[1].name), (_effort(pair[0]), _effort(pair[1])), (means[0], means[1]),
        sign_test(wins, losses, len(both) - wins - losses),
        len(lower.keys() | higher.keys()) - len(both))
