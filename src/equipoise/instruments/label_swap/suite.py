"""The decisions, the label pairs and what a subject is shown, checked before anything is asked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any

from equipoise.stimuli import Stimuli, misfit, render, slots
from equipoise.terms import Misuse, Trial

SHIPPED = Path(__file__).parent / "stimuli"
STANDARD = "standard"
SLOTS = frozenset(("first_label", "first", "second_label", "second", "asked"))
WORDING, ASKED, ALPHABET = "wording", "asked", "alphabet"
FACTORS = (WORDING, ASKED, ALPHABET)
"""What a study can vary beside the labels, the descriptions and their order."""

IDENTICAL, MATCHED = "identical", "matched"
RESERVED = '~/"$\\'


@dataclass(frozen=True)
class Decision:
    """A forced choice: two descriptions, one for both in the identical condition, and wordings."""

    name: str
    about: str
    x: str
    y: str
    same: str
    wordings: Mapping[str, str]


@dataclass(frozen=True)
class Pair:
    """Two labels of one kind, in the alphabet's order."""

    kind: str
    labels: tuple[str, str]

    @property
    def name(self) -> str:
        return "~".join(self.labels)


@dataclass(frozen=True, slots=True)
class Shown:
    """What one prompt shows: both options in the order listed, and the one the question names.

    `described` is the description listed first, `x` or `y`, or `same` for both; `label` the
    label listed first, `1` or `2` of its pair; `asked` the option named, `first` or `second`.
    """

    decision: str
    content: str
    wording: str
    pair: str
    asked: str
    described: str
    label: str


def shown_in(trial: Trial) -> Shown:
    """What a trial's subject is shown."""
    _, *levels = trial.condition.values()
    return Shown(trial.item, *levels)


@dataclass(frozen=True)
class Suite:
    """Decisions and pairs by name, in the order asked, and what the study varies."""

    name: str
    stamp: str
    decisions: Mapping[str, Decision]
    pairs: Mapping[str, Pair]
    varied: tuple[str, ...]

    def wordings(self, decision: str) -> tuple[str, ...]:
        """The wordings a decision is asked in: its first, or all where wording is varied."""
        found = tuple(self.decisions[decision].wordings)
        return found if WORDING in self.varied else found[:1]

    @property
    def asked(self) -> tuple[str, ...]:
        """Which of the listed options the question names."""
        return ("first", "second") if ASKED in self.varied else ("first",)

    def cells(self) -> Iterator[Shown]:
        """Everything that is shown, once."""
        for decision in self.decisions:
            for content, described in ((IDENTICAL, ("same",)), (MATCHED, ("x", "y"))):
                for wording in self.wordings(decision):
                    for pair in self.pairs:
                        for asked in self.asked:
                            for first in described:
                                for label in ("1", "2"):
                                    yield Shown(decision, content, wording, pair, asked, first,
                                                label)

    def prompt(self, shown: Shown) -> str:
        """What a subject reads."""
        decision, (one, two) = self.decisions[shown.decision], self.pairs[shown.pair].labels
        first, second = (one, two) if shown.label == "1" else (two, one)
        x, y, same = decision.x, decision.y, decision.same
        listed = {"x": (x, y), "y": (y, x), "same": (same, same)}[shown.described]
        return render(
            decision.wordings[shown.wording],
            first_label=first, first=listed[0], second_label=second, second=listed[1],
            asked=first if shown.asked == "first" else second,
        )


def suite(
    stimuli: Stimuli, name: str, varied: Sequence[str] = (), only: Sequence[str] = ()
) -> Suite:
    """The suite a folder of stimuli holds; `only` names the decisions to ask, else all.

    Raises Misuse that says what was found where: a missing or spare slot, labels that read
    alike, a decision or factor there is not.
    """
    if unknown := [factor for factor in varied if factor not in FACTORS]:
        raise Misuse(f"No factor {unknown[0]!r}: a study can vary {', '.join(FACTORS)}.")
    if len(set(varied)) < len(varied):
        raise Misuse(f"A factor is named twice in {','.join(varied)}. Name each once.")
    found: Any = stimuli.files.get("decisions")
    if not isinstance(found, dict) or not found:
        raise Misuse("decisions.toml is missing or empty: it holds the decisions.")
    decisions = {key: _decision(key, said) for key, said in found.items()}
    for key in only:
        if key not in decisions:
            near = get_close_matches(key, decisions, 1)
            raise Misuse(f"No decision {key!r}."
                         + (f" Did you mean {near[0]!r}?" if near else "")
                         + f" There are: {', '.join(decisions)}.")
    kept = {key: decision for key, decision in decisions.items() if not only or key in only}
    pairs = _pairs(stimuli.files.get("labels") or {}, ALPHABET in varied)
    ordered = tuple(factor for factor in FACTORS if factor in varied)
    made = Suite(name, stimuli.stamp, kept, pairs, ordered)
    if WORDING in varied and all(len(made.wordings(key)) < 2 for key in kept):
        raise Misuse("decisions.toml holds one wording of every decision, so wording cannot be"
                     " varied. Add another under [decision.wordings].")
    return made


