"""Does a change make the application better, judged on the page alone by readers of their own?

The same frozen conversations are replayed with and without the change: arm A, arm A again, arm B,
so many draws each. On every turn the engine writes its reply and edits the page. Readers that
never write then read the page, each bias by itself. The engine's prose is never read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from msgspec import Struct

from equipoise.elicit import Elicited, elicit
from equipoise.instruments.replay.arms import ARMS, A, Arm, B, engine_question, engine_turn
from equipoise.instruments.replay.contract import (
    DETECTOR,
    ENGINE,
    PAGE,
    QUALITY,
    Detected,
    Met,
    Seen,
    Written,
    checks,
    detection,
    engine_answer,
    own_answer,
    page_line,
    schema,
)
from equipoise.instruments.replay.engines import OWN, require_other_family, require_prompted
from equipoise.instruments.replay.measures import analyse
from equipoise.instruments.replay.outcomes import Fate, fate
from equipoise.instruments.replay.page import Page, edited
from equipoise.instruments.replay.scorecard import AS_LABELLED
from equipoise.instruments.replay.suite import Moment, Opening, Suite, one_line
from equipoise.stats.confusion import Confusion
from equipoise.terms import (
    AnswerMode,
    Ask,
    Instrument,
    Misuse,
    Nonresponse,
    Reader,
    Reading,
    Subject,
    Trial,
    Usage,
    user,
)

NAME = "replay"
READER = "page"
DRAWS = 3
METRICS = ("shown", "misfire")
ANSWERS: tuple[AnswerMode, ...] = ("free", "constrained")
WHOLE = Reading("whole", "every turn was written")
EMPTY = Reading(Seen("not met"), "the page is empty")


@dataclass(frozen=True)
class Set:
    """Who takes part: the arms, the readers of pages, and who detects and judges quality.

    Each page is read by every page reader. Without a detector instructions are fired by the
    labels; `second` is the engine of an arm that swaps it. `metric` is what decides, `saving`
    whether the change is to save cost with the `margin` (points) accepted for it, `discordance`
    the share of openings planned to differ, `trust` which readers were trusted when it was
    registered and `confusions` how each did against people's labels. `one_reader` waives the
    second family of readers that a comparison of two families of engines wants. The badges of those
    `rehearsed` rest on illustrative labels. `votes` are the calls a page is read with by readers
    that do not agree with themselves enough for one: the majority of them counts.
    """

    arms: Mapping[str, Arm]
    readers: tuple[Subject, ...]
    detector: Subject | None = None
    quality: Subject | None = None
    second: Subject | None = None
    metric: str = METRICS[0]
    saving: bool = False
    margin: float = 0.0
    discordance: float = 0.3
    trust: Mapping[str, bool] = field(default_factory=dict)
    confusions: Mapping[str, Confusion] = field(default_factory=dict)
    rehearsed: tuple[str, ...] = ()
    one_reader: bool = False
    votes: Mapping[str, int] = field(default_factory=dict)


Told = tuple[Reading[Seen], str]
"""A reading of a page, and the reply it was read from; no reply where nothing was asked."""


class Replayed(Struct, frozen=True):
    """One conversation as one arm of the engine held it, and what the readers made of its pages.

    `versions` are the page as it stood and after each turn; `seen` the page reader's readings by
    reader, bias and version, and `told` their replies in the same places, empty where none was
    asked for; `fates` what they come to; `quality` the checks of the shown lines.
    """

    text: str
    readings: Mapping[str, Reading[Any]]
    versions: tuple[Page, ...]
    replies: tuple[str, ...]
    detected: tuple[Reading[Detected], ...]
    fired: tuple[tuple[str, ...], ...]
    seen: Mapping[str, Mapping[str, tuple[Reading[Seen], ...]]]
    fates: Mapping[str, Mapping[str, Fate]]
    quality: Mapping[str, Reading[Mapping[str, Met]]]
    usages: tuple[Usage, ...] = ()
    told: Mapping[str, Mapping[str, tuple[str, ...]]] = {}


def replay(
    suite: Suite, taking_part: Set, answers: Sequence[AnswerMode] = ANSWERS[:1],
    draws: int = DRAWS,
) -> Instrument[Replayed]:
    """The instrument over a suite.

    Raises Misuse for an answer mode there is not, and, in its design, for a reader of the family
    of an engine it would read.
    """
    if not answers or len(set(answers)) < len(answers) or not set(answers) <= set(ANSWERS):
        raise Misuse(f"The answer modes {', '.join(answers) or '(none)'} are not one or more, each"
                     f" once, of {', '.join(ANSWERS)}.")
    return Instrument(NAME, suite.stamp, primary(taking_part.metric),
                      partial(_design, suite, taking_part, answers, draws),
                      partial(_conduct, suite, taking_part),
                      partial(analyse, suite, taking_part, draws))


def primary(metric: str) -> str:
    """The registered measure's name."""
    return f"{metric} by opening by {READER}"


