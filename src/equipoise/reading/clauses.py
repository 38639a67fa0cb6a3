"""Clauses: what one piece of a reply says about the options, if a published rule reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Literal, NamedTuple

from equipoise.reading import phrases_en, phrases_fr, phrases_zh
from equipoise.reading.names import CJK
from equipoise.reading.skeleton import P

BOOKS = (phrases_en, phrases_fr, phrases_zh)
CONTRACT, CORRECTED = "⊢", "⟲"
Kind = Literal["chosen", "rejected", "cancelled", "unread"]


class Said(NamedTuple):
    """What a clause says: `sign` is the option's sign, `weight` 1 bare, 2 stated, 3 contract."""

    kind: Kind
    sign: str
    weight: int
    rule: str
    span: tuple[int, int]
    corrected: bool = False


def _any(name: str, end: str = "") -> re.Pattern[str]:
    """The patterns of that name in every language as one, its groups numbered apart."""
    flat: list[str] = []
    for book in BOOKS:
        part = getattr(book, name)
        flat += [part] if isinstance(part, str) else part
    numbered = [p.replace("(?P<pick>", f"(?P<pick{i}>").replace("(?P<drop>", f"(?P<drop{i}>")
                for i, p in enumerate(flat)]
    return re.compile("(?:" + "|".join(numbered) + ")" + end)


WORD_END = r"(?![a-z'])"
OPENER = _any("OPENERS", rf"{WORD_END}[,:]? ?")
CORRECTION = re.compile(
    rf"(?:^|(?<=[,.;:—!?\n\-。])) ?(?:{'|'.join(book.CORRECTIONS for book in BOOKS)})"
    r"(?![a-z'])(?=[,:.;—!?\n。 …]|$)(?:[,:.;—!。…]+ ?| (?=[\ue000-\uefff]|i\b|my\b|je\b|ma\b|"
    r"actually))",
    re.MULTILINE,
)
STATEMENT, LEADING = _any("STATEMENTS"), _any("LEADING_STATEMENTS")
COMPARISON, REJECTED, NEGATED = _any("COMPARISONS"), _any("REJECTED"), _any("NEGATED")
CANCEL, REFUSAL = _any("CANCELS"), _any("REFUSALS")
EXPLAINS, GOES_ON = _any("EXPLAINS"), _any("GOES_ON", WORD_END)
BLOCK, RESET = _any("BLOCKS"), _any("RESETS")
BOUNDARY = re.compile(
    r"^|[,:] ?|\b(?:and|but|so|then|thus|therefore|hence|however|yet|et|mais|donc|alors) |"
    r"\bi (?:really |personally |still |do )?(?:think|believe|feel)(?: that)? |"
    r"\bje (?:pense|crois|trouve|dirais) qu[e'] ?|"
    r"但是?|所以|因此|不过|那么|(?:我|个人)(?:觉得|认为)|最终|于是"
)
STRONG = re.compile(
    r"[,:] ?(?:and )?(?:so|thus|therefore|hence|donc|alors|所以|因此|那就),? ?"
    rf"(?={P})"
)
OTHER = re.compile(
    r",? ?(?:over|rather than|instead of|not|and not|but not|never|above|before|as opposed to|"
    r"plutot que|et non(?: pas)?|et pas|pas|au lieu de|而?(?:不是|并非|非|不选|不要)) ?"
    rf"({P})"
)
THAN = re.compile(rf",? ?(?:to|than|more than|au?x?|que) ({P})")
CONDITION = re.compile(r"if |s'il |si |如果|非要|要我选")
"""How an opener begins that lets a bare name follow it anywhere: if I had to choose, tea."""

SWAYS = re.compile(
    r"\b(?:actually|wait|chang(?:e|ed|ing) (?:my|to)|my mind|second thoughts?|correction|i meant|"
    r"my mistake|i was wrong|let me correct|reconsider\w*|scratch|oops|hmm|en fait|attends|"
    r"attendez|finalement|pardon|reflexion|erreur)\b|"
    rf"其实|不对|等等|改(?:变)?(?:主意|选|为|成|我的)|更正|说错|: ?{P}[.!。]?$"
)
"""What an unread clause says where it may take back a choice made before it."""

