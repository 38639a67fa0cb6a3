"""Pairs as rows of a page: the balance line, the twelve marks, and the replies behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from equipoise.elicit import NO_REPLY
from equipoise.instruments.fingerprint.instrument import ORDERS, Choice
from equipoise.instruments.fingerprint.measures import said
from equipoise.instruments.fingerprint.slot import coin_floor
from equipoise.report.arms import Arm, Gathered, name_of, read, side
from equipoise.report.charts import balance_line, strip
from equipoise.report.tables import rows_a_framing
from equipoise.report.visible import LANGUAGE_TAGS, LONGEST, left_out, marked, tag
from equipoise.report.words import counted, number
from equipoise.stats.undefined import Undefined
from equipoise.terms import Nonresponse, Observation, Reading

FIRST_OF_FATE, FIRST_OF_DIFFERENCES = 10, 100
PAGE, LINE, ROW, CELL, DIFFERENCES = 9_000_000, 700, 340, 480, 600_000
"""Bytes of HTML: what a page may hold; what a pair's line, a row behind a framing's figures and a
cell without its reply take; what the replies that are read differently may take."""


@dataclass(frozen=True, slots=True)
class Said:
    """One reader's reading of a cell."""

    reader: str
    side: str
    text: str
    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as a person reads it: the reply word for word, and what was made of it."""

    address: str
    reply: Markup
    silent: str
    language: str
    more: str
    readings: tuple[Said, ...]

    @property
    def differ(self) -> bool:
        return len({said.text for said in self.readings}) > 1


@dataclass(frozen=True, slots=True)
class FramingView:
    """One framing of one pair: the words as shown, and its cell in either order."""

    name: str
    about: str
    address: str
    language: str
    words: tuple[str, str]
    cells: tuple[CellView | None, ...]


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair in one arm; `framings` is empty where its replies are not on the page."""

    address: str
    item: str
    category: str
    words: tuple[str, str]
    committed: str
    line: Markup
    strip: Markup
    picks: str
    lost: str
    sharpness: str
    elsewhere: tuple[tuple[str, str], ...]
    framings: tuple[FramingView, ...]


def pair_view(g: Gathered, arm: Arm, item: str, with_replies: bool) -> PairView:
    found, pair, cells = arm.found.slots[item], g.suite.pairs[item], arm.cells[item]
    a, b = (found.picks[word] for word in pair.words)
    committed = "" if isinstance(found.committed, Nonresponse) else found.committed
    sides = [
        side(g.suite, cells[at], g.reader) if at in cells else ""
        for at in ((framing, order) for framing in g.suite.framings for order in ORDERS)
    ]
    return PairView(
        g.address(arm, item), item, pair.category, pair.words, committed,
        balance_line(a, b, sum(found.lost.values()), bool(committed)),
        strip(sides), f"{a} : {b}", counted(dict(found.lost)) if found.lost else "",
        _sharpness(found.sharpness, found.picked),
        tuple((other.title, g.address(other, item)) for other in g.arms if other is not arm),
        _framings(g, arm, item) if with_replies else (),
    )


def _sharpness(value: float | Undefined, picked: int) -> str:
    if isinstance(value, Undefined):
        return f"Sharpness: {number(value)}."
    return (f"Sharpness {number(value)} over {picked} picks; coins would give"
            f" {number(coin_floor(picked))}.")


def _framings(g: Gathered, arm: Arm, item: str) -> tuple[FramingView, ...]:
    cells, address = arm.cells[item], g.address(arm, item)
    return tuple(
        FramingView(
            name, framing.about, f"framing-{place}", LANGUAGE_TAGS.get(framing.language, ""),
            g.suite.shown(item, name, "ab"),
            tuple(
                cell_view(g, cells[name, order], f"{address}-{place}{order}")
                if (name, order) in cells else None
                for order in ORDERS
            ),
        )
        for place, (name, framing) in enumerate(g.suite.framings.items(), 1)
    )


def cell_view(g: Gathered, observation: Observation[Choice], address: str) -> CellView:
    choice, framing = observation.value, observation.trial.condition["framing"]
    reading = choice.readings[g.reader]
    return CellView(
        address, marked(choice.text, reading.span), _silent(choice, reading),
        tag(choice.text, g.suite.framings[framing].language), left_out(choice.text),
        readings_of(g, observation),
    )


def readings_of(g: Gathered, observation: Observation[Choice]) -> tuple[Said, ...]:
    """Each reader's reading, the primary reader's first."""
    readings = observation.value.readings
    names = sorted(readings, key=lambda name: name != g.reader)
    return tuple(
        Said(name, side(g.suite, observation, name), said(read(observation, name)),
             readings[name].rule, _detail(readings[name]))
        for name in names
    )


def _silent(choice: Choice, reading: Reading[str]) -> str:
    """What stands where a reply would, if there is none."""
    if choice.text:
        return ""
    if reading.rule != NO_REPLY:
        return "The reply held no text."
    return "This cell was not asked." if _kind(reading) == "not asked" else "No reply came."


def _kind(reading: Reading[str]) -> str:
    return reading.value.kind if isinstance(reading.value, Nonresponse) else ""


def _detail(reading: Reading[str]) -> str:
    return reading.value.detail if isinstance(reading.value, Nonresponse) else ""


def with_replies(g: Gathered) -> frozenset[tuple[str, str]]:
    """Which pairs of which arms (by their keys) bring their replies onto the page.

    All of them in a small suite. In a large one the first pairs of each fate in each arm, and
    the first pairs in which the readers differ; in either, as many as there is room for.
    """
    lines = sum(map(len, g.lines.values()))
    rows = len(g.arms) * len(g.suite.framings) * rows_a_framing(g)
    room = PAGE - lines * LINE - rows * ROW - DIFFERENCES
    chosen = set()
    for arm, item in _wanted(g):
        room -= _takes(arm, item)
        if room < 0:
            break
        chosen.add((arm.key, item))
    return frozenset(chosen)


def _wanted(g: Gathered) -> list[tuple[Arm, str]]:
    if not g.large:
        return [(arm, item) for item in g.suite.pairs for arm in g.arms if g.address(arm, item)]
    wanted = [(arm, item) for arm in g.arms for items in arm.fates.values()
              for item in items[:FIRST_OF_FATE]]
    by_name = {arm.name: arm for arm in g.arms}
    differing = _unique((by_name[name_of(d.trial)], d.trial.item) for d in g.findings.differences)
    shown = [(arm, item) for arm, item in differing if g.address(arm, item)]
    return _unique([*wanted, *shown[:FIRST_OF_DIFFERENCES]])


def _unique(pairs: Iterable[tuple[Arm, str]]) -> list[tuple[Arm, str]]:
    return list({(arm.key, item): (arm, item) for arm, item in pairs}.values())


def _takes(arm: Arm, item: str) -> int:
    """Bytes of HTML a pair's replies take, at most: a hidden character takes fifty."""
    return sum(CELL + heft(o.value.text) for o in arm.cells[item].values())


def heft(text: str) -> int:
    """Bytes of HTML that a reply takes at most."""
    return sum(1 if " " <= c < "\x7f" and c not in "<>&\"'" else 5 if c in "<>&\"'\n" else
               4 if c.isprintable() else 50 for c in text[:LONGEST])
