"""One worker of a run that several machines share: it leases trials and administers them.

The same `administer` and the same desk as in a run of one process; only the trials are leased,
and an intent is written under the lease's fence.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from equipoise.administer import administer
from equipoise.cli.pricing import price_for, prices_of
from equipoise.cli.running import (
    AT_ONCE,
    Terms,
    finished,
    on_record,
    recorded_study,
)
from equipoise.cli.studies import Study
from equipoise.cli.tallies import usage
from equipoise.desk import Desk, Patience
from equipoise.ledger import Database, Ledger, Run
from equipoise.ledger.journal import LeaseLost
from equipoise.ledger.leases import Team
from equipoise.ledger.store import Lease
from equipoise.providers.limits import booked
from equipoise.providers.prices import Price
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject

LEASE_SECONDS = 30.0
ROUNDS = 8
"""How many calls a lease holds for each one that is in flight at a time."""
LOOK_SECONDS = 0.5
TURNS_SECONDS = 0.25
"""A worker takes the turns of a quarter of a second at a time, and drops those it comes late to."""


@dataclass(frozen=True)
class Charges:
    """What calls cost, booked as in a run of one process; nothing where there is no price."""

    price: Callable[[Subject], Price | None]

    def worst(self, request: Request) -> float:
        known = self.price(request.subject)
        return known.worst(request.body) if known else 0.0

    def booked(self, request: Request, outcome: Reply | Fault) -> float:
        worst, known = self.worst(request), self.price(request.subject)
        if isinstance(outcome, Fault):
            return worst if outcome.sent else 0.0
        return booked(known, worst, outcome, usage(request, outcome)) if known else 0.0


def work(
    database: Database, name: str, worker: str, terms: Terms, seconds: float = LEASE_SECONDS
) -> str:
    """Ask what is left of a run, a lease at a time; returns why it stopped, empty when all is done.
    """
    ledger = Ledger.open(database)
    try:
        run = on_record(ledger, name)
        team = Team(database, run.seq)
        try:
            job = Job(ledger, run, recorded_study(ledger, run), team, worker, terms, seconds)
            return finished(job.done())
        finally:
            team.close()
    finally:
        ledger.close()


@dataclass
class Job:
    """A worker's part in one run; `desks` are those at work now, each with its lease."""

    ledger: Ledger
    run: Run
    study: Study
    team: Team
    worker: str
    terms: Terms
    seconds: float
    stopped: Misuse | None = None
    desks: dict[int, tuple[Desk, Lease]] = field(default_factory=dict)

    async def done(self) -> str:
        # Imported here, as in a run of one process: reading needs no network.
        from equipoise.cli.subjects import reached

        registration = self.study.registration
        subjects = [Subject(**s) for s in registration.subjects]
        at_once = self.terms.at_once or min(AT_ONCE.get(s.dialect, 16) for s in subjects)
        async with reached([*subjects, *self.study.others], self.study) as provider:
            pace = Turns(self.team, self.terms.per_minute, lambda: self.stopped is not None)
            beating = asyncio.create_task(self._beat())
            # Two lanes: while the last calls of one lease are awaited, the other is under way.
            lanes = [at_once - at_once // 2, at_once // 2]
            try:
                await asyncio.gather(*(
                    self._lane(number, provider, pace, width)
                    for number, width in enumerate(lanes) if width))
            finally:
                beating.cancel()
                await asyncio.gather(beating, return_exceptions=True)
        return str(self.stopped or "")

    def _charges(self) -> Charges:
        subjects = [Subject(**s) for s in self.study.registration.subjects]
        return Charges(price_for(prices_of(
            [*subjects, *self.study.others], self.terms.prices, self.terms.stated)))

    async def _lane(
        self, number: int, provider: Provider, pace: Turns, width: int
    ) -> None:
        """Lease, administer and give back, until nothing is left or the run is stopped."""
        charges = self._charges()
        while self.stopped is None:
            lease = await asyncio.to_thread(
                self.team.lease, self.worker, ROUNDS * width, self.seconds)
            if lease is None:
                if not await asyncio.to_thread(self.team.unfinished):
                    return
                await asyncio.sleep(LOOK_SECONDS)
                continue
            desk = Desk(
                self.ledger.under(lease, charges), self.run, provider,
                guard=pace.wrap, retry_unknown=self.terms.retry_unknown,
                patience=Patience(self.terms.attempts))
            reason = await self._administered(number, lease, desk, width)
            if isinstance(reason, LeaseLost):
                continue
            await asyncio.to_thread(self.team.give_back, lease, done=reason is None)
            if reason is not None and self.stopped is None:
                self.stopped = reason
                await asyncio.to_thread(self.team.stop, reason)

    async def _administered(
        self, number: int, lease: Lease, desk: Desk, width: int
    ) -> Misuse | None:
        self.desks[number] = desk, lease
        trials = [self.study.trials[place] for place in lease.places]
        try:
            found = await administer(self.study.instrument, trials, desk, at_once=width)
        finally:
            del self.desks[number]
        return found.stopped

    async def _beat(self) -> None:
        """Renew the leases, and stop when the run is told to."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self.seconds / 6))
            if self.stopped is None:
                self.stopped = await asyncio.to_thread(self.team.stopped)
            if self.stopped is not None:
                for desk, _ in self.desks.values():
                    desk.stop(self.stopped)
            if time.monotonic() - renewed < self.seconds / 3:
                continue
            renewed = time.monotonic()
            for number, (desk, lease) in list(self.desks.items()):
                if not await asyncio.to_thread(self.team.renew, lease, self.seconds) and (
                    number in self.desks and self.desks[number][0] is desk
                ):
                    desk.stop(LeaseLost("The lease has run out: this worker was away too long.",
                                        75))


class Turns:
    """Starts calls at the moments that all workers of a run share among them."""

    def __init__(
        self, team: Team, per_minute: float | None, stopped: Callable[[], bool]
    ) -> None:
        self._team, self._stopped = team, stopped
        self._count = max(1, int((per_minute or 0) / 60 * TURNS_SECONDS))
        self._free = per_minute is None
        self._turns: list[float] = []
        self._asking = asyncio.Lock()

    def wrap(self, provider: Provider) -> Provider:
        """The provider, each of its calls at a turn."""
        if self._free:
            return provider

        async def in_turn(request: Request) -> Reply | Fault:
            await self._turn()
            return await provider(request)

        return in_turn

    async def _turn(self) -> None:
        async with self._asking:
            now = time.monotonic()
            self._turns = [turn for turn in self._turns if turn > now - TURNS_SECONDS]
            if not self._turns:
                first, gap = await asyncio.to_thread(self._team.turns, self._count)
                now = time.monotonic()
                self._turns = [now + first + gap * n for n in range(self._count)]
            turn = self._turns.pop(0)
        while (left := turn - time.monotonic()) > 0 and not self._stopped():
            await asyncio.sleep(min(left, 0.2))
