"""The act behind `answers`: what a site's live dataset said at a moment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from equipoise.cli.screen import emit, emit_json, printable, table
from equipoise.report.dataset import STAGES
from equipoise.report.kept import InForce, as_of
from equipoise.report.registry import iso
from equipoise.terms import Misuse

Row = Mapping[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def answers(
    site: Path, when: str | None, subjects: Sequence[str], debates: Sequence[str], as_json: bool
) -> None:
    """Print the answers that were live at a moment, each with its own run and time."""
    at = time.time_ns() // 1000 if when is None else moment(when)
    found = as_of(site, at)
    of, on = _known(found, "subject", subjects), _known(found, "debate", debates)
    rows = [row for row in found.dataset["answers"]
            if row["subject"] in of and row["debate"] in on]
    if as_json:
        return emit_json({
            "as_of": iso(at), "run": found.dataset["run"], "sample": found.dataset["sample"],
            "since": found.since, "until": found.until, "answers": rows})
    emit(_headed(found, at))
    return emit(table(
        ["subject", "debate", "condition", "draw", *STAGES, "fate", "run", "answered"],
        [[printable(cell, 60) for cell in _cells(row)] for row in rows]))


def moment(text: str) -> int:
    """A moment as microseconds since 1970: a date is its end, a time without a zone is UTC.

    >>> moment("1970-01-01"), moment("1970-01-01T00:00:01+01:00")
    (86399999999, -3599000000)
    """
    try:
        if len(text) <= len("2026-12-31"):
            found = datetime.combine(date.fromisoformat(text), datetime.max.time(), UTC)
        else:
            found = datetime.fromisoformat(text)
        zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
        return (zoned.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as fault:
        raise Misuse(f"--as-of is {text!r}; wanted a date as 2026-11-30, of which the end is"
                     " meant, or a time as 2026-11-30T18:00:00Z.") from fault


def _known(found: InForce, what: str, wanted: Sequence[str]) -> Sequence[str]:
    """The names wanted, all where none is; raises Misuse for one that is not there."""
    names = (list(found.dataset["debates"]) if what == "debate" else
             [s["name"] for s in found.dataset["subjects"]])
    for name in wanted:
        if name not in names:
            raise Misuse(f"{name!r} is no {what} of {found.dataset['run']!r}, which was live then."
                         f" There are: {', '.join(names)}.")
    return wanted or names


def _headed(found: InForce, at: int) -> str:
    """What was live, and from when to when."""
    sample = ", which no model was asked for" if found.dataset["sample"] else ""
    until = f"until {found.until}" if found.until else "and still is"
    return (f"Live at {iso(at)}: {found.dataset['run']}{sample}, since {found.since} {until}.\n"
            "Each answer stands with the run that asked for it and the time when it was on"
            " record.\n")


def _cells(row: Row) -> list[str]:
    picks = [row["stages"][name] for name in STAGES]
    at = row["answered_at"]
    return [row["subject"], row["debate"], f"{row['answer']} · {row['push']}", str(row["draw"]),
            *(said["pick"] if said["pick"] is not None else f"({said['nonresponse']})"
              for said in picks),
            row["fate"], row["run"], "never" if at is None else iso(at)]
