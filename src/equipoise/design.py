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
    *,
    together: int = 0,
) -> list[Trial]:
    """Every item in every combination of levels, `draws` times over.

    Items vary slowest, but for the first `together` factors: trials alike in those follow each
    other, so that a local engine, which keeps the beginning of its last prompt, can share it.

    >>> subject = Subject("s", "m", "f", "planted")
    >>> [t.key for t in cross("i", subject, ["cat~dog"], {"order": ["ab", "ba"]})]
    ['s/cat~dog/ab/1', 's/cat~dog/ba/1']
    >>> both = cross("i", subject, ["x", "y"], {"f": "pq", "o": "12"}, together=1)
    >>> [(t.condition["f"], t.item, t.condition["o"]) for t in both][:4]
    [('p', 'x', '1'), ('p', 'x', '2'), ('p', 'y', '1'), ('p', 'y', '2')]
    """
    names, levels = tuple(factors), list(factors.values())
    inner = list(product(*levels[together:]))
    listed = list(items)
    trials: list[Trial] = []
    for outer in product(*levels[:together]):
        conditions = [dict(zip(names, outer + rest, strict=True)) for rest in inner]
        trials += [
            Trial(instrument, subject, item, condition, draw)
            for item in listed
            for condition in conditions
            for draw in range(1, draws + 1)
        ]
    return trials


def in_random_order(trials: Iterable[Trial], seed: int) -> list[Trial]:
    """The trials shuffled, the same way for the same seed."""
    shuffled = list(trials)
    random.Random(seed).shuffle(shuffled)
    return shuffled
