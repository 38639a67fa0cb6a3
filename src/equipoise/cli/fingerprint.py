"""What the command line does with the fingerprint: registration, tables, page, planted subjects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from equipoise.cli.proving import Expected, planted_findings, show_expected
from equipoise.cli.screen import table
from equipoise.cli.studies import (
    Handling,
    Study,
    in_order,
    laid_out_trials,
    require_draws,
    stimuli_of,
)
from equipoise.cli.values import or_reason, rate_values
from equipoise.instruments.fingerprint import planted as traits
from equipoise.instruments.fingerprint.halting import UntilDissent
from equipoise.instruments.fingerprint.instrument import (
    NAME,
    PRIMARY,
    READERS,
    factors,
    fingerprint,
)
from equipoise.instruments.fingerprint.measures import Findings, Fingerprint
from equipoise.instruments.fingerprint.suite import FULL, SHIPPED, Suite, suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report.log import Entry
from equipoise.report.words import counted, number, share
from equipoise.stats.undefined import Undefined
from equipoise.stimuli import Stimuli
from equipoise.terms import Nonresponse, Observation, Request, Subject

TRAITS = ("holds", "follows-position", "changes-with-language", "refuses-topic", "flips-coins",
          "dissents-once")


def register(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any] = ("free",),
    *,
    draws: int = 1,
    order: str = "grouped",
    until_dissent: bool = False,
) -> tuple[Registration, Stimuli]:
    """What a fingerprint run will ask, of whom and how often; checks all of it."""
    require_draws(draws)
    stimuli, within = stimuli_of(suite_name, SHIPPED, (FULL,), ("framings.toml",))
    laid_out = suite(stimuli, within)
    instrument = fingerprint(laid_out, answers, draws)
    cells = sum(len(instrument.design(subject)) for subject in subjects)
    in_order([], order)
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects),
        tuple(laid_out.pairs), factors(laid_out, answers), draws, cells, order,
        tuple(READERS), PRIMARY, until_dissent,
    ), stimuli


def lay_out(registration: Registration, stimuli: Stimuli) -> Study:
    """A registered fingerprint, ready to be administered or read."""
    laid_out = suite(stimuli, registration.suite)
    answers: Any = registration.factors["answer"]
    instrument = fingerprint(laid_out, answers, registration.draws)
    trials = laid_out_trials(instrument, registration)
    reader = registration.primary.rpartition(" ")[2]
    return Study(registration, laid_out, instrument, trials,
                 UntilDissent(reader) if registration.until_dissent else None)


def planted(laid_out: Study, subject: Subject) -> Callable[[Request], str]:
    """How a planted subject of that name answers."""
    return traits.answerer(laid_out.suite, _trait(subject.name, laid_out.suite))


def _trait(name: str, suite: Suite) -> traits.Pick:
    return {
        "holds": traits.holds({item: "ab"[place % 2] for place, item in enumerate(suite.pairs)}),
        "follows-position": traits.follows_position,
        "changes-with-language": traits.changes_with_language,
        "refuses-topic": traits.refuses(suite, frozenset(list(dict.fromkeys(
            pair.category for pair in suite.pairs.values()))[::4])),
        "flips-coins": traits.flips_coins,
        "dissents-once": traits.dissents_once,
    }[name]


def page(run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head) -> str:
    """A run's page."""
    from equipoise.report.fingerprint import page as made

    return made(run, laid_out.registration, laid_out.suite, observations, head)


def entry(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], head: Head
) -> Entry:
    """A finished run as an entry of the log."""
    from equipoise.report.entries import of_fingerprint

    return of_fingerprint(run, laid_out.registration, laid_out.suite, observations, head)


