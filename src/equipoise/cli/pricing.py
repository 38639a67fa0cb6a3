"""The prices of a run's subjects: as given, as stated or as tabled, and as written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from equipoise.ledger import Ledger, Run
from equipoise.providers import dialect
from equipoise.providers.prices import FREE, Price, Priced, tabled
from equipoise.terms import Misuse, Subject, canonical_json

ALL = ""
"""The name under which a price for every subject is given."""
NOTE = "prices"
WANTED = "wanted --price PROMPT,COMPLETION in USD a million tokens, as in --price 0.15,0.60"


def given_prices(said: Sequence[str]) -> dict[str, Price]:
    """The prices a person gave, by subject; `ALL` for the one that names no subject.

    >>> given_prices(["0.15,0.60", "judge=2,10,0.5"])["judge"].cached
    0.5
    """
    found: dict[str, Price] = {}
    for text in said:
        name, _, numbers = text.rpartition("=")
        try:
            prompt, completion, *cached = (float(part) for part in numbers.split(","))
        except ValueError:
            raise Misuse(f"The price {text!r} is not two numbers: {WANTED}, or NAME=0.15,0.60 for"
                         " one subject. A third is for cached prompt tokens.") from None
        if len(cached) > 1 or not all(0 <= n < 1e9 for n in (prompt, completion, *cached)):
            raise Misuse(f"The price {text!r} is below zero, or no price: {WANTED}.")
        found[name] = Price(prompt, completion, cached[0] if cached else None)
    return found


def prices_of(
    subjects: Sequence[Subject], given: Mapping[str, Price] = {}, stated: Mapping[str, Price] = {}
) -> dict[str, Priced]:
    """The price of each of them, by name, and where it is from.

    What a person gives goes before what a subject's file states, and that before the table of
    genai-prices. Raises Misuse for a price that is given to a subject there is not.
    """
    names = {s.name for s in subjects}
    if spare := sorted(given.keys() - names - {ALL}):
        raise Misuse(f"A price is given for {spare[0]!r}; the subjects are"
                     f" {', '.join(sorted(names))}.")
    return {s.name: _price_of(s, given, stated) for s in subjects}


def _price_of(
    subject: Subject, given: Mapping[str, Price], stated: Mapping[str, Price]
) -> Priced:
    if not dialect(subject.dialect).paid:
        return FREE
    if (price := given.get(subject.name, given.get(ALL))) is not None:
        return Priced(price, "--price")
    if subject.name in stated:
        return Priced(stated[subject.name], "the subject's file")
    return tabled(subject)


def note_prices(ledger: Ledger, run: Run, prices: Mapping[str, Priced]) -> None:
    """Write down the prices a session goes by, where they are not those on record."""
    known = noted_prices(ledger, run)
    news = {name: price.as_json() for name, price in prices.items()
            if price != FREE and price != known.get(name)
            and (price.price is not None or name not in known)}
    if news:
        ledger.note(run.seq, NOTE, canonical_json(news).decode())


def noted_prices(ledger: Ledger, run: Run) -> dict[str, Priced]:
    """The newest price on record for each subject that may be billed."""
    found: dict[str, Priced] = {}
    for note in ledger.noted(run.seq):
        if note.about == NOTE and note.text:
            found |= {n: Priced.from_json(said) for n, said in json.loads(note.text).items()}
    return found


def price_for(prices: Mapping[str, Priced]) -> Callable[[Subject], Price | None]:
    """Who costs what, as the limits ask it: None where nothing is billed or no price is known."""
    known = {name: p.price for name, p in prices.items() if p.price and not p.price.free}
    return lambda subject: known.get(subject.name)
