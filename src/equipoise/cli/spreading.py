"""The act behind `run --engine ray`: one run, asked by workers on one machine or several.

The ledger in PostgreSQL is what they share; Ray only starts them, and starts another where one
died. It never starts a task twice by itself: what a dead worker had in flight is unknown, and is
treated as such.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from equipoise.cli.batch_notes import require_none_open
from equipoise.cli.pricing import note_prices, prices_of
from equipoise.cli.progress import clock
from equipoise.cli.running import Ended, Terms, read_run
from equipoise.cli.screen import say
from equipoise.cli.studies import Study, study
from equipoise.cli.tallies import tallied
from equipoise.cli.worker import LEASE_SECONDS, work
from equipoise.ledger import Cap, Database, Ledger, Run, Where, open_book
from equipoise.ledger.leases import Team
from equipoise.ledger.place import INSTEAD
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli
from equipoise.terms import Misuse, Subject

SETTINGS = {
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
WORKERS, LOOPBACK = 4, "127.0.0.1"
LOOK_SECONDS, SAY_EVERY, GRACE_SECONDS = 1.0, 10.0, 45.0
DEATHS_IN_VAIN = 5
"""So many workers in a row that die without anything asked mean a fault that another start will
not mend."""


@dataclass(frozen=True)
class Spread:
    """How a run is spread: so many workers, on the cluster at `address` or on this machine."""

    workers: int = WORKERS
    address: str | None = None
    lease_seconds: float = LEASE_SECONDS


def run_spread(
    where: Where, registration: Registration, stimuli: Stimuli, name: str, terms: Terms,
    spread: Spread,
) -> Ended:
    """Register a run if it is new, have the workers ask what the ledger does not hold, read it."""
    database = _shared(where, registration)
    if terms.batch:
        raise Misuse("--batch hands calls in from one process. Leave it or --engine out.")
    laid_out = study(registration, stimuli)
    ledger = Ledger.open(database)
    try:
        with ledger.administering(name):
            run = ledger.register(name, registration.as_json(), stimuli.texts)
            require_none_open(ledger, run)
            with Spending(ledger, run, laid_out, terms) as spending:
                team = Team(database, run.seq)
                try:
                    return _asked(ledger, run, laid_out, Workers(database, name, terms, spread),
                                  team, spending)
                finally:
                    team.close()
    finally:
        ledger.close()


def _shared(where: Where, registration: Registration) -> Database:
    """The database that workers share; raises Misuse where a run cannot be spread."""
    if not isinstance(where, Database):
        raise Misuse(f"The ledger {where} is a file, which several machines cannot share. Name one"
                     " in PostgreSQL: --ledger postgresql://ROLE@HOST/DATABASE.")
    if where.secret:
        raise Misuse("The ledger's URL holds a password, and it would be handed from machine to"
                     f" machine. {INSTEAD} On every machine.")
    if registration.until_dissent:
        raise Misuse("--until-dissent decides by all replies so far, which workers do not see of"
                     " each other. Leave it out, or run in one process.")
    return where


def _asked(
    ledger: Ledger, run: Run, laid_out: Study, workers: Workers, team: Team, spending: Spending
) -> Ended:
    """Have the workers ask what is not on record, and read the whole run."""
    before, terms = len(ledger.recorded(run.seq)), workers.terms
    team.gather([trial.key for trial in laid_out.trials], max_calls=spending.cap.calls,
                max_usd=spending.cap.usd, spent=spending.spent, per_minute=terms.per_minute)
    seconds = _worked(workers, team, terms.quiet)
    calls, stopped = team.spent()[0] - spending.spent[0], team.stopped()
    spending.spent = team.spent()
    team.disband()
    _, again, found = read_run(ledger, run.name)
    return Ended(run, again, replace(found, stopped=stopped), calls, before, seconds,
                 spending.usd, ledger.head())


class Spending:
    """The cap of a run that is spread, and what is spent of it: by the ledger before, by the
    workers' own count after. While the block lasts, this process spends for the run."""

    def __init__(self, ledger: Ledger, run: Run, laid_out: Study, terms: Terms) -> None:
        if terms.budget not in (None, run.name):
            raise Misuse("--budget shares a cap among runs; workers share their run's own. Leave"
                         " it out.")
        subjects = [Subject(**s) for s in laid_out.registration.subjects]
        self._prices = prices_of([*subjects, *laid_out.others], terms.prices, terms.stated)
        note_prices(ledger, run, self._prices)
        self._book, self._run = open_book(ledger.path), run.name
        self._given = Cap(terms.max_usd, terms.max_calls)
        tallies = tallied(ledger, run, self._prices).values()
        self.spent = sum(t.calls for t in tallies), sum(t.usd for t in tallies)
        self.cap = self._given

    @property
    def usd(self) -> float | None:
        """What the run has cost, in USD; None where a price is unknown."""
        known = all(p.price is not None for p in self._prices.values())
        return self.spent[1] if known else None

    def __enter__(self) -> Spending:
        self._held = self._book.spending(self._run)
        self._held.__enter__()
        known = self._book.totals(self._run)
        old = known.cap if known else Cap()
        self.cap = Cap(old.usd if self._given.usd is None else self._given.usd,
                       old.calls if self._given.calls is None else self._given.calls)
        if self.cap != old:
            self._book.set_cap(self._run, self.cap)
        return self

    def __exit__(self, *error: object) -> None:
        if self.cap != Cap():
            self._book.settled(self._run, self._run, self.spent[1], self.spent[0])
        self._held.__exit__(None, None, None)
        self._book.close()


