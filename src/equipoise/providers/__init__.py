"""Whoever is asked: one callable each, wrapped by limits; one dialect for each form on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.providers import llamacpp, openai_chat, planted
from equipoise.terms import AnswerMode, Completion, Fault, Message, Misuse, Reply, Request, Subject

Encode = Callable[[Subject, Sequence[Message], AnswerMode, Sequence[str], str], Request]
Decode = Callable[[Reply], Completion | Fault]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form on the wire: a question to the exact bytes, and the bytes to what they say."""

    encode: Encode
    decode: Decode
    path: str = ""
    paid: bool = False
    """Whether whoever speaks it may send a bill."""


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(openai_chat.encode, openai_chat.decode, openai_chat.PATH, paid=True),
    "llamacpp": Dialect(llamacpp.encode, llamacpp.decode, llamacpp.PATH),
    "planted": Dialect(planted.encode, planted.decode),
}


def dialect(name: str) -> Dialect:
    """The dialect of that name; raises Misuse for one that this version does not speak."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise Misuse(
            f"No dialect {name!r}: this equipoise speaks {', '.join(DIALECTS)}.", 5
        ) from None
