"""The pairs of a suite and the framings they are asked in, checked before anything is asked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from equipoise.stimuli import Stimuli, misfit, render, slots
from equipoise.terms import Misuse

SHIPPED = Path(__file__).parent / "stimuli"
LANGUAGES = ("en", "fr", "zh")
SLOTS = frozenset(("first", "second"))
FULL = "full"


@dataclass(frozen=True)
class Framing:
    """One disguise of the choice: a prompt with `$first` and `$second`, in one language."""

    name: str
    language: str
    about: str
    prompt: str


@dataclass(frozen=True)
class Pair:
    """Two words of one category; `a` and `b` hold each word by language."""

    category: str
    a: Mapping[str, str]
    b: Mapping[str, str]

    @property
    def item(self) -> str:
        """The pair's name: its two English words in the lexicon's order."""
        return f"{self.a['en']}~{self.b['en']}"

    @property
    def words(self) -> tuple[str, str]:
        return self.a["en"], self.b["en"]

    def options(self, language: str) -> dict[str, list[str]]:
        """What each word may be called in a reply to a prompt in `language`, by English word.

        A reply to a Chinese prompt may name the word in English: no Chinese word reads as one.
        """
        extra = ("en",) if language == "zh" else ()
        return {
            word["en"]: list(dict.fromkeys(word[name] for name in (language, *extra)))
            for word in (self.a, self.b)
        }


@dataclass(frozen=True)
class Suite:
    """Pairs by item, framings by name, and the stamp of the stimuli they come from."""

    name: str
    stamp: str
    pairs: Mapping[str, Pair]
    framings: Mapping[str, Framing]

    def prompt(self, item: str, framing: str, order: str) -> str:
        """What a subject is shown: the pair in one framing, `ab` or `ba` round."""
        return self.worded(framing, self.shown(item, framing, order))

    def worded(self, framing: str, words: tuple[str, str]) -> str:
        """A framing with these two words in it, in this order."""
        return render(self.framings[framing].prompt, first=words[0], second=words[1])

    def shown(self, item: str, framing: str, order: str) -> tuple[str, str]:
        """The two words in the order shown, in the framing's language."""
        pair, language = self.pairs[item], self.framings[framing].language
        a, b = pair.a[language], pair.b[language]
        return (a, b) if order == "ab" else (b, a)


def suite(stimuli: Stimuli, name: str) -> Suite:
    """The suite of that name out of a folder of stimuli; `full` is every pair within a category.

    Raises Misuse that says what was found where: an unknown suite or pair, a missing or spare
    slot, a word that reads as another.
    """
    lexicon = _lexicon(stimuli)
    listed = stimuli.files.get("suites", {})
    if name != FULL and name not in listed:
        near = get_close_matches(name, [*listed, FULL], 1)
        raise Misuse(
            f"There is no suite {name!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
            + f" There are: {', '.join([*listed, FULL])}; or name a folder that holds one."
        )
    if FULL in listed:
        raise Misuse(f"suites.toml: [{FULL}] names every pair within a category already; call yours"
                     " otherwise.")
    everything = {pair.item: pair for pair in _within(lexicon)}
    said = listed.get(name)
    pairs = said.get("pairs") if isinstance(said, dict) else None
    chosen = everything if name == FULL else _listed(name, pairs, everything)
    if not chosen:
        raise Misuse(f"The suite {name!r} holds no pairs: a category needs at least two words.")
    return Suite(name, stimuli.stamp, chosen, _framings(stimuli))


def _lexicon(stimuli: Stimuli) -> list[Mapping[str, str]]:
    rows: list[Mapping[str, str]] = stimuli.files.get("lexicon") or []
    wanted = ("category", *LANGUAGES)
    if not rows or not set(wanted) <= rows[0].keys():
        raise Misuse(f"lexicon.csv is missing or lacks a column: wanted {', '.join(wanted)}.")
    for row in rows:
        if empty := [column for column in wanted if not row[column]]:
            raise Misuse(f"lexicon.csv, line {row['line']}: nothing under {', '.join(empty)}.")
        if any(c in row[language] for c in '~/"$\\' for language in LANGUAGES):
            raise Misuse(f"lexicon.csv, line {row['line']}: a word holds one of ~ / \" $ \\, which"
                         " mean something in prompts and in a pair's name.")
    _distinct(rows)
    return rows


