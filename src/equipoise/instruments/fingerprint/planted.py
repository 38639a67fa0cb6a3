"""Planted subjects: each with one trait, answering in the varied words of real replies."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equipoise.instruments.fingerprint.instrument import ORDERS
from equipoise.instruments.fingerprint.suite import Suite
from equipoise.terms import Request

Answer = Callable[[Request], str]

SAYINGS: Mapping[str, tuple[str, ...]] = {
    "en": ("$w", "$w.", "**$w**", "I would choose $w.", "My answer is $w.", "“$w”"),
    "fr": ("$w", "$w.", "Je choisis « $w ».", "Ma réponse : $w"),
    "zh": ("$w", "$w。", "我选择$w。", "“$w”"),
    "python": (' "$w"', '```python\nreturn "$w"\n```', "return '$w'"),
    "json": ('{"choice": "$w"}', '```json\n{"choice": "$w"}\n```'),
}
REFUSALS = {
    "en": "I'm sorry, but as an AI I can't choose between these.",
    "fr": "Désolé, en tant qu’IA je ne peux pas choisir.",
    "zh": "抱歉，作为人工智能，我无法做出选择。",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The cell a prompt belongs to."""

    item: str
    framing: str
    language: str
    order: str


Pick = Callable[[Asked, random.Random], str]
"""What a planted subject picks: `a`, `b` or `refuse`."""


def holds(preferences: Mapping[str, str]) -> Pick:
    """Picks the preferred word of each pair however it is asked; `a` where none is given."""
    return lambda asked, rng: preferences.get(asked.item, "a")


def follows_position(asked: Asked, rng: random.Random) -> str:
    """Picks whatever is named first."""
    return "a" if asked.order == "ab" else "b"


def changes_with_language(asked: Asked, rng: random.Random) -> str:
    """Picks one word in English and the other in French and Chinese."""
    return "a" if asked.language == "en" else "b"


def flips_coins(asked: Asked, rng: random.Random) -> str:
    return rng.choice("ab")


def dissents_once(asked: Asked, rng: random.Random) -> str:
    """Picks `a` in eleven cells of twelve, `b` in one that differs from pair to pair."""
    cells = [(framing, order) for framing in ("plain", "strict", "python", "json", "french",
                                              "chinese") for order in ORDERS]
    odd = cells[random.Random(asked.item).randrange(len(cells))]
    return "b" if (asked.framing, asked.order) == odd else "a"


def refuses(suite: Suite, categories: frozenset[str]) -> Pick:
    """Refuses every pair of these categories and picks `a` elsewhere."""
    return lambda asked, rng: (
        "refuse" if suite.pairs[asked.item].category in categories else "a"
    )


def answerer(suite: Suite, pick: Pick, seed: int = 0) -> Answer:
    """A planted subject over a suite: it knows a cell by its prompt and answers in varied words.

    Replies depend on the prompt and the seed alone, so asking again gives the same reply.
    """
    cells = {
        suite.prompt(item, name, order): Asked(item, name, framing.language, order)
        for item in suite.pairs
        for name, framing in suite.framings.items()
        for order in ORDERS
    }

    def answer(request: Request) -> str:
        prompt = request.messages[-1].text
        asked = cells[prompt]
        rng = random.Random(f"{seed}/{prompt}")
        picked = pick(asked, rng)
        if picked == "refuse":
            return REFUSALS[asked.language]
        pair = suite.pairs[asked.item]
        word = (pair.a if picked == "a" else pair.b)[asked.language]
        if request.mode != "free":
            return word
        sayings = SAYINGS.get(asked.framing, SAYINGS[asked.language])
        return rng.choice(sayings).replace("$w", word)

    return answer