def factors(answers: Sequence[AnswerMode]) -> dict[str, tuple[str, ...]]:
    """The factors and their levels."""
    return {"answer": tuple(answers), "arm": ARMS}


def _design(
    suite: Suite, taking_part: Set, answers: Sequence[AnswerMode], draws: int, subject: Subject
) -> list[Trial]:
    engines = [subject, *([taking_part.second] if taking_part.second else [])]
    readers = [*taking_part.readers, *([taking_part.quality] if taking_part.quality else [])]
    require_other_family(engines, readers)
    require_prompted(engines, taking_part.arms)
    return [
        Trial(NAME, subject, key, {"answer": answer, "arm": arm}, draw)
        for answer in answers
        for key in suite.openings
        for arm in ARMS
        for draw in range(1, draws + 1)
    ]


async def _conduct(suite: Suite, taking_part: Set, trial: Trial, ask: Ask) -> Replayed:
    opening = suite.openings[trial.item]
    arm = taking_part.arms[B if trial.condition["arm"] == B else A]
    engine = (taking_part.second if arm.engine else None) or trial.subject
    asks = _Asks(ask, cast(AnswerMode, trial.condition["answer"]))
    held = _Held([opening.page])
    for number, turn in enumerate(opening.turns, 1):
        moment = Moment(opening, held.versions[-1], held.earlier(opening), turn)
        detected = await _detected(suite, taking_part.detector, moment, number, asks)
        fired = _fired(arm, detected)
        made, reading = ((engine_turn, own_answer) if engine.dialect in OWN
                         else (engine_question, engine_answer))
        question = made(suite, arm, moment, fired)
        found = await asks(schema(ENGINE, moment.page), f"engine/{number}", question,
                           reading(moment.page), engine)
        held.keep(detected, fired, found)
        if isinstance(found.reading.value, Nonresponse):
            return _lost(held, found)
    read = {reader.name: await _read(suite, opening, held.versions, reader,
                                     partial(_voted, asks, taking_part.votes.get(reader.name, 1)))
            for reader in taking_part.readers}
    seen = {name: {bias: tuple(reading for reading, _ in found) for bias, found in of.items()}
            for name, of in read.items()}
    told = {name: {bias: tuple(text for _, text in found) for bias, found in of.items()}
            for name, of in read.items()}
    fates = {name: {bias: fate(bias, opening.present.get(bias, 0), held.versions, readings)
                    for bias, readings in by_bias.items()} for name, by_bias in seen.items()}
    quality = await _quality(suite, taking_part, opening, held.versions, fates, asks)
    return Replayed(held.replies[-1], {READER: WHOLE}, tuple(held.versions), tuple(held.replies),
                    tuple(held.detected), tuple(held.fired), seen, fates, quality,
                    tuple(held.usages), told)


class _Asks:
    """Puts a question in one answer mode, under the schema of whoever answers."""

    def __init__(self, ask: Ask, mode: AnswerMode) -> None:
        self._ask, self._mode = ask, mode

    async def __call__(
        self, form: str, stage: str, question: str, read: Reader[Any], by: Subject
    ) -> Elicited[Any]:
        held = form if self._mode == "constrained" else ""
        return await elicit(partial(self._ask, mode=self._mode, schema=held), stage,
                            [user(question)], read, by=by)


@dataclass
class _Held:
    """What a conversation holds so far."""

    versions: list[Page]
    replies: list[str] = field(default_factory=list)
    detected: list[Reading[Detected]] = field(default_factory=list)
    fired: list[tuple[str, ...]] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def earlier(self, opening: Opening) -> tuple[tuple[str, str], ...]:
        """What was said before: the frozen part, then each turn with this engine's own reply."""
        said = list(opening.earlier)
        for turn, reply in zip(opening.turns, self.replies, strict=False):
            said += [("person", turn.said), ("engine", reply)]
        return tuple(said)

    def keep(
        self, detected: Reading[Detected], fired: tuple[str, ...], found: Elicited[Written]
    ) -> None:
        self.detected.append(detected)
        self.fired.append(fired)
        self.usages += [completion.usage for completion in found.completions]
        if isinstance(found.reading.value, Written):
            self.versions.append(edited(self.versions[-1], found.reading.value.edits))
            self.replies.append(found.reading.value.reply)


