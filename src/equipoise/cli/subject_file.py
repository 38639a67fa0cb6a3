"""Subjects in a TOML file: one [[subject]] table each, with its price.

    [[subject]]
    name = "small"
    route = "openai"
    model = "gpt-4o-mini"
    temperature = 0
    price = {prompt = 0.15, completion = 0.60}    # USD a million tokens
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from equipoise.cli.settings import KNOWN, OTHER_WORDS, checked
from equipoise.cli.studies import Handling
from equipoise.cli.subjects import ADDRESSED, ROUTES, Named, built, subject
from equipoise.terms import Misuse, Subject

OWN = ("model", "route", "base_url", "price")
RATES = ("prompt", "completion", "cached")


@dataclass(frozen=True, slots=True)
class Listed:
    """One subject of a file; `price` holds USD a million tokens, by the kind of token."""

    subject: Subject
    price: Mapping[str, float] = field(default_factory=dict)


def chosen(specs: Sequence[str], path: Path | None, how: Handling) -> list[Subject]:
    """The subjects that are named, in a file or by short forms; all of the file if none is.

    Raises Misuse for a name that is neither, and for what a file gets wrong, all at once.
    """
    if path is None:
        if not specs:
            raise Misuse("No subject is named. Name one with -s, as in -s local:smollm2-135m, or"
                         " a file of them with --subjects.")
        return [subject(spec, how) for spec in specs]
    listed = {found.subject.name: found.subject for found in read(path, how)}
    return [_chosen(spec, path, listed, how) for spec in specs] or list(listed.values())


def _chosen(
    spec: str, path: Path, listed: Mapping[str, Subject], how: Handling
) -> Subject:
    if spec in listed:
        return listed[spec]
    if spec.partition(":")[0] in ROUTES:
        return subject(spec, how)
    near = get_close_matches(spec, listed, 1)
    raise Misuse(f"No subject {spec!r} in {path}." + (f" Did you mean {near[0]!r}?" if near else "")
                 + f" There are: {', '.join(listed)}.")


def stated_prices(path: Path | None, how: Handling) -> dict[str, Mapping[str, float]]:
    """What a file says its subjects cost, by their names: USD a million `prompt` tokens,
    `completion` tokens and, where it says so, `cached` prompt tokens.

    A price is no part of a subject's stamp.
    """
    if path is None:
        return {}
    return {found.subject.name: found.price for found in read(path, how) if found.price}


def read(path: Path, how: Handling) -> list[Listed]:
    """The subjects of a file; raises Misuse that says everything that is wrong with it."""
    try:
        with path.open("rb") as file:
            said = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Misuse(f"The subjects in {path} cannot be read: {why}. Wanted TOML with [[subject]]"
                     " tables.") from None
    tables = said.get("subject")
    problems = [f"{path}: {_unknown(name, ('subject',), 'table')}"
                for name in said if name != "subject"]
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise Misuse(" ".join([*problems, f"{path} has no [[subject]] table. Wanted one for each"
                               " subject."]))
    found: list[Listed] = []
    for place, table in enumerate(tables, 1):
        where = f"{path}, subject {table.get('name') or table.get('model') or place}:"
        try:
            found.append(_listed(table, how))
        except Misuse as error:
            problems.append(f"{where} {error}")
    names = Counter(one.subject.name for one in found)
    problems += [f"{path} has {count} subjects called {name!r}. Give each a name."
                 for name, count in names.items() if count > 1]
    if problems:
        raise Misuse("\n".join(problems))
    return found


def _listed(table: Mapping[str, Any], how: Handling) -> Listed:
    if problems := list(_problems(table)):
        raise Misuse(" ".join(problems))
    settings = checked({k: v for k, v in table.items() if k not in OWN})
    said = Named(table["route"], table["model"], table.get("base_url", ""), settings)
    return Listed(built(said, how),
                  {name: float(rate) for name, rate in table.get("price", {}).items()})


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    for name in ("route", "model"):
        if not isinstance(table.get(name), str) or not table[name]:
            yield f"It says no {name}, or not as a text."
    if isinstance(route := table.get("route"), str) and route not in ROUTES:
        yield _unknown(route, ROUTES, "route")
    if "base_url" in table and (route not in ADDRESSED or not isinstance(table["base_url"], str)):
        yield f"base_url is a text, and of a route to a server: {', '.join(ADDRESSED)}."
    yield from _price_problems(table.get("price"))
    known = [*OWN, *KNOWN, *OTHER_WORDS]
    # What is known by its name is checked by it; the model's own words are refused there too.
    rest = {name: value for name, value in table.items() if name not in OWN}
    yield from (_unknown(name, known) for name in rest if name not in known)
    try:
        checked({name: value for name, value in rest.items() if name in known})
    except Misuse as error:
        yield str(error)


def _price_problems(price: object) -> Iterator[str]:
    if price is None:
        return
    if not isinstance(price, dict) or not set(RATES[:2]) <= price.keys() <= set(RATES) or not all(
        isinstance(rate, int | float) and not isinstance(rate, bool) and 0 <= rate < float("inf")
        for rate in price.values()
    ):
        yield ("price is not {prompt = …, completion = …}, and cached if need be, in USD a million"
               " tokens and not below zero.")


def _unknown(name: str, known: Sequence[str], what: str = "key") -> str:
    near = get_close_matches(name, known, 1)
    return (f"There is no {what} {name!r}." + (f" Did you mean {near[0]!r}?" if near else
                                      f" There are: {', '.join(known)}."))
