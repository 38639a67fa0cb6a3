"""The instruments a command can name, and how each is laid out from what is registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.administer import Halting
from equipoise.design import in_random_order
from equipoise.instruments.fingerprint.halting import UntilDissent
from equipoise.instruments.fingerprint.instrument import (
    NAME,
    PRIMARY,
    READERS,
    Choice,
    factors,
    fingerprint,
)
from equipoise.instruments.fingerprint.suite import FULL, SHIPPED, Suite, suite
from equipoise.registration import Registration, require_registered
from equipoise.stimuli import Stimuli, load
from equipoise.terms import Instrument, Misuse, Subject, Trial

MOST_DRAWS = 1000


@dataclass(frozen=True)
class Study:
    """A registered run, ready to be administered or read."""

    registration: Registration
    suite: Suite
    instrument: Instrument[Choice]
    trials: Sequence[Trial]
    halting: Halting | None


def stimuli_of(name: str) -> tuple[Stimuli, str]:
    """The stimuli a suite's name stands for, and the suite's name within them.

    A name with a slash, or of a folder that is there, is a person's own folder of stimuli,
    `folder:suite` one suite of it. Framings it does not hold are the shipped ones.
    """
    place, _, within = name.partition(":")
    if "/" not in place and not Path(place).is_dir():
        return load(SHIPPED), name
    return load(Path(place), beneath=SHIPPED, only=("framings.toml",)), within or FULL


def register_fingerprint(
    suite_name: str,
    subjects: Sequence[Subject],
    answers: Sequence[Any],
    *,
    draws: int = 1,
    order: str = "grouped",
    until_dissent: bool = False,
) -> tuple[Registration, Stimuli]:
    """What a fingerprint run will ask, of whom and how often; checks all of it."""
    if not 1 <= draws <= MOST_DRAWS:
        raise Misuse(f"{draws:,} draws were asked for; a cell needs at least 1 and takes at most"
                     f" {MOST_DRAWS:,}.")
    stimuli, within = stimuli_of(suite_name)
    laid_out = suite(stimuli, within)
    instrument = fingerprint(laid_out, answers, draws)
    cells = sum(len(instrument.design(subject)) for subject in subjects)
    _in_order([], order)
    return Registration(
        NAME, within, stimuli.stamp, tuple(s.as_json() for s in subjects),
        tuple(laid_out.pairs), factors(laid_out, answers), draws, cells, order,
        tuple(READERS), PRIMARY, until_dissent,
    ), stimuli


def study(registration: Registration, stimuli: Stimuli) -> Study:
    """The instrument, its trials in order and its halting rule, from a registration alone."""
    laid_out = suite(stimuli, registration.suite)
    answers: Any = registration.factors["answer"]
    instrument = fingerprint(laid_out, answers, registration.draws)
    trials: list[Trial] = []
    for subject in registration.subjects:
        trials += instrument.design(Subject(**subject))
    trials = _in_order(trials, registration.order)
    require_registered(registration, trials)
    reader = registration.primary.rpartition(" ")[2]
    return Study(registration, laid_out, instrument, trials,
                 UntilDissent(reader) if registration.until_dissent else None)


def _in_order(trials: list[Trial], order: str) -> list[Trial]:
    kind, _, seed = order.partition(":")
    if order == "grouped":
        return trials
    if kind == "random" and seed.isdigit():
        return in_random_order(trials, int(seed))
    raise Misuse(f"No order {order!r}: there are grouped and random:SEED.")


REGISTER: Mapping[str, Callable[..., tuple[Registration, Stimuli]]] = {NAME: register_fingerprint}


def instrument_named(name: str) -> Callable[..., tuple[Registration, Stimuli]]:
    """How to register that instrument's runs; raises Misuse for one there is not."""
    if name not in REGISTER:
        raise Misuse(f"No instrument {name!r}. There is: {', '.join(REGISTER)}.")
    return REGISTER[name]
