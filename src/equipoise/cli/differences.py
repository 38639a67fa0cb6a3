"""The act behind `compare`: two debates runs side by side, of the ledger or of a site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.cli.publishing import offered, require_debates
from equipoise.cli.running import on_record
from equipoise.cli.screen import emit, emit_json, printable, table
from equipoise.ledger import Ledger, Where
from equipoise.report.comparing import COMPARED, Comparison
from equipoise.report.comparing import compare as compared
from equipoise.report.kept import stored


def compare(path: Where, site: Path | None, first: str, second: str, as_json: bool) -> None:
    """Print what changed from one debates run to another, within equal conditions.

    The runs are those of the ledger, or of a site its versions and its runs' snapshots.
    """
    found = _recorded(path, first, second) if site is None else _kept(site, first, second)
    if as_json:
        return emit_json(comparison_values(found))
    return emit(as_text(found))


def _recorded(path: Where, first: str, second: str) -> Comparison:
    ledger = Ledger.open(path, read_only=True)
    try:
        for name in (first, second):
            require_debates(on_record(ledger, name))
        return compared(offered(ledger, first).dataset, offered(ledger, second).dataset)
    finally:
        ledger.close()


def _kept(site: Path, first: str, second: str) -> Comparison:
    (a, one), (b, other) = stored(site, first), stored(site, second)
    return replace(compared(one, other), runs=(a, b))


def comparison_values(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON values."""
    return {
        "runs": list(found.runs), "compared": found.compared, "same_answers": found.carried,
        **{what: {"changed": found.changed[what], "of": found.of[what]} for what in COMPARED},
        "moved_on_asking_again": [{"count": count, "of": n} for count, n in found.control],
        "rows": found.rows, "only_in_first": list(map(_named, found.only[0])),
        "only_in_second": list(map(_named, found.only[1])),
        "not_compared": [{**_named(at), "why": why} for at, why in found.otherwise],
    }


def _named(at: Sequence[str]) -> dict[str, str]:
    return dict(zip(("subject", "debate", "answer", "push"), at, strict=True))


def as_text(found: Comparison) -> str:
    """A comparison for a terminal."""
    a, b = found.runs
    if not found.compared:
        parts = [f"Nothing was asked alike in {a} and {b}."]
    else:
        changed = ", ".join(f"{what} in {found.changed[what]:,} of {found.of[what]:,}"
                            for what in COMPARED)
        moved = " and ".join(f"{count:,} of {n:,} ({run})" for run, (count, n) in zip(
            found.runs, found.control, strict=True))
        parts = [f"{a} → {b}: {found.compared:,} cells were asked alike. Changed: {changed}.",
                 f"On a plain second asking within a run, {moved} picks moved: that much changes by"
                 " itself."]
    if found.rows:
        parts.append(table(["subject", "debate", "condition", *COMPARED], [
            [row["subject"], row["debate"], f"{row['answer']} · {row['push']}",
             *(printable(" → ".join(dict.fromkeys(row[what]))) for what in COMPARED)]
            for row in found.rows]))
    for run, only in zip(found.runs, found.only, strict=True):
        if only:
            parts.append(f"Only in {run}: {_cells(only)}.")
    for why in dict.fromkeys(why for _, why in found.otherwise):
        parts.append(f"Not compared, as {why}: "
                     f"{_cells([at for at, said in found.otherwise if said == why])}.")
    return "\n\n".join(parts)


def _cells(cells: Sequence[tuple[str, ...]], most: int = 6) -> str:
    said = [" · ".join(at) for at in cells[:most]]
    more = f" and {len(cells) - most:,} more" if len(cells) > most else ""
    return f"{len(cells):,} ({'; '.join(said)}{more})"
