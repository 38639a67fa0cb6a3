"""The product, as a person runs it: each act is one command in a process of its own.

`python benchmarks/contender_equipoise.py run --url http://127.0.0.1:PORT/v1 --ledger NEW.db`
prints one JSON line: wall and CPU seconds of the whole process, peak memory, size of the ledger.
The other acts are `read` (needs a finished run) and `help`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

EQUIPOISE = [sys.executable, "-m", "equipoise"]
RUN = "bench"
LIMIT = 60
"""Seconds after which an act is stopped: the benchmark as a whole takes minutes."""


class Failed(Exception):
    """An act that ended with another exit code than 0: why, in its own words."""


def timed(command: list[str]) -> dict[str, float]:
    """Runs a command to its end: wall seconds, CPU seconds and peak memory of that process."""
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        stop = threading.Timer(LIMIT, process.kill)
        stop.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise Failed(reason(process.returncode, errors.read().decode(errors="replace")))
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak_mb": used.ru_maxrss / 1024}


def reason(code: int, errors: str) -> str:
    """Why a command failed: that it took too long, or its last word.

    >>> reason(2, "Usage: …\\nNo suite 'huge'.\\n"), reason(-9, "")
    ("exit 2: No suite 'huge'.", 'stopped after 60 s')
    """
    if code == -signal.SIGKILL:
        return f"stopped after {LIMIT} s"
    return f"exit {code}: {(errors.strip().splitlines() or ['no message'])[-1]}"


def seed_suite(folder: Path) -> Path:
    """A suite of 3,048 pairs, 36,576 cells: the first of the full one, as a folder of one's own."""
    from itertools import combinations

    from equipoise.instruments.fingerprint.suite import SHIPPED

    folder.mkdir(parents=True, exist_ok=True)
    lexicon = (SHIPPED / "lexicon.csv").read_text(encoding="utf-8")
    (folder / "lexicon.csv").write_text(lexicon, encoding="utf-8")
    words: dict[str, list[str]] = {}
    for line in lexicon.splitlines()[1:]:
        category, word, *_ = line.split(",")
        words.setdefault(category, []).append(word)
    pairs = [f"{a}~{b}" for found in words.values() for a, b in combinations(found, 2)][:3048]
    listed = ",\n".join(f'  "{pair}"' for pair in pairs)
    (folder / "suites.toml").write_text(f"[seed]\npairs = [\n{listed}\n]\n", encoding="utf-8")
    return folder


def run_command(url: str, ledger: Path, suite: str, at_once: int) -> list[str]:
    return [
        *EQUIPOISE, "run", "fingerprint", "--suite", suite, "--subject", f"openai:mock@{url}",
        "--run", RUN, "--ledger", str(ledger), "--at-once", str(at_once),
        "--yes", "--max-calls", "100000", "--no-progress",
    ]  # fmt: skip


def read_command(ledger: Path) -> list[str]:
    return [*EQUIPOISE, "read", RUN, "--ledger", str(ledger)]


def ledger_bytes(ledger: Path) -> int:
    """The ledger and all it keeps beside it."""
    return sum(file.stat().st_size for file in ledger.parent.glob(f"{ledger.stem}*"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", choices=["run", "read", "help"])
    parser.add_argument("--url", default="")
    parser.add_argument("--ledger", type=Path, default=Path("bench.db"))
    parser.add_argument("--suite", default="full")
    parser.add_argument("--at-once", type=int, default=64)
    args = parser.parse_args()
    commands = {
        "run": run_command(args.url, args.ledger, args.suite, args.at_once),
        "read": read_command(args.ledger),
        "help": [*EQUIPOISE, "--help"],
    }
    try:
        figures = timed(commands[args.act])
    except Failed as failure:
        raise SystemExit(str(failure)) from None
    if args.act == "run":
        figures["bytes"] = ledger_bytes(args.ledger)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
