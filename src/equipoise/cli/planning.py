"""The acts behind `plan`: exact calls, worst cost, and the question before spending."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.progress import clock
from equipoise.cli.running import Terms
from equipoise.cli.screen import emit, emit_json
from equipoise.cli.studies import Study, first_question, handling, register, study
from equipoise.cli.subject_file import chosen
from equipoise.cli.subjects import left_to_provider, plan_lines
from equipoise.providers import dialect
from equipoise.providers.limits import Price
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli
from equipoise.terms import Misuse, Subject

Planned = tuple[Registration, Stimuli]
ASKS_FROM_CALLS = 100


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
    registration, stimuli = planned
    paid = [s["name"] for s in registration.subjects if dialect(s["dialect"]).paid]
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
    calls = _calls(study(registration, stimuli))[0]
    if calls <= ASKS_FROM_CALLS or yes:
        return
    if not sys.stdin.isatty():
        raise Misuse(f"{calls:,} calls to {', '.join(paid)}: off a terminal this"
                     " needs --yes.")
    hosts = ", ".join(sorted({s["base_url"] for s in registration.subjects}))
    print(f"{calls:,} calls to {', '.join(paid)} at {hosts}. Go on? [y/N] ", end="",
          file=sys.stderr, flush=True)
    if input().strip().casefold() not in ("y", "yes"):
        raise Misuse("Nothing was sent.")


def show(
    planned: Planned, price: str | None, as_json: bool, asked: Mapping[str, Any] = {}
) -> None:
    """Print the plan; `asked` is what else a person wants to know of the design."""
    registration, stimuli = planned
    laid_out = study(registration, stimuli)
    more, lines = handling(registration.instrument).planned(laid_out, asked)
    said = {**described(laid_out, priced(price)), **more}
    if as_json:
        emit_json(said)
        return
    emit("\n".join(_lines(registration, said, lines)))


def _lines(
    registration: Registration, said: Mapping[str, Any], more: Sequence[str]
) -> list[str]:
    cost, seconds = said["cost_usd"], said["seconds"]
    calls = "exactly, plus retries"
    if said.get("calls_least", said["calls"]) != said["calls"]:
        calls = f"at most; {said['calls_least']:,} if every pair dissents at once"
    elif said["calls_most"] != said["calls"]:
        calls = f"if every reply fits its form, {said['calls_most']:,} at most, plus retries"
    return [
        f"Run           {said['run']}",
        f"Subjects      {', '.join(said['subjects'])}",
        *plan_lines(registration.subjects),
        *more,
        f"Answers       {', '.join(registration.factors['answer'])}",
        f"Primary       {registration.primary}",
        f"Calls         {said['calls']:,} {calls}",
        "Cost          " + (
            "nothing" if cost == 0 else "unknown: give --price" if cost is None else
            f"${cost['low']:.4f} to ${cost['worst']:.4f}, expected ${cost['expected']:.4f}"),
        *([] if seconds is None else [f"Time          about {clock(seconds)} on two cores"]),
        f"Registration  {registration.hash}",
    ]


def described(laid_out: Study, price: Price | None) -> dict[str, Any]:
    """The plan as values: calls are exact, costs in USD, `None` where no price is known."""
    registration = laid_out.registration
    dialects = {s["dialect"] for s in registration.subjects}
    modes = registration.factors["answer"]
    each, local = registration.cells / len(modes), dialects == {"llamacpp"}
    pace = handling(registration.instrument).local_pace
    least, most = _calls(laid_out)
    return {
        "run": registration.name,
        "registration": registration.hash,
        "subjects": [s["name"] for s in registration.subjects],
        "provider_default": left_to_provider(registration.subjects),
        "calls": least, "calls_most": most,
        "cost_usd": 0 if not any(dialect(d).paid for d in dialects) else _costs(laid_out, price),
        "seconds": sum(each / pace[mode] for mode in modes) if local else None,
    }


def _costs(laid_out: Study, price: Price | None) -> dict[str, float] | None:
    if price is None:
        return None
    calls, most = _calls(laid_out)
    longest = _longest(laid_out)
    worst = sum(price.worst(body) for body in longest) * most / len(longest)
    prompt, reply = handling(laid_out.registration.instrument).usual
    usual = (prompt * price.prompt + reply * price.completion) / 1e6
    least = (prompt / 2 * price.prompt + 1 * price.completion) / 1e6
    return {"low": least * calls, "expected": min(usual * calls, worst), "worst": worst}


def _calls(laid_out: Study) -> tuple[int, int]:
    """The calls a run takes when all goes well, and at most, retries left out."""
    each = [handling(laid_out.registration.instrument).calls(t) for t in laid_out.trials]
    return sum(least for least, _ in each), sum(most for _, most in each)


def _reply_bytes(subject: Subject) -> int:
    """What a reply may add to a later request, at two bytes a token, each counted as a token."""
    limits = [subject.settings.get(name) for name in ("max_tokens", "max_completion_tokens")]
    return 2 * max((limit for limit in limits if isinstance(limit, int)), default=0)


def _longest(laid_out: Study) -> list[bytes]:
    """The longest first request of each answer mode, as the bytes that will be sent.

    Where a trial goes on, it is as long as its last request can be: each reply and each further
    prompt may stand in it.
    """
    calls = handling(laid_out.registration.instrument).calls
    found: dict[str, bytes] = {}
    for trial in laid_out.trials:
        asked = first_question(laid_out.instrument, trial)
        mode = asked[1]
        body = dialect(trial.subject.dialect).encode(trial.subject, *asked).body
        body += b" " * ((calls(trial)[1] - 1) * (len(body) + _reply_bytes(trial.subject)))
        if len(body) > len(found.get(mode, b"")):
            found[mode] = body
    return list(found.values())
