"""The first word: whichever of the two options a reply names first, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from equipoise.reading.folding import fold
from equipoise.reading.names import Names, is_letter, names
from equipoise.terms import Completion, Nonresponse, Reader, Reading

REFUSALS = re.compile(
    r"\b(?:i|we) ?(?:can't|cannot|can not|won't|will not|am unable|'m unable|am not able|"
    r"'m not able|"
    r"must decline|decline|refuse|'d rather not|would rather not)\b|\bas an? (?:ai|"
    r"language model)\b|"
    r"\bi (?:don't|do not) have (?:any )?(?:personal )?(?:preferences|opinions)\b|"
    r"\bje ne (?:peux|puis|veux|souhaite|saurais) pas\b|\bje refuse\b|\ben tant qu(?:'|"
    r"e )(?:une? )?"
    r"(?:ia|intelligence artificielle|modele)\b|我(?:不能|无法|拒绝|不会选)|"
    r"作为(?:一[个款名])?(?:人工智能|ai|语言模型)"
)


def first_word(options: Mapping[str, Sequence[str]]) -> Reader[str]:
    """A reader of the option word that a reply names first, as the fingerprint's seed has it.

    "The reading only takes the first word" is taken as the first *of the option words* that
    is named, since a reply in JSON or Python could never be read by its very first word. A
    word of a script with spaces counts as a whole word, whatever its case and width; a
    Chinese one wherever it stands. Failing that, a refusal phrase (English, French, Chinese)
    makes it `refused`, and anything else `unclear`. Nothing else is looked at: not negation,
    not reasoning, not a change of mind.

    >>> read = first_word({"vodka": ("vodka",), "whiskey": ("whiskey", "威士忌")})
    >>> read(Completion("Whiskey, for its richer layers"))
    Reading(value='whiskey', rule='first-word', span=(0, 7))
    >>> read(Completion("Not vodka.")).value
    'vodka'
    >>> read(Completion("I can't choose.")).value.kind
    'refused'
    """
    spelled = {name: value for value, said in options.items() for name in said}

    def read(completion: Completion) -> Reading[str]:
        if completion.finish == "filter":
            return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
        text = completion.text
        if completion.finish != "length" and (value := spelled.get(text)) is not None:
            return Reading(value, "first-word", (0, len(text)))
        called, folded = names(options), fold(text)
        match = _first(_pattern(called), folded.text)
        cut = completion.finish == "length"
        if match is not None and not (cut and match.end() == len(folded.text)):
            span = (folded.origin(match.start()), folded.origin(match.end() - 1) + 1)
            option = called.exact[" ".join(match[0].split())]
            return Reading(called.values[option], "first-word", span)
        if cut:
            return Reading(Nonresponse("truncated", "stopped at the token limit"), "cut-off")
        refusal = REFUSALS.search(folded.text)
        if refusal is not None:
            span = (folded.origin(refusal.start()), folded.origin(refusal.end() - 1) + 1)
            return Reading(Nonresponse("refused"), "refusal", span)
        return Reading(Nonresponse("unclear"), "no-word")

    return read


@lru_cache(maxsize=4096)
def _compiled(called: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_named, sorted(called, key=lambda name: (-len(name), name)))))


def _pattern(called: Names) -> re.Pattern[str]:
    return _compiled(tuple(called.exact))


def _named(name: str) -> str:
    return re.escape(name).replace(r"\ ", r"\s{1,3}")


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that is no part of a longer word."""
    match = pattern.search(text)
    while match is not None:
        start, end = match.span()
        joined = (start and is_letter(text[start]) and is_letter(text[start - 1])) or (
            end < len(text) and is_letter(text[end - 1]) and is_letter(text[end])
        )
        if not joined:
            return match
        match = pattern.search(text, start + 1)
    return None
