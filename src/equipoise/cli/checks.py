"""The acts behind `verify`, `replay-check`, `selftest` and `try-reader`."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.administer import Administration, administer, read_again
from equipoise.cli.planning import confirm
from equipoise.cli.proving import DIFFERENT
from equipoise.cli.running import Terms, finished, on_record, recorded_stimuli, recorded_study
from equipoise.cli.screen import emit, emit_json, printable, say
from equipoise.cli.studies import Study, handling
from equipoise.cli.subjects import reached
from equipoise.cli.values import rate_values
from equipoise.desk import Desk
from equipoise.elicit import NO_REPLY
from equipoise.ledger import Head, Ledger, Run, Where, verify
from equipoise.reading.by_name import READERS
from equipoise.registration import Registration
from equipoise.report.words import share
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Completion, Misuse, Nonresponse, Observation, Subject

FAULTS_SHOWN = 20


def verify_ledger(path: Where, known: str | None, as_json: bool) -> None:
    """Print what was checked; raises Misuse (exit 10) naming what does not hold."""
    found = verify(path, _head(known))
    if as_json:
        emit_json({"rows": found.rows, "requests": found.requests, "unsettled": found.unsettled,
                   "erased": found.erased, "head": str(found.head),
                   "published": str(found.published) if found.published else None,
                   "faults": list(found.faults)})
    else:
        emit(f"{found.rows:,} entries and {found.requests:,} requests derived again"
             f" · {found.unsettled:,} intents without an outcome · {found.erased:,} erased\n"
             f"head {found.head}")
        if found.published is None:
            emit("No published head was found, so a cut end would not show.")
        for fault in found.faults[:FAULTS_SHOWN]:
            emit(f"- {fault}")
    if found.faults:
        raise Misuse(f"{path} does not hold in {len(found.faults):,} places. Check the head you"
                     " gave, or put back a copy that verifies.", DIFFERENT)
    if not as_json:
        emit("Everything holds.")


def _head(known: str | None) -> Head | None:
    if known is None:
        return None
    rows, _, link = known.partition(":")
    if not rows.isdigit() or len(link) != 64:
        raise Misuse(f"The head {known!r} is not ROWS:LINK, as a run prints it.")
    return Head(int(rows), link)


def replay(
    path: Where, name: str, *, sample: int, seed: int, max_calls: int | None, yes: bool,
    as_json: bool,
) -> None:
    """Ask a sample of a run's cells again, as a run of its own, and compare.

    Raises Misuse (exit 10) when any reading differs.
    """
    ledger = Ledger.open(path)
    try:
        laid_out, before = _answered(ledger, name)
        wanted = min(sample, len(before), max_calls or sample)
        chosen = random.Random(seed).sample(before, wanted)
        registration, again = _replay_registration(ledger, name, laid_out.registration,
                                                   len(chosen))
        stimuli = recorded_stimuli(ledger, registration)
        confirm((registration, stimuli), Terms(max_calls=max_calls), yes)
        with ledger.administering(again):
            new = ledger.register(again, registration.as_json(), stimuli.texts)
            after = finished(_asked_again(ledger, new, laid_out, chosen))
    finally:
        ledger.close()
    reader = laid_out.reader
    both = [(b, a) for b, a in zip(chosen, after.observations, strict=True) if not _lost(a)]
    readings = rate(sum(b.value.readings[reader].value == a.value.readings[reader].value
                        for b, a in both), len(both))
    texts = rate(sum(b.value.text == a.value.text for b, a in both), len(both))
    if len(both) < len(chosen):
        say(f"{len(chosen) - len(both)} of {len(chosen)} calls came to nothing and are left out.")
    if after.stopped:
        raise after.stopped
    _show_replay(name, again, readings, texts, as_json)


def _answered(ledger: Ledger, name: str) -> tuple[Study, list[Observation[Any]]]:
    """A run's study, and the observations of those of its cells that a reply came to."""
    run = on_record(ledger, name)
    laid_out = recorded_study(ledger, run)
    found = read_again(laid_out.instrument, laid_out.trials, Desk(ledger, run))
    answered = [o for o in found.observations if not _lost(o)]
    if not answered:
        raise Misuse(f"The run {name!r} has no replies to ask again.")
    return laid_out, answered


def _replay_registration(
    ledger: Ledger, name: str, registration: Registration, cells: int
) -> tuple[Registration, str]:
    number = 1 + sum(run.name.startswith(f"{name}-again-") for run in ledger.runs())
    return replace(registration, cells=cells), f"{name}-again-{number}"


async def _asked_again(
    ledger: Ledger, run: Run, laid_out: Study, chosen: list[Observation[Any]]
) -> Administration[Any]:
    registration = laid_out.registration
    subjects = [Subject(**s) for s in registration.subjects]
    async with reached([*subjects, *laid_out.others], laid_out) as provider:
        return await administer(laid_out.instrument, [o.trial for o in chosen],
                                Desk(ledger, run, provider), at_once=1)


def _lost(observation: Observation[Any]) -> bool:
    return any(reading.rule == NO_REPLY for reading in observation.value.readings.values())


def _show_replay(name: str, again: str, readings: Rate, texts: Rate, as_json: bool) -> None:
    if as_json:
        emit_json({"run": name, "again": again, "readings_equal": rate_values(readings),
                   "texts_equal": rate_values(texts)})
    else:
        emit(f"Readings that came back equal  {share(readings)}\n"
             f"Texts that came back equal     {share(texts)}")
    say(f"Asked again as the run {again}.")
    if readings.count < readings.n:
        raise Misuse(f"{readings.n - readings.count} of {readings.n} readings differ.", DIFFERENT)


def selftest(instrument: str, suite_name: str | None, as_json: bool) -> None:
    """Put planted subjects through an instrument; raises Misuse (exit 10) where one is misfound."""
    handling(instrument).selftest(suite_name, as_json)


def try_reader(name: str, file: Path) -> None:
    """Print one reading a line, with its rule, for replies in a JSON Lines file."""
    if name not in READERS:
        raise Misuse(f"No reader {name!r}: there are {', '.join(READERS)}.")
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        said, reader = _line(name, number, line)
        reading = reader(Completion(said["reply"], said.get("finish", "stop")))
        value = reading.value
        read: Any = ({"nonresponse": value.kind, "detail": value.detail}
                     if isinstance(value, Nonresponse) else {"reading": value})
        emit(json.dumps({"line": number, **read, "rule": reading.rule,
                         "span": list(reading.span)}, ensure_ascii=True))


def _lines(file: Path) -> Iterator[str]:
    if str(file) == "-":
        yield from sys.stdin
        return
    try:
        with file.open(encoding="utf-8") as lines:
            yield from lines
    except OSError as error:
        raise Misuse(f"{file} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"{file} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error


def _line(name: str, number: int, line: str) -> tuple[Mapping[str, Any], Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Misuse(f"Line {number} is not JSON ({error}): {printable(line.strip(), 60)}"
                     ) from error
    if not isinstance(said, dict) or not isinstance(said.get("reply"), str):
        raise Misuse(f"Line {number} has no text under \"reply\". Wanted"
                     ' {"reply": "…", "options": {"A": "mercy", "B": "punishment"}}.')
    try:
        return said, READERS[name](said)
    except (KeyError, TypeError, ValueError) as error:
        raise Misuse(f"Line {number} does not say what {name} needs ({error}). Wanted \"options\","
                     ' "scale" or "contract" beside "reply".') from error
