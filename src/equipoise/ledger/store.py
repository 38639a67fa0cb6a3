"""A ledger on disk: opened with its checks, read in bulk, appended to through its journal."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import apsw

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.ledger.disks import private_folder, require_local_disk
from equipoise.ledger.journal import Draft, Journal, head_of
from equipoise.ledger.opening import (
    ShortOfHead,
    check_version,
    connect,
    prepare,
    require_safe_sqlite,
    said_plainly,
)
from equipoise.terms import (
    Fault,
    Misuse,
    Nonresponse,
    Reply,
    Request,
    Subject,
    canonical_json,
)

ROOM, CELL_BYTES = 256_000, 600


@dataclass(frozen=True, slots=True)
class Run:
    """One administration as it was registered: `registration` is canonical JSON."""

    seq: int
    name: str
    registration: bytes
    at: int


class Note(NamedTuple):
    """A remark on a run; `at` is in microseconds since 1970."""

    seq: int
    about: str
    text: str
    at: int


class Recorded(NamedTuple):
    """The newest word on one attempt: the row of its request and what came of it.

    `kind` is intent while nothing came: in a finished process that means unknown.
    """

    trial: str
    stage: str
    seq: int
    attempt: int
    request: int
    kind: str
    status: int
    micros: int
    dictionary: int
    body: bytes


class Kept(NamedTuple):
    """One entry with all that it carries: an intent its request, any other its words.

    `erased` is the commitment to words that were taken out.
    """

    seq: int
    kind: str
    key: str | None
    stage: str | None
    attempt: int | None
    intent: int | None
    at: int
    micros: int | None
    status: int | None
    link: bytes
    subject: str
    sent: bytes
    words: bytes
    erased: bytes


class Sent(NamedTuple):
    """One try at one call: whom it was put to, the bytes sent, and what came of it.

    `kind` is reply, fault, unknown, or intent where nothing is on record.
    """

    subject: Subject
    body: bytes
    kind: str
    reply: Reply | None


def require_name(name: str) -> None:
    """Raises Misuse for a name that no run can have."""
    if not re.fullmatch(r"[\w][\w.-]{0,99}", name):
        raise Misuse(f"The run's name {name!r} holds more than letters, digits, dots, dashes"
                     " and underscores. Choose another.")


class Ledger:
    """Use `Ledger.open`. Reading never blocks writing.

    What a method returned for, or its future is done for, is durable.
    """

    def __init__(self, path: Path, reader: apsw.Connection, journal: Journal | None) -> None:
        self.path, self._db, self._journal = path, reader, journal
        self._codec = words.Codec({})

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Ledger:
        """Open or make the ledger at `path`.

        Raises Misuse when it is damaged, shorter than its published head, of a newer version,
        on a disk that cannot be written, or when this SQLite may lose commits.
        """
        require_safe_sqlite(apsw.sqlite_lib_version())
        if read_only and not path.exists():
            raise Misuse(
                f"There is no ledger at {path}. Name one with --ledger, or make one with"
                " `equipoise run`.", 2
            )
        with said_plainly(path):
            if not (path.exists() and path.stat().st_size) and chain.published(path):
                raise Misuse(
                    f"The ledger {path} is gone or empty, but its published head"
                    f" {chain.head_file(path).name} is not. Put back the copy that matches the"
                    " head, or move the head away to begin anew.", 5
                )
            journal = None
            if not read_only:
                require_local_disk(path)
                private_folder(path.parent)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
                db = connect(path)
                prepare(db)
                journal = Journal(db, words.Codec({}))
            reader = connect(path)
            check_version(reader, path)
            ledger = cls(path, reader, journal)
            ledger._check_head()
        return ledger

    def _check_head(self) -> None:
        known = chain.published(self.path)
        if known is None:
            return
        row = self._db.execute("select link from entries where seq = ?", (known.rows,)).get
        if known.rows < 0 or (known.rows and (row is None or row.hex() != known.link)):
            raise ShortOfHead(
                f"The ledger {self.path} holds {self.head().rows} entries, and they do not reach"
                f" its published head {known}: it was cut short, replaced or changed."
                " Put back the copy that matches the head, or move"
                f" {chain.head_file(self.path).name} away if you accept the loss.", 5
            )

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            raise Misuse(f"The ledger {self.path} was opened for reading only.", 6)
        return self._journal

    def close(self) -> None:
        """Publish the head if anything may have been written, and let go of the file."""
        try:
            if self._journal is not None:
                head = self._journal.close()
                if head.rows:
                    chain.publish(head, self.path)
        finally:
            self._db.close()

    def head(self) -> Head:
        return head_of(self._db)

    def register(self, name: str, registration: bytes, stimuli: Mapping[str, str]) -> Run:
        """Write a run's registration and its stimuli down, unless they are on record already.

        Raises Misuse when `name` is on record with another registration.
        """
        require_name(name)
        if (known := self.run(name)) is not None:
            if known.registration != registration:
                raise Misuse(
                    f"The run {name!r} is registered otherwise: its design, subject, draws,"
                    " readers or stimuli differ from what is now asked for. Undo the change, or"
                    " give this run another name with --run.", 2
                )
            return known
        self.journal.keep_stimuli(dict(stimuli))
        [seq] = self.journal.append([Draft(Entry("run", 0, key=name), registration)])
        return next(run for run in self.runs() if run.seq == seq)

    def stimuli(self, stamp: str) -> dict[str, str]:
        """The files of a suite as they were shown, by name."""
        body = self._db.execute("select body from stimuli where stamp = ?", (stamp,)).get
        if body is None:
            raise Misuse(f"The ledger {self.path} does not hold the stimuli {stamp[:12]}.", 5)
        return dict(json.loads(words.Codec({}).restore(body, words.PLAIN)))

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs() if run.name == name), None)

    def runs(self) -> list[Run]:
        """Every registered run, oldest first."""
        rows = self._db.execute(
            "select seq, key, at, dictionary, body from entries join words using (seq)"
            " where kind = 'run' order by seq"
        )
        return [
            Run(seq, name, self.restore(body, number), at) for seq, name, at, number, body in rows
        ]

    def recorded(self, run: int, *, first: bool = False) -> dict[tuple[str, str], Recorded]:
        """What is on record for a run, by (trial, stage): its newest attempt's newest word.

        With `first`, its first attempt's instead.
        """
        rows = self._db.execute(
            "select i.key, i.stage, i.seq, i.attempt, i.request,"
            " case when o.seq is not null and w.seq is null then 'erased'"
            " else coalesce(o.kind, 'intent') end,"
            " coalesce(o.status, 0), coalesce(o.micros, 0), coalesce(w.dictionary, 0),"
            " coalesce(w.body, x'')"
            " from entries i not indexed left join entries o indexed by one_outcome"
            " on o.intent = i.seq and o.kind in ('reply','fault','unknown')"
            " left join words w on w.seq = o.seq"
            " where i.seq > ?1 and i.run = ?1 and i.kind = 'intent'"
            f" order by i.seq {'desc' if first else ''}", (run,)
        )
        return {(row[0], row[1]): row for row in map(Recorded._make, rows)}

    def answered(self, run: int) -> dict[tuple[str, str], int]:
        """When each reply of a run was on record, by (trial, stage): microseconds since 1970."""
        rows = self._db.execute(
            "select i.key, i.stage, o.at from entries i not indexed join entries o indexed by"
            " one_outcome on o.intent = i.seq and o.kind in ('reply','fault','unknown')"
            " where i.seq > ?1 and i.run = ?1 and i.kind = 'intent' and o.kind = 'reply'"
            " order by i.seq", (run,)
        )
        return {(key, stage): at for key, stage, at in rows}

    def stamp(self, request: int) -> bytes:
        """The stamp of a recorded request."""
        stamp: bytes = self._db.execute("select stamp from requests where id = ?", (request,)).get
        return stamp

    def calls(self, run: int) -> Iterator[Sent]:
        """Every try at every call of a run, in the order in which they were begun."""
        rows = self._db.execute(
            "select s.body, r.body, r.dictionary, coalesce(o.kind, 'intent'), o.status, o.micros,"
            " w.body, w.dictionary from entries i join requests r on r.id = i.request"
            " join subjects s on s.id = r.subject"
            " left join entries o indexed by one_outcome"
            " on o.intent = i.seq and o.kind in ('reply','fault','unknown')"
            " left join words w on w.seq = o.seq"
            " where i.kind = 'intent' and i.run = ? order by i.seq", (run,)
        )
        subjects: dict[str, Subject] = {}
        for who, sent, coded, kind, status, micros, body, dictionary in rows:
            if who not in subjects:
                subjects[who] = Subject(**json.loads(who))
            reply = None
            if kind == "reply" and body is not None:
                reply = words.unpack_reply(self.restore(body, dictionary), status, micros)
            yield Sent(subjects[who], self.restore(sent, coded), kind, reply)

    def kept(self, run: int) -> Iterator[Kept]:
        """Every entry of a run in order, with all that it carries."""
        gone = {
            seq: bytes.fromhex(json.loads(self.restore(body, number))["commitment"])
            for seq, body, number in self._db.execute(
                "select e.intent, w.body, w.dictionary from entries e join words w"
                " on w.seq = e.seq where e.kind = 'erased' and e.run = ?", (run,))
        }
        rows = self._db.execute(
            "select e.seq, e.kind, e.key, e.stage, e.attempt, e.intent, e.at, e.micros, e.status,"
            " e.link, s.body, r.body, r.dictionary, w.body, w.dictionary from entries e"
            " left join requests r on r.id = e.request left join subjects s on s.id = r.subject"
            " left join words w on w.seq = e.seq where e.run = ? order by e.seq", (run,)
        )
        for row in rows:
            seq = row[0]
            subject, sent, coded, body, number = row[10:]
            yield Kept._make((
                *row[:10], subject or "", b"" if sent is None else self.restore(sent, coded),
                b"" if body is None else self.restore(body, number),
                gone.get(seq, b"") if body is None else b""))

    def reply(self, recorded: Recorded, *, headers: bool = True) -> Reply:
        """The bytes that came back, with or without their headers."""
        packed = self.restore(recorded.body, recorded.dictionary)
        if not headers:
            return Reply(packed[packed.index(b"\n") + 1 :], recorded.status)
        return words.unpack_reply(packed, recorded.status, recorded.micros)

    def fault(self, recorded: Recorded) -> Nonresponse:
        """Why there is no reply, as it was written down."""
        said = json.loads(self.restore(recorded.body, recorded.dictionary))
        return Nonresponse("error", f"{said['kind']}: {said['detail']}")

    def all_words(self) -> Iterator[tuple[int, str, str, str, bytes]]:
        """What every reply, fault and note carries, with where it stands: its number, its run's
        name, cell and stage."""
        rows = self._db.execute(
            "select e.seq, r.key, coalesce(i.key, e.key, ''), coalesce(i.stage, ''),"
            " w.body, w.dictionary from entries e join words w on w.seq = e.seq"
            " join entries r on r.seq = e.run left join entries i on i.seq = e.intent"
            " where e.kind in ('reply','fault','unknown','note') order by e.seq"
        )
        for seq, run, key, stage, body, dictionary in rows:
            yield seq, run, key, stage, self.restore(body, dictionary)

    def tried(self, run: int) -> tuple[int, int]:
        """How many questions of a run were asked, and how many of them more than once."""
        [(asked, again)] = self._db.execute(
            "select count(*), coalesce(sum(tries > 1), 0) from (select count(*) as tries"
            " from entries where run = ? and kind = 'intent' group by key, stage)", (run,))
        return int(asked), int(again)

    def restore(self, body: bytes, dictionary: int) -> bytes:
        if not self._codec.knows(dictionary):
            trained = self._db.execute(
                "select bytes from dictionaries where id = ?", (dictionary,)
            ).get
            self._codec.add(dictionary, trained)
        return self._codec.restore(body, dictionary)

    async def intend(
        self, run: int, trial: str, stage: str, attempt: int, request: Request
    ) -> int:
        """Write down, durably, that this question is about to be sent."""
        entry = Entry("intent", run, trial, stage, attempt)
        return await self.journal.hand_in(Draft(entry, request=request))

    def settle(
        self, run: int, intent: int, outcome: Reply | Fault, seconds: float
    ) -> asyncio.Future[int]:
        """Hand in what came of an intent: the bytes, or why there are none.

        The future is done once it is durable. Whatever is handed in later is durable later, so
        a next question need not wait for it.
        """
        micros = round(1e6 * seconds)
        if isinstance(outcome, Reply):
            entry = Entry("reply", run, intent=intent, micros=micros, status=outcome.status)
            return self.journal.hand_in(Draft(entry, words.pack_reply(outcome)))
        kind = "unknown" if outcome.sent else "fault"
        said = canonical_json({"kind": outcome.kind, "detail": outcome.detail})
        return self.journal.hand_in(Draft(Entry(kind, run, intent=intent, micros=micros), said))

    def erase(self, seq: int, reason: str) -> None:
        """Take the words of one entry out, leaving a tombstone with the reason.

        The tombstone keeps the commitment, so the chain still verifies. Raises Misuse when
        there are no such words.
        """
        row = self._db.execute(
            "select run, salt, dictionary, body from entries join words using (seq)"
            " where seq = ? and kind in ('reply','fault','unknown','note')", (seq,)
        ).fetchone()
        if row is None:
            raise Misuse(f"Entry {seq} holds no words that can be erased.", 2)
        run, salt, number, body = row
        left = chain.commitment(salt, self.restore(body, number)).hex()
        said = canonical_json({"commitment": left, "reason": reason})
        self.journal.erase(Draft(Entry("erased", run, intent=seq), said))

    def require_room(self, cells: int) -> None:
        """Stop before sending what could not be written down.

        Raises Misuse when the disk has less than twice what `cells` more cells may take.
        """
        free, wanted = shutil.disk_usage(self.path.parent).free, ROOM + 2 * CELL_BYTES * cells
        if free < wanted:
            raise Misuse(
                f"The disk that holds {self.path} has {free:,} bytes free; {cells:,} more cells"
                f" want {wanted:,}. Nothing more was sent. Free some space, then give the same"
                " command again.", 6
            )

    def note(self, run: int, about: str, text: str) -> int:
        """Append a remark to a run: a reader that joined later, how it ended."""
        return self.journal.append([Draft(Entry("note", run, key=about), text.encode())])[0]

    def noted(self, run: int) -> list[Note]:
        """Every remark on a run, oldest first; those that were erased have no text."""
        rows = self._db.execute(
            "select e.seq, e.key, w.dictionary, w.body, e.at from entries e"
            " left join words w on w.seq = e.seq"
            " where e.seq > ? and e.run = ? and e.kind = 'note' order by e.seq", (run, run)
        )
        return [Note(seq, about, self.restore(body, number).decode() if body else "", at)
                for seq, about, number, body, at in rows]

    def intents(self, run: int) -> Iterator[tuple[int, bytes, bool]]:
        """Every intent of a run: its number, its request's stamp, and whether it is settled."""
        rows = self._db.execute(
            "select i.seq, r.stamp, o.seq is not null from entries i"
            " join requests r on r.id = i.request left join entries o on o.intent = i.seq"
            " and o.kind in ('reply','fault','unknown')"
            " where i.kind = 'intent' and i.run = ? order by i.seq", (run,)
        )
        return ((seq, stamp, bool(settled)) for seq, stamp, settled in rows)

    @contextmanager
    def administering(self, name: str) -> Iterator[None]:
        """Hold a run for this process; raises Misuse while another process holds it."""
        if "/" in name or "\0" in name:
            raise Misuse(f"The run's name {name!r} cannot be part of a file's name.")
        lock = self.path.with_name(f"{self.path.name}.{name}.lock")
        with os.fdopen(os.open(lock, os.O_CREAT | os.O_WRONLY, 0o600), "w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Misuse(
                    f"Another process is administering the run {name!r} in {self.path}."
                    " Wait until it is done, or give this run another name with --run.", 6
                ) from error
            yield