def planned(
    laid_out: Study, asked: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What `plan` says of the design beyond the calls: as values, and as lines."""
    registration = laid_out.registration
    pairs, cells = len(registration.items), 2 * len(registration.factors["framing"])
    answers = len(registration.factors["answer"]) * registration.draws * len(
        registration.subjects)
    least = pairs * answers if registration.until_dissent else registration.cells
    return (
        {"pairs": pairs, "cells_a_pair": cells, "calls_least": least},
        [f"Suite         {registration.suite}: {pairs:,} pairs, {cells} cells a pair and answer"
         " mode"],
    )


def moved(findings: Findings, primary: str, reader: str) -> str:
    """Which pairs' commitments another reader would change."""
    lines = []
    for one in findings.fingerprints:
        for other in findings.fingerprints:
            if (one.reader, other.reader) != (primary, reader) or (
                (one.subject, one.answer, one.draw) != (other.subject, other.answer, other.draw)
            ):
                continue
            changed = [item for item, slot in one.slots.items()
                       if slot.committed != other.slots[item].committed]
            lines.append(f"{one.subject}, {one.answer}: {len(changed)} of {len(one.slots)} pairs"
                         f" commit otherwise by {reader} than by {primary}"
                         + (f": {', '.join(changed[:8])}" if changed else ""))
    return "\n".join(lines)


def as_table(findings: Findings, registration: Registration, reader: str | None = None) -> str:
    """The findings for a terminal: commitment, why the rest did not commit, framings.

    Nothing is tabled where nothing came back, and no effects where cells were left unasked.
    """
    primary = f"pair-commit by {reader}" if reader else registration.primary
    reader = primary.rpartition(" ")[2]
    shown = [f for f in findings.fingerprints if f.reader == reader]
    if all(f.cells.count == 0 and not f.lost.keys() - {"error", "not asked"} for f in shown):
        lost = Counter[str]()
        for f in shown:
            lost.update(f.lost)
        return f"No reply came back: {counted(dict(lost))}. There is no finding."
    several = len({f.draw for f in shown}) > 1
    head = ["", "named a word", "committed", "dissent", "position", "refused", "unclear",
            "other", "sharpness"]
    rows = [[
        f"{f.subject} · {f.answer}" + (f" · draw {f.draw}" if several else ""),
        share(f.cells), share(f.commits),
        *(str(f.causes.get(kind, 0)) for kind in ("dissent", "position", "refused", "unclear")),
        str(sum(n for kind, n in f.causes.items()
                if kind not in ("dissent", "position", "refused", "unclear"))),
        _sharp(f),
    ] for f in shown]
    parts = [f"Primary measure: {primary}. Intervals are Wilson 95%; a pair is the unit.",
             table(head, rows)]
    if registration.until_dissent:
        left = sum(f.lost.get("not asked", 0) for f in shown)
        parts.append(f"Asked until dissent: {left:,} cells were left unasked, so the effects of"
                     " position, framing and language are not measured.")
    else:
        parts += [_detail(f) for f in shown]
    differ = len(findings.differences)
    parts.append(f"Readers: stated_choice and first_word differ in {differ:,} of"
                 f" {findings.compared:,} cells.")
    return "\n\n".join(parts)


def _sharp(found: Fingerprint) -> str:
    if isinstance(found.sharpness, Undefined):
        return number(found.sharpness)
    return f"{number(found.sharpness)} (coins {number(found.sharpness_floor)})"


def _detail(found: Fingerprint) -> str:
    rows = [[
        name, share(effect.picked), counted(dict(effect.lost)),
        f"{effect.position.first}/{effect.position.same}/{effect.position.last}",
        share(effect.against),
    ] for name, effect in found.framings.items()]
    head = ["framing", "named a word", "lost", "first/same/last", "against the others"]
    languages = "; ".join(f"{pair} {share(r)}" for pair, r in found.languages.items())
    followed = found.position
    return "\n".join([
        f"{found.subject} · {found.answer}: coin flips would commit"
        f" {found.expected_false_commits:.2g} of {len(found.slots):,} pairs."
        f" With the order swapped, {followed.first:,} of {followed.n:,} named whatever came first,"
        f" {followed.last:,} whatever came last, {followed.same:,} the same word.",
        table(head, rows),
        f"Languages that each hold one word, and name the same: {languages}",
    ])


def as_values(findings: Findings) -> dict[str, Any]:
    """The findings as JSON values; what is undefined is null beside its reason."""
    return {
        "fingerprints": [_values(f) for f in findings.fingerprints],
        "readers_differ": {"count": len(findings.differences), "n": findings.compared},
    }


def _values(f: Fingerprint) -> dict[str, Any]:
    return {
        "subject": f.subject, "answer": f.answer, "reader": f.reader, "draw": f.draw,
        "cells": rate_values(f.cells), "lost": dict(f.lost),
        "commits": rate_values(f.commits), "causes": dict(f.causes),
        **or_reason("sharpness", f.sharpness), **or_reason("sharpness_floor", f.sharpness_floor),
        "expected_false_commits": f.expected_false_commits,
        "position": {"same": f.position.same, "first": f.position.first, "last": f.position.last},
        "framings": {
            name: {"picked": rate_values(e.picked), "lost": dict(e.lost),
                   "against": rate_values(e.against),
                   "position": {"same": e.position.same, "first": e.position.first,
                                "last": e.position.last}}
            for name, e in f.framings.items()
        },
        "languages": {name: rate_values(r) for name, r in f.languages.items()},
        "slots": {item: "unclear" if isinstance(s.committed, Nonresponse) else s.committed
                  for item, s in f.slots.items()},
    }


def selftest(suite_name: str | None, as_json: bool) -> None:
    """Run every planted subject through the whole pipeline and check what was found."""
    name = suite_name or "quick"
    findings: Findings = planted_findings(NAME, TRAITS, suite=name)
    checks = [expected for f in findings.fingerprints if f.reader == "stated_choice"
              for expected in expect(f)]
    show_expected({"suite": name}, checks, as_json)


def expect(f: Fingerprint) -> Iterator[Expected]:
    """What must be found in each planted subject, and not mistaken for another trait."""
    n, commits, causes = len(f.slots), f.commits.count, f.causes
    said = ", ".join([f"{commits} of {n} committed", *(f"{k} {c}" for c, k in causes.items())])
    wanted = {
        "holds": commits == n,
        "follows-position": commits == 0 and causes == {"position": n},
        "changes-with-language": commits == 0 and causes == {"dissent": n}
        and f.languages["en–fr"].count == 0 and f.languages["fr–zh"].count == n,
        "refuses-topic": 0 < causes.get("refused", 0) == n - commits,
        "flips-coins": commits <= 3 and causes.get("dissent", 0) >= 0.9 * (n - commits),
        "dissents-once": commits == 0 and causes == {"dissent": n},
    }[f.subject]
    yield Expected(f.subject, said, wanted and f.cells.n - f.cells.count == f.lost.get(
        "refused", 0))


HANDLING = Handling(
    options=frozenset(("until_dissent",)),
    suite="demo",
    settings={"local": {"temperature": 0, "max_tokens": 24, "seed": 0},
              "openai": {"temperature": 0, "max_tokens": 256}, "planted": {}},
    traits=TRAITS,
    usual=(60, 12),
    local_pace={"free": 5.0, "constrained": 6.5, "first-token": 10.0},
    register=register, lay_out=lay_out, planted=planted, table=as_table, moved=moved,
    values=as_values, page=page, entry=entry, columns=lambda observation: {}, planned=planned,
    selftest=selftest,
)
