"""The local model: the product against a bare loop on the same engine with the same settings.

`python benchmarks/local_model.py` prints cells/s of both, in turn, and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

from equipoise.cli import fingerprint
from equipoise.cli.studies import study
from equipoise.cli.subjects import subject
from equipoise.providers import dialect
from equipoise.providers.engine import Engine, serve
from equipoise.providers.weights import locate
from equipoise.terms import user

SPEC, IN_FLIGHT = "local:smollm2-135m", 2


def bodies(answers: str) -> list[bytes]:
    """What the demo suite sends, in its order."""
    asked = subject(SPEC, fingerprint.HANDLING)
    laid_out = study(*fingerprint.register("demo", [asked], answers.split(",")))
    encode = dialect(asked.dialect).encode
    found = []
    for trial in laid_out.trials:
        answer, framing, order = trial.condition.values()
        words = laid_out.suite.shown(trial.item, framing, order)
        text = laid_out.suite.worded(framing, words)
        found.append(encode(asked, (user(text),), answer, words).body)
    return found


async def bare(url: str, sent: list[bytes]) -> float:
    """Cells/s of a loop that sends and forgets."""
    queue = iter(sent)
    async with aiohttp.ClientSession() as session:

        async def work() -> None:
            for body in queue:
                async with session.post(url, data=body, headers={
                        "Content-Type": "application/json"}) as reply:
                    await reply.read()

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return len(sent) / (time.perf_counter() - began)


def bare_loop(answers: str) -> float:
    with serve(locate(SPEC.partition(":")[2]), Engine()) as base_url:
        return asyncio.run(bare(base_url + "/chat/completions", bodies(answers)))


def product(answers: str, ledger: Path) -> float:
    """Cells/s while asking, as `run` says it."""
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "run", "fingerprint", "--suite", "demo", "-s", SPEC,
         "--answers", answers, "--ledger", ledger, "--no-progress", "--json"],
        capture_output=True, check=True, text=True)
    return float(json.loads(done.stdout)["calls_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", default="constrained")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(options.repeats):
            loop = bare_loop(options.answers)
            ours = product(options.answers, Path(folder) / f"{n}.db")
            ratios.append(ours / loop)
            print(f"bare loop {loop:.2f} cells/s, equipoise {ours:.2f}: {100 * ours / loop:.1f}%",
                  flush=True)
    print(f"local model, of the bare loop: {100 * statistics.median(ratios):.1f}% (target 95%)")


if __name__ == "__main__":
    main()
