"""Appending: entries handed in by many calls are written and made durable in one commit."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.terms import Misuse, Request, Subject, canonical_json, content_hash

T = TypeVar("T")

LOCK_WAIT_MS = 30_000
AT_A_TIME = 96
"""Entries in one commit. Larger ones make a thousand calls in flight come and go in waves, with
nothing to do between them; smaller ones wait for the disk."""
NO_WORDS = b""


class Draft(Struct, frozen=True):
    """An entry handed in, with what it carries; of words that were erased, the commitment.

    `fence` numbers the lease under which an intent is written, 0 where there are no leases;
    `charge` is what it adds to what the workers of a run have spent: calls and USD.
    """

    entry: Entry
    carries: bytes = NO_WORDS
    request: Request | None = None
    erased: bytes = b""
    fence: int = 0
    charge: tuple[int, float] | None = None


class Again(Exception):
    """The connection went and came back: nothing of this transaction was kept."""


class LeaseLost(Misuse):
    """The lease on this trial ran out: another worker may ask it, so this one may not."""


class OverCap(Misuse):
    """The call does not fit under the cap that the workers of a run share."""


class Pen(Protocol):
    """A connection that writes one transaction at a time, in one kind of store.

    `begin` waits for its turn and looks up what the drafts will need, `commit` makes what was
    put durable, and either may take long; the rest is quick.
    """

    def begin_at_once(self) -> bool: ...
    def begin(self, drafts: Sequence[Draft]) -> None: ...
    def commit(self) -> None: ...
    def undo(self) -> None: ...
    def finish(self) -> None: ...
    def look_up(self, drafts: Sequence[Draft]) -> None: ...
    def refusal(self, draft: Draft) -> Misuse | None: ...
    def last(self) -> tuple[int, bytes] | None: ...
    def newest_request(self) -> int: ...
    def request(self, stamp: bytes) -> tuple[int, bytes] | None: ...
    def put_request(self, row: tuple[Any, ...]) -> None: ...
    def subject(self, subject: Subject) -> int: ...
    def put_dictionary(self, trained: bytes) -> int: ...
    def put_stimuli(self, stamp: str, body: bytes) -> None: ...
    def put_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None: ...
    def put(
        self, entries: Sequence[tuple[Any, ...]], carried: Sequence[tuple[Any, ...]]
    ) -> None: ...
    def before_erasing(self) -> None: ...
    def forget(self, seq: int) -> None: ...
    def after_erasing(self) -> None: ...
    def settled(self, intent: int) -> bool: ...
    def plainly(self, error: BaseException) -> BaseException: ...
    def close(self) -> None: ...


class Journal:
    """The one writer of a ledger in this process; other processes' writers take turns with it."""

    def __init__(self, pen: Pen, codec: words.Codec) -> None:
        self._pen, self._codec = pen, codec
        self._thread = ThreadPoolExecutor(1, "ledger")
        self._waiting: list[tuple[Draft, asyncio.Future[int]]] = []
        self._batch: list[tuple[Draft, asyncio.Future[int]]] = []
        self._turned_away: list[tuple[asyncio.Future[int], Misuse]] = []
        self._unwritten: list[Draft] = []
        self._failed: BaseException | None = None
        self._busy = False
        self._subjects: dict[str, int] = {}
        self._samples: dict[str, list[bytes]] = {"request": [], "reply": []}
        self._dictionary = {"request": words.PLAIN, "reply": words.PLAIN}
        self._row = 0

    def append(self, drafts: Sequence[Draft]) -> list[int]:
        """Write entries in one durable transaction; returns their numbers.

        For what is written while nothing is being asked; calls use `hand_in`.
        """
        def act() -> list[int]:
            for draft in drafts:
                if draft.charge:
                    self._pen.refusal(draft)
            return self._write(drafts)

        return self._durably(drafts, act)

    def _durably(self, drafts: Sequence[Draft], act: Callable[[], T]) -> T:
        """One durable transaction, begun once other processes' writers have let go."""
        while True:
            with self._said_plainly():
                self._pen.begin(drafts)
                try:
                    made = act()
                    self._pen.commit()
                    return made
                except Again:
                    self._undo()
                except BaseException:
                    self._undo()
                    raise

    def hand_in(self, draft: Draft) -> asyncio.Future[int]:
        """Queue one entry for the next commit; the future holds its number once it is durable.

        Entries become durable in the order in which they are handed in: once one could not be
        written, none that was handed in after it is, but what came back is kept for `close`.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()
        self._waiting.append((draft, done))
        if self._failed is not None:
            self._refuse(self._failed)
        elif not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)
        return done

    # One batch at a time: begin, write and commit. Rows are written in the loop's thread, where
    # nothing else wants the interpreter; waiting for the lock and for the disk is the other's.

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._batch, self._waiting = self._waiting[:AT_A_TIME], self._waiting[AT_A_TIME:]
        if not self._batch:
            self._busy = False
            return
        self._begin_batch(loop)

    def _begin_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            at_once = self._pen.begin_at_once()
        except BaseException as error:
            return self._ended(loop, [], error)
        if at_once:
            return self._begun(loop, None)
        drafts = [draft for draft, _ in self._batch]
        begun = loop.run_in_executor(self._thread, self._pen.begin, drafts)
        begun.add_done_callback(lambda done: self._begun(loop, done.exception()))
        return None

    def _begun(self, loop: asyncio.AbstractEventLoop, error: BaseException | None) -> None:
        if error is None:
            try:
                self._turn_away()
                numbers = self._write([draft for draft, _ in self._batch])
            except BaseException as failure:
                error = failure
        if error is not None:
            return self._ended(loop, [], error)
        work = loop.run_in_executor(self._thread, self._pen.commit)
        work.add_done_callback(lambda done: self._ended(loop, numbers, done.exception()))
        return None

    def _turn_away(self) -> None:
        """Refuse intents whose lease has run out or that pass a cap; the rest goes on."""
        if not any(draft.charge for draft, _ in self._batch):
            return
        batch, self._batch = self._batch, []
        for draft, future in batch:
            refused = self._pen.refusal(draft) if draft.charge else None
            if refused is None:
                self._batch.append((draft, future))
            else:
                self._turned_away.append((future, refused))

    def _tell_turned_away(self) -> None:
        told, self._turned_away = self._turned_away, []
        for future, refused in told:
            if not future.done():
                future.set_exception(refused)

    def _ended(
        self, loop: asyncio.AbstractEventLoop, numbers: list[int], error: BaseException | None
    ) -> None:
        if error is not None:
            self._undo()
            if isinstance(error, Again):
                return self._begin_batch(loop)
            self._tell_turned_away()
            return self._refuse(self._pen.plainly(error))
        self._tell_turned_away()
        batch, self._batch = self._batch, []
        for number, (_, future) in zip(numbers, batch, strict=True):
            if not future.done():
                future.set_result(number)
        return self._begin(loop)

    def _refuse(self, error: BaseException) -> None:
        """Write nothing more in this session; what came back is kept, to be tried on closing."""
        self._failed, self._busy = error, False
        refused, self._batch, self._waiting = [*self._batch, *self._waiting], [], []
        self._unwritten += [draft for draft, _ in refused if draft.entry.intent]
        for _, future in refused:
            if not future.done():
                future.set_exception(error)
                future.exception()  # One says it for all: no other need be asked.

    def _undo(self) -> None:
        """Roll back; what was looked up or added meanwhile is looked up anew."""
        self._pen.undo()
        self._subjects = {}
        self._dictionary = {"request": words.PLAIN, "reply": words.PLAIN}

    def keep_stimuli(self, files: dict[str, str]) -> None:
        """Keep what subjects will be shown, once for each content."""
        self._durably((), lambda: self._keep(files))

    def _keep(self, files: Mapping[str, str]) -> None:
        stamp = content_hash(files)
        body = self._codec.compress(canonical_json(files), words.PLAIN)
        self._pen.put_stimuli(stamp, body)

    def take_in(
        self, files: Mapping[str, str], drafts: Callable[[int], Iterable[Draft]]
    ) -> None:
        """Write a run that was recorded elsewhere, and what was shown in it, whole or not at all.

        `drafts` is given the number of the entry that its first will follow.
        """
        def act() -> None:
            self._keep(files)
            given = iter(drafts(self.head().rows))
            while batch := list(islice(given, AT_A_TIME)):
                self._pen.look_up(batch)
                self._write(batch)

        self._durably((), act)

    def take_over(
        self, rows: Mapping[str, Sequence[tuple[Any, ...]]], erased: Sequence[int]
    ) -> None:
        """Write another ledger's rows as they are, in one durable transaction.

        `erased` are the entries that tombstones among them say are erased.
        """
        def act() -> None:
            for table, some in rows.items():
                self._pen.put_rows(table, some)
            for seq in erased:
                self._pen.forget(seq)

        self._durably((), act)

    def erase(self, tombstone: Draft) -> None:
        """Write a tombstone and take the words out, in one transaction, off the disk too."""
        def act() -> None:
            self._write([tombstone])
            self._pen.forget(tombstone.entry.intent or 0)

        with self._said_plainly():
            self._pen.before_erasing()
            self._durably([tombstone], act)
            self._pen.after_erasing()

    def close(self) -> Head:
        """Write what came back and is not yet written, and let go of the file; returns the head.

        Intents that were handed in are left out: nothing was sent for them.
        """
        self._thread.shutdown(wait=True)
        try:
            with self._said_plainly():
                self._pen.finish()
            handed_in = [*self._unwritten, *(draft for draft, _ in (*self._batch, *self._waiting))]
            left = [draft for draft in handed_in
                    if draft.entry.intent and not self._pen.settled(draft.entry.intent)]
            if left:
                self.append(left)
            return self.head()
        finally:
            self._pen.close()

    def _write(self, drafts: Sequence[Draft]) -> list[int]:
        seq, link = self._pen.last() or (0, chain.ROOT)
        self._row = self._pen.newest_request()
        salts = os.urandom(16 * len(drafts))
        now = time.time_ns() // 1000
        entries, carried, numbers = [], [], []
        for place, draft in enumerate(drafts):
            seq += 1
            salt = salts[16 * place : 16 * place + 16]
            row, committed = self._committed(draft, salt)
            e = draft.entry
            e = Entry(e.kind, e.run or seq, e.key, e.stage, e.attempt, row, e.intent,
                      e.at or now, e.micros, e.status)
            link = chain.link(link, seq, e, committed)
            entries.append((seq, e.kind, e.run, e.key, e.stage, e.attempt, e.request, e.intent,
                            e.at, e.micros, e.status, link))
            if draft.request is None and not draft.erased:
                number = self._dictionary_for("reply", draft) if e.kind == "reply" else words.PLAIN
                carried.append((seq, salt, number, self._codec.compress(draft.carries, number)))
            numbers.append(seq)
        self._pen.put(entries, carried)
        return numbers

    def _committed(self, draft: Draft, salt: bytes) -> tuple[int | None, bytes]:
        """The request's row, where there is one, and the commitment to what the entry carries."""
        if draft.request is None:
            return None, draft.erased or chain.commitment(salt, draft.carries)
        stamp = draft.request.stamp
        found = self._pen.request(stamp)
        if found is not None:
            return found[0], chain.commitment(found[1], stamp)
        self._row += 1
        number = self._dictionary_for("request", draft)
        self._pen.put_request((
            self._row, stamp, self._subject(draft.request), salt, number,
            self._codec.compress(draft.request.body, number)))
        return self._row, chain.commitment(salt, stamp)

    def _subject(self, request: Request) -> int:
        stamp = request.subject.stamp
        if stamp not in self._subjects:
            self._subjects[stamp] = self._pen.subject(request.subject)
        return self._subjects[stamp]

    def _dictionary_for(self, use: str, draft: Draft) -> int:
        """The dictionary for this use, trained on the first few hundred of this session."""
        if self._dictionary[use]:
            return self._dictionary[use]
        samples = self._samples[use]
        samples.append(draft.request.body if draft.request else draft.carries)
        if len(samples) == words.TRAIN_AFTER and (
            trained := words.train(samples, shown=use == "request")
        ):
            number = self._pen.put_dictionary(trained)
            self._codec.add(number, trained)
            self._dictionary[use] = number
        if len(samples) > words.TRAIN_AFTER:
            samples.clear()
        return self._dictionary[use]

    def head(self) -> Head:
        """How many entries are durable, and the last link."""
        seq, link = self._pen.last() or (0, chain.ROOT)
        return Head(seq, link.hex())

    @contextmanager
    def _said_plainly(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            said = self._pen.plainly(error)
            if said is error:
                raise
            raise said from error
