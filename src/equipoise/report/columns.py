"""What each column of exported cells means, and of which type it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

Type = Literal["text", "integer", "number", "boolean"]
Row = Mapping[str, Any]

MEANINGS: Mapping[str, str] = {
    "subject": "Whom was asked: a model as it was set up.",
    "item": "The content asked about.",
    "draw": "Which pass through the cell, from 1.",
    "reply": "The reply's text, exactly; what Unicode cannot hold is an escape.",
    "finish": "How the reply ended: stop, length (cut off at the token limit), filter or other.",
    "prompt_tokens": "Tokens of the prompt, as the provider counted them; empty where it did not.",
    "completion_tokens": "Tokens of the reply, as the provider counted them.",
    "reasoning_tokens": "Tokens of reasoning, as the provider counted them.",
    "cost_usd": "What the call cost in USD, where the provider states it.",
    "control_pick": "The canonical pick when the question was simply asked again.",
    "push_pick": "The canonical pick after the push.",
    "chinese_pick": "The canonical pick when the question was asked in Chinese.",
    "ranking": "The answer's ranking, best first.",
    "points": "The points that the answer gave.",
    "criteria": "The criteria that the answer named.",
    "name_rule": "The rule by which the pick's name was made canonical.",
    "problem": "What the first answer was told was wrong with it; empty where nothing was.",
    "turns_written": "How many turns of the conversation were written.",
    "at_stake": "What the last page says is at stake.",
    "last_page": "The last version of the page, a line each.",
    "edits": "How many changes to the page the turn made; empty where none was written.",
    "target": "The log's own target: what its tool held the reply to.",
    "lost": "Why the log holds no reply; empty where it does.",
    "cached": "Whether the log says that the reply came from a cache.",
    "copy_of_a_draw": "Why the row is no draw of its own: cache (the text of another draw of its"
    " cell, from a cache) or filter (the same reply under another filter); empty where it is one.",
}
ENDINGS: Mapping[str, str] = {
    "shown": "Whether {0}, the reader and the bias, found its debias shown; unknown where the"
    " reader could not decide.",
    "misfires": "Why {0}, the reader and the bias, found the debias shown where it should not be.",
    "outcome": "What became of the debias by {0}, the reader and the bias; empty where nothing.",
    "verdict": "Whether the page met the rule of {0}: met, not met, or the kind of nonresponse.",
    "nonresponse": "Why there is no pick at the stage {0}; empty where there is.",
    "reply": "The last reply of the stage {0}, exactly.",
    "problem": "What the first answer of the stage {0} was told was wrong with it.",
}


class Column(Struct, frozen=True):
    """A column's name, the type of what it holds, and what it means."""

    name: str
    type: Type
    meaning: str


def columns(
    rows: Sequence[Row], factors: Mapping[str, Sequence[str]], readers: Iterable[str]
) -> list[Column]:
    """Every column of the rows, in order; `factors` and `readers` are those of the run."""
    names = dict.fromkeys(name for row in rows for name in row)
    made = _made_by(readers)
    return [Column(name, _type(row.get(name, "") for row in rows),
                   made.get(name) or _of_factor(name, factors) or _of_ending(name)
                   or MEANINGS.get(name, ""))
            for name in names]


def _made_by(readers: Iterable[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for reader in readers:
        said |= {
            reader: f"What the reader {reader} read in the reply; empty where there is no answer.",
            f"{reader}_nonresponse": f"Why {reader} read no answer: refused, unclear, invalid,"
            " truncated, error or not asked; empty where it read one.",
            f"{reader}_rule": f"The published rule by which {reader} decided.",
        }
    return said


def _of_factor(name: str, factors: Mapping[str, Sequence[str]]) -> str:
    if name not in factors:
        return ""
    levels = ", ".join(factors[name][:12]) + (" …" if len(factors[name]) > 12 else "")
    return f"The level of the factor {name}: {levels}."


def _of_ending(name: str) -> str:
    of, _, what = name.rpartition("_")
    return ENDINGS[what].format(of.replace("_", " ")) if what in ENDINGS and of else ""


def _type(values: Iterable[Any]) -> Type:
    """The narrowest type that holds every value; empty text is no value of the narrow ones."""
    kinds = {type(value) for value in values if not (isinstance(value, str) and not value)}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "integer"
    return "number" if kinds and kinds <= {int, float} else "text"


def value(column: Column, row: Row) -> Any:
    """A row's value in a column's type: None for an empty number, text otherwise."""
    found = row.get(column.name, "")
    if column.type == "text":
        text = found if isinstance(found, str) else str(found)
        return text.encode("utf-8", "backslashreplace").decode()
    return None if found == "" else found


def dictionary(found: Iterable[Column]) -> str:
    """The columns as a table of their own: a line of CSV each.

    >>> print(dictionary([Column("draw", "integer", "Which pass.")]), end="")
    column,type,meaning
    draw,integer,Which pass.
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["column", "type", "meaning"])
    lines.writerows([column.name, column.type, column.meaning] for column in found)
    return out.getvalue()
