"""One run as one file: a ledger that holds that run alone, in a chain of its own.

Every entry is carried with its time, its request and its bytes; only its number and its links are
new. A last note names the ledger's head and the run's first and last entry in it, so that whoever
has that ledger can check where the run came from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import zstandard

from equipoise.ledger import chain
from equipoise.ledger.chain import Entry, Head
from equipoise.ledger.journal import Draft
from equipoise.ledger.place import Where
from equipoise.ledger.store import Kept, Ledger, Run, require_name
from equipoise.ledger.verify import verify
from equipoise.ledger.words import unpack_reply
from equipoise.replacing import replacing
from equipoise.terms import Misuse, Nonresponse, Request, Subject, canonical_json

MAGIC = b"SQLite format 3\0"
EXPORTED, IMPORTED = "exported", "imported"
LARGEST = 256_000_000
DAMAGED = 5
BODIES = (
    "select 'the words of entry ' || seq, body from words"
    " union all select 'request ' || id, body from requests"
    " union all select 'the stimuli ' || substr(stamp, 1, 12), body from stimuli"
)


@dataclass(frozen=True, slots=True)
class Carried:
    """A run that was carried in a file: under which name it stands now, and whether it is new."""

    name: str
    entries: int
    written: bool


def write(ledger: Ledger, run: Run, stamp: str, out: Path) -> Head:
    """Write a run as one file, whole or not at all; returns the head of the file's own chain.

    `stamp` names the stimuli it was shown. Raises OSError where the disk does.
    """
    files = ledger.stimuli(stamp)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name[:100]}.",
                            suffix=".part") as folder:
        path = Path(folder) / "run.db"
        apart = Ledger.open(path)
        try:
            apart.journal.take_in(files, lambda before: _with_origin(ledger, run))
        finally:
            apart.close()
        made = chain.published(path)
        with path.open("rb") as whole, replacing(out) as part:
            shutil.copyfileobj(whole, part)
    assert made is not None
    return made


def _with_origin(ledger: Ledger, run: Run) -> Iterator[Draft]:
    """A run's entries, then the note that says where they stood."""
    ends: list[dict[str, Any]] = []

    def seen() -> Iterator[Kept]:
        for kept in ledger.kept(run.seq):
            ends[1:] = [{"entry": kept.seq, "link": kept.link.hex()}]
            yield kept

    yield from drafts(numbered(seen()), run.name, 0)
    said = {"ledger": str(ledger.head()), "run": run.name, "first": ends[0], "last": ends[-1]}
    yield Draft(Entry("note", 1, key=EXPORTED), canonical_json(said))


def numbered(kept: Iterable[Kept]) -> Iterator[Kept]:
    """A run's entries numbered from 1, as if its ledger held nothing else."""
    numbers: dict[int, int] = {}
    for number, entry in enumerate(kept, 1):
        numbers[entry.seq] = number
        about = None if entry.intent is None else numbers[entry.intent]
        yield entry._replace(seq=number, intent=about)


def drafts(carried: Iterable[Kept], name: str, before: int) -> Iterator[Draft]:
    """Entries numbered from 1 as drafts that follow entry `before`, the run under that name."""
    for kept in carried:
        is_run = kept.kind == "run"
        entry = Entry(
            kept.kind, 0 if is_run else before + 1, name if is_run else kept.key, kept.stage,
            kept.attempt, None, None if kept.intent is None else before + kept.intent, kept.at,
            kept.micros, kept.status)
        request = None
        if kept.kind == "intent":
            request = Request(Subject(**json.loads(kept.subject)), (), body=kept.sent)
        yield Draft(entry, kept.words, request, kept.erased)


def take(
    path: Where, file: Path, name: str | None, check: Callable[[bytes], None] = lambda plan: None
) -> Carried:
    """Append the run in `file` to the ledger at `path`, under its own name or another.

    A run that is there with the same content is left alone. Raises Misuse for a file that does
    not hold, for a run that is there with other content, and for what `check` raises it of the
    run's registration.
    """
    with opened(file) as (source, run, digest):
        check(run.registration)
        called = name or run.name
        require_name(called)
        entries = sum(1 for _ in source.kept(run.seq))
        ledger = Ledger.open(path)
        try:
            with ledger.administering(called):
                known = ledger.run(called)
                if known is not None:
                    _require_same(ledger, known, source, run)
                    return Carried(called, entries, False)
                _append(ledger, source, run, called, digest)
        finally:
            ledger.close()
    return Carried(called, entries, True)


def _append(ledger: Ledger, source: Ledger, run: Run, name: str, digest: str) -> None:
    stamp = str(json.loads(run.registration)["stamp"])
    said = {"file_sha256": digest, "head": str(source.head()), "run": run.name}

    def carried(before: int) -> Iterator[Draft]:
        yield from drafts(numbered(source.kept(run.seq)), name, before)
        yield Draft(Entry("note", before + 1, key=IMPORTED), canonical_json(said))

    ledger.journal.take_in(source.stimuli(stamp), carried)


