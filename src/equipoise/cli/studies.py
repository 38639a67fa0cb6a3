"""The instruments a command can name, and how each is laid out from what is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from equipoise.administer import Halting
from equipoise.design import in_random_order
from equipoise.ledger import Head, Run
from equipoise.providers.capabilities import require_modes
from equipoise.registration import Registration, require_registered
from equipoise.report.log import Entry
from equipoise.stimuli import Stimuli, load
from equipoise.terms import (
    AnswerMode,
    Completion,
    Instrument,
    Message,
    Misuse,
    Nonresponse,
    Observation,
    Request,
    Subject,
    Trial,
)

INSTRUMENTS: Mapping[str, str] = {
    "fingerprint": "equipoise.cli.fingerprint",
    "label-swap": "equipoise.cli.label_swap",
    "debates": "equipoise.cli.debates",
    "replay": "equipoise.cli.replay",
    "calibration": "equipoise.cli.trust",
    "clauses": "equipoise.cli.clauses",
}
"""Where what the command line needs of each instrument stands; imported when it is named."""

MOST_DRAWS, ANY_SEED = 1000, 4_294_967_295
"""The most draws a cell takes; the seed with which a local engine draws each reply anew."""

SETTINGS = frozenset(("suite", "answers"))


@dataclass(frozen=True)
class Study:
    """A registered run, ready to be administered or read.

    `others` are asked beside its subjects: readers, a second engine.
    """

    registration: Registration
    suite: Any
    instrument: Instrument[Any]
    trials: Sequence[Trial]
    halting: Halting | None = None
    others: Sequence[Subject] = ()

    @property
    def reader(self) -> str:
        """The reader that the registered measure names."""
        return self.registration.primary.rpartition(" ")[2]

    def in_registered_order(
        self, observations: Iterable[Observation[Any]]
    ) -> list[Observation[Any]]:
        """Subjects, answer modes and pushes as registered, whatever was asked when."""
        subjects = {s["name"]: place for place, s in enumerate(self.registration.subjects)}
        levels = {factor: {name: place for place, name in enumerate(names)}
                  for factor, names in self.registration.factors.items()
                  if factor in ("answer", "form", "push")}
        return sorted(observations, key=lambda o: (
            subjects[o.trial.subject.name],
            [places.get(o.trial.condition[factor], -1) for factor, places in levels.items()]))

    def analyse(self, observations: Iterable[Observation[Any]]) -> Any:
        """The instrument's findings, in the registered order."""
        return self.instrument.analyse(self.in_registered_order(observations))


@dataclass(frozen=True)
class Handling:
    """What the command line does with one instrument.

    `options` are the design options it takes beside suite, answers, draws and order; `settings`
    what its subjects are asked with unless they say otherwise, by route; `usual` the tokens of a
    usual prompt and reply, `local_pace` the cells a second of a small model on two cores, and
    `calls` the calls a trial takes when all goes well and at most, all three for `plan` alone.
    """

    options: frozenset[str]
    suite: str
    settings: Mapping[str, Mapping[str, Any]]
    traits: tuple[str, ...]
    usual: tuple[int, int]
    local_pace: Mapping[str, float]
    register: Callable[..., tuple[Registration, Stimuli]]
    lay_out: Callable[[Registration, Stimuli], Study]
    planted: Callable[[Study, Subject], Callable[[Request], str | Completion]]
    table: Callable[[Any, Registration, str | None], str]
    moved: Callable[[Any, str, str], str]
    values: Callable[[Any], dict[str, Any]]
    page: Callable[[Run, Study, Sequence[Observation[Any]], Head], str]
    entry: Callable[[Run, Study, Sequence[Observation[Any]], Head], Entry]
    columns: Callable[[Observation[Any]], Mapping[str, Any]]
    planned: Callable[[Study, Mapping[str, Any]], tuple[Mapping[str, Any], Sequence[str]]]
    selftest: Callable[[str | None, bool], None]
    calls: Callable[[Trial], tuple[int, int]] = lambda trial: (1, 1)


def handling(name: str) -> Handling:
    """What the command line does with that instrument; raises Misuse for one there is not."""
    if name not in INSTRUMENTS:
        near = get_close_matches(name, INSTRUMENTS, 1)
        raise Misuse(f"No instrument {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")
                     + f" There are: {', '.join(INSTRUMENTS)}.")
    found: Handling = import_module(INSTRUMENTS[name]).HANDLING
    return found


