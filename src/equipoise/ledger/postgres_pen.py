"""Writing to PostgreSQL: what a batch needs is fetched in one round trip and sent in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from equipoise.ledger.journal import Again, Draft, LeaseLost, OverCap
from equipoise.ledger.place import Database
from equipoise.ledger.postgres_connection import (
    connected,
    gone,
    plainly,
    reconnected,
    usable,
)
from equipoise.terms import Misuse, Subject, canonical_json

WRITERS = 0x65717569
"""The advisory lock that writers take turns with; with it the numbers have no gap."""
COLUMNS: Mapping[str, str] = {
    "dictionaries": "bigint bytea",
    "stimuli": "text bytea",
    "subjects": "bigint text text",
    "requests": "bigint bytea bigint bytea bigint bytea",
    "entries": "bigint text bigint text text integer bigint bigint bigint bigint integer bytea",
    "words": "bigint bytea bigint bytea",
}
"""The types of each table's columns, in the order in which they are inserted."""


def insertion(table: str) -> str:
    """One statement that inserts many rows, a column an array."""
    places = ", ".join(
        f"${n}::{kind}[]" for n, kind in enumerate(COLUMNS[table].split(), 1))
    kept = " on conflict do nothing" if table == "stimuli" else ""
    return f"insert into {table} select * from unnest({places}){kept}"


INSERTIONS = {table: insertion(table) for table in COLUMNS}
KNOWN = "select stamp, id, salt from requests where stamp = any($1)"
NAMED = "select stamp, id from subjects where stamp = any($1)"
NEEDED = (
    ("last", "select seq, link from entries order by seq desc limit 1"),
    ("request", "select coalesce(max(id), 0) from requests"),
    ("subject", "select coalesce(max(id), 0) from subjects"),
    ("dictionary", "select coalesce(max(id), 0) from dictionaries"),
)


