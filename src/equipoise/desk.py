"""Where questions are handed in: answered from the ledger, or else asked and written down."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.ledger import Ledger, Recorded, Run
from equipoise.providers import CALL, Dialect, dialect
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

DOWN_AFTER = 20
ROOM_CHECK_EVERY = 64
LONGEST_WAIT = 600.0
GRACE_SECONDS = 30.0
NOT_ASKED = Nonresponse("not asked")
STOPPED = Fault("unreachable", "the run was stopped", sent=False)
UNKNOWN = Nonresponse("error", "unknown: no reply came, and it may have been billed")


@dataclass(frozen=True)
class Patience:
    """How one call is tried again: at most `attempts` tries, waits drawn with full jitter."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def wait(self, tries: int) -> float:
        """Seconds before the next try, after `tries` of them: uniform up to a doubling bound."""
        return random.uniform(0, min(self.longest_wait, self.first_wait * 2 ** (tries - 1)))


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
        patience: Patience = Patience(),
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
        self._stop = asyncio.Event()
        self._cool_until = 0.0
        self._failing = 0

    @property
    def asks(self) -> bool:
        return self._provider is not None

    def stop(self, reason: Misuse) -> None:
        """Send nothing more. What is on the wire is waited for and written down."""
        self.stopped = self.stopped or reason
        self._stop.set()

    def replay(self, conduct: Callable[[Trial, Ask], Any], trial: Trial) -> Any:
        """Conduct a trial on what is on record alone; raises NotOnRecord where that is not all.

        `conduct` awaits nothing but `ask`, so on record it runs through without a loop.
        """
        coroutine = conduct(trial, self._ask_for(trial, self._from_record))
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        finally:
            coroutine.close()
        raise TypeError(f"{trial.instrument} awaits something other than ask")

    async def until_stopped(self) -> None:
        await self._stop.wait()

    async def conduct(self, conduct: Callable[[Trial, Ask], Any], trial: Trial) -> Any:
        """Conduct a trial, asking what is not on record."""
        return await conduct(trial, self._ask_for(trial, self._asked))

    def _ask_for(self, trial: Trial, otherwise: Callable[..., Any]) -> Ask:
        key, record, asked = trial.key, self._record, 0

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
            if past is None and otherwise == self._from_record:
                return self._missing()
            subject = by or trial.subject
            spoken = dialect(subject.dialect)
            if past is not None and not self.asks and asked == 1:
                # Nothing read can have changed a trial's first question.
                return self._said(past, spoken) or NOT_ASKED
            request = spoken.encode(subject, tuple(messages), mode, choices, schema)
            if past is not None:
                if self._ledger.stamp(past.request) != request.stamp:
                    raise diverged(key, stage)
                answer = self._said(past, spoken)
                if answer is not None:
                    return answer
            found: Completion | Nonresponse = await otherwise(key, stage, request, past)
            return found

        return ask

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
        for tries in range(1, self._patience.attempts + 1):
            await self._cooled()
            call = self._guard(self._recorded(key, stage, before + tries))
            outcome = STOPPED if self._stop.is_set() else await call(request)
            if outcome is STOPPED and tries == 1:
                return Nonresponse("not asked", "the run was stopped")
            if outcome is STOPPED:
                break
            found = self._faulted(outcome, request)
            if isinstance(found, Completion):
                self._failing = 0
                return found
            fault = found
            self.outcomes[fault.kind] += 1
            self._consider(fault)
            if fault.kind == "over budget" and not fault.sent:
                return Nonresponse("not asked", "the cap was reached")
            if not fault.transient or tries == self._patience.attempts:
                self._give_up(fault)
                break
            await self._pause(max(fault.retry_after or 0.0, self._patience.wait(tries)))
        return Nonresponse("error", f"{fault.kind}: {fault.detail}")

    def _recorded(self, key: str, stage: str, attempt: int) -> Provider:
        """The provider, with an intent written before the call and its reply after."""
        provider = self._provider
        assert provider is not None

        async def recorded(request: Request) -> Reply | Fault:
            if self.outcomes["calls"] % ROOM_CHECK_EVERY == 0:
                self._ledger.require_room(self.to_ask)
            # What waited for its turn in a limit has not looked since.
            await self._cooled()
            if self._stop.is_set():
                return STOPPED
            self.outcomes["calls"] += 1
            intent = await self._ledger.intend(self._run.seq, key, stage, attempt, request)
            CALL.set(intent)
            begun = time.monotonic()
            outcome = await provider(request)
            seconds = time.monotonic() - begun
            self.latest = self._ledger.settle(self._run.seq, intent, outcome, seconds)
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

    def _consider(self, fault: Fault) -> None:
        """Cool down after a rate limit; stop the run for what more calls cannot mend."""
        if (fault.retry_after or 0.0) > LONGEST_WAIT:
            self.stop(Misuse(
                f"The provider asks to be left alone for {fault.retry_after:,.0f} seconds"
                f" ({fault.detail}). Nothing more was sent. Give the same command again then.", 75))
        elif fault.kind == "rate limited" and fault.retry_after:
            self._cool_until = max(self._cool_until, time.monotonic() + fault.retry_after)
        if fault.kind == "auth":
            self.stop(Misuse(
                f"The provider refused the key ({fault.detail}). Nothing more was sent."
                " Set the right key, then give the same command again.", 4))
        elif fault.kind == "not found":
            self.stop(Misuse(
                f"The provider does not know this model or address ({fault.detail})."
                " Check the subject's model and base URL.", 2))
        elif fault.kind == "over budget":
            self.stop(Misuse(f"{fault.detail} Give the same command again with a higher cap.", 7))

    def _give_up(self, fault: Fault) -> None:
        """Count the calls in a row that came to nothing; stop the run when they are too many."""
        self._failing += 1
        if self._failing < DOWN_AFTER or self._stop.is_set():
            return
        advice = ("Check the base URL." if fault.kind == "malformed"
                  else "Give the same command again later.")
        self.stop(Misuse(
            f"{self._failing} calls in a row came to nothing, the last with {fault.kind}:"
            f" {fault.detail}. Nothing more was sent. {advice}", 75))

    async def _cooled(self) -> None:
        while (left := self._cool_until - time.monotonic()) > 0 and not self._stop.is_set():
            await self._pause(left + random.uniform(0, 0.1 * left))

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
