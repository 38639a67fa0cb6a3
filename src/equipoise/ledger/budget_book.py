"""The book of budgets beside a ledger: what each run has taken of a cap that processes share.

A budget has a name and a cap; runs spend from it, each holding a share. A share is what a run
may have spent by now: what is settled, what is reserved for calls on the wire, and a little to
hand out without looking here. The shares of a budget never add up to more than its cap. A
process that dies leaves its share as it was, until the run goes on or another run of the budget
begins, and the ledger says what was spent, the unknown at its worst.

The ledger is the record of what was spent; the book only divides a cap between processes.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import apsw

from equipoise.ledger.opening import connect, require_safe_sqlite, said_plainly
from equipoise.ledger.place import Where
from equipoise.terms import Misuse

APPLICATION, VERSION = 0x65717562, 1
SLICES, LEFT_SLICES = 64, 4
"""A slice is a 64th of the cap, and no more than a quarter of what is left of it."""
SCHEMA = """
create table caps (
    budget text primary key,
    usd real,                  -- null: money is not capped
    calls integer              -- null: calls are not capped
) strict, without rowid;
create table shares (
    budget text not null references caps,
    run text not null,
    usd real not null,         -- taken: settled, reserved and spare
    calls integer not null,
    settled_usd real not null, -- spent when last nothing was on the wire
    settled_calls integer not null,
    primary key (budget, run)
) strict, without rowid;
"""


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent, in USD and in calls; None is not capped."""

    usd: float | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """How a budget stands: its cap, what its runs have taken, and what of that is settled."""

    cap: Cap
    taken_usd: float = 0.0
    taken_calls: int = 0
    settled_usd: float = 0.0
    settled_calls: int = 0
    runs: tuple[str, ...] = ()


class Book(Protocol):
    """What a book of budgets does; every method is durable when it returns."""

    def set_cap(self, budget: str, cap: Cap) -> None: ...
    def totals(self, budget: str) -> Totals | None: ...
    def reserve_slice(
        self, budget: str, run: str, usd: float, calls: int
    ) -> tuple[float, int] | None: ...
    def release(self, budget: str, run: str, usd: float, calls: int) -> None: ...
    def settled(self, budget: str, run: str, usd: float, calls: int) -> None: ...
    def open_shares(self, budget: str) -> tuple[str, ...]: ...
    def alive(self, run: str) -> bool: ...
    def budgets(self, run: str) -> tuple[str, ...]: ...
    def spending(self, run: str, *, wait: bool = True) -> AbstractContextManager[bool]: ...
    def close(self) -> None: ...


def open_book(ledger: Where) -> Book:
    """The book of a ledger; one beside a file is made where there is none."""
    if isinstance(ledger, Path):
        return BudgetBook.open(ledger)
    from equipoise.ledger.postgres_book import PostgresBook

    return PostgresBook(ledger)


def found_book(ledger: Where) -> Book | None:
    """The book of a ledger, where there is one: a database always has one."""
    return BudgetBook.found(ledger) if isinstance(ledger, Path) else open_book(ledger)