def _decision(name: str, said: object) -> Decision:
    wanted = frozenset(("about", "x", "y", "same", "wordings"))
    if any(c in name for c in RESERVED):
        raise Misuse(f"decisions.toml: the name {name!r} holds one of ~ / \" $ \\, which mean"
                     " something in a cell's name.")
    if not isinstance(said, dict) or wanted != said.keys():
        have = said.keys() if isinstance(said, dict) else ()
        raise Misuse(f"decisions.toml: [{name}] does not fit: {misfit(wanted, have)}.")
    wordings = said["wordings"]
    texts = [said[part] for part in ("about", "x", "y", "same")]
    if not isinstance(wordings, dict) or not wordings or not all(
        isinstance(text, str) and text.strip() for text in (*texts, *wordings.values())
    ):
        raise Misuse(f"decisions.toml: [{name}] needs texts, and at least one under"
                     f" [{name}.wordings].")
    if said["x"].strip() == said["y"].strip():
        raise Misuse(f"decisions.toml: x and y of [{name}] are the same text; the matched"
                     " condition needs two that differ.")
    for wording, text in wordings.items():
        if any(c in wording for c in RESERVED) or slots(text) != SLOTS:
            raise Misuse(f"decisions.toml: the wording {wording!r} of [{name}] does not fit:"
                         f" {misfit(SLOTS, slots(text)) or 'its name'}; it needs"
                         f" {', '.join('$' + slot for slot in sorted(SLOTS))}.")
    about, x, y, same = (text.strip() for text in texts)
    return Decision(name, about, x, y, same,
                    {wording: text.strip("\n") for wording, text in wordings.items()})


def _pairs(found: object, trios: bool) -> dict[str, Pair]:
    """The pairs of every kind: one, or with a third label the three of a trio."""
    if not isinstance(found, dict) or not found:
        raise Misuse("labels.toml is missing or empty: it holds the pairs of labels.")
    kinds = {kind: _kind(kind, said, trios) for kind, said in found.items()}
    every = [(label, kind) for kind, labels in kinds.items() for label in labels]
    for (one, mine), (other, theirs) in combinations(every, 2):
        if fold(one) in fold(other) or fold(other) in fold(one):
            raise Misuse(f"labels.toml: one of {one!r} ([{mine}]) and {other!r} ([{theirs}]) is a"
                         " part of the other.")
    pairs = [Pair(kind, pair) for kind, labels in kinds.items() for pair in combinations(labels, 2)]
    return {pair.name: pair for pair in pairs}


def _kind(kind: str, said: object, trios: bool) -> list[str]:
    """The labels of a kind that a study asks: two, or with a third the three of a trio."""
    labels = said.get("labels") if isinstance(said, dict) else None
    third = said.get("third") if isinstance(said, dict) else None
    spare = set(said) - {"about", "labels", "third"} if isinstance(said, dict) else set()
    if spare or not isinstance(labels, list) or len(labels) != 2:
        raise Misuse(f'labels.toml: [{kind}] needs labels = ["…", "…"]'
                     + (f"; spare {', '.join(sorted(spare))}." if spare else ", two of them."))
    if trios and third is None:
        raise Misuse(f"labels.toml: [{kind}] has no third label, which the factor {ALPHABET!r}"
                     " needs: three labels make three pairs, so that an order in the alphabet"
                     " can be told from a liking for a label.")
    chosen = [*labels, third] if third is not None else labels
    for label in chosen:
        if not isinstance(label, str) or not label.strip() or any(c in label for c in RESERVED):
            raise Misuse(f"labels.toml: [{kind}] has the label {label!r}; wanted a text without"
                         ' ~ / " $ \\.')
    if sorted(chosen, key=fold) != chosen:
        raise Misuse(f"labels.toml: the labels of [{kind}] are not in the alphabet's order:"
                     f" wanted {', '.join(sorted(chosen, key=fold))}. The sign of a lean is"
                     " toward the first of its pair, so all pairs are ordered alike.")
    return chosen if trios else labels


def fold(label: str) -> str:
    """A label as the alphabet sorts it: no case, no accents.

    >>> fold("Émile") < fold("Ted")
    True
    """
    plain = unicodedata.normalize("NFKD", label).casefold()
    return "".join(c for c in plain if not unicodedata.combining(c))
