"""Numbers as people read them; rounded once, here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from equipoise.stats.paired import Paired
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate

UNDEFINED = {
    "no_data": "no data", "one_class": "one class", "too_few_units": "too few",
    "incomplete": "incomplete", "no_overlap": "no overlap", "unit_count_one": "one unit",
    "tied": "tied", "no_majority": "no majority", "contested": "contested",
    "uninformative": "no better than chance",
}
UNBROKEN = re.compile(r"(?<=\bp) (?=[.\d])|(?<=[\d%]) (?=\[[−+\d])|(?<=\d,) (?=[−+\d.]+\])")
"""The spaces within a p or an interval."""
EXPONENT = re.compile(r"(?<=\d)e-(?=\d)")
"""A power of ten, whose hyphen would be a place to break a line."""


def percent(value: float | Undefined, digits: int = 0) -> str:
    """A proportion in percent, or why there is none.

    >>> percent(0.125, 1), percent(Undefined("no_data"))
    ('12.5%', 'no data')
    """
    if isinstance(value, Undefined):
        return UNDEFINED[value.reason]
    return f"{100 * value:.{digits}f}%"


def number(value: float | Undefined, digits: int = 2, *, signed: bool = False) -> str:
    """A number, or why there is none; no zero carries a minus.

    >>> number(0.6128), number(1.35, 1, signed=True), number(-0.01, 1, signed=True)
    ('0.61', '+1.4', '0.0')
    """
    if isinstance(value, Undefined):
        return UNDEFINED[value.reason]
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", "−")


def p_value(found: object) -> str:
    """A p, given bare or as what has one, to two figures; or why there is none.

    >>> p_value(0.0321), p_value(0.3), p_value(1.2e-11), p_value(1.0)
    ('.032', '.30', '1.2e-11', '1')
    """
    value = getattr(found, "p", found)
    if isinstance(value, Undefined):
        return UNDEFINED[value.reason]
    if not isinstance(value, float | int):
        raise TypeError(f"{found!r} has no p")
    if value >= 0.995:
        return "1"
    if value < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-") if value else "0"
    return f"{value:.{2 if value >= 0.0995 else 3 if value >= 0.00995 else 4}f}"[1:]


def share(found: Rate) -> str:
    """A rate with its count and its interval.

    >>> from equipoise.stats.wilson import rate
    >>> share(rate(3, 12))
    '3 of 12 · 25% [9, 53]'
    """
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return f"{found.count} of {found.n} · {percent(found.estimate)}"
    return (f"{found.count:,} of {found.n:,} · {percent(found.estimate)}"
            f" [{100 * found.low:.0f}, {100 * found.high:.0f}]")


def counted(kinds: dict[str, int]) -> str:
    """Counts by kind, largest first.

    >>> counted({"refused": 1, "unclear": 3})
    '3 unclear, 1 refused'
    """
    ranked = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    return ", ".join(f"{n:,} {kind}" for kind, n in ranked) or "none"


def spelled(n: int) -> str:
    """A count as running text has it.

    >>> spelled(12), spelled(3276)
    ('twelve', '3,276')
    """
    names = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
             "eleven", "twelve")
    return names[n] if 0 <= n < len(names) else f"{n:,}"


def listed(parts: Iterable[str]) -> str:
    """Parts of a sentence as one.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def of(found: Rate) -> str:
    """A rate's count and its n.

    >>> from equipoise.stats.wilson import rate
    >>> of(rate(3, 16))
    '3 of 16'
    """
    return f"{found.count:,} of {found.n:,}"


def bounds(found: Rate) -> str:
    """A rate in percent with its interval, or why there is none.

    >>> from equipoise.stats.wilson import rate
    >>> bounds(rate(3, 16))
    '19% [7, 43]'
    """
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return percent(found.estimate)
    return f"{percent(found.estimate)} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def interval(found: Interval, digits: int = 1) -> str:
    """A mean in points with its interval, or why there is none.

    >>> from equipoise.stats.t_interval import t_interval
    >>> interval(t_interval([18, 3.15, 3.15]))
    '+8.1 [−13.2, +29.4]'
    """
    mean = number(found.mean, digits, signed=True)
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return mean
    return (f"{mean} [{number(found.low, digits, signed=True)},"
            f" {number(found.high, digits, signed=True)}]")


def net(found: Paired) -> str:
    """A paired difference in points with its interval, or why there is none.

    >>> from equipoise.stats.paired import paired
    >>> net(paired(0, 5, 0, 19)), net(paired(0, 0, 0, 0))
    ('+21 [+4, +40]', 'no data')
    """
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return number(found.difference)
    value, low, high = (number(100 * x, 0, signed=True) for x in (
        found.difference, found.low, found.high) if not isinstance(x, Undefined))
    return f"{value} [{low}, {high}]"


def plural(n: int, noun: str) -> str:
    """A count with its noun, as running text has it.

    >>> plural(1, "debate"), plural(24, "debate")
    ('one debate', '24 debates')
    """
    return f"{spelled(n)} {noun}{'' if n == 1 else 's'}"


def capital(clause: str) -> str:
    """A clause with its first letter large."""
    return clause[:1].upper() + clause[1:]


def unbroken(sentence: str) -> str:
    """A sentence in which no line ends within a p or an interval.

    >>> unbroken("a p .05 of +8.0 [+7.2, +8.8]").count("\u00a0")
    3
    """
    return EXPONENT.sub("e−", UNBROKEN.sub("\u00a0", sentence))


def when(micros: int) -> str:
    """A moment, from microseconds since 1970, in UTC.

    >>> when(1_764_460_800_000_000)
    '30 November 2025, 00:00 UTC'
    """
    at = datetime.fromtimestamp(micros // 1_000_000, UTC)
    months = ("January", "February", "March", "April", "May", "June", "July", "August",
              "September", "October", "November", "December")
    return f"{at.day} {months[at.month - 1]} {at.year}, {at:%H:%M} UTC"
