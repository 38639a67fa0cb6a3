"""The debates, the names their answers go by and the prompts, checked before anything is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from equipoise.instruments.debates.contract import CHOICE, KINDS, OPEN, YES_NO
from equipoise.reading.canonical import Names, names, normal
from equipoise.stimuli import Stimuli, misfit, render, slots
from equipoise.terms import Misuse

SHIPPED = Path(__file__).parent / "stimuli"
STANDARD = "standard"
RESERVED = '~/"$\\'
PROBLEMS, SLOT = "; ", re.compile(r"\{(\w+)\}")
FORM = {OPEN: "open", CHOICE: "closed", YES_NO: "yes_no"}
QUESTION, PUSHED = frozenset(("question",)), frozenset(("question", "pick", "rival"))
SLOTS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "en": {
        **dict.fromkeys(FORM.values(), QUESTION),
        **{f"{push}_{form}": PUSHED for push in ("push", "restated") for form in FORM.values()},
        "menu": frozenset(("question", "options")), "correct": frozenset(("problems",)),
    },
    "zh": {**dict.fromkeys(FORM.values(), QUESTION), "correct": frozenset(("problems",))},
}


@dataclass(frozen=True)
class Debate:
    """One question: its kind, its two languages, and what its answers are called.

    `reference` serves matching and visitors' votes, never a prompt; of a closed debate it is
    exactly the alternatives that the question names. `menu` is the cautionary fixed menu.
    """

    key: str
    kind: str
    title: str
    question: str
    chinese: str
    reference: tuple[str, ...]
    criteria: tuple[str, ...]
    menu: tuple[str, ...]
    names: Names

    @property
    def is_open(self) -> bool:
        return self.kind == OPEN


@dataclass(frozen=True)
class Suite:
    """Debates by key, in the order asked, with the prompts by language."""

    name: str
    stamp: str
    debates: Mapping[str, Debate]
    prompts: Mapping[str, Mapping[str, str]]
    hedging: Mapping[str, Sequence[str]]
    problems: Mapping[str, Sequence[tuple[re.Pattern[str], str]]] = field(default_factory=dict)

    def correct(self, language: str, named: str) -> str:
        """The prompt that asks again, with the problems that a reader named."""
        return render(self.prompts[language]["correct"], problems=self.problem(named, language))

    def problem(self, named: str, language: str) -> str:
        """Problems as a reader named them, in the words in which a subject is told of them."""
        return PROBLEMS.join(self._worded(part, language) for part in named.split(PROBLEMS))

    def _worded(self, named: str, language: str) -> str:
        for pattern, wording in self.problems.get(language, ()):
            if found := pattern.fullmatch(named):
                return wording.format(**found.groupdict())
        return named

    def ask(self, key: str, language: str = "en") -> str:
        """The question under its contract."""
        debate = self.debates[key]
        question = debate.question if language == "en" else debate.chinese
        return render(self.prompts[language][FORM[debate.kind]], question=question)

    def push(self, key: str, pick: str, rival: str, *, restated: bool = False) -> str:
        """The pressure: experts think the rival right and the pick wrong."""
        debate = self.debates[key]
        form = f"{'restated' if restated else 'push'}_{FORM[debate.kind]}"
        return render(self.prompts["en"][form], question=debate.question, pick=pick, rival=rival)

    def menu(self, key: str) -> str:
        """The cautionary condition: the question with its fixed menu."""
        debate = self.debates[key]
        return render(self.prompts["en"]["menu"], question=debate.question,
                      options="\n".join(debate.menu))


def suite(stimuli: Stimuli, name: str, only: Sequence[str] = ()) -> Suite:
    """The suite a folder of stimuli holds; `only` names the debates to ask, else all.

    Raises Misuse that says what was found where: a debate without a Chinese text, a reference
    list of one, an alias that two names claim, a missing or spare slot.
    """
    found: Mapping[str, Any] = stimuli.files.get("debates") or {}
    if not found:
        raise Misuse("debates.toml is missing or empty: it holds the debates.")
    aliases: Mapping[str, Any] = stimuli.files.get("aliases") or {}
    if spare := sorted(aliases.keys() - found.keys()):
        raise Misuse(f"aliases.toml: [{spare[0]}] is no debate of debates.toml.")
    debates = {key: _debate(key, said, aliases.get(key, {})) for key, said in found.items()}
    for key in only:
        if key not in debates:
            near = get_close_matches(key, debates, 1)
            raise Misuse(f"No debate {key!r}."
                         + (f" Did you mean {near[0]!r}?" if near else "")
                         + f" There are: {', '.join(debates)}.")
    kept = {key: debate for key, debate in debates.items() if not only or key in only}
    return Suite(name, stimuli.stamp, kept, _prompts(stimuli.files.get("prompts") or {}),
                 _hedging(stimuli.files.get("hedging") or {}),
                 _problems(stimuli.files.get("problems") or {}))


def _problems(found: Mapping[str, Any]) -> dict[str, tuple[tuple[re.Pattern[str], str], ...]]:
    """By language, each problem as a pattern of what it quotes, and its wording."""
    return {language: tuple(_wording(language, said) for said in listed)
            for language, listed in found.items()}


def _wording(language: str, said: Any) -> tuple[re.Pattern[str], str]:
    if not isinstance(said, dict) or {"problem", "wording"} != said.keys() or not all(
        isinstance(text, str) and text for text in said.values()
    ):
        raise Misuse(f"problems.toml: an entry of [[{language}]] is no problem with its wording.")
    parts = SLOT.split(said["problem"])
    pattern = "".join(f"(?P<{part}>.+)" if place % 2 else re.escape(part)
                      for place, part in enumerate(parts))
    if spare := sorted(set(SLOT.findall(said["wording"])) - set(parts[1::2])):
        raise Misuse(f"problems.toml: the wording {said['wording']!r} of [[{language}]] quotes"
                     f" {spare[0]}, which its problem does not.")
    return re.compile(pattern, re.DOTALL), said["wording"]


def _hedging(found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Phrases by category, those of both languages together."""
    phrases: dict[str, tuple[str, ...]] = {}
    for language, listed in found.items():
        if not isinstance(listed, dict):
            raise Misuse(f"hedging.toml: [{language}] is no table of lists of phrases.")
        for category, said in listed.items():
            if not isinstance(said, list) or not all(isinstance(x, str) and x for x in said):
                raise Misuse(f"hedging.toml: {category} of [{language}] is no list of phrases.")
            phrases[category] = (*phrases.get(category, ()), *said)
    return phrases


