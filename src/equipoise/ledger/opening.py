"""Opening a ledger: which SQLite, which file, which version, and what each refusal says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from equipoise.ledger.journal import LOCK_WAIT_MS
from equipoise.terms import Misuse

APPLICATION, VERSION = 0x65717569, 1
SAFE_SQLITE = (3, 51, 3)


class ShortOfHead(Misuse):
    """The ledger does not reach the head that was published beside it."""


SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")


def require_safe_sqlite(version: str) -> None:
    """Refuse an SQLite in which two connections can lose commits in WAL mode.

    >>> require_safe_sqlite("3.54.1")
    """
    if tuple(int(part) for part in version.split(".")[:3]) < SAFE_SQLITE:
        raise Misuse(
            f"This Python's SQLite is {version}; before 3.51.3 two connections to one ledger can"
            " lose commits. Install apsw 3.51.3 or newer.", 5
        )


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """What goes wrong while a ledger is opened, as a sentence."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise Misuse(
            f"{path} is not a whole ledger ({error}): it is damaged, cut short, or another kind"
            " of file. Nothing was changed. Put back a copy, or name another with --ledger.", 5
        ) from error
    except apsw.FullError as error:
        raise Misuse(f"The disk that holds {path} is full. Free some space first.", 6) from error
    except apsw.BusyError as error:
        raise Misuse(f"Another process holds the ledger {path}. Wait until it is done, then give"
                     " the same command again.", 6) from error
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, OSError) as error:
        raise Misuse(f"The ledger {path} cannot be opened ({error}).", 6) from error


def connect(path: Path) -> apsw.Connection:
    """A connection whose commits are on disk when they return."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(LOCK_WAIT_MS)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    _in_wal(db)
    for pragma in ("synchronous = full", "recursive_triggers = on",
                   "foreign_keys = on", "cache_size = -4000", "wal_autocheckpoint = 4000"):
        db.execute(f"pragma {pragma}")
    return db


def _in_wal(db: apsw.Connection) -> None:
    """Switch an empty file or a ledger to its log; the switch does not wait for its turn itself.

    Any other kind of database is left as it is, and refused later.
    """
    ours = db.pragma("application_id") == APPLICATION
    if not ours and db.execute("select * from sqlite_schema").get is not None:
        return
    until = time.monotonic() + LOCK_WAIT_MS / 1000
    while True:
        try:
            db.execute("pragma journal_mode = wal")
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def prepare(db: apsw.Connection) -> None:
    """Lay out an empty file as a ledger; leave any other file alone."""
    db.execute("begin immediate")
    try:
        if db.pragma("user_version") == 0 and not db.execute("select * from sqlite_schema").get:
            db.execute(SCHEMA)
            db.pragma("application_id", APPLICATION)
            db.pragma("user_version", VERSION)
        db.execute("commit")
    except BaseException:
        db.execute("rollback")
        raise


def check_version(db: apsw.Connection, path: Path) -> None:
    """Raises Misuse unless this is a ledger, and of a version that can be read."""
    application, version = db.pragma("application_id"), db.pragma("user_version")
    if not application and not version and not db.execute("select * from sqlite_schema").get:
        raise Misuse(f"The ledger {path} is empty: nothing was ever written to it.", 2)
    if application != APPLICATION:
        raise Misuse(f"{path} is a database, but not a ledger. Name another with --ledger.", 5)
    if version > VERSION:
        raise Misuse(
            f"The ledger {path} is of version {version}; this equipoise reads up to {VERSION}."
            " Install a newer equipoise. Nothing was changed.", 5
        )
