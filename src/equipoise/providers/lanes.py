"""One lane for each provider: how many of its calls may be on the wire, and when it is left alone.

A provider is a host: subjects that are asked there share its lane, and no other's rate limit
slows them.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from urllib.parse import urlsplit

RECOVERY = 15.0
"""Seconds in which a lane grows back from nothing to the most calls it ever had on the wire."""
LONGEST_GUESS = 8.0
"""Seconds a provider is left alone at most beyond what it says itself."""
SPREAD = 1.0
"""Seconds over which what has waited out a cool-down begins."""


class Lane:
    """The calls of one provider that are on the wire; what waits goes in the order it came.

    A rate limit halves how many may be on the wire, and nothing else does; each reply that came
    while fewer than that are allowed lets it grow in proportion to the time since the last.
    """

    def __init__(self) -> None:
        self.limit, self.cool_until = math.inf, 0.0
        self._on_wire = self._most = self._cuts = 0
        self._cut_at = self._grown_at = -math.inf
        self._queue: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._let_go = False

    @property
    def is_cooling(self) -> bool:
        return time.monotonic() < self.cool_until

    async def enter(self) -> None:
        """Wait for the cool-down and for room.

        What `let_go` let in comes back at once; it is for the caller to see that it has stopped.
        """
        full = self._queue or self._on_wire >= self.limit
        if (full or self.cool_until and self.is_cooling) and not self._let_go:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            self._look_after(self.cool_until - time.monotonic())
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.leave()
                raise
        else:
            self._on_wire += 1
        self._most = max(self._most, self._on_wire)

    def leave(self) -> None:
        """A call is off the wire."""
        self._on_wire -= 1
        if self._queue:
            self._look_after(0.0)

    def slowed(self, begun: float, retry_after: float | None, wait: float) -> None:
        """The provider limited the rate of a call that began at `begun`.

        It is left alone for as long as it says, and for `wait` where that is longer: one that
        says 0 again and again is a storm too. Calls that were on the wire together halve the
        limit once.
        """
        now = time.monotonic()
        if begun >= self._cut_at:
            self._cuts += 1
            self.limit = max(1.0, min(self.limit, self._most) // 2)
            self._cut_at = self._grown_at = now
        self.cool(max(retry_after or 0.0, min(wait, LONGEST_GUESS)))

    def cool(self, seconds: float) -> None:
        """Send nothing for so many seconds."""
        self.cool_until = max(self.cool_until, time.monotonic() + seconds)

    def went_well(self) -> None:
        """A reply came: grow by the share of `RECOVERY` that has passed, a second at most."""
        self._cuts = 0
        if self.limit < self._most:
            now = time.monotonic()
            self.limit += self._most * min(1.0, now - self._grown_at) / RECOVERY
            self._grown_at = now
            if self.limit >= self._most:
                self.limit = math.inf
            if self._queue:
                self._look_after(0.0)

    @property
    def cuts(self) -> int:
        """Rate limits in a row, counting those on the wire together as one."""
        return self._cuts

    def let_go(self) -> None:
        """Let in everything that waits, and whatever comes, to be turned away: the run was
        stopped."""
        self._let_go = True
        while self._queue:
            self._let_in()

    def _look_after(self, seconds: float) -> None:
        """Let in what there is room for, once this much time has passed and no earlier."""
        if self._timer is None:
            if seconds <= 0:
                return self._look()
            self._timer = asyncio.get_running_loop().call_later(seconds, self._looked)
        return None

    def _looked(self) -> None:
        self._timer = None
        self._look()

    def _look(self) -> None:
        while self._queue and self._on_wire < self.limit:
            left = self.cool_until - time.monotonic()
            if left > 0:
                return self._look_after(left)
            self._let_in()
            if left > -SPREAD and self._queue:
                # Not all at the same moment, or the moment after a cool-down is another storm.
                room = min(len(self._queue), self.limit - self._on_wire)
                if room >= 1:
                    return self._look_after(random.uniform(0, 2 * SPREAD / (room + 1)))
        return None

    def _let_in(self) -> None:
        turn = self._queue.popleft()
        if not turn.done():
            self._on_wire += 1
            turn.set_result(None)


class Lanes:
    """The lanes of a run, by where its subjects are reached."""

    def __init__(self) -> None:
        self._by_host: dict[str, Lane] = {}
        self._by_url: dict[str, Lane] = {}

    def of(self, base_url: str) -> Lane:
        """The lane of the host that an address names."""
        lane = self._by_url.get(base_url)
        if lane is None:
            host = urlsplit(base_url).netloc.casefold()
            lane = self._by_url[base_url] = self._by_host.setdefault(host, Lane())
        return lane

    def let_go(self) -> None:
        """Let in everything that waits: the run was stopped."""
        for lane in self._by_host.values():
            lane.let_go()