TURNS = re.compile(r"\b(?:actually|rather|instead|en fait|finalement)\b|其实")


def spoken_of(text: str) -> set[str]:
    """The signs in a piece of skeleton.

    >>> spoken_of("tea or milk")
    set()
    """
    return set(re.findall(P, text))


def clause(text: str, at: int) -> Iterator[Said]:
    """What a clause that begins at `at` says; nothing, where no rule reads it.

    >>> [said.rule for said in clause("i prefer \\ue000 to \\ue001", 0)]
    ['stated-preference']
    >>> list(clause("some prefer \\ue000", 0))
    []
    """
    corrected = text.startswith(CORRECTED)
    if corrected:
        text, at = text[1:], at + 1
    contract = text.startswith(CONTRACT)
    body, begin = (text[1:], at + 1) if contract else (text, at)
    everything = (at, at + len(text))
    dropped = {sign for match in NEGATED.finditer(body) for sign in match.groups() if sign}
    chosen = _chosen(body, dropped) if re.search(P, body) else None
    if chosen is not None:
        sign, rule, (start, end), turned = chosen
        weight = 3 if contract else 1 if rule == "leading-option" else 2
        yield Said("chosen", sign, weight, "contract-line" if contract else rule,
                   (begin + start, begin + end), corrected or turned)
    elif contract:
        if body.strip():
            yield Said("unread", "", 3, "unread-contract", everything)
    elif CANCEL.search(body) or (re.search(P, body) and SWAYS.search(body)):
        yield Said("cancelled", "", 1, "hedged", everything)
    for sign in sorted(dropped):
        if chosen is None or sign != chosen[0]:
            yield Said("rejected", sign, 1, "only-rejected", everything)


Chosen = tuple[str, str, tuple[int, int], bool]


def _chosen(body: str, dropped: set[str]) -> Chosen | None:
    """The one option a clause chooses; None if it chooses none, two, or one it rejects."""
    if body.rstrip().endswith("?"):
        return None
    found: dict[tuple[int, str], tuple[Chosen, bool]] = {}
    for start, edge, leads in _places(body):
        for pattern, rule in _rules(leads):
            match = pattern.match(body, start)
            if match is None:
                continue
            sign, other = _groups(match)
            if sign == other:
                continue
            turned = bool(TURNS.search(body[edge:start]))
            chosen = (sign, rule, (start, match.end()), turned)
            reset = RESET.search(body, edge, start) is not None
            sound = (reset or _prefix_allows(body[:edge], sign)) and _tail_allows(
                body[match.end() :], sign, rule != "leading-option"
            )
            if sound or rule != "leading-option":
                found.setdefault((match.end(), rule), (chosen, sound))
            break
    signs = {chosen[0] for chosen, _ in found.values()}
    allowed = [chosen for chosen, fine in found.values() if fine]
    if len(signs) != 1 or not allowed or allowed[0][0] in dropped:
        return None
    return next((chosen for chosen in allowed if chosen[1] != "leading-option"), allowed[0])


def _rules(leads: bool) -> Iterable[tuple[re.Pattern[str], str]]:
    yield REJECTED, "rejected-other"
    yield COMPARISON, "comparison"
    yield STATEMENT, "stated-preference"
    if leads:
        yield LEADING, "stated-preference"
        yield BARE, "leading-option"


DENIES = re.compile(
    r"(?:n't|\b(?:not|never|hardly|nobody|no one|few|doubt|wrong|false|jamais|pas|faux|personne))\b"
    r"[^,:]*$|[不没谁][^,:]*$"
)
DENIED = re.compile(r"^, ?(?:never|no|not|nope|nah|jamais|non|pas|plus jamais)\b|^, ?[绝不]")
LISTED = re.compile(rf"^(?:, ?(?:and |et )?(?:[^\W{CJK}]+|[{CJK}]{{1,3}}))+[ .!。]*$")
"""A name that goes on as a list of single words, such as a motto, is no choice."""

