"""inspect-ai asking the same kind of question: one task, `generate()`, no scorer.

`python benchmarks/contender_inspect.py --url http://127.0.0.1:PORT/v1 --cells 400` prints one
JSON line: cells, seconds and CPU seconds of the evaluation alone (imports and a first, small
evaluation are left out), peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from contender_bare import PROMPT, cpu


def evaluate(url: str, cells: int, at_once: int, logs: str) -> None:
    samples = [Sample(input=PROMPT.format(number)) for number in range(cells)]
    log = eval(
        Task(dataset=MemoryDataset(samples), solver=generate(), name="mock"),
        model="openai-api/mock/mock",
        model_base_url=url,
        display="none",
        log_level="error",
        log_dir=logs,
        max_connections=at_once,
        max_samples=at_once,
        temperature=0,
        max_tokens=16,
    )[0]
    if log.status != "success" or log.results is None:
        raise SystemExit(f"inspect-ai ended with {log.status}: {log.error}")
    if log.results.completed_samples != cells:
        raise SystemExit(f"inspect-ai completed {log.results.completed_samples} of {cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=64)
    args = parser.parse_args()
    os.environ["MOCK_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as logs:
        evaluate(args.url, 64, args.at_once, logs)
        began, spent = time.perf_counter(), cpu()
        evaluate(args.url, args.cells, args.at_once, logs)
        seconds, spent = time.perf_counter() - began, cpu() - spent
    print(json.dumps({
        "cells": args.cells,
        "seconds": seconds,
        "cpu": spent,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))


if __name__ == "__main__":
    main()
