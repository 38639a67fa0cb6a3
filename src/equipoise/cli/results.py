"""The acts behind `run`'s ending, `read`, `report` and `runs`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.progress import clock
from equipoise.cli.running import Ended, read_run
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.instruments.fingerprint.measures import Findings, Fingerprint
from equipoise.ledger import Ledger
from equipoise.registration import Registration
from equipoise.report.words import counted, number, share
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate
from equipoise.terms import Misuse, Nonresponse

TOO_MANY_LOST, UNKNOWN_REMAIN = 3, 8
ERROR_SHARE = 5


def show_ended(ended: Ended, path: Path, argv: Sequence[str], as_json: bool) -> None:
    """Print what a run found and where it stands; raises Misuse where it fell short."""
    findings: Findings = ended.study.instrument.analyse(ended.administration.observations)
    if as_json:
        emit_json({"run": ended.run.name, "head": str(ended.head), "calls": ended.calls,
                   "calls_per_second": ended.calls / ended.seconds if ended.calls else 0.0,
                   "stopped": str(ended.administration.stopped or ""), **as_values(findings)})
    else:
        emit(as_table(findings, ended.study.registration))
    rate = f" · {ended.calls / ended.seconds:.1f} calls/s" if ended.calls else ""
    say(f"{ended.calls:,} calls in {clock(ended.seconds)}{rate} · {ended.on_record:,} cells were"
        f" on record already · run {ended.run.name}")
    say(f"Ledger {path} · head {ended.head}")
    if ended.administration.stopped is not None:
        say(f"To go on: equipoise {shlex.join(argv)}")
        raise ended.administration.stopped
    _fell_short(ended)


def _fell_short(ended: Ended) -> None:
    """Exit codes for a run that finished with too many errors or with unknown calls."""
    errors = [
        reading.value.detail
        for o in ended.administration.observations
        for reading in list(o.value.readings.values())[:1]
        if isinstance(reading.value, Nonresponse) and reading.value.kind == "error"
    ]
    unknown = sum(detail.startswith("unknown") for detail in errors)
    if 100 * len(errors) > ERROR_SHARE * len(ended.administration.observations) and (
        unknown < len(errors)
    ):
        commonest = Counter(detail.partition(" (")[0][:120] for detail in errors).most_common(1)
        raise Misuse(f"{len(errors):,} of {len(ended.administration.observations):,} cells ended in"
                     f" an error, most often: {commonest[0][0]}. More than {ERROR_SHARE}% is too"
                     " many for a finding. What never came back is asked again by the same"
                     " command.", TOO_MANY_LOST)
    if unknown:
        raise Misuse(f"{unknown} calls are unknown: sent, with no reply on record. They may have"
                     " been billed. Ask them again with --retry-unknown.", UNKNOWN_REMAIN)


def read(path: Path, name: str, reader: str | None, as_json: bool) -> None:
    """Read a run again and print its findings, by the primary reader or another."""
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
    finally:
        ledger.close()
    findings: Findings = laid_out.instrument.analyse(found.observations)
    readers = laid_out.registration.readers
    if reader is not None and reader not in readers:
        raise Misuse(f"No reader {reader!r} for this run: there are {', '.join(readers)}.")
    if as_json:
        emit_json({"run": run.name, **as_values(findings)})
        return
    registration = laid_out.registration
    emit(as_table(findings, registration, reader))
    if reader:
        emit(moved(findings, registration.primary.rpartition(" ")[2], reader))


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
        **_or_reason("sharpness", f.sharpness), **_or_reason("sharpness_floor", f.sharpness_floor),
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


def rate_values(found: Rate) -> dict[str, Any]:
    """A rate with its numerator, denominator and interval."""
    return {"count": found.count, "n": found.n, **_or_reason("estimate", found.estimate),
            **_or_reason("low", found.low), **_or_reason("high", found.high),
            "interval": "wilson", "confidence": found.confidence}


def _or_reason(name: str, value: float | Undefined) -> dict[str, Any]:
    if isinstance(value, Undefined):
        return {name: None, f"{name}_reason": value.reason}
    return {name: value}


def runs(path: Path, as_json: bool) -> None:
    """List the registered runs."""
    ledger = Ledger.open(path, read_only=True)
    try:
        found = [(run, Registration.from_json(run.registration)) for run in ledger.runs()]
    finally:
        ledger.close()
    if as_json:
        emit_json({"runs": [{"name": run.name, "registration": r.hash, "cells": r.cells}
                            for run, r in found]})
        return
    rows = [[run.name, r.suite, ", ".join(s["name"] for s in r.subjects), f"{r.cells:,}"]
            for run, r in found]
    emit(table(["run", "suite", "subjects", "cells"], rows))


def report(path: Path, name: str, out: Path) -> None:
    """Write a run's page and say where."""
    from equipoise.report.fingerprint import page

    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
        head = ledger.head()
    finally:
        ledger.close()
    html = page(run, laid_out.registration, laid_out.suite, found.observations, head)
    if str(out) == "-":
        emit(html, end="")
        return
    from equipoise.report.writing import write_whole

    write_whole(out, html)
    say(f"{out}: {len(html.encode()):,} bytes, one file; open it in a browser.")

