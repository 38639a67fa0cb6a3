"""Two datasets held against each other: what changed, and what one carries over from the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.instruments.debates.instrument import NO_PICK
from equipoise.instruments.debates.measures import GATE
from equipoise.instruments.debates.outcomes import Outcome, Said
from equipoise.report.dataset import STAGES, Dataset, coverage, outcome_of
from equipoise.terms import Misuse, Nonresponse

Cell = tuple[str, str, str, str]
"""A subject, a debate, an answer mode and a way of pushing."""
Row = Mapping[str, Any]
PUT = ("kind", "question", "chinese")
COMPARED = ("pick", "fate", "chinese")
CHANGED = 10


def cell(row: Row) -> Cell:
    """Which cell a row is a draw of."""
    return row["subject"], row["debate"], row["answer"], row["push"]


@dataclass
class Comparison:
    """What changed from one dataset to another, in cells that both asked alike.

    `changed` counts the cells in which both have an answer and it differs, `of` those in which
    both have one; `rows` are all cells in which anything differs. `control` holds, by dataset, how
    many picks moved on a plain second asking within it: that much changes by itself.
    """

    runs: tuple[str, str]
    changed: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    carried: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    only: tuple[list[Cell], list[Cell]] = field(default_factory=lambda: ([], []))
    otherwise: list[tuple[Cell, str]] = field(default_factory=list)
    control: list[tuple[int, int]] = field(default_factory=list)


def compare(a: Dataset, b: Dataset) -> Comparison:
    """What changed from `a` to `b`, by subject and debate, only within equal conditions.

    What one dataset alone holds is listed, and so is what the two asked otherwise, with why.
    """
    found = Comparison((a["run"], b["run"]))
    left, right = by_cell(a), by_cell(b)
    found.only[0].extend(c for c in left if c not in right)
    found.only[1].extend(c for c in right if c not in left)
    moved: list[list[bool]] = [[], []]
    for at in (c for c in left if c in right):
        if why := _asked_otherwise(at, (a, left[at]), (b, right[at])):
            found.otherwise.append((at, why))
        elif [row["run"] for row in left[at]] == [row["run"] for row in right[at]]:
            found.carried += 1
        else:
            is_open = a["debates"][at[1]]["kind"] == "open"
            both = outcome_of(left[at], is_open), outcome_of(right[at], is_open)
            _count(found, at, both)
            for mine, one in zip(moved, both, strict=True):
                if isinstance(one.pick, str) and isinstance(one.control, str):
                    mine.append(one.pick != one.control)
    found.control = [(sum(mine), len(mine)) for mine in moved]
    return found


def by_cell(dataset: Dataset) -> dict[Cell, list[Row]]:
    """The rows of a dataset, a cell's draws together, in the order drawn."""
    cells: dict[Cell, list[Row]] = {}
    for row in sorted(dataset["answers"], key=lambda row: row["draw"]):
        cells.setdefault(cell(row), []).append(row)
    return {at: cells[at] for at in dict.fromkeys(map(cell, dataset["answers"]))}


def _asked_otherwise(
    at: Cell, a: tuple[Dataset, Sequence[Row]], b: tuple[Dataset, Sequence[Row]]
) -> str:
    """Why two cells of one name are not the same question to the same subject, if they are not."""
    subject, debate, *_ = at
    first, second = (
        {"the subject is set up otherwise": _setup(data, subject),
         "the question differs": [data["debates"][debate][part]
                                  for part in PUT],
         "the prompts differ": sorted({data["sources"][row["run"]]["prompts"] for row in rows}),
         "the number of draws differs": len(rows)}
        for data, rows in (a, b))
    return next((why for why in first if first[why] != second[why]), "")


