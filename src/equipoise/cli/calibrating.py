"""The table of false flags and detections, over the noises of the reference, on every core."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean
from typing import Any

from equipoise.cli.proving import DIFFERENT
from equipoise.cli.screen import emit, say, table
from equipoise.cli.values import rate_values
from equipoise.instruments.label_swap.planted import Judge
from equipoise.instruments.label_swap.proof import (
    OMNIBUS_LEANS,
    RUNS,
    SEED,
    Band,
    Detection,
    bands,
    detection,
    reference,
)
from equipoise.instruments.label_swap.suite import SHIPPED, STANDARD, suite
from equipoise.report.words import number
from equipoise.stats.wilson import Rate
from equipoise.stimuli import load
from equipoise.terms import Misuse


@dataclass(frozen=True)
class Calibrated:
    """A row of the table, and where each of its figures must lie."""

    row: Detection
    bands: tuple[Band, ...]

    def as_values(self) -> dict[str, Any]:
        row = self.row
        return {
            "noise_sd_points": row.noise, "grid": row.grid, "runs": row.runs,
            "false_flags": rate_values(row.false_flags),
            "below_alpha": rate_values(row.below_alpha),
            "flagged": {f"{lean:g}": rate_values(r) for lean, r in row.flagged.items()},
            "omnibus_rejects": {f"{lean:g}": rate_values(r) for lean, r in row.omnibus.items()},
            "mean_rms_points": {f"{lean:g}": fmean(rms) for lean, rms in row.rms.items() if rms},
            "bands": [{"figure": b.name, "low": b.low, "high": b.high, "holds": b.holds}
                      for b in self.bands],
        }


def calibrated(runs: int = RUNS, seed: int = SEED) -> tuple[Calibrated, ...]:
    """Every row of the reference, simulated anew through the whole pipeline."""
    rows = list(reference())
    asked = [(noise, grid, runs, seed) for noise, grid in sorted(rows, key=lambda row: row[1])]
    workers = min(len(rows), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        found = []
        for done, row in enumerate(pool.map(simulated, asked), 1):
            say(f"{done} of {len(rows)} noises · {runs} runs each") if sys.stderr.isatty() else None
            found.append(row)
    return tuple(Calibrated(row, tuple(bands(row))) for row in found)


def simulated(asked: tuple[float, int, int, int]) -> Detection:
    """One row: so much noise, on this grid, so many runs, from this seed."""
    noise, grid, runs, seed = asked
    return detection(suite(load(SHIPPED), STANDARD), Judge(noise=noise, grid=grid), runs=runs,
                     seed=seed, omnibus=OMNIBUS_LEANS if grid == 1 else ())


def show_calibration(rows: Sequence[Calibrated], as_json: bool) -> None:
    """Print the table; raises Misuse (exit 10) naming each figure that is outside its band."""
    out = list(_outside(rows))
    if not as_json:
        emit("\nWhat is found in planted judges, by the noise of their replies"
             f" ({rows[0].row.runs} runs a row)")
        emit(table(["noise SD, replies", "false flags", "p<.05 alone", "flagged at 2/4/8/12 points",
                    "mean RMS at 0", "omnibus rejects at 0/2/4/8", "in its bands"],
                   [_cells(found) for found in rows]))
    if out:
        raise Misuse("Outside their bands: " + "; ".join(out) + ".", DIFFERENT)


def _cells(found: Calibrated) -> list[str]:
    row = found.row
    return [
        f"{row.noise:g}, {'fives' if row.grid == 5 else 'integers'}",
        _percent(row.false_flags, 2), _percent(row.below_alpha, 2),
        " / ".join(_percent(r, 1) for r in row.flagged.values()), number(fmean(row.rms[0.0])),
        " / ".join(_percent(r, 1) for r in row.omnibus.values()) or "not run",
        "yes" if all(band.holds for band in found.bands) else "NO",
    ]


def _percent(found: Rate, digits: int) -> str:
    return f"{100 * found.count / found.n:.{digits}f}%" if found.n else "no data"


def _outside(rows: Sequence[Calibrated]) -> Iterator[str]:
    for found in rows:
        for band in found.bands:
            if not band.holds:
                yield (f"{band.name} at noise {found.row.noise:g}"
                       f" ({'fives' if found.row.grid == 5 else 'integers'}):"
                       f" {_percent(band.found, 2)}, wanted {100 * band.low:.2f}% to"
                       f" {100 * band.high:.2f}%")
