"""A provider's own figures, as it exports them, held against the calls on record."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.cli.tallies import Booked
from equipoise.terms import Misuse

IDS = ("id", "generation_id", "request_id")
COSTS = ("cost", "total_cost", "cost_total", "cost_usd", "usage", "amount_value", "amount")
TOLERANCE, CENT = 0.01, 5e-7
"""A hundredth of the bill; and the half of a millionth of a dollar to which exports round."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What a provider says: the cost of each call by its id, or only sums without ids."""

    calls: Mapping[str, float]
    total: float

    @property
    def by_call(self) -> bool:
        return bool(self.calls)


@dataclass(frozen=True, slots=True)
class Difference:
    """A call on which ledger and bill differ, in USD, and the reason."""

    id: str
    ours: float
    theirs: float
    reason: str


@dataclass(frozen=True)
class Compared:
    """Ledger and bill side by side, in USD.

    `theirs` is the bill's sum over this run's calls where it names calls, else its whole sum.
    `unexplained` is what is left of the difference when calls that are booked at their worst,
    since no reply says what they cost, are set aside.
    """

    ours: float
    theirs: float
    unexplained: float
    matched: int
    elsewhere: int
    elsewhere_usd: float
    differences: tuple[Difference, ...]

    @property
    def share(self) -> float:
        """The difference as a part of the bill."""
        off = abs(self.ours - self.theirs)
        return off / self.theirs if self.theirs else math.inf if off > CENT else 0.0

    @property
    def agrees(self) -> bool:
        return abs(self.unexplained) <= max(TOLERANCE * self.theirs, CENT)


def compared(ours: Iterable[Booked], theirs: Bill) -> Compared:
    """Hold every call on record against a bill."""
    booked = list(ours)
    total = sum(b.usd for b in booked)
    guessed = sum(b.usd for b in booked if b.at_worst)
    if not theirs.by_call:
        off = total - theirs.total
        # What is booked at its worst may have cost anything from nothing up to that.
        left = off if off < 0 else max(off - guessed, 0.0)
        found = [Difference(b.id, b.usd, 0.0, "unknown: booked at its worst")
                 for b in booked if b.at_worst and b.usd]
        return Compared(total, theirs.total, left, 0, 0, 0.0, tuple(found))
    differences = [d for b in booked if (d := _difference(b, theirs.calls)) is not None]
    known = {b.id for b in booked if b.id in theirs.calls}
    sum_theirs = sum(theirs.calls[i] for i in known)
    elsewhere = [cost for i, cost in theirs.calls.items() if i not in known]
    left = sum(b.usd - theirs.calls.get(b.id, 0.0) for b in booked if not b.at_worst)
    return Compared(total, sum_theirs, left, len(known), len(elsewhere), sum(elsewhere),
                    tuple(differences))


def _difference(b: Booked, calls: Mapping[str, float]) -> Difference | None:
    cost = calls.get(b.id)
    if cost is None:
        if b.at_worst and not b.id:
            reason = "unknown: sent, with no reply on record, so the bill's id is not known"
        elif b.at_worst:
            reason = "here at its worst, as the reply states no tokens; not in the bill"
        else:
            reason = "here and not in the bill"
        return Difference(b.id, b.usd, 0.0, reason) if b.usd > CENT or b.at_worst else None
    if abs(b.usd - cost) <= max(TOLERANCE * cost, CENT):
        return None
    how = ("here at its worst, as the reply states no tokens" if b.at_worst else
           "another amount than the reply stated" if b.stated else
           "another amount than by the recorded price")
    return Difference(b.id, b.usd, cost, how)


def bill(file: Path) -> Bill:
    """Read a provider's export: CSV with a heading, JSON Lines, or one JSON value.

    Raises Misuse where a row has no cost, or one that is no number.
    """
    rows = list(_rows(file))
    if not rows:
        raise Misuse(f"{file} holds no rows.")
    calls: dict[str, float] = {}
    total = 0.0
    for number, row in enumerate(rows, 1):
        cost = _cost(file, number, row)
        total += cost
        found = next((str(row[name]) for name in IDS if row.get(name)), "")
        if found:
            calls[found] = calls.get(found, 0.0) + cost
    return Bill(calls, total)


def _cost(file: Path, number: int, row: Mapping[str, Any]) -> float:
    value = next((row[name] for name in COSTS if row.get(name) not in (None, "")), None)
    if isinstance(value, Mapping):
        value = value.get("value")
    try:
        cost = float(str(value).strip().removeprefix("$"))
    except ValueError:
        cost = math.nan
    if value is None or not math.isfinite(cost):
        raise Misuse(f"Row {number} of {file} has no cost. Wanted one of {', '.join(COSTS)}, in"
                     " USD; docs/costs.md shows the forms.")
    return cost


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Misuse(f"{file} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"{file} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error
    if not text.lstrip().startswith(("{", "[")):
        for row in csv.DictReader(text.splitlines()):
            yield {(name or "").strip().casefold(): value for name, value in row.items()
                   if isinstance(name, str)}
        return
    for value in _json_values(file, text):
        yield from _flat(file, value)


def _json_values(file: Path, text: str) -> Sequence[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise Misuse(f"{file} is neither JSON nor JSON Lines ({error}).") from error


def _flat(file: Path, value: Any) -> Iterator[Mapping[str, Any]]:
    """The rows in an answer of an API: lists, pages (`data`) and days (`results`) opened."""
    if isinstance(value, list):
        for one in value:
            yield from _flat(file, one)
    elif isinstance(value, dict):
        inner = next((value[name] for name in ("data", "results")
                      if isinstance(value.get(name), list | dict)), None)
        if inner is None:
            yield value
        else:
            yield from _flat(file, inner)
    else:
        raise Misuse(f"{file} holds {type(value).__name__} where a row with a cost was wanted.")
