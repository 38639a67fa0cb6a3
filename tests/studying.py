"""Small studies for tests: a suite of a few pairs, a ledger in a folder, a subject."""

from __future__ import annotations

import asyncio
from pathlib import Path

from equipoise.administer import administer
from equipoise.cli import fingerprint
from equipoise.cli.studies import study
from equipoise.desk import Desk, Patience
from equipoise.instruments.fingerprint.suite import suite
from equipoise.ledger import Ledger
from equipoise.providers import planted

SUBJECT = planted.subject("subject")


def registered(suite_name="demo", subjects=(SUBJECT,), answers=("free",), **more):
    return fingerprint.register(suite_name, list(subjects), list(answers), **more)


def suite_of(planned):
    registration, stimuli = planned
    return suite(stimuli, registration.suite)


def studied(path: Path, provider, planned=None, *, run="r1", at_once=16, **desk):
    """Administer a fingerprint and return (study, administration, desk)."""
    registration, stimuli = planned or registered()
    laid_out = study(registration, stimuli)
    ledger = Ledger.open(path)
    try:
        run_ = ledger.register(run, registration.as_json(), stimuli.texts)
        return asyncio.run(_administered(ledger, run_, laid_out, provider, at_once, desk))
    finally:
        ledger.close()


async def _administered(ledger, run, laid_out, provider, at_once, more):
    desk = Desk(ledger, run, provider, **{"patience": Patience(3, 0.001, 0.01)} | more)
    found = await administer(
        laid_out.instrument, laid_out.trials, desk, at_once=at_once, halting=laid_out.halting
    )
    return laid_out, found, desk
