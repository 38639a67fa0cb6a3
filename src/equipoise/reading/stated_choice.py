"""The choice a reply states, by published rules; `unclear` where none of them is sure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from equipoise.reading.clauses import CONTRACT, CORRECTED, CORRECTION, REFUSAL, Kind, Said, clause
from equipoise.reading.folding import DECORATION, Folded, fold
from equipoise.reading.forms import filled
from equipoise.reading.names import Names, names
from equipoise.reading.skeleton import FIRST_LETTERED, P, Skeleton, skeleton
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Nonresponse, Reader, Reading

LONGEST, LONGEST_SENT, MOST = 10_000, 300_000, 500
"""Characters of a reply proper and of one with its reasoning, and mentions, that are read."""

CONTRACT_LINE = re.compile(
    r"(?:^ ?|(?<=[.!?。] )|(?<=[。.!?]))(?:(?:so|therefore|thus|ok|okay|sure|here is|here's|and|"
    r"donc|voici|所以|因此|"
    r"好的?),? ?)?(?:my |the |ma |mon |la |le |我的?)?(?:final |own |最终的?|最后的?|正确的?)?"
    r"(?:answer|choice|pick|selected|chosen|selection|decision|verdict|preference|vote|response|"
    r"reponse|choix|答案|"
    r"回答|选择|选项|option|结论|决定)(?: finale?)?(?: is| est|是|为)? ?(?::|=+>?|-+>?|—)+[ \t]*"
    rf"(?:\n+(?={P}))?",
    re.MULTILINE,
)
CLAUSE = re.compile(r"(?:[^.!?;。！？—\n]|!(?==)|\.(?=[a-z0-9])|(?<=[a-z])-(?=[a-z]))+[?]*")
TAG = re.compile(r"</?(?:b|i|u|p|em|strong|br|span|div)(?: ?/)?>")
EXAMPLE = re.compile(r"\b(?:e\.g|i\.e)\. ?|\b(?:ex|eg)[.:] ")
DASH = re.compile(r" -+ | --+ ?|-+$", re.MULTILINE)


def stated_choice(options: Mapping[str, Sequence[str]]) -> Reader[str]:
    """A reader of which option a reply states as its choice.

    `options` maps each value to the names it may go by; letters count only where they are
    given as names. What is read is what the writer says in their own voice, unconditionally
    and last; a hedge, a question, a condition, another's words or a contradiction is
    `unclear`, a refusal without a choice `refused`. Names are compared folded (see
    `folding`), and reasoning sent with the reply is never read.

    >>> read = stated_choice({"A": ("A", "mercy"), "B": ("B", "punishment")})
    >>> read(Completion("While A has merits, my answer is B."))
    Reading(value='B', rule='stated-preference', span=(20, 34))
    >>> read(Completion("I would not choose mercy.")).value
    Nonresponse(kind='unclear', detail='')
    """
    called = names(options)
    whole, values = called.exact, called.values
    spelled = {name: value for value, said in options.items() for name in said}

    def read(completion: Completion) -> Reading[str]:
        text = completion.text
        if completion.finish == "length":
            return Reading(Nonresponse("truncated", "stopped at the token limit"), "cut-off")
        if completion.finish == "filter":
            return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
        if (value := spelled.get(text)) is not None:
            return Reading(value, "whole-reply", (0, len(text)))
        if len(text) < 64 and text.isascii():
            short = text.strip(DECORATION)
            option = whole.get(short.lower())
            if option is not None:
                start = text.index(short)
                return Reading(values[option], "whole-reply", (start, start + len(short)))
        return _read(text, called)

    return read


def _read(text: str, called: Names) -> Reading[str]:
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
    untagged = TAG.sub(lambda m: " " * len(m[0]), folded.text)
    forms, plain = filled(untagged, called)
    folded = Folded(plain, folded.starts)
    mentions = called.mentions(folded, proper)
    if len(mentions) > MOST:
        return Reading(Nonresponse("unclear", f"over {MOST} mentions of the options"), "too-long")
    bones = _ruled(skeleton(folded, mentions))
    heard = [(bones.starts[said.span[0]], _placed(said, bones)) for said in _heard(bones.text)]
    for form in forms:
        span = (form.start, form.end)
        kind: Kind = "unread" if form.option is None else "chosen"
        sign = "" if form.option is None else chr(FIRST_LETTERED + form.option)
        heard.append((form.start, Said(kind, sign, 3, form.rule, span)))
    heard.sort(key=lambda pair: pair[0])
    verdict = weigh(said for _, said in heard)
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
    bones = bones.replace(CORRECTION, lambda m: "\n" + CORRECTED)
    return bones.replace(DASH, lambda m: "—")


def _placed(said: Said, bones: Skeleton) -> Said:
    first, last = said.span
    return said._replace(span=(bones.starts[first], bones.ends[max(first, last - 1)]))


def _heard(text: str) -> Iterable[Said]:
    """What the clauses say, in order; a name that only follows a question is its echo."""
    corrected = asked = False
    for piece in CLAUSE.finditer(text):
        body = piece[0]
        lead = len(body) - len(body.lstrip(" ,:"))
        body = body.strip(" ,:")
        if body.strip(CORRECTED) == "" or len(body) > 2000:
            corrected = corrected or CORRECTED in body
            continue
        if CORRECTED in body or corrected:
            yield Said("cancelled", CORRECTED, 1, "two-answers", piece.span())
        same_line = "\n" not in text[max(0, piece.start() - 2) : piece.start()]
        for said in clause(body, piece.start() + lead):
            if asked and same_line and said.weight == 1 and said.kind == "chosen":
                continue
            yield said._replace(corrected=True) if corrected else said
        asked = body.endswith("?") and re.search(P, body) is not None
        corrected = False
    if corrected:
        yield Said("cancelled", "", 1, "two-answers", (0, len(text)))


def weigh(heard: Iterable[Said]) -> Said | str:
    """The choice that stands when all is heard, or the rule that says why none does.

    A later choice against an earlier one stands only if it is marked as a change of mind,
    if both are contract lines, or if both options had been named as if in a list.
    """
    standing: Said | None = None
    listed: set[str] = set()
    rejected: set[str] = set()
    why, weight_needed = "no-choice", 1
    for said in heard:
        if said.kind == "unread":
            standing, why, weight_needed = None, "unread-contract", 3
        elif said.kind == "cancelled":
            if said.sign == CORRECTED and standing is not None:
                continue
            standing, why = None, said.rule
            weight_needed = max(weight_needed, 2)
        elif said.kind == "rejected":
            rejected.add(said.sign)
            if standing is not None and standing.sign == said.sign:
                standing, why = None, "two-answers"
        elif standing is not None or said.weight >= weight_needed:
            standing, why, weight_needed = _weighed(standing, said, listed, weight_needed)
            listed.add(said.sign)
    if standing is not None and standing.sign in rejected and standing.rule != "changed-mind":
        return "two-answers"
    if standing is None and why == "no-choice" and rejected:
        return "only-rejected"
    return standing if standing is not None else why


def _weighed(
    standing: Said | None, said: Said, listed: set[str], needed: int
) -> tuple[Said | None, str, int]:
    if standing is None:
        others = listed - {said.sign}
        if others and said.sign not in listed and not said.corrected:
            return None, "two-answers", needed
        return said, "", needed
    if standing.sign == said.sign:
        return (said if said.weight > standing.weight else standing), "", needed
    if said.corrected:
        return said._replace(rule="changed-mind"), "", needed
    if said.weight == 3 and standing.weight == 3:
        return said, "", 3
    return None, "two-answers", min(3, max(said.weight, standing.weight) + 1)
