"""Acts that write, killed at many points of their way: one process for each kill."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from equipoise.ledger import Ledger, portable, verify
from equipoise.registration import Registration
from equipoise.report.writing import write_folder, write_whole

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["dying"])
OLD, NEW = b"old\n" * 50_000, b"new\n" * 70_000
FILES = {"README.md": b"read me", "data/cells.parquet": NEW, "columns.csv": b"column\n"}


def write_file(folder: Path) -> None:
    write_whole(folder / "cells.csv", NEW)


def file_state(folder: Path) -> str:
    return {OLD: "old", NEW: "new"}.get((folder / "cells.csv").read_bytes(), "mixed")


def write_hf(folder: Path) -> None:
    write_folder(folder / "hf", FILES)


def hf_state(folder: Path) -> str:
    out = folder / "hf"
    if not out.exists():
        return "old"
    held = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    return "new" if held == FILES else "mixed"


def write_run(folder: Path) -> None:
    ledger = Ledger.open(folder / "from.db", read_only=True)
    run = ledger.run("r1")
    portable.write(ledger, run, Registration.from_json(run.registration).stamp, folder / "run.eqp")


def run_state(folder: Path) -> str:
    out = folder / "run.eqp"
    if out.read_bytes() == OLD:
        return "old"
    with portable.opened(out) as (_, run, _digest):
        return "new" if run.name == "r1" else "mixed"


def take_run(folder: Path) -> None:
    portable.take(folder / "to.db", folder / "whole.eqp", None)


def taken_state(folder: Path) -> str:
    if verify(folder / "to.db").faults:
        return "mixed"
    ledger = Ledger.open(folder / "to.db", read_only=True)
    try:
        names = [run.name for run in ledger.runs()]
    finally:
        ledger.close()
    if names == ["before"]:
        return "old"
    # With the same content it is not written again: otherwise this raises.
    return "mixed" if portable.take(folder / "to.db", folder / "whole.eqp", "r1").written else "new"


ACTS = {"file": (write_file, file_state), "hf": (write_hf, hf_state),
        "run": (write_run, run_state), "import": (take_run, taken_state)}


def killed(act: str, folder: Path, points: int) -> list[str]:
    """Kill an act at so many points; what stood in its folder after each kill, and at the end."""
    process = SERVER.Process(target=_drive, args=(act, str(folder), points))
    process.start()
    process.join()
    return json.loads((folder / "states.json").read_text())


def _drive(name: str, folder: str, points: int) -> None:
    act, state = ACTS[name]
    begun = Path(folder) / "begun"
    states = []
    steps = _steps(act, _fresh(begun, Path(folder) / "whole"))
    for point in range(points):
        here = _fresh(begun, Path(folder) / "here")
        _in_a_process(partial(_dies, act, here, 1 + point * steps // points))
        states.append(_in_a_process(partial(state, here)))
    states.append(_in_a_process(partial(state, Path(folder) / "whole")))
    (Path(folder) / "states.json").write_text(json.dumps(states))


def _fresh(begun: Path, here: Path) -> Path:
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(begun, here)
    return here


def _steps(act: Callable[[Path], None], here: Path) -> int:
    """How many calls an act makes from beginning to end."""
    def counted() -> str:
        count = 0

        def saw(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(saw)
        act(here)
        sys.setprofile(None)
        return str(count)

    return int(_in_a_process(counted))


def _dies(act: Callable[[Path], None], here: Path, at: int) -> str:
    left = at

    def saw(frame: object, event: str, arg: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(saw)
    act(here)
    return "lived"


def _in_a_process(act: Callable[[], str]) -> str:
    """What an act says, in a process of its own; nothing where it was killed."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = act()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(tell, said.encode())
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as saying:
        said = saying.read()
    os.waitpid(child, 0)
    return said
