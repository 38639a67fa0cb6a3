"""A run's calls in batches: what an earlier session left is settled, then the rest is asked."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from equipoise.cli.batch_notes import (
    BEGAN,
    CREATED,
    CREATING,
    OVER,
    SETTLED,
    Span,
    open_span,
    spans,
    unsettled,
)
from equipoise.cli.progress import Progress
from equipoise.cli.screen import say
from equipoise.cli.studies import Study
from equipoise.cli.subjects import reached
from equipoise.desk import Desk
from equipoise.ledger import Ledger, Run
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.providers import dialect
from equipoise.providers.batch import (
    FORMS,
    NEVER_HANDED_IN,
    HandedIn,
    Witness,
    batching,
    form,
    mark,
    picked_up,
    share_of_price,
)
from equipoise.providers.batch_form import Left, Pace, State
from equipoise.providers.keys import ANY_KEY, key_for, key_variable
from equipoise.providers.prices import Priced
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject, canonical_json

GOES_ON = ("Stopped. Batches that were handed in go on at the provider, and their calls are"
           " unknown until then; the same command picks them up.")


class Batches:
    """A run's way to its subjects in batches; one gathering a subject, as one batch has one model.

    Subjects that cost nothing and have no batch interface are asked as ever. `forget` gives a batch
    up that cannot be found again. Raises Misuse for another subject whose provider has no batch
    interface, and where none has.
    """

    def __init__(
        self, ledger: Ledger, run: Run, subjects: Sequence[Subject], pace: Pace,
        forget: bool = False,
    ) -> None:
        asked = [s for s in subjects if s.dialect in FORMS or dialect(s.dialect).paid]
        for subject in asked or subjects:
            form(subject)
        self._others = [s for s in subjects if s not in asked]
        self._keys = {s.stamp: _key(s) for s in asked}
        self._ledger, self._run, self._subjects = ledger, run, asked
        self._pace, self._forget = pace, forget
        self._leaving = asyncio.Event()
        self._states: dict[str, State] = {}
        self._desk: Desk | None = None
        self._stopped: Misuse | None = None
        self._show: Callable[[str], None] = say
        self._words = ""

    def prices(self, prices: Mapping[str, Priced]) -> dict[str, Priced]:
        """What the calls of this run cost: less where that is known of a provider's batches.

        In full where any call on record was asked otherwise: all are counted by one price.
        """
        known = spans(self._ledger, self._run)
        alone = any(not any(span.holds(intent) for span in known)
                    for intent, _, _ in self._ledger.intents(self._run.seq))
        shares = {} if alone else {s.name: share_of_price(s.base_url) for s in self._subjects}
        return {name: _in_batches(priced, shares.get(name, 1.0))
                for name, priced in prices.items()}

    def serve(self, desk: Desk, progress: Progress) -> None:
        """Have a desk wait for its batches however long they take, and stop with them.

        That batches began is noted before the desk asks anything, if it does.
        """
        self._desk, self._show, self._states = desk, progress.told, {}
        desk.grace, then = None, desk.began_asking

        def began() -> None:
            if desk.to_ask and open_span(self._ledger, self._run) is None:
                shares = {s.name: share_of_price(s.base_url) for s in self._subjects}
                self._note(BEGAN, {"share_of_price": shares})
            then()

        desk.began_asking = began

    def leave(self, code: int) -> None:
        """Hand nothing more in, wait no more, and end with this exit code."""
        say("\nStopping: nothing more is handed in; what was goes on at the provider.")
        self._stop(Misuse(GOES_ON, code))
        self._leaving.set()

    def _stop(self, why: Misuse) -> None:
        self._stopped = self._stopped or why
        if self._desk is not None:
            self._desk.stop(why)

    @asynccontextmanager
    async def reached(self, laid_out: Study) -> AsyncIterator[Provider]:
        """One provider for all the subjects."""
        async with AsyncExitStack() as stack:
            providers = {
                s.stamp: await stack.enter_async_context(
                    batching(s, self._keys[s.stamp], self._witness(s), self._leaving, self._pace))
                for s in self._subjects
            }
            if self._others:
                other = await stack.enter_async_context(reached(self._others, laid_out))
                providers |= {s.stamp: other for s in self._others}

            async def provider(request: Request) -> Reply | Fault:
                return await providers[request.subject.stamp](request)

            yield provider
        span = open_span(self._ledger, self._run)
        if span is not None and not unsettled(self._ledger, self._run, span):
            await self._note(OVER, {})

    def _note(self, about: str, said: Mapping[str, Any]) -> asyncio.Future[int]:
        entry = Entry("note", self._run.seq, key=about)
        return self._ledger.journal.hand_in(Draft(entry, canonical_json(said)))

    def _witness(self, subject: Subject) -> Witness:
        async def creating(token: str, intents: Sequence[int]) -> None:
            await self._note(CREATING, {
                "token": token, "intents": list(intents), "subject": subject.stamp,
                "base_url": subject.base_url, "key": mark(self._keys[subject.stamp], token)})

        async def created(token: str, batch: str) -> None:
            await self._note(CREATED, {"token": token, "id": batch})

        return Witness(creating, created, self._stop, self._looked, say)

    def _looked(self, state: State) -> None:
        self._states[state.id] = state
        done = sum(s.done for s in self._states.values())
        total = sum(s.total for s in self._states.values())
        if self._desk and self._desk.stopped and not self._stopped:
            self._stopped = self._desk.stopped
            say(f"{self._stopped} What was handed in is waited for; interrupt to leave it.")
        words = f"batch: {done:,} of {total:,} done at the provider"
        if self._desk is not None or words != self._words:
            self._show(words)
        self._words = words

    async def settled(self) -> None:
        """Settle what earlier sessions left; raises Misuse when stopped, or where it cannot be."""
        if (span := open_span(self._ledger, self._run)) is None:
            return
        settling = asyncio.create_task(self._settle(span))
        leaving = asyncio.create_task(self._leaving.wait())
        with self._leavable():
            await asyncio.wait([settling, leaving], return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not settling.done():
                settling.cancel()
                await asyncio.wait([settling])
                raise self._stopped or Misuse(GOES_ON, 130)
        try:
            settling.result()
        except Left as left:
            raise left.misuse from None

    async def _settle(self, span: Span) -> None:
        if not (left := unsettled(self._ledger, self._run, span)):
            return
        stamps = {intent: stamp for intent, stamp, _ in self._ledger.intents(self._run.seq)}
        subjects = {s.stamp: s for s in self._subjects}
        for token, batch in span.batches.items():
            if not any(intent in left for intent in batch["intents"]):
                continue
            subject, since = subjects[batch["subject"]], batch["at"] / 1e6
            say(f"Picking up the batch {batch['id'] or 'that was about to be created'} of"
                f" {len(batch['intents']):,} calls.")
            key = self._keys[subject.stamp]
            handed_in = HandedIn(
                token, batch["id"], {i: stamps[i] for i in batch["intents"]}, since,
                mark(key, token) != batch["key"], self._forget)
            outcomes = await picked_up(
                subject, key, self._witness(subject), handed_in, self._pace)
            self._write({i: outcomes[i] for i in batch["intents"] if left.pop(i, None)}, since)
        self._write(dict.fromkeys(left, NEVER_HANDED_IN), time.time())
        await self._note(SETTLED, {"never_handed_in": len(left)})

    def _write(self, outcomes: Mapping[int, Reply | Fault], since: float) -> None:
        for intent, outcome in outcomes.items():
            self._ledger.settle(self._run.seq, intent, outcome, max(0.0, time.time() - since))

    @contextmanager
    def _leavable(self) -> Iterator[None]:
        """Signals leave the batches while there is no desk yet to stop."""
        loop = asyncio.get_running_loop()
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
        for number, code in codes.items():
            loop.add_signal_handler(number, self.leave, code)
        try:
            yield
        finally:
            for number in codes:
                loop.remove_signal_handler(number)


def _key(subject: Subject) -> str | None:
    """A subject's key; raises Misuse where its provider wants one and there is none."""
    key = key_for(subject.base_url, str(subject.engine.get("key_env", "")))
    if not key and (variable := key_variable(subject.base_url)) != ANY_KEY:
        raise Misuse(f"{variable}, which holds the key for {subject.base_url}, is not set.", 4)
    return key


def _in_batches(priced: Priced, share: float) -> Priced:
    if priced.price is None or priced.price.free or share == 1:
        return priced
    return Priced(priced.price.times(share), f"{priced.source}, times {share:g} in batches")
