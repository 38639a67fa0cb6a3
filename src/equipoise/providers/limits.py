"""Limits that wrap a provider: so many calls a minute, so much money, so many calls in all."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from equipoise.providers.prices import Price
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject, Usage

Wrap = Callable[[Provider], Provider]

LOOK_EVERY, GIVE_BACK_EVERY = 0.2, 1.0
SLICES = 64
"""A process takes a shared cap in slices of a 64th, so that most calls need no look in the book."""


class Share(Protocol):
    """A run's share of a budget that other processes spend from too.

    Every method is durable when it returns. `Budget` draws a slice before it lets a call go,
    and gives back what it does not need.
    """

    def reserve_slice(self, usd: float, calls: int) -> tuple[float, int] | None:
        """At least so much more, or None where it does not fit under the cap now."""

    def overdrawn(self, usd: float) -> None:
        """Take so much more, whether it fits or not: it is spent already."""

    def release(self, usd: float, calls: int) -> None:
        """Give back what was taken and is not needed."""

    def settled(self, usd: float, calls: int) -> None:
        """Nothing of this run is on the wire: it holds what it has spent, and no more."""

    def awaited(self) -> bool:
        """Whether another living process may yet give something back."""


class Budget:
    """Money and calls reserved before a call and settled after.

    A call that does not fit waits for those on the wire to settle, and for other processes of
    the same budget; it is refused when nothing is left to wait for. Settled + reserved never
    passes the cap. `waits` is told once, when a call begins to wait for another process.
    """

    def __init__(
        self,
        *,
        max_usd: float | None = None,
        max_calls: int | None = None,
        spent_usd: float = 0.0,
        calls: int = 0,
        share: Share | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.max_usd, self.max_calls = max_usd, max_calls
        self.spent_usd, self.calls = spent_usd, calls
        self.reserved_usd, self.on_wire = 0.0, 0
        self.overcharged = ""
        self._share, self._stopped = share, stopped
        self.waits: Callable[[], None] = lambda: None
        self._usd = math.inf if max_usd is None else spent_usd if share else max_usd
        self._calls: float = math.inf if max_calls is None else calls if share else max_calls
        self._ask_at = self._give_back_at = 0.0
        self._known: tuple[float, int] | None = None
        self._looking = False
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, worst: float) -> Fault | None:
        """Set `worst` aside, waiting while it does not fit; a Fault where it never will."""
        try:
            return await self._reserved(worst)
        finally:
            if self._share is not None and self._waiting and not self._looking:
                _wake(self._waiting[:1])

    async def _reserved(self, worst: float) -> Fault | None:
        while True:
            if self.overcharged:
                return Fault("over budget", self.overcharged, sent=False)
            if self._fits(worst) or self._draws(worst):
                break
            if self._stopped():
                return Fault("over budget", "The run was stopped.", sent=False)
            ours = self.on_wire > 0 and self.calls < self._calls
            if not ours and self._share is not None and self._gives_all_back():
                continue
            if not ours:
                if self._share is None or not self._share.awaited():
                    return self._refusal(worst)
                self.waits()
                self.waits = lambda: None
            await self._change()
        self.reserved_usd += worst
        self.on_wire += 1
        self.calls += 1
        return None

    def _fits(self, worst: float) -> bool:
        return self.calls < self._calls and (
            self.spent_usd + self.reserved_usd + worst <= self._usd)

    def _draws(self, worst: float) -> bool:
        """Take what this call lacks from the book; in vain, no more than a few times a second."""
        if self._share is None or time.monotonic() < self._ask_at:
            return False
        short = self.spent_usd + self.reserved_usd + worst - self._usd
        got = self._share.reserve_slice(max(short, 0.0), int(self.calls >= self._calls))
        if got is None:
            self._ask_at = time.monotonic() + LOOK_EVERY
            return False
        self._usd += got[0]
        self._calls += got[1]
        self._known = None
        return True

    def _gives_all_back(self) -> bool:
        """With nothing on the wire, hold no more than was spent; whether the book knew it not."""
        if self.on_wire or self._share is None or self._known == (self.spent_usd, self.calls):
            return False
        self.settled()
        return True

    def settled(self) -> None:
        """Tell the book what was spent in all: what is on the wire now is spent at its worst."""
        if self._share is None:
            return
        spent = self.spent_usd + self.reserved_usd
        self._share.settled(spent, self.calls)
        if self.max_usd is not None:
            self._usd = spent
        if self.max_calls is not None:
            self._calls = self.calls
        self._known = (spent, self.calls)
        self._ask_at = 0.0

    async def _change(self) -> None:
        """Until a call settles; while other processes spend too, one of those that wait looks."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(change)
        looks = self._share is not None and not self._looking
        self._looking = self._looking or looks
        try:
            if looks:
                await asyncio.wait([change], timeout=LOOK_EVERY)
            else:
                await change
        finally:
            if looks:
                self._looking = False
            if change in self._waiting:
                self._waiting.remove(change)

    def _refusal(self, worst: float) -> Fault:
        if self.calls >= self._calls:
            said = f"The cap of {self.max_calls} calls is reached."
        else:
            by = " by this run" if self._share else ""
            said = (f"The cap of ${self.max_usd:g} is reached: ${self.spent_usd:.4f} spent{by},"
                    f" and the next call may cost ${worst:.4f}.")
        return Fault("over budget", said, sent=False)

    def settle(self, worst: float, actual: float) -> None:
        """Replace a reservation by what the call cost, and let those that wait look again."""
        self.on_wire -= 1
        self.reserved_usd = self.reserved_usd - worst if self.on_wire else 0.0
        self.spent_usd += actual
        if self.max_usd is not None:
            self._compare(worst, actual)
        waiting, self._waiting = self._waiting, []
        _wake(waiting)

    def _compare(self, worst: float, actual: float) -> None:
        """What a call left over is kept for the next; much of it goes back to the book."""
        if actual > worst * (1 + 1e-9) and not self.overcharged:
            self.overcharged = (
                f"A call was billed ${actual:.6f}, and by its price and limits it could cost"
                f" ${worst:.6f} at most: the provider's price is another, or it bills tokens that"
                " it does not count against the limit. The cap cannot be kept, so nothing more"
                f" is sent. ${self.spent_usd:.4f} of ${self.max_usd:.2f} is spent. Give the"
                " provider's own price with --price, or go on in another --budget with"
                " --max-calls.")
        if self._share is None or self.max_usd is None:
            return
        spare = self._usd - self.spent_usd - self.reserved_usd
        if spare < 0:
            self._share.overdrawn(-spare)
            self._usd -= spare
            return
        keep, now = max(self.max_usd / SLICES, worst), time.monotonic()
        if spare > 2 * keep and now >= self._give_back_at:
            self._give_back_at = now + GIVE_BACK_EVERY
            self._share.release(spare - keep, 0)
            self._usd -= spare - keep


