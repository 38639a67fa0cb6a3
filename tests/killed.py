"""A run in a process of its own, made to be killed: it logs what it sent and what it was told."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from equipoise.administer import administer
from equipoise.cli.studies import study
from equipoise.desk import Desk
from equipoise.instruments.fingerprint import planted as traits
from equipoise.ledger import Ledger, Where
from equipoise.providers import planted
from studying import registered, suite_of

IN_FLIGHT = 16
PLANNED = registered("core")
ANSWER = traits.answerer(suite_of(PLANNED), traits.holds({}))


def begun(path: Path) -> bool:
    """Whether the ledger was laid out: a kill may come before that, and leave an empty file."""
    import apsw

    return path.exists() and bool(apsw.Connection(str(path)).pragma("application_id"))


def run(folder: str, where: Where | None = None) -> None:
    """Administer the core suite; a killed process leaves its logs, whole lines only."""
    log = {name: os.open(Path(folder) / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
           for name in ("sent", "told")}

    async def provider(request):
        os.write(log["sent"], request.stamp.hex().encode() + b"\n")
        await asyncio.sleep(0.001 * (request.stamp[0] % 40))
        return planted.said(ANSWER(request))

    def told(observation):
        if observation.value.text:
            os.write(log["told"], observation.trial.key.encode() + b"\n")

    asyncio.run(_administered(where or Path(folder) / "ledger.db", provider, told))


async def _administered(path, provider, told):
    registration, stimuli = PLANNED
    laid_out = study(registration, stimuli)
    ledger = Ledger.open(path)
    run_ = ledger.register("r1", registration.as_json(), stimuli.texts)
    desk = Desk(ledger, run_, provider)
    await administer(laid_out.instrument, laid_out.trials, desk, at_once=IN_FLIGHT, watch=told)
    ledger.close()
