"""A run in batches in a process of its own, made to be killed or interrupted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from equipoise.cli.running import Ended, Terms, run_registered
from equipoise.providers.batch_form import Pace
from equipoise.terms import Misuse, Subject
from studying import registered

PACE = Pace(gather=0.4, first=0.02, longest=0.05, settling=0.3)


def base(port: int, dialect: str) -> str:
    return f"http://127.0.0.1:{port}" + ("" if dialect == "anthropic" else "/v1")


def subject(port: int, dialect: str) -> Subject:
    return Subject("m", "m", "m", dialect, base(port, dialect), {"max_tokens": 10})


def run(folder: Path, port: int, dialect: str, **terms: object) -> Ended:
    registration, stimuli = registered(subjects=(subject(port, dialect),))
    found = {"batch": True, "pace": PACE, "quiet": True} | terms
    return run_registered(folder / "ledger.db", registration, stimuli, "r1", Terms(**found))


def begin(folder: str, port: int, dialect: str) -> None:
    """Run to the end, or until killed; what is said goes to a file."""
    sys.stderr = (Path(folder) / "said").open("a", buffering=1)
    try:
        ended = run(Path(folder), port, dialect).administration.stopped
    except Misuse as stopped:
        ended = stopped
    print(ended, file=sys.stderr)
    sys.stderr.flush()
    os._exit(ended.code if ended else 0)
