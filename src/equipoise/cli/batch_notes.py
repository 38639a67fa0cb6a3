"""What is on record of a run's batches, as notes of the run, and which calls they leave open.

The notes: that batches began, so that every later intent is a call in a batch; each batch about to
be created, with its token and its intents; its provider's id; and that batches are over. An intent
of such a span that is in no batch was never handed in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from equipoise.ledger import Ledger, Run
from equipoise.terms import Misuse

BEGAN, CREATING, CREATED, OVER = (
    "batches began", "batch about to be created", "batch created", "batches over")
SETTLED = "batches settled"


@dataclass
class Span:
    """The notes from one beginning of batches to their end: every intent between is in one."""

    began: int
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    over: int | None = None

    def holds(self, intent: int) -> bool:
        return intent > self.began and (self.over is None or intent < self.over)


def spans(ledger: Ledger, run: Run) -> list[Span]:
    """The spans of a run's intents that were asked in batches, oldest first.

    Raises Misuse where a note that says so was erased.
    """
    found: list[Span] = []
    for note in ledger.noted(run.seq):
        if note.about in (CREATING, CREATED) and not note.text:
            raise Misuse(f"The note {note.seq} of the run {run.name!r} was erased: it said which"
                         " calls are in a batch. Start a new run with --run.", 5)
        if note.about == BEGAN:
            found.append(Span(note.seq))
        elif note.about == CREATING:
            said = json.loads(note.text)
            found[-1].batches[said["token"]] = {**said, "id": "", "at": note.at}
        elif note.about == CREATED:
            said = json.loads(note.text)
            found[-1].batches[said["token"]]["id"] = said["id"]
        elif note.about == OVER:
            found[-1].over = note.seq
    return found


def open_span(ledger: Ledger, run: Run) -> Span | None:
    """The span that was not ended; None where there is none."""
    return next((span for span in spans(ledger, run) if span.over is None), None)


def unsettled(ledger: Ledger, run: Run, span: Span) -> dict[int, bytes]:
    """The intents of a span with no outcome, and their requests' stamps."""
    return {intent: stamp for intent, stamp, settled in ledger.intents(run.seq)
            if not settled and span.holds(intent)}


def require_none_open(ledger: Ledger, run: Run) -> None:
    """Before a run asks otherwise: raises Misuse while calls of it may be in a batch."""
    span = open_span(ledger, run)
    if span is None:
        return
    if left := unsettled(ledger, run, span):
        raise Misuse(
            f"{len(left):,} calls of the run {run.name!r} were handed in, or about to be, in"
            f" {len(span.batches):,} batches. Give the same command with --batch, which settles"
            " them; asked otherwise they would be paid for twice.")
    ledger.note(run.seq, OVER, "{}")
