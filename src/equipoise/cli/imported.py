"""Imported runs read by our readers: their replies as cells, and how many were read as what."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.cli.recorded import STAGE, How, said_of, unescaped
from equipoise.cli.screen import emit, emit_json, printable, say, table
from equipoise.elicit import NO_REPLY
from equipoise.ledger import Ledger, Recorded, Run
from equipoise.reading.by_name import READERS
from equipoise.recorded.forms import FORMS
from equipoise.recorded.record import Looked, NotARecord
from equipoise.registration import Registration
from equipoise.terms import Completion, Misuse, Nonresponse, Reader, Reading

MOST_TARGETS, LONGEST_TARGET, UNREADABLE = 26, 60, 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One recorded reply, or why there is none. `again` says of which kind of copy it is one."""

    subject: str
    item: str
    draw: int
    said: Completion | Nonresponse
    options: Mapping[str, Sequence[str]]
    target: str
    cached: bool
    again: str
    prompt: bytes


@dataclass(frozen=True, slots=True)
class ReadCells:
    """Cells with what one reader made of each, and where it took the options from."""

    cells: Sequence[tuple[Cell, Reading[Any] | None]]
    reader: str
    options: str


def cells(ledger: Ledger, run: Run, form: str) -> Iterator[Cell]:
    """Every recorded reply of an imported run, in the log's order."""
    calls = zip(ledger.recorded(run.seq).items(), ledger.calls(run.seq), strict=True)
    for ((key, stage), recorded), sent in calls:
        subject, item, draw = map(unescaped, key.split("/"))
        again = stage.removeprefix(STAGE).removeprefix("/")
        looked = _looked(ledger, recorded, form)
        for place, said in enumerate(looked.said):
            yield Cell(subject, item, int(draw) + place, said, looked.options, looked.target,
                       looked.cached, again, sent.body)


def _looked(ledger: Ledger, recorded: Recorded, form: str) -> Looked:
    if recorded.kind != "reply":
        return Looked((Nonresponse("error", "erased: the words were taken out of the ledger"),))
    try:
        return FORMS[form].look(ledger.reply(recorded, headers=False).body)
    except NotARecord as error:
        return Looked((Nonresponse("error", f"malformed: {error}"),))


def read_cells(ledger: Ledger, run: Run, found: Registration, how: How) -> ReadCells:
    """An imported run's cells read by one reader; raises Misuse where it cannot be made ready."""
    if found.suite not in FORMS:
        raise Misuse(f"The run {run.name!r} is of a log that this equipoise does not read:"
                     f" {found.suite}. Install a newer one.", UNREADABLE)
    try:
        every = list(cells(ledger, run, found.suite))
    except ValueError as error:
        raise Misuse(f"The run {run.name!r} is not as an import writes one ({error}). Import its"
                     " log again.", UNREADABLE) from error
    if how.reader is None and (how.words or how.contract):
        raise Misuse("--words and --contract are for a reader: name one with --reader.")
    if how.reader is None:
        return ReadCells([(cell, None) for cell in every], "", "")
    if how.reader not in READERS:
        raise Misuse(f"No reader {how.reader!r}: there are {', '.join(READERS)}.")
    lines, source = _lines(every, how)
    return ReadCells(list(_readings(every, how.reader, lines)), how.reader, source)


def _readings(
    every: Sequence[Cell], name: str, lines: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Cell, Reading[Any]]]:
    ready: dict[str, Reader[Any]] = {}
    for cell, line in zip(every, lines, strict=True):
        said = json.dumps(line)
        if said not in ready:
            ready[said] = _reader(name, line)
        yield cell, (Reading(cell.said, NO_REPLY) if isinstance(cell.said, Nonresponse)
                     else ready[said](cell.said))


def _reader(name: str, line: Mapping[str, Any]) -> Reader[Any]:
    try:
        return READERS[name](line)
    except KeyError as error:
        wanted = {"'contract'": "--contract '{\"pick\": string}'"}.get(str(error), "--words a,b")
        raise Misuse(f"The reader {name} needs {wanted}.") from error
    except (TypeError, ValueError, Misuse) as error:
        raise Misuse(f"The reader {name} cannot be made ready: {error}.") from error