def _require_same(ledger: Ledger, known: Run, source: Ledger, run: Run) -> None:
    pairs = zip_longest(_content(ledger.kept(known.seq)), _content(source.kept(run.seq)))
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours == theirs:
            continue
        where = ("it has gone on since" if theirs is None else
                 "the file's has gone on since" if ours is None else
                 f"they differ from their entry {number} on")
        raise Misuse(
            f"{ledger.path} holds a run {known.name!r} with other content: {where}. Nothing was"
            " written. Import it under another name with --run NAME.", 2)


def _content(kept: Iterator[Kept]) -> Iterator[tuple[Any, ...]]:
    """What a run says, entry by entry, wherever it lies: all but its name and where it was."""
    ours = (entry for entry in kept
            if not (entry.kind == "note" and entry.key in (EXPORTED, IMPORTED)))
    for entry in numbered(ours):
        yield tuple(entry._replace(link=b"", key=None if entry.kind == "run" else entry.key))


@contextmanager
def opened(file: Path) -> Iterator[tuple[Ledger, Run, str]]:
    """A portable file, checked whole: its ledger, its one run and its SHA-256.

    A copy of it is read, so nothing is written beside it and nothing can change it meanwhile.
    Raises Misuse that names the entry which does not hold.
    """
    with TemporaryDirectory(prefix="equipoise-") as folder:
        copy = Path(folder) / "run.db"
        shutil.copyfile(file, copy)
        with _said_plainly(file, copy):
            _require_plain(file, copy)
            found = verify(copy, chain.published(file))
        if found.faults:
            raise Misuse(f"{file} does not hold: {found.faults[0]}"
                         f"{f' (and {len(found.faults) - 1} more)' if found.faults[1:] else ''}."
                         " Nothing was imported. Get the file again from whoever wrote it.",
                         DAMAGED)
        digest = hashlib.sha256(copy.read_bytes()).hexdigest()
        source = Ledger.open(copy, read_only=True)
        try:
            with _said_plainly(file, copy):
                run = _only_run(file, source)
            yield source, run, digest
        finally:
            source.close()


@contextmanager
def _said_plainly(file: Path, copy: Path) -> Iterator[None]:
    """A file made to trip its reader is as damaged as one that was cut."""
    try:
        yield
    except Misuse as error:
        raise Misuse(str(error).replace(str(copy), str(file)), error.code) from error
    except (apsw.Error, zstandard.ZstdError, ValueError, KeyError, TypeError, RecursionError,
            MemoryError) as error:
        raise Misuse(f"{file} is damaged and cannot be read ({error}). Nothing was imported.",
                     DAMAGED) from error


def _require_plain(file: Path, copy: Path) -> None:
    """Raises Misuse for a file in use, and for one whose bodies would unpack to too much."""
    log = file.with_name(file.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise Misuse(f"{file} is a ledger in use: its newest entries lie beside it. Write the run"
                     " as a file of its own with equipoise export RUN --format run.")
    db = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for what, body in db.execute(BODIES):
            if not 0 <= zstandard.frame_content_size(body) <= LARGEST:
                raise Misuse(f"{file} does not hold: {what} would unpack to more than"
                             f" {LARGEST:,} bytes. Nothing was imported.", DAMAGED)
    finally:
        db.close()


def _only_run(file: Path, source: Ledger) -> Run:
    """The run, each of whose entries is its own and can be carried."""
    runs = source.runs()
    if len(runs) != 1:
        held = ", ".join(run.name for run in runs[:10]) or "none"
        raise Misuse(f"{file} holds {len(runs)} runs ({held}); one is wanted. Write one as a file"
                     " of its own with equipoise export RUN --format run.")
    require_name(runs[0].name)
    source.stimuli(str(json.loads(runs[0].registration)["stamp"]))
    count, own = source.head().rows, 0
    for own, kept in enumerate(numbered(source.kept(runs[0].seq)), 1):
        [draft] = drafts([kept], runs[0].name, 0)
        _require_readable(kept)
        if draft.request and canonical_json(
                draft.request.subject.as_json()).decode() != kept.subject:
            raise Misuse(f"{file} does not hold: the subject of entry {own} is not as a ledger"
                         " writes it. Nothing was imported.", DAMAGED)
    if own != count:
        raise Misuse(f"{file} does not hold: {count - own} of its {count} entries are of no run."
                     " Nothing was imported.", DAMAGED)
    return runs[0]


def _require_readable(kept: Kept) -> None:
    """Raises ValueError, KeyError or TypeError for words that no ledger writes."""
    if kept.erased:
        return
    if kept.kind == "reply":
        unpack_reply(kept.words, int(kept.status or 0), int(kept.micros or 0))
    elif kept.kind in ("fault", "unknown"):
        said = json.loads(kept.words)
        Nonresponse("error", f"{said['kind']}: {said['detail']}")
