"""Where questions are handed in: answered from the ledger, or else asked and written down."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from equipoise.ledger import Ledger, Recorded, Run
from equipoise.providers import CALL, Dialect, dialect
from equipoise.providers.lanes import Lane, Lanes
from equipoise.providers.patience import USUAL, is_down, reason_to_stop
from equipoise.providers.patience import Patience as Patience
from equipoise.providers.retry_after import retry_after
from equipoise.terms import (
    AnswerMode,
    Ask,
    Completion,
    Fault,
    Message,
    Misuse,
    Nonresponse,
    Provider,
    Reply,
    Request,
    Subject,
    Trial,
)

ROOM_CHECK_EVERY = 64
GRACE_SECONDS = 30.0
Served = tuple[str, str, str, str]
"""A subject's name, and the model, upstream and fingerprint that a reply to it names."""
NOT_ASKED = Nonresponse("not asked")
STOPPED = Fault("unreachable", "the run was stopped", sent=False)
UNKNOWN = Nonresponse("error", "unknown: no reply came, and it may have been billed")


class NotOnRecord(Exception):
    """Ends the replay of a trial that the ledger cannot answer alone."""


class Desk:
    """Where questions are handed in: answered from the ledger, or else asked and written down.

    With no provider nothing is asked: what is not on record is a nonresponse, not asked.
    `guard` wraps the recorded call in limits, so a call that waits has no intent yet.
    """

    def __init__(
        self,
        ledger: Ledger,
        run: Run,
        provider: Provider | None = None,
        *,
        guard: Callable[[Provider], Provider] = lambda provider: provider,
        patience: Patience = USUAL,
        retry_unknown: bool = False,
    ) -> None:
        self._ledger, self._run, self._provider = ledger, run, provider
        self._guard, self._patience, self._retry_unknown = guard, patience, retry_unknown
        self._record = ledger.recorded(run.seq)
        self.outcomes: Counter[str] = Counter()
        self.stopped: Misuse | None = None
        self.to_ask = 0
        self.grace: float | None = GRACE_SECONDS
        self.began_asking: Callable[[], None] = lambda: None
        self.latest: asyncio.Future[int] | None = None
        self.served: Counter[Served] = Counter()
        self._stop = asyncio.Event()
        self._lanes = Lanes()
        self._failing = 0
        self._only_first = False

    @property
    def asks(self) -> bool:
        return self._provider is not None

    def only_first_attempts(self) -> None:
        """Answer from each question's first attempt, whatever came of it later."""
        self._record = self._ledger.recorded(self._run.seq, first=True)
        self._only_first = True

    def stop(self, reason: Misuse) -> None:
        """Send nothing more. What is on the wire is waited for and written down."""
        self.stopped = self.stopped or reason
        self._stop.set()
        self._lanes.let_go()

    def replay(self, conduct: Callable[[Trial, Ask], Any], trial: Trial) -> Any:
        """Conduct a trial on what is on record alone; raises NotOnRecord where that is not all.

        `conduct` awaits nothing but `ask`, so on record it runs through without a loop.
        """
        heard: list[Served] = []
        coroutine = conduct(trial, self._ask_for(trial, self._from_record, heard))
        try:
            coroutine.send(None)
        except StopIteration as done:
            self._count(heard)
            return done.value
        finally:
            coroutine.close()
        raise TypeError(f"{trial.instrument} awaits something other than ask")

    async def until_stopped(self) -> None:
        await self._stop.wait()

    async def conduct(self, conduct: Callable[[Trial, Ask], Any], trial: Trial) -> Any:
        """Conduct a trial, asking what is not on record."""
        heard: list[Served] = []
        value = await conduct(trial, self._ask_for(trial, self._asked, heard))
        self._count(heard)
        return value

    def _count(self, heard: list[Served]) -> None:
        for one in heard:
            self.served[one] += 1

    def _ask_for(self, trial: Trial, otherwise: Callable[..., Any], heard: list[Served]) -> Ask:
        key, record, asked = trial.key, self._record, 0
        replays = otherwise == self._from_record

        async def ask(
            stage: str,
            messages: Iterable[Message],
            *,
            mode: AnswerMode = "free",
            choices: Sequence[str] = (),
            schema: str = "",
            by: Subject | None = None,
        ) -> Completion | Nonresponse:
            nonlocal asked
            asked += 1
            past = record.get((key, stage))
            if past is None and replays:
                return self._missing()
            subject = by or trial.subject
            spoken = dialect(subject.dialect)
            answer: Completion | Nonresponse | None = None
            if past is not None and not self.asks and asked == 1:
                # Nothing read can have changed a trial's first question.
                answer = self._said(past, spoken) or NOT_ASKED
            else:
                request = spoken.encode(subject, tuple(messages), mode, choices, schema)
                if past is not None:
                    answer = self._said_to(past, request, spoken, (key, stage))
            if answer is None:
                answer = await otherwise(key, stage, request, past)
            if isinstance(answer, Completion):
                heard.append((subject.name, answer.model, answer.upstream,
                              answer.system_fingerprint))
            return answer

        return ask

    def _said_to(
        self, past: Recorded, request: Request, spoken: Dialect, name: tuple[str, str]
    ) -> Completion | Nonresponse | None:
        """The same, once what was asked is known to be what is asked now; else raises Misuse.

        Of first attempts alone, what was asked after a later one was never asked.
        """
        if self._ledger.stamp(past.request) == request.stamp:
            return self._said(past, spoken)
        if self._only_first:
            return NOT_ASKED
        raise diverged(*name)

    def _said(self, past: Recorded, spoken: Dialect) -> Completion | Nonresponse | None:
        """What an attempt on record answers; None where it is to be asked again."""
        if past.kind in ("intent", "unknown"):
            if self.asks and self._retry_unknown:
                return None
            return UNKNOWN if past.kind == "intent" else self._ledger.fault(past)
        if past.kind == "erased":
            return Nonresponse("error", "erased: the words were taken out of the ledger")
        if past.kind == "fault":
            return None if self.asks else self._ledger.fault(past)
        found = spoken.decode(self._ledger.reply(past, headers=False))
        if isinstance(found, Completion):
            return found
        again = self.asks and (found.transient or past.status >= 300)
        return None if again else Nonresponse("error", f"{found.kind}: {found.detail}")

    def _missing(self) -> Nonresponse:
        """What a question not on record yields where nothing is asked yet."""
        if self.asks:
            raise NotOnRecord
        return NOT_ASKED

    async def _from_record(
        self, key: str, stage: str, request: Request, past: Recorded | None
    ) -> Nonresponse:
        return self._missing()

    async def _asked(
        self, key: str, stage: str, request: Request, past: Recorded | None
    ) -> Completion | Nonresponse:
        """Try until there is a completion, a fault that will not pass, or no patience left."""
        before = past.attempt if past else 0
        fault = Fault("unreachable", "no try was made")
        lane = self._lanes.of(request.subject.base_url)
        for tries in range(1, self._patience.attempts + 1):
            sent_at: list[float] = []
            call = self._guard(self._recorded((key, stage, before + tries), lane, sent_at))
            outcome = STOPPED if self._stop.is_set() else await call(request)
            if outcome is STOPPED and tries == 1:
                return Nonresponse("not asked", "the run was stopped")
            if outcome is STOPPED:
                break
            found = self._faulted(outcome, request)
            if isinstance(found, Completion):
                self._failing = 0
                lane.went_well()
                return found
            fault = found
            self.outcomes[fault.kind] += 1
            self._end_for(reason_to_stop(fault))
            if sent_at:
                self._slow(lane, fault, sent_at[0])
            if fault.kind == "over budget" and not fault.sent:
                return Nonresponse("not asked", "the cap was reached")
            if not fault.transient or tries == self._patience.attempts:
                self._failing += 1
                self._end_for(is_down(self._failing, fault))
                break
            await self._pause((fault.retry_after or 0.0) + self._patience.wait(tries))
        return Nonresponse("error", f"{fault.kind}: {fault.detail}")

    def _recorded(self, name: tuple[str, str, int], lane: Lane, sent_at: list[float]) -> Provider:
        """The provider, with an intent written before the call and its reply after.

        When the call was sent is added to `sent_at`, by the monotonic clock.
        """
        provider, run, ledger = self._provider, self._run.seq, self._ledger
        assert provider is not None

        async def recorded(request: Request) -> Reply | Fault:
            if self.outcomes["calls"] % ROOM_CHECK_EVERY == 0:
                ledger.require_room(self.to_ask)
            # What waited for its turn in a limit has not looked since.
            await lane.enter()
            try:
                if self._stop.is_set():
                    return STOPPED
                self.outcomes["calls"] += 1
                intent = await ledger.intend(run, *name, request)
                CALL.set(intent)
                turned_away = lane.is_cooling and await self._stopped_while_cooling(lane)
                sent_at.append(begun := time.monotonic())
                outcome = STOPPED if turned_away else await provider(request)
                self.latest = ledger.settle(run, intent, outcome, time.monotonic() - begun)
            finally:
                lane.leave()
            return outcome

        return recorded

    async def drained(self) -> None:
        """Wait until everything that came back is written, or known not to be."""
        if self.latest is not None:
            await asyncio.wait([self.latest])

    def _faulted(self, outcome: Reply | Fault, request: Request) -> Completion | Fault:
        if isinstance(outcome, Fault):
            return outcome
        found = dialect(request.subject.dialect).decode(outcome)
        if isinstance(found, Fault) and outcome.status >= 400:
            return replace(found, retry_after=retry_after(outcome))
        return found

    def _end_for(self, reason: Misuse | None) -> None:
        if reason is not None and not self._stop.is_set():
            self.stop(reason)

    def _slow(self, lane: Lane, fault: Fault, sent_at: float) -> None:
        """Leave the provider alone for as long as it says; after a rate limit, send it less."""
        if fault.kind == "rate limited":
            lane.slowed(sent_at, fault.retry_after, self._patience.wait(lane.cuts + 1))
        elif fault.transient and fault.retry_after:
            lane.cool(fault.retry_after)

    async def _stopped_while_cooling(self, lane: Lane) -> bool:
        while lane.is_cooling and not self._stop.is_set():
            await self._pause(lane.cool_until - time.monotonic())
        return self._stop.is_set()

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the run is stopped."""
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return


def diverged(key: str, stage: str) -> Misuse:
    return Misuse(
        f"The ledger holds a reply to {key} ({stage}), but to another request: a prompt, a"
        " setting or an earlier reading has changed since. Undo the change, or start a new run"
        " with --run.", 2
    )
