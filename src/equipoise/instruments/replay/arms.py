"""Arms: what a comparison is about, as a person writes it and as it is registered.

    instruction:framing,one-sided   these biases' instructions ride, fired by the detector
    instruction:all                 every bias's instruction
    rule:TEXT                       one more rule about the page
    drop:thinking                   the engine's prompt without this clause
    prompt                          the prompt of changed.toml
    engine                          the second subject in place of the first
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from equipoise.instruments.replay.page import worded
from equipoise.instruments.replay.suite import MOMENT, Moment, Suite
from equipoise.stimuli import render
from equipoise.terms import Misuse

A, AGAIN, B = "A", "A-again", "B"
ARMS = (A, AGAIN, B)
KINDS = ("instruction", "rule", "drop", "prompt", "engine")
ALL = "all"
BLANK_LINES = re.compile(r"\n{3,}")
SPEAKERS = {"en": {"person": "Person", "engine": "You"},
            "fr": {"person": "Personne", "engine": "Vous"}}


@dataclass(frozen=True)
class Arm:
    """One set-up of the engine: nothing in it is the engine as it stands."""

    instructions: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    prompt: bool = False
    engine: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Arm:
        return cls(tuple(said["instructions"]), tuple(said["rules"]), tuple(said["dropped"]),
                   said["prompt"], said["engine"])


def arm(said: Sequence[str], of: Suite) -> Arm:
    """The arm that these words name; raises Misuse for a word that names nothing.

    >>> from equipoise.instruments.replay.suite import Suite
    >>> arm(["rule:Ask one question at a time."], Suite("s", "", {}, {}, {}, {}, {})).rules
    ('Ask one question at a time.',)
    """
    made: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for words in said:
        kind, _, rest = words.partition(":")
        if kind not in KINDS or bool(rest.strip()) != (kind not in ("prompt", "engine")):
            raise Misuse(f"{words!r} is no change: wanted instruction:BIAS, rule:TEXT, drop:CLAUSE,"
                         " prompt or engine.")
        parts = [rest.strip()] if kind == "rule" else [p.strip() for p in rest.split(",")]
        made[kind] += [part for part in parts if part] or [""]
    _require_known(made["drop"], [c for c in of.engine.get("en", {}) if c != MOMENT],
                   "clause of the engine's prompt")
    names = list(of.biases) if ALL in made["instruction"] else made["instruction"]
    _require_known(names, of.biases, "bias")
    if made["prompt"]:
        _require_changed(of)
    return Arm(tuple(dict.fromkeys(names)), tuple(made["rule"]), tuple(made["drop"]),
               bool(made["prompt"]), bool(made["engine"]))


def _require_changed(of: Suite) -> None:
    """Raises Misuse unless the changed prompt is there in each language asked, and is another."""
    if not of.changed:
        raise Misuse("The change `prompt` needs the changed prompt: name its file in the"
                     ' comparison, as in prompt = "changed.toml".')
    asked = {opening.language for opening in of.openings.values()}
    if missing := sorted(asked - of.changed.keys()):
        raise Misuse(f"The changed prompt has no [{missing[0]}.engine], and there are openings in"
                     f" that language. Write it, or name openings of the others with --openings.")
    if all(of.changed[language] == of.engine[language] for language in asked):
        raise Misuse("The changed prompt says what the prompt says already, so nothing would be"
                     " compared.")


def _require_known(names: Sequence[str], known: Collection[str], what: str) -> None:
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise Misuse(f"No {what} {name!r}."
                         + (f" Did you mean {near[0]!r}?" if near else "")
                         + f" There are: {', '.join(known) or 'none'}.")


def engine_question(of: Suite, of_arm: Arm, moment: Moment, fired: Sequence[str]) -> str:
    """The engine's whole prompt on one turn, without the clauses that the arm drops."""
    language = moment.opening.language
    clauses = (of.changed if of_arm.prompt else of.engine)[language]
    told = [text for name, text in clauses.items() if name not in (MOMENT, *of_arm.dropped)]
    values = {
        "question": moment.opening.question, "page": worded(moment.page, language),
        "earlier": "\n".join(f"{SPEAKERS[language][by]}: {text}" for by, text in moment.earlier),
        "said": moment.turn.said, "instructions": "\n".join(riding(of, of_arm, moment, fired)),
    }
    moment_as_told = render(clauses[MOMENT], **values)
    return "\n\n".join([*told, BLANK_LINES.sub("\n\n", moment_as_told)])


def riding(of: Suite, of_arm: Arm, moment: Moment, fired: Sequence[str]) -> list[str]:
    """The rules and instructions that ride in the prompt on this turn."""
    language = moment.opening.language
    return [*of_arm.rules, *(of.biases[bias].instruction[language] for bias in fired)]


def engine_turn(of: Suite, of_arm: Arm, moment: Moment, fired: Sequence[str]) -> str:
    """The turn as JSON, as an application of a person's own is given it."""
    opening, page = moment.opening, moment.page
    return json.dumps({
        "language": opening.language, "question": opening.question,
        "page": {"at_stake": page.at_stake, "lines": [
            {"line": x.number, "text": x.text, "answer": x.answer} for x in page.lines]},
        "earlier": [{"by": by, "text": text} for by, text in moment.earlier],
        "said": moment.turn.said, "instructions": riding(of, of_arm, moment, fired),
        "dropped": list(of_arm.dropped),
    }, ensure_ascii=False, sort_keys=True)


def described(of: Arm) -> str:
    """An arm in words.

    >>> described(Arm(instructions=("framing",), dropped=("thinking",)))
    'instruction framing; without clause thinking'
    """
    said = [f"instruction {', '.join(of.instructions)}"] if of.instructions else []
    said += [f"rule “{rule}”" for rule in of.rules]
    said += [f"without clause {name}" for name in of.dropped]
    said += ["the changed prompt"] if of.prompt else []
    said += ["the second engine"] if of.engine else []
    return "; ".join(said) or "the engine as it stands"