def _prompts(found: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    prompts: dict[str, dict[str, str]] = {}
    for language, wanted in SLOTS.items():
        said = found.get(language)
        if not isinstance(said, dict) or wanted.keys() - said.keys():
            have = said.keys() if isinstance(said, dict) else ()
            raise Misuse(f"prompts.toml: [{language}] does not fit:"
                         f" {misfit(frozenset(wanted), have)}.")
        for form, of in wanted.items():
            if not isinstance(said[form], str):
                raise Misuse(f"prompts.toml: {form} of [{language}] is no text.")
            if slots(said[form]) != of:
                raise Misuse(f"prompts.toml: {form} of [{language}] does not fit:"
                             f" {misfit(of, slots(said[form]))}.")
        prompts[language] = {form: said[form].strip("\n") for form in wanted}
    return prompts


def _debate(key: str, said: object, aliases: object) -> Debate:
    wanted = frozenset(("kind", "title", "question", "chinese", "reference", "criteria"))
    if any(c in key for c in RESERVED):
        raise Misuse(f"debates.toml: the name {key!r} holds one of ~ / \" $ \\, which mean"
                     " something in a cell's name.")
    if not isinstance(said, dict) or wanted - said.keys() or said.keys() - wanted - {"menu"}:
        have = said.keys() - {"menu"} if isinstance(said, dict) else ()
        raise Misuse(f"debates.toml: [{key}] does not fit: {misfit(wanted, have)}.")
    texts = {part: said[part] for part in ("kind", "title", "question", "chinese")}
    if empty := [part for part, text in texts.items()
                 if not isinstance(text, str) or not text.strip()]:
        raise Misuse(f"debates.toml: [{key}] has no text under {', '.join(empty)}.")
    if said["kind"] not in KINDS:
        raise Misuse(f"debates.toml: [{key}] is of the kind {said['kind']!r}; there are"
                     f" {', '.join(KINDS)}.")
    lists = {part: _names_of(key, part, said.get(part, [])) for part in (
        "reference", "criteria", "menu")}
    _fits(key, said["kind"], lists)
    return Debate(
        key, said["kind"], said["title"], said["question"].strip(), said["chinese"].strip(),
        lists["reference"], lists["criteria"], lists["menu"],
        _table(key, said["kind"], lists["reference"], aliases),
    )


def _names_of(key: str, part: str, said: object) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(
        isinstance(x, str) and any(map(str.isalnum, x)) for x in said
    ):
        raise Misuse(f'debates.toml: {part} of [{key}] is no list of texts, as in ["…", "…"].')
    if len({normal(text) for text in said}) < len(said):
        raise Misuse(f"debates.toml: {part} of [{key}] names one thing twice.")
    return tuple(said)


def _fits(key: str, kind: str, lists: Mapping[str, tuple[str, ...]]) -> None:
    """Raises Misuse for a reference list of one, or that does not fit the kind of question."""
    reference, menu = lists["reference"], lists["menu"]
    if len(reference) < 2:
        raise Misuse(f"debates.toml: the reference list of [{key}] holds {len(reference)} name;"
                     " a debate needs at least two.")
    if kind == YES_NO and sorted(reference) != ["No", "Yes"]:
        raise Misuse(f"debates.toml: [{key}] is a yes-no debate, so its reference list is Yes and"
                     " No.")
    if menu and (kind != OPEN or not set(menu) <= set(reference) or len(menu) < 2):
        raise Misuse(f"debates.toml: the menu of [{key}] needs two or more names of its reference"
                     " list, and an open question.")


def _table(key: str, kind: str, reference: Sequence[str], aliases: object) -> Names:
    if not isinstance(aliases, dict) or not all(
        isinstance(forms, list) and all(isinstance(form, str) for form in forms)
        for forms in aliases.values()
    ):
        raise Misuse(f'aliases.toml: [{key}] is no table of names and forms, as in "Name" = ["…"].')
    if kind != OPEN and (spare := sorted(aliases.keys() - set(reference))):
        raise Misuse(f"aliases.toml: {spare[0]!r} of [{key}] is no alternative of that debate.")
    try:
        return names({**{name: [] for name in reference}, **aliases}, loose=kind == OPEN)
    except ValueError as error:
        raise Misuse(f"aliases.toml, [{key}]: {error}. A form may mean one name; leave an"
                     " ambiguous one out.") from error


def schema(debate: Debate, *, whole: bool) -> str:
    """The JSON Schema of a debate's contract, as JSON text; of one pick unless `whole`.

    That of an open debate names no answer; that of a closed one its alternatives. Its keys are
    in the order of the contract, in which an engine held to it writes them.
    """
    name: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 60}
    if not debate.is_open and whole:
        name = {"type": "string", "enum": list(debate.reference)}
    if debate.kind == YES_NO:
        name = {"type": "string", "enum": list(debate.reference)}
    properties: dict[str, Any] = {"pick": name}
    if whole:
        size = 3 if debate.is_open else len(debate.reference)
        properties["top3" if debate.is_open else "ranking"] = {
            "type": "array", "items": name, "minItems": size, "maxItems": size}
        number = {"type": "number"}
        properties["points"] = (
            {"type": "object", "additionalProperties": number} if debate.is_open else
            {"type": "object", "properties": dict.fromkeys(debate.reference, number),
             "required": list(debate.reference), "additionalProperties": False})
        properties["criteria"] = {
            "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 80},
            "minItems": 3, "maxItems": 3}
    return json.dumps({
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }, ensure_ascii=False, separators=(",", ":"))
