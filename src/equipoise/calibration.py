"""When may a reader's readings be counted, and until when?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

from equipoise.stats.confusion import Confusion, confusion
from equipoise.stats.sign_test import binomial
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate, rate
from equipoise.terms import Nonresponse

BAR, SLACK = Fraction(85, 100), Fraction(10, 100)
PER_CLASS, WINDOW = 40, 40
Gate = Literal["estimate", "lower bound"]
Reason = Literal[
    "below_bar", "below_human_ceiling", "human_ceiling_missing", "too_few_per_class"
]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A reader against gold on a frozen split: decided items, and those it could not decide."""

    decided: Confusion
    unknown: int = 0


def calibrate(pairs: Iterable[tuple[bool, bool | Nonresponse]]) -> Calibration:
    """From pairs of gold and the reader's reading; what it could not read is unknown.

    >>> calibrate([(True, True), (False, True), (True, Nonresponse("unclear"))]).unknown
    1
    """
    pairs = list(pairs)
    decided = [(gold, said) for gold, said in pairs if not isinstance(said, Nonresponse)]
    return Calibration(confusion(decided), len(pairs) - len(decided))


@dataclass(frozen=True, slots=True)
class Trust:
    """A reader's rates on decided items, and whether they reach the bar.

    `least` is the lower of both rates, undefined where a class is empty. `human` is how often two
    people agreed. `chance_above` is the probability that both true rates are above the bar, the
    rates being independent and every value as likely before: it is shown and decides nothing.
    """

    sensitivity: Rate
    specificity: Rate
    least: float | Undefined
    unknown: Rate
    human: Rate
    gate: Gate
    trusted: bool
    reasons: tuple[Reason, ...]
    chance_above: float | Undefined


def trust(found: Calibration, human: Rate, gate: Gate = "estimate") -> Trust:
    """Trusted: 40 decided items or more of each class, both rates .85 or more, near enough people.

    Near enough is no more than .10 below the agreement of two people, which must be known. With
    `gate` "lower bound" it is the lower Wilson limits that must reach .85, which takes 39 of 40;
    by the estimate a reader whose true rates are .80 passes 8 times in 100. Fractions are compared
    as fractions.

    >>> at_the_bar = Calibration(Confusion(34, 6, 34, 6))
    >>> trust(at_the_bar, rate(36, 40)).trusted, trust(at_the_bar, rate(39, 40)).reasons
    (True, ('below_human_ceiling',))
    """
    rates = found.decided.sensitivity, found.decided.specificity
    every = found.decided.n + found.unknown
    reasons = tuple(sorted(_reasons(rates, human, gate)))
    least = [each.estimate for each in rates if not isinstance(each.estimate, Undefined)]
    above = [_chance_above(each) for each in rates if each.n]
    none = Undefined("one_class" if found.decided.n else "no_data")
    return Trust(
        *rates, min(least) if len(least) == 2 else none, rate(found.unknown, every), human, gate,
        not reasons, reasons, above[0] * above[1] if len(above) == 2 else none,
    )


def _reasons(rates: Sequence[Rate], human: Rate, gate: Gate) -> Iterable[Reason]:
    shares = [Fraction(each.count, each.n) for each in rates if each.n]
    if any(each.n < PER_CLASS for each in rates):
        yield "too_few_per_class"
    if any(each.n and not _reaches(each, gate) for each in rates):
        yield "below_bar"
    if human.n == 0:
        yield "human_ceiling_missing"
    elif len(shares) == 2 and min(shares) < Fraction(human.count, human.n) - SLACK:
        yield "below_human_ceiling"


def _reaches(found: Rate, gate: Gate) -> bool:
    if gate == "estimate":
        return found.count >= BAR * found.n
    return not isinstance(found.low, Undefined) and found.low >= BAR


def _chance_above(found: Rate) -> float:
    """P(p > bar), p ~ Beta(k + 1, n - k + 1): as likely as k or fewer of n + 1 at the bar."""
    bar = float(BAR)
    return min(1.0, sum(binomial(found.n + 1, k, bar) for k in range(found.count + 1)))


def chance_trusted(
    sensitivity: float, specificity: float, positives: int, negatives: int,
    gate: Gate = "estimate",
) -> float:
    """How often a reader of these true rates reaches the bar on so many items of each class.

    The operating characteristic of the bar itself; the human ceiling is another matter. 0 where
    a class has fewer than 40 items.

    >>> round(chance_trusted(0.85, 0.85, 40, 40), 2), round(chance_trusted(0.95, 0.95, 40, 40), 2)
    (0.37, 0.99)
    """
    if min(positives, negatives) < PER_CLASS:
        return 0.0
    return _chance_reaching(sensitivity, positives, gate) * _chance_reaching(
        specificity, negatives, gate)


def _chance_reaching(true_rate: float, n: int, gate: Gate) -> float:
    return sum(binomial(n, k, true_rate) for k in range(n + 1) if _reaches(rate(k, n), gate))


def human_ceiling(table: Mapping[tuple[bool, bool], int]) -> float | Undefined:
    """Two people as a reader is measured: each against the other, the lower rate, averaged.

    `table` counts the pairs of their labels. Percent agreement is another measure: where one
    class is rare a reader as good as a person would fall short of it. Undefined where either
    never used a class.

    >>> human_ceiling({(True, True): 8, (True, False): 2, (False, True): 0, (False, False): 30})
    0.86875
    """
    both, neither = table.get((True, True), 0), table.get((False, False), 0)
    one, other = table.get((True, False), 0), table.get((False, True), 0)
    used = both + one, neither + other, both + other, neither + one
    if not all(used):
        return Undefined("one_class" if any(used) else "no_data")
    by_first = min(Fraction(both, both + one), Fraction(neither, neither + other))
    by_second = min(Fraction(both, both + other), Fraction(neither, neither + one))
    return float((by_first + by_second) / 2)


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """The rolling agreement after each item, and the item after which trust was lost.

    A figure is undefined until the window is full. `flipped_at` counts items from 1; once lost,
    trust stays lost until the reader is validated again.
    """

    figures: tuple[float | Undefined, ...]
    flipped_at: int | None
    decided: int


def spot_check(
    agreed: Iterable[bool | Nonresponse], window: int = WINDOW, bar: Fraction = BAR
) -> SpotCheck:
    """The share of the last `window` decided items on which the reader agreed with a person.

    Unknown items are passed over. The badge flips where the share is below the bar, in whole
    numbers: 34 of 40 is not below .85. It errs both ways: a reader that is right nine times in
    ten flips within 140 items about every second time. Raises ValueError when the window is below
    1.

    >>> spot_check([True] * 33 + [False] * 7).flipped_at, spot_check([True] * 39).figures[-1]
    (40, Undefined(reason='too_few_units'))
    """
    if window < 1:
        raise ValueError(f"no window of {window} items")
    last: deque[bool] = deque(maxlen=window)
    figures: list[float | Undefined] = []
    flipped, decided = None, 0
    least = ceil(bar * window)
    for item, agrees in enumerate(agreed, 1):
        if not isinstance(agrees, Nonresponse):
            last.append(agrees)
            decided += 1
        count, full = sum(last), len(last) == window
        figures.append(count / window if full else Undefined("too_few_units"))
        if full and count < least and flipped is None:
            flipped = item
    return SpotCheck(tuple(figures), flipped, decided)
