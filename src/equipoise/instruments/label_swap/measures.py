"""Label leans, position bias, what was lost, and what the instrument would find in noise alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

from equipoise.instruments.label_swap.blocks import Block, Cell, Rules, blocks, strata_of, tested
from equipoise.instruments.label_swap.suite import (
    ALPHABET,
    ASKED,
    IDENTICAL,
    MATCHED,
    WORDING,
    Suite,
)
from equipoise.stats.clusters import Clustered, clustered
from equipoise.stats.differential_loss import DifferentialLoss, Table, differential_loss
from equipoise.stats.flag_counts import binomial_upper, expected_flags, poisson_binomial_upper
from equipoise.stats.multiplicity import Adjusted, Tarone, adjusted, tarone
from equipoise.stats.permutation import Omnibus, SwapTest, drawn_omnibus, omnibus
from equipoise.stats.t_interval import Interval, t_interval
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Nonresponse, Observation, Usage

if TYPE_CHECKING:
    from equipoise.instruments.label_swap.instrument import Stated

K = TypeVar("K")

NOMINAL, LOSS_LIMIT, IN_FIVES = 0.05, 5, 0.95
KINDS = ("truncated", "refused", "unclear", "invalid", "error", "not asked")


@dataclass(frozen=True, slots=True)
class Flags:
    """How many blocks are flagged, beside what noise alone would flag.

    `p_nominal` is binomial at 5%, `p_own` Poisson-binomial at each block's own null flag
    probability, whose sum is `expected`.
    """

    count: int
    blocks: int
    p_nominal: float
    p_own: float
    expected: float


@dataclass(frozen=True, slots=True)
class Labels:
    """Do labels move answers, and is one favoured? Leans in points, over the complete blocks.

    `omnibus` is exact where that is cheap, `published` the seed's 2,000 drawn relabellings,
    `interaction` the omnibus that also sees labels that help one description and hurt the other.
    `excess_rms` is the RMS less what noise alone gives: sqrt(max(0, RMS^2 - E0[lean^2])).
    """

    complete: int
    blocks: int
    omnibus: Omnibus | Undefined
    published: Omnibus | Undefined
    interaction: Omnibus | Undefined
    rms: float | Undefined
    null_mean_square: float | Undefined
    excess_rms: float | Undefined
    flags: Flags
    by_block: Interval
    by_decision: Clustered
    by_pair: Mapping[str, Interval]
    holm: Adjusted
    tarone: Tarone
    neutral: int
    bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Position:
    """The mean probability of the first-listed option less 50, in points; decisions are the unit.

    `decisions` is each decision's own mean over its complete blocks, with the t interval over
    those blocks, which share its descriptions.
    """

    by_block: Interval
    by_decision: Clustered
    decisions: Mapping[str, Interval]
    bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Losses:
    """What was asked and gave no probability, by kind, decision and cell of the matched design.

    `differential` asks whether losing a reply depends on the label listed first; `selected` names
    the decisions that lost more than 5%, by which the rest is a selected subset.
    """

    overall: Rate
    kinds: Mapping[str, int]
    by_decision: Mapping[str, Rate]
    by_cell: Mapping[tuple[str, str], Rate]
    differential: DifferentialLoss
    selected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identical:
    """The condition in which both options read alike; not informative where every answer is 50."""

    asked: int
    fifty: Rate
    kinds: Mapping[str, int]
    complete: int
    blocks: int
    rms: float | Undefined
    omnibus: Omnibus | Undefined
    flags: Flags

    @property
    def informative(self) -> bool:
        return self.fifty.n > 0 and self.fifty.count < self.fifty.n


@dataclass(frozen=True, slots=True)
class Strictness:
    """The main figures with another number of valid replies required in each cell."""

    min_valid: int
    complete: int
    flags: int
    rms: float | Undefined
    omnibus: Omnibus | Undefined
    position: float | Undefined


@dataclass(frozen=True, slots=True)
class Work:
    """Tokens and cost, as the provider counted them, over the calls that say so."""

    calls: int
    prompt: int
    completion: int
    reasoning: int
    reasoning_calls: int
    cost_usd: float
    cost_calls: int


@dataclass(frozen=True, slots=True)
class Varied:
    """What further factors show, in points by decision; undefined for what was not varied.

    `asked` is the lean to the option the question names, apart from where it is listed;
    `alphabet` the lean to the label earlier in the alphabet, apart from the labels themselves:
    in three labels, lean(1, 2) + lean(2, 3) - lean(1, 3). `wordings` are, for each wording, the
    position bias and the label lean over decisions.
    """

    asked: Clustered | Undefined
    alphabet: Clustered | Undefined
    wordings: Mapping[str, tuple[Clustered, Clustered]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One subject in one answer mode. `noise` is the SD of replies to one prompt, in points.

    `grid` is 5 where 95 in 100 replies are multiples of five, else 1.
    """

    subject: str
    answer: str
    reader: str
    blocks: tuple[Block, ...]
    labels: Labels
    position: Position
    losses: Losses
    identical: Identical
    strictness: tuple[Strictness, ...]
    varied: Varied
    work: Work
    noise: float | Undefined
    grid: int

    @property
    def matched(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.content == MATCHED)