def granted(now: Totals, usd: float, calls: int) -> tuple[float, int] | None:
    """At least so much more of a budget, and a slice where that is more; None where it does not
    fit."""
    got_usd, got_calls = usd, calls
    if usd and now.cap.usd is not None:
        left = now.cap.usd - now.taken_usd
        if usd > left:
            return None
        got_usd = max(usd, min(now.cap.usd / SLICES, left / LEFT_SLICES))
    if calls and now.cap.calls is not None:
        room = now.cap.calls - now.taken_calls
        if calls > room:
            return None
        got_calls = max(calls, min(now.cap.calls // SLICES, room // LEFT_SLICES))
    return got_usd, got_calls


class BudgetBook:
    """A book in a file beside a ledger's. Use `BudgetBook.open` or `BudgetBook.found`."""

    def __init__(self, path: Path, db: apsw.Connection) -> None:
        self.path, self._db = path, db

    @classmethod
    def open(cls, ledger: Path) -> BudgetBook:
        """Open or make the book beside that ledger."""
        require_safe_sqlite(apsw.sqlite_lib_version())
        path = beside(ledger)
        with said_plainly(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            db = connect(path)
            _prepare(db, path)
        return cls(path, db)

    @classmethod
    def found(cls, ledger: Path) -> BudgetBook | None:
        """The book beside that ledger, where there is one."""
        return cls.open(ledger) if beside(ledger).exists() else None

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One durable transaction; other processes take turns with it."""
        with said_plainly(self.path):
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise

    def set_cap(self, budget: str, cap: Cap) -> None:
        """Give a budget its cap, in place of any that it had."""
        with self._writing():
            self._db.execute(
                "insert into caps values (?1, ?2, ?3)"
                " on conflict (budget) do update set usd = ?2, calls = ?3",
                (budget, cap.usd, cap.calls))

    def totals(self, budget: str) -> Totals | None:
        """How a budget stands; None where there is none of that name."""
        with said_plainly(self.path):
            return self._totals(budget)

    def _totals(self, budget: str) -> Totals | None:
        cap = self._db.execute("select usd, calls from caps where budget = ?", (budget,)).fetchone()
        if cap is None:
            return None
        rows = list(self._db.execute(
            "select run, usd, calls, settled_usd, settled_calls from shares where budget = ?"
            " order by run", (budget,)))
        return Totals(Cap(*cap), sum(r[1] for r in rows), sum(r[2] for r in rows),
                      sum(r[3] for r in rows), sum(r[4] for r in rows),
                      tuple(r[0] for r in rows))

    def reserve_slice(
        self, budget: str, run: str, usd: float, calls: int
    ) -> tuple[float, int] | None:
        """Take at least so much more for a run, and a slice where that is more.

        None where it does not fit under the cap beside what all the runs have taken.
        """
        with self._writing():
            now = self._totals(budget)
            got = None if now is None else granted(now, usd, calls)
            if got is not None:
                self._add(budget, run, *got)
            return got

    def release(self, budget: str, run: str, usd: float, calls: int) -> None:
        """Give back what a run has taken and does not need; a negative sum is taken, fit or not."""
        with self._writing():
            self._add(budget, run, -usd, -calls)

    def _add(self, budget: str, run: str, usd: float, calls: int) -> None:
        self._db.execute(
            "insert into shares values (?1, ?2, ?3, ?4, 0, 0) on conflict (budget, run)"
            " do update set usd = usd + ?3, calls = calls + ?4", (budget, run, usd, calls))

    def settled(self, budget: str, run: str, usd: float, calls: int) -> None:
        """A run has spent so much in all, and holds nothing beside it."""
        with self._writing():
            self._db.execute(
                "insert into shares values (?1, ?2, ?3, ?4, ?3, ?4) on conflict (budget, run)"
                " do update set usd = ?3, calls = ?4, settled_usd = ?3, settled_calls = ?4",
                (budget, run, usd, calls))

    def budgets(self, run: str) -> tuple[str, ...]:
        """The budgets that a run has spent from."""
        with said_plainly(self.path):
            return tuple(budget for budget, in self._db.execute(
                "select budget from shares where run = ? order by budget", (run,)))

    def open_shares(self, budget: str) -> tuple[str, ...]:
        """The runs that hold more than they had settled: they spend now, or their process died."""
        with said_plainly(self.path):
            return tuple(run for run, in self._db.execute(
                "select run from shares where budget = ?"
                " and (usd > settled_usd or calls > settled_calls) order by run", (budget,)))

    @contextmanager
    def spending(self, run: str, *, wait: bool = True) -> Iterator[bool]:
        """Be the process that spends for a run; yields False where another is and `wait` is not."""
        with self._lock(run) as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except OSError:
                yield False
                return
            yield True

    def alive(self, run: str) -> bool:
        """Whether a living process spends for that run."""
        with self._lock(run) as held:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
            return False

    def _lock(self, run: str) -> IO[str]:
        return self.path.with_name(f"{self.path.name}.{run}.lock").open("w")


def beside(ledger: Path) -> Path:
    """Where the book of a ledger lies."""
    return ledger.with_name(f"{ledger.name}.budgets")


def _prepare(db: apsw.Connection, path: Path) -> None:
    """Lay out an empty file as a book; raises Misuse for any other kind of file."""
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
    if (db.pragma("application_id"), db.pragma("user_version")) != (APPLICATION, VERSION):
        raise Misuse(f"{path} is not the book of budgets that this equipoise keeps there. Move it"
                     " away to begin one anew: the ledger says what was spent.", 5)


@dataclass(frozen=True, slots=True)
class Share:
    """One run's share of one budget."""

    book: Book
    budget: str
    run: str

    def reserve_slice(self, usd: float, calls: int) -> tuple[float, int] | None:
        """At least so much more, or None where it does not fit under the cap now."""
        return self.book.reserve_slice(self.budget, self.run, usd, calls)

    def overdrawn(self, usd: float) -> None:
        """Take so much more, whether it fits or not: it is spent already."""
        self.book.release(self.budget, self.run, -usd, 0)

    def release(self, usd: float, calls: int) -> None:
        """Give back what was taken and is not needed."""
        self.book.release(self.budget, self.run, usd, calls)

    def settled(self, usd: float, calls: int) -> None:
        """Nothing of this run is on the wire: it holds what it has spent, and no more."""
        self.book.settled(self.budget, self.run, usd, calls)

    def awaited(self) -> bool:
        """Whether another living process may yet give something back."""
        return any(run != self.run and self.book.alive(run)
                   for run in self.book.open_shares(self.budget))
