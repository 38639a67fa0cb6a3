"""What one pair left behind: a word that every cell agreed on, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

from equipoise.stats.undefined import Undefined
from equipoise.terms import Nonresponse

Cell = str | Nonresponse
UNCLEAR = Nonresponse("unclear", "the cells do not all agree")


@dataclass(frozen=True, slots=True)
class Slot:
    """A pair's place in a fingerprint.

    `picks` counts the cells that named each word, `lost` the others by kind; `sharpness` is the
    winner's share of the cells that picked.
    """

    committed: str | Nonresponse
    winner: str | Undefined
    sharpness: float | Undefined
    picks: Mapping[str, int]
    lost: Mapping[str, int]

    @property
    def picked(self) -> int:
        return sum(self.picks.values())


def slot(cells: Sequence[Cell], words: tuple[str, str], wanted: int = 12) -> Slot:
    """Unanimity or nothing: a word is committed only if exactly `wanted` cells all named it.

    Twelve equal refusals are not a committed word; an incomplete grid cannot commit. The winner
    is undefined on a tie. Source: seed definition, golden pair_commit.

    >>> nine = ["whiskey"] * 9 + ["vodka"] + [Nonresponse("refused"), Nonresponse("unclear")]
    >>> found = slot(nine, ("vodka", "whiskey"))
    >>> found.committed.kind, found.sharpness, found.picked
    ('unclear', 0.9, 10)
    """
    picks = dict.fromkeys(words, 0)
    lost: Counter[str] = Counter()
    for cell in cells:
        if isinstance(cell, Nonresponse):
            lost[cell.kind] += 1
        else:
            picks[cell] += 1
    a, b = (picks[word] for word in words)
    most = max(a, b)
    tied: str | Undefined = Undefined("no_data" if most == 0 else "tied")
    if a != b:
        tied = words[0] if a > b else words[1]
    whole = len(cells) == wanted == most
    return Slot(
        tied if whole and isinstance(tied, str) else UNCLEAR,
        tied,
        most / (a + b) if most else Undefined("no_data"),
        picks, dict(lost),
    )


@lru_cache(maxsize=64)
def coin_floor(picked: int) -> float | Undefined:
    """The mean sharpness of coin flips: E max(X, n - X) / n for X ~ Bin(n, 1/2).

    >>> [round(coin_floor(n), 2) for n in (12, 10, 3)]
    [0.61, 0.62, 0.75]
    """
    if picked == 0:
        return Undefined("no_data")
    flips = sum(comb(picked, k) * max(k, picked - k) for k in range(picked + 1))
    return float(flips) / (1 << picked) / picked


def false_commits(pairs: int, cells: int = 12) -> float:
    """How many pairs coin flips would commit: pairs x 2 / 2^cells.

    >>> round(false_commits(3048), 2)
    1.49
    """
    return pairs * 2 / (1 << cells)
