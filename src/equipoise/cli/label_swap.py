"""What the command line does with label-swap: registration, tables, page, plan, planted judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from equipoise.cli.proving import Expected, planted_findings, show_expected
from equipoise.cli.screen import table
from equipoise.cli.studies import (
    ANY_SEED,
    Handling,
    Study,
    in_order,
    laid_out_trials,
    listed_in,
    require_drawn,
    require_draws,
    stimuli_of,
)
from equipoise.cli.values import or_reason, rate_values
from equipoise.instruments.label_swap.blocks import FAMILIES, Rules, identical_valid
from equipoise.instruments.label_swap.instrument import (
    DRAWS,
    NAME,
    PRIMARY,
    READER,
    factors,
    label_swap,
)
from equipoise.instruments.label_swap.measures import Findings, Judged
from equipoise.instruments.label_swap.planted import TRAITS, answerer, judge
from equipoise.instruments.label_swap.suite import SHIPPED, STANDARD, suite
from equipoise.ledger import Head, Run
from equipoise.providers import planted as planted_subjects
from equipoise.registration import Registration
from equipoise.report.log import Entry
from equipoise.report.statements import excludes_zero
from equipoise.report.words import counted, interval, number, p_value, share
from equipoise.stats.clusters import Clustered
from equipoise.stats.permutation import Omnibus, SwapTest
from equipoise.stats.planner import units_needed
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined
from equipoise.stimuli import Stimuli
from equipoise.terms import Completion, Misuse, Observation, Request, Subject

ORDER = "random:1"
DETECT, SPREADS = 8.0, (4.0, 8.57)
"""Points of position bias, and SDs of it between decisions: one moderate, and that of the judge
that leaned most in the published run of five, whose decision means were 18, 3 and 3."""


def register(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any] = ("free",),
    *,
    draws: int = DRAWS,
    order: str = ORDER,
    vary: str = "",
    decisions: str = "",
    min_valid: int = Rules.min_valid,
    family: str = Rules.family,
    rerun_of: str = "",
) -> tuple[Registration, Stimuli]:
    """What a label-swap run will ask, of whom and how often; checks all of it."""
    if min_valid < 1:
        raise Misuse(f"{min_valid} valid replies a cell were asked for; a block needs at least 1.")
    require_draws(draws, min_valid, " with so many valid replies wanted in each")
    require_drawn(subjects, draws)
    if family not in FAMILIES:
        raise Misuse(f"No family {family!r}: the omnibus tests corrected together are those of"
                     " the matched condition (matched) or of both conditions (both).")
    stimuli, within = stimuli_of(suite_name, SHIPPED, (STANDARD,), ("labels.toml",))
    if within != STANDARD:
        raise Misuse(f"There is no suite {within!r}: there is {STANDARD}, or name a folder.")
    varied, only = listed_in(vary), listed_in(decisions)
    laid_out = suite(stimuli, within, varied, only)
    rules = Rules(min_valid=min_valid, family=family)
    instrument = label_swap(laid_out, answers, draws, rules)
    cells = sum(len(instrument.design(subject)) for subject in subjects)
    in_order([], order)
    declared = {"vary": list(laid_out.varied), "rules": asdict(rules),
                **({"rerun_of": rerun_of} if rerun_of else {})}
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects),
        tuple(laid_out.decisions), factors(laid_out, answers), draws, cells, order,
        (READER,), PRIMARY, declared=declared,
    ), stimuli


def lay_out(registration: Registration, stimuli: Stimuli) -> Study:
    """A registered label-swap, ready to be administered or read."""
    declared = registration.declared
    laid_out = suite(stimuli, registration.suite, declared["vary"], registration.items)
    answers: Any = registration.factors["answer"]
    instrument = label_swap(laid_out, answers, registration.draws, Rules(**declared["rules"]))
    return Study(registration, laid_out, instrument, laid_out_trials(instrument, registration))


def planted(laid_out: Study, subject: Subject) -> Callable[[Request], Completion]:
    """How a planted judge of that name answers, with its settings."""
    return answerer(laid_out.suite, judge(subject.model, subject.settings))


def page(run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head) -> str:
    """A run's page."""
    from equipoise.report.label_swap import page as made

    return made(run, laid_out.registration, laid_out.suite,
                laid_out.in_registered_order(observations), head, laid_out.instrument)


