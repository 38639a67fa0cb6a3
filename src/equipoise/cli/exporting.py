"""The act behind `export`: a run's cells as rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.cli.running import read_run
from equipoise.cli.screen import emit, say
from equipoise.cli.studies import handling
from equipoise.ledger import Ledger
from equipoise.report.writing import write_whole
from equipoise.terms import Misuse, Nonresponse, Observation

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def export(path: Path, name: str, out: Path, form: str, raw: bool) -> None:
    """Write one row a cell; raises Misuse for a form there is not."""
    if form not in ("csv", "jsonl"):
        raise Misuse(f"No format {form!r}: there are csv and jsonl.")
    ledger = Ledger.open(path, read_only=True)
    try:
        _, laid_out, found = read_run(ledger, name)
    finally:
        ledger.close()
    columns = handling(laid_out.registration.instrument).columns
    rows = [{**row(o), **columns(o)} for o in found.observations]
    text = _csv(rows, raw) if form == "csv" else "".join(
        json.dumps(r, ensure_ascii=True) + "\n" for r in rows)
    if str(out) == "-":
        emit(text.rstrip("\n"))
    else:
        write_whole(out, text)
        say(f"{out}: {len(rows):,} cells.")


def row(observation: Observation[Any]) -> dict[str, Any]:
    """A cell as a row: what was asked, the reply, and each reader's reading with its rule."""
    trial, choice = observation.trial, observation.value
    said: dict[str, Any] = {"subject": trial.subject.name, "item": trial.item, **trial.condition,
                            "draw": trial.draw, "reply": choice.text}
    for reader, reading in choice.readings.items():
        lost = isinstance(reading.value, Nonresponse)
        said[reader] = "" if lost else reading.value
        said[f"{reader}_nonresponse"] = reading.value.kind if lost else ""
        said[f"{reader}_rule"] = reading.rule
    return said


def formula_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it if it might.

    >>> formula_safe("=1+1"), formula_safe("mercy")
    ("'=1+1", 'mercy')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def _csv(rows: list[dict[str, Any]], raw: bool) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["subject"], lineterminator="\n")
    writer.writeheader()
    for found in rows:
        writer.writerow(found if raw else _safe(found))
    return out.getvalue()


def _safe(found: Mapping[str, Any]) -> dict[str, Any]:
    return {k: formula_safe(v) if isinstance(v, str) else v for k, v in found.items()}
