"""A label-swap run as one page: leans by block, position by decision, losses, and every reply.

The page is one file that loads nothing and runs nothing. The same rows give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from equipoise.elicit import NO_REPLY
from equipoise.instruments.label_swap.blocks import Block, first_listed
from equipoise.instruments.label_swap.instrument import Stated
from equipoise.instruments.label_swap.measures import Findings, Judged, said
from equipoise.instruments.label_swap.planted import Judge
from equipoise.instruments.label_swap.proof import LEANS, Detection, detection
from equipoise.instruments.label_swap.suite import IDENTICAL, MATCHED, Shown, Suite, shown_in
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, statements, words
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.rows import heft
from equipoise.report.visible import left_out, marked
from equipoise.stats.permutation import SwapTest
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined
from equipoise.terms import Instrument, Nonresponse, Observation, Reading

PAGE, ROOM_A_REPLY, ROOM_A_BLOCK = 8_500_000, 260, 1_600
"""Bytes of HTML: what a page may hold, and what a reply's row and a block's line take beside."""

PROOF_RUNS = 100


@dataclass(frozen=True, slots=True)
class ReplyView:
    """One draw: what was read from it, word for word what it said, and the rule."""

    stated: str
    text: Markup
    silent: str
    rule: str
    more: str


@dataclass(frozen=True, slots=True)
class CellView:
    """One prompt's draws; `listed` is what it listed first and second."""

    listed: tuple[str, str]
    described: str
    asked: str
    mean: str
    valid: str
    replies: tuple[ReplyView, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block's line and what it opens to; `cells` are empty where there was no room."""

    address: str
    pair: str
    labels: tuple[str, str]
    wording: str
    line: Markup
    lean: str
    p: str
    flagged: bool
    neutral: bool
    lost: str
    facts: tuple[tuple[str, str], ...]
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A decision's blocks."""

    address: str
    decision: str
    about: str
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """A mean with its interval on a balance line."""

    name: str
    about: str
    address: str
    line: Markup
    said: str
    n: str
    lost: str = ""


@dataclass(frozen=True, slots=True)
class JudgeView:
    """One subject in one answer mode, as its section shows it."""

    key: str
    title: str
    f: Judged
    banner: str
    shows: tuple[str, ...]
    scale: str
    groups: tuple[GroupView, ...]
    identical: tuple[GroupView, ...]
    position_scale: str
    positions: tuple[LineView, ...]
    pair_scale: str
    pairs: tuple[LineView, ...]
    proof: Detection | None
    proof_rms: str
    tests: tuple[tuple[str, str, str, str], ...]
    corrected: tuple[str, str, str]


def page(
    run: Run,
    registration: Registration,
    suite: Suite,
    observations: Sequence[Observation[Stated]],
    head: Head,
    instrument: Instrument[Stated],
) -> str:
    """The page of a run, as HTML text."""
    findings: Findings = instrument.analyse(observations)
    room = Room(PAGE)
    views = tuple(
        judge_view(findings, suite, f, f"j{place}", replies_of(suite, observations, f), room)
        for place, f in enumerate(findings.judged, 1)
    )
    return environment().get_template("label_swap.html.j2").render(
        run=run, head=str(head), registration=registration, suite=suite, findings=findings,
        asked=words.when(run.at), command=shlex.quote(run.name), judges=views,
        headline=statements.headline(findings), questions=statements.questions(registration, suite),
        limits=statements.limits(findings, suite, registration),
        corrected=statements.corrected(findings), style=style("page", "label_swap"),
        subjects=[subject_of(subject) for subject in registration.subjects],
        prompts=_prompts(suite), leans=[f"{lean:g}" for lean in LEANS], runs=PROOF_RUNS,
        left_out=room.left_out, rerun_of=registration.declared.get("rerun_of", ""),
    )


class Room:
    """How many bytes a page has left for replies, and how many blocks went without."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.left_out = 0

    def takes(self, found: Iterable[Observation[Stated]]) -> bool:
        self._left -= ROOM_A_BLOCK + sum(ROOM_A_REPLY + heft(o.value.text) for o in found)
        self.left_out += self._left < 0
        return self._left >= 0


Replies = Mapping[Shown, Sequence[Observation[Stated]]]


def replies_of(
    suite: Suite, observations: Iterable[Observation[Stated]], f: Judged
) -> Replies:
    """One subject's observations in one answer mode, by what was shown, in the suite's order."""
    found: dict[Shown, list[Observation[Stated]]] = {shown: [] for shown in suite.cells()}
    for o in observations:
        if (o.trial.subject.name, o.trial.condition["answer"]) == (f.subject, f.answer):
            found[shown_in(o.trial)].append(o)
    return {shown: sorted(draws, key=lambda o: o.trial.draw) for shown, draws in found.items()}


def judge_view(
    findings: Findings, suite: Suite, f: Judged, key: str, replies: Replies, room: Room
) -> JudgeView:
    tests = [block.test for block in f.matched if isinstance(block.test, SwapTest)]
    scale = charts.forest_scale([end for test in tests for end in (test.low, test.high, test.lean)])
    alike = [block for block in f.blocks if block.content == IDENTICAL]
    positions, position_scale = _positions(suite, f, key)
    pairs, pair_scale = _pairs(suite, f, key)
    place = [test[:2] for test in findings.family.tests].index((f.subject, f.answer))
    adjusted, found = findings.family.adjusted, proof(suite, f)
    return JudgeView(
        key, f"{f.subject}" + (f", {f.answer}" if _several(findings) else ""), f,
        statements.banner(f), statements.shows(findings, f), f"{scale:g}",
        _groups(suite, f.matched, f"{key}-m", replies, scale, room),
        _groups(suite, alike, f"{key}-i", replies, scale, room),
        f"{position_scale:g}", positions, f"{pair_scale:g}", pairs,
        found, words.number(fmean(found.rms[0.0]), 1) if found else "", _tests(f),
        (words.p_value(findings.family.p[place]), words.p_value(adjusted.bonferroni[place]),
         words.p_value(adjusted.holm[place])),
    )


def _several(findings: Findings) -> bool:
    return len({f.answer for f in findings.judged}) > 1


def proof(suite: Suite, f: Judged) -> Detection | None:
    """What this very design finds in planted judges as noisy as this subject; None if unknown."""
    if isinstance(f.noise, Undefined) or not f.labels.complete:
        return None
    plain = Suite(suite.name, suite.stamp, suite.decisions, suite.pairs, ())
    draws = max(len(cell.values) + sum(cell.lost.values())
                for block in f.matched for cell in block.cells)
    judge = Judge(noise=round(f.noise, 2), grid=f.grid)
    return detection(plain, judge, runs=PROOF_RUNS, draws=draws)


def _groups(
    suite: Suite, found: Sequence[Block], key: str, replies: Replies, scale: float, room: Room
) -> tuple[GroupView, ...]:
    groups = []
    for place, name in enumerate(suite.decisions, 1):
        blocks = [block for block in found if block.decision == name]
        several = len({block.wording for block in blocks}) > 1
        groups.append(GroupView(
            f"{key}{place}", name, suite.decisions[name].about,
            tuple(_block(block, f"{key}{place}-{n}", replies, scale, room, several)
                  for n, block in enumerate(blocks, 1)),
        ))
    return tuple(groups)


def _block(
    block: Block, address: str, replies: Replies, scale: float, room: Room, several: bool
) -> BlockView:
    mine = {shown: draws for shown, draws in replies.items()
            if (shown.decision, shown.content, shown.wording, shown.pair) == block.name}
    one, two = block.pair.split("~")
    test, asked = block.test, sum(cell.n_asked for cell in block.cells)
    lost = sum(cell.n_lost for cell in block.cells)
    shown = room.takes(o for draws in mine.values() for o in draws)
    whole = isinstance(test, SwapTest)
    value, low, high = (test.lean, test.low, test.high) if isinstance(test, SwapTest) else (
        (Undefined("incomplete"),) * 3)
    flagged = isinstance(test, SwapTest) and test.flagged
    return BlockView(
        address, block.pair, (one, two), block.wording if several else "",
        charts.forest(value, low, high, scale, lost=lost / asked if asked else 0.0, full=flagged),
        _lean(test), words.p_value(test) if isinstance(test, SwapTest) else "",
        flagged, not isinstance(block.neutral, Undefined) and block.neutral.equivalent,
        f"{lost} of {asked} lost" if lost else "" if asked else "not asked",
        _facts(block) if whole else (("", "Too few valid replies in a cell for a test."),),
        tuple(_cell(block, shown_, draws) for shown_, draws in mine.items()) if shown else (),
    )


def _lean(test: SwapTest | Undefined) -> str:
    if isinstance(test, Undefined):
        return words.number(test)
    return words.interval(Interval(test.lean, test.se, test.df, test.low, test.high, 0, ""))


def _facts(block: Block) -> tuple[tuple[str, str], ...]:
    test = block.test
    assert isinstance(test, SwapTest)
    neutral = block.neutral
    said = ("not to be told: every reply is the same number, or no prompt was answered twice"
            if isinstance(neutral, Undefined) else
            f"{'yes' if neutral.equivalent else 'not shown'} (p {words.p_value(neutral.p)}; the"
            f" least bound that would pass is {words.number(neutral.least_bound, 1)})")
    low, high = block.bounds
    return (
        ("exact p", f"{test.as_extreme:,} of {test.permutations:,} relabellings lean as far:"
                    f" {words.p_value(test)}; the least p possible here is"
                    f" {words.p_value(test.least_p)}"),
        ("noise", f"{words.number(test.null_sd, 1)} points (SD of the lean over relabellings);"
                  f" noise alone would flag this block in {words.percent(test.null_flag, 1)}"),
        ("neutral within 2", said),
        ("position", f"{words.number(test.position, 1, signed=True)} points to the option listed"
                     " first"),
        *((("if the lost", f"had been extreme: a lean from {words.number(low, 1, signed=True)} to"
                           f" {words.number(high, 1, signed=True)}"),)
          if any(cell.n_lost for cell in block.cells) else ()),
    )


def _cell(
    block: Block, shown: Shown, draws: Sequence[Observation[Stated]]
) -> CellView:
    one, two = block.pair.split("~")
    listed = (one, two) if shown.label == "1" else (two, one)
    readings = [(o, first_listed(o.trial, _reading(o).value)) for o in draws]
    values = [value for _, value in readings if not isinstance(value, Nonresponse)]
    return CellView(
        listed, {"x": "x, y", "y": "y, x", "same": "alike"}[shown.described],
        listed[0 if shown.asked == "first" else 1],
        f"{sum(values) / len(values):.1f}" if values else "none",
        f"{len(values)} of {len(draws)}",
        tuple(_reply(o) for o in draws),
    )


def _reading(o: Observation[Stated]) -> Reading[float]:
    [reading] = o.value.readings.values()
    return reading


def _reply(o: Observation[Stated]) -> ReplyView:
    reading, text = _reading(o), o.value.text
    silent = ""
    if not text:
        silent = ("The reply held no text." if reading.rule != NO_REPLY else
                  "Not asked." if said(reading.value) == "not asked" else "No reply came.")
    detail = reading.value.detail if isinstance(reading.value, Nonresponse) else ""
    return ReplyView(said(reading.value), marked(text, reading.span), silent,
                     reading.rule + (f", {detail}" if detail else ""), left_out(text))


def _positions(suite: Suite, f: Judged, key: str) -> tuple[tuple[LineView, ...], float]:
    overall = f.position.by_decision.over_clusters
    intervals = [*f.position.decisions.values(), overall]
    scale = charts.forest_scale(
        [end for i in intervals for end in (i.mean, i.low, i.high)])
    rows = [
        LineView(name, suite.decisions[name].about, f"{key}-m{place}",
                 _line(found, scale, f.losses.by_decision[name].count
                       / max(1, f.losses.by_decision[name].n)),
                 words.interval(found), f"{found.n} blocks",
                 words.of(f.losses.by_decision[name]))
        for place, (name, found) in enumerate(f.position.decisions.items(), 1)
    ]
    rows.append(LineView(
        "over decisions", "the decision is the unit", "", _line(overall, scale, 0.0, full=True),
        words.interval(overall), f"{overall.n} decisions"))
    return tuple(rows), scale


def _pairs(suite: Suite, f: Judged, key: str) -> tuple[tuple[LineView, ...], float]:
    found = f.labels.by_pair
    scale = charts.forest_scale([end for i in found.values() for end in (i.mean, i.low, i.high)])
    return tuple(
        LineView(pair, suite.pairs[pair].kind, f"{key}-blocks", _line(i, scale, 0.0),
                 words.interval(i), f"{i.n} decisions")
        for pair, i in found.items()
    ), scale


def _line(found: Interval, scale: float, lost: float, *, full: bool = False) -> Markup:
    return charts.forest(found.mean, found.low, found.high, scale, lost=lost, full=full)


def _tests(f: Judged) -> tuple[tuple[str, str, str, str], ...]:
    """The omnibus tests as rows: name, p, RMS that noise stays under, method."""
    rows = []
    for name, found in (
        ("labels move answers", f.labels.omnibus),
        ("the same, as published", f.labels.published),
        ("with shifts that differ by description", f.labels.interaction),
        ("identical condition", f.identical.omnibus),
    ):
        if isinstance(found, Undefined):
            rows.append((name, words.number(found), "", ""))
            continue
        drawn = f", {found.draws:,} draws, seed {found.seed}" if found.draws else ""
        error = f"; error of p {words.p_value(found.error)}" if found.error else ""
        rows.append((name, words.p_value(found), words.number(found.null_95),
                     f"{found.method}{drawn}{error}"))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class PromptView:
    address: str
    decision: str
    about: str
    wording: str
    text: str


def _prompts(suite: Suite) -> tuple[PromptView, ...]:
    """Every decision in every wording asked, under the first pair, as a subject read it."""
    pair = next(iter(suite.pairs))
    return tuple(
        PromptView(f"prompt-{place}-{n}", name, suite.decisions[name].about, wording,
                   suite.prompt(Shown(name, MATCHED, wording, pair, "first", "x", "1")))
        for place, name in enumerate(suite.decisions, 1)
        for n, wording in enumerate(suite.wordings(name), 1)
    )

