"""Labelled moments: what people said of a message and of the page after it, split once.

Readers are scored against these. A moment's split is drawn from its name, so it never changes
as moments are added: 15% few-shot, 40% dev, 45% frozen test, which nothing is tuned on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

from equipoise.gold import Rating
from equipoise.instruments.replay.page import Page
from equipoise.instruments.replay.suite import LANGUAGES, Bias, page_of
from equipoise.stimuli import Stimuli
from equipoise.terms import Misuse

Split = Literal["few-shot", "dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
UP_TO: Mapping[Split, float] = {"few-shot": 0.15, "dev": 0.55, "test": 1.0}
LABELS: Mapping[str, bool] = {"yes": True, "no": False}
SEATS = ("seat-2", "seat-3")


@dataclass(frozen=True)
class Labelled:
    """A moment with its labels: the biases present, and each shown debias with its line.

    `engine` is full, or weaker where the page is a deliberately weaker engine's; `reason` says
    why a debias that is present, or nearly there, does not count.
    """

    key: str
    language: str
    question: str
    before: Page
    said: str
    after: Page
    engine: str
    present: tuple[str, ...]
    shown: Mapping[str, int]
    reason: Mapping[str, str]

    @property
    def split(self) -> Split:
        return split_of(self.key)


def split_of(key: str) -> Split:
    """The split of an item, from the first 8 hex digits of its name's SHA-256.

    >>> [split_of(name) for name in ("a", "c", "d")]
    ['test', 'dev', 'few-shot']
    """
    at = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2 ** 32
    return next(split for split in SPLITS if at < UP_TO[split])


def labelled(stimuli: Stimuli, biases: Mapping[str, Bias]) -> dict[str, Labelled]:
    """The labelled moments of a folder; raises Misuse that says what was found where."""
    found: Mapping[str, Any] = stimuli.files.get("moments") or {}
    if not found:
        raise Misuse("moments.toml is missing or empty: it holds the labelled moments.")
    return {key: _labelled(key, said, biases) for key, said in found.items()}


def _labelled(key: str, said: Any, biases: Mapping[str, Bias]) -> Labelled:
    where = f"moments.toml: [{key}]"
    for part in ("question", "said"):
        if not isinstance(said.get(part), str) or not said[part].strip():
            raise Misuse(f"{where} has no {part}.")
    if said.get("language") not in LANGUAGES:
        raise Misuse(f"{where} has the language {said.get('language')!r}, wanted"
                     f" {' or '.join(LANGUAGES)}.")
    stake = str(said.get("at_stake", ""))
    before = page_of(where, said.get("page") or (), stake)
    after = page_of(where, said.get("after") or (), str(said.get("at_stake_after", stake)))
    shown, reason = dict(said.get("shown") or {}), dict(said.get("reason") or {})
    named = {*said.get("present", ()), *shown, *reason}
    if strange := sorted(named - set(biases)):
        raise Misuse(f"{where} names the bias {strange[0]!r}, which biases.toml does not define.")
    if gone := [bias for bias, line in shown.items() if not after.holds(line)]:
        raise Misuse(f"{where} has {gone[0]} on a line that is not on the page.")
    return Labelled(key, said["language"], said["question"], before, said["said"], after,
                    said.get("engine", "full"), tuple(said.get("present", ())), shown, reason)


def ratings(stimuli: Stimuli, biases: Mapping[str, Bias], task: str) -> list[Rating]:
    """The blind ratings of one task, each an item of moment and bias; none where there are none.

    They count as given under the words that the definitions have now; see `equipoise gold`.
    """
    rows: Iterable[Mapping[str, str]] = stimuli.files.get("ratings") or ()
    return [Rating(f"{row['moment']}/{row['bias']}", row["rater"],
                   row["label"] if row["label"] in LABELS else None, biases[row["bias"]].stamp)
            for row in rows if row["task"] == task and row["bias"] in biases]


def overlap(found: Iterable[Rating]) -> dict[tuple[bool, bool], int]:
    """How two people labelled the items both of them labelled: counts by (one, other).

    They are the second and third seat, or, where nobody sits there, the two raters with the most
    items in common.
    """
    by_rater: dict[str, dict[str, bool]] = {}
    for rating in found:
        if rating.label is not None:
            by_rater.setdefault(rating.rater, {})[rating.item] = LABELS[rating.label]
    pairs = [SEATS] if by_rater.keys() >= set(SEATS) else list(combinations(sorted(by_rater), 2))
    if not pairs:
        return {}
    one, other = max(((by_rater[a], by_rater[b]) for a, b in pairs),
                     key=lambda two: len(two[0].keys() & two[1].keys()))
    return dict(Counter((one[item], other[item]) for item in one.keys() & other.keys()))
