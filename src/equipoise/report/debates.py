"""A debates dataset as pages: one file for a run, or a site with a page a debate and a subject.

Nothing is loaded and nothing runs. The same dataset gives the same bytes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from equipoise.instruments.debates.instrument import Debated
from equipoise.instruments.debates.measures import analyse
from equipoise.instruments.debates.outcomes import LATER
from equipoise.instruments.debates.suite import SHIPPED, Suite
from equipoise.ledger import Head, Run
from equipoise.reading.canonical import RULES, normal
from equipoise.registration import Registration
from equipoise.report import charts, positions, words
from equipoise.report.dataset import STAGES, Dataset, dataset
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.profiles import Cell, Gathered, Group, Profile, gather
from equipoise.report.room import Room
from equipoise.report.visible import left_out, marked
from equipoise.stats.paired import Paired
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate
from equipoise.stimuli import load
from equipoise.terms import Nonresponse, Observation, Usage

PAGE, ROOM_A_CELL, ROOM_A_REPLY = 8_500_000, 3_200, 400
"""Bytes of HTML: what a page may hold, and what an answer and a reply take beside its words."""

LONGEST_SLUG = 60
DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt")
                                                   for n in range(10))))
STAGE_NAMES = {"pick": "pick", "control": "control", "push": "push", "chinese": "Chinese"}
FATES = {"held": "held", "partial": "partial: another of its own ranking",
         "caved": "caved: outside its own ranking", "unclassified": "unclassified"}


@dataclass(frozen=True)
class Places:
    """Where everything stands, as seen from one page: `up` leads to the site's root.

    Of a single file the pages are empty and every address is a place on it.
    """

    subjects: Mapping[str, str]
    debates: Mapping[str, str]
    groups: Sequence[tuple[str, str]]
    up: str = ""
    paged: bool = False

    def subject(self, name: str) -> str:
        """The address of a subject's profile."""
        return (f"{self.up}subjects/{self.subjects[name]}.html" if self.paged
                else f"#{self.subject_id(name)}")

    def debate(self, key: str) -> str:
        """The address of a debate."""
        return (f"{self.up}debates/{self.debates[key]}.html" if self.paged
                else f"#{self.debate_id(key)}")

    def answer(self, condition: tuple[str, str], key: str, name: str) -> str:
        """The address of one subject's answer to one debate."""
        return f"{self.debate(key) if self.paged else ''}#{self.answer_id(condition, key, name)}"

    def subject_id(self, name: str) -> str:
        return f"s{_place(self.subjects, name)}"

    def debate_id(self, key: str) -> str:
        return f"d{_place(self.debates, key)}"

    def group_id(self, condition: tuple[str, str]) -> str:
        return f"g{list(self.groups).index(condition) + 1}"

    def answer_id(self, condition: tuple[str, str], key: str, name: str) -> str:
        return f"{self.group_id(condition)}-{self.debate_id(key)}-{self.subject_id(name)}"


def _place(named: Mapping[str, str], name: str) -> int:
    return list(named).index(name) + 1


@dataclass(frozen=True, slots=True)
class StageView:
    """What one stage came to beside the pick: `same`, another answer, or none and why."""

    name: str
    answer: str
    same: bool
    lost: str
    note: str
    said: str
    rule: str


@dataclass(frozen=True, slots=True)
class Told:
    """One reply of a stage, word for word; `problem` is what the subject was told of it."""

    stage: str
    text: Markup
    more: str
    empty: bool
    problem: str
    chinese: bool


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One subject's answer to one debate, with all that opens from it."""

    cell: Cell
    points: tuple[tuple[str, float, Markup], ...]
    sum: str
    stages: tuple[StageView, ...]
    draws: tuple[tuple[str, tuple[Told, ...]], ...]
    replies: int
    stamps: tuple[tuple[str, str], ...]
    carried: str


@dataclass(frozen=True, slots=True)
class NetRow:
    """A paired difference on its balance line, with what stands beside it."""

    name: str
    address: str
    rank: str
    line: Markup
    value: str
    note: str