def _wake(waiting: Sequence[asyncio.Future[None]]) -> None:
    for change in waiting:
        if not change.done():
            change.set_result(None)


def budgeted(
    budget: Budget,
    price: Callable[[Subject], Price | None],
    usage: Callable[[Request, Reply], Usage],
    stop: Callable[[Misuse], None] = lambda reason: None,
) -> Wrap:
    """Reserve each call's worst cost before it and settle its own after.

    A call that may have been billed and says nothing of its cost is settled at the worst.
    `stop` is told as soon as a call was billed more than its worst, since no bound holds then.
    """

    def wrap(provider: Provider) -> Provider:
        async def within(request: Request) -> Reply | Fault:
            known = price(request.subject)
            worst = known.worst(request.body) if known else 0.0
            if refused := await budget.reserve(worst):
                return refused
            actual = worst
            try:
                outcome = await provider(request)
                if isinstance(outcome, Fault):
                    actual = worst if outcome.sent else 0.0
                elif known:
                    actual = booked(known, worst, outcome, usage(request, outcome))
            finally:
                budget.settle(worst, actual)
                if budget.overcharged:
                    stop(Misuse(f"{budget.overcharged} What came back is on record.", 7))
            return outcome

        return within

    return wrap


def booked(price: Price, worst: float, reply: Reply, usage: Usage) -> float:
    """What a reply is booked at, in USD: its cost, or the worst where it does not say."""
    cost = price.cost(usage)
    if cost is not None:
        return cost
    return worst if 200 <= reply.status < 300 else 0.0


def paced(per_minute: float, stopped: Callable[[], bool] = lambda: False) -> Wrap:
    """Start calls no closer together than a minute over `per_minute`.

    Once `stopped` says so a call that waits is let through at once, to be turned away.
    """
    gap, due = 60.0 / per_minute, [0.0]

    def wrap(provider: Provider) -> Provider:
        async def within(request: Request) -> Reply | Fault:
            now = time.monotonic()
            start = max(now, due[0])
            due[0] = start + gap
            while (left := start - time.monotonic()) > 0 and not stopped():
                await asyncio.sleep(min(left, LOOK_EVERY))
            return await provider(request)

        return within

    return wrap
