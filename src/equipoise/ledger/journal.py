"""Appending: entries handed in by many calls are written and made durable in one commit."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice

import apsw
from msgspec import Struct

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.terms import Misuse, Request, canonical_json, content_hash

LOCK_WAIT_MS = 30_000
AT_A_TIME = 96
"""Entries in one commit. Larger ones make a thousand calls in flight come and go in waves, with
nothing to do between them; smaller ones wait for the disk."""
NO_WORDS = b""


class Draft(Struct, frozen=True):
    """An entry handed in, with what it carries; of words that were erased, the commitment."""

    entry: Entry
    carries: bytes = NO_WORDS
    request: Request | None = None
    erased: bytes = b""


class Journal:
    """The one writer of a ledger in this process; other processes' writers take turns with it."""

    def __init__(self, db: apsw.Connection, codec: words.Codec) -> None:
        self._db, self._codec = db, codec
        db.set_busy_timeout(0)
        self._thread = ThreadPoolExecutor(1, "ledger")
        self._waiting: list[tuple[Draft, asyncio.Future[int]]] = []
        self._batch: list[tuple[Draft, asyncio.Future[int]]] = []
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
        with self._transaction():
            return self._write(drafts)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One durable transaction, begun once other processes' writers have let go."""
        with _said_plainly():
            self._begin_in_turn()
            try:
                yield
                self._db.execute("commit")
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
        try:
            self._db.execute("begin immediate")
        except apsw.BusyError:
            begun = loop.run_in_executor(self._thread, self._begin_in_turn)
            begun.add_done_callback(lambda done: self._begun(loop, done.exception()))
        except BaseException as error:
            self._ended(loop, [], error)
        else:
            self._begun(loop, None)

    def _begin_in_turn(self) -> None:
        """Begin once other processes' writers have let go."""
        self._db.set_busy_timeout(LOCK_WAIT_MS)
        try:
            self._db.execute("begin immediate")
        finally:
            self._db.set_busy_timeout(0)

    def _begun(self, loop: asyncio.AbstractEventLoop, error: BaseException | None) -> None:
        if error is None:
            try:
                numbers = self._write([draft for draft, _ in self._batch])
            except BaseException as failure:
                error = failure
        if error is not None:
            return self._ended(loop, [], error)
        work = loop.run_in_executor(self._thread, self._db.execute, "commit")
        work.add_done_callback(lambda done: self._ended(loop, numbers, done.exception()))
        return None

    def _ended(
        self, loop: asyncio.AbstractEventLoop, numbers: list[int], error: BaseException | None
    ) -> None:
        if error is not None:
            self._undo()
            return self._refuse(_plainly(error))
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
        if not self._db.getautocommit():
            self._db.execute("rollback")
        self._subjects = {}
        self._dictionary = {"request": words.PLAIN, "reply": words.PLAIN}

    def keep_stimuli(self, files: dict[str, str]) -> None:
        """Keep what subjects will be shown, once for each content."""
        with self._transaction():
            self._keep(files)

    def _keep(self, files: Mapping[str, str]) -> None:
        stamp = content_hash(files)
        body = self._codec.compress(canonical_json(files), words.PLAIN)
        self._db.execute(
            "insert into stimuli select ?1, ?2"
            " where not exists (select 1 from stimuli where stamp = ?1)", (stamp, body),
        )

    def take_in(
        self, files: Mapping[str, str], drafts: Callable[[int], Iterable[Draft]]
    ) -> None:
        """Write a run that was recorded elsewhere, and what was shown in it, whole or not at all.

        `drafts` is given the number of the entry that its first will follow.
        """
        with self._transaction():
            self._keep(files)
            given = iter(drafts(head_of(self._db).rows))
            while batch := list(islice(given, AT_A_TIME)):
                self._write(batch)

    def erase(self, tombstone: Draft) -> None:
        """Write a tombstone and take the words out, in one transaction, off the disk too."""
        self._db.pragma("secure_delete", True)
        with self._transaction():
            self._write([tombstone])
            self._db.execute("delete from words where seq = ?", (tombstone.entry.intent,))
        with _said_plainly():
            # Pages that were split keep old copies in their slack: only a new file has none.
            self._db.execute("vacuum")
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> Head:
        """Write what came back and is not yet written, and let go of the file; returns the head.

        Intents that were handed in are left out: nothing was sent for them.
        """
        self._thread.shutdown(wait=True)
        try:
            with _said_plainly():
                if not self._db.getautocommit():
                    self._db.execute("commit")
            handed_in = [*self._unwritten, *(draft for draft, _ in (*self._batch, *self._waiting))]
            left = [d for d in handed_in if d.entry.intent and not self._settled(d.entry.intent)]
            if left:
                self.append(left)
            return head_of(self._db)
        finally:
            self._db.close()

    def _settled(self, intent: int) -> bool:
        return self._db.execute(
            "select 1 from entries where intent = ? and kind in ('reply','fault','unknown')",
            (intent,)).get is not None

    def _write(self, drafts: Sequence[Draft]) -> list[int]:
        last = self._db.execute(
            "select seq, link from entries order by seq desc limit 1"
        ).fetchone()
        seq, link = last or (0, chain.ROOT)
        self._row = self._db.execute("select coalesce(max(id), 0) from requests").get
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
        self._db.executemany("insert into entries values (?,?,?,?,?,?,?,?,?,?,?,?)", entries)
        self._db.executemany("insert into words values (?,?,?,?)", carried)
        return numbers

    def _committed(self, draft: Draft, salt: bytes) -> tuple[int | None, bytes]:
        """The request's row, where there is one, and the commitment to what the entry carries."""
        if draft.request is None:
            return None, draft.erased or chain.commitment(salt, draft.carries)
        stamp = draft.request.stamp
        found = self._db.execute(
            "select id, salt from requests where stamp = ?", (stamp,)
        ).fetchone()
        if found is not None:
            return found[0], chain.commitment(found[1], stamp)
        self._row += 1
        number = self._dictionary_for("request", draft)
        self._db.execute(
            "insert into requests values (?,?,?,?,?,?)",
            (self._row, stamp, self._subject(draft.request), salt, number,
             self._codec.compress(draft.request.body, number)),
        )
        return self._row, chain.commitment(salt, stamp)

    def _subject(self, request: Request) -> int:
        stamp = request.subject.stamp
        if stamp not in self._subjects:
            found = self._db.execute("select id from subjects where stamp = ?", (stamp,)).get
            if found is None:
                found = self._db.execute(
                    "insert into subjects select coalesce(max(id), 0) + 1, ?, ? from subjects"
                    " returning id",
                    (stamp, canonical_json(request.subject.as_json()).decode()),
                ).get
            self._subjects[stamp] = found
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
            number = self._db.execute(
                "insert into dictionaries select coalesce(max(id), 0) + 1, ? from dictionaries"
                " returning id", (trained,)
            ).get
            self._codec.add(number, trained)
            self._dictionary[use] = number
        if len(samples) > words.TRAIN_AFTER:
            samples.clear()
        return self._dictionary[use]

    def head(self) -> Head:
        """How many entries are durable, and the last link."""
        return head_of(self._db)


def head_of(db: apsw.Connection) -> Head:
    last = db.execute("select seq, link from entries order by seq desc limit 1").fetchone()
    return Head(last[0], last[1].hex()) if last else Head(0, chain.ROOT.hex())


@contextmanager
def _said_plainly() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise _plainly(error) from error


def _plainly(error: BaseException) -> BaseException:
    """What a failed write means to a person."""
    if isinstance(error, apsw.FullError):
        return Misuse(
            "The disk is full: the ledger could not be written. What was acknowledged is safe."
            " Free some space, then give the same command again.", 6
        )
    if isinstance(error, apsw.BusyError):
        return Misuse(
            f"Another process has held the ledger for {LOCK_WAIT_MS // 1000} seconds."
            " Wait until it is done, then give the same command again.", 6
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return Misuse(f"The ledger is damaged ({error}). Run `equipoise verify`.", 5)
    if isinstance(error, apsw.IOError | apsw.ReadOnlyError | apsw.PermissionsError):
        return Misuse(f"The ledger could not be written ({error}).", 6)
    return error
