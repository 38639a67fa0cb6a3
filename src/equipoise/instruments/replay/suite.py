"""Openings, biases and the engine's prompt by clause, checked before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from equipoise.instruments.replay.page import Line, Page, page, worded
from equipoise.stimuli import Stimuli, misfit, render, slots
from equipoise.terms import Misuse, content_hash

SHIPPED = Path(__file__).parent / "stimuli"
STANDARD = "standard"
LANGUAGES = ("en", "fr")
ENGINE_SLOTS = frozenset(("question", "page", "earlier", "said", "instructions"))
READERS: Mapping[str, frozenset[str]] = {
    "page_reader": frozenset(("definition", "debias", "page")),
    "detector": frozenset(("question", "page", "said", "definitions")),
    "quality": frozenset(("question", "line")),
    "outcome": frozenset(("line", "later")),
}
MOMENT = "moment"
"""The last clause of the engine's prompt, which alone holds slots and can never be dropped."""
RESERVED = '~/"$\\'


@dataclass(frozen=True)
class Bias:
    """A reasoning error and the question that answers it, in each language.

    `stamp` names the written contract: a label counts only under the words it was given for.
    """

    key: str
    title: Mapping[str, str]
    definition: Mapping[str, str]
    debias: Mapping[str, str]
    instruction: Mapping[str, str]

    @property
    def stamp(self) -> str:
        return content_hash({"definition": dict(self.definition), "debias": dict(self.debias)})


@dataclass(frozen=True)
class Turn:
    """What the person says next, and the biases the labels find in it."""

    said: str
    present: tuple[str, ...]


@dataclass(frozen=True)
class Opening:
    """A frozen conversation: the question, the page as it stood, and the person's turns."""

    key: str
    language: str
    question: str
    page: Page
    earlier: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...]

    @property
    def present(self) -> Mapping[str, int]:
        """Each bias the labels find, with the first turn (from 1) it is in."""
        found: dict[str, int] = {}
        for number, turn in enumerate(self.turns, 1):
            for bias in turn.present:
                found.setdefault(bias, number)
        return found


@dataclass(frozen=True)
class Moment:
    """A turn as it meets an engine: all that stood before, and what is said now."""

    opening: Opening
    page: Page
    earlier: tuple[tuple[str, str], ...]
    turn: Turn


@dataclass(frozen=True)
class Suite:
    """Openings by key, in the order asked, with the biases and the prompts by language.

    `engine` holds the engine's clauses by language and name, in order; `changed` those of a
    prompt that a person brought for one arm.
    """

    name: str
    stamp: str
    openings: Mapping[str, Opening]
    biases: Mapping[str, Bias]
    engine: Mapping[str, Mapping[str, str]]
    changed: Mapping[str, Mapping[str, str]]
    prompts: Mapping[str, Mapping[str, str]]

    def page_question(self, language: str, bias: str, shown: Page) -> str:
        """What the page-line reader is asked: one bias, the page and nothing else."""
        of = self.biases[bias]
        return render(self.prompts[language]["page_reader"], definition=of.definition[language],
                      debias=of.debias[language], page=worded(shown, language))

    def detector_question(self, moment: Moment) -> str:
        """What the detector is asked: the question, the page as it stood and the new message."""
        language = moment.opening.language
        contracts = "\n".join(f"- {key}: {bias.definition[language]}"
                              for key, bias in self.biases.items())
        return render(self.prompts[language]["detector"], question=moment.opening.question,
                      page=worded(moment.page, language), said=moment.turn.said,
                      definitions=contracts)

    def quality_question(self, opening: Opening, line: str) -> str:
        """What the quality reader is asked of one line."""
        return render(self.prompts[opening.language]["quality"], question=opening.question,
                      line=line)

    def outcome_question(self, opening: Opening, line: str, since: int) -> str:
        """What the outcome reader is asked of a line: what the person said after turn `since`."""
        later = "\n".join(turn.said for turn in opening.turns[since:])
        return render(self.prompts[opening.language]["outcome"], line=line, later=later)


def suite(stimuli: Stimuli, name: str = STANDARD) -> Suite:
    """The suite a folder of stimuli holds.

    Raises Misuse that says what was found where: an opening of no known language, a bias that
    is not defined, a line without a text, a missing or spare slot.
    """
    biases = {key: _bias(key, said) for key, said in _file(stimuli, "biases").items()}
    openings = {key: _opening(key, said, biases)
                for key, said in _file(stimuli, "openings").items()}
    prompts = _file(stimuli, "prompts")
    changed = stimuli.files.get("changed") or {}
    return Suite(
        name, stimuli.stamp, openings, biases,
        {language: _clauses("prompts.toml", language, prompts) for language in LANGUAGES},
        {language: _clauses("changed.toml", language, changed) for language in LANGUAGES
         if language in changed},
        {language: _readers(language, prompts) for language in LANGUAGES},
    )


