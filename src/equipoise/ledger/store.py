"""A ledger: opened with its checks, read in bulk, appended to through its journal."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.ledger.journal import Draft, Journal, Pen
from equipoise.ledger.opening import ShortOfHead
from equipoise.ledger.place import Where
from equipoise.terms import (
    Fault,
    Misuse,
    Nonresponse,
    Reply,
    Request,
    Subject,
    canonical_json,
)


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


# Written for both stores: places for values are $1, $2, and what only SQLite's planner is told
# (`indexed by`, `not indexed`) is left out for PostgreSQL.
OF_RUN = "i.seq > $1 and i.run = $1"
OF_TRIALS = "i.run = $1 and i.key = any($3)"
OUTCOME = (
    " left join entries o indexed by one_outcome"
    " on o.intent = i.seq and o.kind in ('reply','fault','unknown')"
)
RECORDED = (
    "select i.key, i.stage, i.seq, i.attempt, i.request,"
    " case when o.seq is not null and w.seq is null then 'erased'"
    " else coalesce(o.kind, 'intent') end,"
    " coalesce(o.status, 0), coalesce(o.micros, 0), coalesce(w.dictionary, 0),"
    " coalesce(w.body, $2)"
    f" from entries i not indexed{OUTCOME} left join words w on w.seq = o.seq"
    f" where {OF_RUN} and i.kind = 'intent' order by i.seq"
)
ANSWERED = (
    f"select i.key, i.stage, o.at from entries i not indexed{OUTCOME.replace(' left', '', 1)}"
    f" where {OF_RUN} and i.kind = 'intent' and o.kind = 'reply' order by i.seq"
)
CALLS = (
    "select s.body, r.body, r.dictionary, coalesce(o.kind, 'intent'), o.status, o.micros,"
    " w.body, w.dictionary from entries i join requests r on r.id = i.request"
    f" join subjects s on s.id = r.subject{OUTCOME}"
    " left join words w on w.seq = o.seq"
    " where i.kind = 'intent' and i.run = $1 order by i.seq"
)


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


@dataclass(frozen=True, slots=True)
class Lease:
    """Some trials of a run, one worker's until the lease runs out; `fence` is its number."""

    run: int
    fence: int
    trials: tuple[str, ...]
    places: tuple[int, ...]


class Charging(Protocol):
    """What calls cost, in USD: at worst before, and as booked after."""

    def worst(self, request: Request) -> float: ...
    def booked(self, request: Request, outcome: Reply | Fault) -> float: ...


class Store(Protocol):
    """Where the rows lie. `rows` answers whole; `streamed` as it is read, for what is large."""

    @property
    def path(self) -> Where: ...
    @property
    def pen(self) -> Pen | None: ...
    @property
    def head_file(self) -> Path: ...
    def rows(self, ask: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]: ...
    def streamed(self, ask: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]: ...
    def stamp(self, request: int) -> bytes: ...
    def schema_faults(self) -> Iterator[str]: ...
    def published(self) -> Head | None: ...
    def publish(self, head: Head) -> None: ...
    def require_room(self, cells: int) -> None: ...
    def administering(self, name: str) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...


def opened(where: Where, *, read_only: bool) -> Store:
    """The store at a place; what a kind of store needs is imported when one is named."""
    if isinstance(where, Path):
        from equipoise.ledger.sqlite import SqliteFile

        return SqliteFile.open(where, read_only=read_only)
    from equipoise.ledger.postgres import PostgresDatabase

    return PostgresDatabase.open(where, read_only=read_only)


