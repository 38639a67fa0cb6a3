"""The acts behind `run`, `read` and `replay-check`: a registered run administered or read."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.administer import Administration, administer, read_again
from equipoise.cli.batch_notes import require_none_open
from equipoise.cli.progress import Progress
from equipoise.cli.recorded import require_asked
from equipoise.cli.screen import say
from equipoise.cli.studies import Study, study
from equipoise.desk import Desk, Patience
from equipoise.ledger import Head, Ledger, Run
from equipoise.providers import dialect
from equipoise.providers.limits import Budget, Price, Wrap, budgeted, paced
from equipoise.registration import Registration
from equipoise.stimuli import Stimuli, parse
from equipoise.terms import Completion, Misuse, Reply, Subject, Usage

if TYPE_CHECKING:
    from equipoise.cli.batching import Batches
    from equipoise.providers.batch_form import Pace

T = TypeVar("T")

AT_ONCE = {"llamacpp": 2}
MOST_IN_BATCHES = 50_000


@dataclass(frozen=True)
class Terms:
    """On what terms a run may ask."""

    at_once: int | None = None
    max_usd: float | None = None
    max_calls: int | None = None
    per_minute: float | None = None
    price: Price | None = None
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
    path: Path, registration: Registration, stimuli: Stimuli, name: str, terms: Terms
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
    all_asked = [*subjects, *laid_out.others]
    at_once = terms.at_once or min(AT_ONCE.get(s.dialect, 16) for s in subjects)
    batches = _batches(ledger, run, all_asked, terms)
    budget = Budget(max_usd=terms.max_usd, max_calls=terms.max_calls)
    progress = Progress(
        len(laid_out.trials), laid_out.reader, quiet=terms.quiet,
        cost=lambda: budget.spent_usd if terms.price else None,
    )
    if batches:
        await batches.settled()
        at_once = terms.at_once or min(len(laid_out.trials), MOST_IN_BATCHES)
        terms = replace(terms, price=batches.price(terms.price))
    reaching = batches.reached(laid_out) if batches else reached(all_asked, laid_out)
    async with reaching as provider:
        desk = Desk(
            ledger, run, provider, retry_unknown=terms.retry_unknown,
            guard=_guard(terms, budget, lambda: desk.stopped is not None),
            patience=Patience(terms.attempts),
        )
        _carry_over(budget, ledger, run, terms.price)
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
                 budget.spent_usd if terms.price else None, ledger.journal.head())


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


def _carry_over(budget: Budget, ledger: Ledger, run: Run, price: Price | None) -> None:
    """Caps hold over a resume: count what earlier sessions sent, the unknown at their worst."""
    for sent, kind, reply in ledger.calls(run.seq):
        budget.calls += kind != "fault"
        if price is None or kind == "fault":
            continue
        cost = price.cost(_usage(reply)) if reply else None
        failed = reply is not None and reply.status >= 300
        budget.spent_usd += 0.0 if failed else price.worst(sent) if cost is None else cost


def _guard(terms: Terms, budget: Budget, stopped: Callable[[], bool]) -> Wrap:
    """The limits a run is under, as one wrapper: the pace outside, the budget inside."""
    wraps: list[Wrap] = []
    if terms.max_usd is not None or terms.max_calls is not None or terms.price:
        wraps.append(budgeted(budget, terms.price, _usage))
    if terms.per_minute:
        wraps.append(paced(terms.per_minute, stopped))

    def wrap(provider: Any) -> Any:
        for one in wraps:
            provider = one(provider)
        return provider

    return wrap


def _usage(reply: Reply) -> Usage:
    found = dialect("openai").decode(reply)
    return found.usage if isinstance(found, Completion) else Usage()


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
