"""What subjects are shown: prompts, items and the tables that go with them, read from a folder."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

from equipoise.terms import Misuse, content_hash


@dataclass(frozen=True)
class Stimuli:
    """One folder of stimuli, named by its content: any change to it is another stamp.

    `texts` are the files as they stand, by file name; `files` what they say, by name without
    the ending.
    """

    stamp: str
    texts: Mapping[str, str]
    files: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.files[name]


def load(folder: Path, *, beneath: Path | None = None, only: Sequence[str] = ()) -> Stimuli:
    """Every TOML and CSV file in `folder`; of those named in `only`, what it lacks is `beneath`'s.

    Raises Misuse naming the file and the line that cannot be read.
    """
    if not folder.is_dir():
        raise Misuse(f"There is no folder {folder}. Name a folder that holds the stimuli.")
    found = _texts(beneath) if beneath else {}
    return parse({name: found[name] for name in only} | _texts(folder))


def parse(texts: Mapping[str, str]) -> Stimuli:
    """Stimuli from files' texts, by file name."""
    files = {Path(name).stem: PARSERS[Path(name).suffix](name, texts[name]) for name in texts}
    return Stimuli(content_hash(dict(texts)), dict(texts), files)


def _texts(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in PARSERS:
            continue
        try:
            found[path.name] = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            raise Misuse(f"{path}, line {line}: not UTF-8. Save the file as UTF-8.") from error
    return found


def _toml(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Misuse(f"{name} is not TOML: {error}. Mend that line.") from error


def _csv(name: str, text: str) -> list[dict[str, str]]:
    """Rows by column, each with the line it stands on under `line`."""
    reader = csv.DictReader(text.splitlines(), strict=True)
    rows = []
    try:
        for row in reader:
            if None in row or None in row.values():
                columns = reader.fieldnames or ()
                found = sum(v is not None for v in row.values())
                raise Misuse(
                    f"{name}, line {reader.line_num}: found {found} fields"
                    f"{' or more' if None in row else ''}, wanted {len(columns)}"
                    f" ({', '.join(columns)}). A comma inside a field needs quotes."
                )
            rows.append({k: v.strip() for k, v in row.items()} | {"line": str(reader.line_num)})
    except csv.Error as error:
        raise Misuse(f"{name}, line {reader.line_num + 1}: not CSV ({error}).") from error
    return rows


PARSERS: dict[str, Callable[[str, str], Any]] = {".toml": _toml, ".csv": _csv}


def slots(template: str) -> frozenset[str]:
    """The `$name` slots of a prompt.

    >>> sorted(slots("$first or ${second}?"))
    ['first', 'second']
    """
    return frozenset(Template(template).get_identifiers())


def render(template: str, **values: str) -> str:
    """Fill in a prompt's `$name` slots: all of them, and with nothing to spare.

    >>> render("$first or $second?", first="vodka", second="whiskey")
    'vodka or whiskey?'
    >>> render("$first, $second?", first="vodka", third="gin")
    Traceback (most recent call last):
    equipoise.terms.Misuse: The prompt '$first, $second?' does not fit: missing second; spare third.
    """
    pieces, wanted = _pieces(template)
    if wanted != values.keys():
        raise Misuse(f"The prompt {template[:40]!r} does not fit: {misfit(wanted, values.keys())}.")
    return "".join([values[text] if slot else text for slot, text in pieces])


def misfit(wanted: frozenset[str], given: Iterable[str]) -> str:
    """Which slots are missing and which are spare, all at once."""
    have = frozenset(given)
    said = []
    if missing := sorted(wanted - have):
        said.append(f"missing {', '.join(missing)}")
    if spare := sorted(have - wanted):
        said.append(f"spare {', '.join(spare)}")
    return "; ".join(said)


@lru_cache(maxsize=512)
def _pieces(template: str) -> tuple[tuple[tuple[bool, str], ...], frozenset[str]]:
    """The template cut at its slots: (is it a slot, its text or name)."""
    parts: list[tuple[bool, str]] = []
    at = 0
    for found in re.finditer(r"\$(?:(\$)|\{([a-z_]+)\}|([a-z_]+))", template):
        parts.append((False, template[at : found.start()] + (found[1] or "")))
        if name := found[2] or found[3]:
            parts.append((True, name))
        at = found.end()
    parts.append((False, template[at:]))
    return tuple(parts), frozenset(name for slot, name in parts if slot)