def page(
    run: Run,
    registration: Registration,
    suite: Suite,
    observations: Sequence[Observation[Debated]],
    head: Head,
) -> str:
    """The page of a run, as HTML text: one file that holds everything."""
    findings = analyse(suite, observations)
    found = dataset(run, registration, suite, observations, findings, {})
    g = gather(found)
    work = {p.name: spent(p.work) for p in findings.profiles}
    said = [(f"{p.subject}, {positions.condition_name(p.condition)}",
             work[p.subject, *p.condition]) for group in g.groups for p in group.profiles]
    return _rendered("debates.html.j2", _Site(g, {
        "head": str(head), "prompts": suite.prompts, "hedging": suite.hedging,
    }, paged=False), "", work=said, rerun_of=registration.declared.get("rerun_of", ""))


def spent(work: Usage) -> str:
    """Tokens and cost of a profile, as far as its provider stated them."""
    parts = [f"{n:,} {what}" for n, what in (
        (work.prompt, "prompt tokens"), (work.completion, "completion tokens"),
        (work.reasoning, "of them hidden reasoning")) if n is not None]
    cost = "" if work.cost_usd is None else f"${work.cost_usd:,.4f}, as the provider states it"
    return "; ".join(filter(None, (", ".join(parts), cost))) or "its provider states neither"


def site(dataset: Dataset, more: Mapping[str, Any]) -> dict[str, str]:
    """The pages of a dataset by their path within the site.

    `more` may hold `published_at` and `head` as text, `history` as rows of run, at, state and
    reason, `files` as pairs of address and label, and `prompts` by language and form.
    """
    made = _Site(gather(dataset), more, paged=True)
    pages = {"index.html": _rendered("debates_index.html.j2", made, ""),
             "methods.html": _rendered("debates_methods.html.j2", made, "")}
    for key, name in made.places.debates.items():
        pages[f"debates/{name}.html"] = _rendered(
            "debates_debate.html.j2", made, "../", key=key, debate=dataset["debates"][key],
            near=_near(list(made.places.debates), key))
    for name, file in made.places.subjects.items():
        pages[f"subjects/{file}.html"] = _rendered(
            "debates_subject.html.j2", made, "../", name=name,
            subject=made.subjects.get(name), profiles=[
                p for group in made.g.groups if (p := _profile_of(group, name))],
            near=_near(list(made.places.subjects), name))
    return pages


class _Site:
    """What every page of one dataset shares."""

    def __init__(self, g: Gathered, more: Mapping[str, Any], *, paged: bool) -> None:
        self.g, self.more = g, more
        self.places = Places(
            slugs(g.by_subject), slugs(g.dataset["debates"]), [x.condition for x in g.groups],
            paged=paged)
        self.subjects = {s["name"]: subject_of(s) for s in g.dataset["subjects"]}
        shipped = _shipped(g.dataset["stamp"])
        self.prompts = more.get("prompts") or shipped.get("prompts") or {}
        self.hedging = more.get("hedging") or _both_languages(shipped.get("hedging") or {})


def _shipped(stamp: str) -> Mapping[str, Any]:
    """The files of the shipped stimuli, where these are the ones that were used."""
    found = load(SHIPPED)
    return found.files if found.stamp == stamp else {}


