"""The act behind `import`: a run from a portable file, or another tool's log as replies."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from equipoise.cli.recorded import IMPORTED, STAGE, escaped
from equipoise.cli.screen import emit, emit_json, printable, say
from equipoise.ledger import Ledger, Where
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.ledger.portable import MAGIC, Carried, take
from equipoise.ledger.store import require_name
from equipoise.ledger.words import pack_reply
from equipoise.recorded.forms import DIALECT, FORMS, opened
from equipoise.recorded.record import Log, NotARecord, Record, plain
from equipoise.registration import Registration
from equipoise.terms import Misuse, Reply, Request, Subject, content_hash

HEADER = "log.json"
WRONG, DAMAGED, CANNOT_READ = 2, 5, 6


def import_file(
    ledger: Where, file: Path, form: str | None, name: str | None, subject: str | None,
    as_json: bool,
) -> None:
    """Append what a file holds to the ledger, whole or not at all, and say what it was."""
    if form not in (None, "run", *FORMS):
        raise Misuse(f"No format {form!r}: there are run, {', '.join(FORMS)}.")
    try:
        with file.open("rb") as begun:
            whole_run = form == "run" or (form is None and begun.read(16) == MAGIC)
        if whole_run and subject is not None:
            raise Misuse("--subject names the model of a log; a run has its own subjects.")
        if whole_run:
            found = take(ledger, file, name, _require_plan)
            return _show(found, ledger, f"the run {found.name}", as_json)
        return _import_log(ledger, file, form, name, subject, as_json)
    except NotARecord as error:
        raise Misuse(f"{file} cannot be imported: {printable(str(error), 400)}. Nothing was"
                     " imported.") from error
    except OSError as error:
        code = WRONG if isinstance(error, FileNotFoundError | IsADirectoryError) else CANNOT_READ
        raise Misuse(f"{error.filename or file} cannot be opened ({error.strerror or error})."
                     " Nothing was imported.", code) from error


def _require_plan(text: bytes) -> None:
    """Raises Misuse for a registration that no command writes: it could not be listed or read."""
    try:
        plan = msgspec.json.decode(text, type=Registration)
        written = Registration.from_json(text).as_json() == text
        subjects = [Subject(**subject) for subject in plan.subjects]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Misuse(f"The file's run has a registration that cannot be read ({error}). Nothing was"
                     " imported.", DAMAGED) from error
    if not written or not all(isinstance(subject.name, str) for subject in subjects):
        raise Misuse("The file's run has a registration that is not as it is written. Nothing was"
                     " imported.", DAMAGED)


def _show(found: Carried, ledger: Where, what: str, as_json: bool) -> None:
    if as_json:
        emit_json({"run": found.name, "entries": found.entries, "written": found.written})
    elif found.written:
        emit(f"Imported {what}: {found.entries:,} entries.")
    else:
        emit(f"The run {found.name} is in {ledger} already, with the same content. Nothing was"
             " written.")


def _import_log(
    ledger: Where, file: Path, named: str | None, name: str | None, subject: str | None,
    as_json: bool,
) -> None:
    form, log = opened(file, named)
    with file.open("rb") as whole:
        digest = hashlib.file_digest(whole, "sha256").hexdigest()
    plan = _plan(form, log, file.name, digest, subject)
    called = name or _called(form, log.task, digest)
    require_name(called)
    target = Ledger.open(ledger)
    try:
        with target.administering(called):
            written = _written(target, called, plan, log, subject)
    finally:
        target.close()
    found = Carried(called, 1 + 2 * plan.cells, written)
    _show(found, ledger, f"{plan.cells:,} recorded replies of {FORMS[form].tool} as the run"
          f" {called}", as_json)
    if written:
        say(f"Read them with: equipoise read {called} --reader stated_choice")


def _plan(form: str, log: Log, file: str, digest: str, subject: str | None) -> Registration:
    """What was imported, in the place of a registration; looks at every record first."""
    subjects: dict[str, None] = {}
    items: dict[str, None] = {}
    copies: Counter[str] = Counter()
    seen: set[tuple[str, str, int, str]] = set()
    draws = 0
    for record in log.records():
        subjects[plain(subject or record.subject)] = None
        items[plain(record.item)] = None
        draws = max(draws, record.draw)
        copies[record.again.partition(" ")[0]] += 1
        at = subject or record.subject, record.item, record.draw, record.again
        if at in seen:
            raise NotARecord(f"draw {record.draw} of {record.item!r} stands twice for {at[0]!r}"
                             f"{'; leave --subject out' if subject else ''}")
        seen.add(at)
        FORMS[form].look(record.raw)
    if not seen:
        raise NotARecord("it holds no records")
    declared = {"file": plain(file), "sha256": digest, "tool": FORMS[form].tool,
                "version": plain(log.version), "task": plain(log.task),
                "copies": {kind: n for kind, n in copies.items() if kind}}
    return Registration(
        IMPORTED, form, content_hash({HEADER: log.header}),
        tuple(_subject(one, form).as_json() for one in subjects), tuple(items), {}, draws,
        len(seen), "as logged", (), "", declared=declared)


def _subject(name: str, form: str) -> Subject:
    return Subject(name, name, "", DIALECT + form)


def _called(form: str, task: str, digest: str) -> str:
    plain = re.sub(r"[^\w.-]+", "-", task, flags=re.ASCII).strip("-.")[:60] or "log"
    return f"{form}-{plain}-{digest[:8]}"


def _written(
    ledger: Ledger, name: str, plan: Registration, log: Log, subject: str | None
) -> bool:
    """Write a log's records as settled calls, in one transaction; False where they are there."""
    known = ledger.run(name)
    if known is not None and known.registration == plan.as_json():
        return False
    if known is not None:
        raise Misuse(f"{ledger.path} holds a run {name!r} with other content. Nothing was written."
                     " Import it under another name with --run NAME.")

    def drafts(before: int) -> Iterator[Draft]:
        yield Draft(Entry("run", 0, key=name), plan.as_json())
        for place, record in enumerate(log.records()):
            yield from _settled(record, before, place, subject, plan.suite)

    ledger.journal.take_in({HEADER: log.header}, drafts)
    return True


def _settled(
    record: Record, before: int, place: int, subject: str | None, form: str
) -> Iterator[Draft]:
    run, intent = before + 1, before + 2 + 2 * place
    of = _subject(plain(subject or record.subject), form)
    stage = f"{STAGE}/{record.again}" if record.again else STAGE
    key = "/".join(map(escaped, (of.name, record.item, str(record.draw))))
    yield Draft(Entry("intent", run, key, stage, 1), request=Request(of, (), body=record.prompt))
    yield Draft(Entry("reply", run, intent=intent, micros=0, status=200),
                pack_reply(Reply(record.raw)))
