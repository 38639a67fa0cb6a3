"""Connections to PostgreSQL: how they are made, made again, and what each refusal says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.pq import PipelineStatus

from equipoise.ledger.journal import LOCK_WAIT_MS
from equipoise.ledger.place import Database
from equipoise.terms import Misuse

PATIENCE_SECONDS = 60.0
HELD_SECONDS = 15
"""A writer that holds the ledger and says nothing for so long is cut off by the server."""
SETTINGS = (
    "set search_path = ledger, pg_temp;"
    " select set_config('synchronous_commit', 'on', false)"
    " where current_setting('synchronous_commit') in ('off', 'local');"
    f" set lock_timeout = {LOCK_WAIT_MS}"
)
HELD = f"; set idle_in_transaction_session_timeout = {1000 * HELD_SECONDS}"
ENDED = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow,
         errors.IdleInTransactionSessionTimeout)
KEEPALIVE: dict[str, Any] = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5,
             "keepalives_count": 3, "connect_timeout": 10}


def connected(database: Database, *, writing: bool = False) -> psycopg.Connection:
    """A connection whose commits are on the server's disk when they return."""
    db = psycopg.connect(
        database.url, autocommit=True, cursor_factory=psycopg.RawCursor, client_encoding="utf8",
        application_name="equipoise", **KEEPALIVE)
    try:
        db.execute(SETTINGS + (HELD if writing else ""))
    except BaseException:
        db.close()
        raise
    return db


def reconnected(
    database: Database, *, writing: bool = False, patience: float = PATIENCE_SECONDS
) -> psycopg.Connection:
    """A connection once the server is back, for which it waits `patience` seconds."""
    until, wait = time.monotonic() + patience, 0.05
    while True:
        try:
            return connected(database, writing=writing)
        except psycopg.OperationalError as error:
            if time.monotonic() + wait > until:
                raise Misuse(
                    f"The server of {database} went away and was not back in {patience:.0f}"
                    f" seconds ({_first_line(error)}). What was acknowledged is in the ledger."
                    " Give the same command again once it is up.", 6) from error
        time.sleep(wait)
        wait = min(1.0, 2 * wait)


def usable(db: psycopg.Connection) -> bool:
    """Whether a connection still answers: not closed, and not stuck in a broken pipeline."""
    return not db.closed and db.info.pipeline_status == PipelineStatus.OFF


def gone(db: psycopg.Connection, error: psycopg.Error) -> bool:
    """Whether an error means that the connection has ended, or that the server ends it."""
    return isinstance(error, ENDED) or not usable(db)


@contextmanager
def said_plainly(database: Database) -> Iterator[None]:
    """What goes wrong with a database, as a sentence."""
    try:
        yield
    except psycopg.Error as error:
        raise plainly(error, database) from error


def plainly(error: psycopg.Error, database: Database) -> Misuse:
    """What an error of PostgreSQL means to a person."""
    if isinstance(error, errors.DiskFull):
        return Misuse("The server's disk is full: the ledger could not be written. What was"
                      " acknowledged is safe. Free some space there, then give the same command"
                      " again.", 6)
    if isinstance(error, errors.LockNotAvailable):
        return Misuse(f"Another process has held the ledger {database} for"
                      f" {LOCK_WAIT_MS // 1000} seconds. Wait until it is done, then give the same"
                      " command again.", 6)
    if isinstance(error, errors.UniqueViolation) and "one_intent" in str(error):
        return Misuse("Another process is asking this run: an attempt that was about to be made is"
                      f" on record in {database}. It was not sent. Wait until that process is"
                      " done.", 6)
    if isinstance(error, errors.InsufficientPrivilege):
        return Misuse(f"The role may not do this in {database} ({_first_line(error)}). The owner"
                      " grants it with `equipoise ledger init URL --app-role NAME`.", 6)
    if isinstance(error, errors.RaiseException | errors.CheckViolation):
        return Misuse(f"{database}: {_first_line(error)}.", 5)
    if isinstance(error, psycopg.DataError):
        return Misuse(f"PostgreSQL cannot hold this text ({_first_line(error)}): a name or key"
                      " with a NUL character goes into an SQLite ledger alone.", 2)
    if isinstance(error, psycopg.OperationalError):
        return Misuse(f"The ledger {database} cannot be reached ({_first_line(error)}).", 6)
    return Misuse(f"The ledger {database} could not be used ({_first_line(error)}).", 6)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
