"""Every reader by its name, and the one that a line of a corpus asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from equipoise.reading.first_token import first_token
from equipoise.reading.first_word import first_word
from equipoise.reading.json_object import json_contract, json_object
from equipoise.reading.names import names
from equipoise.reading.stated_choice import stated_choice
from equipoise.reading.stated_probability import stated_probability
from equipoise.terms import Misuse, Reader


def option_names(line: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """The names of each option of a corpus line: its key and what the key stands for.

    >>> option_names({"options": {"A": "mercy", "whiskey": ["whiskey", "威士忌"]}})
    {'A': ('A', 'mercy'), 'whiskey': ('whiskey', '威士忌')}
    """
    options = line.get("options")
    if not isinstance(options, Mapping) or len(options) < 2:
        raise Misuse(f"options are {options!r}: wanted an object of two options or more")
    called: dict[str, Sequence[str]] = {}
    for key, value in options.items():
        others = [value] if isinstance(value, str) else list(value)
        called[key] = tuple(dict.fromkeys((key, *others)))
    names(called)
    return called


def _probability(line: Mapping[str, Any]) -> Reader[float]:
    if line.get("scale", "0 to 100") != "0 to 100":
        raise Misuse(f"the scale is {line['scale']!r}: only '0 to 100' can be read")
    return stated_probability()


READERS: Mapping[str, Callable[[Mapping[str, Any]], Reader[Any]]] = {
    "first_word": lambda line: first_word(option_names(line)),
    "stated_choice": lambda line: stated_choice(option_names(line)),
    "stated_probability": _probability,
    "json_object": lambda line: json_object(json_contract(line["contract"])),
    "first_token": lambda line: first_token(option_names(line)),
}
"""Every reader by name, made ready for one line of a corpus."""


def reader_for(line: Mapping[str, Any]) -> Reader[Any]:
    """The reader that a corpus line asks for by its keys: options, contract or scale.

    >>> from equipoise.terms import Completion
    >>> reader_for({"scale": "0 to 100"})(Completion("62")).value
    62.0
    """
    wanted = {"options": "stated_choice", "contract": "json_object", "scale": "stated_probability"}
    named = [reader for key, reader in wanted.items() if key in line]
    if len(named) != 1:
        raise Misuse(
            f"a line with the keys {', '.join(sorted(line))}: wanted exactly one of "
            f"{', '.join(wanted)}"
        )
    return READERS[named[0]](line)