def register(
    name: str, subjects: Sequence[Subject], *, suite: str | None = None, **asked: Any
) -> tuple[Registration, Stimuli]:
    """What a run of that instrument will ask, of whom and how often; checks all of it.

    Raises Misuse for an option that the instrument does not take, and for a way of answering
    that a subject cannot be asked for.
    """
    how = handling(name)
    given = {option: value for option, value in asked.items()
             if value is not None and value is not False and value != "" and value != ()}
    if spare := sorted(given.keys() - how.options - {"answers", "draws", "order"}):
        raise Misuse(f"{_flag(spare[0])} is no option of {name}."
                     + (f" It takes {_options(how.options)}." if how.options else ""))
    require_modes(subjects, given.get("answers", ()))
    return how.register(suite or how.suite, subjects, **given)


def _options(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(_flag, names)))


def _flag(name: str) -> str:
    return "--" + name.removesuffix("_named").replace("_", "-")


def study(registration: Registration, stimuli: Stimuli) -> Study:
    """The instrument, its trials in order and its halting rule, from a registration alone."""
    return handling(registration.instrument).lay_out(registration, stimuli)


def stimuli_of(
    name: str, shipped: Path, names: Sequence[str], only: Sequence[str]
) -> tuple[Stimuli, str]:
    """The stimuli a suite's name stands for, and the suite's name within them.

    A name with a slash, or of a folder that is there, is a person's own folder of stimuli,
    `folder:suite` one suite of it; what it lacks of `only` is the shipped file. Anything else
    names a suite of the shipped stimuli; `names[0]` is that of a folder as a whole.
    """
    place, _, within = name.partition(":")
    if "/" not in place and not Path(place).is_dir():
        return load(shipped), name
    return load(Path(place), beneath=shipped, only=only), within or names[0]


def laid_out_trials(instrument: Instrument[Any], registration: Registration) -> list[Trial]:
    """Every trial of every registered subject, in the registered order."""
    trials: list[Trial] = []
    for subject in registration.subjects:
        trials += instrument.design(Subject(**subject))
    trials = in_order(trials, registration.order)
    require_registered(registration, trials)
    return trials


def in_order(trials: list[Trial], order: str) -> list[Trial]:
    """The trials as designed (`grouped`) or shuffled (`random:SEED`); else raises Misuse."""
    kind, _, seed = order.partition(":")
    if order == "grouped":
        return trials
    if kind == "random" and seed.isdigit():
        return in_random_order(trials, int(seed))
    raise Misuse(f"No order {order!r}: there are grouped and random:SEED.")


def listed_in(text: str) -> tuple[str, ...]:
    """The names in a text, between commas.

    >>> listed_in("wording, asked,")
    ('wording', 'asked')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def require_draws(draws: int, least: int = 1, why: str = "") -> None:
    """Raises Misuse for a number of draws that no cell can have."""
    if not least <= draws <= MOST_DRAWS:
        raise Misuse(f"{draws:,} draws were asked for; a cell needs at least {least}{why} and"
                     f" takes at most {MOST_DRAWS:,}.")


def require_drawn(subjects: Sequence[Subject], draws: int) -> None:
    """Raises Misuse for a subject whose draws of one prompt a fixed seed would make one reply."""
    for subject in subjects:
        for seed in (subject.settings.get("seed"), subject.engine.get("seed")):
            if draws > 1 and seed not in (None, ANY_SEED):
                raise Misuse(f"{subject.name} has the seed {seed}, so its {draws} draws of a prompt"
                             " would be one reply over again. Leave the seed out.")


def first_question(
    instrument: Instrument[Any], trial: Trial
) -> tuple[tuple[Message, ...], AnswerMode, Sequence[str], str]:
    """A trial's first question: messages, answer mode, choices and schema; asks nothing."""
    found: list[tuple[tuple[Message, ...], AnswerMode, Sequence[str], str]] = []

    async def ask(
        stage: str, messages: Iterable[Message], *, mode: AnswerMode = "free",
        choices: Sequence[str] = (), schema: str = "", **_: Any,
    ) -> Nonresponse:
        found.append((tuple(messages), mode, choices, schema))
        return Nonresponse("not asked")

    coroutine: Any = instrument.conduct(trial, ask)
    try:
        coroutine.send(None)
    except StopIteration:
        return found[0]
    raise TypeError(f"{trial.instrument} awaits something other than ask")
