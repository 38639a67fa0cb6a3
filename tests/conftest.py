"""What every test of the command line needs."""

import io
import sys

import pytest

from equipoise.cli import command as run_command


def pytest_collection_modifyitems(items):
    """One worker starts the PostgreSQL server, for all the tests that need one."""
    for item in items:
        kinds = getattr(item, "callspec", None) and item.callspec.params.values()
        if "server" in item.fixturenames or "postgres" in (kinds or ()):
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server; `server.database()` is a new ledger in it."""
    from postgres_server import Server

    found = Server()
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    """The heads of databases are kept in a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["sqlite", "postgres"])
def where(request):
    """A place for a new ledger, in each kind of store."""
    if request.param == "sqlite":
        return request.getfixturevalue("tmp_path") / "l.db"
    return request.getfixturevalue("server").database()


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
