"""The acts behind `run`'s ending, `read`, `report` and `runs`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.progress import clock
from equipoise.cli.recorded import How
from equipoise.cli.recorded import imported as recorded
from equipoise.cli.retried import retried
from equipoise.cli.running import Ended, on_record, read_run
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.cli.studies import Study, handling
from equipoise.desk import Served
from equipoise.ledger import Ledger, Where
from equipoise.registration import Registration
from equipoise.report.served import changes, served_values, with_notices
from equipoise.terms import Misuse, Nonresponse

TOO_MANY_LOST, UNKNOWN_REMAIN = 3, 8
ERROR_SHARE = 5


def show_ended(ended: Ended, path: Where, argv: Sequence[str], as_json: bool) -> None:
    """Print what a run found and where it stands; raises Misuse where it fell short."""
    how = handling(ended.study.registration.instrument)
    findings = ended.study.analyse(ended.administration.observations)
    if as_json:
        emit_json({"run": ended.run.name, "head": str(ended.head), "calls": ended.calls,
                   "calls_per_second": ended.calls / ended.seconds if ended.calls else 0.0,
                   "spent_usd": ended.spent_usd,
                   "stopped": str(ended.administration.stopped or ""),
                   "served": _served(ended.study, ended.administration.served),
                   **how.values(findings)})
    else:
        emit(how.table(findings, ended.study.registration, None))
    rate = f" · {ended.calls / ended.seconds:.1f} calls/s" if ended.calls else ""
    rate += f" · ${ended.spent_usd:.4f} in all" if ended.spent_usd else ""
    say(f"{ended.calls:,} calls in {clock(ended.seconds)}{rate} · {ended.on_record:,} cells were"
        f" on record already · run {ended.run.name}")
    for change in changes(ended.administration.served):
        say(change)
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


def read(path: Where, name: str, how: How, as_json: bool) -> None:
    """Read a run again and print its findings, by the primary reader or another."""
    ledger, reader = Ledger.open(path, read_only=True), how.reader
    try:
        run = on_record(ledger, name)
        if (logged := recorded(run)) is not None:
            # Imported here: it brings every reader with it.
            from equipoise.cli import imported

            return imported.read(ledger, run, logged, how, as_json)
        if how.words or how.contract:
            raise Misuse("--words and --contract are for imported runs; what this run chose"
                         " between is registered.")
        run, laid_out, found = read_run(ledger, name)
        tries = retried(ledger, run, laid_out)
    finally:
        ledger.close()
    handled = handling(laid_out.registration.instrument)
    findings = laid_out.analyse(found.observations)
    readers = laid_out.registration.readers
    if reader is not None and reader not in readers:
        raise Misuse(f"No reader {reader!r} for this run: there are {', '.join(readers)}.")
    if as_json:
        first = {"first_attempts_only": handled.values(tries.first)} if tries.many else {}
        return emit_json({"run": run.name, "asked": tries.asked, "asked_again": tries.again,
                          "served": _served(laid_out, found.served), **first,
                          **handled.values(findings)})
    emit(handled.table(findings, laid_out.registration, reader))
    for change in changes(found.served):
        emit(change)
    if tries.many:
        emit(f"\n{tries.sentence}\n{handled.table(tries.first, laid_out.registration, reader)}")
    if reader and (said := handled.moved(findings, laid_out.reader, reader)):
        emit(said)
    return None


def _served(laid_out: Study, served: Mapping[Served, int]) -> list[dict[str, Any]]:
    return served_values(served, laid_out.registration.subjects)


def runs(path: Where, as_json: bool) -> None:
    """List the registered runs, and the imported ones."""
    ledger = Ledger.open(path, read_only=True)
    try:
        found = [(run, Registration.from_json(run.registration)) for run in ledger.runs()]
    finally:
        ledger.close()
    if as_json:
        emit_json({"runs": [{"name": run.name, "instrument": r.instrument,
                             "registration": None if recorded(run) else r.hash,
                             "cells": r.cells} for run, r in found]})
        return
    rows = [[run.name, r.instrument, r.suite, ", ".join(s["name"] for s in r.subjects),
             f"{r.cells:,}"] for run, r in found]
    emit(table(["run", "instrument", "suite", "subjects", "cells"], rows))


def report(path: Where, name: str, out: Path) -> None:
    """Write a run's page and say where."""
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
        tries = retried(ledger, run, laid_out)
        head = ledger.head()
    finally:
        ledger.close()
    how = handling(laid_out.registration.instrument)
    html = how.page(run, laid_out, found.observations, head)
    sentences, figures = changes(found.served), ""
    if tries.many:
        sentences.append(tries.sentence)
        figures = how.table(tries.first, laid_out.registration, None)
    html = with_notices(html, sentences, figures)
    if str(out) == "-":
        emit(html, end="")
        return
    from equipoise.report.writing import write_whole

    write_whole(out, html)
    say(f"{out}: {len(html.encode()):,} bytes, one file; open it in a browser.")

