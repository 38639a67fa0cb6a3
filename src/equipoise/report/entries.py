"""A finished run as an entry of the measurement log."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from equipoise.instruments.fingerprint.suite import Suite as Pairs
from equipoise.instruments.label_swap.measures import Findings, Judged
from equipoise.instruments.label_swap.suite import Suite as Decisions
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import sentences, statements
from equipoise.report.arms import gather
from equipoise.report.environment import settings
from equipoise.report.log import Entry
from equipoise.report.words import counted, interval, listed, number, of, p_value, share, spelled
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
