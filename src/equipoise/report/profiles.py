"""What a debates dataset comes to: profiles of subjects, debates over subjects, the menu.

Everything is computed from the rows, which may have been carried over from another run; answer
modes and ways of pushing are never pooled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from equipoise.instruments.debates.contract import OPEN
from equipoise.instruments.debates.measures import (
    DISCORDANCES,
    Contested,
    Findings,
    Language,
    Menu,
    Pressure,
    StageCount,
    gate,
    grouped,
    language,
    plurality,
    pressure,
    rank,
)
from equipoise.instruments.debates.measures import Profile as Measured
from equipoise.instruments.debates.outcomes import Outcome, Said, majority
from equipoise.instruments.debates.suite import Suite
from equipoise.report.dataset import STAGES, Dataset, debate_values, outcome_of
from equipoise.stats.disagreement import disagreement
from equipoise.stats.multiplicity import adjusted
from equipoise.stats.paired import Paired
from equipoise.stats.sign_test import Detectable, detectable
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Nonresponse

Condition = tuple[str, str]
"""An answer mode and a way of pushing."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """One subject's rows for one debate in one condition, in the order drawn.

    `own` is the first row whose pick is the outcome's: its ranking, points and criteria stand.
    """

    subject: str
    debate: str
    rows: tuple[Row, ...]
    outcome: Outcome
    own: Row | None

    @property
    def succeeded(self) -> bool:
        """Whether every draw gave a valid answer at all four stages."""
        return self.outcome.succeeded

    @property
    def criteria(self) -> tuple[str, ...]:
        """The three stated criteria, grouped by plain normalisation."""
        return tuple(grouped(text) for text in self.own["criteria"]) if self.own else ()


@dataclass(frozen=True, slots=True)
class Profile:
    """One subject in one condition.

    `phrases` are the hedging phrases found, each with its category, by debate; `detectable` the
    smallest sycophancy found with 80% power where such a share of debates differ, `noise` that
    share as it was for this subject. `holm` and `holm_language` are the p of sycophancy and of the
    net change with the language, each corrected over all profiles.
    """

    subject: str
    condition: Condition
    cells: Mapping[str, Cell]
    pressure: Pressure
    by_kind: Mapping[str, Pressure]
    language: Language
    hedged: Rate
    categories: Mapping[str, int]
    phrases: Mapping[str, tuple[tuple[str, str], ...]]
    stages: Mapping[str, StageCount]
    moved: Mapping[str, Rate]
    succeeded: Rate
    detectable: Mapping[float, Detectable]
    noise: Rate
    holm: float | Undefined
    holm_language: float | Undefined

    @property
    def complete(self) -> bool:
        """Whether every debate succeeded; one that is not gets no rank."""
        return self.succeeded.count == self.succeeded.n

    @property
    def answered(self) -> bool:
        """Whether any pick is valid."""
        return self.stages["pick"].valid.count > 0


@dataclass(frozen=True, slots=True)
class Question:
    """One debate over the subjects of one condition."""

    found: Contested
    cells: Mapping[str, Cell]

    @property
    def debate(self) -> str:
        return self.found.debate

    def criteria_of(self, pick: str) -> dict[str, int]:
        """The criteria stated by those that gave this pick, most stated first."""
        return ranked(Counter(text for cell in self.cells.values()
                              if cell.outcome.pick == pick for text in cell.criteria))

    def subjects_of(self, pick: str) -> list[str]:
        return [name for name, cell in self.cells.items() if cell.outcome.pick == pick]


@dataclass(frozen=True, slots=True)
class Group:
    """One condition: its profiles in registered order and its debates in the suite's order."""

    condition: Condition
    profiles: tuple[Profile, ...]
    questions: Mapping[str, Question]

    @property
    def even(self) -> bool:
        """Whether as many subjects gave a pick in every debate."""
        return len({q.found.disagreement.n for q in self.questions.values()}) < 2

    def most_contested(self) -> list[Question]:
        """The debates, those most disagreed on first; without two picks last.

        By the index where as many picked everywhere, else by the chance that two differ, which
        does not lean with their number.
        """
        if self.even:
            return [self.questions[found.debate]
                    for found in rank(q.found for q in self.questions.values())]
        return sorted(self.questions.values(), key=lambda q: (
            isinstance(q.found.disagreement.pair, Undefined),
            0.0 if isinstance(q.found.disagreement.pair, Undefined)
            else -q.found.disagreement.pair, q.debate))

    def by_sycophancy(self) -> list[tuple[Profile, int | None]]:
        """The profiles with the highest sycophancy first, each with its rank.

        Equal values share a rank; an incomplete profile comes last and has none.
        """
        values = {p.subject: p.pressure.sycophancy.difference for p in self.profiles}
        known = {name: value for name, value in values.items()
                 if not isinstance(value, Undefined)}
        whole = {p.subject for p in self.profiles if p.complete and p.subject in known}
        order = sorted(self.profiles, key=lambda p: (
            p.subject not in whole, -known.get(p.subject, -2.0)))
        return [(p, 1 + sum(known[other] > known[p.subject] for other in whole)
                 if p.subject in whole else None) for p in order]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that a dataset comes to; `groups[0]` is the headline condition."""

    dataset: Dataset
    groups: tuple[Group, ...]
    menus: Mapping[str, Menu]
    succeeded: Rate
    by_subject: Mapping[str, Rate]
    by_debate: Mapping[str, Rate] = field(default_factory=dict)

    @property
    def publishable(self) -> bool:
        """Whether at least 95 in 100 of the registered subject–debate pairs succeeded."""
        return gate(self.succeeded.count, self.succeeded.n)

    @property
    def whole_debates(self) -> int:
        """In how many debates every subject succeeded."""
        return sum(found.count == found.n for found in self.by_debate.values())

    def without(self, key: str) -> tuple[tuple[Condition, str, str], ...]:
        """The answers to a debate that did not succeed: condition, debate and subject."""
        return tuple((group.condition, key, p.subject) for group in self.groups
                     for p in group.profiles if key in p.cells and not p.cells[key].succeeded)

    @property
    def several(self) -> bool:
        """Whether there is more than one condition."""
        return len(self.groups) > 1


def gather(dataset: Dataset) -> Gathered:
    """What a dataset comes to, whatever the order of its rows."""
    conditions = [(c["answer"], c["push"]) for c in dataset["conditions"]]
    cells: dict[tuple[Condition, str], dict[str, list[Row]]] = {}
    for row in sorted(dataset["answers"], key=lambda row: row["draw"]):
        of = cells.setdefault(((row["answer"], row["push"]), row["subject"]), {})
        of.setdefault(row["debate"], []).append(row)
    named = [subject["name"] for subject in dataset["subjects"]]
    subjects = list(dict.fromkeys([*named, *sorted({name for _, name in cells})]))
    profiles = _corrected([
        _profile(dataset, name, condition, cells[condition, name])
        for condition in conditions for name in subjects if (condition, name) in cells])
    groups = tuple(_group(dataset, condition, [p for p in profiles if p.condition == condition])
                   for condition in conditions)
    by_subject = {name: _pairs(dataset, [p for p in profiles if p.subject == name])
                  for name in subjects}
    return Gathered(
        dataset, groups, _menus(dataset, groups),
        rate(sum(r.count for r in by_subject.values()), sum(r.n for r in by_subject.values())),
        by_subject, _by_debate(dataset, profiles, subjects),
    )


def _by_debate(
    dataset: Dataset, profiles: Sequence[Profile], subjects: Sequence[str]
) -> dict[str, Rate]:
    """For every debate, with how many subjects it succeeded in every condition."""
    of = {name: [p for p in profiles if p.subject == name] for name in subjects}
    return {key: rate(sum(_in_all(dataset, of[name], key) for name in subjects), len(subjects))
            for key in dataset["debates"]}


def _in_all(dataset: Dataset, of: Sequence[Profile], key: str) -> bool:
    cells = [p.cells[key] for p in of if key in p.cells]
    return len(cells) == len(dataset["conditions"]) and all(cell.succeeded for cell in cells)


def of_findings(findings: Findings, suite: Suite, draws: int) -> Gathered:
    """What a run's findings come to, without the rows behind them."""
    profiles = _corrected([_found(p) for p in findings.profiles])
    groups = tuple(
        Group(condition, tuple(p for p in profiles if p.condition == condition),
              {found.debate: Question(found, {}) for found in contested})
        for condition, contested in findings.contested.items())
    debates = {key: debate_values(debate) for key, debate in suite.debates.items()}
    by_subject = {p.subject: p.succeeded for p in reversed(profiles)}
    return Gathered({"debates": debates, "draws": draws, "answers": []}, groups, findings.menus,
                    findings.succeeded, by_subject)


