"""Administer an instrument. Running, resuming and reading again are the same act.

A trial asks named questions. What the ledger holds under a name is the answer; what it does not
hold is asked and written down. So there is no resume code, and reading old replies again is
administering with no provider.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from equipoise.desk import NOT_ASKED, UNKNOWN, Desk, NotOnRecord, Served
from equipoise.terms import Instrument, Message, Misuse, Nonresponse, Observation, Trial

T = TypeVar("T")

RAMP_SECONDS, RAMP_FROM = 0.2, 100
UNSEEN = object()


class Halting(Protocol):
    """Decides, from what has been seen, which trials need no asking."""

    def needs(self, trial: Trial) -> bool: ...
    def saw(self, observation: Observation[Any]) -> None: ...


@dataclass(frozen=True)
class Administration(Generic[T]):
    """What came of it: an observation for each trial, in order, and why it stopped early.

    `served` counts the replies by who gave them: (subject, model, upstream, fingerprint), as the
    replies say.
    """

    observations: list[Observation[T]]
    stopped: Misuse | None
    served: Mapping[Served, int] = field(default_factory=dict)


async def administer(
    instrument: Instrument[T],
    trials: Sequence[Trial],
    desk: Desk,
    *,
    at_once: int = 8,
    halting: Halting | None = None,
    watch: Callable[[Observation[T]], None] = lambda observation: None,
) -> Administration[T]:
    """Conduct the trials, at most `at_once` at a time, and return an observation for each.

    What is on record is not asked again. When the run is stopped (by `desk.stop`, a person or a
    fault that more calls cannot mend) what is in flight is waited for, up to `desk.grace` seconds,
    and kept; later than that it is observed as unknown, and trials not reached as not asked.
    """
    seen = Seen(trials, halting, watch)
    reached: set[int] = set()

    async def take(place: int) -> None:
        trial = trials[place]
        desk.to_ask -= 1
        reached.add(place)
        if desk.stopped or (halting and not halting.needs(trial)):
            return seen.observe(place, await instrument.conduct(trial, not_asked))
        try:
            value = await desk.conduct(instrument.conduct, trial)
        except Misuse as error:
            desk.stop(error)
            return seen.observe(place, await instrument.conduct(trial, not_asked))
        return seen.once_written(place, value, desk)

    for place, value in enumerate(replayed(instrument, trials, desk)):
        if value is not UNSEEN:
            seen.observe(place, value)
    missing = [place for place, value in enumerate(seen.values) if value is UNSEEN]
    await _asked(missing, take, at_once, desk)
    await desk.drained()
    seen.acknowledge(desk)
    for place in missing:
        if seen.values[place] is UNSEEN:
            left = left_unknown if place in reached else not_asked
            seen.observe(place, await instrument.conduct(trials[place], left))
    found = [Observation(t, value) for t, value in zip(trials, seen.values, strict=True)]
    return Administration(found, desk.stopped, desk.served)


class Seen:
    """What has been observed so far; what came over the wire only once it is durable."""

    def __init__(
        self,
        trials: Sequence[Trial],
        halting: Halting | None,
        watch: Callable[[Observation[Any]], None],
    ) -> None:
        self.values: list[Any] = [UNSEEN] * len(trials)
        self._trials, self._halting, self._watch = trials, halting, watch
        self._waiting: deque[tuple[asyncio.Future[int], int, Any]] = deque()

    def observe(self, place: int, value: object) -> None:
        self.values[place] = value
        observation = Observation(self._trials[place], value)
        if self._halting:
            self._halting.saw(observation)
        self._watch(observation)

    def once_written(self, place: int, value: object, desk: Desk) -> None:
        """Observe when the newest write is durable: writing is in order, so the trial's is too."""
        if desk.latest is None:
            return self.observe(place, value)
        self._waiting.append((desk.latest, place, value))
        if len(self._waiting) == 1:
            desk.latest.add_done_callback(lambda _: self.acknowledge(desk))
        return None

    def acknowledge(self, desk: Desk) -> None:
        """Observe all that is durable by now; stop the run where writing failed."""
        while self._waiting and (written := self._waiting[0][0]).done():
            _, place, value = self._waiting.popleft()
            if written.cancelled():
                continue
            if (error := written.exception()) is None:
                self.observe(place, value)
            else:
                desk.stop(error if isinstance(error, Misuse) else Misuse(str(error), 1))
        if self._waiting:
            self._waiting[0][0].add_done_callback(lambda _: self.acknowledge(desk))


def read_again(
    instrument: Instrument[T], trials: Sequence[Trial], desk: Desk
) -> Administration[T]:
    """An observation for each trial from what is on record, with a desk that asks nothing."""
    values = replayed(instrument, trials, desk)
    found = [Observation(trial, value) for trial, value in zip(trials, values, strict=True)]
    return Administration(found, None, desk.served)


def replayed(
    instrument: Instrument[T], trials: Sequence[Trial], desk: Desk
) -> Iterator[Any]:
    """What each trial yields on what is on record alone; UNSEEN where that is not enough."""
    for trial in trials:
        try:
            yield desk.replay(instrument.conduct, trial)
        except NotOnRecord:
            yield UNSEEN


async def _asked(
    places: Sequence[int], take: Callable[[int], Awaitable[None]], at_once: int, desk: Desk
) -> None:
    """Workers take from one queue; once the run is stopped they have the grace to finish."""
    desk.to_ask = len(places)
    desk.began_asking()
    queue, count = iter(places), min(at_once, len(places))

    async def work(number: int) -> None:
        if count >= RAMP_FROM:
            # A thousand calls begun at once come back at once, and again each round.
            await asyncio.sleep(RAMP_SECONDS * number / count)
        for place in queue:
            try:
                await take(place)
            except Exception as error:
                desk.stop(Misuse(f"A fault stopped the run: {error}", 1))
                raise

    workers = [asyncio.create_task(work(number)) for number in range(count)]
    stopped = asyncio.create_task(desk.until_stopped())
    working = asyncio.gather(*workers)
    try:
        both: set[asyncio.Future[Any]] = {working, stopped}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if any(not task.done() for task in workers):
            await asyncio.wait(workers, timeout=desk.grace)
    finally:
        for task in (stopped, *workers):
            task.cancel()
        ended = await asyncio.gather(working, stopped, *workers, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


async def not_asked(stage: str, messages: Iterable[Message], **_: Any) -> Nonresponse:
    """Answers every question with: not asked."""
    return NOT_ASKED


async def left_unknown(stage: str, messages: Iterable[Message], **_: Any) -> Nonresponse:
    """Answers for a call that was still on the wire when the run ended."""
    return UNKNOWN
