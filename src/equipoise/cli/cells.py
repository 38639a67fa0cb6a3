"""A run's cells as they are exported, whether it was registered or imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.cli.imported import Cell, read_cells, rows
from equipoise.cli.recorded import How
from equipoise.cli.studies import Study, first_question, handling
from equipoise.elicit import NO_REPLY
from equipoise.ledger import Ledger, Run
from equipoise.recorded.record import part
from equipoise.registration import Registration
from equipoise.report.inspect_log import Sample
from equipoise.terms import Completion, Message, Misuse, Nonresponse, Observation, Reading, user


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows, one a cell; the run's factors and readers; and each row as a sample, when asked."""

    rows: Sequence[dict[str, Any]]
    factors: Mapping[str, Sequence[str]]
    readers: Sequence[str]
    sampled: Sequence[Callable[[], Sample]]

    def of(self, subject: str) -> Cells:
        """The cells of one subject; raises Misuse for one there is not."""
        kept = [place for place, found in enumerate(self.rows) if found["subject"] == subject]
        if not kept:
            named = ", ".join(dict.fromkeys(str(found["subject"]) for found in self.rows))
            raise Misuse(f"No subject {subject!r} in this run: there are {named}.")
        return replace(self, rows=[self.rows[place] for place in kept],
                       sampled=[self.sampled[place] for place in kept])

    def samples(self) -> Iterable[Sample]:
        return (made() for made in self.sampled)


def registered_cells(laid_out: Study, observations: Sequence[Observation[Any]]) -> Cells:
    """The cells of a run that was registered and asked."""
    registration = laid_out.registration
    more = handling(registration.instrument).columns
    found = [{**row(o), **more(o)} for o in observations]
    sampled = [_asked(laid_out, o, said) for o, said in zip(observations, found, strict=True)]
    return Cells(found, registration.factors, registration.readers, sampled)


def row(observation: Observation[Any]) -> dict[str, Any]:
    """A cell as a row: what was asked, the reply, and each reader's reading with its rule."""
    trial, choice = observation.trial, observation.value
    said: dict[str, Any] = {"subject": trial.subject.name, "item": trial.item, **trial.condition,
                            "draw": trial.draw, "reply": choice.text}
    for reader, reading in choice.readings.items():
        lost = isinstance(reading.value, Nonresponse)
        said[reader] = "" if lost else reading.value
        said[f"{reader}_nonresponse"] = reading.value.kind if lost else ""
        said[f"{reader}_rule"] = reading.rule
    return said


def _asked(
    laid_out: Study, observation: Observation[Any], found: dict[str, Any]
) -> Callable[[], Sample]:
    def made() -> Sample:
        trial, choice = observation.trial, observation.value
        lost = next((f"{r.value.kind}: {r.value.detail}" for r in choice.readings.values()
                     if r.rule == NO_REPLY and isinstance(r.value, Nonresponse)), "")
        return Sample(
            (trial.item, *trial.condition.values()), trial.draw,
            first_question(laid_out.instrument, trial)[0], choice.text,
            getattr(choice, "finish", "") or "other", lost, choice.readings, found)

    return made


def imported_cells(ledger: Ledger, run: Run, found: Registration, how: How) -> Cells:
    """The cells of an imported run, read by the reader that is asked for, if any."""
    made = read_cells(ledger, run, found, how)
    given = rows(made)
    sampled = [_logged(cell, reading, said, made.reader)
               for (cell, reading), said in zip(made.cells, given, strict=True)]
    return Cells(given, {}, [made.reader] if made.reader else [], sampled)


def _logged(
    cell: Cell, reading: Reading[Any] | None, found: dict[str, Any], reader: str
) -> Callable[[], Sample]:
    def sampled() -> Sample:
        said = cell.said
        replied = isinstance(said, Completion)
        return Sample(
            (cell.item,) if not cell.again else (cell.item, cell.again), cell.draw,
            _messages(cell.prompt), said.text if isinstance(said, Completion) else "",
            said.finish if isinstance(said, Completion) else "", "" if replied else found["lost"],
            {} if reading is None else {reader: reading}, found, cell.target)

    return sampled


def _messages(prompt: bytes) -> tuple[Message, ...]:
    """What was asked, as the log has it: its text, its messages, or all of it as one."""
    try:
        said = json.loads(prompt)
    except ValueError:
        said = prompt.decode("utf-8", "backslashreplace")
    for found in (said, part(said, "prompt"), part(said, "gen_args_0", "arg_0"), part(said, 0, 0)):
        if isinstance(found, str):
            return (user(found),)
    if isinstance(said, list) and all(isinstance(m, dict) and isinstance(m.get("content"), str)
                                      and m.get("role") in ("system", "user", "assistant")
                                      for m in said):
        return tuple(Message(m["role"], m["content"]) for m in said)
    return (user(json.dumps(said, ensure_ascii=False)),)