def _lost(held: _Held, found: Elicited[Written]) -> Replayed:
    """A conversation that broke off: nothing of it is scored, all of it is kept."""
    text = found.completions[-1].text if found.completions else ""
    return Replayed(text, {READER: found.reading}, tuple(held.versions), tuple(held.replies),
                    tuple(held.detected), tuple(held.fired), {}, {}, {}, tuple(held.usages))


async def _detected(
    suite: Suite, detector: Subject | None, moment: Moment, number: int, asks: _Asks
) -> Reading[Detected]:
    """The biases in the message, by the detector; without one, as the labels have them."""
    if detector is None:
        return Reading(Detected(dict.fromkeys(moment.turn.present, "")), AS_LABELLED)
    found = await asks(schema(DETECTOR), f"detect/{number}/{detector.name}",
                       suite.detector_question(moment),
                       detection(moment.turn.said, suite.biases), detector)
    return found.reading


def _fired(arm: Arm, detected: Reading[Detected]) -> tuple[str, ...]:
    """Which instructions ride on this turn: the arm's, where their bias was found."""
    value = detected.value
    return () if isinstance(value, Nonresponse) else tuple(
        bias for bias in arm.instructions if bias in value.present)


async def _read(
    suite: Suite, opening: Opening, versions: Sequence[Page], reader: Subject,
    voted: Callable[..., Awaitable[Told]],
) -> dict[str, tuple[Told, ...]]:
    """Each bias's reading of each version; a page that did not change is not read again.

    The page as it stood is read too: a question that was on it, and is put again, is a misfire.
    An empty page needs no reader.
    """
    found: dict[str, tuple[Told, ...]] = {}
    for bias in suite.biases:
        readings: list[Told] = []
        for number, page in enumerate(versions):
            if number and page == versions[number - 1]:
                readings.append((readings[-1][0], ""))
            elif page.is_empty:
                readings.append((EMPTY, ""))
            else:
                stage = f"page/{number}/{bias}/{reader.name}"
                question = suite.page_question(opening.language, bias, page)
                readings.append(await voted(stage, question, page, reader))
        found[bias] = tuple(readings)
    return found


async def _voted(
    asks: _Asks, votes: int, stage: str, question: str, page: Page, reader: Subject
) -> Told:
    """One reading of a page: of one call, or of the majority of so many of the same question."""
    found = [await asks(schema(PAGE, page), stage if n == 1 else f"{stage}/{n}", question,
                        page_line(page), reader) for n in range(1, votes + 1)]
    readings = [one.reading for one in found]
    text = "\n".join(one.completions[-1].text for one in found if one.completions)
    return (readings[0] if votes == 1 else by_majority(readings)), text


def by_majority(readings: Sequence[Reading[Seen]]) -> Reading[Seen]:
    """The reading that more than half of the calls came to; without one, unknown.

    >>> met, not_met = Reading(Seen("met", 1), "r"), Reading(Seen("not met"), "r")
    >>> by_majority([met, not_met, met]).value.verdict
    'met'
    >>> by_majority([met, not_met, Reading(Seen("unknown"), "r")]).value.verdict
    'unknown'
    """
    for reading in readings:
        said = _verdict(reading)
        if 2 * sum(_verdict(other) == said for other in readings) > len(readings):
            return reading
    return Reading(Seen("unknown"), "no majority of calls")


def _verdict(reading: Reading[Seen]) -> str:
    value = reading.value
    return value.kind if isinstance(value, Nonresponse) else value.verdict


async def _quality(
    suite: Suite, taking_part: Set, opening: Opening, versions: Sequence[Page],
    fates: Mapping[str, Mapping[str, Fate]], asks: _Asks,
) -> dict[str, Reading[Mapping[str, Met]]]:
    """The binary checks of each line by which a labelled bias's debias was shown."""
    if taking_part.quality is None:
        return {}
    found = {}
    for bias, of in fates[taking_part.readers[0].name].items():
        line = versions[of.turn].line(of.line) if of.shown is True and of.identified else None
        if line is None:
            continue
        found[bias] = (await asks(schema(QUALITY), f"quality/{bias}/{taking_part.quality.name}",
                                  suite.quality_question(opening, one_line(line)), checks,
                                  taking_part.quality)).reading
    return found
