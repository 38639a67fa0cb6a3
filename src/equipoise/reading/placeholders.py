"""Strings in an object that are no answer: a placeholder, or a sentence that declines."""

from __future__ import annotations

import re
import unicodedata

from equipoise.reading.folding import fold
from equipoise.reading.patterns import REFUSAL

BRACKETED = re.compile(r"<[a-z][^<>]{0,80}>|\[[a-z][^\[\]]{0,80}\]|\{[a-z][^{}]{0,80}\}|"
                       r"<[^<>\x00-\x7f]+>")
STAND_IN = re.compile(
    r"(?:a |the )?(?:string|str|number|integer|boolean|null|none|nil|nan|undefined|n/?a|tbd|todo|"
    r"unknown|unclear|undecided|no (?:answer|preference|choice|pick)|placeholder)|"
    r"(?:insert |enter |put |write |type )?(?:your|my|the|a) (?:\w{1,12} )?(?:choice|answer|pick|"
    r"selection|preference|response|option|name)(?: (?:goes )?here)|"
    r"(?:insert|enter|put|write|type) (?:your |the )?(?:choice|answer|pick|selection|"
    r"name)(?: here)?|"
    r"your (?:own )?(?:choice|answer|pick|selection)|(?:choice|answer|pick|name)(?: goes)? here|"
    r"(?:votre|ton) (?:choix|reponse)(?: ici)?|inconnu|aucun|"
    r"(?:在此)?(?:填写|输入)?(?:你|您)的(?:选择|答案|回答)|无|未知|占位符"
)


def stands_in(value: str) -> bool:
    """Whether a string only holds an answer's place.

    >>> [stands_in(v) for v in ("", "...", "string", "<your choice here>", "Jordan", "AC/DC")]
    [True, True, True, True, False, False]
    """
    said = fold(value).text.strip()
    return bool(
        all(_is_mark(c) for c in value) or BRACKETED.fullmatch(value.strip().lower())
        or STAND_IN.fullmatch(said.strip(".!<>[](){}\"' "))
    )


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PZ" or character in "<>=~\t\n"


def declines(value: str) -> bool:
    """Whether a string is a sentence that declines to answer; a title in capitals is not.

    >>> declines("I cannot choose between them."), declines("I Can't Help Falling in Love")
    (True, False)
    """
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", value)
    titled = sum(word[0].isupper() for word in words) > len(words) / 2
    if titled and value.isascii():
        return False
    return REFUSAL.search(fold(value[:2000]).text) is not None
