"""The budget a session of a run spends from: its cap, and what is spent already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from equipoise.cli.pricing import note_prices, noted_prices
from equipoise.cli.screen import say
from equipoise.cli.tallies import tallied
from equipoise.ledger import Book, Cap, Ledger, Run, Share, found_book, open_book
from equipoise.providers.limits import Budget
from equipoise.providers.prices import Priced
from equipoise.terms import Misuse


@contextmanager
def spending(
    ledger: Ledger, run: Run, prices: Mapping[str, Priced], cap: Cap, name: str,
    stopped: Callable[[], bool],
) -> Iterator[Budget]:
    """The budget a session of a run spends from; what is on record is spent already.

    With a cap, given now or on record under that name, it is a share of what all runs of the
    budget may spend, also in other processes. What was not spent is given back at the end. A
    run that costs nothing is held only to a cap that is given now.
    """
    note_prices(ledger, run, prices)
    known = found_book(ledger.path)
    if cap == Cap() and not (known and _may_bill(prices) and known.totals(name)):
        if known:
            known.close()
        if name != run.name:
            raise Misuse(f"The budget {name!r} has no cap yet. Give it one with --max-usd or"
                         " --max-calls.")
        usd, calls = _spent(ledger, run, prices) if _may_bill(prices) else (0.0, 0)
        yield Budget(spent_usd=usd, calls=calls)
        return
    book = known or open_book(ledger.path)
    try:
        with book.spending(run.name):
            held = _settle_cap(book, name, cap, prices)
            usd, calls = _spent(ledger, run, prices)
            share = Share(book, name, run.name)
            share.settled(usd, calls)
            _match(ledger, book, name, run)
            budget = Budget(max_usd=held.usd, max_calls=held.calls, spent_usd=usd, calls=calls,
                            share=share, stopped=stopped)
            budget.waits = lambda: _say_waits(name)
            try:
                yield budget
            finally:
                budget.settled()
    finally:
        book.close()


def _say_waits(name: str) -> None:
    say(f"\nThe budget {name!r} is taken up by other runs: waiting for what they give back."
        " Interrupt to stop.")


def _may_bill(prices: Mapping[str, Priced]) -> bool:
    return any(p.price is None or not p.price.free for p in prices.values())


def _spent(ledger: Ledger, run: Run, prices: Mapping[str, Priced]) -> tuple[float, int]:
    tallies = tallied(ledger, run, prices).values()
    return sum(t.usd for t in tallies), sum(t.calls for t in tallies)


def _settle_cap(book: Book, name: str, cap: Cap, prices: Mapping[str, Priced]) -> Cap:
    """The cap that holds now: what is given goes before what is on record.

    Raises Misuse for a cap in money that a subject without a price spends from, and for a kind
    of cap that other processes, spending already, do not keep.
    """
    before = book.totals(name)
    old = before.cap if before else Cap()
    held = Cap(old.usd if cap.usd is None else cap.usd,
               old.calls if cap.calls is None else cap.calls)
    unknown = sorted(subject for subject, p in prices.items() if p.price is None)
    if held.usd is not None and unknown:
        raise Misuse(f"The budget {name!r} is capped in USD, and no price is known for"
                     f" {', '.join(unknown)}. Give it with --price, or another budget with"
                     " --budget.")
    news = (old.usd is None) != (held.usd is None) or (old.calls is None) != (held.calls is None)
    if before and news and any(map(book.alive, book.open_shares(name))):
        raise Misuse(f"Another process spends from the budget {name!r}, which had no such cap when"
                     " it began. Wait until it is done, or name another with --budget.", 6)
    if held != old:
        book.set_cap(name, held)
        if before:
            say(f"The cap of the budget {name!r} is now {capped(held)}; it was {capped(old)}.")
    return held


def capped(cap: Cap) -> str:
    """A cap in words.

    >>> capped(Cap(1.5, 200))
    '$1.50 and 200 calls'
    """
    parts = [f"${cap.usd:,.2f}"] if cap.usd is not None else []
    parts += [f"{cap.calls:,} calls"] if cap.calls is not None else []
    return " and ".join(parts) or "nothing"


def _match(ledger: Ledger, book: Book, name: str, own: Run) -> None:
    """Put right what died processes left in the book: their runs spent what the ledger says."""
    for other in book.open_shares(name):
        run = ledger.run(other)
        if other == own.name or run is None:
            continue
        with book.spending(other, wait=False) as ours:
            if ours:
                book.settled(name, other, *_spent(ledger, run, noted_prices(ledger, run)))
