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
EXPECTED = GOLDEN / "expected.json"
NO_NETWORK = """
import socket, sys
def refuse(*args, **more):
    raise OSError("the network is off")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from equipoise.cli import main
main()
"""


def made(folder: Path, *words: str, **settings: str) -> bytes:
    """What a command prints in a process of its own, with the network off."""
    shutil.copy(GOLDEN / "ledger.db", folder / "ledger.db")
    shutil.copy(GOLDEN / "ledger.db.head", folder / "ledger.db.head")
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *words, "--ledger", "ledger.db"],
        cwd=folder, env=os.environ | settings, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_golden_ledger_verifies(tmp_path):
    for name in ("ledger.db", "ledger.db.head"):
        shutil.copy(GOLDEN / name, tmp_path / name)
    found = verify(tmp_path / "ledger.db")
    assert found.faults == ()
    assert found.rows == 1 + 2 * 288


@pytest.mark.parametrize("settings", [
    {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"},
    {"TZ": "UTC", "LC_ALL": "POSIX", "PYTHONHASHSEED": "3", "PYTHONUTF8": "0"},
], ids=lambda settings: settings["TZ"])
def test_the_page_and_the_findings_are_the_same_anywhere(tmp_path, settings):
    page = made(tmp_path, "report", "demo", "--out", "-", **settings)
    findings = json.loads(made(tmp_path, "read", "demo", "--json", **settings))
    found = {"page_sha256": hashlib.sha256(page).hexdigest(), "findings": findings}
    if os.environ.get("EQUIPOISE_WRITE_GOLDEN"):
        EXPECTED.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True),
                            encoding="utf-8")
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    assert found["findings"] == expected["findings"]
    assert found["page_sha256"] == expected["page_sha256"], (
        "the page of the golden ledger has changed: look at it, and if it is meant, run"
        " EQUIPOISE_WRITE_GOLDEN=1 make golden")
