"""Scoring a recorded replay: 1,000 openings, 7 biases, 3 draws, 3 arms, from ledger to verdict.

A planted engine and a planted reader fill a ledger first, which is not timed. Beside it stands a
plain loop that decodes the same replies with the standard library's json and reads nothing else.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from equipoise.administer import administer, read_again
from equipoise.cli.comparison import declared, registered
from equipoise.desk import Desk
from equipoise.instruments.replay.arms import A, Arm, B, arm
from equipoise.instruments.replay.instrument import Set, factors, primary, replay
from equipoise.instruments.replay.page import Page
from equipoise.instruments.replay.planted import answerer
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.ledger import Ledger
from equipoise.providers import planted
from equipoise.registration import Registration
from equipoise.stimuli import load
from equipoise.terms import Request

OPENINGS, DRAWS, TARGET_S = 1_000, 3, 5.0


def many():
    """One-turn openings with an empty page, so that each conversation is one page to read."""
    of = suite(load(SHIPPED))
    shipped = list(of.openings.values())
    openings = {}
    for n in range(OPENINGS):
        one = shipped[n % len(shipped)]
        openings[f"o{n}"] = replace(
            one, key=f"o{n}", question=f"{one.question} ({n})", page=Page(), turns=one.turns[:1])
    return replace(of, openings=openings)


def filled(path: Path):
    """A ledger that holds the whole run; what is read again, and how many replies it holds."""
    of = many()
    engine = planted.subject("asks-again")
    reader = replace(planted.subject("perfect"), family="readers")
    part = Set({A: Arm(), B: arm(["instruction:all"], of)}, (reader,), trust={"perfect": True})
    instrument = replay(of, part, draws=DRAWS)
    trials = list(instrument.design(engine))
    registration = Registration(
        "replay", "standard", of.stamp, (engine.as_json(),), tuple(of.openings), factors(["free"]),
        DRAWS, len(trials), "grouped", ("page",), primary("shown"), declared=declared(part, of))
    assert registered(registration.declared) == part
    by = {o.question: o for o in of.openings.values()}
    write, read = answering(of, by, "asks-again"), answerer(of, "perfect", {})

    def answer(request: Request):
        return (read if request.subject.name == "perfect" else write)(request)

    async def asked():
        desk = Desk(ledger, run, planted.answering(answer))
        await administer(instrument, trials, desk, at_once=64)

    ledger = Ledger.open(path)
    run = ledger.register("r", registration.as_json(), {"x": ""})
    asyncio.run(asked())
    ledger.close()
    return instrument, trials


def answering(of, by, trait):
    """A planted engine that is shown one opening at a time, so that it need not search them."""
    ones = {q: answerer(replace(of, openings={o.key: o}), trait, {}) for q, o in by.items()}

    def answer(request: Request):
        text = request.messages[-1].text
        start = text.index("The decision: ") if "The decision: " in text else text.index("La déc")
        question = text[start:].split(":", 1)[1].split("\n", 1)[0].strip()
        return ones[question](request)

    return answer


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "l.db"
        instrument, trials = filled(path)
        begun = time.perf_counter()
        ledger = Ledger.open(path, read_only=True)
        desk = Desk(ledger, ledger.runs()[0])
        found = read_again(instrument, trials, desk)
        read = time.perf_counter() - begun
        [compared] = instrument.analyse(found.observations).comparisons
        whole = time.perf_counter() - begun
        replies = [sent.reply.body for sent in ledger.calls(desk._run.seq) if sent.reply]
        begun = time.perf_counter()
        for body in replies:
            json.loads(json.loads(body)["text"])
        bare = time.perf_counter() - begun
        ledger.close()
    print(f"{OPENINGS:,} openings x 3 arms x {DRAWS} draws, {len(replies):,} replies:"
          f" {compared.verdict.kind} ({compared.verdict.wins} : {compared.verdict.losses}"
          f" of {compared.verdict.n})\n")
    print("| what | s | of decoding the JSON alone | target |")
    print("| --- | ---: | ---: | ---: |")
    print(f"| reading the run again | {read:.2f} | {read / bare:.1f}× | |")
    print(f"| scoring and verdicts | {whole - read:.2f} | {(whole - read) / bare:.1f}× | |")
    print(f"| both | {whole:.2f} | {whole / bare:.1f}× | < {TARGET_S:g} s |")


if __name__ == "__main__":
    main()
