"""A ledger in one SQLite file: read by one connection, written by another."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from equipoise.ledger import chain
from equipoise.ledger.chain import Head
from equipoise.ledger.disks import private_folder, require_local_disk
from equipoise.ledger.journal import LOCK_WAIT_MS, Draft
from equipoise.ledger.opening import (
    SCHEMA,
    check_version,
    connect,
    prepare,
    require_safe_sqlite,
    said_plainly,
)
from equipoise.terms import Misuse, Subject, canonical_json

ROOM, CELL_BYTES = 256_000, 600


class SqliteFile:
    """The file as the ledger reads it, with its head beside it and its locks."""

    def __init__(self, path: Path, reader: apsw.Connection, pen: SqlitePen | None) -> None:
        self.path, self.pen, self._db = path, pen, reader

    @classmethod
    def open(cls, path: Path, *, read_only: bool) -> SqliteFile:
        """Open or make the file; raises Misuse as `Ledger.open` says."""
        require_safe_sqlite(apsw.sqlite_lib_version())
        if read_only and not path.exists():
            raise Misuse(
                f"There is no ledger at {path}. Name one with --ledger, or make one with"
                " `equipoise run`.", 2
            )
        with said_plainly(path):
            if not (path.exists() and path.stat().st_size) and chain.published(path):
                raise Misuse(
                    f"The ledger {path} is gone or empty, but its published head"
                    f" {chain.head_file(path).name} is not. Put back the copy that matches the"
                    " head, or move the head away to begin anew.", 5
                )
            pen = None
            if not read_only:
                require_local_disk(path)
                private_folder(path.parent)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
                db = connect(path)
                prepare(db)
                pen = SqlitePen(db)
            reader = connect(path)
            check_version(reader, path)
        return cls(path, reader, pen)

    def rows(self, ask: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        return iter(self._db.execute(ask.replace("$", "?"), given))

    streamed = rows

    def stamp(self, request: int) -> bytes:
        stamp: bytes = self._db.execute("select stamp from requests where id = ?", (request,)).get
        return stamp

    def schema_faults(self) -> Iterator[str]:
        """Triggers and tables must be the ones this ledger was made with."""
        fresh = apsw.Connection(":memory:")
        fresh.execute(SCHEMA)
        ask = "select type || ' ' || name, sql from sqlite_schema where sql is not null"
        wanted, found = dict(fresh.execute(ask)), dict(self._db.execute(ask))
        for name in sorted(wanted.keys() | found.keys()):
            if name.startswith("table sqlite_"):
                continue
            if wanted.get(name) != found.get(name):
                yield f"{name} is not as the ledger was made (missing, added or changed)"
        for line in self._db.execute("pragma quick_check"):
            if line[0] != "ok":
                yield f"the file is damaged: {line[0]}"

    @property
    def head_file(self) -> Path:
        return chain.head_file(self.path)

    def published(self) -> Head | None:
        return chain.published(self.path)

    def publish(self, head: Head) -> None:
        chain.publish(head, self.path)

    def require_room(self, cells: int) -> None:
        """Raises Misuse when the disk has less than twice what `cells` more cells may take."""
        free, wanted = shutil.disk_usage(self.path.parent).free, ROOM + 2 * CELL_BYTES * cells
        if free < wanted:
            raise Misuse(
                f"The disk that holds {self.path} has {free:,} bytes free; {cells:,} more cells"
                f" want {wanted:,}. Nothing more was sent. Free some space, then give the same"
                " command again.", 6
            )

    @contextmanager
    def administering(self, name: str) -> Iterator[None]:
        lock = self.path.with_name(f"{self.path.name}.{name}.lock")
        with os.fdopen(os.open(lock, os.O_CREAT | os.O_WRONLY, 0o600), "w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Misuse(
                    f"Another process is administering the run {name!r} in {self.path}."
                    " Wait until it is done, or give this run another name with --run.", 6
                ) from error
            yield

    def close(self) -> None:
        self._db.close()


class SqlitePen:
    """The file as the journal writes it: other processes' pens take turns with this one."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        db.set_busy_timeout(0)

    def begin_at_once(self) -> bool:
        try:
            self._db.execute("begin immediate")
        except apsw.BusyError:
            return False
        return True

    def begin(self, drafts: Sequence[Draft]) -> None:
        self._db.set_busy_timeout(LOCK_WAIT_MS)
        try:
            self._db.execute("begin immediate")
        finally:
            self._db.set_busy_timeout(0)

    def commit(self) -> None:
        self._db.execute("commit")

    def undo(self) -> None:
        if not self._db.getautocommit():
            self._db.execute("rollback")

    def finish(self) -> None:
        if not self._db.getautocommit():
            self._db.execute("commit")

    def look_up(self, drafts: Sequence[Draft]) -> None:
        return

    def refusal(self, draft: Draft) -> Misuse | None:
        return None

    def last(self) -> tuple[int, bytes] | None:
        found: tuple[int, bytes] | None = self._db.execute(
            "select seq, link from entries order by seq desc limit 1").fetchone()
        return found

    def newest_request(self) -> int:
        return int(self._db.execute("select coalesce(max(id), 0) from requests").get)

    def request(self, stamp: bytes) -> tuple[int, bytes] | None:
        found: tuple[int, bytes] | None = self._db.execute(
            "select id, salt from requests where stamp = ?", (stamp,)).fetchone()
        return found

    def put_request(self, row: tuple[Any, ...]) -> None:
        self._db.execute("insert into requests values (?,?,?,?,?,?)", row)

    def subject(self, subject: Subject) -> int:
        found = self._db.execute("select id from subjects where stamp = ?", (subject.stamp,)).get
        if found is None:
            found = self._db.execute(
                "insert into subjects select coalesce(max(id), 0) + 1, ?, ? from subjects"
                " returning id", (subject.stamp, canonical_json(subject.as_json()).decode()),
            ).get
        return int(found)

    def put_dictionary(self, trained: bytes) -> int:
        return int(self._db.execute(
            "insert into dictionaries select coalesce(max(id), 0) + 1, ? from dictionaries"
            " returning id", (trained,)).get)

    def put(self, entries: Sequence[tuple[Any, ...]], carried: Sequence[tuple[Any, ...]]) -> None:
        self._db.executemany("insert into entries values (?,?,?,?,?,?,?,?,?,?,?,?)", entries)
        self._db.executemany("insert into words values (?,?,?,?)", carried)

    def put_stimuli(self, stamp: str, body: bytes) -> None:
        self._db.execute(
            "insert into stimuli select ?1, ?2"
            " where not exists (select 1 from stimuli where stamp = ?1)", (stamp, body))

    def put_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            places = ",".join("?" * len(rows[0]))
            self._db.executemany(f"insert into {table} values ({places})", rows)

    def before_erasing(self) -> None:
        self._db.pragma("secure_delete", True)

    def forget(self, seq: int) -> None:
        self._db.execute("delete from words where seq = ?", (seq,))

    def after_erasing(self) -> None:
        # Pages that were split keep old copies in their slack: only a new file has none.
        self._db.execute("vacuum")
        self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def settled(self, intent: int) -> bool:
        return self._db.execute(
            "select 1 from entries where intent = ? and kind in ('reply','fault','unknown')",
            (intent,)).get is not None

    def plainly(self, error: BaseException) -> BaseException:
        """What a failed write means to a person."""
        if isinstance(error, apsw.FullError):
            return Misuse(
                "The disk is full: the ledger could not be written. What was acknowledged is safe."
                " Free some space, then give the same command again.", 6
            )
        if isinstance(error, apsw.BusyError):
            return Misuse(
                f"Another process has held the ledger for {LOCK_WAIT_MS // 1000} seconds."
                " Wait until it is done, then give the same command again.", 6
            )
        if isinstance(error, apsw.CorruptError | apsw.NotADBError):
            return Misuse(f"The ledger is damaged ({error}). Run `equipoise verify`.", 5)
        if isinstance(error, apsw.IOError | apsw.ReadOnlyError | apsw.PermissionsError):
            return Misuse(f"The ledger could not be written ({error}).", 6)
        return error

    def close(self) -> None:
        self._db.close()
