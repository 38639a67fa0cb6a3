"""A label-swap run as one page: leans by block, position by decision, losses, and every reply.

The page is one file that loads nothing and runs nothing. The same rows give the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from statistics import fmean

from markupsafe import Markup

from equipoise.elicit import NO_REPLY
from equipoise.instruments.label_swap.blocks import Block, first_listed
from equipoise.instruments.label_swap.instrument import Stated
from equipoise.instruments.label_swap.measures import Findings, Judged, said
from equipoise.instruments.label_swap.planted import Judge
from equipoise.instruments.label_swap.proof import LEANS, Detection, detection
from equipoise.instruments.label_swap.suite import (
    ALPHABET,
    ASKED,
    IDENTICAL,
    MATCHED,
    WORDING,
    Pair,
    Shown,
    Suite,
    shown_in,
)
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, statements, words
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.room import Room
from equipoise.report.visible import left_out, marked
from equipoise.stats.equivalence import Equivalence
from equipoise.stats.permutation import Omnibus, SwapTest
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined
from equipoise.terms import Instrument, Nonresponse, Observation, Reading

PAGE, ROOM_A_REPLY, ROOM_A_BLOCK, ROOM_A_LINE = 8_500_000, 260, 2_000, 1_200
"""Bytes of HTML: what a page may hold, and what a reply's row, a block and its line take beside."""

PROOF_RUNS = 100

