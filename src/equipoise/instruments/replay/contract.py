"""What counts as an answer of the engine and of each reader: faults are named, none is repaired."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, get_args

from msgspec import Struct

from equipoise.instruments.replay.page import Edit, Op, Page
from equipoise.instruments.replay.whole_page import LONGEST_LINE, edits_to
from equipoise.reading.folding import fold
from equipoise.reading.json_object import TYPES, json_object
from equipoise.terms import Completion, Nonresponse, Reader, Reading

Met = Literal["met", "not met", "unknown"]
MET: tuple[str, ...] = get_args(Met)
CHECKS = ("plain_question", "names_the_other_answer", "asks_for_an_observation")
OUTCOMES = ("successful", "ignored", "dismissed")
MOST_EDITS = 40
ENGINE, PAGE, DETECTOR, QUALITY, OUTCOME = "engine", "page", "detector", "quality", "outcome"
ARTICLES = {"string": "a text", "array": "a list", "integer": "a whole number",
            "object": "an object"}
NEEDS: Mapping[str, tuple[str, ...]] = {
    "ask": ("text",), "revise": ("line", "text"), "settle": ("line", "answer"),
    "drop": ("line",), "stake": ("text",),
}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}


NO_PAGE = Page()
_TEXT = {"type": "string", "maxLength": 300}
_MET = {"enum": list(MET)}


def schema(who: str, page: Page = NO_PAGE) -> str:
    """The JSON Schema, as JSON text, that a constrained answer of the engine or a reader must fit.

    Line numbers are those of the page. Texts and lists are bounded: held to a form without an
    end, a small model writes on until it is cut off.
    """
    return _schema(who, tuple(line.number for line in page.lines), bool(page.at_stake))


@lru_cache(maxsize=1024)
def _schema(who: str, lines: tuple[int, ...], at_stake: bool) -> str:
    made: dict[str, Any] = {
        ENGINE: _object(reply=_TEXT, edits={"type": "array", "maxItems": 4, "items": {"anyOf": [
            _object(op={"const": op},
                    **{key: {"enum": list(lines)} if key == "line" else _TEXT for key in keys})
            for op, keys in NEEDS.items() if lines or "line" not in keys]}}),
        PAGE: _object(verdict=_MET, line={"enum": [-1, *([0] if at_stake else []), *lines]},
                      quote=_TEXT),
        DETECTOR: _object(
            present={"type": "array", "maxItems": 7, "items": _object(bias=_TEXT, evidence=_TEXT)},
            unknown={"type": "array", "maxItems": 7, "items": _TEXT}),
        QUALITY: _object(**dict.fromkeys(CHECKS, _MET)),
        OUTCOME: _object(outcome={"enum": [*OUTCOMES, "unknown"]}, quote=_TEXT),
    }
    return json.dumps(made[who])


class Written(Struct, frozen=True):
    """A valid answer of the engine: its prose, which is never scored, and its edits."""

    reply: str
    edits: tuple[Edit, ...]


class Seen(Struct, frozen=True):
    """Whether a debias is on a page, and on which line; line -1 where it is not."""

    verdict: Met
    line: int = -1
    quote: str = ""


class Detected(Struct, frozen=True):
    """The biases found in a message, each with the words quoted for it, and those undecided."""

    present: Mapping[str, str]
    unknown: tuple[str, ...] = ()


def engine_answer(page: Page) -> Reader[Written]:
    """A reader of one answer of the engine to a turn on this page.

    `invalid` names every problem at once: an edit of no known kind, a line that is not on the
    page, a text that is missing, empty or longer than 1,000 characters.
    """
    return partial(_read, {"reply": "string", "edits": "array"}, partial(_written, page))


def own_answer(page: Page) -> Reader[Written]:
    """A reader of an engine of a person's own: edits, or the whole new page in their place.

    A line of the new page that gives its number keeps it; so does one whose text is the same.
    """
    return partial(_read, {"reply": "string"}, partial(_own_written, page))


def page_line(page: Page) -> Reader[Seen]:
    """A reader of the page-line reader: met needs the number of a line that is on the page."""
    return partial(_read, {"verdict": "string", "line": "integer"}, partial(_seen, page))


def detection(message: str, biases: Collection[str]) -> Reader[Detected]:
    """A reader of the detector: a bias whose evidence is no words of the message is undecided."""
    return partial(_read, {"present": "array", "unknown": "array"},
                   partial(_detected, message, biases))


def checks(completion: Completion) -> Reading[Mapping[str, Met]]:
    """A reader of the quality reader: each binary check met, not met or unknown."""
    return _read(dict.fromkeys(CHECKS, "string"), _checked, completion)


def outcome(completion: Completion) -> Reading[str]:
    """A reader of the outcome reader: successful, ignored, dismissed or unknown."""
    return _read({"outcome": "string"}, _outcome, completion)


def _read(required: Mapping[str, str], make: Any, completion: Completion) -> Reading[Any]:
    """The object's shape first, then what it says.

    Not `json_object(required)`: a verdict may be *unknown* and an engine's prose may decline
    something, which there would hold an answer's place or be a refusal.
    """
    found = json_object({})(completion)
    if isinstance(found.value, Nonresponse):
        return found
    made = list(_shape(required, found.value)) or make(found.value)
    if isinstance(made, list):
        return Reading(Nonresponse("invalid", "; ".join(made)), "contract", found.span)
    return Reading(made, found.rule, found.span)


def _shape(required: Mapping[str, str], said: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in required.items():
        value = said.get(key)
        if key not in said:
            yield f"{key!r} is missing"
        elif not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
            yield f"{key!r} is to be {ARTICLES[kind]}"


def _written(page: Page, said: Mapping[str, Any]) -> Written | list[str]:
    if len(said["edits"]) > MOST_EDITS:
        return [f"{len(said['edits'])} edits, wanted at most {MOST_EDITS}"]
    problems: list[str] = []
    edits, there = [], {line.number for line in page.lines}
    used = page.used
    for place, edit in enumerate(said["edits"], 1):
        found = list(_edit_problems(edit, there))
        problems += [f"edit {place}: {problem}" for problem in found]
        if found:
            continue
        op: Op = edit["op"]
        if op == "ask":
            used += 1
            there.add(used)
        if op == "drop":
            there.discard(edit["line"])
        edits.append(Edit(op, edit["line"] if "line" in NEEDS[op] else 0,
                          str(edit.get("answer" if op == "settle" else "text", "")).strip()))
    return problems or Written(said["reply"], tuple(edits))


def _own_written(page: Page, said: Mapping[str, Any]) -> Written | list[str]:
    if ("edits" in said) == ("page" in said):
        return ["wanted either 'edits' or 'page'"]
    kind, name = ("array", "edits") if "edits" in said else ("object", "page")
    if problems := list(_shape({name: kind}, said)):
        return problems
    if name == "edits":
        return _written(page, said)
    found = edits_to(page, said["page"])
    edits = [edit for edit in found if isinstance(edit, Edit)]
    if len(edits) < len(found):
        return [problem for problem in found if isinstance(problem, str)]
    if len(edits) > MOST_EDITS:
        return [f"the page differs in {len(edits)} edits, wanted at most {MOST_EDITS}"]
    return Written(said["reply"], tuple(edits))


def _edit_problems(edit: Any, there: Collection[int]) -> Iterator[str]:
    if not isinstance(edit, dict) or edit.get("op") not in NEEDS:
        yield f"'op' is to be one of {', '.join(NEEDS)}"
        return
    for key in NEEDS[edit["op"]]:
        value: Any = edit.get(key)
        if key == "line" and (type(value) is not int or value not in there):
            yield f"'line' is {value!r}, and there is no such line"
        elif key != "line" and not (isinstance(value, str) and value.strip()):
            yield f"{key!r} is missing or empty"
        elif key != "line" and len(value) > LONGEST_LINE:
            yield f"{key!r} is longer than {LONGEST_LINE} characters"


def _seen(page: Page, said: Mapping[str, Any]) -> Seen | list[str]:
    verdict, line, quote = said["verdict"], said["line"], said.get("quote", "")
    if verdict not in MET:
        return [f"'verdict' is {verdict!r}, wanted {', '.join(MET)}"]
    if verdict != "met":
        return Seen(verdict)
    if not page.holds(line):
        return [f"met on line {line}, and there is no such line"]
    return Seen("met", line, quote if isinstance(quote, str) else "")


def _detected(
    message: str, biases: Collection[str], said: Mapping[str, Any]
) -> Detected | list[str]:
    present: dict[str, str] = {}
    undecided = {bias for bias in said["unknown"] if isinstance(bias, str)}
    named = set(undecided)
    text = fold(message).text
    for found in said["present"]:
        if not isinstance(found, dict) or not isinstance(found.get("bias"), str):
            return ["'present' is to hold objects with a 'bias' and its 'evidence'"]
        bias, evidence = found["bias"], found.get("evidence")
        named.add(bias)
        if isinstance(evidence, str) and evidence.strip() and fold(evidence.strip()).text in text:
            present[bias] = evidence.strip()
        else:
            undecided.add(bias)
    if strange := sorted(named - set(biases)):
        return [f"no such bias: {', '.join(strange)}"]
    return Detected(present, tuple(sorted(undecided - present.keys())))


def _checked(said: Mapping[str, Any]) -> Mapping[str, Met] | list[str]:
    strange = [f"{name!r} is {said[name]!r}, wanted {', '.join(MET)}"
               for name in CHECKS if said[name] not in MET]
    return strange or {name: said[name] for name in CHECKS}


def _outcome(said: Mapping[str, Any]) -> str | list[str]:
    if said["outcome"] not in (*OUTCOMES, "unknown"):
        return [f"'outcome' is {said['outcome']!r}, wanted {', '.join(OUTCOMES)} or unknown"]
    return str(said["outcome"])
