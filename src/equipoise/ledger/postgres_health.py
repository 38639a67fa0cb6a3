"""What a ledger in PostgreSQL stands on: the server's settings and the role's rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import psycopg

from equipoise.ledger.place import Database
from equipoise.ledger.postgres_connection import connected, plainly
from equipoise.ledger.postgres_roles import OLDEST_SERVER, strength, version_of

SAFE = {"fsync": "on", "full_page_writes": "on"}


class Found(NamedTuple):
    """One thing looked at: ok, warn or fail, what was found, and what to do."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    do: str = ""


def health(database: Database) -> Iterator[Found]:
    """The server, how safe its commits are, and what the role may do; stops where it cannot go on.
    """
    try:
        db = connected(database)
    except psycopg.Error as error:
        yield Found("server", "fail", str(database), str(plainly(error, database)))
        return
    with db:
        version = db.info.server_version
        old = version < OLDEST_SERVER
        yield Found("server", "fail" if old else "ok", f"PostgreSQL {version // 10_000} at"
                    f" {database}", f"Use {OLDEST_SERVER // 10_000} or newer." if old else "")
        unsafe = [name for name, safe in SAFE.items() if _setting(db, name) != safe]
        yield Found("commits", "fail" if unsafe else "ok",
                    ", ".join(f"{name} is off" for name in unsafe) or "on disk when they return",
                    "A power cut can lose what was acknowledged: switch them on." if unsafe else "")
        if not version_of(db):
            yield Found("role", "warn", db.info.user, "There is no ledger here yet: its owner runs"
                        " `equipoise ledger init URL --app-role NAME`.")
            return
        why = strength(db, db.info.user)
        yield Found("role", "fail" if why else "ok",
                    f"{db.info.user} {why or 'may read and append, and change nothing'}",
                    "Connect as a role that owns nothing." if why else "")


def _setting(db: psycopg.Connection, name: str) -> str:
    row = db.execute("select current_setting($1)", (name,)).fetchone()
    return str(row[0]) if row else ""