def _found(p: Measured) -> Profile:
    every, s = list(p.outcomes.values()), p.pressure.sycophancy
    return Profile(
        p.subject, (p.answer, p.push), {}, p.pressure, p.by_kind, p.language, p.hedging.hedged,
        ranked(p.hedging.categories), {}, p.stages,
        {stage: _moved(every, stage) for stage in STAGES[1:]}, p.succeeded, p.detectable,
        rate(s.first_only + s.second_only, s.n), s.p, 1.0)


def _pairs(dataset: Dataset, of: Sequence[Profile]) -> Rate:
    """The debates that succeeded in every condition, of those registered for a subject."""
    done = sum(_in_all(dataset, of, key) for key in dataset["debates"])
    return rate(done, len(dataset["debates"]))


def _cell(dataset: Dataset, subject: str, key: str, rows: Sequence[Row]) -> Cell:
    found = outcome_of(rows, dataset["debates"][key]["kind"] == OPEN)
    own = next((row for row in rows if row["stages"]["pick"]["pick"] == found.pick), None)
    return Cell(subject, key, tuple(rows), found, own)


def _profile(
    dataset: Dataset, subject: str, condition: Condition, of: Mapping[str, Sequence[Row]]
) -> Profile:
    cells = {key: _cell(dataset, subject, key, of[key]) for key in dataset["debates"] if key in of}
    every = [cell.outcome for cell in cells.values()]
    rows = [row for cell in cells.values() for row in cell.rows]
    hedges = [_hedges(row) for row in rows]
    found = pressure(every)
    triples = found.sycophancy.n
    succeeded = sum(outcome.succeeded for outcome in every)
    differ = found.sycophancy.first_only + found.sycophancy.second_only
    return Profile(
        subject, condition, cells, found,
        {"open": pressure([o for o in every if o.is_open]),
         "closed": pressure([o for o in every if not o.is_open])},
        language(every),
        rate(sum(map(bool, hedges)), sum(bool(_first_reply(row)) for row in rows)),
        ranked(Counter(kind for mine in hedges for kind in {kind for kind, _ in mine})),
        {key: tuple(dict.fromkeys(hedge for row in cell.rows for hedge in _hedges(row)))
         for key, cell in cells.items() if any(map(_hedges, cell.rows))},
        {stage: _stage([row["stages"][stage] for row in rows]) for stage in STAGES},
        {stage: _moved(every, stage) for stage in STAGES[1:]},
        rate(succeeded, len(dataset["debates"])),
        {share: detectable(triples, share) for share in DISCORDANCES} if triples else {},
        rate(differ, triples), found.sycophancy.p, 1.0,
    )


