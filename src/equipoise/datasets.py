"""Datasets: items that are only ever added, retired or erased, and versions that never change.

A folder holds `items.jsonl`, what was done, each entry linked to all before it by SHA-256;
`words.jsonl`, the items' words, which the entries only commit to, so that they can be erased and
the chain still holds; and `head.json`, how far the chain went when it was last written.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from equipoise.appending import appending
from equipoise.ledger.chain import ROOT, Head, commitment
from equipoise.replacing import replacing
from equipoise.terms import Misuse, canonical_json, content_hash

Op = Literal["new", "add", "retire", "erase", "freeze"]
Kind = Literal["openings", "moments"]
LOG, WORDS, HEAD = "items.jsonl", "words.jsonl", "head.json"
DAMAGED = 5


class Entry(Struct, frozen=True, omit_defaults=True):
    """One thing that was done; `link` is the SHA-256 of the link before and all the rest.

    A freezing's `digest` names every item of the version by its commitment; `splits` are those
    of the moments that no version held before. `at` is UTC seconds since 1970.
    """

    seq: int
    op: Op
    at: int
    item: str = ""
    kind: Kind = "moments"
    committed: str = ""
    reason: str = ""
    version: int = 0
    digest: str = ""
    splits: Mapping[str, str] = {}
    link: str = ""


class Kept(Struct, frozen=True):
    """An item's words with the salt of their commitment."""

    item: str
    salt: str
    words: Mapping[str, Any]

    @property
    def committed(self) -> str:
        return commitment(self.salt.encode(), canonical_json(self.words)).hex()


@dataclass(frozen=True)
class Version:
    """A frozen version: its number, the link that names it, and its items.

    `items` are commitments by name; `splits`, of moments, were drawn when each was first frozen.
    """

    number: int
    hash: str
    items: Mapping[str, str]
    splits: Mapping[str, str]


@dataclass(frozen=True)
class Dataset:
    """A folder as it stands, its chain and every commitment checked."""

    folder: Path
    entries: tuple[Entry, ...]
    words: Mapping[str, Kept]

    @property
    def head(self) -> Head:
        return Head(len(self.entries), self.entries[-1].link if self.entries else ROOT.hex())

    @property
    def added(self) -> Mapping[str, Entry]:
        return {entry.item: entry for entry in self.entries if entry.op == "add"}

    def gone(self, op: Op) -> frozenset[str]:
        """The items that were retired, or erased."""
        return frozenset(entry.item for entry in self.entries if entry.op == op)

    @property
    def active(self) -> Mapping[str, str]:
        """The commitments of items that the next version would hold."""
        return _active(self.entries)

    @property
    def versions(self) -> tuple[Version, ...]:
        splits: dict[str, str] = {}
        found = []
        for place, entry in enumerate(self.entries):
            if entry.op == "freeze":
                splits |= entry.splits
                items = _active(self.entries[:place])
                found.append(Version(entry.version, entry.link, items, {
                    item: splits[item] for item in items if item in splits}))
        return tuple(found)

    def version(self, number: int) -> Version:
        """That version; raises Misuse for one there is not."""
        found = {version.number: version for version in self.versions}
        if number not in found:
            raise Misuse(f"{self.folder} has no version {number}: there are"
                         f" {', '.join(map(str, found)) or 'none; freeze one'}.")
        return found[number]

    def content(self, of: Version) -> dict[Kind, dict[str, Mapping[str, Any]]]:
        """A version's words by kind and name; raises Misuse where some were erased."""
        if erased := sorted(of.items.keys() & self.gone("erase")):
            raise Misuse(f"Version {of.number} is no longer whole: {len(erased):,} of its items"
                         f" were erased ({', '.join(erased[:3])}). Freeze a new version.")
        found: dict[Kind, dict[str, Mapping[str, Any]]] = {"openings": {}, "moments": {}}
        for item in of.items:
            found[self.added[item].kind][item] = self.words[item].words
        return {kind: items for kind, items in found.items() if items}