class PostgresPen:
    """One writing connection. It is made again when the server restarts, and what of a
    transaction was kept is looked up, never guessed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._db = connected(database, writing=True)
        self._open = False
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Sequence[Any]]] = {table: [] for table in COLUMNS}
        self._forgotten: list[int] = []
        self._last: tuple[int, bytes] | None = None
        self._newest = {"request": 0, "subject": 0, "dictionary": 0}
        self._requests: dict[bytes, tuple[int, bytes]] = {}
        self._subjects: dict[str, int] = {}
        self._held: set[tuple[int, str | None]] = set()
        self._teams: dict[int, tuple[int, int | None, float, float | None]] = {}
        self._charges: dict[int, tuple[int, float]] = {}

    def begin_at_once(self) -> bool:
        return False

    def begin(self, drafts: Sequence[Draft]) -> None:
        while True:
            try:
                return self._begin(drafts)
            except psycopg.Error as error:
                self._come_back(error)

    def _come_back(self, error: psycopg.Error) -> None:
        """Connect again where the connection is gone; else raise the error."""
        if not gone(self._db, error):
            raise error
        self._db.close()
        self._db = reconnected(self._database, writing=True)

    def _begin(self, drafts: Sequence[Draft]) -> None:
        self._clear()
        asked = [draft.request for draft in drafts if draft.request is not None]
        stamps = list({request.stamp for request in asked})
        subjects = list({request.subject.stamp for request in asked})
        db = self._db
        with db.pipeline():
            db.execute("begin")
            db.execute("select pg_advisory_xact_lock($1::bigint)", (WRITERS,))
            found = {name: db.execute(ask, binary=True) for name, ask in NEEDED}
            known = db.execute(KNOWN, (stamps,), binary=True)
            held = [db.execute(
                "select trial, fence from leases where run = $1 and fence = $2 and trial = any($3)"
                " and until > clock_timestamp() for share", key)
                for key in _fenced(drafts)]
            teams = {run: db.execute(
                "select calls, max_calls, usd, max_usd from teams where run = $1 for update",
                (run,)) for run in {draft.entry.run for draft in drafts if draft.charge}}
        # Asked by itself: after a pipeline the server does not time how long we say nothing.
        named = db.execute(NAMED, (subjects,))
        self._open = True
        self._last = found["last"].fetchone()
        for name in self._newest:
            self._newest[name] = found[name].fetchall()[0][0]
        self._requests = {stamp: (number, salt) for stamp, number, salt in known}
        self._subjects = dict(named.fetchall())
        self._held = {(fence, trial) for rows in held for trial, fence in rows}
        self._teams = {run: team for run, rows in teams.items() for team in rows}

    def commit(self) -> None:
        try:
            with self._db.pipeline():
                for table, rows in self._rows.items():
                    if rows:
                        columns = [list(column) for column in zip(*rows, strict=True)]
                        self._db.execute(INSERTIONS[table], columns)
                for seq in self._forgotten:
                    self._db.execute("select forget($1)", (seq,))
                for run, (calls, usd) in self._charges.items():
                    self._db.execute(
                        "update teams set calls = calls + $2::bigint,"
                        " usd = usd + $3::double precision where run = $1", (run, calls, usd))
                self._db.execute("commit")
        except psycopg.Error as error:
            entries = self._rows["entries"]
            self._come_back(error)
            if not (entries and self._kept(entries[-1])):
                raise Again from None
        self._open = False

    def _kept(self, entry: Sequence[Any]) -> bool:
        """Whether a transaction whose end nobody heard of was kept: its last link is on record.

        Asked under the writers' lock, which the lost connection holds until it has ended.
        """
        self.begin(())
        row = self._asked("select link from entries where seq = $1", (entry[0],))
        self.undo()
        return row is not None and row[0] == entry[-1]

    def undo(self) -> None:
        if not usable(self._db):
            self._db.close()
        elif self._open:
            try:
                self._db.execute("rollback")
            except psycopg.OperationalError:
                self._db.close()
        self._open = False
        self._clear()

    finish = undo

    def look_up(self, drafts: Sequence[Draft]) -> None:
        """What further drafts will need, in a transaction that is begun."""
        asked = [draft.request for draft in drafts if draft.request is not None]
        stamps = list({r.stamp for r in asked if r.stamp not in self._requests})
        subjects = list({r.subject.stamp for r in asked if r.subject.stamp not in self._subjects})
        if stamps:
            self._requests |= {stamp: (number, salt) for stamp, number, salt in self._db.execute(
                KNOWN, (stamps,), binary=True)}
        if subjects:
            self._subjects |= dict(self._db.execute(NAMED, (subjects,)).fetchall())

    def refusal(self, draft: Draft) -> Misuse | None:
        """Why an intent may not be written; None where it may, and is charged."""
        calls, usd = draft.charge or (0, 0.0)
        run, key = draft.entry.run, draft.entry.key
        if draft.fence and (draft.fence, key) not in self._held:
            return LeaseLost(f"The lease on {key} has run out; it was not sent.", 75)
        now_calls, now_usd = self._charges.get(run, (0, 0.0))
        if draft.fence and run in self._teams:
            spent_calls, max_calls, spent_usd, max_usd = self._teams[run]
            spent_calls, spent_usd = spent_calls + now_calls, spent_usd + now_usd
            if max_calls is not None and spent_calls + calls > max_calls:
                return OverCap(f"The cap of {max_calls} calls is reached. Give the same command"
                               " again with a higher cap.", 7)
            if max_usd is not None and spent_usd + usd > max_usd:
                return OverCap(f"The cap of ${max_usd:.2f} is reached: ${spent_usd:.4f} spent or in"
                               f" flight, and the next call may cost ${usd:.4f}. Give the same"
                               " command again with a higher cap.", 7)
        self._charges[run] = now_calls + calls, now_usd + usd
        return None

    def last(self) -> tuple[int, bytes] | None:
        if self._open:
            return self._last
        found: tuple[int, bytes] | None = self._asked(NEEDED[0][1])
        return found

    def _asked(self, ask: str, given: Sequence[Any] = ()) -> Any:
        """One row, or None, outside a transaction."""
        while True:
            try:
                return self._db.execute(ask, given, binary=True).fetchone()
            except psycopg.Error as error:
                self._come_back(error)

    def newest_request(self) -> int:
        return self._newest["request"]

    def request(self, stamp: bytes) -> tuple[int, bytes] | None:
        return self._requests.get(stamp)

    def put_request(self, row: tuple[Any, ...]) -> None:
        self._rows["requests"].append(row)
        self._newest["request"] = row[0]
        self._requests[row[1]] = row[0], row[3]

    def subject(self, subject: Subject) -> int:
        if subject.stamp not in self._subjects:
            self._newest["subject"] += 1
            self._subjects[subject.stamp] = self._newest["subject"]
            self._rows["subjects"].append((
                self._newest["subject"], subject.stamp,
                canonical_json(subject.as_json()).decode()))
        return self._subjects[subject.stamp]

    def put_dictionary(self, trained: bytes) -> int:
        self._newest["dictionary"] += 1
        self._rows["dictionaries"].append((self._newest["dictionary"], trained))
        return self._newest["dictionary"]

    def put(self, entries: Sequence[tuple[Any, ...]], carried: Sequence[tuple[Any, ...]]) -> None:
        self._rows["entries"] += entries
        if entries:
            self._last = entries[-1][0], entries[-1][-1]
        self._rows["words"] += carried

    def put_stimuli(self, stamp: str, body: bytes) -> None:
        self._rows["stimuli"].append((stamp, body))

    def put_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._rows[table] += rows

    def before_erasing(self) -> None:
        return

    def forget(self, seq: int) -> None:
        self._forgotten.append(seq)

    def after_erasing(self) -> None:
        return

    def settled(self, intent: int) -> bool:
        return self._asked(
            "select 1 from entries where intent = $1 and kind in ('reply','fault','unknown')",
            (intent,)) is not None

    def plainly(self, error: BaseException) -> BaseException:
        return plainly(error, self._database) if isinstance(error, psycopg.Error) else error

    def close(self) -> None:
        self._db.close()


def _fenced(drafts: Sequence[Draft]) -> list[tuple[int, int, list[str]]]:
    """The trials that drafts are written for under a lease, by run and fence."""
    found: dict[tuple[int, int], list[str]] = {}
    for draft in drafts:
        if draft.fence and draft.entry.key is not None:
            found.setdefault((draft.entry.run, draft.fence), []).append(draft.entry.key)
    return [(run, fence, trials) for (run, fence), trials in found.items()]
