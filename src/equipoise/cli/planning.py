"""The acts behind `plan`: exact calls, worst cost, and the question before spending."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.estimating import Estimate, Measured, estimates, everyone, measured
from equipoise.cli.pricing import prices_of
from equipoise.cli.progress import clock
from equipoise.cli.running import Terms, on_record
from equipoise.cli.screen import emit, emit_json
from equipoise.cli.studies import Study, handling, register, study
from equipoise.cli.subject_file import chosen, stated_prices
from equipoise.cli.subjects import left_to_provider, plan_lines
from equipoise.ledger import Ledger, Where
from equipoise.providers.prices import Price, Priced
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli
from equipoise.terms import Misuse

Planned = tuple[Registration, Stimuli]
ASKS_FROM_CALLS, ASKS_FROM_USD = 100, 1.0


def plan(
    instrument: str, subjects: Sequence[str], answers: str, subjects_file: Path | None = None,
    **more: Any,
) -> Planned:
    """The registration a command amounts to, and its stimuli; raises Misuse for bad words."""
    how = handling(instrument)
    named = chosen(subjects, subjects_file, how)
    if len({s.name for s in named}) < len(named):
        raise Misuse("Two subjects have one name. Name each subject once a run.")
    modes = [answer.strip() for answer in answers.split(",") if answer.strip()]
    return register(instrument, named, answers=modes, **more)


def stated(
    instrument: str, subjects_file: Path | None = None, **more: Any
) -> dict[str, Price]:
    """The prices that a file of subjects states, by their names."""
    return {name: Price(rates["prompt"], rates["completion"], rates.get("cached"))
            for name, rates in stated_prices(subjects_file, handling(instrument)).items()}


def confirm(planned: Planned, terms: Terms, yes: bool) -> None:
    """Before anything that may cost money: a price or a count of calls that caps it, and a yes."""
    registration, stimuli = planned
    laid_out = study(registration, stimuli)
    prices = _prices(laid_out, terms)
    paid = [name for name, p in prices.items() if p.price is None or not p.price.free]
    if not paid:
        return
    terminal = sys.stdin.isatty()
    _require_cap(paid, prices, terms, terminal)
    if yes:
        return
    calls, dollars = _at_most(laid_out, prices, terms)
    if not terminal:
        raise Misuse(f"{calls:,} calls to {', '.join(paid)}{_dollars(dollars)}: off a terminal this"
                     " needs --yes.")
    if calls <= ASKS_FROM_CALLS and dollars is not None and dollars <= ASKS_FROM_USD:
        return
    hosts = ", ".join(sorted({s.base_url for s in everyone(laid_out) if s.name in paid}))
    print(f"{calls:,} calls to {', '.join(paid)} at {hosts}{_dollars(dollars)}. Go on? [y/N] ",
          end="", file=sys.stderr, flush=True)
    if input().strip().casefold() not in ("y", "yes"):
        raise Misuse("Nothing was sent.")


def _prices(laid_out: Study, terms: Terms) -> dict[str, Priced]:
    return prices_of(everyone(laid_out), terms.prices, terms.stated)


def _require_cap(
    paid: Sequence[str], prices: Mapping[str, Priced], terms: Terms, terminal: bool
) -> None:
    """Raises Misuse where nothing bounds what a run may cost."""
    unknown = [f"{name} ({prices[name].source})" for name in paid if prices[name].price is None]
    if unknown and terms.max_usd is not None:
        raise Misuse(f"--max-usd needs a price, and none is known for {', '.join(unknown)}: give"
                     " --price PROMPT,COMPLETION (USD a million tokens), or leave --max-usd out"
                     " and cap the calls with --max-calls.")
    if unknown and terms.max_calls is None:
        raise Misuse(f"No price is known for {', '.join(unknown)}, and nothing caps it. Give"
                     " --price PROMPT,COMPLETION with --max-usd, or cap the calls with"
                     " --max-calls.")
    if not terminal and terms.max_usd is None and terms.max_calls is None:
        raise Misuse(f"{', '.join(paid)} may cost money and nothing caps it: off a terminal give"
                     " --max-usd or --max-calls, and --yes.")


def _at_most(
    laid_out: Study, prices: Mapping[str, Priced], terms: Terms
) -> tuple[int, float | None]:
    """The calls a run takes, and its worst cost within its caps; None where that is unknown."""
    more, _ = handling(laid_out.registration.instrument).planned(laid_out, {})
    found = estimates(laid_out, prices, most=more.get("calls_most", 0))
    calls = sum(e.calls for e in found)
    worst = [e.worst for e in found]
    dollars = None if None in worst else sum(w for w in worst if w is not None)
    if terms.max_usd is not None:
        dollars = min(terms.max_usd, dollars or terms.max_usd)
    return min(calls, terms.max_calls or calls), dollars


def _dollars(most: float | None) -> str:
    return ", at a price that is not known" if most is None else f", for at most ${most:,.2f}"


def show(
    planned: Planned,
    terms: Terms,
    as_json: bool,
    asked: Mapping[str, Any] = {},
    like: Mapping[str, Measured] = {},
) -> None:
    """Print the plan; `asked` is what else a person wants to know of the design.

    `like` holds the tokens of an earlier run, to expect the same.
    """
    registration, stimuli = planned
    laid_out = study(registration, stimuli)
    more, lines = handling(registration.instrument).planned(laid_out, asked)
    prices = _prices(laid_out, terms)
    found = estimates(laid_out, prices, like, more.get("calls_most", 0))
    said = {**described(laid_out, found), **more}
    if as_json:
        emit_json(said)
        return
    emit("\n".join(_lines(registration, said, lines, found)))


def measured_in(path: Where, name: str) -> dict[str, Measured]:
    """The mean tokens of a recorded run; raises Misuse where its replies state none."""
    ledger = Ledger.open(path, read_only=True)
    try:
        found = measured(ledger, on_record(ledger, name))
    finally:
        ledger.close()
    if not found:
        raise Misuse(f"No reply of the run {name!r} states its tokens. Leave --like out.")
    return found


def _lines(
    registration: Registration, said: Mapping[str, Any], more: Sequence[str],
    found: Sequence[Estimate],
) -> list[str]:
    cost, seconds = said["cost_usd"], said["seconds"]
    calls = "exactly, plus retries"
    if said.get("calls_least", said["calls"]) != said["calls"]:
        calls = f"at most; {said['calls_least']:,} if every pair dissents at once"
    elif said["calls_most"] != said["calls"]:
        when = said.get("calls_when", "every reply fits its form")
        calls = f"if {when}, {said['calls_most']:,} at most, plus retries"
    return [
        f"Run           {said['run']}",
        f"Subjects      {', '.join(said['subjects'])}",
        *plan_lines(registration.subjects),
        *more,
        f"Answers       {', '.join(registration.factors['answer'])}",
        f"Primary       {registration.primary}",
        f"Calls         {said['calls']:,} {calls}",
        "Cost          " + ("nothing" if cost == 0 else "unknown: give --price" if cost is None
                           else _range(cost["low"], cost["expected"], cost["worst"])),
        *(_of_subject(e) for e in found if not (e.priced.price and e.priced.price.free)),
        *([] if seconds is None else [f"Time          about {clock(seconds)} on two cores"]),
        f"Registration  {registration.hash}",
    ]


def _of_subject(e: Estimate) -> str:
    """A subject's part of the cost, the tokens expected, its price and where that is from."""
    price, priced = e.priced.price, ""
    if price is None or e.low is None or e.expected is None or e.worst is None:
        return f"  {e.subject}: price {e.priced.source}"
    priced = f"${price.prompt:g} and ${price.completion:g} a million tokens, {e.priced.source}"
    return (f"  {e.subject}: {_range(e.low, e.expected, e.worst)}; about"
            f" {e.prompt + e.completion:,.0f} tokens at {priced}")