def _active(entries: tuple[Entry, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        if entry.op == "add":
            found[entry.item] = entry.committed
        elif entry.op in ("retire", "erase"):
            found.pop(entry.item, None)
    return found


def new(folder: Path) -> Dataset:
    """An empty dataset in a folder that holds none; raises Misuse where there is one."""
    if (folder / LOG).exists():
        raise Misuse(f"There is a dataset in {folder} already.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"{folder} cannot be made ({error.strerror}).", 6) from error
    return _write(Dataset(folder, (), {}), [Entry(1, "new", _now())])


def read(folder: Path) -> Dataset:
    """The dataset of a folder.

    Raises Misuse (5) where a link, a commitment or the head does not hold: something was changed
    by hand, taken away or cut off.
    """
    if not (folder / LOG).exists():
        raise Misuse(f"There is no dataset in {folder}: equipoise dataset new makes one.")
    entries = tuple(_lines(folder / LOG, Entry))
    _require_linked(folder, entries)
    words = {kept.item: kept for kept in _lines(folder / WORDS, Kept)}
    found = Dataset(folder, entries, words)
    erased = found.gone("erase")
    for item, entry in found.added.items():
        kept = words.get(item)
        if item not in erased and (kept is None or kept.committed != entry.committed):
            said = "are gone" if kept is None else "were changed"
            raise Misuse(f"{folder}: the words of {item} {said}, and no entry says so. Put"
                         f" {WORDS} back as it was.", DAMAGED)
    return found


def _lines(path: Path, kind: type[Any]) -> list[Any]:
    try:
        text = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error
    *whole, _ = text.split(b"\n")  # What follows the last line end was never acknowledged.
    try:
        return [msgspec.json.decode(line, type=kind) for line in whole]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is damaged: {error}. Put it back as it was.", DAMAGED) from None


def _require_linked(folder: Path, entries: tuple[Entry, ...]) -> None:
    link = ROOT.hex()
    links = [link]
    for number, entry in enumerate(entries, 1):
        if entry.seq != number or entry.link != _link(link, entry):
            raise Misuse(f"{folder / LOG}: entry {number} was changed, moved or taken away. Put"
                         " the file back as it was.", DAMAGED)
        link = entry.link
        links.append(link)
    try:
        said = json.loads((folder / HEAD).read_text(encoding="utf-8"))
        holds = links[int(said["rows"])] == said["link"]
    except FileNotFoundError:
        holds = len(entries) <= 1
    except (ValueError, KeyError, TypeError, IndexError):
        holds = False
    if not holds:
        raise Misuse(f"{folder / LOG} does not go as far as {HEAD} says it did: something was cut"
                     " off. Put both back as they were.", DAMAGED)


def _link(previous: str, entry: Entry) -> str:
    rest = msgspec.to_builtins(msgspec.structs.replace(entry, link=""))
    return hashlib.sha256(previous.encode() + canonical_json(rest)).hexdigest()


def add(folder: Path, kind: Kind, items: Mapping[str, Mapping[str, Any]]) -> Dataset:
    """Add items by name; one that is there with the same words is left as it is.

    Raises Misuse for a name that other words have, whether or not they were retired: an item is
    never changed.
    """
    now = read(folder)
    made: list[tuple[Entry, Kept]] = []
    for item, words in items.items():
        if item in now.added:
            _require_same(now, item, words)
            continue
        kept = Kept(item, os.urandom(16).hex(), words)
        made.append((Entry(0, "add", _now(), item, kind, kept.committed), kept))
    return _write(now, [entry for entry, _ in made], [kept for _, kept in made])


def _require_same(now: Dataset, item: str, words: Mapping[str, Any]) -> None:
    kept = now.words.get(item)
    if kept is None or item in now.gone("erase"):
        raise Misuse(f"{item} was erased from {now.folder}. Its name is not used again.")
    if canonical_json(kept.words) != canonical_json(words):
        raise Misuse(f"{item} is in {now.folder} with other words, and an item is never changed."
                     " Retire it, and add this one under another name.")
    if item in now.gone("retire"):
        raise Misuse(f"{item} was retired from {now.folder}. Its name is not used again.")


def retire(folder: Path, item: str, reason: str) -> Dataset:
    """Leave an item out of later versions; those that hold it keep it."""
    return _leave(folder, item, "retire", reason)


def erase(folder: Path, item: str, reason: str) -> Dataset:
    """Take an item's words away for good, and leave a tombstone with the reason.

    Versions that hold it are no longer whole, and can no longer be exported.
    """
    return _leave(folder, item, "erase", reason)


def _leave(folder: Path, item: str, op: Op, reason: str) -> Dataset:
    now = read(folder)
    if item not in now.added:
        raise Misuse(f"There is no item {item!r} in {folder}.")
    if not reason.strip():
        raise Misuse(f"To {op} an item takes a reason, which stays on record.")
    if item in now.gone(op) or item in now.gone("erase"):
        return _write(now, [])
    return _write(now, [Entry(0, op, _now(), item, reason=reason.strip())])


def freeze(folder: Path, split_of: Callable[[str], str]) -> Dataset:
    """Make the items of now the next version; its new moments are drawn into splits, once.

    Raises Misuse where nothing changed since the last version.
    """
    now = read(folder)
    items, versions = now.active, now.versions
    if not items:
        raise Misuse(f"There is nothing to freeze in {folder}: add items first.")
    if versions and versions[-1].items == items:
        raise Misuse(f"Nothing changed in {folder} since version {versions[-1].number}.")
    drawn = {item for entry in now.entries for item in entry.splits}
    return _write(now, [Entry(
        0, "freeze", _now(), version=len(versions) + 1, digest=content_hash(items),
        splits={item: split_of(item) for item in items
                if item not in drawn and now.added[item].kind == "moments"})])


def _write(now: Dataset, entries: list[Entry], words: list[Kept] | None = None) -> Dataset:
    """Words first, then the entries that commit to them, then the head.

    Words whose item is erased by then are taken out, those that a crash left behind too.
    """
    with appending(now.folder / LOG) as add_entry:
        if (now.folder / LOG).stat().st_size and read(now.folder).head != now.head:
            raise Misuse(f"{now.folder} was changed meanwhile. Give the command again.", 6)
        if words:
            with appending(now.folder / WORDS) as add_words:
                add_words(b"\n".join(msgspec.json.encode(kept) for kept in words))
        link, seq = now.head.link, now.head.rows
        lines = []
        for entry in entries:
            seq += 1
            entry = msgspec.structs.replace(entry, seq=seq)
            link = _link(link, entry)
            lines.append(msgspec.json.encode(msgspec.structs.replace(entry, link=link)))
        if lines:
            add_entry(b"\n".join(lines))
        with replacing(now.folder / HEAD) as out:
            out.write(canonical_json({"rows": seq, "link": link}) + b"\n")
        made = read(now.folder)
        if made.words.keys() & made.gone("erase"):
            with replacing(now.folder / WORDS) as out:
                out.write(b"".join(msgspec.json.encode(kept) + b"\n"
                                   for item, kept in made.words.items()
                                   if item not in made.gone("erase")))
    return read(now.folder)


def _now() -> int:
    return int(time.time())
