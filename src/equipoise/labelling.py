"""Blind items and the people who label them: what is shown, to whom, in what order, what was said.

Nothing here knows a file or a screen: a terminal and a web page use the same functions.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from msgspec import Struct

from equipoise.gold import Rating
from equipoise.terms import Misuse, canonical_json, content_hash

Task = Literal["shown", "present"]
Act = Literal["answer", "skip", "undo", "read"]
TASKS: tuple[Task, ...] = get_args(Task)
YES, NO, UNKNOWN = "yes", "no", "unknown"
ANSWERS = (YES, NO, UNKNOWN)


class Item(Struct, frozen=True):
    """What a rater is shown: a bias's written contract and what it is looked for in.

    `id` says nothing of where the item came from. `stamp` names the words of the bias's definition
    in every language; `page` is as readers are shown it. For the task "shown" there is the page
    and no more; for "present" also the question and what the person said.
    """

    id: str
    task: Task
    language: str
    bias: str
    title: str
    definition: str
    debias: str
    stamp: str
    page: str
    question: str = ""
    said: str = ""


class Answer(Struct, frozen=True, omit_defaults=True):
    """One thing a rater did, as it is written down: an answer, a skip, taking back, reading.

    An answer's `label` is yes, no or unknown; `line` is the line of the page on which a yes was
    seen, -1 where none was named. `definition` is the stamp of the words that were before the
    rater, `at` UTC seconds since 1970.
    """

    act: Act
    id: str
    task: Task
    bias: str
    rater: str
    definition: str
    label: str = ""
    line: int = -1
    reason: str = ""
    at: int = 0


@dataclass(frozen=True)
class Rater:
    """A person who may label, and the languages they read."""

    name: str
    languages: tuple[str, ...]


def blind(secret: bytes, content: Mapping[str, Any]) -> str:
    """An item's id: 16 hex digits of the HMAC-SHA256 of what it shows, under a secret.

    The same content has the same id under one secret; without it the id says nothing.

    >>> blind(b"k", {"page": "1"}) == blind(b"k", {"page": "1"}) != blind(b"l", {"page": "1"})
    True
    """
    return hmac.new(secret, canonical_json(dict(content)), hashlib.sha256).hexdigest()[:16]


def queue_stamp(items: Iterable[Item]) -> str:
    """Names a queue by the items in it, whatever their order and definitions."""
    return content_hash(sorted(item.id for item in items))


def raters(said: Mapping[str, Any]) -> dict[str, Rater]:
    """The raters that a raters file names; raises Misuse for one with no languages.

    >>> raters({"ann": {"languages": ["en", "fr"]}})["ann"].languages
    ('en', 'fr')
    """
    found = {}
    for name, row in said.items():
        languages = row.get("languages") if isinstance(row, Mapping) else None
        if not isinstance(languages, list) or not languages or not all(
                isinstance(one, str) for one in languages):
            raise Misuse(f'The rater {name} needs the languages they read: languages = ["en"].')
        found[name] = Rater(name, tuple(languages))
    return found


def ordered(items: Sequence[Item], rater: str) -> list[Item]:
    """The items in this rater's own order: the same each time, another for another rater."""
    stamp = queue_stamp(items)
    return sorted(items, key=lambda item: content_hash([rater, stamp, item.id]))


def allowed(items: Iterable[Item], rater: Rater) -> list[Item]:
    """The items in a language that the rater reads."""
    return [item for item in items if item.language in rater.languages]


def under(items: Iterable[Item], biases: Mapping[str, Any]) -> list[Item]:
    """The items under today's definitions; `biases` have title, definition, debias and stamp.

    Raises Misuse for a bias that is defined no longer.
    """
    found = []
    for item in items:
        if item.bias not in biases:
            raise Misuse(f"The queue asks about {item.bias!r}, which is defined no longer. Make"
                         " the queue anew.")
        now, language = biases[item.bias], item.language
        found.append(Item(item.id, item.task, language, item.bias, now.title[language],
                          now.definition[language], now.debias[language], now.stamp,
                          item.page, item.question, item.said))
    return found


def done(answers: Iterable[Answer], rater: str) -> list[Answer]:
    """What a rater said and did not take back, in order: answers and skips.

    >>> one = Answer("answer", "i", "shown", "framing", "ann", "v1", "yes")
    >>> back = Answer("undo", "i", "shown", "framing", "ann", "v1")
    >>> done([one, back], "ann"), done([one], "bob")
    ([], [])
    """
    found: list[Answer] = []
    for answer in answers:
        if answer.rater != rater or answer.act == "read":
            continue
        if answer.act != "undo":
            found.append(answer)
            continue
        at = next((at for at in range(len(found) - 1, -1, -1)
                   if (found[at].id, found[at].task) == (answer.id, answer.task)), None)
        if at is not None:
            del found[at]
    return found


def standing(answers: Iterable[Answer]) -> list[Answer]:
    """Each rater's last word on each item under each definition; skips are none.

    Unknown is a word: who says it after yes has said yes no longer.
    """
    answers = list(answers)
    last: dict[tuple[str, str, str, str], Answer] = {}
    for rater in dict.fromkeys(answer.rater for answer in answers):
        for answer in done(answers, rater):
            if answer.act == "answer":
                last[answer.task, answer.id, rater, answer.definition] = answer
    return list(last.values())


def as_ratings(answers: Iterable[Answer]) -> list[Rating]:
    """The answers as gold takes them: unknown is no label."""
    return [Rating(one.id, one.rater, None if one.label == UNKNOWN else one.label, one.definition)
            for one in standing(answers)]


def has_read(answers: Iterable[Answer], rater: str, item: Item) -> bool:
    """Whether the rater has read the words that the item's bias has now."""
    return any(answer.act == "read" and answer.rater == rater and answer.bias == item.bias
               and answer.definition == item.stamp for answer in answers)


def waiting(items: Iterable[Item], answers: Iterable[Answer], rater: str) -> list[Item]:
    """What a rater has not answered under the words of now; what they skipped comes last."""
    said = done(answers, rater)
    answered = {(one.task, one.id, one.definition) for one in said if one.act == "answer"}
    skipped = {(one.task, one.id) for one in said if one.act == "skip"}
    left = [item for item in items if (item.task, item.id, item.stamp) not in answered]
    return sorted(left, key=lambda item: (item.task, item.id) in skipped)