@dataclass(frozen=True, slots=True)
class Family:
    """The tests that count together, as declared before the run, with their corrected p."""

    tests: tuple[tuple[str, str, str], ...]
    p: tuple[float | Undefined, ...]
    adjusted: Adjusted


@dataclass(frozen=True, slots=True)
class Findings:
    """Every subject in every answer mode, and the declared family of tests."""

    judged: tuple[Judged, ...]
    family: Family
    rules: Rules


def analyse(
    suite: Suite, rules: Rules, observations: Sequence[Observation[Stated]]
) -> Findings:
    """Findings from observations, in the order subjects and answer modes first appear."""
    sorted_out: dict[tuple[str, str, str], list[Observation[Stated]]] = {}
    for o in observations:
        for reader in o.value.readings:
            whose = o.trial.subject.name, o.trial.condition["answer"], reader
            sorted_out.setdefault(whose, []).append(o)
    judged = tuple(_judged(suite, rules, whose, mine) for whose, mine in sorted_out.items())
    return Findings(judged, _family(judged, rules), rules)


def _judged(
    suite: Suite, rules: Rules, whose: tuple[str, str, str], mine: Sequence[Observation[Stated]]
) -> Judged:
    subject, answer, reader = whose
    found = blocks(suite, mine, reader, rules)
    matched = [block for block in found if block.content == MATCHED]
    alike = [block for block in found if block.content == IDENTICAL]
    noise, grid = _noise(matched)
    labels = _labels(matched, rules)
    return Judged(
        subject, answer, reader, found,
        labels, _position(matched), _losses(matched), _identical(alike, rules),
        tuple(_strictness(matched, m, rules, labels)
              for m in dict.fromkeys((1, rules.min_valid, _drawn(matched)))),
        _varied(suite, matched), _work(o.value.usage for o in mine), noise, grid,
    )


def complete(found: Iterable[Block]) -> list[tuple[Block, SwapTest]]:
    """The blocks that have a test, with it."""
    return [(block, block.test) for block in found if not isinstance(block.test, Undefined)]


def _labels(found: Sequence[Block], rules: Rules) -> Labels:
    whole = complete(found)
    tests = [test for _, test in whole]
    leans = [test.lean for test in tests]
    decisions = [block.decision for block, _ in whole]
    pairs = {block.pair: block for block in found}
    by_pair = {pair: t_interval(_means([(block.decision, test.lean) for block, test in whole
                                        if block.pair == pair])) for pair in pairs}
    rms, expected = _rms(tests)
    excess: float | Undefined = Undefined("no_data")
    if not isinstance(rms, Undefined) and not isinstance(expected, Undefined):
        excess = sqrt(max(0.0, rms ** 2 - expected))
    ps = [test.p for test in tests]
    return Labels(
        len(whole), len(found), omnibus(tests), drawn_omnibus(tests),
        omnibus(tests, by_stratum=True), rms, expected, excess, _flags(tests),
        t_interval(leans), clustered(leans, decisions), by_pair, adjusted(ps),
        tarone(ps, [test.least_p for test in tests], rules.alpha),
        sum(not isinstance(block.neutral, Undefined) and block.neutral.equivalent
            for block, _ in whole),
        _mean_bounds([block.bounds for block in found]),
    )