def _lines(every: Sequence[Cell], how: How) -> tuple[list[Mapping[str, Any]], str]:
    """What each cell's reader is made ready for, and where that was taken from."""
    if how.contract:
        return [{"contract": how.contract}] * len(every), "--contract"
    if how.reader in ("stated_probability", "json_object"):
        return [{}] * len(every), ""
    if how.words:
        options = {word: word for word in dict.fromkeys(w.strip() for w in how.words.split(","))
                   if word}
        return [{"options": options}] * len(every), "--words"
    if every and all(cell.options for cell in every):
        return [{"options": cell.options} for cell in every], "the log's choices"
    targets = sorted({cell.target for cell in every})
    if 2 <= len(targets) <= MOST_TARGETS and all(
            0 < len(target) <= LONGEST_TARGET for target in targets):
        return ([{"options": {t: t for t in targets}}] * len(every),
                f"the log's targets ({', '.join(targets)})")
    raise Misuse(f"The log does not say between what the replies of this run chose. Say it with"
                 f" --words, as in --words yes,no, for the reader {how.reader}.")


def read(ledger: Ledger, run: Run, found: Registration, how: How, as_json: bool) -> None:
    """Print how many recorded replies were read as what, and how many came to nothing, and why."""
    if how.reader is None:
        raise Misuse(f"The run {run.name!r} was imported: name a reader with --reader, one of"
                     f" {', '.join(READERS)}.")
    made = read_cells(ledger, run, found, how)
    counts = Counter(_row(cell, reading) for cell, reading in made.cells
                     if not cell.again and reading is not None)
    copies = Counter(cell.again.partition(" ")[0] for cell, _ in made.cells if cell.again)
    totals: Counter[str] = Counter()
    for (subject, *_), n in counts.items():
        totals[subject] += n
    order = sorted(counts.items(), key=lambda c: (c[0][0], bool(c[0][2]), -c[1], c[0]))
    if as_json:
        emit_json({"run": run.name, "imported": said_of(found), "reader": made.reader,
                   "options": made.options, "copies": dict(copies), "counts": [
                       {"subject": s, "reading": r if not kind else None, "nonresponse": kind,
                        "detail": detail, "count": n, "of": totals[s]}
                       for (s, r, kind, detail), n in order]})
        return
    emit(table(["subject", "read as", "nonresponse", "n", "of"], [
        [printable(s), printable(r), printable(f"{kind}: {detail}" if detail else kind, 70),
         f"{n:,}", f"{totals[s]:,}"] for (s, r, kind, detail), n in order]))
    _say_of(found, made, copies)


def _row(cell: Cell, reading: Reading[Any]) -> tuple[str, str, str, str]:
    value = reading.value
    if isinstance(value, Nonresponse):
        return cell.subject, "", value.kind, value.detail.partition("\n")[0]
    return cell.subject, value if isinstance(value, str) else json.dumps(value), "", ""


def _say_of(found: Registration, made: ReadCells, copies: Counter[str]) -> None:
    of = said_of(found)
    tool = f"{of['tool']} {of['version']}".strip()
    say(printable(f"Imported from {of['file']} ({tool}, task {of['task']}); nothing was registered"
                  " before it was asked.", 600))
    if made.options:
        say(f"Options are from {made.options}.")
    if copies["cache"]:
        say(f"{copies['cache']:,} more draws came from a cache with the text of another of their"
            " cell: each is that draw over again, and is not counted.")
    if copies["filter"]:
        say(f"{copies['filter']:,} more replies are the same ones under another filter, and are not"
            " counted.")


def rows(made: ReadCells) -> list[dict[str, Any]]:
    """Each cell as an exported row."""
    return [_exported(cell, reading, made.reader) for cell, reading in made.cells]


def _exported(cell: Cell, reading: Reading[Any] | None, reader: str) -> dict[str, Any]:
    said = cell.said
    row: dict[str, Any] = {
        "subject": cell.subject, "item": cell.item, "draw": cell.draw,
        "reply": said.text if isinstance(said, Completion) else "",
        "lost": "" if isinstance(said, Completion) else f"{said.kind}: {said.detail}",
        "finish": said.finish if isinstance(said, Completion) else "",
        "target": cell.target, "cached": cell.cached, "copy_of_a_draw": cell.again,
    }
    if reading is None:
        return row
    value = reading.value
    lost = isinstance(value, Nonresponse)
    read_as = "" if lost else value if isinstance(value, str | int | float) else json.dumps(value)
    return row | {reader: read_as, f"{reader}_nonresponse": value.kind if lost else "",
                  f"{reader}_rule": reading.rule}
