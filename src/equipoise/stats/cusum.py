"""A running check that says soon when errors have become more frequent, and seldom when not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

import numpy as np

from equipoise.stats.undefined import Undefined

MOST = 1_000


@dataclass(frozen=True, slots=True)
class CusumPlan:
    """An error adds `weight` - 1 to the sum, any other item takes 1 off, never below 0.

    The alarm is at `limit`. `false_alarm` is the chance of one within the `items` planned for,
    when errors are as rare as they should be.
    """

    weight: int
    limit: int
    items: int
    false_alarm: float


def cusum_plan(
    good: float, bad: float, items: int, most_false_alarms: float = 0.05
) -> CusumPlan | Undefined:
    """The quickest Bernoulli CUSUM whose false alarms are no more frequent than stated.

    `good` and `bad` are error rates, 0 to 1: the one that is accepted, and the one to be found
    soon. After Reynolds & Stoumbos (1999), the weight is the whole number nearest to the one that
    tells the two rates apart best; the limit is the least that keeps the chance of an alarm within
    `items` at the good rate to the one stated. Undefined where no limit up to 1,000 does. Raises
    ValueError unless 0 < good < bad < 1.

    >>> found = cusum_plan(good=0.10, bad=0.30, items=140)
    >>> found.weight, found.false_alarm <= 0.05
    (5, True)
    """
    if not 0 < good < bad < 1:
        raise ValueError(f"no check of an error rate of {good} against {bad}")
    odds = log(bad * (1 - good) / (good * (1 - bad)))
    weight = max(2, round(odds / log((1 - good) / (1 - bad))))

    def is_rare(limit: int) -> bool:
        return alarm(weight, limit, good, items) <= most_false_alarms

    limits = range(1, MOST + 1)
    at = bisect_left(limits, True, key=is_rare)
    if at == len(limits):
        return Undefined("uninformative")
    return CusumPlan(weight, limits[at], items, alarm(weight, limits[at], good, items))


def alarm(weight: int, limit: int, error_rate: float, items: int) -> float:
    """The chance of an alarm within so many items, by going through every sum that can be.

    >>> alarm(weight=2, limit=2, error_rate=0.5, items=2)  # two errors in a row
    0.25
    """
    chance = np.zeros(limit)
    chance[0] = 1.0
    for _ in range(items):
        later = np.zeros(limit)
        later[:-1] = chance[1:]
        later[0] += chance[0]
        later *= 1 - error_rate
        later[weight - 1:] += error_rate * chance[: max(0, limit - weight + 1)]
        chance = later
    return float(1 - chance.sum())


@dataclass(frozen=True, slots=True)
class Cusum:
    """The sum after each item, and the item, counted from 1, at which the alarm was given."""

    sums: tuple[int, ...]
    alarm_at: int | None


def cusum(errors: Iterable[bool], by: CusumPlan) -> Cusum:
    """The sums over items in the order they came, true for an error; the alarm stays given.

    >>> cusum([True, False, True, True], CusumPlan(weight=3, limit=5, items=4, false_alarm=0.1))
    Cusum(sums=(2, 1, 3, 5), alarm_at=4)
    """
    sums: list[int] = []
    total, alarm_at = 0, None
    for item, error in enumerate(errors, 1):
        total = max(0, total + (by.weight - 1 if error else -1))
        sums.append(total)
        if alarm_at is None and total >= by.limit:
            alarm_at = item
    return Cusum(tuple(sums), alarm_at)
