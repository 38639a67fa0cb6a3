"""A ledger recorded once gives the same findings and the same page, byte for byte, for ever.

`EQUIPOISE_WRITE_GOLDEN=1 make golden` writes what is expected anew, after a change that is meant.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.ledger import verify

GOLDEN = Path(__file__).parent / "golden_ledger"
LEDGERS = {"ledger.db": ("demo", 1 + 2 * 288), "label_swap.db": ("swap", 1 + 2 * 600),
           "replay.db": ("replayed", 1 + 2 * 786)}
"""Each ledger's run, and how many entries it holds: a registration, an intent and a reply a call.

The second holds two planted judges and two decisions, one of the judges with losses; the third a
planted engine over five openings, three draws an arm, read by one reader.
"""

NO_NETWORK = """
import socket, sys
def refuse(*args, **more):
    raise OSError("the network is off")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from equipoise.cli import main
main()
"""


def expected_of(ledger: str) -> Path:
    about = ledger.removesuffix(".db")
    return GOLDEN / ("expected.json" if about == "ledger" else f"expected_{about}.json")


def made(folder: Path, ledger: str, *words: str, **settings: str) -> bytes:
    """What a command prints in a process of its own, with the network off."""
    for name in (ledger, f"{ledger}.head"):
        shutil.copy(GOLDEN / name, folder / name)
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *words, "--ledger", ledger],
        cwd=folder, env=os.environ | settings, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("ledger", LEDGERS)
def test_the_golden_ledger_verifies(tmp_path, ledger):
    for name in (ledger, f"{ledger}.head"):
        shutil.copy(GOLDEN / name, tmp_path / name)
    found = verify(tmp_path / ledger)
    assert found.faults == ()
    assert found.rows == LEDGERS[ledger][1]


@pytest.mark.parametrize("ledger", LEDGERS)
@pytest.mark.parametrize("settings", [
    {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"},
    {"TZ": "UTC", "LC_ALL": "POSIX", "PYTHONHASHSEED": "3", "PYTHONUTF8": "0"},
], ids=lambda settings: settings["TZ"])
def test_the_page_and_the_findings_are_the_same_anywhere(tmp_path, settings, ledger):
    run, _ = LEDGERS[ledger]
    page = made(tmp_path, ledger, "report", run, "--out", "-", **settings)
    findings = json.loads(made(tmp_path, ledger, "read", run, "--json", **settings))
    found = {"page_sha256": hashlib.sha256(page).hexdigest(), "findings": findings}
    file = expected_of(ledger)
    if os.environ.get("EQUIPOISE_WRITE_GOLDEN"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True),
                        encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert found["findings"] == expected["findings"]
    assert found["page_sha256"] == expected["page_sha256"], (
        "the page of the golden ledger has changed: look at it, and if it is meant, run"
        " EQUIPOISE_WRITE_GOLDEN=1 make golden")
