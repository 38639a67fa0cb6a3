"""One line that says how far a run is: done, rate, time left, losses by kind, cost."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from equipoise.cli.screen import coloured, say
from equipoise.terms import Nonresponse, Observation

ETA_AFTER = 20
SILENT_AFTER = 60.0
LIVE_EVERY, LINES_EVERY = 0.25, 10.0


class Progress:
    """Counts observations and shows the line on stderr: live on a terminal, else now and then."""

    def __init__(
        self,
        planned: int,
        reader: str,
        *,
        quiet: bool = False,
        silent_after: float = SILENT_AFTER,
        cost: Callable[[], tuple[float | None, float]] = lambda: (None, 0.0),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._planned, self._reader, self._quiet = planned, reader, quiet
        self._cost, self._now = cost, now
        self._live = coloured(sys.stderr)
        self._every = LIVE_EVERY if self._live else LINES_EVERY
        self._begun = self._shown = now()
        self._silent_after, self._completed = silent_after, self._begun
        self._watchdog: asyncio.TimerHandle | None = None
        self.done = self.on_record = self.skipped = 0
        self.losses: Counter[str] = Counter()
        self._told = ""

    def began_asking(self) -> None:
        """What came until now was on record: the rate counts from here."""
        self.on_record, self._begun = self.done, self._now()
        self._completed = self._begun
        self._watch(self._silent_after)

    def _watch(self, seconds: float) -> None:
        with suppress(RuntimeError):  # No loop: nothing is being asked.
            self._watchdog = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Say so when nothing was completed for a while, and again each while after."""
        silent = self._now() - self._completed
        if self._told:
            # Its line says what is waited for, which may be a batch of hours.
            self._watch(self._silent_after)
        elif silent >= self._silent_after:
            say(f"\nNo cell was completed for {silent:,.0f} seconds. A call ends with its timeouts"
                " (300 seconds in all); Ctrl-C stops, and keeps what comes back by then.")
            self._watch(self._silent_after)
        else:
            self._watch(self._silent_after - silent)

    def saw(self, observation: Observation[Any]) -> None:
        """Count an observation, and show the line if it is time."""
        value = observation.value.readings[self._reader].value
        if isinstance(value, Nonresponse) and value.kind == "not asked":
            self.skipped += 1
        else:
            self.done += 1
        if isinstance(value, Nonresponse) and value.kind != "not asked":
            self.losses[value.kind] += 1
        self._completed = self._now()
        self._show_in_time()

    def told(self, words: str) -> None:
        """Show these words at the line's end from now on."""
        self._told = words
        self._show_in_time()

    @property
    def seconds(self) -> float:
        """Since the first question was asked."""
        return self._now() - self._begun

    def line(self) -> str:
        """The line as it stands."""
        asked, seconds = self.done - self.on_record, self._now() - self._begun
        parts = [f"{self.done:,}/{self._planned:,} cells"]
        if asked and seconds > 0:
            parts.append(f"{asked / seconds:,.1f} cells/s")
            if asked >= ETA_AFTER:
                left = self._planned - self.done - self.skipped
                parts.append(f"{clock(left * seconds / asked)} left")
        if self.skipped:
            parts.append(f"{self.skipped:,} not asked")
        lost = ", ".join(f"{n:,} {kind}" for kind, n in self.losses.most_common())
        parts.append(f"lost: {lost}" if lost else "nothing lost")
        spent, in_flight = self._cost()
        if spent:
            parts.append(f"${spent:.4f}")
        if in_flight:
            parts.append(f"${in_flight:.4f} at most in flight")
        if self._told:
            parts.append(self._told)
        return " · ".join(parts)

    def finish(self) -> None:
        """Show the last state and leave the line."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        if not self._quiet:
            self._show()
            if self._live:
                print(file=sys.stderr, flush=True)

    def _show_in_time(self) -> None:
        if not self._quiet and self._now() - self._shown >= self._every:
            self._show()

    def _show(self) -> None:
        self._shown = self._now()
        begin, end = ("\r\x1b[2K", "") if self._live else ("", "\n")
        print(begin + self.line(), end=end, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """A time in hours, minutes and seconds.

    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
