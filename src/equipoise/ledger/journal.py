"""Appending: entries handed in by many calls are written and made durable in one commit."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import apsw

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.terms import Misuse, Request, canonical_json, content_hash

LOCK_WAIT_MS = 30_000
NO_WORDS = b""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry handed in, with what it carries."""

    entry: Entry
    carries: bytes = NO_WORDS
    request: Request | None = None


class Journal:
    """The one writer of a ledger in this process; other processes' writers take turns with it."""

    def __init__(self, db: apsw.Connection, codec: words.Codec) -> None:
        self._db, self._codec = db, codec
        self._thread = ThreadPoolExecutor(1, "ledger")
        self._waiting: list[tuple[Draft, asyncio.Future[int]]] = []
        self._committing = False
        self._subjects: dict[str, int] = {}
        self._samples: dict[str, list[bytes]] = {"request": [], "reply": []}
        self._dictionary = {"request": words.PLAIN, "reply": words.PLAIN}
        self._row = 0

    def append(self, drafts: Sequence[Draft]) -> list[int]:
        """Write entries in one durable transaction; returns their numbers."""
        return self._thread.submit(self._commit, list(drafts)).result()

    def hand_in(self, draft: Draft) -> asyncio.Future[int]:
        """Queue one entry for the next commit; the future holds its number once it is durable."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((draft, done))
        if not self._committing:
            self._committing = True
            asyncio.get_running_loop().call_soon(self._flush)
        return done

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            self._committing = False
            return
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._thread, self._commit, [draft for draft, _ in batch])
        work.add_done_callback(lambda done: self._settle(done, [f for _, f in batch]))

    def _settle(self, done: asyncio.Future[list[int]], waiting: list[asyncio.Future[int]]) -> None:
        error = done.exception()
        for place, future in enumerate(waiting):
            if future.done():
                continue
            if error is None:
                future.set_result(done.result()[place])
            else:
                future.set_exception(error)
        self._flush()

    def keep_stimuli(self, files: dict[str, str]) -> None:
        """Keep what subjects will be shown, once for each content."""
        stamp = content_hash(files)
        body = self._codec.compress(canonical_json(files), words.PLAIN)
        self._thread.submit(
            self._db.execute,
            "insert into stimuli select ?1, ?2"
            " where not exists (select 1 from stimuli where stamp = ?1)", (stamp, body),
        ).result()

    def drop_words(self, seq: int) -> None:
        """Remove the words of an erased entry from the file and its write-ahead log."""

        def drop() -> None:
            self._db.pragma("secure_delete", True)
            self._db.execute("delete from words where seq = ?", (seq,))
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

        self._thread.submit(drop).result()

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        self._db.close()

    def _commit(self, drafts: list[Draft]) -> list[int]:
        try:
            self._db.execute("begin immediate")
            try:
                numbers = self._write(drafts)
                self._db.execute("commit")
            except BaseException:
                self._forget()
                if not self._db.getautocommit():
                    self._db.execute("rollback")
                raise
        except apsw.FullError as error:
            raise Misuse(
                "The disk is full: the ledger could not be written. What was acknowledged is safe."
                " Free some space, then give the same command again.", 6
            ) from error
        except apsw.BusyError as error:
            raise Misuse(
                f"Another process has held the ledger for {LOCK_WAIT_MS // 1000} seconds."
                " Wait until it is done, then give the same command again.", 6
            ) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise Misuse(f"The ledger is damaged ({error}). Run `equipoise verify`.", 5) from error
        except (apsw.IOError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
            raise Misuse(f"The ledger could not be written ({error}).", 6) from error
        return numbers

    def _forget(self) -> None:
        """A rolled-back transaction may have added dictionaries and subjects: look them up anew."""
        self._subjects = {}
        self._dictionary = {"request": words.PLAIN, "reply": words.PLAIN}

    def _write(self, drafts: list[Draft]) -> list[int]:
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
            if draft.request is None:
                number = self._dictionary_for("reply", draft) if e.kind == "reply" else words.PLAIN
                carried.append((seq, salt, number, self._codec.compress(draft.carries, number)))
            numbers.append(seq)
        self._db.executemany("insert into entries values (?,?,?,?,?,?,?,?,?,?,?,?)", entries)
        self._db.executemany("insert into words values (?,?,?,?)", carried)
        return numbers

    def _committed(self, draft: Draft, salt: bytes) -> tuple[int | None, bytes]:
        """The request's row, where there is one, and the commitment to what the entry carries."""
        if draft.request is None:
            return None, chain.commitment(salt, draft.carries)
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
        if len(samples) == words.TRAIN_AFTER and (trained := words.train(samples)):
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
        return self._thread.submit(lambda: head_of(self._db)).result()


def head_of(db: apsw.Connection) -> Head:
    last = db.execute("select seq, link from entries order by seq desc limit 1").fetchone()
    return Head(last[0], last[1].hex()) if last else Head(0, chain.ROOT.hex())
