"""The hash chain: what one entry adds to it, and the head that names all of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path

from msgspec import Struct

from equipoise.replacing import replacing
from equipoise.terms import Misuse

ROOT = bytes(32)


class Entry(Struct, frozen=True):
    """One row of the chain, before it has its number and its link."""

    kind: str
    run: int
    key: str | None = None
    stage: str | None = None
    attempt: int | None = None
    request: int | None = None
    intent: int | None = None
    at: int = 0
    micros: int | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """How many entries there are and the last link: together they name the whole ledger."""

    rows: int
    link: str

    def __str__(self) -> str:
        return f"{self.rows}:{self.link}"


def commitment(salt: bytes, words: bytes) -> bytes:
    """SHA-256 of salt and words: it binds them, and says nothing of them once both are gone."""
    return hashlib.sha256(salt + words).digest()


def link(previous: bytes, seq: int, entry: Entry, committed: bytes) -> bytes:
    """SHA-256 of the link before, this entry's columns and the commitment to what it carries.

    The column `request` is a row number, so it is left out: the commitment covers the
    request's stamp.
    """
    key, stage = _said(entry.key), _said(entry.stage)
    columns = (
        f"{seq} {entry.kind} {entry.run} {key} {stage} {entry.attempt} {entry.intent}"
        f" {entry.at} {entry.micros} {entry.status}\n"
    )
    return hashlib.sha256(previous + columns.encode() + committed).digest()


def _said(text: str | None) -> str:
    """A text as JSON, so that none reads as absent and none reads as two."""
    return "null" if text is None else encode_basestring(text)


def head_file(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".head")


def publish(head: Head, ledger: Path) -> None:
    """Write the head beside the ledger, whole or not at all; raises Misuse where it cannot be."""
    try:
        with replacing(head_file(ledger), 0o600) as out:
            out.write(json.dumps({"rows": head.rows, "link": head.link}).encode())
    except OSError as error:
        raise Misuse(
            f"The head {head} could not be written to {head_file(ledger)} ({error.strerror})."
            " What was acknowledged is in the ledger, and the head that was there still holds."
            " Free some space or make the folder writable, then give the same command again.", 6
        ) from error


def published(ledger: Path) -> Head | None:
    """The head beside the ledger, if one was ever written there."""
    try:
        said = json.loads(head_file(ledger).read_text(encoding="utf-8"))
        return Head(int(said["rows"]), str(said["link"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return Head(-1, "unreadable")