VARIED = {WORDING: "the wording", ASKED: "the option asked about",
          ALPHABET: "the labels’ place in the alphabet"}


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
    """One prompt's draws; `listed` is what it listed first and second, `said` what they come to."""

    listed: tuple[str, str]
    said: str
    replies: tuple[ReplyView, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block's line and what it opens to; `cells` are empty where there was no room."""

    address: str
    labels: tuple[str, str]
    wording: str
    line: Markup
    lean: str
    said: str
    flagged: bool
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
    """A mean with its interval on a balance line, and what it is a mean of."""

    name: str
    address: str
    line: Markup
    said: str
    n: str


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
    corrected_blocks: str
    lost: str
    odds: str
    room: Room


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
    views = tuple(
        judge_view(findings, suite, f, f"j{place}", replies_of(suite, observations, f))
        for place, f in enumerate(findings.judged, 1)
    )
    return environment().get_template("label_swap.html.j2").render(
        run=run, head=str(head), registration=registration, suite=suite, findings=findings,
        asked=words.when(run.at), command=shlex.quote(run.name), judges=views,
        headline=tuple(map(words.unbroken, statements.headline(findings))),
        questions=statements.questions(registration, suite),
        limits=statements.limits(findings, suite, registration),
        corrected=statements.corrected(findings), style=style("page", "label_swap"),
        subjects=[subject_of(subject) for subject in registration.subjects],
        prompts=_prompts(suite), leans=[f"{lean:g}" for lean in LEANS], runs=PROOF_RUNS,
        varied=words.listed([VARIED[factor] for factor in suite.varied]) if suite.varied else "",
        rerun_of=registration.declared.get("rerun_of", ""),
    )


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
    findings: Findings, suite: Suite, f: Judged, key: str, replies: Replies
) -> JudgeView:
    tests = [block.test for block in f.matched if isinstance(block.test, SwapTest)]
    scale = charts.forest_scale([end for test in tests for end in (test.low, test.high, test.lean)])
    alike = [block for block in f.blocks if block.content == IDENTICAL]
    positions, position_scale = _positions(f, key)
    pairs, pair_scale = _pairs(f)
    found = proof(suite, f)
    room = Room(PAGE // len(findings.judged) - ROOM_A_LINE * len(f.blocks), ROOM_A_REPLY)
    return JudgeView(
        key, f"{f.subject}" + (f", {f.answer}" if _several(findings) else ""), f,
        statements.banner(f), tuple(map(words.unbroken, statements.shows(findings, f))),
        f"{scale:g}",
        _groups(suite, f.matched, f"{key}-m", replies, scale, room),
        _groups(suite, alike, f"{key}-i", replies, scale, room),
        f"{position_scale:g}", positions, f"{pair_scale:g}", pairs,
        found, words.number(fmean(found.rms[0.0]), 1) if found else "", _tests(f),
        _corrected(findings, f), statements.corrected_blocks(f), _lost(f), _odds(f), room,
    )


def _corrected(findings: Findings, f: Judged) -> tuple[str, str, str]:
    """The omnibus p, and what Bonferroni and Holm make of it."""
    family = findings.family
    place = [test[:2] for test in family.tests].index((f.subject, f.answer))
    return (words.p_value(family.p[place]), words.p_value(family.adjusted.bonferroni[place]),
            words.p_value(family.adjusted.holm[place]))


def _lost(f: Judged) -> str:
    lost = f.losses.overall
    if not lost.count:
        return (f"Nothing: all {lost.n:,} replies of the matched condition gave a probability."
                if lost.n else "Nothing was asked.")
    return (f"{words.of(lost)} replies of the matched condition gave no probability:"
            f" {words.counted(statements.lost_kinds(f))}.")


def _odds(f: Judged) -> str:
    """How much likelier a reply is lost with the first label first; empty where none can say."""
    found = f.losses.differential
    low, ratio, high = (("∞" if not isinstance(x, Undefined) and isinf(x) else words.number(x))
                        for x in (found.low, found.odds_ratio, found.high))
    return "" if isinstance(found.odds_ratio, Undefined) else f"{ratio} [{low}, {high}]"


def _several(findings: Findings) -> bool:
    return len({f.answer for f in findings.judged}) > 1


def proof(suite: Suite, f: Judged) -> Detection | None:
    """What blocks like these find in planted judges as noisy as this subject; None if unknown.

    One pair of every kind in one wording will do: further ones add blocks that are made alike.
    """
    noise = f.noise if isinstance(f.noise, Undefined) else round(f.noise, 1)
    if isinstance(noise, Undefined) or not noise or not f.labels.complete:
        return None
    kinds: dict[str, Pair] = {}
    for pair in suite.pairs.values():
        kinds.setdefault(pair.kind, pair)
    like = Suite(suite.name, suite.stamp, suite.decisions,
                 {pair.name: pair for pair in kinds.values()},
                 tuple(factor for factor in suite.varied if factor == ASKED))
    draws = max(len(cell.values) + sum(cell.lost.values())
                for block in f.matched for cell in block.cells)
    return detection(like, Judge(noise=noise, grid=f.grid), runs=PROOF_RUNS, draws=draws)


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
    texts = [o.value.text for draws in mine.values() for o in draws]
    opens = asked > 0 and room.takes(texts, ROOM_A_BLOCK)
    value, low, high = (test.lean, test.low, test.high) if isinstance(test, SwapTest) else (
        (Undefined("incomplete"),) * 3)
    flagged = isinstance(test, SwapTest) and test.flagged
    neutral = not isinstance(block.neutral, Undefined) and block.neutral.equivalent
    said = (f"p {words.p_value(test)}" if isinstance(test, SwapTest) else "",
            "neutral" if neutral else "", f"{lost} of {asked} lost" if lost else "",
            "not asked" if not asked else "" if opens else "replies left out")
    return BlockView(
        address, (one, two), block.wording if several else "",
        charts.forest(value, low, high, scale, lost=lost / asked if asked else 0.0, full=flagged),
        _lean(test), " · ".join(filter(None, said)), flagged, tuple(_facts(block)),
        tuple(_cell(block, shown, draws) for shown, draws in mine.items()) if opens else (),
    )


def _lean(test: SwapTest | Undefined) -> str:
    if isinstance(test, Undefined):
        return words.number(test)
    return words.interval(Interval(test.lean, test.se, test.df, test.low, test.high, 0, ""))


def _facts(block: Block) -> Iterable[tuple[str, str]]:
    test = block.test
    if isinstance(test, Undefined):
        yield "exact p", "none: too few valid replies in a cell"
    else:
        yield "exact p", (f"{test.as_extreme:,} of {test.permutations:,} relabellings lean as far:"
                          f" {words.p_value(test)}; the least p possible here is"
                          f" {words.p_value(test.least_p)}")
        yield "noise", (f"{words.number(test.null_sd, 1)} points (SD of the lean over"
                        " relabellings); by noise alone this block would be flagged in"
                        f" {words.percent(test.null_flag, 1)} of them")
        yield "neutral within 2", _neutral(block.neutral)
        yield "position", (f"{words.number(test.position, 1, signed=True)} points to the option"
                           " listed first")
    if any(cell.n_lost for cell in block.cells):
        low, high = (words.number(bound, 1, signed=True) for bound in block.bounds)
        yield "if the lost", f"had been extreme: a lean from {low} to {high}"


def _neutral(found: Equivalence | Undefined) -> str:
    if isinstance(found, Undefined):
        return "not to be told: every reply is the same number, or no prompt was answered twice"
    return (f"{'yes' if found.equivalent else 'not shown'} (p {words.p_value(found.p)}; the least"
            f" bound that would pass is {words.number(found.least_bound, 1)})")


def _cell(
    block: Block, shown: Shown, draws: Sequence[Observation[Stated]]
) -> CellView:
    one, two = block.pair.split("~")
    listed = (one, two) if shown.label == "1" else (two, one)
    readings = [first_listed(o.trial, _reading(o).value) for o in draws]
    values = [value for value in readings if not isinstance(value, Nonresponse)]
    said = (
        {"x": "descriptions x, y", "y": "descriptions y, x", "same": ""}[shown.described],
        f"asked about {listed[1]}" if shown.asked == "second" else "",
        f"mean {words.number(fmean(values), 1)} for {listed[0]}" if values else "",
        f"{len(values)} of {len(draws)} valid",
    )
    return CellView(listed, " · ".join(filter(None, said)), tuple(_reply(o) for o in draws))


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


def _positions(f: Judged, key: str) -> tuple[tuple[LineView, ...], float]:
    overall = f.position.by_decision.over_clusters
    intervals = [*f.position.decisions.values(), overall]
    scale = charts.forest_scale(
        [end for i in intervals for end in (i.mean, i.low, i.high)])
    rows = []
    for place, (name, found) in enumerate(f.position.decisions.items(), 1):
        lost = f.losses.by_decision[name]
        rows.append(LineView(
            name, f"{key}-m{place}", _line(found, scale, lost.count / max(1, lost.n)),
            words.interval(found),
            _of(found, "block") + (f" · {words.of(lost)} lost" if lost.count else "")))
    rows.append(LineView("over decisions", "", _line(overall, scale, full=True),
                         words.interval(overall), _of(overall, "decision")))
    return tuple(rows), scale


def _pairs(f: Judged) -> tuple[tuple[LineView, ...], float]:
    found = f.labels.by_pair
    scale = charts.forest_scale([end for i in found.values() for end in (i.mean, i.low, i.high)])
    return tuple(
        LineView(pair, "", _line(i, scale, full=True), words.interval(i), _of(i, "decision"))
        for pair, i in found.items()
    ), scale


def _line(found: Interval, scale: float, lost: float = 0.0, *, full: bool = False) -> Markup:
    """Filled, where it can be, if its interval excludes zero."""
    return charts.forest(found.mean, found.low, found.high, scale, lost=lost,
                         full=full and statements.excludes_zero(found))


def _of(found: Interval, unit: str) -> str:
    return f"{found.n} {unit}{'' if found.n == 1 else 's'}"


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
            rows.append((name, words.number(found), "", "no block is complete"))
        elif name == "identical condition" and not f.identical.informative:
            rows.append((name, words.p_value(found), words.number(found.null_95, 1),
                         "every probability is 50: not informative"))
        else:
            rows.append((name, words.p_value(found), words.number(found.null_95, 1),
                         _method(found)))
    return tuple(rows)


def _method(found: Omnibus) -> str:
    drawn = f", {found.draws:,} draws, seed {found.seed}" if found.draws else ""
    error = f", standard error of p {words.p_value(found.error)}" if found.error else ""
    return words.unbroken(f"{found.method}{drawn}{error}")


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

