"""What a longer reply states as its choice: the rules of `stated_choice`, in order."""

from __future__ import annotations

import re

from equipoise.reading.clauses import Kind, Said
from equipoise.reading.folding import Folded, fold
from equipoise.reading.forms import filled
from equipoise.reading.names import Names
from equipoise.reading.patterns import (
    CONTRACT,
    CORRECTED,
    CORRECTION,
    REFUSAL,
    REOPENED,
    REOPENS,
)
from equipoise.reading.recasting import recast
from equipoise.reading.short_forms import emoji_named, full_name, ordinals
from equipoise.reading.skeleton import FIRST_LETTERED, P, Skeleton, skeleton
from equipoise.reading.thinking import spoken
from equipoise.reading.weighing import heard, weigh
from equipoise.terms import Nonresponse, Reading

LONGEST, LONGEST_SENT, MOST = 10_000, 300_000, 500
"""Characters of a reply proper and of one with its reasoning, and mentions, that are read."""

CONTRACT_LINE = re.compile(
    r"(?:^ ?|(?<=[.!?。] )|(?<=[。.!?]))(?:(?:so|therefore|thus|ok|okay|sure|here is|here's|and|"
    r"donc|voici|所以|因此|"
    r"好的?),? ?)?(?:my |the |ma |mon |la |le |我的?)?(?:final |own |最终的?|最后的?|正确的?)?"
    r"(?:answer|choice|pick|selected|chosen|selection|decision|verdict|preference|vote|response|"
    r"reponse|choix|答案|"
    r"回答|选择|选项|option|结论|决定|mot choisi|chosen word)(?: finale?)?(?: is| est|是|为)? ?"
    r"(?::|=+>?|-+>?|—)+[ \t]*"
    rf"(?:\n+(?={P}))?",
    re.MULTILINE,
)
TAG = re.compile(r"</?(?:b|i|u|p|em|strong|br|span|div)(?: ?/)?>")
EXAMPLE = re.compile(r"\b(?:e\.g|i\.e)\. ?|\b(?:ex|eg)[.:] ")
DASH = re.compile(r" -+ | --+ ?|-+$", re.MULTILINE)


def state(text: str, called: Names) -> Reading[str]:
    """The reading of a whole reply's text; `called` are the options' names."""
    if len(text) > LONGEST_SENT and len(text.strip(" \t\r\n\0")) > LONGEST_SENT:
        return Reading(Nonresponse("unclear", f"longer than {LONGEST_SENT} characters"), "too-long")
    start, end, finished = spoken(text)
    if not finished:
        return Reading(Nonresponse("truncated", "stopped while thinking"), "unfinished-thinking")
    proper = text[start:end]
    start += len(proper) - len(proper.lstrip(" \t\r\n\0"))
    proper = proper.strip(" \t\r\n\0")
    if not proper:
        return Reading(Nonresponse("unclear", "nothing was said"), "empty")
    if len(proper) > LONGEST:
        return Reading(Nonresponse("unclear", f"longer than {LONGEST} characters"), "too-long")
    return _shifted(_read_proper(_unwrapped(proper), called), start)


def _unwrapped(proper: str) -> str:
    """The reply without the one pair of quotes that may stand round all of it."""
    pairs = {'"': '"', "“": "”", "«": "»", "「": "」", "『": "』", "＂": "＂"}
    inside = proper[1:-1]
    shut = pairs.get(proper[0])
    if shut == proper[-1] and proper[0] not in inside and shut not in inside:
        return " " + inside + " "
    return proper


def _shifted(reading: Reading[str], by: int) -> Reading[str]:
    if reading.span == (-1, -1):
        return reading
    return Reading(reading.value, reading.rule, (reading.span[0] + by, reading.span[1] + by))


def _read_proper(proper: str, called: Names) -> Reading[str]:
    folded = fold(proper)
    option = called.whole(folded.text) if len(folded.text) < 200 else None
    if option is not None and "?" not in folded.text:
        return Reading(called.values[option], "whole-reply", (0, len(proper)))
    for rule, reads in (("emoji-name", emoji_named), ("full-name", full_name)):
        option = reads(proper, called) if len(proper) < 80 else None
        if option is not None:
            return Reading(called.values[option], rule, (0, len(proper)))
    untagged = TAG.sub(lambda m: " " * len(m[0]), folded.text)
    forms, plain = filled(untagged, called)
    folded = Folded(plain, folded.starts)
    mentions = called.mentions(folded, proper)
    if not mentions and not forms:
        mentions = ordinals(folded, called)
    if len(mentions) > MOST:
        return Reading(Nonresponse("unclear", f"over {MOST} mentions of the options"), "too-long")
    bones = _ruled(skeleton(folded, mentions))
    said_at = [(bones.starts[said.span[0]], _placed(said, bones)) for said in heard(bones.text)]
    for form in forms:
        span = (form.start, form.end)
        kind: Kind = "unread" if form.option is None else "chosen"
        sign = "" if form.option is None else chr(FIRST_LETTERED + form.option)
        said_at.append((form.start, Said(kind, sign, 3, form.rule, span)))
    said_at.sort(key=lambda pair: pair[0])
    verdict = weigh(said for _, said in said_at)
    if isinstance(verdict, Said):
        value = called.values[ord(verdict.sign) - FIRST_LETTERED]
        last = folded.origin(verdict.span[1] - 1) + 1
        return Reading(value, verdict.rule, (folded.origin(verdict.span[0]), last))
    refusal = REFUSAL.search(bones.text)
    if refusal is not None:
        span = (folded.origin(bones.starts[refusal.start()]),
                folded.origin(bones.ends[max(refusal.start(), refusal.end() - 1)] - 1) + 1)
        return Reading(Nonresponse("refused"), "refusal", span)
    return Reading(Nonresponse("unclear"), verdict)


def _ruled(bones: Skeleton) -> Skeleton:
    """Contract lines and changes of mind get a sign of their own; dashes part clauses."""
    bones = bones.replace(CONTRACT_LINE, lambda m: "\n" + CONTRACT)
    bones = bones.replace(EXAMPLE, lambda m: "for example ")
    bones = bones.replace(CORRECTION, lambda m: "\n" + CORRECTED
                          + (REOPENED if REOPENS.search(m[0]) else ""))
    return recast(bones.replace(DASH, lambda m: "—"))


def _placed(said: Said, bones: Skeleton) -> Said:
    first, last = said.span
    return said._replace(span=(bones.starts[first], bones.ends[max(first, last - 1)]))