def _moved(of: Iterable[Outcome], stage: str) -> Rate:
    """In how many debates a stage's answer is not the pick, of those where both are valid."""
    pairs = [(o.pick, said) for o in of for said in [getattr(o, stage)]
             if not isinstance(o.pick, Nonresponse) and not isinstance(said, Nonresponse)]
    return rate(sum(pick != said for pick, said in pairs), len(pairs))


def _first_reply(row: Row) -> str:
    return next(iter(row["stages"]["pick"]["replies"]), "")


def _hedges(row: Row) -> list[tuple[str, str]]:
    """A row's hedging phrases with their categories, of those that stand in its own reply."""
    reply = _first_reply(row)
    return [(hedge["category"], hedge["words"]) for hedge in row["hedges"]
            if hedge["words"] in reply]


def _stage(found: Sequence[Row]) -> StageCount:
    valid = sum(stage["pick"] is not None for stage in found)
    lost = Counter(stage["nonresponse"] for stage in found if stage["pick"] is None)
    again = [stage for stage in found if stage["problem"]]
    return StageCount(rate(valid, len(found)), ranked(lost), len(again),
                      sum(stage["pick"] is not None for stage in again))


def _corrected(profiles: Sequence[Profile]) -> list[Profile]:
    """The profiles with Holm's p: every one measured is of the family, either measure its own."""
    pressed = _holm([p.pressure.sycophancy for p in profiles])
    turned = _holm([p.language.net for p in profiles])
    return [replace(p, holm=one, holm_language=other)
            for p, one, other in zip(profiles, pressed, turned, strict=True)]


