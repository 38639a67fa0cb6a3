"""Clauses: what one piece of a reply says about the options, if a published rule reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Literal, NamedTuple

from equipoise.reading.closing import closing
from equipoise.reading.names import CJK
from equipoise.reading.patterns import (
    BARE,
    BLOCK,
    BOUNDARY,
    CANCEL,
    COMPARISON,
    CONCEDES,
    CONDITION,
    CONTRACT,
    CORRECTED,
    DENIED,
    DENIES,
    DOUBTS,
    EXPLAINS,
    GOES_ON,
    LEADING,
    LISTED,
    NEGATED,
    OPENER,
    OTHER,
    REJECTED,
    REOPENED,
    RESET,
    STATEMENT,
    STRONG,
    SWAYS,
    THAN,
    TURNS,
    InTurn,
)
from equipoise.reading.skeleton import P

Kind = Literal["chosen", "rejected", "cancelled", "unread", "asked"]


class Said(NamedTuple):
    """What a clause says: `sign` is the option's sign, `weight` 1 bare, 2 stated, 3 contract."""

    kind: Kind
    sign: str
    weight: int
    rule: str
    span: tuple[int, int]
    corrected: bool = False


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
    while text.startswith((CORRECTED, REOPENED)):
        text, at = text[1:], at + 1
    contract = text.startswith(CONTRACT)
    body, begin = (text[1:], at + 1) if contract else (text, at)
    everything = (at, at + len(text))
    denied = [(match.start(), sign) for match in NEGATED.finditer(body)
              for sign in match.groups() if sign]
    dropped = {sign for _, sign in denied}
    chosen = _chosen(body, denied) if re.search(P, body) else None
    if chosen is not None:
        sign, rule, (start, end), turned = chosen
        bare = rule == "leading-option" and CONDITION.search(body[:start]) is None
        weight = 3 if contract else 1 if bare else 2
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


def _chosen(body: str, denied: list[tuple[int, str]]) -> Chosen | None:
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
    if not found:
        last = closing(body)
        if last is None or any(sign == last[0] for _, sign in denied):
            return None
        return last[0], "closing-option", last[1], False
    return _best(body, list(found.values()), denied)


def _best(
    body: str, found: list[tuple[Chosen, bool]], denied: list[tuple[int, str]]
) -> Chosen | None:
    """What is chosen of all that is found, unless another is found too or it is denied."""
    signs = {chosen[0] for chosen, _ in found}
    allowed = [chosen for chosen, fine in found if fine]
    if len(signs) != 1 or not allowed:
        return None
    best = next((chosen for chosen in allowed if chosen[1] != "leading-option"), allowed[0])
    start, end = best[2] if best[1] == "comparison" else (0, 0)
    why = EXPLAINS.search(body, best[2][1])
    reasons = why.start() if why is not None else len(body)
    if any(sign == best[0] and at < reasons and not start < at < end for at, sign in denied):
        return None
    return best


def _rules(leads: bool) -> Iterable[tuple[re.Pattern[str] | InTurn, str]]:
    yield REJECTED, "rejected-other"
    yield COMPARISON, "comparison"
    yield STATEMENT, "stated-preference"
    if leads:
        yield LEADING, "stated-preference"
        yield BARE, "leading-option"


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
    own = prefix[resets[-1].end() :] if resets else CONCEDES.sub("", prefix)
    return BLOCK.search(own) is None and DENIES.search(own) is None


SAME = r",? ?(?:always |yes,? |only |toujours )?"


def _tail_allows(rest: str, sign: str, stated: bool) -> bool:
    """Whether what follows a named option lets it stand as the choice."""
    for _ in range(8):
        frame = OTHER.match(rest) or (THAN.match(rest) if stated else None)
        if frame is not None and frame[1] == sign:
            frame = None
        step = frame or GOES_ON.match(rest) or re.match(SAME + sign + "(?=[ ,.!]|$)", rest)
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
