"""Sharing a run among workers: who asks which trials, how fast, and whether to go on.

This is coordination and no record. What was asked and what came back is in the chain; a lease
only says who may write the next intent, and the transaction that writes it looks the lease up.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import psycopg

from equipoise.ledger.place import Database
from equipoise.ledger.postgres_connection import connected, gone, plainly, reconnected
from equipoise.ledger.store import Lease
from equipoise.terms import Misuse

ENTERED_AT_ONCE = 10_000


class Team:
    """A run's workers, as one of them or their caller sees them; any thread may use it."""

    def __init__(self, database: Database, run: int) -> None:
        self._database, self.run = database, run
        self._db = connected(database)
        self._turn = threading.Lock()

    def close(self) -> None:
        self._db.close()

    def gather(
        self, trials: Sequence[str], *, max_calls: int | None, max_usd: float | None,
        spent: tuple[int, float], per_minute: float | None,
    ) -> None:
        """Begin a session: every trial is to be leased, and `spent` (calls, USD) is spent."""
        self.disband()
        self._do("insert into teams (run, max_calls, calls, max_usd, usd) values"
                 " ($1, $2, $3, $4, $5) on conflict do nothing",
                 (self.run, max_calls, spent[0], max_usd, spent[1]))
        if per_minute:
            self._do("insert into paces (run, gap) values ($1, $2::double precision)"
                     " on conflict do nothing",
                     (self.run, 60 / per_minute))
        for begin in range(0, len(trials), ENTERED_AT_ONCE):
            some = list(trials[begin : begin + ENTERED_AT_ONCE])
            self._do("insert into leases (run, trial, place) select $1, trial, $2 + n - 1"
                     " from unnest($3::text[]) with ordinality as t (trial, n)"
                     " on conflict do nothing",
                     (self.run, begin, some))

    def disband(self) -> None:
        """Forget the leases, the pace and the counts; the record is in the ledger."""
        for table in ("leases", "paces", "teams"):
            self._do(f"delete from {table} where run = $1", (self.run,))

    def lease(self, worker: str, trials: int, seconds: float) -> Lease | None:
        """The next trials that nobody holds, for so long; None where there are none now, or the
        run is stopped."""
        rows = self._do(
            "with free as (select trial from leases where run = $1 and not done"
            "  and until < clock_timestamp()"
            "  and exists (select from teams where run = $1 and stopped is null)"
            "  order by place limit $2 for update skip locked),"
            " number as materialized (select nextval('fences') as fence"
            "  where exists (select from free))"
            " update leases l set worker = $3, fence = number.fence,"
            "  until = clock_timestamp() + make_interval(secs => $4)"
            " from free, number where l.run = $1 and l.trial = free.trial"
            " returning l.place, l.trial, l.fence", (self.run, trials, worker, seconds))
        if not rows:
            return None
        rows = sorted(rows)
        return Lease(self.run, rows[0][2], tuple(row[1] for row in rows),
                     tuple(row[0] for row in rows))

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Hold a lease for so long from now; false where it has run out, which is final."""
        rows = self._do(
            "update leases set until = clock_timestamp() + make_interval(secs => $3)"
            " where run = $1 and fence = $2 and trial = any($4) and until > clock_timestamp()"
            " returning 1", (self.run, lease.fence, seconds, list(lease.trials)))
        return len(rows) == len(lease.trials)

    def give_back(self, lease: Lease, *, done: bool) -> None:
        """End a lease: its trials are done, or free for the next that asks."""
        self._do("update leases set done = $3, until = '-infinity'"
                 " where run = $1 and fence = $2 and trial = any($4)",
                 (self.run, lease.fence, done, list(lease.trials)))

    def free(self, worker: str) -> None:
        """End all leases of a worker that is gone. Should it live after all, its fence is void."""
        self._do("update leases set until = '-infinity' where run = $1 and worker = $2"
                 " and not done", (self.run, worker))

    def unfinished(self) -> bool:
        """Whether any trial is not done, held or free."""
        return bool(self._do("select 1 from leases where run = $1 and not done limit 1",
                             (self.run,)))

    def left(self) -> int:
        """How many trials are not done."""
        return int(self._do("select count(*) from leases where run = $1 and not done",
                            (self.run,))[0][0])

    def stop(self, reason: Misuse) -> None:
        """Tell every worker to send nothing more; the first reason stands."""
        self._do("update teams set stopped = $2, code = $3 where run = $1 and stopped is null",
                 (self.run, str(reason), reason.code))

    def stopped(self) -> Misuse | None:
        """Why the run is to stop; None while it is to go on. A session that ended is stopped."""
        rows = self._do("select stopped, code from teams where run = $1", (self.run,))
        if not rows:
            return Misuse("This session of the run has ended.", 75)
        return Misuse(rows[0][0], rows[0][1]) if rows[0][0] is not None else None

    def spent(self) -> tuple[int, float]:
        """Calls and USD of the run so far, what is in flight at its worst."""
        rows = self._do("select calls, usd from teams where run = $1", (self.run,))
        return (rows[0][0], rows[0][1]) if rows else (0, 0.0)

    def turns(self, count: int) -> tuple[float, float]:
        """The next `count` moments at which calls may begin: seconds until the first, and apart.
        """
        rows = self._do(
            "update paces set due = greatest(due, extract(epoch from clock_timestamp())"
            "  ::double precision) + $2 * gap where run = $1"
            " returning due - $2 * gap - extract(epoch from clock_timestamp())::double precision,"
            "  gap", (self.run, count))
        return (rows[0][0], rows[0][1]) if rows else (0.0, 0.0)

    def _do(self, statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
        """One statement, which is a transaction; again where the server went away meanwhile.

        Each is safe to say twice: a lease that was taken and not heard of runs out.
        """
        with self._turn:
            while True:
                try:
                    cursor = self._db.execute(statement, given)
                    return cursor.fetchall() if cursor.description else []
                except psycopg.Error as error:
                    if not gone(self._db, error):
                        raise plainly(error, self._database) from error
                    self._db.close()
                    self._db = reconnected(self._database)
