"""The probability a reply states, in points from 0 to 100."""

from __future__ import annotations

import re
from typing import Final

from equipoise.reading.clauses import REFUSAL
from equipoise.reading.folding import Folded, fold
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Nonresponse, Reader, Reading

LONGEST: Final = 20_000
NUMBER = (
    r"(?P<number{0}>(?<![\w.,/])[-+−]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d{{1,15}})?|"
    r"(?<![\w.,/])[-+−]?\d{{1,15}}(?:[.,]\d{{1,15}})?)(?![\w/^]|[.,]\d)"
)
POINTS = r" ?(?:%|percent|per cent|pour ?cent|points?|(?:/|out of|sur) ?100(?!\d))?"
ONE = NUMBER.format("")
WHOLE = re.compile(rf"(?:about |around |approximately |environ |大约|大概|约|~ ?|≈ ?)?{ONE}{POINTS}")
FRACTION = re.compile(r"(\d{1,6}) ?[/⁄] ?(\d{1,6})")
PER_HUNDRED = re.compile(rf"百分之 ?{ONE}|{NUMBER.format('b')} ?(?:/|out of|sur) ?100(?!\d)")
CONCLUDES = (
    r"(?:(?:my|the|ma|la)(?: (?:final|own|best|estimated))? (?:probability|answer|estimate|guess|"
    r"number|reponse|"
    r"probabilite|estimation)(?: finale)?(?: here)?(?: is| would be|:| est| serait| est de)+|"
    r"^(?:final )?(?:answer|probability|estimate|reponse|probabilite)(?: is|:| -|=)+|"
    r"(?:so|thus|therefore|hence|donc)(?: i(?:'d| would)? (?:say|give|go with|estimate)|"
    r" my (?:answer|estimate) is)?,?:?|"
    r"i(?:'d| would|'ll| will)? (?:say|give(?: it)?|answer|estimate|go with|put it at|guess|"
    r"pick)(?: a)?:?|"
    r"je (?:dirais|dis|reponds|donne|donnerais|l'estime a|choisis)|"
    r"(?:我的)?(?:答案|概率|回答|可能性)(?:是|为|:)+|我(?:会)?(?:说|给出?|认为是|选|估计)|"
    r"所以(?:是)?:?|"
    r"(?:probability|answer)(?: is|:) )"
    r" ?(?:about |around |approximately |environ |大约|大概|约|~ ?)?"
)
CONCLUDED = re.compile(rf"{CONCLUDES}{NUMBER.format('')}{POINTS}", re.MULTILINE)
LEADING = re.compile(rf"{ONE}{POINTS}(?=$|[.!;:,\n] ?|[。！，；]| ?[—(-])")
ANY = re.compile(r"\d+(?:[.,]\d+)*")
RANGE = re.compile(r"\d ?%? ?(?:-|—|–|to|or|and|a|ou|et|到|至|或|~) ?\d")
NEGATES = re.compile(
    r"\b(?:not|isn't|never|less than|more than|at least|at most|under|over|below|above|between|"
    r"moins de|plus de|pas|entre|if|si|could|might|either|say if)\b|[<>≤≥]|不|如果|超过|低于|至少|"
    r"少于"
)
MARKS = re.compile(r"[*_`$\"\\{}\[\]]|boxed")


def stated_probability() -> Reader[float]:
    """A reader of one number from 0 to 100: points, never a proportion, never clamped.

    A whole reply that is a number is read; then the last number that a phrase such as "my
    probability is" concludes with; then a number that leads the reply; then a fraction
    that is the whole reply ("1/2" is 50). A lone number above 0 and not above 1 that is
    written with a decimal point is `unclear`, since it may be a proportion ("0.7"); a
    number outside the scale is `invalid` with detail "out of range".

    >>> read = stated_probability()
    >>> read(Completion("There are 2 options; my probability is 70")).value
    70.0
    >>> read(Completion("0.7")).rule
    'maybe-proportion'
    >>> read(Completion("120")).value
    Nonresponse(kind='invalid', detail='out of range: 120 is not from 0 to 100')
    """
    return _read


def _read(completion: Completion) -> Reading[float]:
    if completion.finish == "length":
        return Reading(Nonresponse("truncated", "stopped at the token limit"), "cut-off")
    if completion.finish == "filter":
        return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
    start, end, finished = spoken(completion.text)
    if not finished:
        return Reading(Nonresponse("truncated", "stopped while thinking"), "unfinished-thinking")
    proper = completion.text[start:end]
    if not proper.strip(" \t\r\n\0"):
        return Reading(Nonresponse("unclear", "nothing was said"), "empty")
    if len(proper) > LONGEST:
        return Reading(Nonresponse("unclear", f"longer than {LONGEST} characters"), "too-long")
    folded = fold(proper)
    plain = MARKS.sub(lambda m: " " * len(m[0]), folded.text)
    reading = _by_rules(plain)
    if reading.span == (-1, -1):
        return reading
    first, last = reading.span
    return Reading(reading.value, reading.rule,
                   (start + folded.origin(first), start + _last(folded, last) + 1))


