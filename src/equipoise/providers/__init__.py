"""Whoever is asked: one callable each, wrapped by limits; one dialect for each form on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import get_args
from urllib.parse import quote

from equipoise.providers import (
    anthropic,
    callables,
    endpoint,
    gemini,
    inspect_model,
    llamacpp,
    openai_chat,
    openai_responses,
    openrouter,
    planted,
)
from equipoise.providers.keys import bearer
from equipoise.recorded.forms import DIALECT, FORMS
from equipoise.terms import AnswerMode, Completion, Fault, Message, Misuse, Reply, Request, Subject

Encode = Callable[[Subject, Sequence[Message], AnswerMode, Sequence[str], str], Request]
Decode = Callable[[Reply], Completion | Fault]

ALL_MODES: frozenset[AnswerMode] = frozenset(get_args(AnswerMode))

CALL: ContextVar[int] = ContextVar("call", default=0)
"""The number of the intent under which the call being made is on record, for a provider that
must tell equal requests apart."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form on the wire: a question to the exact bytes, and the bytes to what they say.

    `home` is where it is spoken unless a subject says otherwise, `path` what follows a base
    URL, with the place of the model in it where it stands there, and `headers` what carries a
    key. `settings` are those the form has words for; `modes` the ways of answering.
    """

    encode: Encode
    decode: Decode
    path: str = ""
    paid: bool = False
    """Whether whoever speaks it may send a bill."""
    home: str = ""
    headers: Callable[[str | None], Mapping[str, str]] = bearer
    settings: frozenset[str] = frozenset()
    modes: frozenset[AnswerMode] = ALL_MODES

    def url(self, base_url: str, model: str) -> str:
        """Where a question to that model goes.

        >>> dialect("gemini").url("https://a.example/v1", "gemini-3-pro")
        'https://a.example/v1/models/gemini-3-pro:generateContent'
        """
        return base_url + self.path.replace("{model}", quote(model, safe=""))


def recorded(*asked: object) -> Request:
    """Recorded replies are of questions that another tool asked."""
    raise Misuse("This run was imported: its replies are recorded, and nothing can be asked.")


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        openai_chat.encode, openai_chat.decode, openai_chat.PATH, paid=True,
        home=openai_chat.HOME, settings=openai_chat.SETTINGS),
    "responses": Dialect(
        openai_responses.encode, openai_responses.decode, openai_responses.PATH, paid=True,
        home=openai_responses.HOME, settings=openai_responses.SETTINGS),
    "openrouter": Dialect(
        openrouter.encode, openrouter.decode, openrouter.PATH, paid=True,
        home=openrouter.HOME, settings=openrouter.SETTINGS),
    "anthropic": Dialect(
        anthropic.encode, anthropic.decode, anthropic.PATH, paid=True, home=anthropic.HOME,
        headers=anthropic.headers, settings=anthropic.SETTINGS,
        modes=frozenset(("free", "constrained"))),
    "gemini": Dialect(
        gemini.encode, gemini.decode, gemini.PATH, paid=True, home=gemini.HOME,
        headers=gemini.headers, settings=gemini.SETTINGS),
    "inspect": Dialect(
        inspect_model.encode, inspect_model.decode, paid=True, settings=inspect_model.SETTINGS),
    "llamacpp": Dialect(
        llamacpp.encode, llamacpp.decode, llamacpp.PATH, settings=llamacpp.SETTINGS),
    "endpoint": Dialect(
        endpoint.encode, endpoint.decode, paid=True, modes=frozenset(("free",))),
    "callable": Dialect(
        callables.encode, callables.decode, paid=True, modes=frozenset(("free",))),
    "planted": Dialect(planted.encode, planted.decode),
    **{DIALECT + name: Dialect(recorded, form.decode) for name, form in FORMS.items()},
}


def dialect(name: str) -> Dialect:
    """The dialect of that name; raises Misuse for one that this version does not speak."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise Misuse(
            f"No dialect {name!r}: this equipoise speaks {', '.join(DIALECTS)}.", 5
        ) from None
