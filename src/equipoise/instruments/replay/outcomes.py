"""What became of each debias, from page versions and the page-line reader's readings, by rule.

Version 0 is the page as it stood, version t the page after the person's turn t. Shown is judged
on the page alone; what the person did with it is judged from the versions that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from equipoise.instruments.replay.contract import Seen
from equipoise.instruments.replay.page import AT_STAKE, Page
from equipoise.terms import Nonresponse, Reading

Outcome = Literal[
    "successful", "ignored", "dismissed", "not answered yet", "at stake", "answered unasked",
]
UNREAD = Nonresponse("not asked", "the page was not read")
UNDECIDED = Nonresponse("unclear", "the reader did not decide")


class Fate(Struct, frozen=True):
    """What became of one bias's debias in one conversation.

    `identified` is the first turn the labels find the bias in, 0 where they never do. `shown` is
    whether its debias stood on the page at that turn or later (at any, where there is no such
    turn), `turn` and `line` where first. `misfires` names each reason why it was shown where it
    should not have been; `stayed` whether its line stayed until it was answered.
    """

    bias: str
    identified: int
    shown: bool | Nonresponse
    turn: int = 0
    line: int = -1
    outcome: Outcome | Nonresponse = Nonresponse("not asked", "it was not shown")
    stayed: bool | Nonresponse = Nonresponse("not asked", "it was not shown")
    misfires: tuple[str, ...] = ()


def fate(
    bias: str, identified: int, versions: Sequence[Page], seen: Sequence[Reading[Seen]]
) -> Fate:
    """The fate of a bias's debias; `seen[t]` is the reading of version t.

    A page that nobody could decide about, where nothing decides otherwise, leaves `shown`
    undecided: that is a person's to settle, and never a score.
    """
    met = {turn: found.value.line for turn, found in enumerate(seen)
           if isinstance(found.value, Seen) and found.value.verdict == "met"}
    window = range(max(identified, 1), len(versions))
    first = next((turn for turn in window if turn in met), 0)
    misfires = tuple(_misfires(identified, versions, met))
    if not first:
        open_still = [seen[turn] for turn in window if _undecided(seen[turn])]
        left: bool | Nonresponse = False
        if open_still:
            left = UNREAD if any(map(_unread, open_still)) else UNDECIDED
        return Fate(bias, identified, left, misfires=misfires)
    line = met[first]
    return Fate(bias, identified, True, first, line, _outcome(versions, first, line),
                _stayed(versions, first, line), misfires)


def _undecided(found: Reading[Seen]) -> bool:
    return isinstance(found.value, Nonresponse) or found.value.verdict == "unknown"


def _unread(found: Reading[Seen]) -> bool:
    return isinstance(found.value, Nonresponse) and found.value.kind == "not asked"


def _misfires(identified: int, versions: Sequence[Page], met: dict[int, int]) -> list[str]:
    """Put on the page where no bias was, before there was one, or over again."""
    found = []
    for turn in sorted(met):
        if not turn or not _new(versions, turn, met[turn]):
            continue
        there = [line for past in range(turn) if past in met and met[past] != met[turn]
                 if (line := versions[turn - 1].line(met[past])) is not None]
        if there:
            found.append("asked again" if any(line.settled for line in there)
                         else "on the page already")
        elif not identified:
            found.append("no bias there")
        elif turn < identified:
            found.append("before there was one")
    return found


def _new(versions: Sequence[Page], turn: int, number: int) -> bool:
    """Whether the engine put this line, or these words of it, on the page on this turn."""
    now, before = versions[turn], versions[turn - 1]
    if number == AT_STAKE:
        return now.at_stake != before.at_stake
    line, was = now.line(number), before.line(number)
    return was is None or line is None or line.text != was.text


def _outcome(versions: Sequence[Page], first: int, number: int) -> Outcome:
    """Settled later: successful. Gone: dismissed. Open to the end, with turns to spare: ignored."""
    if number == AT_STAKE:
        return "at stake"
    line = versions[first].line(number)
    if line is not None and line.settled:
        was = versions[first - 1].line(number)
        return "answered unasked" if was is None else "successful"
    for version in versions[first + 1 :]:
        line = version.line(number)
        if line is None:
            return "dismissed"
        if line.settled:
            return "successful"
    return "ignored" if first + 1 < len(versions) else "not answered yet"


def _stayed(versions: Sequence[Page], first: int, number: int) -> bool | Nonresponse:
    """Whether the line was there until it was answered, and not settled with nobody asked."""
    outcome = _outcome(versions, first, number)
    if outcome == "at stake":
        return Nonresponse("not asked", "the at-stake line has no answer")
    return outcome not in ("dismissed", "answered unasked")
