"""The act behind `rate`: a person goes through a queue with one key an answer.

Each answer is on disk before the next item is shown; the same command goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from equipoise.answers import read_lines, read_queue
from equipoise.appending import appending
from equipoise.cli.screen import emit, emit_json, say
from equipoise.cli.seat import (
    Keys,
    content,
    definitions,
    guideline,
    lines_on,
    rater_named,
    seated,
    show,
)
from equipoise.labelling import (
    ANSWERS,
    Act,
    Answer,
    Item,
    Rater,
    allowed,
    done,
    has_read,
    ordered,
    under,
    waiting,
)

KEYS = "y yes · n no · u unknown · s skip · b back · ? what the keys do · q quit"
HELP = ("y: yes. 0 to 9: yes, on that line of the page. n: no. u: unknown, you cannot decide."
        " s: put it off to the end. b: take back the last answer, again and again if need be."
        " q: stop; what you answered is kept, and the same command goes on.")
LABELS = {label[0]: label for label in ANSWERS}
NO_REASON = "Why not? One line; an empty one takes the no back: "


@dataclass
class Sitting:
    """One rater at one queue: `said` is all of theirs on record, `add` writes one thing more."""

    rater: Rater
    items: Sequence[Item]
    said: list[Answer]
    add: Callable[[bytes], None]
    reasons: bool
    later: set[tuple[str, str]] = field(default_factory=set)
    note: str = ""

    def write(self, act: Act, item: Item, label: str = "", line: int = -1, reason: str = ""
              ) -> None:
        answer = Answer(act, item.id, item.task, item.bias, self.rater.name, item.stamp, label,
                        line, reason, int(time.time()))
        self.add(msgspec.json.encode(answer))
        self.said.append(answer)

    def next(self) -> Item | None:
        return next((item for item in waiting(self.items, self.said, self.rater.name)
                     if (item.task, item.id) not in self.later), None)

    def back(self) -> Item | None:
        """Take back the last answer or skip, however far that is; the item it was of."""
        now = {(item.task, item.id, item.stamp): item for item in self.items}
        for answer in reversed(done(self.said, self.rater.name)):
            item = now.get((answer.task, answer.id, answer.definition))
            if item is not None:
                self.write("undo", item)
                self.later.discard((item.task, item.id))
                return item
        return None

    @property
    def progress(self) -> dict[str, int]:
        """Counts, and nothing of what was answered."""
        left = waiting(self.items, self.said, self.rater.name)
        skipped = {(one.task, one.id) for one in done(self.said, self.rater.name)
                   if one.act == "skip"}
        return {"items": len(self.items), "answered": len(self.items) - len(left),
                "skipped": sum((item.task, item.id) in skipped for item in left)}


def rate(
    queue: Path, name: str, raters: Path, out: Path, *, folder: Path | None, reasons: bool,
    as_json: bool,
) -> None:
    """Let a rater label a queue, item after item, as far as they like.

    Raises Misuse for a name that is not in the raters file, and where another process writes the
    same ratings.
    """
    rater = rater_named(name, raters)
    every = read_queue(queue)
    if folder is not None:
        found: dict[str, object] = dict(definitions(folder))
        every = under(every, found)
    items = ordered(allowed(every, rater), name)
    with appending(out) as add:
        said = [answer for answer in read_lines(out, Answer) if answer.rater == name]
        sitting = Sitting(rater, items, said, add, reasons)
        if others := len(every) - len(items):
            say(f"{others:,} items are in a language that {name} does not read, and are left out.")
        with seated() as by:
            go_through(sitting, by)
    _end(sitting, out, as_json)


def go_through(sitting: Sitting, by: Keys) -> None:
    """Item after item, until the rater stops or nothing is left but what was put off."""
    item = sitting.next()
    while item is not None:
        if not has_read(sitting.said, sitting.rater.name, item):
            if not _reads(sitting, item, by):
                return
            sitting.write("read", item)
        _show(sitting, item)
        key = by.key()
        if key is None or key == "q":
            return
        item = _after(sitting, item, key, by)


def _reads(sitting: Sitting, item: Item, by: Keys) -> bool:
    """The definition alone, to be read before anything is labelled by it."""
    old = sum(one.bias == item.bias and one.definition != item.stamp and one.act == "answer"
              for one in done(sitting.said, sitting.rater.name))
    anew = [f"These words were changed. Your {old} labels under the old ones are kept as history,"
            " and count no longer.", ""] if old else []
    show([*anew, *guideline(item), "", "Read this, then press Enter or the space bar (q quits)."])
    return by.key() not in (None, "q")


def _show(sitting: Sitting, item: Item) -> None:
    now = sitting.progress
    show([f"{now['answered']} of {now['items']} answered, {now['skipped']} put off", "",
          *guideline(item), *content(item), "", *([sitting.note] if sitting.note else []), KEYS])
    sitting.note = ""


def _after(sitting: Sitting, item: Item, key: str, by: Keys) -> Item | None:
    """What follows a key: the item again, the one before, or the next."""
    if key in LABELS or key.isdecimal():
        return sitting.next() if _answered(sitting, item, key, by) else item
    if key == "s":
        sitting.write("skip", item)
        sitting.later.add((item.task, item.id))
        return sitting.next()
    if key == "b":
        return sitting.back() or item
    sitting.note = HELP
    return item


def _answered(sitting: Sitting, item: Item, key: str, by: Keys) -> bool:
    """Write the answer down; False where it was none, or was taken back."""
    label, line, reason = LABELS.get(key, "yes"), -1, ""
    if key.isdecimal():
        if item.task != "shown" or int(key) not in lines_on(item):
            sitting.note = f"There is no line {key} on the page."
            return False
        line = int(key)
    if label == "no" and item.task == "shown" and sitting.reasons:
        reason = (by.line(NO_REASON) or "").strip()
        if not reason:
            sitting.note = "No reason was given, so the no was taken back."
            return False
    sitting.write("answer", item, label, line, reason)
    return True


def _end(sitting: Sitting, out: Path, as_json: bool) -> None:
    now = sitting.progress
    if as_json:
        emit_json({"rater": sitting.rater.name, **now, "ratings": str(out)})
        return
    emit(f"{now['answered']:,} of {now['items']:,} items answered, {now['skipped']:,} put off;"
         f" {out} holds them. The same command goes on.")