def _last(folded: Folded, end: int) -> int:
    return folded.origin(end - 1)


def _by_rules(plain: str) -> Reading[float]:
    said = plain.strip(" \t\n\0.!。,;:()#~<>")
    at = plain.find(said)
    whole = WHOLE.fullmatch(plain, at, at + len(said)) if "<" not in plain[:at] else None
    if whole is not None and plain[max(0, at - 1) : at] not in ("<", ">", "~"):
        return _points(whole, "whole-number", alone="%" not in whole[0])
    fraction = FRACTION.fullmatch(said)
    if fraction is not None:
        return _fraction(fraction, at)
    hundred = PER_HUNDRED.fullmatch(said)
    if hundred is not None:
        return _points(PER_HUNDRED.search(plain), "whole-number", alone=False)
    concluded = [m for m in CONCLUDED.finditer(plain) if _sound(plain, m)]
    if concluded:
        values = {_text(m) for m in concluded}
        if len(values) > 1 and not _last_line(plain, concluded[-1]):
            return Reading(Nonresponse("unclear", "several numbers"), "several-numbers")
        return _points(concluded[-1], "concluded-number", alone="%" not in concluded[-1][0])
    leading = LEADING.match(plain, len(plain) - len(plain.lstrip()))
    if leading is not None and _sound(plain, leading) and not _listed(plain, leading):
        return _points(leading, "leading-number", alone="%" not in leading[0])
    if REFUSAL.search(plain):
        return Reading(Nonresponse("refused"), "refusal")
    found = len(ANY.findall(plain))
    if found > 1:
        return Reading(Nonresponse("unclear", f"{found} numbers"), "several-numbers")
    return Reading(Nonresponse("unclear"), "no-number-stated")


def _sound(plain: str, match: re.Match[str]) -> bool:
    """Whether a number stands by itself: no range, no bound, no condition, no question."""
    line = plain[max(plain.rfind("\n", 0, match.start()), match.start() - 40) + 1 : match.end()]
    clause = re.split(r"[.!?;,。，；](?!\d)", line)[-1]
    after = plain[match.end() : match.end() + 30]
    if RANGE.match(plain[match.end("number") - 1 : match.end() + 12]):
        return False
    if re.match(r"[ ]?(?:\?|or\b|ou\b|to \d|options|times|reasons|choices|things|factors|years|"
                r"steps|个|种|次|年|岁|days|people|cases|\w+s\b)", after):
        return False
    return NEGATES.search(clause) is None and not after.lstrip().startswith(("?", "？"))


def _listed(plain: str, match: re.Match[str]) -> bool:
    """Whether a leading number may be a list's number, or one of several that compete."""
    rest = plain[match.end() :]
    if re.match(r"[.):] ?\S", rest) and match["number"] in ("1", "0") or re.search(
        r"^\s*2[.)]", rest, re.MULTILINE
    ):
        return True
    if re.search(r"\b(?:actually|wait|no|rather|correction|instead|or)\b|不对|等等|非\b|en fait", rest):
        return True
    return bool(re.search(r"\d ?(?:%|percent|pour ?cent)|^[^\n]{0,3}\d", rest))


def _last_line(plain: str, match: re.Match[str]) -> bool:
    return not ANY.search(plain[match.end() :]) and "\n" in plain[: match.start() + 1].strip(" ")


def _text(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return str(groups.get("number") or groups.get("numberb"))


def _points(match: re.Match[str] | None, rule: str, *, alone: bool) -> Reading[float]:
    assert match is not None
    text = _text(match)
    digits = text.replace("−", "-")
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    value = float(digits.replace(",", "."))
    group = "number" if match.groupdict().get("number") else "numberb"
    span = match.span(group)
    if not 0 <= value <= 100:
        detail = f"out of range: {text} is not from 0 to 100"
        return Reading(Nonresponse("invalid", detail), "out-of-range", span)
    if alone and 0 < value <= 1 and re.search(r"[.,]", text):
        return Reading(Nonresponse("unclear", f"{text} may be a proportion"), "maybe-proportion",
                       span)
    return Reading(value, rule, span)


def _fraction(match: re.Match[str], at: int) -> Reading[float]:
    above, below = int(match[1]), int(match[2])
    span = (at, at + len(match[0]))
    if below == 0 or above > below:
        detail = f"out of range: {match[0]} is not from 0 to 1"
        return Reading(Nonresponse("invalid", detail), "out-of-range", span)
    return Reading(100 * above / below, "fraction", span)
