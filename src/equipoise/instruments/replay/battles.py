"""Battles: where two readers disagree on the direction, people choose between the two pages blind.

A battle is one opening: the conversation as it was frozen, and the last page of one draw of each
arm, side by side. Which side is which is in the key alone.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from equipoise.instruments.replay.arms import A, B
from equipoise.instruments.replay.measures import Compared
from equipoise.instruments.replay.page import Page
from equipoise.instruments.replay.suite import Opening, Suite
from equipoise.stats.sign_test import SignTest, sign_test
from equipoise.terms import Nonresponse, Observation

Choice = Literal["left", "right", "same"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
DISAGREE = "readers_disagree"


@dataclass(frozen=True, slots=True)
class Battle:
    """Two pages of one opening, and which arm each is of."""

    name: str
    opening: Opening
    left: Page
    right: Page
    left_is: str
    draws: Mapping[str, int]
    signs: Mapping[str, int]
    subject: str
    answer: str

    def shown(self) -> dict[str, Any]:
        """What a person is shown: nothing of model, arm, draw or reader."""
        return {"battle": self.name, "language": self.opening.language,
                "question": self.opening.question,
                "earlier": [{"by": by, "text": text} for by, text in self.opening.earlier],
                "said": [turn.said for turn in self.opening.turns],
                "left": _page(self.left), "right": _page(self.right)}

    def key(self) -> dict[str, Any]:
        """What joins a choice back."""
        return {"battle": self.name, "left": self.left_is, "right": B if self.left_is == A else A,
                "opening": self.opening.key, "subject": self.subject, "answer": self.answer,
                "draws": dict(self.draws), "signs": dict(self.signs)}


def _page(of: Page) -> dict[str, Any]:
    return {"at_stake": of.at_stake,
            "lines": [{"text": line.text, "answer": line.answer} for line in of.lines]}


def battles(
    suite: Suite, comparisons: Sequence[Compared], observations: Sequence[Observation[Any]],
    seed: str,
) -> list[Battle]:
    """One battle an opening on which readers that disagree on the direction differ, shuffled.

    The draw of each arm is drawn among those that were not lost; the seed settles it, the sides
    and the order. Empty where readers agree, and where one alone read.
    """
    rng = random.Random(f"battles/{seed}")
    found = []
    for subject, answer in dict.fromkeys((c.subject, c.answer) for c in comparisons):
        readers = [c for c in comparisons if (c.subject, c.answer) == (subject, answer)]
        if not all(DISAGREE in c.verdict.gates for c in readers):
            continue
        mine = [o for o in observations if (o.trial.subject.name, o.trial.condition["answer"])
                == (subject, answer) and not _lost(o)]
        for key, signs in _differing(readers).items():
            drawn = [_drawn(rng, mine, key, arm) for arm in (A, B)]
            if all(drawn):
                found.append((suite.openings[key], signs, subject, answer, drawn))
    rng.shuffle(found)
    return [_battle(f"battle-{place:02}", one, rng) for place, one in enumerate(found, 1)]


def _differing(readers: Sequence[Compared]) -> dict[str, dict[str, int]]:
    """By opening, each reader's sign, where all decided and not all the same."""
    found: dict[str, dict[str, int]] = {}
    for of in readers:
        for sample in of.samples:
            if not isinstance(sign := sample.sign, Nonresponse):
                found.setdefault(sample.opening, {})[of.reader] = sign
    return {key: signs for key, signs in found.items()
            if len(signs) == len(readers) and len(set(signs.values())) > 1}


def _lost(of: Observation[Any]) -> bool:
    return isinstance(next(iter(of.value.readings.values())).value, Nonresponse)


def _drawn(
    rng: random.Random, observations: Iterable[Observation[Any]], key: str, arm: str
) -> Observation[Any] | None:
    """One draw of an arm of an opening; none where all were lost."""
    there = sorted((o for o in observations if o.trial.item == key
                    and o.trial.condition["arm"] == arm), key=lambda o: o.trial.draw)
    return rng.choice(there) if there else None


def _battle(name: str, one: tuple[Any, ...], rng: random.Random) -> Battle:
    opening, signs, subject, answer, (a, b) = one
    left_is = rng.choice((A, B))
    first, second = (a, b) if left_is == A else (b, a)
    return Battle(name, opening, first.value.versions[-1], second.value.versions[-1], left_is,
                  {A: a.trial.draw, B: b.trial.draw}, signs, subject, answer)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What people chose: battles by the arm that more than half of them found better.

    `split` battles have no majority and `waiting` no choice; neither is in the test.
    """

    test: SignTest
    split: int
    waiting: int
    people: int

    @property
    def b(self) -> int:
        return self.test.wins

    @property
    def a(self) -> int:
        return self.test.losses


def chosen(
    sides: Mapping[str, str], choices: Mapping[tuple[str, str], Choice]
) -> Chosen:
    """The people's choices by (battle, person) against the key, battle: which arm is left.

    >>> found = chosen({"b1": "A", "b2": "B", "b3": "A"}, {
    ...     ("b1", "ann"): "right", ("b1", "bob"): "right", ("b2", "ann"): "same"})
    >>> found.b, found.a, found.test.ties, found.waiting
    (1, 0, 1, 1)
    """
    by_battle: dict[str, Counter[str]] = {name: Counter() for name in sides}
    for (name, _), choice in choices.items():
        left = sides[name]
        arm = "same" if choice == "same" else left if choice == "left" else B if left == A else A
        by_battle[name][arm] += 1
    decided: Counter[str] = Counter()
    for counts in by_battle.values():
        arm, most = counts.most_common(1)[0] if counts else ("waiting", 0)
        decided[arm if 2 * most > counts.total() or not counts else "split"] += 1
    return Chosen(sign_test(decided[B], decided[A], decided["same"]), decided["split"],
                  decided["waiting"], len({person for _, person in choices}))
