"""Planted engines and readers: each with one trait, through the same prompts and contracts.

An engine knows a turn by what the person says in its prompt, and an instruction by its text. It
words a debias as the definitions do, or in words of its own. A reader sees a page as any reader
does.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from equipoise.instruments.replay.contract import CHECKS
from equipoise.instruments.replay.labels import Labelled
from equipoise.instruments.replay.page import worded as page_worded
from equipoise.instruments.replay.suite import Opening, Suite
from equipoise.terms import Completion, Misuse, Request, content_hash

Answer = Callable[[Request], Completion]
LINE = re.compile(r"^(\d+)\. (?:\[([^\]]+)\] )?(.*)$", re.MULTILINE)
SETTLED = {"settled", "réglée"}
SEED = ""
"""Where the seed stands among the prompts that were counted: no prompt is empty."""
OWN_WORDS = {"en": "Before you go on: {title}, where does that leave this?",
             "fr": "Avant de continuer : {title}, où cela vous mène-t-il ?"}


@dataclass(frozen=True, slots=True)
class Engine:
    """How a planted engine serves a bias that it is told of by nobody, and one it is told of.

    `alone` and `told` are the chances that its debias comes onto the page; `on` limits what an
    instruction changes to one bias (empty: all). It shows it `late` by a turn, `repeats` it after
    the answer, in its `own` words half of the time, and puts it `unasked` on pages of people who
    showed no bias, with that chance. It declines every prompt that holds the clause it `refuses`.
    """

    alone: float = 0.5
    told: float = 0.5
    on: str = ""
    late: bool = False
    repeats: bool = False
    own: float = 0.0
    unasked: float = 0.0
    settled: bool = True
    json: bool = True
    refuses: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """How often a planted reader says met of what is met, and not met of what is not."""

    hits: float = 1.0
    passes: float = 1.0
    blind: bool = False
    unsure: float = 0.0


ENGINES: Mapping[str, Engine] = {
    "same": Engine(alone=0.6, told=0.6),
    "better": Engine(alone=0.3, told=0.95),
    "better-on-one": Engine(alone=0.3, told=1.0, on="framing"),
    "worse": Engine(alone=0.9, told=0.2),
    "late": Engine(alone=1.0, told=1.0, late=True),
    "asks-again": Engine(alone=1.0, told=1.0, repeats=True),
    "asks-everyone": Engine(alone=0.6, told=0.6, unasked=0.8),
    "own-words": Engine(alone=0.8, told=0.8, own=0.5),
    "never-json": Engine(json=False),
}
BALKS = {"refuses-thinking": Engine(refuses="thinking"), "needs-form": Engine(json=False)}
"""Engines for the clauses: one that declines a clause, one that answers in JSON only if told to."""

READERS: Mapping[str, Reader] = {
    "perfect": Reader(),
    "eight-nine": Reader(hits=0.8, passes=0.9),
    "blind-to-own-words": Reader(blind=True),
    "always-yes": Reader(passes=0.0),
    "unsure": Reader(unsure=0.5),
}
TRAITS = (*ENGINES, *BALKS, *READERS)


def worded(suite: Suite, bias: str, language: str, *, own: bool = False) -> str:
    """A planted engine's question for a bias, in the definitions' words or its own."""
    of = suite.biases[bias]
    return (OWN_WORDS[language].format(title=of.title[language].lower()) if own
            else of.debias[language])


def answerer(
    suite: Suite, name: str, settings: Mapping[str, Any], labels: Iterable[Labelled] = ()
) -> Answer:
    """How a planted subject of that name answers; `rate` is an engine's chance when told, and
    another `seed` another stream of chances.

    A reader knows the labels of the labelled moments it is given. One that is blind to an
    engine's own words misses half of what they hold.

    Its chances are a stream for each prompt, so equal runs get equal replies. Raises Misuse for
    a rate that is no chance.
    """
    rate = float(settings.get("rate", -1))
    if "rate" in settings and not 0 <= rate <= 1:
        raise Misuse(f"The setting rate is {rate:g}; wanted a chance from 0 to 1.")
    turns: Counter[str] = Counter()
    if "seed" in settings:
        turns[SEED] = int(settings["seed"])
    if name in READERS:
        return _Reading(suite, READERS[name], turns, labels)
    engine = {**ENGINES, **BALKS}[name]
    engine = engine if rate < 0 else replace(engine, told=rate)
    return _Writing(suite, engine, turns)


def _chances(turns: Counter[str], prompt: str) -> random.Random:
    turns[prompt] += 1
    seed = f"/{turns[SEED]}" if turns[SEED] else ""
    return random.Random(f"{content_hash(prompt)}/{turns[prompt]}{seed}")


class _Writing:
    """A planted engine over a suite."""

    def __init__(self, suite: Suite, engine: Engine, turns: Counter[str]) -> None:
        self._suite, self._engine, self._turns = suite, engine, turns

    def __call__(self, request: Request) -> Completion:
        prompt = request.messages[-1].text
        rng = _chances(self._turns, prompt)
        if self._engine.refuses and self._holds(prompt, self._engine.refuses):
            return Completion("I'm sorry, but I can't help with that.")
        if not self._engine.json and not (
            self._engine is BALKS["needs-form"] and self._holds(prompt, "form")
        ):
            return Completion("I would rather talk about it in person.")
        opening, number = self._where(prompt)
        edits = [*self._settles(opening, prompt), *self._asks(opening, number, prompt, rng)]
        return Completion(json.dumps({"reply": "I see.", "edits": edits}, ensure_ascii=False))

    def _holds(self, prompt: str, clause: str) -> bool:
        return any(clauses[clause] in prompt for clauses in self._suite.engine.values())

    def _where(self, prompt: str) -> tuple[Opening, int]:
        """The opening and the turn: the last of its turns whose words stand in the prompt."""
        for opening in self._suite.openings.values():
            if opening.question in prompt:
                said = [n for n, turn in enumerate(opening.turns, 1) if turn.said in prompt]
                if said:
                    return opening, max(said)
        raise Misuse("A planted engine was shown a turn of no opening of its suite.", 1)

    def _settles(self, opening: Opening, prompt: str) -> list[dict[str, Any]]:
        """It settles each of its own open questions with what the person says next."""
        if not self._engine.settled:
            return []
        ours = self._ours(opening)
        return [{"op": "settle", "line": int(number), "answer": "As they say."}
                for number, state, text in LINE.findall(prompt)
                if state and state not in SETTLED and text in ours]

    def _ours(self, opening: Opening) -> dict[str, str]:
        return {worded(self._suite, bias, opening.language, own=own): bias
                for bias in self._suite.biases for own in (False, True)}

    def _asks(
        self, opening: Opening, number: int, prompt: str, rng: random.Random
    ) -> list[dict[str, Any]]:
        engine, asked = self._engine, []
        on_page = {ours: state for _, state, text in LINE.findall(prompt)
                   for words, ours in self._ours(opening).items() if text.startswith(words)}
        at = number - 1 if engine.late else number
        due = {bias for turn in opening.turns[max(at - 1, 0) : at] for bias in turn.present}
        for bias in self._suite.biases:
            told = self._suite.biases[bias].instruction[opening.language] in prompt
            helped = told and engine.on in ("", bias)
            chance = engine.told if helped else engine.alone
            if bias not in opening.present:
                chance = engine.unasked if number == 1 else 0.0
            elif bias not in due:
                chance = 0.0
            wanted = rng.random() < chance and bias not in on_page
            again = engine.repeats and on_page.get(bias) in SETTLED
            if wanted or again:
                own = rng.random() < engine.own
                asked.append({"op": "ask", "text": worded(self._suite, bias, opening.language,
                                                          own=own)})
        return asked


class _Reading:
    """A planted reader over a suite: of pages, of messages and of lines."""

    def __init__(
        self, suite: Suite, reader: Reader, turns: Counter[str], labels: Iterable[Labelled]
    ) -> None:
        self._suite, self._reader, self._turns = suite, reader, turns
        self._labels = {page_worded(moment.after, moment.language): moment for moment in labels}

    def __call__(self, request: Request) -> Completion:
        prompt = request.messages[-1].text
        rng = _chances(self._turns, prompt)
        for said in (self._message(prompt, rng), self._page(prompt, rng)):
            if said is not None:
                return Completion(json.dumps(said, ensure_ascii=False))
        if '"outcome"' in prompt:
            return Completion('{"outcome": "successful", "quote": ""}')
        return Completion(json.dumps(dict.fromkeys(CHECKS, "met")))

    def _page(self, prompt: str, rng: random.Random) -> dict[str, Any] | None:
        for key, bias in self._suite.biases.items():
            for language in ("en", "fr"):
                if bias.definition[language] in prompt and bias.debias[language] in prompt:
                    return self._verdict(prompt, key, language, rng)
        return None

    def _verdict(
        self, prompt: str, bias: str, language: str, rng: random.Random
    ) -> dict[str, Any]:
        words = [worded(self._suite, bias, language, own=own)
                 for own in ((False,) if self._reader.blind else (False, True))]
        lines = LINE.findall(prompt)
        there = [int(number) for number, _, text in lines if text.startswith(tuple(words))]
        there += self._labelled(prompt, bias)
        if rng.random() < self._reader.unsure:
            return {"verdict": "unknown", "line": -1, "quote": ""}
        kept = self._reader.hits if there else self._reader.passes
        met = bool(there) == (rng.random() < kept)
        line = there[-1] if there else int(lines[-1][0]) if lines else -1
        return {"verdict": "met" if met and lines else "not met", "line": line if met else -1,
                "quote": ""}

    def _labelled(self, prompt: str, bias: str) -> list[int]:
        """The labelled line, where the page is that of a labelled moment."""
        for shown, moment in self._labels.items():
            if bias in moment.shown and shown in prompt:
                unseen = self._reader.blind and int(content_hash(moment.key), 16) % 2
                return [] if unseen else [moment.shown[bias]]
        return []

    def _message(self, prompt: str, rng: random.Random) -> dict[str, Any] | None:
        if not all(f"- {key}: " in prompt for key in self._suite.biases):
            return None
        found: list[dict[str, str]] = []
        for moment in self._labels.values():
            if moment.question in prompt and moment.said in prompt:
                found = [{"bias": bias, "evidence": moment.said} for bias in moment.present
                         if rng.random() < self._reader.hits]
        for opening in self._suite.openings.values():
            said = [turn for turn in opening.turns if turn.said in prompt]
            if opening.question in prompt and said:
                found = [{"bias": bias, "evidence": said[-1].said} for bias in said[-1].present
                         if rng.random() < self._reader.hits]
        return {"present": found, "unknown": []}
