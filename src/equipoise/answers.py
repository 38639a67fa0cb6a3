"""Files of queues, answers and adjudications: JSON Lines, only ever added to, and the CSV form."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from equipoise.gold import Adjudication
from equipoise.labelling import ANSWERS, TASKS, Act, Answer, Item, Task
from equipoise.terms import Misuse

T = TypeVar("T", bound=Struct)
COLUMNS = ("moment", "bias", "task", "rater", "label", "reason")


class Settled(Struct, frozen=True, omit_defaults=True):
    """An adjudication as it is written down; an empty label: it is not to be settled."""

    id: str
    task: Task
    bias: str
    by: str
    definition: str
    reason: str
    label: str = ""
    at: int = 0

    def as_adjudication(self) -> Adjudication:
        return Adjudication(self.id, self.by, self.label or None, self.reason, self.definition)


def read_lines(path: Path, kind: type[T]) -> list[T]:
    """The values a file holds, a line each; raises Misuse that names the line that is none.

    A last line without an end that cannot be read was cut short as it was written, and left out.
    """
    text = _text(path)
    decode = msgspec.json.Decoder(kind).decode
    found: list[T] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(decode(line))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            if number == len(lines):
                break
            raise Misuse(f"{path}, line {number}: {error}. Wanted an object with"
                         f" {', '.join(kind.__struct_fields__)}.") from None
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Misuse(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise Misuse(f"{path} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error


def lines_of(values: Iterable[Struct | Mapping[str, Any]]) -> bytes:
    """Values as JSON Lines."""
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def read_queue(path: Path) -> list[Item]:
    """The items of a queue; raises Misuse for a file that holds none, or one twice."""
    items = read_lines(path, Item)
    if not items:
        raise Misuse(f"The queue {path} holds no item.")
    if len({(item.task, item.id) for item in items}) < len(items):
        raise Misuse(f"The queue {path} holds an item twice. Make it anew.")
    return items


def read_answers(path: Path, stamps: Mapping[str, str]) -> list[Answer]:
    """What raters did, from JSON Lines, or from a CSV with the columns of a suite's ratings.

    CSV rows have no stamp unless there is a column `definition`: they count as given under
    `stamps`, the definitions of now by bias. Their ids are moment/bias/task. Raises Misuse for a
    row that is none.
    """
    if path.suffix != ".csv":
        found = read_lines(path, Answer)
        for number, answer in enumerate(found, 1):
            if answer.act == "answer" and answer.label not in ANSWERS:
                raise Misuse(f"{path}, answer {number}: the label is {answer.label!r}, wanted"
                             f" {', '.join(ANSWERS)}.")
        return found
    return [_answer(path, number, row, stamps) for number, row in rows_of(path, COLUMNS)]


def rows_of(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """A CSV file's rows with the line each ends on; a cell may hold several lines.

    Raises Misuse where a column is missing, or a row has more or fewer cells than there are
    columns.
    """
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise Misuse(f"{path} has no column {', '.join(missing)}. Columns are"
                         f" {', '.join(columns)}.")
        found = []
        for row in reader:
            if None in row or None in row.values():
                raise Misuse(f"{path}, line {reader.line_num}: wanted"
                             f" {len(reader.fieldnames or ())} cells. A comma inside a cell needs"
                             " quotes.")
            found.append((reader.line_num, row))
    except csv.Error as error:
        raise Misuse(f"{path}, line {reader.line_num + 1}: not CSV ({error}).") from error
    return found


def _answer(path: Path, number: int, row: Mapping[str, str], stamps: Mapping[str, str]) -> Answer:
    said = {name: value.strip() for name, value in row.items()}
    where = f"{path}, line {number}"
    if said["bias"] not in stamps:
        raise Misuse(f"{where}: the bias {said['bias']!r} is not defined.")
    task = next((task for task in TASKS if task == said["task"]), None)
    if task is None or said["label"] not in (*ANSWERS, ""):
        raise Misuse(f"{where}: wanted a task shown or present, and a label yes, no, unknown or"
                     " none.")
    item = f"{said['moment']}/{said['bias']}/{task}"
    act: Act = "answer" if said["label"] else "skip"
    return Answer(act, item, task, said["bias"], said["rater"],
                  said.get("definition") or stamps[said["bias"]], said["label"],
                  reason=said["reason"])
