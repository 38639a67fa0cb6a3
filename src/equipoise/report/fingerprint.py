"""A fingerprint run as one page: the finding, why the rest holds none, and every reply behind it.

The page is one file that loads nothing and runs nothing. The same rows give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from equipoise.instruments.fingerprint.instrument import Choice
from equipoise.instruments.fingerprint.measures import Fingerprint
from equipoise.instruments.fingerprint.suite import Suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, sentences, words
from equipoise.report.arms import FATES, Arm, Gathered, gather, name_of
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.rows import (
    CELL,
    DIFFERENCES,
    FIRST_OF_DIFFERENCES,
    FIRST_OF_FATE,
    CellView,
    PairView,
    cell_view,
    heft,
    pair_view,
    with_replies,
)
from equipoise.report.tables import (
    FramingRow,
    LanguageRow,
    framing_rows,
    language_rows,
    losses,
    prompts,
)
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate
from equipoise.terms import Observation

MOST_DIFFERENCES, MOST_OPEN, MOST_CHANGED = 100, 40, 12


@dataclass(frozen=True, slots=True)
class Group:
    """The pairs of one fate."""

    fate: str
    address: str
    meaning: str
    count: int
    pairs: tuple[PairView, ...]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Sharpness:
    value: str
    floor: str
    above: str
    pairs: int
    picks: str
    chart: Markup


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The pairs whose commitment another reader changes: some with their address, how many more."""

    some: tuple[tuple[str, str], ...]
    more: int


@dataclass(frozen=True, slots=True)
class ArmView:
    """An arm as its section and its rows in the tables show it."""

    arm: Arm
    remainder: str
    lost: str
    by_chance: str
    interval: Markup
    fates: Markup
    groups: tuple[Group, ...]
    sharpness: Sharpness | None
    undefined_sharpness: str
    position: Markup
    first: str
    last: str
    framings: tuple[FramingRow, ...]
    languages: tuple[LanguageRow, ...]
    otherwise: Mapping[str, Otherwise]


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A cell that two readers read differently, with where its pair stands."""

    arm: str
    address: str
    item: str
    framing: str
    first: str
    cell: CellView


def page(
    run: Run,
    registration: Registration,
    suite: Suite,
    observations: Sequence[Observation[Choice]],
    head: Head,
) -> str:
    """The page of a run, as HTML text."""
    g = gather(registration, suite, observations)
    replies = with_replies(g)
    return environment().get_template("fingerprint.html.j2").render(
        g=g, run=run, head=str(head), registration=registration,
        asked=words.when(run.at),
        command=shlex.quote(run.name),
        headline=sentences.headline(g), saved=sentences.saved(g), limits=sentences.limits(g),
        meanings=sentences.meanings(g), fates=[fate for fate in FATES if _met(g, fate)],
        arms=[arm_view(g, arm, replies) for arm in g.arms],
        measured=not registration.until_dissent,
        subjects=[subject_of(subject) for subject in registration.subjects],
        style=style("page"),
        prompts=prompts(g) if g.suite.pairs else (),
        differences=_differences(g),
        readers=registration.readers,
        replies=len(replies), every=sum(len(arm.cells) for arm in g.arms),
        first_of_fate=FIRST_OF_FATE, first_of_differences=FIRST_OF_DIFFERENCES,
    )


def arm_view(g: Gathered, arm: Arm, replies: frozenset[tuple[str, str]]) -> ArmView:
    found = arm.found
    groups = tuple(
        Group(fate, f"{arm.key}-is-{charts.slug(fate)}", sentences.meanings(g)[fate],
              len(items),
              tuple(pair_view(g, arm, item, (arm.key, item) in replies) for item in items
                    if g.address(arm, item)),
              len(items) <= MOST_OPEN)
        for fate, items in arm.fates.items()
    )
    counts = {fate: len(items) for fate, items in arm.fates.items()}
    followed = found.position
    return ArmView(
        arm, sentences.remainder(g, arm), losses(found.lost),
        f"{found.expected_false_commits:.2g}", charts.interval(found.commits),
        charts.stacked(
            [charts.Segment(fate, n, f"{arm.key}-is-{charts.slug(fate)}")
             for fate, n in counts.items()],
            f"What became of the pairs: {arm.title}", charts.counts_in_words(counts),
            f"{arm.key}-fates",
        ),
        groups, _sharpness(arm), words.number(found.sharpness),
        charts.stacked(
            [charts.Segment("same word", followed.same), charts.Segment("first", followed.first),
             charts.Segment("last", followed.last)],
            f"What the swap of order showed: {arm.title}",
            charts.counts_in_words({"same word": followed.same, "whatever came first":
                                    followed.first, "whatever came last": followed.last}),
            f"{arm.key}-swaps",
        ),
        words.bounds(rate(followed.first, followed.n)),
        words.bounds(rate(followed.last, followed.n)),
        framing_rows(g, arm), language_rows(g, arm),
        {other.reader: _otherwise(g, arm, other) for other in arm.others},
    )


def _otherwise(g: Gathered, arm: Arm, other: Fingerprint) -> Otherwise:
    changed = [item for item, slot in arm.found.slots.items()
               if slot.committed != other.slots[item].committed]
    some = tuple((item, g.address(arm, item)) for item in changed[:MOST_CHANGED])
    return Otherwise(some, len(changed) - len(some))


def _sharpness(arm: Arm) -> Sharpness | None:
    value, floor = arm.found.sharpness, arm.found.sharpness_floor
    if isinstance(value, Undefined) or isinstance(floor, Undefined):
        return None
    picked = [slot.picked for slot in arm.found.slots.values() if slot.picked]
    beside = "above" if value >= floor else "below"
    return Sharpness(
        words.number(value), words.number(floor), f"{abs(value - floor):.2f} {beside} the floor",
        len(picked), f"{sum(picked) / len(picked):.1f}", charts.sharpness(value, floor),
    )


def _met(g: Gathered, fate: str) -> bool:
    return any(fate in arm.fates for arm in g.arms)


def _differences(g: Gathered) -> list[DifferenceView]:
    """The first cells read differently, as many as there is room for."""
    by_name, room, found = {arm.name: arm for arm in g.arms}, DIFFERENCES, []
    for difference in g.findings.differences[:MOST_DIFFERENCES]:
        trial = difference.trial
        room -= CELL + heft(difference.text)
        if room < 0:
            break
        arm, (_, framing, order) = by_name[name_of(trial)], trial.condition.values()
        found.append(DifferenceView(
            arm.title, g.address(arm, trial.item), trial.item, framing,
            g.suite.shown(trial.item, framing, order)[0],
            cell_view(g, arm.cells[trial.item][framing, order], ""),
        ))
    return found
