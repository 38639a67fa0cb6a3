"""Planted judges: each with one known lean, answering in the varied words of real replies."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equipoise.instruments.label_swap.suite import IDENTICAL, Shown, Suite
from equipoise.terms import Completion, Misuse, Request

Answer = Callable[[Request], Completion]

SAYINGS = ("$n", "$n", "$n%", "**$n**", "$n.", "I'd say $n.", "Probability: $n",
           "My probability is $n.")
DESCRIBED, POSITIONS = (12.0, -6.0, 20.0, 3.0), (2.0, 0.0, -3.0, 1.0)
"""By decision: how much the first description is liked, and how much the place listed first."""


@dataclass(frozen=True, slots=True)
class Judge:
    """How a planted judge answers, in points: 50 + position + description + label + noise.

    `lean` is toward the first label of the first pair of labels, `interaction` turns with the
    description that carries the label, `position` comes on top of each decision's own. Replies
    lie on a grid of 1 or 5. `truncates` is the chance that a reply whose first-listed label is
    the pair's first is cut off. Where both options read alike it says 50 if `fifty`.
    """

    lean: float = 0.0
    interaction: float = 0.0
    position: float = 0.0
    noise: float = 4.5
    grid: int = 1
    truncates: float = 0.0
    fifty: bool = True
    described: tuple[float, ...] = DESCRIBED
    positions: tuple[float, ...] = POSITIONS
    named: float = 0.0


TRAITS: Mapping[str, Judge] = {
    "neutral": Judge(),
    "leans": Judge(lean=8.0),
    "position-only": Judge(position=8.0, described=(0.0,), positions=(0.0,)),
    "interaction-only": Judge(interaction=8.0),
    "truncates-one-label": Judge(truncates=0.25),
    "says-fifty": Judge(noise=0.0, described=(0.0,), positions=(0.0,)),
    "follows-the-question": Judge(named=8.0, described=(0.0,), positions=(0.0,)),
}


def judge(trait: str, settings: Mapping[str, object]) -> Judge:
    """The judge of that name, with the settings given: points, noise, grid.

    Raises Misuse for a grid other than 1 or 5.
    """
    made = TRAITS[trait]
    changed = {name: getattr(made, name) for name in Judge.__slots__}
    for planted in ("lean", "interaction", "position", "named"):
        if changed[planted] and "points" in settings:
            changed[planted] = float(str(settings["points"]))
    if "noise" in settings:
        changed["noise"] = float(str(settings["noise"]))
    grid = settings.get("grid", made.grid)
    if grid not in (1, 5):
        raise Misuse(f"The setting grid is {grid!r}; replies lie on a grid of 1 or 5 points.")
    changed["grid"] = grid
    return Judge(**changed)


def answerer(suite: Suite, planted: Judge, seed: int | str = 0) -> Answer:
    """A planted judge over a suite: it knows a cell by its prompt and answers in varied words.

    Its replies to one prompt are a stream from the seed and the prompt: whatever else is asked
    between, the same draws get the same replies.
    """
    cells = {suite.prompt(shown): (*_mean(suite, planted, shown), shown.label == "1")
             for shown in suite.cells()}
    streams = {prompt: random.Random(f"{seed}/{prompt}") for prompt in cells}

    def answer(request: Request) -> Completion:
        prompt = request.messages[-1].text
        mean, noisy, label_1_first = cells[prompt]
        chance = streams[prompt]
        stated = mean + chance.gauss(0.0, planted.noise) if noisy else mean
        number = str(on_grid(stated, planted.grid))
        if planted.truncates and label_1_first and chance.random() < planted.truncates:
            return Completion("Let me weigh the two", "length")
        if request.mode != "free":
            return Completion(number)
        return Completion(chance.choice(SAYINGS).replace("$n", number))

    return answer


def on_grid(points: float, grid: int) -> int:
    """The nearest number of the grid, from 0 to 100.

    >>> on_grid(62.4, 1), on_grid(62.6, 5), on_grid(104.0, 1)
    (62, 65, 100)
    """
    return min(100, max(0, grid * round(points / grid)))


def _mean(suite: Suite, planted: Judge, shown: Shown) -> tuple[float, bool]:
    """What it states on average for the option the question names, and whether with noise."""
    if shown.content == IDENTICAL and planted.fifty:
        return 50.0, False
    place = list(suite.decisions).index(shown.decision)
    position = planted.positions[place % len(planted.positions)] + planted.position
    first = 50.0 + position + (planted.named if shown.asked == "first" else -planted.named)
    described = {"x": 1, "y": -1, "same": 0}[shown.described]
    first += described * planted.described[place % len(planted.described)]
    if shown.pair == next(iter(suite.pairs)):
        label = 1 if shown.label == "1" else -1
        first += label * planted.lean + label * described * planted.interaction
    return (first if shown.asked == "first" else 100 - first), True