def _both_languages(found: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    phrases: dict[str, list[str]] = {}
    for listed in found.values():
        for category, said in listed.items():
            phrases.setdefault(category, []).extend(said)
    return phrases


def _rendered(template: str, made: _Site, up: str, **also: Any) -> str:
    at = made.places
    places = Places(at.subjects, at.debates, at.groups, up, at.paged)
    found = made.g.dataset
    cells = sum(len(p.cells) for group in made.g.groups for p in group.profiles)
    room = Room(PAGE - (0 if at.paged else ROOM_A_CELL * cells), ROOM_A_REPLY)
    return environment().get_template(template).render(
        g=made.g, data=found, more=made.more, places=places, up=up, say=positions, chart=charts,
        style=style("page", "label_swap", "debates"), prompts=made.prompts, hedging=made.hedging,
        subjects=made.subjects, command=shlex.quote(found["run"]), rules=RULES, fates=FATES,
        registered=words.when(found["registered_at"]), room=room,
        answer_of=partial(answer_view, found, room), ranks=partial(sycophancy_rows, made.g, places),
        languages=partial(language_rows, made.g, places), scale=scale_of,
        stamps_of=stamps_of, carried_of=carried_of, files=made.more.get("files", ()),
        profile_of=_profile_of, profile_rows=profile_rows, **also)


def _profile_of(group: Group, name: str) -> Profile | None:
    return next((p for p in group.profiles if p.subject == name), None)


def _near(names: Sequence[str], name: str) -> tuple[str, str]:
    """What stands before and after a name; empty at the ends."""
    at = names.index(name)
    return (names[at - 1] if at else "", names[at + 1] if at + 1 < len(names) else "")


def slugs(named: Iterable[str]) -> dict[str, str]:
    """A file name for each name: letters a to z, digits and hyphens, no two alike.

    >>> slugs(["GPT-5 (high)", "../../etc", "gpt 5 high", "莫奈", "con"])["gpt 5 high"]
    'gpt-5-high-2'
    """
    found: dict[str, str] = {}
    for name in named:
        plain = "-".join(re.findall("[a-z0-9]+", normal(name)))
        plain = plain[:LONGEST_SLUG].strip("-") or "unnamed"
        base = f"{plain}-1" if plain in DEVICES else plain
        file, n = base, 1
        while file in found.values():
            n += 1
            file = f"{base}-{n}"
        found[name] = file
    return found


def answer_view(found: Dataset, room: Room, cell: Cell) -> AnswerView:
    """An answer as a page shows it, with its replies while there is room."""
    replies = [text for row in cell.rows for stage in STAGES
               for text in row["stages"][stage]["replies"]]
    own = cell.own or {"points": {}, "points_sum": None}
    draws = tuple(
        (f"draw {row['draw']}" if len(cell.rows) > 1 else "", tuple(_told(row)))
        for row in cell.rows) if room.takes(replies) else ()
    return AnswerView(
        cell, tuple((name, value, charts.bar(value / 100, "" if place else "first"))
                    for place, (name, value) in enumerate(sorted(
                        own["points"].items(), key=lambda item: (-item[1], item[0])))),
        _sum(own["points_sum"]), tuple(_stage(cell, stage) for stage in STAGES), draws,
        sum(len(row["stages"][stage]["replies"]) for row in cell.rows for stage in STAGES),
        stamps_of(cell), carried_of(cell),
    )


def stamps_of(cell: Cell) -> tuple[tuple[str, str], ...]:
    """The runs of its draws, each with the times of its answers where those are known."""
    times: dict[str, list[str]] = {}
    for row in cell.rows:
        at = row["answered_at"]
        times.setdefault(row["run"], []).extend([] if at is None else [words.when(at)])
    return tuple((run, "; ".join(dict.fromkeys(said))) for run, said in times.items())


def carried_of(cell: Cell) -> str:
    """From which runs an answer was carried over; empty where from none."""
    return words.listed(sorted({row["run"] for row in cell.rows if row["carried_over"]}) or [""])


def _sum(given: float | None) -> str:
    return "" if given is None or given == 100 else f"{given:g}"


def _stage(cell: Cell, stage: str) -> StageView:
    outcome = cell.outcome
    said = getattr(outcome, stage)
    pick = outcome.pick
    row = next((row["stages"][stage] for row in cell.rows
                if row["stages"][stage]["pick"] == said), cell.rows[0]["stages"][stage])
    if isinstance(said, Nonresponse):
        return StageView(STAGE_NAMES[stage], "", False, said.kind, said.detail, "", "")
    same = stage != "pick" and said == pick
    return StageView(STAGE_NAMES[stage], said, same, "", _note(cell, stage, said), row["said"],
                     row["rule"])


def _note(cell: Cell, stage: str, said: str) -> str:
    """What a stage's answer is to the pick: its runner-up, its fate, how steady over draws."""
    outcome = cell.outcome
    notes = []
    if stage != "pick" and isinstance(outcome.pick, str) and said != outcome.pick:
        notes.append("its runner-up" if said == outcome.runner_up else
                     "in its ranking" if said in outcome.ranking else "outside its ranking")
    if outcome.draws > 1 and stage in LATER:
        count, n = outcome.flips[stage]
        notes.append(f"differs in {count} of {n} draws")
    return ", ".join(notes)


def _told(row: Mapping[str, Any]) -> Iterable[Told]:
    for stage in STAGES:
        found = row["stages"][stage]
        replies = found["replies"] or [""]
        for place, text in enumerate(replies):
            name = STAGE_NAMES[stage] + (", asked again" if place else "")
            empty = not found["replies"]
            yield Told(
                name, marked(text, (-1, -1)), left_out(text), empty or not text,
                found["problem"] if place == 0 and found["problem"] else
                found["detail"] if empty else "", stage == "chinese")


def scale_of(found: Iterable[Paired]) -> float:
    return charts.net_scale(found)


def sycophancy_rows(g: Gathered, places: Places, group: Group) -> list[NetRow]:
    """A condition's subjects by sycophancy; one that is incomplete has no rank."""
    scale = scale_of(p.pressure.sycophancy for p in group.profiles)
    return [NetRow(
        p.subject, places.subject(p.subject), str(place) if place else "–",
        charts.net_line(p.pressure.sycophancy, scale, lost=_lost(p.succeeded),
                        full=_below(p.holm)),
        words.net(p.pressure.sycophancy),
        " · ".join(filter(None, (
            _tested(g, p.pressure.sycophancy, p.holm),
            "" if place else f"no rank: {words.of(p.succeeded)} debates complete"))),
    ) for p, place in group.by_sycophancy()]


def language_rows(g: Gathered, places: Places, group: Group) -> list[NetRow]:
    """A condition's subjects in registered order, by change with the language net of control."""
    scale = scale_of(p.language.net for p in group.profiles)
    return [NetRow(
        p.subject, places.subject(p.subject), "",
        charts.net_line(p.language.net, scale, full=_below(p.holm_language)),
        words.net(p.language.net),
        " · ".join(filter(None, (
            _tested(g, p.language.net, p.holm_language),
            f"differs in {words.of(p.language.shifted)}"))),
    ) for p in group.profiles]


def _tested(g: Gathered, found: Paired, holm: float | Undefined) -> str:
    """An exact p, and Holm's where there are several; nothing where nothing was compared."""
    if not found.n:
        return ""
    more = f", Holm {words.p_value(holm)}" if positions.family(g) > 1 else ""
    return f"p {words.p_value(found)}{more}"


def profile_rows(p: Profile) -> list[NetRow]:
    """A subject's own differences: all debates, open, closed, to its runner-up, the language."""
    parts = (("sycophancy", p.pressure.sycophancy), ("open debates", p.by_kind["open"].sycophancy),
             ("closed debates", p.by_kind["closed"].sycophancy),
             ("to its runner-up", p.pressure.targeted), ("language, net", p.language.net))
    scale = scale_of(found for _, found in parts)
    return [NetRow(name, "", "", charts.net_line(found, scale, full=_below(found.p)),
                   words.net(found),
                   f"p {words.p_value(found)} · {words.plural(found.n, 'debate')}")
            for name, found in parts if found.n]


def _lost(found: Rate) -> float:
    return (found.n - found.count) / found.n if found.n else 0.0


def _below(p: float | Undefined) -> bool:
    return not isinstance(p, Undefined) and p < positions.ALPHA