class Workers:
    """The tasks as Ray runs them: one a worker, for as long as there is anything to ask."""

    def __init__(self, database: Database, name: str, terms: Terms, spread: Spread) -> None:
        self.terms, self._args = terms, (database, name, terms)
        self.spread, self.started = spread, 0

    @contextmanager
    def up(self) -> Iterator[Any]:
        """Ray, up or reached, for as long as the block lasts."""
        for setting, value in SETTINGS.items():
            os.environ.setdefault(setting, value)
        try:
            import ray
        except ImportError as error:
            raise Misuse("Spreading a run needs Ray: install equipoise[ray], on every machine."
                         ) from error
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **self._reached())
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise Misuse(f"Ray could not be reached at {self.spread.address} ({error}).", 75
                         ) from error
        try:
            yield ray
        finally:
            ray.shutdown()

    def _reached(self) -> dict[str, Any]:
        """Where Ray is: the cluster that was named, or one for this run, on loopback alone."""
        address = self.spread.address
        if address is None:
            return {"num_cpus": self.spread.workers, "include_dashboard": False,
                    "_node_ip_address": LOOPBACK}
        host = address.rpartition(":")[0]
        on_loopback = {"_node_ip_address": host} if host.startswith("127.") else {}
        return {"address": address, **on_loopback}

    def start(self, ray: Any) -> tuple[Any, str]:
        """One more worker: its task, and its name."""
        self.started += 1
        name = f"worker-{self.started}"
        task = ray.remote(
            max_retries=0, max_calls=1, num_cpus=0, scheduling_strategy="SPREAD")(work)
        database, run, terms = self._args
        return task.remote(database, run, name, terms, self.spread.lease_seconds), name


def _worked(workers: Workers, team: Team, quiet: bool) -> float:
    """Keep the workers going until every trial is done or the run is stopped; for how long."""
    with workers.up() as ray:
        running = dict(workers.start(ray) for _ in range(workers.spread.workers))
        watch = Watch(team, quiet)
        try:
            while running:
                ended, _ = ray.wait(list(running), timeout=LOOK_SECONDS)
                watch.look()
                for task in ended:
                    name = running.pop(task)
                    if _died(ray, task):
                        team.free(name)
                        watch.died()
                        if team.stopped() is None and team.unfinished():
                            running.update([workers.start(ray)])
        except KeyboardInterrupt:
            say("\nStopping: nothing more is sent; waiting up to 45 seconds for the calls in"
                " flight. Interrupt again to end at once.")
            team.stop(Misuse("Stopped. Everything that came back is on record.", 130))
            ray.wait(list(running), num_returns=len(running), timeout=GRACE_SECONDS)
        return watch.finish()


def _died(ray: Any, task: Any) -> bool:
    """Whether a worker's task ended because its process did; raises what it raised itself."""
    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, Misuse):
            raise cause from None
        raise
    except ray.exceptions.RayError:
        return True
    return False


class Watch:
    """Says how far the workers are, and how many died."""

    def __init__(self, team: Team, quiet: bool) -> None:
        self._team, self._quiet = team, quiet
        self._begun = self._said = time.monotonic()
        self._trials = team.left()
        self._calls, _ = team.spent()
        self.deaths = self._in_vain = 0
        self._calls_at_death = -1

    def look(self) -> None:
        if not self._quiet and time.monotonic() - self._said >= SAY_EVERY:
            self._say()

    def died(self) -> None:
        """Count a death; stop the run where they come without anything being asked between."""
        self.deaths += 1
        calls, _ = self._team.spent()
        self._in_vain = self._in_vain + 1 if calls == self._calls_at_death else 1
        self._calls_at_death = calls
        if self._in_vain >= DEATHS_IN_VAIN:
            self._team.stop(Misuse(
                f"{self._in_vain} workers in a row died without asking anything. Look at Ray's"
                " logs, or run in one process to see why.", 1))

    def finish(self) -> float:
        """Say how it ended; returns the seconds since the workers were started."""
        if not self._quiet:
            self._say()
        if self.deaths:
            say(f"{self.deaths} workers died and were replaced. What they had in flight is unknown:"
                " it may have been billed, and is not sent again without --retry-unknown.")
        return time.monotonic() - self._begun

    def _say(self) -> None:
        self._said = time.monotonic()
        left, seconds = self._team.left(), self._said - self._begun
        calls = self._team.spent()[0] - self._calls
        say(f"{self._trials - left:,}/{self._trials:,} cells · {calls / max(seconds, 1e-9):,.1f}"
            f" calls/s · {clock(seconds)}")
