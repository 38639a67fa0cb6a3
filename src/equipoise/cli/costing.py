"""The acts behind `costs`: what a run's calls came to, and how that stands to the bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.cli.bills import Bill, Compared, bill, compared
from equipoise.cli.pricing import noted_prices
from equipoise.cli.recorded import require_asked
from equipoise.cli.running import on_record
from equipoise.cli.screen import emit, emit_json, printable, table
from equipoise.cli.spending import capped
from equipoise.cli.tallies import Tally, booked_calls, tallied
from equipoise.cli.values import or_reason
from equipoise.ledger import Ledger, Totals, Where, found_book
from equipoise.providers.prices import UNKNOWN, Priced
from equipoise.registration import Registration
from equipoise.report.words import number
from equipoise.terms import Misuse

DIFFERENT, SHOWN = 10, 20
OUTCOMES = ("replies", "refused", "unknown", "not sent", "erased")
TOKENS = ("prompt", "completion", "reasoning", "cached")


def costs(path: Where, name: str, file: Path | None, as_json: bool) -> None:
    """Print what a run cost by its ledger; with a bill, how the two differ.

    Raises Misuse (exit 10) when they differ by more than 1% for which no call has a reason.
    """
    ledger = Ledger.open(path, read_only=True)
    try:
        run = on_record(ledger, name)
        require_asked(run)
        prices = noted_prices(ledger, run)
        registered = [s["name"] for s in Registration.from_json(run.registration).subjects]
        tallies = tallied(ledger, run, prices)
        theirs = bill(file) if file else None
        found = compared(booked_calls(ledger, run, prices), theirs) if theirs else None
    finally:
        ledger.close()
    subjects = {s: tallies.get(s, Tally()) for s in dict.fromkeys((*registered, *tallies))}
    budgets = _budgets(path, name)
    if as_json:
        emit_json(_values(name, subjects, prices, budgets, found))
    else:
        emit("\n".join([_table(subjects), "", *_prices(subjects, prices), *_notes(subjects),
                        *(_budget(*b) for b in budgets.items())]))
        if theirs and found:
            emit("\n" + "\n".join(_reconciled(theirs, found)))
    if found and not found.agrees:
        raise Misuse(f"The ledger has ${found.ours:.4f} and the bill ${found.theirs:.4f}: a"
                     f" difference of {100 * found.share:.1f}%, and ${abs(found.unexplained):.4f}"
                     " of it has no reason. More than 1% is too much.", DIFFERENT)


def _budgets(path: Where, run: str) -> dict[str, Totals]:
    """The budgets a run has spent from."""
    book = found_book(path)
    if book is None:
        return {}
    try:
        found = {budget: book.totals(budget) for budget in book.budgets(run)}
    finally:
        book.close()
    return {name: totals for name, totals in found.items() if totals is not None}


def _table(subjects: Mapping[str, Tally]) -> str:
    rows = [_row(name, tally) for name, tally in subjects.items()]
    if len(rows) > 1:
        rows.append(_row("all", _all(subjects)))
    return table(["subject", "calls", *OUTCOMES[:4], "prompt", "reply", "reasoning",
                  "stated", "computed", "at worst", "cost", "median s"], rows)


def _row(name: str, t: Tally) -> list[str]:
    return [name, f"{t.calls:,}", *(f"{t.outcomes[o]:,}" for o in OUTCOMES[:4]),
            *(f"{t.tokens[n]:,}" for n in TOKENS[:3]),
            *(f"${usd:.4f}" for usd in (t.stated_usd, t.computed_usd, t.worst_usd, t.usd)),
            number(t.latency)]


def _all(subjects: Mapping[str, Tally]) -> Tally:
    whole = Tally()
    for t in subjects.values():
        whole.outcomes.update(t.outcomes)
        whole.tokens.update(t.tokens)
        whole.stated += t.stated
        whole.stated_usd += t.stated_usd
        whole.computed_usd += t.computed_usd
        whole.worst_usd += t.worst_usd
        whole.unpriced += t.unpriced
        whole.seconds += t.seconds
    return whole


def _prices(subjects: Mapping[str, Tally], prices: Mapping[str, Priced]) -> list[str]:
    lines = []
    for name in subjects:
        priced = prices.get(name)
        if priced and priced.price:
            lines.append(f"Price of {name}: ${priced.price.prompt:g} and"
                         f" ${priced.price.completion:g} a million tokens, from {priced.source}.")
        elif priced:
            lines.append(f"Price of {name}: {priced.source}.")
    return lines


def _notes(subjects: Mapping[str, Tally]) -> list[str]:
    whole, lines = _all(subjects), []
    if whole.worst_usd:
        lines.append("At worst: calls that may have been billed and say nothing of it, each at the"
                     " most it can cost.")
    if whole.unpriced:
        lines.append(f"{whole.unpriced:,} calls may have cost something and no price is"
                     " known: not in the sum.")
    return lines


def _budget(name: str, t: Totals) -> str:
    said = f"Budget {name}: capped at {capped(t.cap)}"
    if t.cap.usd is not None:
        said += f"; ${t.settled_usd:.4f} settled, ${t.taken_usd - t.settled_usd:.4f} held"
    if t.cap.calls is not None:
        said += f"; {t.settled_calls:,} calls settled, {t.taken_calls - t.settled_calls:,} held"
    return said + f"; runs: {', '.join(t.runs)}."


def _values(
    name: str, subjects: Mapping[str, Tally], prices: Mapping[str, Priced],
    budgets: Mapping[str, Totals], found: Compared | None,
) -> dict[str, Any]:
    return {
        "run": name,
        "subjects": [{"subject": s, **_tally_values(t), **prices.get(s, UNKNOWN).as_json()}
                     for s, t in subjects.items()],
        "total": _tally_values(_all(subjects)),
        "budgets": [{"budget": b, **asdict(t)} for b, t in budgets.items()],
        "reconciled": None if found is None else {
            "ours_usd": found.ours, "theirs_usd": found.theirs,
            "unexplained_usd": found.unexplained, "agrees": found.agrees,
            "matched": found.matched, "elsewhere": found.elsewhere,
            "elsewhere_usd": found.elsewhere_usd,
            "differences": [asdict(d) for d in found.differences]},
    }


def _tally_values(t: Tally) -> dict[str, Any]:
    return {"calls": t.calls, "outcomes": {o: t.outcomes[o] for o in OUTCOMES},
            "tokens": {n: t.tokens[n] for n in TOKENS},
            "stated_usd": t.stated_usd, "computed_usd": t.computed_usd,
            "worst_usd": t.worst_usd, "unpriced_calls": t.unpriced, "cost_usd": t.usd,
            **or_reason("median_seconds", t.latency)}


def _reconciled(theirs: Bill, found: Compared) -> Sequence[str]:
    lines = [f"Ledger ${found.ours:.4f} · bill ${found.theirs:.4f} · difference"
             f" ${found.ours - found.theirs:+.4f} ({100 * found.share:.2f}%)"]
    if theirs.by_call:
        lines.append(f"{found.matched:,} calls are in both; {found.elsewhere:,} of the bill are"
                     f" not of this run (${found.elsewhere_usd:.4f}).")
    else:
        lines.append("The bill has no call's id: only the sums can be compared, and any other use"
                     " of the key is in its sum.")
    lines += [f"- {printable(d.id) or 'no id'}: ${d.ours:.6f} here, ${d.theirs:.6f} there:"
              f" {d.reason}" for d in found.differences[:SHOWN]]
    if len(found.differences) > SHOWN:
        lines.append(f"… {len(found.differences) - SHOWN:,} more; all with --json.")
    return lines