def _holm(found: Sequence[Paired]) -> tuple[float | Undefined, ...]:
    return adjusted([one.p if one.n else Undefined("no_data") for one in found]).holm


def _group(dataset: Dataset, condition: Condition, profiles: Sequence[Profile]) -> Group:
    return Group(condition, tuple(profiles),
                 {key: _question(dataset, key, profiles) for key in dataset["debates"]})


def _question(dataset: Dataset, key: str, profiles: Sequence[Profile]) -> Question:
    cells = {p.subject: p.cells[key] for p in profiles if key in p.cells}
    picks = [None if isinstance(cell.outcome.pick, Nonresponse) else cell.outcome.pick
             for cell in cells.values()]
    counts = Counter(pick for pick in picks if pick is not None)
    criteria = Counter(text for cell in cells.values() for text in cell.criteria)
    found = Contested(
        key, disagreement(picks, len(dataset["debates"][key]["reference"])), ranked(counts),
        ranked(criteria), plurality(counts))
    return Question(found, cells)


def ranked(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts, largest first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _menus(dataset: Dataset, groups: Sequence[Group]) -> dict[str, Menu]:
    found: dict[str, dict[str, dict[str, list[Row]]]] = {}
    for row in sorted(dataset["menu"], key=lambda row: row["draw"]):
        of = found.setdefault(row["answer"], {}).setdefault(row["debate"], {})
        of.setdefault(row["subject"], []).append(row)
    modes = dict.fromkeys(c["answer"] for c in dataset["conditions"])
    return {mode: _menu(dataset, {key: found[mode][key] for key in dataset["debates"]
                                  if key in found[mode]},
                        next(g for g in groups if g.condition[0] == mode))
            for mode in modes if mode in found}


def _menu(
    dataset: Dataset, of: Mapping[str, Mapping[str, Sequence[Row]]], group: Group
) -> Menu:
    said = {key: {name: majority([_pick(row) for row in rows], len(rows))
                  for name, rows in subjects.items()} for key, subjects in of.items()}
    picks = {key: Counter(pick for pick in by.values() if isinstance(pick, str))
             for key, by in said.items()}
    pairs = [(pick, group.questions[key].cells[name].outcome.pick)
             for key, by in said.items() for name, pick in by.items()
             if name in group.questions[key].cells]
    both = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str)]
    consensus = {key: plurality(counts) for key, counts in picks.items()}
    menus = {key: dataset["debates"][key]["menu"] for key in of}
    sizes = tuple(len(menu) for menu in menus.values())
    return Menu(
        len(of), sum(consensus[key] == menus[key][0] for key in of),
        sum(not name for name in consensus.values()), sizes, prod(1 / size for size in sizes),
        {key: ranked(counts) for key, counts in picks.items()},
        rate(sum(a == b for a, b in both), len(both)),
    )


def _pick(row: Row) -> Said:
    if row["pick"] is None:
        return Nonresponse(row["nonresponse"], row["detail"])
    return str(row["pick"])
