"""The act behind `log`: entries, corrections and a queue in a Markdown file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.running import read_run
from equipoise.cli.screen import emit, emit_json, say
from equipoise.cli.studies import handling
from equipoise.ledger import Ledger, Where
from equipoise.report import log as logs
from equipoise.report.writing import write_whole
from equipoise.terms import Misuse, Nonresponse, Observation

DIFFERENT = 10


def write_log(
    path: Where, name: str | None, file: Path, *, correct: str | None, queue: str | None,
    done: str | None, page: Path | None,
) -> None:
    """Add to a log what was asked for; with nothing but a run, its entry."""
    log = read_log(file)
    before = log
    if queue is not None:
        log = logs.with_queued(log, queue)
    if correct is not None:
        if name is None:
            raise Misuse("--correct needs the run whose entry it corrects.")
        log = logs.with_correction(log, name, correct, time.time_ns() // 1000)
    elif name is not None:
        log = logs.with_entry(log, entry_of(path, name))
    if done is not None:
        log = logs.without_queued(log, done)
    if log != before:
        write_whole(file, log)
        say(f"{file}: {len(logs.entries(log)):,} entries, {len(logs.queued(log)):,} queued.")
    elif page is None:
        raise Misuse("Nothing to write: name a run, or give --queue, --correct, --check or --page.")
    if page is not None:
        if not log:
            raise Misuse(f"There is no log {file}. Name one with --log.")
        write_whole(page, logs.page(log))
        say(f"{page}: {len(page.read_bytes()) if page.is_file() else 0:,} bytes, one file; open it"
            " in a browser.")


def check_log(path: Where, file: Path, as_json: bool) -> None:
    """Derive every entry's result again; raises Misuse (exit 10) for one that differs unmarked."""
    log = read_log(file)
    rows: list[dict[str, Any]] = []
    for one in logs.entries(log):
        try:
            missing: Sequence[str] = logs.differing(log, entry_of(path, one.run))
        except Misuse as error:
            rows.append({"run": one.run, "state": "not on record", "missing": [str(error)]})
            continue
        state = ("as recorded" if not missing else
                 "corrected" if logs.is_corrected(log, one.run) else "differs")
        rows.append({"run": one.run, "state": state, "missing": list(missing)})
    if as_json:
        emit_json({"log": str(file), "entries": rows})
    else:
        for row in rows:
            emit(f"{row['run']}: {row['state']}")
            for line in row["missing"] if row["state"] == "differs" else ():
                emit(f"  the record says: {line}")
        emit(f"{len(rows):,} entries checked.")
    if differs := [row["run"] for row in rows if row["state"] == "differs"]:
        raise Misuse(f"The log does not say what the record of {', '.join(differs)} says. Put the"
                     " lines back, or mark the change with --correct.", DIFFERENT)


def read_log(file: Path) -> str:
    """A log's text, nothing where there is none yet; raises Misuse for what is no text."""
    try:
        return file.read_text(encoding="utf-8") if file.exists() else ""
    except UnicodeDecodeError as error:
        raise Misuse(f"{file} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise Misuse(f"{file} cannot be read ({error.strerror}).", 6) from error


def entry_of(path: Where, name: str) -> logs.Entry:
    """The entry of a finished run; raises Misuse for one that is not."""
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
        head = ledger.head()
    finally:
        ledger.close()
    if laid_out.halting is None and (left := sum(map(_not_asked, found.observations))):
        raise Misuse(f"The run {name!r} is not finished: {left:,} of {len(found.observations):,}"
                     " cells have not been asked. Give its command again first.")
    return handling(laid_out.registration.instrument).entry(run, laid_out, found.observations, head)


def _not_asked(observation: Observation[Any]) -> bool:
    return any(isinstance(reading.value, Nonresponse) and reading.value.kind == "not asked"
               for reading in observation.value.readings.values())
