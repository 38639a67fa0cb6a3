"""One ledger into another, row by row as they stand: the copy has the same head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise.ledger.chain import Head
from equipoise.ledger.place import Where
from equipoise.ledger.store import Ledger
from equipoise.terms import Misuse

AT_A_TIME = 500
Rows = list[tuple[Any, ...]]


def copy(
    source: Where, target: Where, watch: Callable[[int], None] = lambda seq: None
) -> Head:
    """Copy what `target` does not hold yet; returns the head that both then have.

    A copy that was broken off goes on where it stopped, and a ledger that has grown since is
    brought up to date. Raises Misuse where `target` holds anything that `source` does not.
    """
    if str(source) == str(target):
        raise Misuse(f"{source} cannot be copied onto itself. Name another place.")
    read, write = Ledger.open(source, read_only=True), None
    try:
        write = Ledger.open(target)
        _require_beginning(read, write)
        done, last = write.head().rows, read.head()
        while done < last.rows:
            done = _batch(read, write, done, last.rows)
            watch(done)
        if write.head() != last:
            raise Misuse(f"{target} ends at {write.head()}, and {source} at {last}: something was"
                         " written into the copy meanwhile.", 5)
        return last
    finally:
        read.close()
        if write is not None:
            write.close()


def _require_beginning(read: Ledger, write: Ledger) -> None:
    """The target is empty or a beginning of the source: their links are equal where it ends."""
    head = write.head()
    link = next((row[0].hex() for row in read.store.rows(
        "select link from entries where seq = $1", (head.rows,))), None)
    if head.rows and link != head.link:
        raise Misuse(f"{write.path} holds {head.rows:,} entries that are not the beginning of"
                     f" {read.path}. Copy into an empty ledger, or into an older copy of this"
                     " one.", 2)


def _batch(read: Ledger, write: Ledger, done: int, last: int) -> int:
    """Copy the next entries with what they carry and refer to; returns the last one's number."""
    to = min(done + AT_A_TIME, last)
    entries = _asked(read, "select * from entries where seq > $1 and seq <= $2 order by seq",
                     (done, to))
    rows: dict[str, Rows] = {
        table: _asked(read, f"select * from {table} where id > $1 order by id",
                      (_newest(write, table),))
        for table in ("dictionaries", "subjects")
    }
    rows["requests"] = _asked(
        read, "select * from requests where id > $1 and id <= $2 order by id",
        (_newest(write, "requests"), max((row[6] or 0 for row in entries), default=0)))
    if any(row[1] == "run" for row in entries):
        known = {stamp for [stamp] in _asked(write, "select stamp from stimuli")}
        rows["stimuli"] = [row for row in _asked(read, "select * from stimuli")
                           if row[0] not in known]
    rows["entries"] = entries
    rows["words"] = _asked(
        read, "select w.* from words w where w.seq > $1 and w.seq <= $2 order by w.seq",
        (done, to))
    write.journal.take_over(rows, [row[7] for row in entries if row[1] == "erased"])
    return to


def _asked(ledger: Ledger, ask: str, given: tuple[Any, ...] = ()) -> Rows:
    return list(ledger.store.rows(ask, given))


def _newest(ledger: Ledger, table: str) -> int:
    return int(_asked(ledger, f"select coalesce(max(id), 0) from {table}")[0][0])
