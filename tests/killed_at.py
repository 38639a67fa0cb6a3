"""A run in a process of its own that kills itself at one named step, the nth time it is there."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from equipoise.administer import administer
from equipoise.desk import Desk, Patience
from equipoise.ledger import Ledger
from equipoise.providers.http import Timeouts, sender
from equipoise.terms import Instrument, Subject, Trial, user
from power import pen

CELLS, IN_FLIGHT = 60, 8
SUBJECT = Subject("m", "m", "m", "openai", settings={"max_tokens": 10})
TRIALS = [Trial("sketch", SUBJECT, f"item{place}", {}) for place in range(CELLS)]

OWN = {
    "registering": 2, "scanning what is on record": 5, "before the intent": 11,
    "an intent in the transaction": 4, "committing the intents": 1, "intents durable": 1,
    "about to send": 13, "reply whole, not handed in": 9, "a reply in the transaction": 9,
    "committing replies": 4, "replies durable, nobody told": 4, "told": 10,
    "all asked, ledger open": 1, "publishing the head": 1, "head in place of the old": 2,
    "ledger closed": 1,
}
"""Steps at which the process kills itself, and the how-many-eth time."""
WIRE = {"request at the server": 14, "first byte of the reply": 12, "last byte of the reply": 12}
"""Steps at which the server kills it."""


class Until:
    """Kills this process at one step, the nth time it comes there."""

    def __init__(self, step: str, nth: int) -> None:
        self._step, self._left = step, nth

    def at(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


def run(folder: str, url: str, step: str) -> None:
    """Administer the sixty cells, unless killed first; what was acknowledged is in `told`."""
    asyncio.run(_administered(Path(folder), url, Until(step, OWN.get(step, -1))))


async def _administered(folder: Path, url: str, until: Until) -> None:
    told = os.open(folder / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ledger = Ledger.open(folder / "ledger.db")
    _watch_publishing(until)
    db, asking = pen(ledger), []
    db.set_commit_hook(lambda: bool(until.at("registering")))
    run_ = ledger.register("r1", b"{}", {"a.toml": "a = 1"})

    def began():
        asking.append(True)
        _watch_writing(db, until)

    async def conduct(trial, ask):
        if not asking:
            until.at("scanning what is on record")
        return await ask("pick", [user(f"{trial.item}: mercy or justice?")])

    def acknowledged(observation):
        if getattr(observation.value, "text", ""):
            os.write(told, observation.trial.key.encode() + b"\n")
            if asking:
                until.at("told")

    study = Instrument("sketch", "0", "picks", lambda subject: (), conduct, lambda found: found)
    async with sender(url, timeouts=Timeouts(5, 10, 20)) as post:

        async def provider(request):
            until.at("about to send")
            outcome = await post(request)
            until.at("reply whole, not handed in")
            return outcome

        desk = Desk(ledger, run_, provider, guard=_before_the_intent(until),
                    patience=Patience(2, 0.01, 0.02))
        desk.began_asking = began
        await administer(study, TRIALS, desk, at_once=IN_FLIGHT, watch=acknowledged)
    until.at("all asked, ledger open")
    ledger.close()
    until.at("ledger closed")


def _before_the_intent(until: Until):
    def guard(provider):
        async def guarded(request):
            until.at("before the intent")
            return await provider(request)

        return guarded

    return guard


def _watch_writing(db, until: Until) -> None:
    """SQLite says when a row goes in, when a transaction is about to end and when it has."""

    def inserted(kind, database, table, row):
        if table == "words":  # Intents carry none: these are replies.
            until.at("a reply in the transaction")
        elif table == "entries":
            until.at("an intent in the transaction")

    def committing():
        until.at("committing the intents")
        until.at("committing replies")
        return False

    def committed(connection, database, pages):
        until.at("intents durable")
        until.at("replies durable, nobody told")
        return 0

    db.set_update_hook(inserted)
    db.set_commit_hook(committing)
    db.set_wal_hook(committed)


def _watch_publishing(until: Until) -> None:
    """The head is made durable by two syncs: of its file, then of the folder it was put in."""
    real = os.fsync

    def fsync(descriptor):
        until.at("publishing the head")
        until.at("head in place of the old")
        real(descriptor)

    os.fsync = fsync