class Ledger:
    """Use `Ledger.open`. Reading never blocks writing.

    What a method returned for, or its future is done for, is durable.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.path = store, store.path
        self._journal = Journal(store.pen, words.Codec({})) if store.pen else None
        self._codec = words.Codec({})
        self._lease: Lease | None = None
        self._charging: Charging | None = None
        self._in_flight: dict[int, tuple[Request, float]] = {}

    @classmethod
    def open(cls, where: Where, *, read_only: bool = False) -> Ledger:
        """Open the ledger at a place; a file that is not there is made, a database never.

        Raises Misuse when it is damaged, shorter than its published head, of a newer version,
        cannot be reached or written, when this SQLite may lose commits, and when the role could
        switch PostgreSQL's triggers off.
        """
        ledger = cls(opened(where, read_only=read_only))
        try:
            ledger._check_head()
        except BaseException:
            ledger._let_go()
            raise
        return ledger

    def _check_head(self) -> None:
        known = self.store.published()
        if known is None:
            return
        row = self._value("select link from entries where seq = $1", (known.rows,))
        if known.rows < 0 or (known.rows and (row is None or row.hex() != known.link)):
            raise ShortOfHead(
                f"The ledger {self.path} holds {self.head().rows} entries, and they do not reach"
                f" its published head {known}: it was cut short, replaced or changed."
                " Put back the copy that matches the head, or move"
                f" {self.store.head_file} away if you accept the loss.", 5
            )

    def _value(self, ask: str, given: Sequence[Any] = ()) -> Any:
        """The first column of the first row, None where there is none."""
        return next((row[0] for row in self.store.rows(ask, given)), None)

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            raise Misuse(f"The ledger {self.path} was opened for reading only.", 6)
        return self._journal

    def under(self, lease: Lease, charging: Charging) -> Ledger:
        """This ledger as the holder of a lease works with it: its trials, written under its fence.

        An intent whose lease has run out is refused with LeaseLost, and one that does not fit
        under the cap of the run's workers with OverCap; what came of an intent is always written.
        """
        same = Ledger.__new__(Ledger)
        same.__dict__.update(self.__dict__)
        same._lease, same._charging, same._in_flight = lease, charging, {}
        return same

    def close(self) -> None:
        """Publish the head if anything may have been written, and let go of the store."""
        try:
            if self._journal is not None:
                head = self._journal.close()
                if head.rows:
                    self.store.publish(head)
        finally:
            self.store.close()

    def _let_go(self) -> None:
        if self.store.pen is not None:
            self.store.pen.close()
        self.store.close()

    def head(self) -> Head:
        for seq, link in self.store.rows("select seq, link from entries order by seq desc limit 1"):
            return Head(seq, link.hex())
        return Head(0, chain.ROOT.hex())

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
        body = self._value("select body from stimuli where stamp = $1", (stamp,))
        if body is None:
            raise Misuse(f"The ledger {self.path} does not hold the stimuli {stamp[:12]}.", 5)
        return dict(json.loads(words.Codec({}).restore(body, words.PLAIN)))

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs() if run.name == name), None)

    def runs(self) -> list[Run]:
        """Every registered run, oldest first."""
        rows = self.store.rows(
            "select seq, key, at, dictionary, body from entries join words using (seq)"
            " where kind = 'run' order by seq"
        )
        return [
            Run(seq, name, self.restore(body, number), at) for seq, name, at, number, body in rows
        ]

    def recorded(self, run: int, *, first: bool = False) -> dict[tuple[str, str], Recorded]:
        """What is on record for a run, by (trial, stage): its newest attempt's newest word.

        With `first`, its first attempt's instead. Under a lease, what is on record for its trials.
        """
        ask, given = RECORDED, [run, b""]
        if self._lease is not None:
            ask = ask.replace(OF_RUN, OF_TRIALS)
            given.append(list(self._lease.trials))
        rows = self.store.rows(ask + (" desc" if first else ""), given)
        return {(row[0], row[1]): row for row in map(Recorded._make, rows)}

    def answered(self, run: int) -> dict[tuple[str, str], int]:
        """When each reply of a run was on record, by (trial, stage): microseconds since 1970."""
        rows = self.store.rows(ANSWERED, (run,))
        return {(key, stage): at for key, stage, at in rows}

    def stamp(self, request: int) -> bytes:
        """The stamp of a recorded request."""
        return self.store.stamp(request)

    def calls(self, run: int) -> Iterator[Sent]:
        """Every try at every call of a run, in the order in which they were begun."""
        rows = self.store.streamed(CALLS, (run,))
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
            for seq, body, number in self.store.rows(
                "select e.intent, w.body, w.dictionary from entries e join words w"
                " on w.seq = e.seq where e.kind = 'erased' and e.run = $1", (run,))
        }
        rows = self.store.streamed(
            "select e.seq, e.kind, e.key, e.stage, e.attempt, e.intent, e.at, e.micros, e.status,"
            " e.link, s.body, r.body, r.dictionary, w.body, w.dictionary from entries e"
            " left join requests r on r.id = e.request left join subjects s on s.id = r.subject"
            " left join words w on w.seq = e.seq where e.run = $1 order by e.seq", (run,)
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
        rows = self.store.streamed(
            "select e.seq, r.key, coalesce(i.key, e.key, ''), coalesce(i.stage, ''),"
            " w.body, w.dictionary from entries e join words w on w.seq = e.seq"
            " join entries r on r.seq = e.run left join entries i on i.seq = e.intent"
            " where e.kind in ('reply','fault','unknown','note') order by e.seq"
        )
        for seq, run, key, stage, body, dictionary in rows:
            yield seq, run, key, stage, self.restore(body, dictionary)

    def tried(self, run: int) -> tuple[int, int]:
        """How many questions of a run were asked, and how many of them more than once."""
        [(asked, again)] = self.store.rows(
            "select count(*), coalesce(sum(case when tries > 1 then 1 else 0 end), 0)"
            " from (select count(*) as tries from entries where run = $1 and kind = 'intent'"
            " group by key, stage) as questions", (run,))
        return int(asked), int(again)

    def restore(self, body: bytes, dictionary: int) -> bytes:
        if not self._codec.knows(dictionary):
            trained = self._value("select bytes from dictionaries where id = $1", (dictionary,))
            self._codec.add(dictionary, trained)
        return self._codec.restore(body, dictionary)

    async def intend(
        self, run: int, trial: str, stage: str, attempt: int, request: Request
    ) -> int:
        """Write down, durably, that this question is about to be sent."""
        entry = Entry("intent", run, trial, stage, attempt)
        if self._lease is None or self._charging is None:
            return await self.journal.hand_in(Draft(entry, request=request))
        worst = self._charging.worst(request)
        intent = await self.journal.hand_in(
            Draft(entry, request=request, fence=self._lease.fence, charge=(1, worst)))
        self._in_flight[intent] = request, worst
        return intent

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
            packed = words.pack_reply(outcome)
            return self.journal.hand_in(Draft(entry, packed, charge=self._owed(intent, outcome)))
        kind = "unknown" if outcome.sent else "fault"
        said = canonical_json({"kind": outcome.kind, "detail": outcome.detail})
        entry = Entry(kind, run, intent=intent, micros=micros)
        return self.journal.hand_in(Draft(entry, said, charge=self._owed(intent, outcome)))

    def _owed(self, intent: int, outcome: Reply | Fault) -> tuple[int, float] | None:
        """What an outcome changes in what an intent was charged; None where nothing is charged."""
        if self._charging is None or intent not in self._in_flight:
            return None
        request, worst = self._in_flight.pop(intent)
        unsent = isinstance(outcome, Fault) and not outcome.sent
        return -int(unsent), self._charging.booked(request, outcome) - worst

    def erase(self, seq: int, reason: str) -> None:
        """Take the words of one entry out, leaving a tombstone with the reason.

        The tombstone keeps the commitment, so the chain still verifies. Raises Misuse when
        there are no such words.
        """
        row = next(self.store.rows(
            "select run, salt, dictionary, body from entries join words using (seq)"
            " where seq = $1 and kind in ('reply','fault','unknown','note')", (seq,)), None)
        if row is None:
            raise Misuse(f"Entry {seq} holds no words that can be erased.", 2)
        run, salt, number, body = row
        left = chain.commitment(salt, self.restore(body, number)).hex()
        said = canonical_json({"commitment": left, "reason": reason})
        self.journal.erase(Draft(Entry("erased", run, intent=seq), said))

    def require_room(self, cells: int) -> None:
        """Stop before sending what could not be written down.

        Raises Misuse when the disk has less than twice what `cells` more cells may take; the
        disk of a database server is not seen from here, so there the writing itself stops.
        """
        self.store.require_room(cells)

    def note(self, run: int, about: str, text: str) -> int:
        """Append a remark to a run: a reader that joined later, how it ended."""
        return self.journal.append([Draft(Entry("note", run, key=about), text.encode())])[0]

    def noted(self, run: int) -> list[Note]:
        """Every remark on a run, oldest first; those that were erased have no text."""
        rows = self.store.rows(
            "select e.seq, e.key, w.dictionary, w.body, e.at from entries e"
            " left join words w on w.seq = e.seq"
            " where e.seq > $1 and e.run = $1 and e.kind = 'note' order by e.seq", (run,)
        )
        return [Note(seq, about, self.restore(body, number).decode() if body else "", at)
                for seq, about, number, body, at in rows]

    def intents(self, run: int) -> Iterator[tuple[int, bytes, bool]]:
        """Every intent of a run: its number, its request's stamp, and whether it is settled."""
        rows = self.store.rows(
            "select i.seq, r.stamp, o.seq is not null from entries i"
            " join requests r on r.id = i.request left join entries o on o.intent = i.seq"
            " and o.kind in ('reply','fault','unknown')"
            " where i.kind = 'intent' and i.run = $1 order by i.seq", (run,)
        )
        return ((seq, stamp, bool(settled)) for seq, stamp, settled in rows)

    def administering(self, name: str) -> AbstractContextManager[None]:
        """Hold a run for this process; raises Misuse while another process holds it."""
        if "/" in name or "\0" in name:
            raise Misuse(f"The run's name {name!r} cannot be part of a file's name.")
        return self.store.administering(name)
