"""What counts as an answer to a debate: every way to break the contract is named, none repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from equipoise.reading.canonical import Named, Names, clean, normal
from equipoise.reading.json_object import json_object
from equipoise.reading.placeholders import stands_in
from equipoise.terms import Completion, Nonresponse, Reader, Reading

OPEN, YES_NO, CHOICE = "open", "yes-no", "choice"
KINDS = (OPEN, YES_NO, CHOICE)
TOP, CRITERIA = 3, 3
LARGEST = 1e300
LONGEST_NAME, MOST_WORDS, LONGEST_CRITERION = 60, 8, 80
FULL: Mapping[str, str] = {
    "pick": "string", "top3": "array", "points": "object", "criteria": "array"}
CLOSED: Mapping[str, str] = {
    "pick": "string", "ranking": "array", "points": "object", "criteria": "array"}
ONE: Mapping[str, str] = {"pick": "string"}
SENTENCE, CHINESE_STOPS = ("! ", "? ", "; "), "。！？；"


@dataclass(frozen=True, slots=True)
class Answer:
    """A valid answer: the pick and the ranking by canonical name, points out of 100.

    `named` is how each name was said and by which rule it was read; `sum` the points as given.
    """

    pick: str
    ranking: tuple[str, ...]
    points: Mapping[str, float]
    sum: float
    criteria: tuple[str, ...]
    named: tuple[Named, ...]

    @property
    def runner_up(self) -> str:
        return self.ranking[1]

    @property
    def rule(self) -> str:
        """The rule that read the pick."""
        return self.named[0].rule


@dataclass(frozen=True, slots=True)
class Pick:
    """One valid pick, by canonical name."""

    named: Named

    @property
    def pick(self) -> str:
        return self.named.name


def full_answer(kind: str, names: Names) -> Reader[Answer]:
    """A reader of the whole contract of a kind of debate.

    `invalid` names every problem at once, in words that can be put back to the subject.
    """
    return partial(_read, partial(_answer, kind, names))


def one_pick(kind: str, names: Names) -> Reader[Pick]:
    """A reader of one pick alone; for yes or no it must be exactly `Yes` or `No`."""
    return partial(_read, partial(_pick, kind, names))


def _read(make: Any, completion: Completion) -> Reading[Any]:
    """A pick that is a text may decline or hold a place; all else is named problem by problem."""
    found = json_object({})(completion)
    if not isinstance(found.value, Nonresponse) and isinstance(found.value.get("pick"), str):
        found = json_object(ONE)(completion)
    if isinstance(found.value, Nonresponse):
        return found
    made = make(found.value)
    if isinstance(made, list):
        return Reading(Nonresponse("invalid", "; ".join(made)), "contract", found.span)
    return Reading(made, found.rule, found.span)


def _pick(kind: str, names: Names, said: Mapping[str, Any]) -> Pick | list[str]:
    problems = list(_shape_problems(said, ONE))
    if not problems:
        problems = list(_name_problems("pick", said["pick"]))
    if problems:
        return problems
    named = names.canonical(said["pick"])
    problems = list(_allowed_problems("pick", kind, names, [named]))
    return problems or Pick(named)


def _shape_problems(said: Mapping[str, Any], wanted: Mapping[str, str]) -> Iterator[str]:
    """Keys that are spare or missing, and values that are not of their type."""
    if spare := sorted(said.keys() - wanted.keys()):
        yield f"leave out the keys {', '.join(map(repr, spare))}"
    if missing := [key for key in wanted if said.get(key) is None]:
        yield f"missing: {', '.join(missing)}"
    for key, kind in wanted.items():
        if (value := said.get(key)) is not None and _type_of(value) != kind:
            yield f"{key!r} is {_type_of(value)}, wanted {kind}"


def _type_of(value: object) -> str:
    names: Mapping[type, str] = {str: "string", list: "array", dict: "object", bool: "boolean",
                                 int: "integer", float: "number"}
    return names[type(value)]


def _answer(kind: str, names: Names, said: Mapping[str, Any]) -> Answer | list[str]:
    key, wanted = ("top3", FULL) if kind == OPEN else ("ranking", CLOSED)
    shape = list(_shape_problems(said, wanted))
    if any(said.get(part) is None or _type_of(said[part]) != of for part, of in wanted.items()):
        return shape
    unnamed = list(_name_problems("pick", said["pick"]))
    for place, name in enumerate(said[key], 1):
        unnamed += _name_problems(f"entry {place} of {key}", name)
    for name in said["points"]:
        unnamed += _name_problems("a key of points", name)
    problems = [*shape, *unnamed, *_criteria_problems(said["criteria"])]
    if unnamed:
        return problems
    pick, *ranking = (names.canonical(name) for name in (said["pick"], *said[key]))
    keyed = [(names.canonical(name), value) for name, value in said["points"].items()]
    problems += _ranking_problems(key, kind, names, pick, ranking)
    problems += _points_problems(key, kind, pick, ranking, keyed)
    if problems:
        return problems
    total = float(sum(value for _, value in keyed))
    return Answer(
        pick.name, tuple(named.name for named in ranking),
        {named.name: 100 * value / total for named, value in keyed}, total,
        tuple(" ".join(text.split()) for text in said["criteria"]), (pick, *ranking),
    )


def _name_problems(what: str, name: object) -> Iterator[str]:
    """A name is one short text, not a sentence."""
    if not isinstance(name, str):
        yield f"{what} must be a text"
    elif not any(map(str.isalnum, name)) or stands_in(name):
        yield f"{what} is empty or only holds a name's place"
    elif len(name) > LONGEST_NAME or len(name.split()) > MOST_WORDS or any(
        mark in clean(name) for mark in SENTENCE
    ) or set(CHINESE_STOPS) & set(name) or "\n" in name.strip():
        yield f"{what} must be one short name, not a sentence"


def _criteria_problems(criteria: Sequence[object]) -> Iterator[str]:
    if len(criteria) != CRITERIA:
        yield f"give exactly three criteria, not {len(criteria)}"
    for text in criteria:
        if not isinstance(text, str) or stands_in(text):
            yield "every criterion must be a short text"
        elif len(text) > LONGEST_CRITERION:
            yield f"every criterion must be shorter than {LONGEST_CRITERION} characters"
    said = [normal(text) for text in criteria if isinstance(text, str)]
    if len(set(said)) < len(said):
        yield "the three criteria must differ"


def _allowed_problems(
    what: str, kind: str, names: Names, found: Sequence[Named]
) -> Iterator[str]:
    """In a closed debate only the alternatives that the question names are answers."""
    if kind == OPEN:
        return
    for named in found:
        if named.name not in names.names:
            yield (f"{what} must be one of the alternatives that the question names, which"
                   f" {named.said!r} is not")
        elif kind == YES_NO and what == "pick" and named.said not in names.names:
            yield f"{what} must be exactly {' or '.join(map(repr, names.names))}"


def _ranking_problems(
    key: str, kind: str, names: Names, pick: Named, ranking: Sequence[Named]
) -> Iterator[str]:
    ranked = [named.name for named in ranking]
    yield from _allowed_problems("pick", kind, names, [pick])
    yield from _allowed_problems(f"each entry of {key}", kind, names, ranking)
    if len(set(ranked)) < len(ranked):
        yield f"{key} names one answer twice"
    if kind == OPEN and len(ranked) != TOP:
        yield f"{key} must hold exactly three names, not {len(ranked)}"
    if kind != OPEN and sorted(ranked) != sorted(names.names):
        yield f"{key} must hold each alternative of the question exactly once"
    if ranked[:1] != [pick.name]:
        yield f"{key} must begin with the pick"


def _points_problems(
    key: str, kind: str, pick: Named, ranking: Sequence[Named],
    points: Sequence[tuple[Named, object]],
) -> Iterator[str]:
    keys = [named.name for named, _ in points]
    ranked = {named.name for named in ranking}
    if len(set(keys)) < len(keys):
        yield "points name one answer twice"
    if kind == OPEN and not set(keys) <= ranked:
        yield f"points may only go to entries of {key}"
    if kind == OPEN and len(keys) < 2:
        yield "give points to at least two entries"
    if kind != OPEN and set(keys) != ranked:
        yield f"points must go to exactly the entries of {key}"
    if pick.name not in keys:
        yield "give points to the pick"
    numbers = {named.name: value for named, value in points}
    if any(isinstance(value, bool) or not isinstance(value, int | float)
           or not 0 <= value <= LARGEST for value in numbers.values()):
        yield "every value of points must be a finite number, 0 or more"
        return
    others = [float(str(value)) for name, value in numbers.items() if name != pick.name]
    if float(str(numbers.get(pick.name, 0))) <= max(others, default=0.0):
        yield "the pick must have strictly the most points"
