"""Four workers against one, where the provider is the bottleneck: 200 ms a call.

`python benchmarks/ray_workers.py` prints the calls a second that a mock provider saw from one
worker and from four, each with as many calls in flight, and the ratio. Starting Ray is left out:
a lap is from the first call to the last.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mocked import mocked
from postgres_server import Server

LATENCY, AT_ONCE, ROUNDS = 0.2, 8, 3
WORKERS = (1, 4)


def lap(server: Server, subject: str, port: int, workers: int) -> float:
    """Calls a second at the mock while so many workers administer a suite."""
    where = server.database()
    suite = {1: "quick", 4: "core"}[workers]
    subprocess.run(
        [sys.executable, "-m", "equipoise", "run", "fingerprint", "--suite", suite, "--subject",
         subject, "--ledger", where.url, "--max-calls", "9000", "--yes", "--engine", "ray",
         "--workers", str(workers), "--at-once", str(AT_ONCE), "--no-progress"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"EQUIPOISE_API_KEY": "k"})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/lap") as answer:
        found = json.loads(answer.read())
    return found["count"] / found["seconds"]


def main() -> None:
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    server = Server()
    try:
        with mocked(LATENCY) as mock:
            rates = {n: [lap(server, mock.subject(), mock.port, n) for _ in range(ROUNDS)]
                     for n in WORKERS}
    finally:
        server.stop()
    for n, found in rates.items():
        most = n * AT_ONCE / LATENCY
        middle = statistics.median(found)
        print(f"{n} worker{'s' * (n > 1)}: {middle:.1f} calls/s of {most:.0f} possible"
              f"  ({', '.join(f'{one:.1f}' for one in found)})")
    one, four = (statistics.median(rates[n]) for n in WORKERS)
    print(f"four workers : one = {four / one:.2f}")


if __name__ == "__main__":
    main()
