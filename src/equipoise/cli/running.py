"""The acts behind `run`, `read` and `replay-check`: a registered run administered or read."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.administer import Administration, administer, read_again
from equipoise.cli.batch_notes import require_none_open
from equipoise.cli.pricing import price_for, prices_of
from equipoise.cli.progress import Progress
from equipoise.cli.recorded import require_asked
from equipoise.cli.screen import say
from equipoise.cli.spending import spending
from equipoise.cli.studies import Study, study
from equipoise.cli.tallies import usage
from equipoise.desk import Desk, Patience
from equipoise.ledger import Cap, Head, Ledger, Run, Where
from equipoise.providers.limits import Budget, Wrap, budgeted, paced
from equipoise.providers.prices import Price, Priced
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli, parse
from equipoise.terms import Misuse, Subject

if TYPE_CHECKING:
    from equipoise.cli.batching import Batches
    from equipoise.providers.batch_form import Pace

T = TypeVar("T")

AT_ONCE = {"llamacpp": 2, "callable": 1}
"""A person's own function may not be one that several threads can be in."""

MOST_IN_BATCHES = 50_000


@dataclass(frozen=True)
class Terms:
    """On what terms a run may ask.

    `prices` are those a person gave, by subject, and `stated` those that the subjects' own files
    state; `budget` names the cap, which is the run's own where it is not named.
    """

    at_once: int | None = None
    max_usd: float | None = None
    max_calls: int | None = None
    per_minute: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    stated: Mapping[str, Price] = field(default_factory=dict)
    budget: str | None = None
    attempts: int = Patience.attempts
    retry_unknown: bool = False
    quiet: bool = False
    batch: bool = False
    pace: Pace | None = None
    """How often batches are looked at; None is as their providers ask."""


@dataclass(frozen=True)
class Ended:
    """How a session of a run ended."""

    run: Run
    study: Study
    administration: Administration[Any]
    calls: int
    on_record: int
    seconds: float
    spent_usd: float | None
    head: Head


def read_run(ledger: Ledger, name: str) -> tuple[Run, Study, Administration[Any]]:
    """Read a recorded run again, with no provider; raises Misuse for a run not on record."""
    run = on_record(ledger, name)
    laid_out = recorded_study(ledger, run)
    desk = Desk(ledger, run)
    return run, laid_out, read_again(laid_out.instrument, laid_out.trials, desk)


def on_record(ledger: Ledger, name: str) -> Run:
    """The run of that name; raises Misuse that says which there are."""
    run = ledger.run(name)
    if run is None:
        known = ", ".join(r.name for r in ledger.runs()) or "none"
        raise Misuse(f"No run {name!r} in {ledger.path}. On record: {known}.")
    return run


def recorded_study(ledger: Ledger, run: Run) -> Study:
    """A run's study from its registration and the stimuli it was shown."""
    require_asked(run)
    registration = Registration.from_json(run.registration)
    return study(registration, recorded_stimuli(ledger, registration))


def recorded_stimuli(ledger: Ledger, registration: Registration) -> Stimuli:
    """The stimuli a registration names, as they were shown."""
    return parse(ledger.stimuli(registration.stamp))


def run_registered(
    path: Where, registration: Registration, stimuli: Stimuli, name: str, terms: Terms
) -> Ended:
    """Register a run if it is new, then administer it as far as the ledger does not hold it."""
    laid_out = study(registration, stimuli)
    ledger = Ledger.open(path)
    try:
        with ledger.administering(name):
            run = ledger.register(name, registration.as_json(), stimuli.texts)
            return finished(_administered(ledger, run, laid_out, terms))
    finally:
        ledger.close()


def finished(act: Coroutine[Any, Any, T]) -> T:
    """Run an act to its end and return what it made.

    Not a plain run of the act: as that ends, it formats its task and with it the task's
    result, which takes a second for a large run.
    """
    from uvloop import new_event_loop

    made: list[T] = []

    async def keep() -> None:
        made.append(await act)

    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(keep())
    except asyncio.CancelledError:
        raise Misuse(
            "Ended at once. Calls that were in flight are unknown: they may have been billed, and"
            " are not sent again without --retry-unknown. The same command goes on.", 130
        ) from None
    return made[0]