def _distinct(rows: Sequence[Mapping[str, str]]) -> None:
    """No word may read as another: a reader looks for the words in free text."""
    for language in LANGUAGES:
        seen: dict[str, Mapping[str, str]] = {}
        by_category: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
        for row in rows:
            folded = fold(row[language])
            if folded in seen:
                raise Misuse(
                    f"lexicon.csv, line {row['line']}: {row[language]!r} reads as"
                    f" {seen[folded][language]!r} of line {seen[folded]['line']}. A word may stand"
                    " once in a lexicon."
                )
            seen[folded] = row
            by_category[row["category"]].append(row)
        for found in by_category.values():
            for one, other in _contained(found, language):
                raise Misuse(
                    f"lexicon.csv, lines {one['line']} and {other['line']}: one of"
                    f" {one[language]!r} and {other[language]!r} is a part of the other, so a"
                    " reply that names one may seem to name both."
                )


def fold(word: str) -> str:
    """A word as a reader compares it: no case, accents, spaces or punctuation, no plural s.

    >>> fold("Éclairs")
    'eclair'
    """
    plain = unicodedata.normalize("NFKD", word).casefold()
    return re.sub(r"s$", "", "".join(c for c in plain if c.isalnum()))


def _contained(
    rows: Sequence[Mapping[str, str]], language: str
) -> Iterator[tuple[Mapping[str, str], Mapping[str, str]]]:
    """Rows of which one's word is a part of the other's: whole words, or characters in Chinese."""
    edge = "" if language == "zh" else " "
    spelled = [
        (edge + re.sub(r"\W+", edge, row[language].casefold()) + edge, row) for row in rows
    ]
    for (one, first), (other, second) in combinations(spelled, 2):
        if one in other or other in one:
            yield first, second


def _within(rows: Iterable[Mapping[str, str]]) -> list[Pair]:
    by_category: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in rows:
        by_category[row["category"]].append({language: row[language] for language in LANGUAGES})
    return [
        Pair(category, a, b)
        for category, words in by_category.items()
        for a, b in combinations(words, 2)
    ]


def _listed(name: str, items: object, everything: Mapping[str, Pair]) -> dict[str, Pair]:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Misuse(f"suites.toml: [{name}] needs pairs = [\"a~b\", …].")
    if twice := [item for item, times in Counter(items).items() if times > 1]:
        raise Misuse(f"suites.toml: [{name}] lists {', '.join(twice)} twice.")
    for item in items:
        if item not in everything:
            swapped = "~".join(reversed(item.split("~")))
            hint = f" Did you mean {swapped!r}?" if swapped in everything else ""
            raise Misuse(
                f"suites.toml: [{name}] lists {item!r}, which is no pair of one category of"
                f" lexicon.csv, in its order.{hint}"
            )
    return {item: everything[item] for item in items}


def _framings(stimuli: Stimuli) -> dict[str, Framing]:
    found: Mapping[str, Mapping[str, str]] = stimuli.files.get("framings") or {}
    if not found:
        raise Misuse("framings.toml is missing or empty: it holds the prompts.")
    return {name: _framing(name, said) for name, said in found.items()}


def _framing(name: str, said: object) -> Framing:
    wanted = frozenset(("language", "about", "prompt"))
    if not isinstance(said, dict) or not all(isinstance(v, str) for v in said.values()):
        raise Misuse(f"framings.toml: {name} is no table of texts; wanted [{name}] with"
                     f" {', '.join(sorted(wanted))}.")
    if wanted != said.keys():
        raise Misuse(f"framings.toml: [{name}] does not fit: {misfit(wanted, said.keys())}.")
    if said["language"] not in LANGUAGES:
        raise Misuse(f"framings.toml: [{name}] is in {said['language']!r}; the lexicon has"
                     f" {', '.join(LANGUAGES)}.")
    if slots(said["prompt"]) != SLOTS:
        raise Misuse(
            f"framings.toml: the prompt of [{name}] does not fit:"
            f" {misfit(SLOTS, slots(said['prompt']))};"
            " it needs $first and $second, and nothing else."
        )
    return Framing(name, said["language"], said["about"], said["prompt"].strip("\n"))
