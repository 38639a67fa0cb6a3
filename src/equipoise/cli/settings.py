"""The settings a subject may be asked with: their names and the values they can have."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl

from equipoise.terms import Misuse

KNOWN: Mapping[str, type] = {
    "temperature": float, "max_tokens": int, "max_completion_tokens": int, "seed": int,
    "top_p": float, "top_k": int, "min_p": float, "frequency_penalty": float,
    "presence_penalty": float, "repeat_penalty": float, "effort": str, "thinking": object,
    "stop": object, "user": str, "service_tier": str, "safety": str, "upstream": str,
    "name": str, "family": str, "key_env": str, "context": int,
    "slots": int, "prompt_cache": bool, "flash_attention": bool, "batch": int,
    "points": float, "noise": float, "grid": int, "rate": float,
}
OTHER_WORDS = {"reasoning_effort": "effort"}
PROVIDER_DEFAULT = "provider-default"
OURS = frozenset({"model", "messages", "stream", "logprobs", "top_logprobs", "grammar", "n",
                  "response_format"})


def from_query(query: str) -> dict[str, Any]:
    """The settings of a query, as in `max_tokens=64&seed=7`; raises Misuse for what is none."""
    said: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        try:
            said[name] = json.loads(text)
        except ValueError:
            said[name] = text
    return checked(said)


def checked(said: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by their one name; None is one that is left to the provider.

    Raises Misuse that says everything that is wrong with them.
    """
    named = {OTHER_WORDS.get(name, name): value for name, value in said.items()}
    if problems := list(_problems(named)):
        raise Misuse(" ".join(problems))
    return {name: None if value == PROVIDER_DEFAULT else value for name, value in named.items()}


def _problems(said: Mapping[str, Any]) -> Iterator[str]:
    for name, value in said.items():
        if name in OURS:
            yield f"The setting {name!r} is set by the instrument; leave it out."
        elif name not in KNOWN:
            near = get_close_matches(name, [*KNOWN, *OTHER_WORDS], 1)
            yield (f"No setting {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")
                   + f" There are: {', '.join(sorted(KNOWN))}.")
        elif value != PROVIDER_DEFAULT and (problem := _misfit(name, value)):
            yield problem


def _misfit(name: str, value: object) -> str:
    """Why a setting cannot have that value; nothing where it can."""
    wanted = KNOWN[name]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, float) and not math.isfinite(value):
        return f"The setting {name}={value} is not a number a request can carry."
    if wanted is bool and not isinstance(value, bool):
        return f"The setting {name} is {value!r}; wanted true or false."
    if wanted is int and not (isinstance(value, int) and number and value > -1):
        return f"The setting {name} is {value!r}; wanted a whole number."
    if name.startswith("max_") and value == 0:
        return f"The setting {name} is 0: no reply could be given."
    if wanted is float and not number:
        return f"The setting {name} is {value!r}; wanted a number."
    if name == "thinking" and not (isinstance(value, str) or isinstance(value, int) and number):
        return f"The setting {name} is {value!r}; wanted adaptive, disabled or a number of tokens."
    if name == "stop" and not (isinstance(value, str) or _are_words(value)):
        return f"The setting {name} is {value!r}; wanted a text, or a list of texts."
    if name in ("name", "effort", "family", "upstream", "key_env", "safety") and (
            not isinstance(value, str) or not value.isprintable() or not value or "/" in value
            and name == "name"):
        return f"The setting {name} is {value!r}; wanted a word" + (
            " without a slash." if name == "name" else ".")
    return ""


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
