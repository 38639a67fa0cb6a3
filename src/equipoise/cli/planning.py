"""The acts behind `plan`: exact calls, worst cost, and the question before spending."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

from equipoise.cli.progress import clock
from equipoise.cli.running import Terms
from equipoise.cli.screen import emit, emit_json
from equipoise.cli.studies import instrument_named, study
from equipoise.cli.subjects import subject
from equipoise.providers import dialect
from equipoise.providers.limits import Price
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli
from equipoise.terms import AnswerMode, Misuse, user

Planned = tuple[Registration, Stimuli]
ASKS_FROM_CALLS = 100
LOCAL_CELLS_PER_SECOND = {"free": 5.0, "constrained": 6.5, "first-token": 10.0}
USUAL_PROMPT, USUAL_REPLY = 60, 12


def plan(
    instrument: str, subjects: Sequence[str], suite: str, answers: str, **more: Any
) -> Planned:
    """The registration a command amounts to, and its stimuli; raises Misuse for bad words."""
    register = instrument_named(instrument)
    named = [subject(spec) for spec in subjects]
    if len({s.name for s in named}) < len(named):
        raise Misuse("Two subjects have one name. Name each subject once a run.")
    modes = [answer.strip() for answer in answers.split(",") if answer.strip()]
    return register(suite, named, modes, **more)


def priced(price: str | None) -> Price | None:
    """The price a person gave, as prompt,completion in USD a million tokens."""
    if price is None:
        return None
    try:
        prompt, completion = (float(part) for part in price.split(","))
    except ValueError:
        raise Misuse(f"The price {price!r} is not two numbers, as in --price 0.15,0.60.") from None
    if prompt < 0 or completion < 0:
        raise Misuse(f"The price {price!r} is below zero.")
    return Price(prompt, completion)


def confirm(planned: Planned, terms: Terms, yes: bool) -> None:
    """Before anything that may cost money: a cap, and a yes."""
    registration, _ = planned
    paid = [s["name"] for s in registration.subjects if s["dialect"] == "openai"]
    if not paid:
        return
    capped = terms.max_calls is not None or (terms.max_usd is not None and terms.price is not None)
    if terms.max_usd is not None and terms.price is None:
        raise Misuse("--max-usd needs a price: give --price PROMPT,COMPLETION (USD a million"
                     " tokens), or cap the calls with --max-calls.")
    if not capped and (terms.price is None or not sys.stdin.isatty()):
        raise Misuse(
            f"{', '.join(paid)} may cost money and nothing caps it. Give --max-calls, or --price"
            " with --max-usd."
        )
    if registration.cells <= ASKS_FROM_CALLS or yes:
        return
    if not sys.stdin.isatty():
        raise Misuse(f"{registration.cells:,} calls to {', '.join(paid)}: off a terminal this"
                     " needs --yes.")
    hosts = ", ".join(sorted({s["base_url"] for s in registration.subjects}))
    print(f"{registration.cells:,} calls to {', '.join(paid)} at {hosts}. Go on? [y/N] ", end="",
          file=sys.stderr, flush=True)
    if input().strip().casefold() not in ("y", "yes"):
        raise Misuse("Nothing was sent.")


def show(planned: Planned, price: str | None, as_json: bool) -> None:
    """Print the plan."""
    registration, stimuli = planned
    said = described(registration, stimuli, priced(price))
    if as_json:
        emit_json(said)
        return
    cost = said["cost_usd"]
    lines = [
        f"Run           {said['run']}",
        f"Subjects      {', '.join(said['subjects'])}",
        f"Suite         {registration.suite}: {said['pairs']:,} pairs,"
        f" {said['cells_a_pair']} cells a pair and answer mode",
        f"Answers       {', '.join(registration.factors['answer'])}",
        f"Primary       {registration.primary}",
        f"Calls         {said['calls']:,}" + (
            f" at most; {said['calls_least']:,} if every pair dissents at once"
            if registration.until_dissent else " exactly, plus retries"),
        "Cost          " + (
            "nothing" if cost == 0 else "unknown: give --price" if cost is None else
            f"${cost['low']:.4f} to ${cost['worst']:.4f}, expected ${cost['expected']:.4f}"),
    ]
    if said["seconds"] is not None:
        lines.append(f"Time          about {clock(said['seconds'])} on two cores")
    lines.append(f"Registration  {registration.hash}")
    emit("\n".join(lines))


def described(
    registration: Registration, stimuli: Stimuli, price: Price | None
) -> dict[str, Any]:
    """The plan as values: calls are exact, costs in USD, `None` where no price is known."""
    dialects = {s["dialect"] for s in registration.subjects}
    modes = registration.factors["answer"]
    each = registration.cells / len(modes)
    local = dialects == {"llamacpp"}
    answers = len(modes) * registration.draws * len(registration.subjects)
    return {
        "run": registration.name,
        "registration": registration.hash,
        "subjects": [s["name"] for s in registration.subjects],
        "pairs": len(registration.items),
        "cells_a_pair": 2 * len(registration.factors["framing"]),
        "calls": registration.cells,
        "calls_least": (len(registration.items) * answers if registration.until_dissent
                        else registration.cells),
        "cost_usd": 0 if "openai" not in dialects else _costs(registration, stimuli, price),
        "seconds": sum(each / LOCAL_CELLS_PER_SECOND[m] for m in modes) if local else None,
    }


def _costs(
    registration: Registration, stimuli: Stimuli, price: Price | None
) -> dict[str, float] | None:
    if price is None:
        return None
    longest = _longest(registration, stimuli)
    each = registration.cells / len(longest)
    worst = sum(price.worst(body) * each for body in longest)
    usual = (USUAL_PROMPT * price.prompt + USUAL_REPLY * price.completion) / 1e6
    least = (USUAL_PROMPT / 2 * price.prompt + 1 * price.completion) / 1e6
    cells = registration.cells
    return {"low": least * cells, "expected": min(usual * cells, worst), "worst": worst}


def _longest(registration: Registration, stimuli: Stimuli) -> list[bytes]:
    """The longest request of each answer mode, as the bytes that will be sent."""
    laid_out = study(registration, stimuli)
    found: dict[str, bytes] = {}
    for trial in laid_out.trials:
        answer, framing, order = trial.condition.values()
        mode = cast(AnswerMode, answer)
        words = laid_out.suite.shown(trial.item, framing, order)
        text = laid_out.suite.worded(framing, words)
        encode = dialect(trial.subject.dialect).encode
        body = encode(trial.subject, (user(text),), mode, words).body
        if len(body) > len(found.get(answer, b"")):
            found[answer] = body
    return list(found.values())
