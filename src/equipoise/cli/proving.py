"""Planted subjects put through an instrument, and what must be found in each."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.administer import Administration, administer
from equipoise.cli.running import finished
from equipoise.cli.screen import emit, emit_json, table
from equipoise.cli.studies import Study, register, study
from equipoise.cli.subjects import reached
from equipoise.desk import Desk
from equipoise.ledger import Ledger
from equipoise.providers import planted
from equipoise.terms import Misuse, Subject

DIFFERENT = 10


@dataclass(frozen=True)
class Expected:
    """What an instrument must find in a planted subject."""

    trait: str
    found: str
    holds: bool


def planted_findings(instrument: str, specs: Sequence[Subject | str], **asked: Any) -> Any:
    """What the instrument finds in these planted subjects, through a ledger of its own."""
    subjects = [s if isinstance(s, Subject) else planted.subject(s) for s in specs]
    registration, stimuli = register(instrument, subjects, **asked)
    laid_out = study(registration, stimuli)
    found: Administration[Any] = finished(_administered(laid_out, stimuli))
    return laid_out.analyse(found.observations)


async def _administered(laid_out: Study, stimuli: Any) -> Administration[Any]:
    registration = laid_out.registration
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.db")
        try:
            run = ledger.register("selftest", registration.as_json(), stimuli.texts)
            subjects = [Subject(**s) for s in registration.subjects]
            async with reached([*subjects, *laid_out.others], laid_out) as provider:
                return await administer(laid_out.instrument, laid_out.trials,
                                        Desk(ledger, run, provider), at_once=64)
        finally:
            ledger.close()


def show_expected(
    about: Mapping[str, Any], checks: Sequence[Expected], as_json: bool, **more: Any
) -> None:
    """Print what was found in each planted subject; raises Misuse (exit 10) where one was not."""
    if as_json:
        emit_json({**about, "checks": [vars(check) for check in checks], **more})
    else:
        emit(table(["planted", "found", "as it should"],
                   [[c.trait, c.found, "yes" if c.holds else "NO"] for c in checks]))
    if not all(check.holds for check in checks):
        raise Misuse("The instrument does not find what was planted.", DIFFERENT)
