"""Limits that wrap a provider: so many calls a minute, so much money, so many calls in all."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Usage

Wrap = Callable[[Provider], Provider]

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
LOOK_EVERY = 0.2
MOST_TOKENS = 10**9
"""No call has as many: a count above it is a provider's mistake."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million prompt tokens and for a million completion tokens."""

    prompt: float
    completion: float

    def worst(self, body: bytes) -> float:
        """The most one call can cost: every byte sent a token, every token allowed used.

        Raises Misuse when the request sets no limit on tokens.
        """
        said = json.loads(body)
        limits = [said[name] for name in TOKEN_LIMITS if said.get(name) is not None]
        if not limits or not all(map(_is_count, limits)):
            found = f"max_tokens {limits[0]!r}" if limits else "no max_tokens"
            raise Misuse(
                f"{said.get('model')} has a price but {found}, so its worst cost is"
                " unbounded. Set max_tokens, or cap the calls with --max-calls instead."
            )
        replies = said.get("n", 1)
        tokens = max(limits) * (replies if _is_count(replies) else 1)
        return float(len(body) * self.prompt + tokens * self.completion) / 1e6

    def cost(self, usage: Usage) -> float | None:
        """What a call cost: as the provider states it, else by its token counts.

        None where it states neither, or what no call can cost: below zero, or without end.
        """
        if usage.cost_usd is not None and 0 <= usage.cost_usd < math.inf:
            return usage.cost_usd
        if usage.prompt is None or usage.completion is None:
            return None
        if not (0 <= usage.prompt < MOST_TOKENS and 0 <= usage.completion < MOST_TOKENS):
            return None
        return (usage.prompt * self.prompt + usage.completion * self.completion) / 1e6


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value is not True and value > 0


class Budget:
    """Money and calls reserved before a call and settled after.

    A call that does not fit waits for those on the wire to settle; it is refused when nothing
    is left to wait for. Settled + reserved never passes the cap.
    """

    def __init__(
        self,
        *,
        max_usd: float | None = None,
        max_calls: int | None = None,
        spent_usd: float = 0.0,
        calls: int = 0,
    ) -> None:
        self.max_usd, self.max_calls = max_usd, max_calls
        self.spent_usd, self.calls = spent_usd, calls
        self._reserved, self._on_wire = 0.0, 0
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, worst: float) -> Fault | None:
        """Set `worst` aside, waiting while it does not fit; a Fault where it never will."""
        while True:
            if self.max_calls is not None and self.calls >= self.max_calls:
                return Fault("over budget", f"The cap of {self.max_calls} calls is reached.",
                             sent=False)
            if self.max_usd is None or self.spent_usd + self._reserved + worst <= self.max_usd:
                break
            if not self._on_wire:
                return Fault(
                    "over budget",
                    f"The cap of ${self.max_usd:.2f} is reached: ${self.spent_usd:.4f} spent,"
                    f" and the next call may cost ${worst:.4f}.", sent=False)
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        self._reserved += worst
        self._on_wire += 1
        self.calls += 1
        return None

    def settle(self, worst: float, actual: float) -> None:
        """Replace a reservation by what the call cost, and let those that wait look again."""
        self._on_wire -= 1
        self._reserved = self._reserved - worst if self._on_wire else 0.0
        self.spent_usd += actual
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)


def budgeted(budget: Budget, price: Price | None, usage: Callable[[Reply], Usage]) -> Wrap:
    """Reserve each call's worst cost before it and settle its own after.

    A call that may have been billed and says nothing of its cost is settled at the worst.
    """

    def wrap(provider: Provider) -> Provider:
        async def within(request: Request) -> Reply | Fault:
            worst = price.worst(request.body) if price else 0.0
            if refused := await budget.reserve(worst):
                return refused
            actual = worst
            try:
                outcome = await provider(request)
                if isinstance(outcome, Fault):
                    actual = worst if outcome.sent else 0.0
                elif price:
                    cost = price.cost(usage(outcome))
                    served = 200 <= outcome.status < 300
                    actual = worst if cost is None and served else cost or 0.0
            finally:
                budget.settle(worst, actual)
            return outcome

        return within

    return wrap


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
