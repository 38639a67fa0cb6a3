"""The acts behind `backup` and `erase`: a whole copy of the ledger, and words taken out of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.ledger import Head, Ledger, Where, copy, verify
from equipoise.ledger.backup import back_up
from equipoise.ledger.finding import Found, holding
from equipoise.terms import Misuse


def backup(path: Where, to: Path, as_json: bool) -> None:
    """Copy the ledger into a new file and say what the copy's head is."""
    head = back_up(path, to) if isinstance(path, Path) else _fetched(path, to)
    if as_json:
        emit_json({"backup": str(to), "head": str(head), "bytes": to.stat().st_size})
        return
    emit(f"{to}: {head.rows:,} entries, {to.stat().st_size:,} bytes, verified. Head {head}")


def _fetched(where: Where, to: Path) -> Head:
    """Copy a ledger from its database into a new file, and derive the copy's chain again."""
    if to.exists():
        raise Misuse(f"There is a file {to}. Name a backup that is not there yet.")
    head = copy(where, to)
    if faults := verify(to, head).faults:
        raise Misuse(f"The copy {to} does not verify: {faults[0]}. Run `equipoise verify` on the"
                     " ledger.", 5)
    return head


def find(path: Where, text: str, as_json: bool) -> None:
    """List the entries whose words hold a text."""
    ledger = Ledger.open(path, read_only=True)
    try:
        found = list(holding(ledger, text))
    finally:
        ledger.close()
    if as_json:
        emit_json({"entries": [entry._asdict() for entry in found]})
        return
    emit(table(["entry", "run", "cell", "stage"], [[str(f.seq), *f[1:]] for f in found]))
    say(f"{len(found):,} entries hold these words.")


def erase(path: Where, numbers: Sequence[int], reason: str, yes: bool) -> None:
    """Take the words of entries out, for good; a person confirms with the run's name."""
    if not reason.strip():
        raise Misuse("Say why with --reason: it stands in the ledger in place of the words.")
    ledger = Ledger.open(path)
    try:
        stands = {found[0]: Found(*found[:4]) for found in ledger.all_words()}
        if spare := [n for n in numbers if n not in stands]:
            raise Misuse(f"Entry {spare[0]} holds no words that can be erased. Find the entries"
                         " that hold some words with --find.")
        _confirm([stands[n] for n in numbers], yes)
        for number in numbers:
            ledger.erase(number, reason)
        head = ledger.head()
    finally:
        ledger.close()
    say(f"{len(numbers):,} entries erased; a tombstone with the reason stands for each. Pages,"
        " exports and backups made before still hold the words: make them anew.")
    say(f"Head {head}")


def _confirm(found: Sequence[Found], yes: bool) -> None:
    """Erasing cannot be undone: the run's name is typed, or --yes given off a terminal."""
    if yes:
        return
    runs = sorted({entry.run for entry in found})
    if not sys.stdin.isatty():
        raise Misuse(f"Erasing {len(found):,} entries of {', '.join(runs)} cannot be undone: off a"
                     " terminal this needs --yes.")
    for run in runs:
        count = sum(entry.run == run for entry in found)
        print(f"{count:,} entries of the run {run} will be erased for good. Type the run's name"
              " to go on: ", end="", file=sys.stderr, flush=True)
        if input().strip() != run:
            raise Misuse("Nothing was erased.")
