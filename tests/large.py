"""A run of many cells from a mock, in a process of its own: prints what it took, as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from pathlib import Path

from uvloop import new_event_loop

from equipoise.administer import administer
from equipoise.cli.studies import study
from equipoise.desk import Desk
from equipoise.ledger import Ledger, verify
from equipoise.providers import planted
from equipoise.terms import Subject
from studying import registered

WORDS = ("mercy", "justice", "A", "B")


async def provider(request):
    await asyncio.sleep(0)
    return planted.said(WORDS[request.stamp[0] % len(WORDS)])


async def look(late: list[float]) -> None:
    """How much of the loop's own time passes between two looks."""
    while True:
        used = time.thread_time()
        await asyncio.sleep(0.02)
        late.append(time.thread_time() - used)


async def run(subjects: int, path: Path) -> dict[str, float]:
    planned = registered("full", [Subject(f"s{n}", "m", "m", "planted") for n in range(subjects)])
    registration, stimuli = planned
    laid_out, late = study(registration, stimuli), []
    ledger = Ledger.open(path)
    run_ = ledger.register("r1", registration.as_json(), stimuli.texts)
    looking = asyncio.create_task(look(late))
    begun, used = time.perf_counter(), time.process_time()
    found = await administer(laid_out.instrument, laid_out.trials, Desk(ledger, run_, provider),
                             at_once=64)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    looking.cancel()
    ledger.close()
    cells = len(found.observations)
    return {"cells": cells, "cells_a_second": cells / seconds, "cells_a_core": cells / cpu,
            "late_ms": 1000 * sorted(late)[int(0.99 * len(late))],
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main(subjects: int, path: Path) -> None:
    # As the command line sets it.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        found = runner.run(run(subjects, path))
    used = time.process_time()
    verified = verify(path)
    rows = verified.rows / (time.process_time() - used)
    print(json.dumps({**found, "verified_a_second": rows, "faults": list(verified.faults)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
