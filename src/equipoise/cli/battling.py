"""The acts behind `battle`: pages for people to choose between, and what they chose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.running import read_run
from equipoise.cli.screen import emit, emit_json, say
from equipoise.instruments.replay.battles import CHOICES, Chosen, battles, chosen
from equipoise.instruments.replay.instrument import NAME
from equipoise.ledger import Ledger, Where
from equipoise.replacing import replacing
from equipoise.report.words import number, p_value
from equipoise.terms import Misuse


def write_battles(
    path: Where, name: str, out: Path, key: Path, seed: int, page: Path | None = None
) -> None:
    """Write the battles of a run for people, as data and if wanted as a page, and their key.

    Raises Misuse for a run whose readers do not disagree, and for files that are there: a key
    written anew would turn the choices made under the old one round.
    """
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
    finally:
        ledger.close()
    if laid_out.registration.instrument != NAME:
        raise Misuse(f"The run {name!r} is of {laid_out.registration.instrument}, not a replay.")
    if there := [file for file in (out, key, page) if file is not None and file.exists()]:
        raise Misuse(f"{' and '.join(map(str, there))} would be written over, and choices may have"
                     " been made by it. Name another file.")
    made = battles(laid_out.suite, laid_out.analyse(found.observations).comparisons,
                   found.observations, f"{run.name}/{seed}")
    if not made:
        raise Misuse(f"No battle is called for: no readers of {name} disagree on the direction.")
    _write(key, [{"run": run.name, "seed": seed, **battle.key()} for battle in made])
    _write(out, [battle.shown() for battle in made])
    if page is not None:
        from equipoise.report.battles import page as sheet
        from equipoise.report.writing import write_whole

        write_whole(page, sheet([battle.shown() for battle in made]))
    say(f"{out}: {len(made)} battles for people; {key}: which side is which. Keep the key from"
        " them. A person answers in JSON Lines: {\"battle\": \"battle-01\", \"by\": \"NAME\","
        " \"choice\": \"left\"}, or right, or same.")


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with replacing(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace"))
            file.write(b"\n")


def read_choices(name: str, key: Path, answers: Sequence[Path], as_json: bool) -> None:
    """Join people's choices to the key, and say which arm they chose; of a person the last counts.

    Raises Misuse that names what is no choice, and for the key of another run.
    """
    keys = _rows(key, ("battle", "left", "run"))
    if strange := {row["run"] for row in keys} - {name}:
        raise Misuse(f"{key} is the key of {', '.join(sorted(map(str, strange)))}, not of {name}.")
    sides = {row["battle"]: row["left"] for row in keys}
    choices: dict[tuple[str, str], Any] = {}
    for file in answers:
        for row in _rows(file, ("battle", "by", "choice")):
            if row["battle"] not in sides or row["choice"] not in CHOICES:
                raise Misuse(f"{file}: {row['choice']!r} in {row['battle']!r} is no choice in a"
                             f" battle of {name}. Choices are {', '.join(CHOICES)}.")
            choices[row["battle"], row["by"]] = row["choice"]
    _show(name, chosen(sides, choices), len(sides), as_json)


def _rows(path: Path, wanted: Sequence[str]) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")
                if line.strip()]
        if not all(isinstance(row, dict) and all(isinstance(row.get(part), str) for part in wanted)
                   for row in rows):
            raise ValueError(f"wanted {', '.join(wanted)} on each line, as texts")
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise Misuse(f"{path} does not hold what it should: {error}.") from None
    return rows


def _show(name: str, found: Chosen, every: int, as_json: bool) -> None:
    if as_json:
        emit_json({"run": name, "battles": every, "B": found.b, "A": found.a,
                   "same": found.test.ties, "split": found.split, "waiting": found.waiting,
                   "people": found.people, "p": found.test.p})
        return
    people = "1 person" if found.people == 1 else f"{number(found.people, 0)} people"
    emit(f"Of {every} openings on which the readers disagree, people found B's page better in"
         f" {found.b}, A's in {found.a}, and neither in {found.test.ties}; {found.split} are split,"
         f" {found.waiting} wait for a choice ({people}). Two-sided exact sign test of their"
         f" choices: p {p_value(found.test.p)}.")