def entry(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head
) -> Entry:
    """A finished run as an entry of the log."""
    from equipoise.report.entries import of_label_swap

    return of_label_swap(run, laid_out.registration, laid_out.suite,
                         laid_out.analyse(observations), head)


def columns(observation: Observation[Any]) -> Mapping[str, Any]:
    """What an exported row says beside the reading: how the reply ended, and its tokens."""
    stated = observation.value
    usage = stated.usage
    return {"finish": stated.finish, "prompt_tokens": _or_empty(usage.prompt),
            "completion_tokens": _or_empty(usage.completion),
            "reasoning_tokens": _or_empty(usage.reasoning),
            "cost_usd": _or_empty(usage.cost_usd)}


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value


def planned(
    laid_out: Study, asked: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What `plan` says of the design: blocks, and how many decisions a position bias takes."""
    registration, of = laid_out.registration, laid_out.suite
    blocks = len(of.pairs) * sum(len(of.wordings(key)) for key in of.decisions)
    points = float(asked.get("detect") or DETECT)
    spreads = SPREADS if asked.get("spread") is None else (float(asked["spread"]),)
    needed = {spread: units_needed(points, spread) for spread in spreads}
    rules = registration.declared["rules"]
    values = {
        "decisions": len(of.decisions), "pairs": len(of.pairs), "blocks": blocks,
        "varied": list(of.varied), "draws": registration.draws, "rules": dict(rules),
        "detect_points": points,
        "decisions_needed": [{"between_sd_points": spread, **or_reason("decisions", n)}
                             for spread, n in needed.items()],
    }
    lines = [
        f"Suite         {registration.suite}: {len(of.decisions)} decisions, {len(of.pairs)}"
        f" pairs of labels, {blocks} blocks in each condition",
        f"Varied        {', '.join(of.varied) or 'labels, descriptions and their order'}",
        f"Draws         {registration.draws} a cell; a block is complete with"
        f" {rules['min_valid']} valid in every cell (identical condition:"
        f" {identical_valid(len(of.asked), registration.draws, Rules(**rules))})",
        f"Family        the omnibus of {_family(rules['family'])}, Bonferroni and Holm",
    ]
    lines += [f"To detect     {points:g} points of position bias: {number(n, 0)} decisions, if"
              f" decisions differ by {spread:g} points (SD; t test, 80% power); asked are"
              f" {len(of.decisions)}" for spread, n in needed.items()]
    return values, lines


def _family(name: str) -> str:
    return "both conditions" if name == "both" else "the matched condition"


def as_table(findings: Findings, registration: Registration, reader: str | None = None) -> str:
    """The findings for a terminal; nothing is tabled where nothing came back."""
    shown = findings.judged
    if all(not f.losses.overall.n - f.losses.overall.count and not f.identical.fifty.n
           for f in shown):
        lost: dict[str, int] = {}
        for f in shown:
            for kinds in (f.losses.kinds, f.identical.kinds):
                for kind, n in kinds.items():
                    lost[kind] = lost.get(kind, 0) + n
        return f"No probability came back: {counted(lost)}. There is no finding."
    rows = [_row(f) for f in shown]
    parts = [
        f"Primary measure: {registration.primary}. Points of 100; 95% intervals. A decision is the"
        " unit of position bias.",
        table(["", "omnibus p", "RMS lean (noise 95%)", "flagged", "by noise", "position bias",
               "lost"], rows),
        *(_detail(f) for f in shown),
        _corrected(findings),
    ]
    return "\n\n".join(parts)


def _row(f: Judged) -> list[str]:
    labels = f.labels
    null_95 = labels.omnibus if isinstance(labels.omnibus, Undefined) else labels.omnibus.null_95
    lost = f.losses.overall
    return [
        f"{f.subject} · {f.answer}", p_value(labels.omnibus),
        f"{number(labels.rms, 1)} ({number(null_95, 1)})",
        f"{labels.flags.count} of {labels.complete}", f"{labels.flags.expected:.1f}",
        interval(f.position.by_decision.over_clusters),
        f"{lost.count:,} of {lost.n:,}",
    ]


def _detail(f: Judged) -> str:
    labels, identical = f.labels, f.identical
    lines = [
        f"{f.subject} · {f.answer}: {labels.complete} of {labels.blocks} blocks complete. Omnibus"
        f" p {p_value(labels.omnibus)} ({_method(labels.omnibus)}), published method"
        f" {p_value(labels.published)}, with interactions {p_value(labels.interaction)}; RMS beyond"
        f" noise {number(labels.excess_rms, 1)}. Flags: p"
        f" {p_value(labels.flags.p_own)} at the blocks' own null rates"
        f" ({p_value(labels.flags.p_nominal)} at 5%). Neutral within"
        f" 2 points: {labels.neutral} of {labels.complete}."
        f" Noise SD {number(f.noise, 1)}.",
        table(["decision", "position bias", "largest lean", "lost"], _decisions(f)),
        _identical_line(f),
    ]
    if identical.kinds:
        lines[-1] += f" Lost there: {counted(dict(identical.kinds))}."
    if f.losses.selected:
        lines.append(f"SELECTED SUBSET: more than 5% lost in {', '.join(f.losses.selected)}; what"
                     " remains is what could be answered.")
    return "\n".join(lines)


def _method(found: Omnibus | Undefined) -> str:
    return "no block" if isinstance(found, Undefined) else found.method


def _decisions(f: Judged) -> Iterator[list[str]]:
    for name, position in f.position.decisions.items():
        tests = [(block, block.test) for block in f.matched
                 if block.decision == name and isinstance(block.test, SwapTest)]
        largest = max(tests, key=lambda found: abs(found[1].lean), default=None)
        said = "none complete" if largest is None else (
            f"{number(largest[1].lean, 1, signed=True)} {largest[0].pair}"
            + (" flagged" if largest[1].flagged else ""))
        yield [name, number(position.mean, 1, signed=True), said,
               share(f.losses.by_decision[name])]


def _identical_line(f: Judged) -> str:
    found = f.identical
    if not found.fifty.n:
        return "Identical condition: nothing came back."
    if not found.informative:
        return (f"Identical condition: every one of {found.fifty.n:,} answers is 50, so it measured"
                " nothing.")
    return (f"Identical condition: {share(found.fifty)} are exactly 50; omnibus p"
            f" {p_value(found.omnibus)}, {found.flags.count} of {found.complete} blocks flagged.")


def _corrected(findings: Findings) -> str:
    family = findings.family
    rows = [[f"{subject} · {answer}", content, p_value(p), p_value(bonferroni), p_value(holm)]
            for (subject, answer, content), p, bonferroni, holm in zip(
                family.tests, family.p, family.adjusted.bonferroni, family.adjusted.holm,
                strict=True)]
    return "\n".join([
        f"Corrected over the declared family, the omnibus of {_family(findings.rules.family)}:",
        table(["", "condition", "p", "Bonferroni", "Holm"], rows),
    ])


def moved(findings: Findings, primary: str, reader: str) -> str:
    """Label-swap has one reader, so reading by it moves nothing."""
    return ""


def as_values(findings: Findings) -> dict[str, Any]:
    """The findings as JSON values; what is undefined is null beside its reason."""
    family = findings.family
    return {
        "judges": [_values(f) for f in findings.judged],
        "family": {
            "declared": findings.rules.family,
            "tests": [
                {"subject": subject, "answer": answer, "condition": content,
                 **or_reason("p", p), **or_reason("bonferroni", bonferroni),
                 **or_reason("holm", holm)}
                for (subject, answer, content), p, bonferroni, holm in zip(
                    family.tests, family.p, family.adjusted.bonferroni,
                    family.adjusted.holm, strict=True)
            ],
        },
        "rules": asdict(findings.rules),
    }


def _values(f: Judged) -> dict[str, Any]:
    labels, losses, identical = f.labels, f.losses, f.identical
    return {
        "subject": f.subject, "answer": f.answer, "reader": f.reader,
        "complete_blocks": labels.complete, "blocks": labels.blocks,
        "omnibus": omnibus_values(labels.omnibus),
        "omnibus_published": omnibus_values(labels.published),
        "omnibus_interaction": omnibus_values(labels.interaction),
        **or_reason("rms_points", labels.rms),
        **or_reason("null_mean_square", labels.null_mean_square),
        **or_reason("excess_rms_points", labels.excess_rms),
        "flags": asdict(labels.flags),
        "lean_by_block": interval_values(labels.by_block),
        "lean_by_decision": cluster_values(labels.by_decision),
        "lean_by_pair": {pair: interval_values(i) for pair, i in labels.by_pair.items()},
        "lean_bounds_points": list(labels.bounds), "neutral_blocks": labels.neutral,
        "position_by_block": interval_values(f.position.by_block),
        "position_by_decision": cluster_values(f.position.by_decision),
        "position_bounds_points": list(f.position.bounds),
        "position_of_decisions": {
            name: interval_values(i) for name, i in f.position.decisions.items()},
        "losses": {
            "overall": rate_values(losses.overall), "kinds": dict(losses.kinds),
            "by_decision": {name: rate_values(r) for name, r in losses.by_decision.items()},
            "by_cell": [{"described": described, "label": label, **rate_values(r)}
                        for (described, label), r in losses.by_cell.items()],
            "differential_p": losses.differential.p,
            **or_reason("odds_ratio", losses.differential.odds_ratio),
            **or_reason("odds_ratio_low", losses.differential.low),
            **or_reason("odds_ratio_high", losses.differential.high),
            "selected_subset": list(losses.selected),
        },
        "identical": {
            "asked": identical.asked, "exactly_50": rate_values(identical.fifty),
            "informative": identical.informative, "lost": dict(identical.kinds),
            "omnibus": omnibus_values(identical.omnibus), **or_reason("rms_points", identical.rms),
            "flags": asdict(identical.flags),
        },
        "strictness": [
            {"min_valid": s.min_valid, "complete": s.complete, "flags": s.flags,
             **or_reason("rms_points", s.rms), "omnibus": omnibus_values(s.omnibus),
             **or_reason("position_points", s.position)} for s in f.strictness],
        "asked_lean": cluster_values(f.varied.asked),
        "alphabet_lean": cluster_values(f.varied.alphabet),
        "wordings": {name: {"position": cluster_values(position), "lean": cluster_values(lean)}
                     for name, (position, lean) in f.varied.wordings.items()},
        "work": asdict(f.work), **or_reason("noise_sd_points", f.noise), "grid": f.grid,
        "each_block": [_block_values(block) for block in f.blocks],
    }


def _block_values(block: Any) -> dict[str, Any]:
    name = {"decision": block.decision, "condition": block.content, "wording": block.wording,
            "pair": block.pair, "valid": [len(cell.values) for cell in block.cells],
            "lean_bounds_points": list(block.bounds)}
    test = block.test
    if isinstance(test, Undefined):
        return {**name, "lean_points": None, "lean_points_reason": test.reason}
    return {
        **name, "lean_points": test.lean, **or_reason("low", test.low),
        **or_reason("high", test.high), "p_exact": test.p, "permutations": test.permutations,
        "as_extreme": test.as_extreme, "flagged": test.flagged,
        "null_flag_probability": test.null_flag, "null_sd_points": test.null_sd,
        "position_points": test.position,
        **({"neutral_reason": block.neutral.reason} if isinstance(block.neutral, Undefined) else
           {"neutral": block.neutral.equivalent, "neutral_p": block.neutral.p,
            "neutral_least_bound_points": block.neutral.least_bound}),
    }


def omnibus_values(found: Omnibus | Undefined) -> dict[str, Any]:
    """An omnibus as values, or null with its reason."""
    if isinstance(found, Undefined):
        return {"p": None, "p_reason": found.reason}
    return {"p": found.p, "null_95_points": found.null_95, "method": found.method,
            **({"draws": found.draws, "seed": found.seed, "p_error": found.error}
               if found.draws else {})}


def interval_values(found: Interval) -> dict[str, Any]:
    """A mean with its t interval."""
    return {**or_reason("mean", found.mean), **or_reason("low", found.low),
            **or_reason("high", found.high), **or_reason("df", found.df), "n": found.n,
            "method": found.method}


def cluster_values(found: Clustered | Undefined) -> dict[str, Any] | None:
    """A mean over decisions with its interval, beside those that take blocks as the unit."""
    if isinstance(found, Undefined):
        return None
    return {"over_decisions": interval_values(found.over_clusters),
            "over_blocks": interval_values(found.over_units),
            **or_reason("miller_se", found.miller_se)}


def selftest(suite_name: str | None, as_json: bool) -> None:
    """Put planted judges through the whole pipeline, then print what it finds at each noise.

    Raises Misuse (exit 10) where a trait is misfound or a figure is outside its band.
    """
    from equipoise.cli.calibrating import calibrated, show_calibration

    specs = [planted_subjects.subject(name) for name in TRAITS]
    specs += [
        Subject(f"leans-{points}", "leans", "planted", "planted", settings={"points": points})
        for points in (2, 4, 12)
    ] + [Subject("leans-in-fives", "leans", "planted", "planted", settings={"grid": 5})]
    name = suite_name or STANDARD
    findings: Findings = planted_findings(NAME, specs, suite=name, vary="asked")
    checks = [expected for f in findings.judged for expected in expect(f)]
    rows = calibrated()
    show_expected({"suite": name}, checks, as_json, **({} if not as_json else {
        "calibration": [row.as_values() for row in rows]}))
    show_calibration(rows, as_json)


def expect(f: Judged) -> Iterator[Expected]:
    """What must be found in each planted judge, and not mistaken for another trait."""
    omnibus = f.labels.omnibus
    p = 1.0 if isinstance(omnibus, Undefined) else omnibus.p
    interaction = f.labels.interaction
    p_interaction = 1.0 if isinstance(interaction, Undefined) else interaction.p
    position, named = f.position.by_decision.over_clusters, f.varied.asked
    assert not isinstance(named, Undefined)
    leading = {block.pair for block in f.matched[:1]}
    flagged = [block for block in f.matched
               if isinstance(block.test, SwapTest) and block.test.flagged]
    ours = sum(block.pair in leading for block in flagged)
    others = len(flagged) - ours
    few = others <= 3
    loss = f.losses.differential.p
    wanted = {
        "neutral": min(p, p_interaction, loss) > 0.001 and few and ours == 0
        and near(position, 0) and near(named.over_clusters, 0) and f.noise != 0.0,
        "leans": p < 1e-6 and ours == len(f.position.decisions) and few,
        "position-only": p > 0.001 and few and excludes_zero(position) and near(position, 8),
        "interaction-only": p_interaction < 1e-6 < p and ours <= 1 and few,
        "truncates-one-label": loss < 1e-4 and p > 0.001 and bool(f.losses.selected),
        "says-fifty": p == 1.0 and not f.identical.informative and not flagged,
        "follows-the-question": p > 0.001 and few and near(named.over_clusters, 8)
        and excludes_zero(named.over_clusters) and near(position, 0),
        "leans-2": p < 0.05 and few,
        "leans-4": p < 1e-4 and ours >= 3 and few,
        "leans-12": p < 1e-6 and ours == len(f.position.decisions) and few,
        "leans-in-fives": p < 1e-6 and ours == len(f.position.decisions) and few,
    }[f.subject]
    said = (f"omnibus p {p_value(omnibus)}, with interactions {p_value(interaction)}, flagged"
            f" {ours} planted + {others}, position {number(position.mean, 1, signed=True)}, asked"
            f" {number(named.over_clusters.mean, 1, signed=True)}, loss p {p_value(loss)}")
    yield Expected(f.subject, said, wanted)


def near(found: Interval, points: float) -> bool:
    """Whether a mean lies within a point and a half of what was planted."""
    return not isinstance(found.mean, Undefined) and abs(found.mean - points) < 1.5


HANDLING = Handling(
    options=frozenset(("vary", "decisions", "min_valid", "family", "rerun_of")),
    suite=STANDARD,
    settings={"local": {"temperature": 1, "max_tokens": 64, "seed": ANY_SEED},
              "openai": {"temperature": 1, "max_tokens": 4096}, "planted": {}},
    traits=tuple(TRAITS),
    usual=(260, 8),
    local_pace={"free": 2.0, "constrained": 3.0},
    register=register, lay_out=lay_out, planted=planted, table=as_table, moved=moved,
    values=as_values, page=page, entry=entry, columns=columns, planned=planned, selftest=selftest,
)