async def _administered(
    ledger: Ledger, run: Run, laid_out: Study, terms: Terms
) -> Ended:
    # Imported here: reading a run needs no engine and no network.
    from equipoise.cli.subjects import reached

    registration = laid_out.registration
    subjects = [Subject(**s) for s in registration.subjects]
    everyone = [*subjects, *laid_out.others]
    prices = prices_of(everyone, terms.prices, terms.stated)
    at_once = terms.at_once or min(AT_ONCE.get(s.dialect, 16) for s in everyone)
    batches = _batches(ledger, run, everyone, terms)
    if batches:
        await batches.settled()
        at_once = terms.at_once or min(len(laid_out.trials), MOST_IN_BATCHES)
        prices = batches.prices(prices)
    cap = Cap(terms.max_usd, terms.max_calls)
    with spending(ledger, run, prices, cap, terms.budget or run.name,
                  lambda: desk.stopped is not None) as budget:
        progress = Progress(len(laid_out.trials), laid_out.reader, quiet=terms.quiet,
                            cost=lambda: _cost(budget, prices))
        reaching = batches.reached(laid_out) if batches else reached(everyone, laid_out)
        async with reaching as provider:
            desk = Desk(
                ledger, run, provider, retry_unknown=terms.retry_unknown,
                guard=_guard(terms, budget, prices, lambda: desk),
                patience=Patience(terms.attempts),
            )
            desk.began_asking = progress.began_asking
            if batches:
                batches.serve(desk, progress)
            with _interruptible(desk, batches):
                found = await administer(
                    laid_out.instrument, laid_out.trials, desk, at_once=at_once,
                    halting=laid_out.halting, watch=progress.saw,
                )
            seconds = progress.seconds
    progress.finish()
    calls = desk.outcomes["calls"]
    return Ended(run, laid_out, found, calls, progress.on_record, seconds,
                 _cost(budget, prices)[0], ledger.journal.head())


def _batches(
    ledger: Ledger, run: Run, subjects: list[Subject], terms: Terms
) -> Batches | None:
    """The run's way to its subjects in batches, where it is to take it.

    Raises Misuse where it is not and its calls may be in batches still.
    """
    if not terms.batch:
        require_none_open(ledger, run)
        return None
    from equipoise.cli.batching import Batches
    from equipoise.providers.batch_form import Pace

    if terms.per_minute:
        raise Misuse("--per-minute has no meaning in a batch. Leave one of the two out.")
    return Batches(ledger, run, subjects, terms.pace or Pace(), terms.retry_unknown)


def _cost(budget: Budget, prices: Mapping[str, Priced]) -> tuple[float | None, float]:
    """What was spent so far and what is in flight, in USD; None where a price is unknown."""
    if any(p.price is None for p in prices.values()):
        return None, 0.0
    return budget.spent_usd, budget.reserved_usd


def _guard(
    terms: Terms, budget: Budget, prices: Mapping[str, Priced], desk: Callable[[], Desk]
) -> Wrap:
    """The limits a run is under, as one wrapper: the pace outside, the budget inside."""
    wraps: list[Wrap] = []
    price = price_for(prices)
    capped = budget.max_usd is not None or budget.max_calls is not None
    if capped or any(p.price and not p.price.free for p in prices.values()):
        wraps.append(budgeted(budget, price, usage, lambda reason: desk().stop(reason)))
    if terms.per_minute:
        wraps.append(paced(terms.per_minute, lambda: desk().stopped is not None))

    def wrap(provider: Any) -> Any:
        for one in wraps:
            provider = one(provider)
        return provider

    return wrap


@contextmanager
def _interruptible(desk: Desk, batches: Batches | None = None) -> Iterator[None]:
    """Ctrl-C once: send nothing more and keep what is in flight. Twice: end now."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

    pressed: list[int] = []

    def interrupt(number: signal.Signals) -> None:
        pressed.append(number)
        if len(pressed) > 1 and task is not None:
            task.cancel()
            return
        if batches:
            batches.leave(codes[number])
            return
        say("\nStopping: nothing more is sent; waiting up to 30 seconds for the calls in flight."
            " Interrupt again to end at once.")
        desk.stop(Misuse("Stopped. Everything that came back is on record.", codes[number]))

    for number in codes:
        loop.add_signal_handler(number, interrupt, number)
    try:
        yield
    finally:
        for number in codes:
            loop.remove_signal_handler(number)