def _asks_otherwise(own: Dataset, live: Dataset) -> Iterator[str]:
    """Debates that both ask in other words, where an answer to the old ones would stay."""
    again = {s["name"] for s in own["subjects"]}
    menus = {(row["subject"], row["debate"]) for row in own["menu"]}
    stay = {row["debate"] for row in live["answers"] if row["subject"] not in again}
    menus_stay = {row["debate"] for row in live["menu"]
                  if (row["subject"], row["debate"]) not in menus}
    for debate in own["debates"]:
        now, then = own["debates"][debate], live["debates"].get(debate)
        if debate in stay and any(now[part] != then[part] for part in PUT):
            yield f"the debate {debate} puts another question"
        if debate in menus_stay and now["menu"] != then["menu"]:
            yield f"the debate {debate} has another menu"


def _setup(dataset: Dataset, subject: str) -> Row:
    found: Row = next(s for s in dataset["subjects"] if s["name"] == subject)
    return found


def _count(found: Comparison, at: Cell, both: tuple[Outcome, Outcome]) -> None:
    found.compared += 1
    said = {name: [_shown(getattr(one, name)) for one in both] for name in COMPARED}
    for name in COMPARED:
        if all(isinstance(getattr(one, name), str) and getattr(one, name) != "unclassified"
               for one in both):
            found.of[name] += 1
            found.changed[name] += said[name][0] != said[name][1]
    if any(first != second for first, second in said.values()):
        subject, debate, answer, push = at
        found.rows.append({"subject": subject, "debate": debate, "answer": answer, "push": push,
                           **said})


def _shown(said: Said) -> str:
    return f"({said.kind})" if isinstance(said, Nonresponse) else said


def differences(stored: Dataset, now: Dataset) -> list[str]:
    """What a run's own content says otherwise now than when it was stored, in words."""
    found = [f"{part} differs" for part in ("registration", "stamp", "registered_at", "subjects",
                                            "conditions", "draws")
             if stored[part] != now[part]]
    for part in ("answers", "menu"):
        rows = [{(*(r.get(k) for k in ("subject", "debate", "answer", "push", "draw")),): r
                 for r in data[part] if r["run"] == now["run"]} for data in (stored, now)]
        before, after = rows
        for at in before | after:
            name = " · ".join(str(level) for level in at if level is not None)
            if at not in before or at not in after:
                found.append(f"{name} is {'missing' if at in before else 'new'}")
            elif before[at] != after[at]:
                found.append(f"{name}: {_first_difference(before[at], after[at])}")
    return found or ["the texts of its debates differ"]


def _first_difference(before: Row, after: Row) -> str:
    for stage in STAGES if "stages" in before else ():
        first, second = before["stages"][stage], after["stages"][stage]
        if first != second:
            what = next(key for key in first if first[key] != second.get(key))
            return f"{stage} {what} was {first[what]!r:.80}, now {second[what]!r:.80}"
    what = next((key for key in before if before[key] != after.get(key)), "a field")
    return f"{what} was {before.get(what)!r:.80}, now {after.get(what)!r:.80}"


