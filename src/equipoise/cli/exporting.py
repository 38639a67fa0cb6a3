"""The act behind `export`: a run's cells as rows in five forms, or the whole run as one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise import __version__
from equipoise.cli.cells import Cells, imported_cells, registered_cells
from equipoise.cli.recorded import How
from equipoise.cli.recorded import imported as recorded
from equipoise.cli.running import on_record, read_run
from equipoise.cli.screen import emit, say
from equipoise.ledger import Ledger, Run, Where
from equipoise.ledger.portable import write
from equipoise.registration import Registration
from equipoise.report.columns import Column, columns, dictionary
from equipoise.report.flat import as_csv
from equipoise.report.writing import cannot_write, write_folder, write_whole
from equipoise.terms import Misuse

FORMS = ("csv", "jsonl", "parquet", "hf", "eval", "run")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants of a run, and where."""

    out: Path
    form: str = "csv"
    raw: bool = False
    subject: str | None = None
    reader: str | None = None
    words: str | None = None
    contract: str | None = None


def export(path: Where, name: str, wanted: Wanted) -> None:
    """Write what is wanted of a run, whole or not at all; raises Misuse for a form there is not."""
    if wanted.form not in FORMS:
        raise Misuse(f"No format {wanted.form!r}: there are {', '.join(FORMS)}.")
    if str(wanted.out) == "-" and wanted.form not in ("csv", "jsonl"):
        raise Misuse(f"A {wanted.form} export is no text: say where with -o.")
    ledger = Ledger.open(path, read_only=True)
    try:
        run = on_record(ledger, name)
        if wanted.form == "run":
            return _write_run(ledger, run, wanted)
        found = _cells(ledger, run, wanted)
        about = _about(ledger, run)
    finally:
        ledger.close()
    if wanted.subject is not None:
        found = found.of(wanted.subject)
    return _WRITE[wanted.form](found, wanted, run, about)


def _write_run(ledger: Ledger, run: Run, wanted: Wanted) -> None:
    if wanted.subject or wanted.reader:
        raise Misuse("A run is written whole: leave --subject and --reader out.")
    stamp = Registration.from_json(run.registration).stamp
    try:
        head = write(ledger, run, stamp, wanted.out.resolve())
    except OSError as fault:
        raise cannot_write(wanted.out, fault) from fault
    say(f"{wanted.out}: the whole run {run.name} · head {head}. Take it in elsewhere with"
        f" equipoise import {wanted.out}")


def _cells(ledger: Ledger, run: Run, wanted: Wanted) -> Cells:
    how = How(wanted.reader, wanted.words, wanted.contract)
    if (logged := recorded(run)) is not None:
        return imported_cells(ledger, run, logged, how)
    if any((how.reader, how.words, how.contract)):
        raise Misuse("--reader, --words and --contract are for imported runs: every registered"
                     " reader of this one is exported.")
    _, laid_out, found = read_run(ledger, run.name)
    return registered_cells(laid_out, found.observations)


def _about(ledger: Ledger, run: Run) -> dict[str, str]:
    registration = Registration.from_json(run.registration)
    return {"run": run.name, "instrument": registration.instrument, "suite": registration.suite,
            "registration": registration.hash, "stamp": registration.stamp,
            "head": str(ledger.head()), "equipoise": __version__}


def _write_csv(found: Cells, wanted: Wanted, run: Run, about: Mapping[str, str]) -> None:
    _write_text(found, wanted, as_csv(found.rows, wanted.raw))


def _write_jsonl(found: Cells, wanted: Wanted, run: Run, about: Mapping[str, str]) -> None:
    _write_text(found, wanted, "".join(
        json.dumps(r, ensure_ascii=True) + "\n" for r in found.rows))


def _write_text(found: Cells, wanted: Wanted, text: str) -> None:
    if str(wanted.out) == "-":
        return emit(text.rstrip("\n"))
    write_whole(wanted.out, text)
    return _said(found, wanted)


def _said(found: Cells, wanted: Wanted, beside: str = "") -> None:
    say(f"{wanted.out}: {len(found.rows):,} cells{beside}.")


def _write_parquet(found: Cells, wanted: Wanted, run: Run, about: Mapping[str, str]) -> None:
    made, data = _parquet(found, about)
    beside = wanted.out.with_name(wanted.out.name + ".columns.csv")
    write_whole(beside, dictionary(made))
    write_whole(wanted.out, data)
    _said(found, wanted, f"; {beside.name} says what each column means")


def _parquet(found: Cells, about: Mapping[str, str]) -> tuple[list[Column], bytes]:
    # Imported here, and polars within: only Parquet needs it.
    from equipoise.report.parquet import parquet

    made = columns(found.rows, found.factors, found.readers)
    return made, parquet(found.rows, made, about)


def _write_hf(found: Cells, wanted: Wanted, run: Run, about: Mapping[str, str]) -> None:
    from equipoise.report.hugging_face import folder

    made, data = _parquet(found, about)
    write_folder(wanted.out, folder(data, made, run.registration, about))
    _said(found, wanted, "; name a licence in its README.md before you publish it")


def _write_eval(found: Cells, wanted: Wanted, run: Run, about: Mapping[str, str]) -> None:
    from equipoise.report.inspect_log import eval_log

    models = list(dict.fromkeys(str(r["subject"]) for r in found.rows)) or ["none"]
    if len(models) > 1:
        raise Misuse(f"An Inspect log is of one model; this run has {', '.join(models)}. Name one"
                     " with --subject.")
    write_whole(wanted.out, eval_log(found.samples(), models[0], about, run.at))
    _said(found, wanted)


_WRITE = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet, "hf": _write_hf,
          "eval": _write_eval}
