"""A ledger in a PostgreSQL database: the same rows and the same chain, for a team and for workers.

The head is kept on this machine, not in the database: whoever could cut the one could cut the
other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from equipoise.ledger import chain, postgres_roles
from equipoise.ledger.chain import Head
from equipoise.ledger.place import Database, Unreadable
from equipoise.ledger.postgres_connection import (
    connected,
    gone,
    plainly,
    reconnected,
    said_plainly,
)
from equipoise.ledger.postgres_pen import PostgresPen
from equipoise.ledger.postgres_roles import check_version, strength
from equipoise.terms import Misuse

STAMPS_AT_ONCE = 4000
HINTS = (" not indexed", " indexed by one_outcome")


@cache
def spoken(ask: str) -> str:
    """A question without what only SQLite's planner is told."""
    for hint in HINTS:
        ask = ask.replace(hint, "")
    return ask


def marks(db: psycopg.Connection) -> Path:
    """Where this user keeps the head of that database: `.head` is added to the name."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    name = f"{db.info.host or 'local'}:{db.info.port}:{db.info.dbname}"
    return Path(base) / "equipoise" / "heads" / quote(name, safe=":")


class PostgresDatabase:
    """The database as the ledger reads it."""

    def __init__(self, path: Database, reader: psycopg.Connection, pen: PostgresPen | None) -> None:
        self.path, self.pen, self._db = path, pen, reader
        self._marks = marks(reader)
        self._administered: list[str] = []
        self._stamps: dict[int, bytes] = {}

    @classmethod
    def open(cls, path: Database, *, read_only: bool) -> PostgresDatabase:
        """Open the ledger in a database; raises Misuse as `Ledger.open` says."""
        with said_plainly(path):
            reader = connected(path)
            try:
                check_version(reader, path)
                if not read_only:
                    _require_weak(reader, path)
                return cls(path, reader, None if read_only else PostgresPen(path))
            except BaseException:
                reader.close()
                raise

    def rows(self, ask: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            return iter(self._answered(spoken(ask), given))
        except psycopg.Error as error:
            raise self._unreadable(error) from error

    def _answered(self, ask: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(ask, given, binary=True).fetchall()
        except psycopg.Error as error:
            if not gone(self._db, error):
                raise
        self._db = reconnected(self.path)
        for name in self._administered:
            self._take(name)
        return self._db.execute(ask, given, binary=True).fetchall()

    def streamed(self, ask: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows as they are read, all as they stood at one moment."""
        try:
            with self._db.transaction(), psycopg.RawServerCursor(self._db, "streamed") as cursor:
                cursor.itersize = 2000
                yield from cursor.execute(spoken(ask), given, binary=True)
        except psycopg.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: psycopg.Error) -> Unreadable:
        said = plainly(error, self.path)
        return Unreadable(str(said), said.code)

    def stamp(self, request: int) -> bytes:
        if request not in self._stamps:
            self._stamps = dict(self.rows(
                "select id, stamp from requests where id >= $1 order by id limit $2",
                (request, STAMPS_AT_ONCE)))
        return self._stamps[request]

    def schema_faults(self) -> Iterator[str]:
        """Triggers, indexes and functions must be the ones this ledger was made with."""
        return postgres_roles.faults(self._db)

    @property
    def head_file(self) -> Path:
        return chain.head_file(self._marks)

    def published(self) -> Head | None:
        return chain.published(self._marks)

    def publish(self, head: Head) -> None:
        """Keep the head, unless another of this user's processes has kept a later one."""
        known = self.published()
        if known is not None and known.rows >= head.rows:
            return
        self._marks.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        chain.publish(head, self._marks)

    def require_room(self, cells: int) -> None:
        return

    @contextmanager
    def administering(self, name: str) -> Iterator[None]:
        self._take(name)
        self._administered.append(name)
        try:
            yield
        finally:
            self._administered.remove(name)
            if not self._db.closed:
                self._db.execute("select pg_advisory_unlock(1, hashtext($1))", (name,))

    def _take(self, name: str) -> None:
        """Hold a run while this connection lasts; raises Misuse where another holds it."""
        row = self._db.execute("select pg_try_advisory_lock(1, hashtext($1))", (name,)).fetchone()
        if row is None or not row[0]:
            raise Misuse(
                f"Another process is administering the run {name!r} in {self.path}."
                " Wait until it is done, or give this run another name with --run.", 6)

    def close(self) -> None:
        self._db.close()


def _require_weak(db: psycopg.Connection, path: Database) -> None:
    """Refuse to append as a role that could change the record."""
    if why := strength(db, db.info.user):
        raise Misuse(
            f"The role {db.info.user} {why}, and could switch off what guards {path}. Connect as"
            " the role that was named with --app-role, and keep the owner for `equipoise ledger"
            " init`.", 2)