DOUBTS = rf"{BLOCK.pattern}|n't\b|\b(?:not|never|pas|jamais)\b"
BARE = re.compile(f"(?P<pick0>{P})")


def _groups(match: re.Match[str]) -> tuple[str, str]:
    named = {k[:4]: v for k, v in match.groupdict().items() if v}
    return named["pick"], named.get("drop", "")


def _places(body: str) -> Iterator[tuple[int, int, bool]]:
    """Where a statement may begin: (start, edge of what stands before it, may it be bare)."""
    seen: set[int] = set()
    for boundary in BOUNDARY.finditer(body):
        edge = place = boundary.end()
        leads = edge == 0
        for _ in range(7):
            if place not in seen:
                seen.add(place)
                yield place, edge, leads
            opener = OPENER.match(body, place)
            if opener is None or opener.end() == place:
                break
            leads = leads or CONDITION.match(opener[0]) is not None
            place = opener.end()
    for strong in STRONG.finditer(body):
        yield strong.end(), strong.start() + 1, True


def _prefix_allows(prefix: str, sign: str) -> bool:
    """Whether what stands before a statement leaves it the writer's own and unconditional."""
    resets = list(RESET.finditer(prefix))
    leading = re.match(f"({P}) ?[,:]", prefix)
    if leading is not None and leading[1] != sign:
        return False
    own = prefix[resets[-1].end() :] if resets else prefix
    return BLOCK.search(own) is None and DENIES.search(own) is None


def _tail_allows(rest: str, sign: str, stated: bool) -> bool:
    """Whether what follows a named option lets it stand as the choice."""
    for _ in range(8):
        frame = OTHER.match(rest) or (THAN.match(rest) if stated else None)
        step = frame if frame is not None and frame[1] != sign else GOES_ON.match(rest)
        if step is None or step.end() == 0:
            break
        rest = rest[step.end() :]
    if not rest.strip(" .!。,:…"):
        return True
    reason = EXPLAINS.match(rest)
    if reason is not None:
        return _reason_allows(rest[reason.end() :], sign)
    others = spoken_of(rest) - {sign}
    if rest[0] in ",:" and not any(p.search(rest) for p in (BLOCK, CANCEL, DENIED, LISTED)):
        return not others or (rest[0] == "," and _aside_allows(rest, sign))
    though = re.match(r",? ?(?:but|mais) (?=i|it|the|that|je|c'|ce)", rest)
    if though is not None and stated and not others:
        return re.search(DOUBTS, rest[though.end() :]) is None and not CANCEL.search(rest)
    return False


def _reason_allows(reason: str, sign: str) -> bool:
    turn = RESET.search(reason)
    place = 1 if reason.startswith(" ") else 0
    for _ in range(4):
        opener = OPENER.match(reason, place)
        place = opener.end() if opener is not None else place
    if re.fullmatch(rf"{P}[ .!]*", reason[place:]) is not None:
        return False
    if re.match(rf" ?{P}(?: ?$|,| and| or)", reason) or CORRECTED in reason:
        return False
    return turn is None or not (spoken_of(reason[turn.start() :]) - {sign})


def _aside_allows(rest: str, sign: str) -> bool:
    """Chinese goes on after a comma where English would begin a sentence."""
    if not re.search(f"[{CJK}]", rest):
        return False
    return reduce(
        lambda fine, part: fine and not re.fullmatch(rf" ?(?:和|或|与)?{P} ?", part)
        and not CANCEL.search(part) and not (spoken_of(part) - {sign} and _chooses(part)),
        rest.split(","), True,
    )


def _chooses(part: str) -> bool:
    return any(p.search(part) for p in (STATEMENT, COMPARISON))
