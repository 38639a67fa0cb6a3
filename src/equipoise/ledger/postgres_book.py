"""The book of budgets in a PostgreSQL database: beside the ledger's tables, outside its chain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from equipoise.ledger.budget_book import Cap, Totals, granted
from equipoise.ledger.place import Database
from equipoise.ledger.postgres_connection import connected, said_plainly

SPENDERS = 2
"""The kind of advisory lock that says which process spends for a run."""


class PostgresBook:
    """A book in a ledger's database; what its methods do, `Book` says."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with said_plainly(database):
            self._db = connected(database)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _writing(self, budget: str) -> Iterator[None]:
        """One durable transaction; others that change this budget take turns with it."""
        with said_plainly(self._database), self._db.transaction():
            self._db.execute("select 1 from caps where budget = $1 for update", (budget,))
            yield

    def _asked(self, ask: str, *given: Any) -> list[tuple[Any, ...]]:
        with said_plainly(self._database):
            cursor: psycopg.Cursor[Any] = self._db.execute(ask, given)
            return cursor.fetchall() if cursor.description else []

    def set_cap(self, budget: str, cap: Cap) -> None:
        self._asked("insert into caps values ($1, $2::double precision, $3::bigint)"
                    " on conflict (budget) do update set usd = $2::double precision,"
                    " calls = $3::bigint", budget, cap.usd, cap.calls)

    def totals(self, budget: str) -> Totals | None:
        cap = self._asked("select usd, calls from caps where budget = $1", budget)
        if not cap:
            return None
        rows = self._asked(
            "select run, usd, calls, settled_usd, settled_calls from shares where budget = $1"
            " order by run", budget)
        return Totals(Cap(*cap[0]), sum(r[1] for r in rows), sum(r[2] for r in rows),
                      sum(r[3] for r in rows), sum(r[4] for r in rows),
                      tuple(r[0] for r in rows))

    def reserve_slice(
        self, budget: str, run: str, usd: float, calls: int
    ) -> tuple[float, int] | None:
        with self._writing(budget):
            now = self.totals(budget)
            got = None if now is None else granted(now, usd, calls)
            if got is not None:
                self._add(budget, run, *got)
            return got

    def release(self, budget: str, run: str, usd: float, calls: int) -> None:
        with self._writing(budget):
            self._add(budget, run, -usd, -calls)

    def _add(self, budget: str, run: str, usd: float, calls: int) -> None:
        self._asked(
            "insert into shares values ($1, $2, $3::double precision, $4::bigint, 0, 0)"
            " on conflict (budget, run) do update set usd = shares.usd + $3::double precision,"
            " calls = shares.calls + $4::bigint", budget, run, usd, calls)

    def settled(self, budget: str, run: str, usd: float, calls: int) -> None:
        with self._writing(budget):
            self._asked(
                "insert into shares values ($1, $2, $3::double precision, $4::bigint,"
                " $3::double precision, $4::bigint) on conflict (budget, run) do update set"
                " usd = $3::double precision, calls = $4::bigint,"
                " settled_usd = $3::double precision, settled_calls = $4::bigint",
                budget, run, usd, calls)

    def budgets(self, run: str) -> tuple[str, ...]:
        return tuple(budget for [budget] in self._asked(
            "select budget from shares where run = $1 order by budget", run))

    def open_shares(self, budget: str) -> tuple[str, ...]:
        return tuple(run for [run] in self._asked(
            "select run from shares where budget = $1"
            " and (usd > settled_usd or calls > settled_calls) order by run", budget))

    @contextmanager
    def spending(self, run: str, *, wait: bool = True) -> Iterator[bool]:
        took = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
        [[got]] = self._asked(f"select {took}($1, hashtext($2))", SPENDERS, run)
        if got is False:
            yield False
            return
        try:
            yield True
        finally:
            self._asked("select pg_advisory_unlock($1, hashtext($2))", SPENDERS, run)

    def alive(self, run: str) -> bool:
        [[free]] = self._asked("select pg_try_advisory_lock_shared($1, hashtext($2))", SPENDERS,
                               run)
        if free:
            self._asked("select pg_advisory_unlock_shared($1, hashtext($2))", SPENDERS, run)
        return not free
