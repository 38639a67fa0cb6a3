"""A copy of a ledger that is whole: made through SQLite, never by copying the file."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from equipoise.ledger import chain
from equipoise.ledger.chain import Head
from equipoise.ledger.disks import private_folder
from equipoise.ledger.opening import said_plainly
from equipoise.ledger.store import Ledger
from equipoise.ledger.verify import verify
from equipoise.terms import Misuse

PAGES_AT_A_TIME = 2_000


def back_up(path: Path, to: Path) -> Head:
    """Copy the ledger at `path` to the new file `to`, with its head beside it; returns the head.

    What is being written meanwhile is waited for or left out as a whole. The copy is verified
    before it has its name. Raises Misuse where there is a file already, or the copy does not
    hold what the ledger's published head names.
    """
    if to.exists() or chain.published(to):
        raise Misuse(f"There is a file {to}, or a head of it. Name a backup that is not there yet.")
    Ledger.open(path, read_only=True).close()
    part = to.with_name(f".{to.name}.part")
    try:
        with said_plainly(to):
            private_folder(part.parent)
            part.unlink(missing_ok=True)
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            _copied(path, part)
        found = verify(part, chain.published(path))
        if found.faults:
            raise Misuse(f"The copy does not verify, and was not kept: {found.faults[0]}."
                         " Run `equipoise verify` on the ledger.", 5)
        chain.publish(found.head, to)
        part.rename(to)
        return found.head
    finally:
        for suffix in ("", "-wal", "-shm"):
            part.with_name(part.name + suffix).unlink(missing_ok=True)


def _copied(path: Path, part: Path) -> None:
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    target = apsw.Connection(str(part))
    try:
        target.pragma("synchronous", "full")
        # One read transaction: a writer in between does not make it begin again.
        source.execute("begin; select count(*) from sqlite_schema").fetchall()
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_AT_A_TIME)
        # All of it in the one file, and on the disk.
        target.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        target.close()
        source.close()
    with part.open("rb") as made:
        os.fsync(made.fileno())