def _means(pairs: Iterable[tuple[str, float]]) -> list[float]:
    """The mean of each name's values, in the order the names first appear."""
    grouped: dict[str, list[float]] = {}
    for name, value in pairs:
        grouped.setdefault(name, []).append(value)
    return [fmean(values) for values in grouped.values()]


def _mean_bounds(bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if not bounds:
        return -50.0, 50.0
    return fmean(low for low, _ in bounds), fmean(high for _, high in bounds)


def _rms(tests: Sequence[SwapTest]) -> tuple[float | Undefined, float | Undefined]:
    """Root mean square lean, and the mean square that noise alone gives."""
    if not tests:
        none = Undefined("no_data")
        return none, none
    return (sqrt(fmean(test.lean ** 2 for test in tests)),
            fmean(test.null_sd ** 2 for test in tests))


def _flags(tests: Sequence[SwapTest]) -> Flags:
    count, own = sum(test.flagged for test in tests), [test.null_flag for test in tests]
    return Flags(count, len(tests), binomial_upper(count, len(tests), NOMINAL),
                 poisson_binomial_upper(count, own), expected_flags(own))


def _position(found: Sequence[Block]) -> Position:
    whole = complete(found)
    values = [test.position for _, test in whole]
    names = [block.decision for block, _ in whole]
    return Position(
        t_interval(values), clustered(values, names),
        {name: t_interval([v for v, of in zip(values, names, strict=True) if of == name])
         for name in dict.fromkeys(block.decision for block in found)},
        _mean_bounds([block.position_bounds for block in found]),
    )


def _losses(found: Sequence[Block]) -> Losses:
    cells = [(block.decision, cell) for block in found for cell in block.cells]
    kinds: Counter[str] = Counter()
    for _, cell in cells:
        kinds.update(cell.lost)
    by_decision = _lost(cells, lambda decision, cell: decision)
    tables: dict[tuple[str, str, str], list[int]] = {}
    for block in found:
        for one, two in strata_of(block.cells):
            table = tables.setdefault((block.decision, one.asked, one.described), [0, 0, 0, 0])
            for at, n in enumerate((one.n_lost, two.n_lost, len(one.values), len(two.values))):
                table[at] += n
    lost, asked = sum(c.n_lost for _, c in cells), sum(c.n_asked for _, c in cells)
    return Losses(
        rate(lost, asked), {kind: kinds[kind] for kind in KINDS if kinds[kind]}, by_decision,
        _lost(cells, lambda decision, cell: (cell.described, cell.label)),
        differential_loss([Table(*table) for table in tables.values()]),
        tuple(name for name, r in by_decision.items() if 100 * r.count > LOSS_LIMIT * r.n),
    )


def _lost(
    cells: Iterable[tuple[str, Cell]], by: Callable[[str, Cell], K]
) -> dict[K, Rate]:
    """The share of asked replies that were lost, by what `by` names."""
    counts: dict[K, list[int]] = {}
    for decision, cell in cells:
        mine = counts.setdefault(by(decision, cell), [0, 0])
        mine[0] += cell.n_lost
        mine[1] += cell.n_asked
    return {name: rate(lost, asked) for name, (lost, asked) in counts.items()}


def _identical(found: Sequence[Block], rules: Rules) -> Identical:
    cells = [cell for block in found for cell in block.cells]
    values = [value for cell in cells for value in cell.values]
    kinds: Counter[str] = Counter()
    for cell in cells:
        kinds.update(cell.lost)
    tests = [test for _, test in complete(found)]
    rms, _ = _rms(tests)
    return Identical(
        sum(cell.n_asked for cell in cells), rate(values.count(50), len(values)),
        {kind: kinds[kind] for kind in KINDS if kinds[kind]}, len(tests), len(found),
        rms, omnibus(tests), _flags(tests),
    )


def _strictness(
    found: Sequence[Block], min_valid: int, rules: Rules, labels: Labels
) -> Strictness:
    tests = [test for block in found
             if not isinstance(test := tested(block.cells, min_valid, rules), Undefined)]
    rms, _ = _rms(tests)
    by_decision = clustered([test.position for test in tests], [
        block.decision for block in found
        if all(len(cell.values) >= min_valid for cell in block.cells)])
    return Strictness(min_valid, len(tests), sum(test.flagged for test in tests), rms,
                      labels.omnibus if len(tests) == labels.complete else omnibus(tests),
                      by_decision.over_clusters.mean)


def _drawn(found: Sequence[Block]) -> int:
    """How many draws a cell was to have."""
    return max((len(cell.values) + sum(cell.lost.values())
                for block in found for cell in block.cells), default=1)


def _noise(found: Sequence[Block]) -> tuple[float | Undefined, int]:
    """The pooled SD of replies to one prompt, and the grid that replies lie on."""
    squares, df = 0.0, 0
    values: list[float] = []
    for block in found:
        for cell in block.cells:
            values += cell.values
            if len(cell.values) > 1:
                mean = fmean(cell.values)
                squares += sum((value - mean) ** 2 for value in cell.values)
                df += len(cell.values) - 1
    fives = sum(value % 5 == 0 for value in values) >= IN_FIVES * len(values)
    return (sqrt(squares / df) if df else Undefined("too_few_units")), 5 if fives else 1


def _varied(suite: Suite, found: Sequence[Block]) -> Varied:
    none: Clustered | Undefined = Undefined("no_data")
    whole = complete(found)
    wordings = dict.fromkeys(block.wording for block in found) if WORDING in suite.varied else ()
    return Varied(
        _asked(whole) if ASKED in suite.varied else none,
        _alphabet(suite, whole) if ALPHABET in suite.varied else none,
        {name: (_by_decision(whole, name, lambda test: test.position),
                _by_decision(whole, name, lambda test: test.lean)) for name in wordings},
    )


def _by_decision(
    whole: Sequence[tuple[Block, SwapTest]], wording: str, value: Callable[[SwapTest], float]
) -> Clustered:
    kept = [(block, test) for block, test in whole if block.wording == wording]
    return clustered([value(test) for _, test in kept], [block.decision for block, _ in kept])


def _asked(whole: Sequence[tuple[Block, SwapTest]]) -> Clustered:
    """Half of how much more the first-listed option gets when it is the one asked about."""
    values = []
    for block, _ in whole:
        means = {which: fmean(fmean(cell.values) for cell in block.cells if cell.asked == which)
                 for which in ("first", "second")}
        values.append((means["first"] - means["second"]) / 2)
    return clustered(values, [block.decision for block, _ in whole])


def _alphabet(suite: Suite, whole: Sequence[tuple[Block, SwapTest]]) -> Clustered:
    """Within three labels of one kind: lean(1, 2) + lean(2, 3) - lean(1, 3), all complete."""
    kinds: dict[tuple[str, str, str], dict[str, float]] = {}
    for block, test in whole:
        kind = block.decision, block.wording, suite.pairs[block.pair].kind
        kinds.setdefault(kind, {})[block.pair] = test.lean
    values, decisions = [], []
    for (decision, _, _), leans in kinds.items():
        if len(leans) == 3:
            one_two, one_three, two_three = leans.values()
            values.append(one_two + two_three - one_three)
            decisions.append(decision)
    return clustered(values, decisions)


def _work(usages: Iterable[Usage]) -> Work:
    found = list(usages)
    reasoning = [u.reasoning for u in found if u.reasoning is not None]
    costs = [u.cost_usd for u in found if u.cost_usd is not None]
    counted = [u for u in found if u.prompt is not None or u.completion is not None]
    return Work(len(counted), sum(u.prompt or 0 for u in found),
                sum(u.completion or 0 for u in found), sum(reasoning), len(reasoning),
                fsum(costs), len(costs))


def _family(judged: Sequence[Judged], rules: Rules) -> Family:
    tests: list[tuple[str, str, str]] = []
    ps: list[float | Undefined] = []
    for one in judged:
        wanted = [(MATCHED, one.labels.omnibus)]
        if rules.family == "both":
            wanted.append((IDENTICAL, one.identical.omnibus))
        for content, found in wanted:
            tests.append((one.subject, one.answer, content))
            ps.append(found if isinstance(found, Undefined) else found.p)
    return Family(tuple(tests), tuple(ps), adjusted(ps))


def said(value: float | Nonresponse) -> str:
    """A reading in one word: the number, or the kind of nonresponse."""
    return value.kind if isinstance(value, Nonresponse) else f"{value:g}"
