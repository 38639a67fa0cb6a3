"""Does the ledger still hold what was written? Every hash is derived again from what is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import apsw
from zstandard import ZstdError

from equipoise.ledger import chain, words
from equipoise.ledger.chain import Entry, Head
from equipoise.ledger.opening import ShortOfHead
from equipoise.ledger.place import Unreadable, Where
from equipoise.ledger.store import Ledger, Store, opened


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked and what did not hold.

    `head` is where the chain ends as it stands; where there are no faults, it is also derived.
    """

    rows: int
    requests: int
    unsettled: int
    erased: int
    head: Head
    published: Head | None
    faults: tuple[str, ...]


def verify(where: Where, known: Head | None = None) -> Verification:
    """Derive the whole chain again.

    `known` is a head kept elsewhere; without it the head beside the file is held against
    the chain. An edit, an insertion, a deletion or a swap inside the chain shows by itself;
    a ledger cut short or rewritten as a whole shows only against a head.
    """
    faults: list[str] = []
    try:
        Ledger.open(where, read_only=True).close()
    except ShortOfHead as error:
        faults.append(str(error))
    store = opened(where, read_only=True)
    published = known or store.published()
    walked = Walked(Head(0, chain.ROOT.hex()), "", ())
    requests = unsettled = erased = 0
    try:
        for found in (store.schema_faults(), _request_faults(store)):
            faults += _as_far_as_readable(found)
        with _readable(faults):
            walked = _walk(store, published.rows if published else 0)
            faults += walked.faults
            requests, unsettled, erased = (next(store.rows(ask))[0] for ask in COUNTS)
        if published and walked.at_mark != published.link:
            faults.append(f"the chain does not pass through the known head {published}")
    finally:
        store.close()
    rows = walked.head.rows
    return Verification(
        rows, requests, unsettled, erased, walked.head, published, tuple(faults)
    )


COUNTS = (
    "select count(*) from requests",
    "select count(*) from entries i where kind = 'intent' and not exists (select 1 from entries o"
    " where o.intent = i.seq and o.kind in ('reply','fault','unknown'))",
    "select count(*) from entries where kind = 'erased'",
)


@contextmanager
def _readable(faults: list[str]) -> Iterator[None]:
    """What cannot be read at all is one more thing that does not hold."""
    try:
        yield
    except (apsw.Error, Unreadable, ZstdError, ValueError, KeyError, TypeError) as error:
        faults.append(f"the file is damaged and could not be read on: {error}")


def _as_far_as_readable(found: Iterator[str]) -> list[str]:
    faults: list[str] = []
    with _readable(faults):
        faults.extend(found)
    return faults


def _request_faults(db: Store) -> Iterator[str]:
    codec = words.Codec(dict(db.rows("select id, bytes from dictionaries")))
    subjects = dict(db.rows("select id, stamp from subjects"))
    for number, stamp, body in db.rows("select id, stamp, body from subjects"):
        if hashlib.sha256(body.encode()).hexdigest() != stamp:
            yield f"subject {number} is not what its stamp names"
    for stamp, body in db.rows("select stamp, body from stimuli"):
        if hashlib.sha256(codec.restore(body, words.PLAIN)).hexdigest() != stamp:
            yield f"stimuli {stamp[:12]} are not what their stamp names"
    rows = db.streamed("select id, stamp, subject, dictionary, body from requests")
    for number, stamp, subject, dictionary, body in rows:
        sent = _restored(codec, body, dictionary)
        told = subjects.get(subject, "").encode() + b"\n" + (sent or b"")
        if sent is None or hashlib.sha256(told).digest() != stamp:
            yield f"request {number} is not what its stamp names"


def _restored(codec: words.Codec, body: bytes, dictionary: int) -> bytes | None:
    try:
        return codec.restore(body, dictionary)
    except (KeyError, ValueError, ZstdError):
        return None


@dataclass(frozen=True, slots=True)
class Walked:
    """Where the chain ends, the derived link at the mark, and every entry that does not hold."""

    head: Head
    at_mark: str
    faults: tuple[str, ...]


def _walk(db: Store, mark: int) -> Walked:
    """Derive each link from the one stored before it; `mark` is the row of a known head.

    So one change shows at the entry it was made to, and not at every entry after it.
    """
    codec = words.Codec(dict(db.rows("select id, bytes from dictionaries")))
    tombstones = _tombstones(db, codec)
    rows = db.streamed(
        "select e.seq, e.kind, e.run, e.key, e.stage, e.attempt, e.intent, e.at, e.micros,"
        " e.status, e.link, w.salt, w.dictionary, w.body, r.salt, r.stamp"
        " from entries e left join words w on w.seq = e.seq"
        " left join requests r on r.id = e.request order by e.seq"
    )
    link, at_mark, last, faults = chain.ROOT, chain.ROOT.hex() if mark == 0 else "", 0, []
    for (seq, kind, run, key, stage, attempt, intent, at, micros, status,
         stored, salt, dictionary, body, request_salt, stamp) in rows:
        if kind == "intent":
            committed = chain.commitment(request_salt or b"", stamp or b"")
        elif body is None:
            committed = tombstones.get(seq, b"")
        else:
            committed = chain.commitment(salt, _restored(codec, body, dictionary) or b"")
        entry = Entry(kind, run, key, stage, attempt, None, intent, at, micros, status)
        expected = chain.link(link, seq, entry, committed)
        if seq != last + 1 or expected != stored:
            faults.append(f"entry {seq} ({kind}) does not follow from what stands before it")
        link, last = stored, seq
        if seq == mark:
            at_mark = expected.hex()
    return Walked(Head(last, link.hex()), at_mark, tuple(faults))


def _tombstones(db: Store, codec: words.Codec) -> dict[int, bytes]:
    rows = db.rows(
        "select intent, dictionary, body from entries join words using (seq) where kind = 'erased'"
    )
    return {
        seq: bytes.fromhex(json.loads(codec.restore(body, number))["commitment"])
        for seq, number, body in rows
    }
