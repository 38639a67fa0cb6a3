"""Items x factors -> trials, and the order in which they are taken."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from equipoise.terms import Subject, Trial


def cross(
    instrument: str,
    subject: Subject,
    items: Iterable[str],
    factors: Mapping[str, Sequence[str]],
    draws: int = 1,
) -> list[Trial]:
    """Every item in every combination of levels, `draws` times over; items vary slowest.

    >>> subject = Subject("s", "m", "f", "planted")
    >>> [t.key for t in cross("i", subject, ["cat~dog"], {"order": ["ab", "ba"]})]
    ['s/cat~dog/ab/1', 's/cat~dog/ba/1']
    """
    names = tuple(factors)
    conditions = [dict(zip(names, levels, strict=True)) for levels in product(*factors.values())]
    return [
        Trial(instrument, subject, item, condition, draw)
        for item in items
        for condition in conditions
        for draw in range(1, draws + 1)
    ]


def grouped(trials: Iterable[Trial], *factors: str) -> list[Trial]:
    """The trials sorted so that those alike in `factors` follow each other, else as they were.

    A local engine keeps the beginning of its last prompt: trials of one framing in a row share it.
    """
    rank: dict[tuple[str, ...], int] = {}
    keyed = []
    for trial in trials:
        levels = tuple(trial.condition[f] for f in factors)
        keyed.append((rank.setdefault(levels, len(rank)), trial))
    return [trial for _, trial in sorted(keyed, key=lambda pair: pair[0])]


def in_random_order(trials: Iterable[Trial], seed: int) -> list[Trial]:
    """The trials shuffled, the same way for the same seed."""
    shuffled = list(trials)
    random.Random(seed).shuffle(shuffled)
    return shuffled