def _file(stimuli: Stimuli, name: str) -> Mapping[str, Any]:
    found = stimuli.files.get(name)
    if not found:
        raise Misuse(f"{name}.toml is missing or empty.")
    said: Mapping[str, Any] = found
    return said


def _bias(key: str, said: Any) -> Bias:
    _require_name("biases.toml", key)
    parts = {}
    for part in ("title", "definition", "debias", "instruction"):
        texts = {"en": said.get(part), "fr": said.get(f"{part}_fr")}
        if not all(isinstance(text, str) and text.strip() for text in texts.values()):
            raise Misuse(f"biases.toml: [{key}] needs a text under {part} and {part}_fr.")
        parts[part] = {language: text.strip() for language, text in texts.items()}
    return Bias(key, **parts)


def _opening(key: str, said: Any, biases: Mapping[str, Bias]) -> Opening:
    _require_name("openings.toml", key)
    where = f"openings.toml: [{key}]"
    if said.get("language") not in LANGUAGES:
        raise Misuse(f"{where} has the language {said.get('language')!r}, wanted"
                     f" {' or '.join(LANGUAGES)}.")
    if not isinstance(said.get("question"), str):
        raise Misuse(f"{where} has no question.")
    turns = tuple(_turn(where, turn, biases) for turn in said.get("turn") or ())
    if not turns:
        raise Misuse(f"{where} has no turn: what does the person say?")
    earlier = tuple((one["by"], one["text"]) for one in said.get("earlier") or ())
    return Opening(key, said["language"], said["question"],
                   page_of(where, said.get("page") or (), said.get("at_stake", "")), earlier, turns)


def page_of(where: str, lines: Iterable[Any], at_stake: str) -> Page:
    """A page as stimuli hold it; raises Misuse for a line without a text."""
    found = list(lines)
    if not all(isinstance(line, dict) and str(line.get("text", "")).strip() for line in found):
        raise Misuse(f"{where}: each line of a page needs a text, and an answer or none.")
    return page(((line["text"], line.get("answer", "")) for line in found), at_stake)


def _turn(where: str, said: Any, biases: Mapping[str, Bias]) -> Turn:
    if not isinstance(said, dict) or not str(said.get("said", "")).strip():
        raise Misuse(f"{where}: a turn needs what is said.")
    present = tuple(said.get("present") or ())
    if strange := sorted(set(present) - set(biases)):
        near = get_close_matches(strange[0], biases, 1)
        raise Misuse(f"{where} names the bias {strange[0]!r}, which biases.toml does not define."
                     + (f" Did you mean {near[0]!r}?" if near else ""))
    return Turn(said["said"], present)


def _clauses(file: str, language: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The engine's prompt, clause by clause; the last, with all the slots, is the moment."""
    said = found.get(language) or {}
    clauses, moment = said.get("engine"), said.get(MOMENT)
    if not isinstance(clauses, dict) or not all(isinstance(x, str) for x in clauses.values()):
        raise Misuse(f"{file}: [{language}.engine] is to be a table of clauses, each a text.")
    if not isinstance(moment, str) or slots(moment) != ENGINE_SLOTS:
        held = slots(moment) if isinstance(moment, str) else ()
        raise Misuse(f"{file}: {MOMENT} of [{language}] does not fit:"
                     f" {misfit(ENGINE_SLOTS, held)}.")
    if slotted := [name for name, text in clauses.items() if slots(text)]:
        raise Misuse(f"{file}: the clause {slotted[0]} of [{language}.engine] holds a slot, and"
                     f" only {MOMENT} may.")
    return {name: text.strip() for name, text in {**clauses, MOMENT: moment}.items()}


def _readers(language: str, found: Mapping[str, Any]) -> dict[str, str]:
    said = found.get(language) or {}
    for name, wanted in READERS.items():
        if not isinstance(said.get(name), str):
            raise Misuse(f"prompts.toml: [{language}] lacks {name}.")
        if slots(said[name]) != wanted:
            raise Misuse(f"prompts.toml: {name} of [{language}] does not fit:"
                         f" {misfit(wanted, slots(said[name]))}.")
    return {name: said[name].strip("\n") for name in READERS}


def _require_name(file: str, key: str) -> None:
    if set(key) & set(RESERVED):
        raise Misuse(f"{file}: the name {key!r} holds one of {RESERVED}. Choose another.")


def one_line(line: Line) -> str:
    """A line of a page as the quality reader is shown it."""
    return line.text + (f" — {line.answer}" if line.settled else "")


def only(of: Suite, names: Sequence[str]) -> Suite:
    """The suite with these openings alone, or as it is where none are named."""
    for name in names:
        if name not in of.openings:
            near = get_close_matches(name, of.openings, 1)
            raise Misuse(f"No opening {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
    kept = {key: opening for key, opening in of.openings.items() if not names or key in names}
    return Suite(of.name, of.stamp, kept, of.biases, of.engine, of.changed, of.prompts)
