"""Items of a dataset as files hold them: read from TOML, JSON Lines or CSV, written as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.answers import rows_of
from equipoise.datasets import Kind
from equipoise.terms import Misuse

Items = dict[str, dict[str, Any]]
MOMENT_COLUMNS = ("name", "language", "question", "page", "said", "after")
OPENING_COLUMNS = ("name", "language", "question", "page", "said")
BARE = re.compile(r"[A-Za-z0-9_-]+")
ANSWERED = " => "


def read_items(path: Path) -> dict[Kind, Items]:
    """The items of a file by kind and name: openings have turns, moments a page after.

    Raises Misuse that names what cannot be read.
    """
    if path.suffix == ".csv":
        return _from_csv(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Misuse(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise Misuse(f"{path} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error
    if path.suffix == ".toml":
        try:
            return _by_kind(path, tomllib.loads(text).items())
        except tomllib.TOMLDecodeError as error:
            raise Misuse(f"{path} is not TOML: {error}. Mend that line.") from error
    if path.suffix == ".jsonl":
        return _by_kind(path, _json_items(path, text))
    raise Misuse(f"{path} is none of .toml, .jsonl and .csv.")


def _json_items(path: Path, text: str) -> Iterable[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            name = said.pop("name")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise Misuse(f"{path}, line {number}: wanted an object with a name, and the keys of"
                         " a moment or an opening.") from None
        yield name, said


def _by_kind(path: Path, items: Iterable[tuple[str, Any]]) -> dict[Kind, Items]:
    found: dict[Kind, Items] = {}
    for name, said in items:
        if not isinstance(said, dict) or not ("turn" in said or "after" in said):
            raise Misuse(f"{path}: {name} is neither an opening, which has turns, nor a moment,"
                         " which has the page after.")
        kind: Kind = "openings" if "turn" in said else "moments"
        if name in found.setdefault(kind, {}):
            raise Misuse(f"{path}: {name} is there twice.")
        found[kind][name] = said
    return found


def _from_csv(path: Path) -> dict[Kind, Items]:
    """A row a moment, or a row a turn of an opening; which, the column `after` says."""
    rows = rows_of(path, OPENING_COLUMNS)
    if rows and "after" not in rows[0][1]:
        return {"openings": _openings(path, rows)}
    found: Items = {}
    for number, row in rows_of(path, MOMENT_COLUMNS):
        where = f"{path}, line {number}"
        if row["name"] in found:
            raise Misuse(f"{where}: {row['name']} is there twice.")
        found[row["name"]] = _moment(where, row)
    return {"moments": found}


def _moment(where: str, row: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "language": row["language"].strip(), "question": row["question"].strip(),
        "at_stake": row.get("at_stake", "").strip(), "page": page(row["page"]),
        "said": row["said"].strip(), "after": page(row["after"]),
        "engine": row.get("engine", "").strip() or "full",
        "present": names(row.get("present", "")),
        "shown": {name: _line(where, line) for name, line in pairs(
            where, row.get("shown", "").replace(";", "\n"), "=")},
    }
    if row.get("at_stake_after", "").strip():
        said["at_stake_after"] = row["at_stake_after"].strip()
    if reasons := dict(pairs(where, row.get("reason", ""), ":")):
        said["reason"] = reasons
    return said


def _openings(path: Path, rows: Sequence[tuple[int, dict[str, str]]]) -> Items:
    found: Items = {}
    for number, row in rows:
        where = f"{path}, line {number}"
        opening = found.setdefault(row["name"], {
            "language": row["language"].strip(), "question": row["question"].strip(),
            "at_stake": row.get("at_stake", "").strip(), "page": page(row["page"]),
            "earlier": [{"by": by, "text": text} for by, text in pairs(
                where, row.get("earlier", ""), ":")],
            "turn": []})
        opening["turn"].append({"said": row["said"].strip(),
                                "present": names(row.get("present", ""))})
    return found


def page(cell: str) -> list[dict[str, str]]:
    """A page from a cell: a line each, with an answer behind the arrow where it is settled.

    >>> page("By when?\\nWho says so? => My uncle.")
    [{'text': 'By when?', 'answer': ''}, {'text': 'Who says so?', 'answer': 'My uncle.'}]
    """
    parts = [line.partition(ANSWERED) for line in cell.splitlines() if line.strip()]
    return [{"text": text.strip(), "answer": answer.strip()} for text, _, answer in parts]


def names(cell: str) -> list[str]:
    """Names between semicolons or spaces.

    >>> names("framing; one-sided")
    ['framing', 'one-sided']
    """
    return cell.replace(";", " ").split()


def pairs(where: str, cell: str, between: str) -> list[tuple[str, str]]:
    """A name and what belongs to it, a line each; raises Misuse for a line without both."""
    found = []
    for line in cell.splitlines():
        if not line.strip():
            continue
        name, mark, rest = line.partition(between)
        if not mark or not rest.strip():
            raise Misuse(f"{where}: {line.strip()!r} is to be a name, {between!r} and what belongs"
                         " to it.")
        found.append((name.strip(), rest.strip()))
    return found


def _line(where: str, text: str) -> int:
    if not text.isdecimal():
        raise Misuse(f"{where}: {text!r} is no number of a line.")
    return int(text)


def as_toml(items: Mapping[str, Mapping[str, Any]], notice: Sequence[str]) -> str:
    """Items as a file of stimuli, a table each.

    >>> print(as_toml({"a b": {"n": 1, "page": [{"text": "Why?"}]}}, ["Made."]), end="")
    # Made.
    <BLANKLINE>
    ["a b"]
    n = 1
    page = [{ text = "Why?" }]
    """
    said = "".join(f"# {line}\n" for line in notice)
    for name, item in items.items():
        said += f"\n[{_key(name)}]\n" + "".join(
            f"{_key(key)} = {_value(value)}\n" for key, value in item.items())
    return said


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
