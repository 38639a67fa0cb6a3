"""A server that limits the rate for a while, and what reached it before, in and after that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from email.utils import formatdate

from equipoise.administer import administer
from equipoise.desk import Desk, Patience
from equipoise.ledger import Ledger
from equipoise.providers.http import Timeouts, sender
from equipoise.terms import Completion, Instrument, Subject, Trial, canonical_json, user
from faulty_server import response, serving

WORKERS, LATENCY, ATTEMPTS = 64, 0.1, 5
MERCY = response(canonical_json(
    {"choices": [{"message": {"content": "mercy"}, "finish_reason": "stop"}]}))


async def conduct(trial, ask):
    return await ask("pick", [user(f"{trial.item}: mercy or justice?")])


STUDY = Instrument("sketch", "0", "picks", lambda subject: (), conduct, lambda found: found)


@dataclass
class Storm:
    """Calm for so many requests, then 429 for so many seconds, then calm again.

    Times are seconds since the storm began. `at_once` is how many were with the server when each
    request came.
    """

    calm: int
    lasts: float
    wait: float | None
    came: list[float] = field(default_factory=list)
    at_once: list[int] = field(default_factory=list)
    told: list[tuple[float, float]] = field(default_factory=list)
    began: float = 0.0
    here: int = 0

    async def behave(self, got, wire):
        if got.place == self.calm:
            self.began = got.at
        self.came.append(got.at)
        self.here += 1
        self.at_once.append(self.here)
        await asyncio.sleep(LATENCY)
        self.here -= 1
        if got.place < self.calm or got.at - self.began > self.lasts:
            return await wire.send(MERCY)
        now = asyncio.get_running_loop().time()
        if not self.wait:
            said = () if self.wait is None else (b"Retry-After: 0",)
            return await wire.send(response(b"", 429, *said))
        if len(self.told) % 2:
            self.told.append((now, self.wait))
            return await wire.send(response(b"", 429, b"Retry-After: %.1f" % self.wait))
        whole = max(1, round(self.wait))
        self.told.append((now, float(whole)))
        return await wire.send(response(
            b"", 429, b"Date: " + formatdate(1e9, usegmt=True).encode(),
            b"Retry-After: " + formatdate(1e9 + whole, usegmt=True).encode()))

    def rate(self, begin: float, end: float) -> float:
        """Requests a second, between two times since the storm began."""
        return sum(begin <= at - self.began < end for at in self.came) / (end - begin)

    def after_the_first(self) -> int:
        """Requests in the storm, but for those on their way when the server first said no."""
        since = self.began + LATENCY + 0.1
        return sum(since < at < self.began + self.lasts for at in self.came)

    def back_after(self, at_once: float) -> float:
        """Seconds from the storm's end until so many were with the server at once again."""
        over = self.began + self.lasts
        return next(at - over for at, here in zip(self.came, self.at_once, strict=True)
                    if at > over and here >= at_once)

    def came_too_early(self, slack: float) -> int:
        """Requests that came while the server had asked to be left alone, but for those already
        on their way when it did."""
        return sum(told + slack < at < told + wait
                   for told, wait in self.told for at in self.came)


def weathered(path, storm: Storm, cells: int, patience: Patience, at_once=WORKERS):
    """Administer so many cells through the storm; returns how many were answered."""
    subject = Subject("m", "m", "m", "openai", settings={"max_tokens": 10})
    trials = [Trial("sketch", subject, f"item{place}", {}) for place in range(cells)]

    async def go(ledger):
        async with serving(storm.behave) as server, sender(
            server.url, timeouts=Timeouts(10, 20, 30)
        ) as post:
            desk = Desk(ledger, ledger.register("r", b"{}", {}), post, patience=patience)
            return await administer(STUDY, trials, desk, at_once=at_once)

    ledger = Ledger.open(path)
    try:
        found = asyncio.run(go(ledger))
    finally:
        ledger.close()
    return sum(isinstance(o.value, Completion) for o in found.observations), found
