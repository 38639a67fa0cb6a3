"""A disk that loses what was not synced: every write goes through it, and the power can be cut.

It stands between SQLite and the file system as a VFS. The cut is made afterwards, on the list of
what was done, so one session can be cut at any number of places.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

SECTOR = 512
Change = tuple[str, int, bytes]


def pen(ledger) -> apsw.Connection:
    """The connection that a ledger writes with."""
    return ledger.journal._pen._db


class Disk(apsw.VFS):
    """Passes everything on, and keeps the list: (what, file, offset or size, bytes)."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, int, bytes]] = []
        self.real = apsw.vfs_names()[0]
        super().__init__("cut", self.real)

    def xOpen(self, name, flags):
        return Opened(self, name, flags)

    def xDelete(self, name, sync):
        self.done.append(("delete", Path(name).name, 0, b""))
        super().xDelete(name, sync)

    def said(self, told: object) -> None:
        """Somebody was told that this is on disk."""
        self.done.append(("told", str(told), 0, b""))

    def after(self, cut: int, rng: random.Random) -> tuple[dict[str, bytes], set[str]]:
        """What each file holds when the power comes back, and what had been told before the cut.

        What was not synced may have reached the disk or not, each sector by itself.
        """
        files: dict[str, bytearray] = {}
        pending: dict[str, list[Change]] = {}
        told: set[str] = set()
        for what, name, place, data in self.done[:cut]:
            if what == "told":
                told.add(name)
            elif what == "delete":
                files.pop(name, None)
                pending.pop(name, None)
            elif what == "sync":
                for one in pending.pop(name, ()):
                    _apply(files.setdefault(name, bytearray()), *one)
            else:
                pending.setdefault(name, []).append((what, place, data))
        for name, left in pending.items():
            for one in _reached(left, rng):
                _apply(files.setdefault(name, bytearray()), *one)
        return {name: bytes(content) for name, content in files.items()}, told


def _reached(changes: list[Change], rng: random.Random) -> Iterator[Change]:
    """The half of what was not synced that reached the disk all the same."""
    for what, place, data in changes:
        for at in range(0, max(1, len(data)), SECTOR):
            if rng.random() < 0.5:
                yield what, place + at, data[at : at + SECTOR]


def _apply(content: bytearray, what: str, place: int, data: bytes) -> None:
    if what == "truncate":
        del content[place:]
        return
    content.extend(bytes(max(0, place - len(content))))
    content[place : place + len(data)] = data


class Opened(apsw.VFSFile):
    """One open file on that disk."""

    def __init__(self, disk: Disk, name, flags) -> None:
        self._done = disk.done
        said = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(said or "").name
        super().__init__(disk.real, name, flags)

    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        self._done.append(("write", self._name, offset, bytes(data)))

    def xTruncate(self, size):
        super().xTruncate(size)
        self._done.append(("truncate", self._name, size, b""))

    def xSync(self, flags):
        super().xSync(flags)
        self._done.append(("sync", self._name, 0, b""))


@contextmanager
def disk() -> Iterator[Disk]:
    """Everything that SQLite opens in this block is on that disk."""
    found = Disk()
    apsw.set_default_vfs("cut")
    try:
        yield found
    finally:
        apsw.set_default_vfs(found.real)
        found.unregister()
