"""The rows behind an arm's figures: by framing, by order and by language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from equipoise.instruments.fingerprint.measures import CAUSES, held, said, swapped
from equipoise.report.arms import Arm, Gathered, grid, read, side
from equipoise.report.visible import LANGUAGE_TAGS
from equipoise.report.words import bounds, counted, of

MOST_ROWS, FIRST_NAMES = 6_000, 200
LANGUAGES = {"en": "English", "fr": "French", "zh": "Chinese"}
SIGN = {"a": -1, "b": 1, "": 0}
SHOWS = {"same": "same word", "first": "first both times", "last": "last both times"}


@dataclass(frozen=True, slots=True)
class Swap:
    """One pair in one framing: what each order gave, and what the swap shows."""

    item: str
    address: str
    cells: tuple[tuple[str, str], tuple[str, str]]
    shows: str
    beside: str


@dataclass(frozen=True, slots=True)
class FramingRow:
    """One framing beside the others, as text, with the rows behind it."""

    address: str
    prompt_address: str
    name: str
    about: str
    picked: str
    picked_bounds: str
    lost: str
    first: int
    same: int
    last: int
    against: str
    against_bounds: str
    rows: tuple[Swap, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """Two languages: the pairs in which each holds one word, by whether it is the same."""

    address: str
    name: str
    agreed: str
    agreed_bounds: str
    same: tuple[tuple[str, str], ...]
    different: tuple[tuple[str, str], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A framing as its first pair was shown it."""

    address: str
    name: str
    about: str
    language: str
    text: str


def framing_rows(g: Gathered, arm: Arm) -> tuple[FramingRow, ...]:
    rows = []
    kept = rows_a_framing(g)
    for place, (name, effect) in enumerate(arm.found.framings.items(), 1):
        swaps = tuple(_swap(g, arm, item, name) for item in list(arm.cells)[:kept])
        rows.append(FramingRow(
            f"{arm.key}-f{place}", f"framing-{place}", name, g.suite.framings[name].about,
            of(effect.picked), bounds(effect.picked),
            counted(dict(effect.lost)) if effect.lost else "none",
            effect.position.first, effect.position.same, effect.position.last,
            of(effect.against), bounds(effect.against), swaps, len(arm.cells) - len(swaps),
        ))
    return tuple(rows)


def rows_a_framing(g: Gathered) -> int:
    """How many pairs' rows stand behind each framing's figures."""
    return min(len(g.suite.pairs), MOST_ROWS // (len(g.arms) * len(g.suite.framings)))


def _swap(g: Gathered, arm: Arm, item: str, framing: str) -> Swap:
    cells = arm.cells[item]
    found = [cells.get((framing, order)) for order in ("ab", "ba")]
    sides = [side(g.suite, o, g.reader) if o else "" for o in found]
    texts = [said(read(o, g.reader)) if o else "not asked" for o in found]
    swap = swapped(g.suite, item, grid(cells, g.reader)).get(framing)
    own = sum(SIGN[s] for s in sides)
    others = sum(SIGN[side(g.suite, o, g.reader)] for at, o in cells.items() if at[0] != framing)
    beside = "–" if own * others == 0 else "against" if own * others < 0 else "with"
    return Swap(item, g.address(arm, item), ((sides[0], texts[0]), (sides[1], texts[1])),
                SHOWS[swap] if swap else "–", beside)


def language_rows(g: Gathered, arm: Arm) -> tuple[LanguageRow, ...]:
    words = {item: held(g.suite, grid(cells, g.reader)) for item, cells in arm.cells.items()}
    rows = []
    for place, (name, agreed) in enumerate(arm.found.languages.items(), 1):
        one, other = name.split("–")
        both = [item for item, word in words.items() if one in word and other in word]
        same = [item for item in both if words[item][one] == words[item][other]]
        different = [item for item in both if item not in set(same)]
        rows.append(LanguageRow(
            f"{arm.key}-l{place}", f"{LANGUAGES.get(one, one)} and {LANGUAGES.get(other, other)}",
            of(agreed), bounds(agreed), _addressed(g, arm, same[:FIRST_NAMES]),
            _addressed(g, arm, different[:FIRST_NAMES]),
            max(0, len(same) - FIRST_NAMES) + max(0, len(different) - FIRST_NAMES),
        ))
    return tuple(rows)


def _addressed(g: Gathered, arm: Arm, items: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((item, g.address(arm, item)) for item in items)


def prompts(g: Gathered) -> tuple[Prompt, ...]:
    item = next(iter(g.suite.pairs))
    return tuple(
        Prompt(f"framing-{place}", name, framing.about, LANGUAGE_TAGS.get(framing.language, ""),
               g.suite.prompt(item, name, "ab"))
        for place, (name, framing) in enumerate(g.suite.framings.items(), 1)
    )


def losses(found: Mapping[str, int]) -> str:
    """Lost cells by kind in a fixed order, or `none`."""
    kept = [f"{found[kind]:,} {kind}" for kind in CAUSES if found.get(kind)]
    return ", ".join(kept) or "none"
