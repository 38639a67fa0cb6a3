"""Weighing: what the clauses of a reply say in turn, and which choice stands in the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from equipoise.reading.clauses import Said, clause, spoken_of
from equipoise.reading.patterns import CORRECTED, REOPENED, REOPENS

CLAUSE = re.compile(r"(?:[^.!?;。！？—\n]|!(?==)|\.(?=[a-z0-9])|(?<=[a-z])-(?=[a-z]))+[?]*")
YES = re.compile(r"yes\b|yep\b|oui\b|是的|对,|嗯")
ANOTHER = re.compile(r"(?:question|q|prompt|user|human|问题|问|用户) ?\d{0,2} ?:")
"""How a turn begins that is no longer the reply, if it names no option."""


@dataclass(slots=True)
class _Turn:
    """What the pieces before this one leave behind for it."""

    corrected: bool = False
    reopened: bool = False
    asked: bool = False
    spoke: bool = False
    echo: str = ""

    def left_by(self, body: str) -> None:
        signs = spoken_of(body)
        alone = body[0] in signs and body[1:].strip(" ?") == ""
        self.echo = body[0] if alone else ""
        self.asked = body.endswith("?") and bool(signs)
        self.corrected = False

    def marked(self, said: Said, body: str, same_line: bool) -> Said | None:
        """The choice as the turn leaves it; None for a name that only echoes a question."""
        if self.echo and (self.corrected if said.sign != self.echo else YES.match(body)):
            said = said._replace(weight=max(said.weight, 2))
        if self.asked and same_line and said.weight == 1:
            return None
        turned = said.corrected or self.corrected or self.reopened
        weight = max(said.weight, 2) if self.reopened else said.weight
        self.spoke, self.reopened = True, False
        return said._replace(corrected=turned, weight=weight)


def heard(text: str) -> Iterator[Said]:
    """What the clauses of a skeleton say, in order.

    >>> [said.kind for said in heard("\\ue000. or \\ue001")]
    ['chosen', 'cancelled']
    """
    turn = _Turn()
    for piece in CLAUSE.finditer(text):
        body = piece[0]
        lead = len(body) - len(body.lstrip(" ,:"))
        body = body.strip(" ,:")
        turn.corrected = turn.corrected or CORRECTED in body
        turn.reopened = turn.reopened or REOPENED in body
        if body.strip(CORRECTED + REOPENED) == "" or len(body) > 2000:
            continue
        if turn.spoke and ANOTHER.match(body) and not spoken_of(body):
            break
        if turn.corrected:
            turn.reopened = turn.reopened or REOPENS.search(body) is not None
            yield Said("cancelled", CORRECTED, 1, "two-answers", piece.span())
        same_line = "\n" not in text[max(0, piece.start() - 2) : piece.start()]
        for said in clause(body, piece.start() + lead):
            marked = turn.marked(said, body, same_line) if said.kind == "chosen" else said
            if marked is not None:
                yield marked
        if body.endswith("?") and len(spoken_of(body)) > 1:
            yield Said("asked", "", 1, "two-answers", piece.span())
        turn.left_by(body)
    if turn.corrected or turn.reopened:
        yield Said("cancelled", "", 1, "two-answers", (0, len(text)))


def weigh(said: Iterable[Said]) -> Said | str:
    """The choice that stands when all is heard, or the rule that says why none does.

    A later choice against an earlier one stands only if it is marked as a change of mind,
    if both are contract lines, or if both options had been named as if in a list. One that
    follows the question asked again never does: that reply answers twice.
    """
    scales = _Scales()
    for each in said:
        scales.take(each)
    return scales.verdict()


@dataclass(slots=True)
class _Scales:
    standing: Said | None = None
    why: str = "no-choice"
    needed: int = 1
    settled: str = ""
    twice: bool = False
    listed: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)

    def take(self, said: Said) -> None:
        if said.kind == "asked":
            self.settled = self.settled or (self.standing.sign if self.standing else "")
        elif said.kind == "unread":
            self.standing, self.why, self.needed = None, "unread-contract", 3
        elif said.kind == "cancelled":
            if said.sign != CORRECTED or self.standing is None:
                self.standing, self.why = None, said.rule
                self.needed = max(self.needed, 2)
        elif said.kind == "rejected":
            self.rejected.add(said.sign)
            if self.standing is not None and self.standing.sign == said.sign:
                self.standing, self.why = None, "two-answers"
        else:
            self.twice = self.twice or self.settled not in ("", said.sign)
            if self.standing is not None or said.weight >= self.needed:
                self._choose(said)
                self.listed.add(said.sign)

    def _choose(self, said: Said) -> None:
        standing, self.why = self.standing, ""
        if standing is None:
            if self.listed - {said.sign} and said.sign not in self.listed and not said.corrected:
                self.why = "two-answers"
            else:
                self.standing = said
        elif standing.sign == said.sign:
            self.standing = said if said.weight > standing.weight else standing
        elif said.corrected:
            self.standing = said._replace(rule="changed-mind")
        elif said.weight == standing.weight == 3:
            self.standing, self.needed = said, 3
        else:
            self.standing, self.why = None, "two-answers"
            self.needed = min(3, max(said.weight, standing.weight) + 1)

    def verdict(self) -> Said | str:
        if self.twice:
            return "two-answers"
        standing = self.standing
        if standing is None:
            only = self.why == "no-choice" and self.rejected
            return "only-rejected" if only else self.why
        if standing.sign in self.rejected and standing.rule != "changed-mind":
            return "two-answers"
        return standing
