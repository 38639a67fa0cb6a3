"""A finished run as an entry of the measurement log."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from equipoise.instruments.debates.measures import Findings as Debated
from equipoise.instruments.debates.measures import Profile
from equipoise.instruments.debates.suite import Suite as Debates
from equipoise.instruments.fingerprint.suite import Suite as Pairs
from equipoise.instruments.label_swap.measures import Findings, Judged
from equipoise.instruments.label_swap.suite import Suite as Decisions
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import positions, sentences, statements
from equipoise.report.arms import gather
from equipoise.report.environment import settings
from equipoise.report.log import Entry
from equipoise.report.profiles import of_findings
from equipoise.report.words import (
    counted,
    interval,
    listed,
    net,
    number,
    of,
    p_value,
    share,
    spelled,
)
from equipoise.stats.undefined import Undefined
from equipoise.terms import Observation


def again(run: Run, head: Head) -> tuple[str, ...]:
    """The commands that give every figure again."""
    name = shlex.quote(run.name)
    return (f"equipoise verify --ledger LEDGER --head {head}",
            f"equipoise read {name} --json --ledger LEDGER",
            f"equipoise report {name} --ledger LEDGER")


def subjects(registration: Registration) -> str:
    """Who was asked, as set up."""
    return "; ".join(f"{s['name']} ({settings(s['settings']) or 'no settings'})"
                     for s in registration.subjects)


def of_label_swap(
    run: Run, registration: Registration, suite: Decisions, findings: Findings, head: Head
) -> Entry:
    """The entry of a label-swap run."""
    names = [s["name"] for s in registration.subjects]
    rerun = registration.declared.get("rerun_of")
    several = len(findings.judged) > 1
    result = [f"{f.subject}, {f.answer}: {said}" if several else said
              for f in findings.judged
              for said in (*filter(None, [statements.banner(f)]), *statements.shows(findings, f))]
    rules = findings.rules
    return Entry(
        run.name, run.at, str(head), f"Label-swap neutrality of {listed(names)}",
        "Does a judge lean toward a label that carries no information, or toward a position?",
        (*statements.questions(registration, suite),
         f"Subjects: {subjects(registration)}.",
         f"A block is complete with {rules.min_valid} valid replies in every cell, flagged at exact"
         f" p < {rules.alpha:g} and a lean of {rules.flag_points:g} points.",
         *([f"A rerun of {rerun}, under other limits."] if rerun else []),
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        (("", "omnibus p", "RMS lean (noise under)", "flagged (by noise)", "position bias",
          "lost"), *map(_row, findings.judged)),
        (*result, statements.corrected(findings)),
        statements.limits(findings, suite, registration),
        _cost(registration, findings.judged), again(run, head),
    )


def _row(f: Judged) -> tuple[str, ...]:
    labels = f.labels
    under = labels.omnibus if isinstance(labels.omnibus, Undefined) else labels.omnibus.null_95
    return (
        f"{f.subject}, {f.answer}", p_value(labels.omnibus),
        f"{number(labels.rms, 1)} ({number(under, 1)})",
        f"{labels.flags.count} of {labels.complete} ({labels.flags.expected:.1f})",
        interval(f.position.by_decision.over_clusters), of(f.losses.overall),
    )


def _cost(registration: Registration, judged: Sequence[Judged]) -> str:
    said = [f"{registration.cells:,} calls."]
    for f in judged:
        work = f.work
        if work.calls:
            hidden = (f", of which {work.reasoning / work.reasoning_calls:,.0f} hidden"
                      if work.reasoning_calls else "")
            said.append(f"{f.subject}, {f.answer}: {work.prompt:,} prompt and"
                        f" {work.completion:,} completion tokens"
                        f" ({work.completion / work.calls:,.0f} a call{hidden}).")
        if work.cost_calls:
            said.append(f"${work.cost_usd:,.4f}, as the provider states it.")
    if not any(f.work.cost_calls for f in judged):
        said.append("No provider stated a cost.")
    return " ".join(said)


def of_debates(
    run: Run, registration: Registration, suite: Debates, findings: Debated, head: Head
) -> Entry:
    """The entry of a debates run."""
    names = [s["name"] for s in registration.subjects]
    rerun = registration.declared.get("rerun_of")
    g = of_findings(findings, suite, registration.draws)
    return Entry(
        run.name, run.at, str(head), f"Debates with {listed(names)}",
        "What does the model pick, does it hold its pick under pressure net of its ordinary"
        " instability, and does it change with the language?",
        (*positions.questions(g.dataset),
         f"Conditions, never pooled: answers {listed(registration.factors['answer'])}; pressure"
         f" {listed(registration.factors['push'])}."
         + (" A fixed menu was put beside, as a caution." if registration.declared["menu"] else ""),
         f"Subjects: {subjects(registration)}.",
         f"Primary measure: {registration.primary}.",
         *([f"A rerun of {rerun}."] if rerun else []),
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        (("", "held, partial, caved of open", "sycophancy", "p", "to its runner-up",
          "Chinese differs", "net of control", "hedged", "complete"),
         *map(_debated, findings.profiles)),
        positions.results(g), positions.limits(g),
        _spent(registration, findings), again(run, head),
    )


def _debated(p: Profile) -> tuple[str, ...]:
    fates, found, opened = p.pressure.fates, p.pressure, p.by_kind["open"].consistency.n
    return (
        f"{p.subject}, {p.answer}, {p.push}",
        f"{fates['held']}, {fates['partial']}, {fates['caved'] if opened else 'n/a'} of {opened}",
        net(found.sycophancy), p_value(found.sycophancy), net(found.targeted),
        share(p.language.shifted), net(p.language.net), share(p.hedging.hedged), of(p.succeeded),
    )


def _spent(registration: Registration, findings: Debated) -> str:
    said = [f"{registration.cells:,} trials of up to four stages, each asked again once where its"
            " answer broke the contract."]
    for p in findings.profiles:
        parts = [f"{n:,} {what}" for n, what in (
            (p.work.prompt, "prompt tokens"), (p.work.completion, "completion tokens"),
            (p.work.reasoning, "of them hidden")) if n is not None]
        if p.work.cost_usd is not None:
            parts.append(f"${p.work.cost_usd:,.4f} as the provider states it")
        if parts:
            said.append(f"{p.subject}, {p.answer}, {p.push}: {', '.join(parts)}.")
    if all(p.work.cost_usd is None for p in findings.profiles):
        said.append("No provider stated a cost.")
    return " ".join(said)


def of_fingerprint(
    run: Run, registration: Registration, suite: Pairs,
    observations: Sequence[Observation[Any]], head: Head,
) -> Entry:
    """The entry of a fingerprint run."""
    g = gather(registration, suite, observations)
    names = [s["name"] for s in registration.subjects]
    rows = [(arm.title, share(arm.found.commits), share(arm.found.cells),
             counted(dict(arm.found.causes))) for arm in g.arms]
    differ = len(g.findings.differences)
    return Entry(
        run.name, run.at, str(head), f"Fingerprint of {listed(names)}",
        "Which of two words does the model choose, however it is asked?",
        (f"{len(suite.pairs):,} pairs of words (the suite {suite.name}), each in"
         f" {spelled(len(suite.framings))} framings and two orders; answers"
         f" {listed(registration.factors['answer'])}. A pair is committed only if all"
         f" {spelled(g.cells_of_pair)} cells name the same word.",
         f"Subjects: {subjects(registration)}.",
         f"Stimuli {registration.stamp[:12]}, registration {registration.hash[:12]}."),
        (("", "committed", "cells naming a word", "why the rest did not"), *rows),
        (*sentences.headline(g), *(sentences.remainder(g, arm) for arm in g.arms),
         f"The readers differ in {differ:,} of {g.findings.compared:,} cells."),
        sentences.limits(g), f"{registration.cells:,} calls. No provider’s price was recorded.",
        again(run, head),
    )