def _range(low: float, expected: float, worst: float) -> str:
    return f"${low:.4f} to ${worst:.4f}, expected ${expected:.4f}"


def described(laid_out: Study, found: Sequence[Estimate]) -> dict[str, Any]:
    """The plan as values: calls are exact, costs in USD, `None` where no price is known."""
    registration = laid_out.registration
    dialects = {s["dialect"] for s in registration.subjects}
    modes = registration.factors["answer"]
    each, local = registration.cells / len(modes), dialects == {"llamacpp"}
    pace = handling(registration.instrument).local_pace
    return {
        "run": registration.name,
        "registration": registration.hash,
        "subjects": [s["name"] for s in registration.subjects],
        "provider_default": left_to_provider(registration.subjects),
        "calls": sum(e.calls for e in found), "calls_most": sum(e.calls_most for e in found),
        "cost_usd": _total(found),
        "costs": [{"subject": e.subject, "calls": e.calls, "calls_most": e.calls_most,
                   "prompt_tokens": round(e.prompt), "completion_tokens": round(e.completion),
                   "cost_usd": _total([e]), **e.priced.as_json()} for e in found],
        "seconds": sum(each / pace[mode] for mode in modes) if local else None,
    }


def _total(found: Sequence[Estimate]) -> dict[str, float] | int | None:
    """Low, expected and worst over subjects; 0 where nothing is billed, None where unknown."""
    if all(e.priced.price is not None and e.priced.price.free for e in found):
        return 0
    known = [(e.low, e.expected, e.worst) for e in found
             if e.low is not None and e.expected is not None and e.worst is not None]
    if len(known) < len(found):
        return None
    return dict(zip(("low", "expected", "worst"), map(sum, zip(*known, strict=True)), strict=True))
