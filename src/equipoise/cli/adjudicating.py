"""The act behind `adjudicate`: a person settles what raters could not agree on, with a reason.

Only splits are shown, with the labels and reasons given and without the names of who gave them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from equipoise.answers import Settled, read_answers, read_lines, read_queue
from equipoise.appending import appending
from equipoise.cli.screen import emit, emit_json, say
from equipoise.cli.seat import Keys, content, definitions, guideline, rater_named, seated, show
from equipoise.gold import gold
from equipoise.labelling import Answer, Item, allowed, as_ratings, ordered, standing, under

KEYS = "y yes · n no · c contested: not to be settled · s leave it · ? keys · q quit"
LABELS = {"y": "yes", "n": "no", "c": ""}
REASON = "The reason, in one line (an empty one takes it back): "


@dataclass(frozen=True)
class Split:
    """An item that raters differ on: how often each label was given, and the reasons, unnamed."""

    item: Item
    labels: Mapping[str, int]
    reasons: tuple[str, ...]


def splits(
    items: Sequence[Item], answers: Sequence[Answer], settled: Sequence[Settled]
) -> list[Split]:
    """The items that are a split under the words of now, and not settled."""
    found = []
    for item in items:
        own = [a for a in answers if (a.task, a.id) == (item.task, item.id)]
        ruled = [s.as_adjudication() for s in settled if (s.task, s.id) == (item.task, item.id)]
        if gold(as_ratings(own), item.stamp, ruled).status != "split":
            continue
        now = [a for a in standing(own) if a.definition == item.stamp]
        found.append(Split(item, Counter(a.label for a in now),
                           tuple(sorted({f"{a.label}: {a.reason}" for a in now if a.reason}))))
    return found


def adjudicate(
    queue: Path, ratings: Sequence[Path], name: str, raters: Path, out: Path, *,
    folder: Path | None, as_json: bool,
) -> None:
    """Let a person settle the splits of a queue; raises Misuse as `rate` does."""
    person = rater_named(name, raters)
    every = read_queue(queue)
    if folder is not None:
        found: dict[str, object] = dict(definitions(folder))
        every = under(every, found)
    stamps = {item.bias: item.stamp for item in every}
    answers = [answer for path in ratings for answer in read_answers(path, stamps)]
    items = ordered(allowed(every, person), name)
    with appending(out) as add:
        settled = read_lines(out, Settled)
        open_ones = splits(items, answers, settled)
        with seated() as by:
            done = _go_through(open_ones, name, add, by)
    if as_json:
        emit_json({"splits": len(open_ones), "settled": done, "adjudications": str(out)})
    else:
        emit(f"{done} of {len(open_ones)} splits settled; {out} holds them.")


def _go_through(
    found: Sequence[Split], name: str, add: Callable[[bytes], None], by: Keys
) -> int:
    done = 0
    for number, split in enumerate(found, 1):
        _show(split, number, len(found))
        while (key := by.key()) not in (None, "q", "s"):
            if key in LABELS and (reason := (by.line(REASON) or "").strip()):
                item = split.item
                add(msgspec.json.encode(Settled(
                    item.id, item.task, item.bias, name, item.stamp, reason, LABELS[key],
                    int(time.time()))))
                done += 1
                break
            say(KEYS)
        if key in (None, "q"):
            break
    return done


def _show(split: Split, number: int, of: int) -> None:
    given = ", ".join(f"{n} {label}" for label, n in sorted(split.labels.items()))
    show([f"Split {number} of {of}: raters said {given}", *split.reasons, "",
          *guideline(split.item), *content(split.item), "", KEYS])