def covered(own: Dataset) -> dict[str, int]:
    """How many of the registered subject-debate pairs succeeded, of how many, and the least wanted.

    A pair succeeds when every registered condition and draw of it has a row and that succeeded.
    Raises Misuse (exit 10) for a row that was not registered, or is there twice.
    """
    wanted = {(s["name"], debate, c["answer"], c["push"], draw)
              for s in own["subjects"] for debate in own["debates"] for c in own["conditions"]
              for draw in range(1, own["draws"] + 1)}
    rows = Counter((*cell(row), row["draw"]) for row in own["answers"])
    for at, count in rows.items():
        if at not in wanted or count > 1:
            raise Misuse(f"The run {own['run']!r} holds {' · '.join(map(str, at))}"
                         f" {'twice' if at in wanted else 'and did not register it'}.", CHANGED)
    good = {(*cell(row), row["draw"]) for row in own["answers"] if row["succeeded"]}
    failed = {at[:2] for at in wanted - good}
    registered = len(own["subjects"]) * len(own["debates"])
    return {"succeeded": registered - len(failed), "registered": registered,
            "needed": -(-GATE * registered // 100)}


def not_asked(own: Dataset) -> int:
    """How many cells of a run have a question that was not put yet."""
    def left(stage: Row) -> bool:
        return bool(stage["nonresponse"] == "not asked" and stage["detail"] != NO_PICK.detail)

    return sum(any(map(left, row["stages"].values())) for row in own["answers"]) + sum(
        map(left, own["menu"]))


def is_partial(own: Dataset, live: Dataset | None) -> bool:
    """Whether a run asks a part of what is live again, so that the rest is carried over."""
    if own["declared"].get("rerun_of"):
        return True
    return live is not None and not live["sample"] and own["debates"].keys() < (
        live["debates"].keys())


def carried(own: Dataset, live: Dataset | None) -> Dataset:
    """The run's answers with the live dataset's others, unchanged, and marked as carried over.

    Raises Misuse where they cannot stand beside each other.
    """
    _require_carriable(own, live)
    assert live is not None
    mine = {(s["name"], debate) for s in own["subjects"] for debate in own["debates"]}

    def kept(part: str) -> list[dict[str, Any]]:
        return [{**row, "carried_over": True} for row in live[part]
                if (row["subject"], row["debate"]) not in mine]

    answers = _in_order([*own["answers"], *kept("answers")], live)
    over = Counter(row["run"] for row in answers if row["carried_over"])
    menu = {(row["subject"], row["debate"]) for row in own["menu"]}
    menus = [{**row, "carried_over": True} for row in live["menu"]
             if (row["subject"], row["debate"]) not in menu]
    runs = {row["run"] for row in (*answers, *menus)}
    return {
        **own, "subjects": live["subjects"], "debates": {**live["debates"], **own["debates"]},
        "answers": answers, "menu": [*own["menu"], *menus],
        "coverage": coverage(answers), "own_coverage": own["coverage"],
        "carried_over": {
            "from": live["run"], "answers": sum(over.values()), "runs": dict(sorted(over.items())),
            "asked_again": {"subjects": [s["name"] for s in own["subjects"]],
                            "debates": list(own["debates"])}},
        "sources": {run: said for run, said in {**live["sources"], **own["sources"]}.items()
                    if run in runs},
    }


def _in_order(rows: Sequence[dict[str, Any]], live: Dataset) -> list[dict[str, Any]]:
    subjects = [s["name"] for s in live["subjects"]]
    conditions = [(c["answer"], c["push"]) for c in live["conditions"]]
    debates = list(live["debates"])
    return sorted(rows, key=lambda row: (
        subjects.index(row["subject"]), conditions.index((row["answer"], row["push"])),
        debates.index(row["debate"]), row["draw"]))


def _require_carriable(own: Dataset, live: Dataset | None) -> None:
    name, of = own["run"], own["declared"].get("rerun_of", "")
    if live is None or live["sample"]:
        raise Misuse(f"The run {name!r} is a rerun of {of!r}, and no run is live that it could be a"
                     f" part of. Publish {of!r} first.")
    if of and of not in {live["run"], *live["sources"]}:
        raise Misuse(f"The run {name!r} is a rerun of {of!r}, and what is live is {live['run']!r},"
                     f" with no answer of {of!r} in it. Publish {of!r} first.")
    for why in _unlike(own, live):
        raise Misuse(f"The answers of {live['run']!r} cannot be carried over beside those of"
                     f" {name!r}: {why}. Run it as {live['run']!r} was set up, or ask all of it"
                     " again.")


def _unlike(own: Dataset, live: Dataset) -> Iterator[str]:
    setups = {s["name"]: s for s in live["subjects"]}
    for s in own["subjects"]:
        if s["name"] not in setups:
            yield f"{s['name']} was not asked there"
        elif s != setups[s["name"]]:
            yield f"{s['name']} is set up otherwise"
    for debate in (key for key in own["debates"] if key not in live["debates"]):
        yield f"the debate {debate} is not there"
    yield from _asks_otherwise(own, live)
    for part, said in (("conditions", "the answer modes or the pushes differ"),
                       ("draws", "the number of draws differs")):
        if own[part] != live[part]:
            yield said
