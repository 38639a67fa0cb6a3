"""What every test of the command line needs."""

import io
import sys

import pytest

from equipoise.cli import command as run_command


@pytest.fixture
def equipoise(tmp_path, monkeypatch, capfd):
    """Run a command in a folder of its own; gives back its exit code, stdout and stderr."""
    monkeypatch.setenv("EQUIPOISE_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.chdir(tmp_path)

    def command(*words, stdin=None):
        monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, words)])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capfd.readouterr()
        try:
            run_command()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        said = capfd.readouterr()
        return code, said.out, said.err

    return command
