"""The benchmark: every contender against one mock server, all in one run, as ratios.

`python benchmarks/run.py` takes two to three minutes. Each contender has a process of its own.
The bare loops and inspect-ai leave their imports and a warm-up out; equipoise is measured as a
whole process, from its start to its exit, with the durable ledger on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from contender_equipoise import seed_suite

HERE = Path(__file__).parent
CLIENT = "aiohttp"
"""The product's HTTP client: its bare loop is what the product is held against."""
OTHER = "pyreqwest"
BARE = f"bare {CLIENT}"
WHOLE = "equipoise, whole process"
ASKING = "equipoise, while asking"
CELLS = 36_576
LATENCY = 0.2
MANY = 1000
IDEAL = MANY / LATENCY

Figures = dict[str, float]
Held = tuple[str, float, str, float, bool]
"""A target: what, the figure, its unit, the bound, and whether more is better."""


class Skipped(Exception):
    """A contender that cannot take part, and why."""


class Mock:
    """The mock server, in its own process, for as long as the block lasts."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"

    def lap(self) -> Figures:
        """Completions asked for since the last lap, and over how many seconds."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"{self.root}/lap"
        ) as reply:
            return json.load(reply)


@contextmanager
def mock(latency: float, port: int) -> Iterator[Mock]:
    command = [sys.executable, str(HERE / "mock_server.py"), "--latency", str(latency)]
    command += ["--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Mock(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate()


def free_port() -> int:
    """One for the whole benchmark: a subject at another address would be another subject."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def contender(script: str, *args: object) -> Figures:
    """What a contender's script printed; raises Skipped with its last word if it failed."""
    command = [sys.executable, str(HERE / f"contender_{script}.py"), *map(str, args)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        lines = ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"]
        raise Skipped(lines[-1])
    return json.loads(ended.stdout.splitlines()[-1])


def bare(server: Mock, client: str, cells: int, at_once: int, ramp: float = 0.0) -> Figures:
    return contender(
        "bare", client, "--url", server.url, "--cells", cells, "--at-once", at_once,
        "--ramp", ramp,
    )  # fmt: skip


def inspect_ai(server: Mock, cells: int, at_once: int) -> Figures:
    return contender("inspect", "--url", server.url, "--cells", cells, "--at-once", at_once)


def equipoise(server: Mock, ledger: Path, suite: str, at_once: int) -> Figures:
    """One run, or one resumed; `asking` is the time between first and last request."""
    server.lap()
    try:
        figures = contender(
            "equipoise", "run", "--url", server.url, "--ledger", ledger, "--suite", suite,
            "--at-once", at_once,
        )  # fmt: skip
    except Skipped:
        ledger.unlink(missing_ok=True)
        raise
    lap = server.lap()
    return figures | {"cells": lap["count"], "asking": lap["seconds"]}


def median(runs: list[Figures]) -> Figures:
    """The figures, each the median over the runs."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def attempt(name: str, act: Callable[[int], Figures], repeats: int = 1) -> Figures | None:
    """The median of some repeats, or None and a printed reason."""
    note(f"{name} …")
    try:
        return median([act(number) for number in range(repeats)])
    except Skipped as reason:
        print(f"skipped: {name}: {reason}")
        return None


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rate(figures: Figures) -> float:
    return figures["cells"] / figures["seconds"]


def cost(figures: Figures) -> float:
    """CPU, in ms a cell."""
    return figures["cpu"] / figures["cells"] * 1000


def ratio(mine: float | None, other: float | None, digits: int = 1) -> str:
    return f"{mine / other:,.{digits}f}×" if mine and other else "–"


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    """A Markdown table, padded so that it reads as plain text too."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        return f"| {' | '.join([row[0].ljust(widths[0]), *cells[1:]])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    print(f"\n{title}\n", line(head), line(rule), *map(line, rows), sep="\n")


def throughput(folder: Path, options: argparse.Namespace) -> list[Held]:
    """No latency: what a cell costs each contender."""
    at_once = options.at_once
    with mock(0, options.port) as server:
        acts: dict[str, Callable[[int], Figures]] = {
            BARE: lambda _: bare(server, CLIENT, 20_000, at_once),
            f"bare {OTHER}": lambda _: bare(server, OTHER, 20_000, at_once),
            "inspect-ai": lambda _: inspect_ai(server, 400, at_once),
            WHOLE: lambda n: equipoise(server, folder / f"plain{n}.db", options.suite, at_once),
        }
        found = {name: attempt(name, act, options.repeats) for name, act in acts.items()}
    base, slow, ours = found[BARE], found["inspect-ai"], found[WHOLE]
    if ours:
        found[ASKING] = ours | {"seconds": ours["asking"]}
    rows = [_throughput_row(name, row, base, slow) for name, row in found.items() if row]
    head = ["contender", "cells", "cells/s", "of inspect-ai", "CPU ms/cell", "of bare", "peak MB"]
    table(f"{at_once} in flight, no latency (median of {options.repeats})", head, rows)
    return _throughput_targets(ours, base, slow)


def _throughput_row(
    name: str, row: Figures, base: Figures | None, slow: Figures | None
) -> list[str]:
    return [
        name,
        f"{row['cells']:,.0f}",
        f"{rate(row):,.0f}",
        ratio(rate(row), slow and rate(slow)),
        f"{cost(row):.3f}",
        ratio(cost(row), base and cost(base), 2),
        f"{row['peak_mb']:.0f}",
    ]


def _throughput_targets(
    ours: Figures | None, base: Figures | None, slow: Figures | None
) -> list[Held]:
    if not ours:
        return []
    held: list[Held] = [
        ("CPU a cell, ledger on", cost(ours), "ms", 0.35, False),
        ("peak memory", ours["peak_mb"], "MB", 120, False),
        ("ledger a cell", ours["bytes"] / ours["cells"], "bytes", 600, False),
    ]
    if base:
        held.append(("CPU, of the bare loop", cost(ours) / cost(base), "×", 2, False))
    if slow:
        held.insert(0, ("cells/s, of inspect-ai", rate(ours) / rate(slow), "×", 60, True))
    return held


def under_latency(folder: Path, options: argparse.Namespace) -> list[Held]:
    """200 ms a reply and 1,000 in flight: how much of the ideal is reached."""
    with mock(LATENCY, options.port) as server:
        acts: dict[str, Callable[[int], Figures]] = {
            BARE: lambda _: bare(server, CLIENT, CELLS, MANY, LATENCY),
            f"bare {OTHER}": lambda _: bare(server, OTHER, CELLS, MANY, LATENCY),
            WHOLE: lambda _: equipoise(server, folder / "latency.db", options.suite, MANY),
        }
        found = {name: attempt(f"{name}, under latency", act) for name, act in acts.items()}
    ours = found[WHOLE]
    if ours:
        found[ASKING] = ours | {"seconds": ours["asking"] + LATENCY}
    rows = [_latency_row(name, row) for name, row in found.items() if row]
    head = ["contender", "cells/s", "of ideal", "CPU ms/cell", "peak MB"]
    table(f"{MANY:,} in flight, {LATENCY * 1000:.0f} ms latency: ideal {IDEAL:,.0f}", head, rows)
    if not (asking := found.get(ASKING)):
        return []
    share = rate(asking) / IDEAL * 100
    return [("cells/s under latency, of the ideal", share, "%", 90, True)]


def _latency_row(name: str, row: Figures) -> list[str]:
    share = f"{rate(row) / IDEAL:.1%}"
    return [name, f"{rate(row):,.0f}", share, f"{cost(row):.3f}", f"{row['peak_mb']:.0f}"]


def afterwards(folder: Path, options: argparse.Namespace) -> list[Held]:
    """A finished run: reading it again, resuming it; and how long help takes."""
    ledger = folder / "plain0.db"
    helped = attempt("equipoise --help", lambda _: contender("equipoise", "help"), 5)
    held: list[Held] = []
    if helped:
        held.append(("--help", helped["seconds"] * 1000, "ms", 200, False))
    if not ledger.exists():
        print("skipped: re-reading and resuming: there is no finished run")
        return held
    again = attempt("re-read", lambda _: contender("equipoise", "read", "--ledger", ledger), 3)
    if again:
        held.append(("re-reading the finished run", again["seconds"], "s", 0.6, False))
        held.append(("peak memory of re-reading", again["peak_mb"], "MB", 200, False))
    with mock(0, options.port) as server:
        on = attempt(
            "resume", lambda _: equipoise(server, ledger, options.suite, options.at_once), 3
        )
    if on:
        held.append(("resuming the finished run", on["seconds"], "s", 1.5, False))
        held.append(("calls the resumed run made", on["cells"], "", 0, False))
    return held


def targets(held: list[Held]) -> None:
    rows = [
        [what, f"{figure:,.2f} {unit}".strip(), f"{'≥' if more else '≤'} {bound:,g} {unit}".strip(),
         "yes" if (figure >= bound if more else figure <= bound) else "NO"]
        for what, figure, unit, bound, more in held
    ]  # fmt: skip
    table("Targets", ["what", "figure", "target", "met"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--suite", help="instead of 3,048 pairs, 36,576 cells")
    parser.add_argument("--folder", type=Path, help="where ledgers go: a disk, not memory")
    options = parser.parse_args()
    options.port = free_port()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.suite = options.suite or f"{seed_suite(Path(folder) / 'suite')}:seed"
        held = [
            held
            for section in (throughput, under_latency, afterwards)
            for held in section(Path(folder), options)
        ]
    if held:
        targets(held)


if __name__ == "__main__":
    main()
