"""The probability a reply states, in points from 0 to 100."""

from __future__ import annotations

import re
from typing import Final

from equipoise.reading.folding import fold
from equipoise.reading.number_forms import corrected, in_form, one_in, spelled
from equipoise.reading.patterns import REFUSAL
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Nonresponse, Reader, Reading

LONGEST: Final = 10_000
NUMBER = (
    r"(?P<number{0}>(?<![a-z0-9_.,/])[-+−]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d{{1,15}})?|"
    r"(?<![a-z0-9_.,/])[-+−]?\d{{1,15}}(?:[.,]\d{{1,15}})?)(?![a-z0-9_/^]|[.,]\d)"
)
POINTS = r" ?(?:%|percent|per cent|pour ?cent|points?|(?:/|out of|sur) ?100(?!\d))?"
ONE = NUMBER.format("")
WHOLE = re.compile(
    rf"(?:about |around |roughly |approximately |environ |大约|大概|约|~ ?|≈ ?)?{ONE}{POINTS}"
    r"(?: ?(?:左右|上下)| for (?:option )?[a-z]{1,20})?"
)
EXPONENT = re.compile(r"\d{1,3}(?:\.\d{1,6})?e\+?\d")
CHINESE = re.compile(
    r"(?:百分之)?(?:(一?百)|([一二两三四五六七八九]?十)?([一二三四五六七八九])?|([零〇]))"
)
FRACTION = re.compile(r"(\d{1,6}) ?[/⁄] ?(\d{1,6})")
PER_HUNDRED = re.compile(rf"百分之 ?{ONE}|{NUMBER.format('b')} ?(?:/|out of|sur) ?100(?!\d)")
CONCLUDES = (
    r"(?:(?:my|the|ma|la)(?: (?:final|own|best|estimated))? (?:probability|answer|estimate|guess|"
    r"number|reponse|"
    r"probabilite|estimation)(?: finale)?(?: here)?(?: is| would be|:| est| serait| est de)+|"
    r"^(?:final )?(?:answer|final|probability|estimate|reponse|probabilite|estimation)"
    r"(?: is| ?:| -| ?=)+|if i (?:had|have) to [a-z ]{0,30}[,:]|s'il faut [a-z ]{0,30}[,:]|"
    r"(?:so|thus|therefore|hence|donc)(?: i(?:'d| would)? (?:say|give|go with|estimate)|"
    r" my (?:answer|estimate) is)?,?:?|"
    r"i(?:'d| would|'ll| will)? (?:say|give(?: it)?|answer|estimate|go with|put it at|guess|"
    r"pick|think|believe(?: it's| it is)?|settle (?:on|at|for)|land (?:on|at)|end up (?:at|with)|"
    r"put (?:the odds|the chances?|"
    r"the probability) at)(?: a)?:?|my (?:gut|instinct)(?: feeling)? (?:says|is)|"
    r"(?:^|(?<=[,.;:] )|(?<=so )|(?<=i'd )|(?<=i'll )|(?<=let's ))(?:call it|let's say|say|"
    r"make it)|"
    r"(?:^|(?<=[,.;:] ))(?:disons|mettons)|je (?:mettrais|mets|l'evalue a|tablerais sur)|"
    r"je (?:dirais|dis|reponds|donne|donnerais|l'estime a|choisis)|"
    r"(?:我的)?(?:答案|概率|回答|可能性)(?:是|为|:)+|我(?:会)?(?:就)?(?:说|给出?|认为是|选|估计|"
    r"定为|算)|"
    r"所以(?:是)?:?|"
    r"(?:probability|answer)(?: is|:) )"
    r" {0,9}(?:about |around |roughly |approximately |environ |大约|大概|约|~ ?)?"
)
CONCLUDED = re.compile(rf"{CONCLUDES}{NUMBER.format('')}{POINTS}", re.MULTILINE)
CHANCE = r"(?:probability|chances?|likelihood|odds|probabilite|概率|可能性|几率)"
LIKELY = re.compile(
    rf"{CHANCE}[^.!?\d\n]{{0,60}}(?:\b(?:is|of|at|est|de|a)|[:=是为]) ?(?:about |around |"
    rf"roughly |environ )?{NUMBER.format('')}{POINTS}|"
    rf"\b(?:un|im)?(?:likely|probable)[:,] (?:so )?{NUMBER.format('c')}{POINTS}(?=[ .!]*$)|"
    rf"{NUMBER.format('b')} ?(?:%|percent|pour ?cent) ?(?:de |的)?(?:{CHANCE}|sure|certain|likely|"
    rf"confident|probable)(?![a-z]| i | that)"
)
LEADING = re.compile(rf"{ONE}{POINTS}(?=$|[.!;:,\n] ?|[。！，；]| ?[—(-])")
ANY = re.compile(r"\d+(?:[.,]\d+)*")
RANGE = re.compile(r"\d ?%? ?(?:-|—|–|to|or|and|a|ou|et|到|至|或|~) ?\d")
NEGATES = re.compile(
    r"\b(?:not|isn't|never|less than|more than|at least|at most|under|over|below|above|between|"
    r"moins de|plus de|pas|entre|if|si|could|might|either|say if|otherwise|else|sinon)\b|[<>≤≥]|不|"
    r"如果|否则|超过|低于|至少|"
    r"少于"
)
MARKS = re.compile(r"[*_`$\"\\{}\[\]]|boxed")


def stated_probability() -> Reader[float]:
    """A reader of one number from 0 to 100: points, never a proportion, never clamped.

    A whole reply that is a number is read; then the last number that a phrase such as "my
    probability is" concludes with; then a number that leads the reply; then a fraction
    that is the whole reply ("1/2" is 50). A lone number between 0 and 1 that is written
    with a decimal point is `unclear`, since it may be a proportion ("0.7"), and "1.0" is
    the whole, 100; a number outside the scale is `invalid` with detail "out of range".

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
    if len(completion.text) > 300_000:
        return Reading(Nonresponse("unclear", "longer than 300000 characters"), "too-long")
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
    reading = _formed(folded.text) or _by_rules(plain)
    if reading.span == (-1, -1):
        return reading
    first, last = reading.span
    return Reading(reading.value, reading.rule,
                   (start + folded.origin(first), start + folded.origin(last - 1) + 1))


def _formed(text: str) -> Reading[float] | None:
    """The reading of a reply that is an object or a piece of Python; None if it is neither."""
    if "{" not in text and "return" not in text and "print" not in text:
        return None
    found = in_form(text)
    if found is None:
        return None
    at = text.find(found[0][0])
    return _points(found[0], found[1], alone="%" not in found[0][0], moved=at)


def _by_rules(plain: str) -> Reading[float]:
    reading = _whole(plain)
    if reading is not None:
        return reading
    later = corrected(plain)
    if later is not None:
        return _points(later, "corrected-number", alone="%" not in later[0])
    reading = _concluded(plain)
    if reading is not None:
        return reading
    leading = LEADING.match(plain, len(plain) - len(plain.lstrip()))
    if leading is not None and _sound(plain, leading) and not _listed(plain, leading):
        return _points(leading, "leading-number", alone="%" not in leading[0])
    likely = LIKELY.search(plain) if len(ANY.findall(plain)) == 1 else None
    if likely is not None and "?" not in plain and not NEGATES.search(plain):
        return _points(likely, "only-number", alone="%" not in likely[0])
    if REFUSAL.search(plain):
        return Reading(Nonresponse("refused"), "refusal")
    found = len(ANY.findall(plain))
    if found > 1:
        return Reading(Nonresponse("unclear", f"{found} numbers"), "several-numbers")
    return Reading(Nonresponse("unclear"), "no-number-stated")


def _whole(plain: str) -> Reading[float] | None:
    """The reading of a reply that is one number, however it is written; None if it is not."""
    said = plain.strip(" \t\n\0.!。,;:()#~<>")
    at = plain.find(said)
    last = at + len(said)
    if plain[:at].strip().endswith(("<", ">")):
        return None
    whole = WHOLE.fullmatch(plain, at, last) or PER_HUNDRED.fullmatch(plain, at, last)
    if whole is not None:
        return _points(whole, "whole-number", alone=re.search("%|100|百", whole[0]) is None)
    if EXPONENT.fullmatch(said):
        return _in_range(float(said), said, "whole-number", (at, last))
    numeral = CHINESE.fullmatch(said)
    if numeral is not None and said:
        return Reading(_chinese(numeral), "chinese-number", (at, last))
    words = spelled(said)
    if words is not None:
        return Reading(float(words), "spelled-number", (at, last))
    ratio = one_in(said)
    if ratio is not None:
        return _share(*ratio, said, at)
    fraction = FRACTION.fullmatch(said)
    return _fraction(fraction, at) if fraction is not None else None


def _concluded(plain: str) -> Reading[float] | None:
    """The reading of the last number that a concluding phrase states; None if there is none."""
    stated = [m for m in CONCLUDED.finditer(plain) if _sound(plain, m)]
    if not stated:
        return None
    last = stated[-1]
    several = len({_text(m) for m in stated}) > 1 and not _last_line(plain, last)
    if several or _contested(plain[last.end() :]):
        return Reading(Nonresponse("unclear", "several numbers"), "several-numbers")
    return _points(last, "concluded-number", alone="%" not in last[0])


def _sound(plain: str, match: re.Match[str]) -> bool:
    """Whether a number stands by itself: no range, no bound, no condition, no question."""
    line = plain[max(plain.rfind("\n", 0, match.start()), match.start() - 40) + 1 : match.end()]
    clause = re.split(r"[.!?;:,。，；](?!\d)", line)[-1]
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
    if match["number"] in ("0", "1") and re.search(r"^[.):] ?\S|\n\s*2[.)]", rest):
        return True
    return _contested(rest) or bool(re.search(r"^[^\n]{0,3}\d", rest))


def _contested(rest: str) -> bool:
    """Whether what follows a number takes it back, or gives another percentage."""
    taken_back = r"\b(?:actually|wait|no|rather|correction|instead|or)\b|不对|等等|更正|\ben fait\b"
    return re.search(rf"{taken_back}|\d ?(?:%|percent|pour ?cent)", rest) is not None


def _last_line(plain: str, match: re.Match[str]) -> bool:
    return not ANY.search(plain[match.end() :]) and "\n" in plain[: match.start() + 1].strip(" ")


def _text(match: re.Match[str]) -> str:
    return str(next(number for number in match.groupdict().values() if number))


def _points(match: re.Match[str], rule: str, *, alone: bool, moved: int = 0) -> Reading[float]:
    text = _text(match)
    digits = text.replace("−", "-")
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    value = float(digits.replace(",", "."))
    named = match.groupdict()
    first, last = match.span(next(name for name in named if named[name]))
    span = (first + moved, last + moved)
    if alone and value == 1 and re.search(r"[.,]", text):
        return Reading(100.0, "whole-proportion", span)
    if alone and 0 < value <= 1 and re.search(r"[.,]", text):
        return Reading(Nonresponse("unclear", f"{text} may be a proportion"), "maybe-proportion",
                       span)
    return _in_range(value, text, rule, span)


def _in_range(value: float, text: str, rule: str, span: tuple[int, int]) -> Reading[float]:
    if not 0 <= value <= 100:
        detail = f"out of range: {text} is not from 0 to 100"
        return Reading(Nonresponse("invalid", detail), "out-of-range", span)
    return Reading(value, rule, span)


def _chinese(numeral: re.Match[str]) -> float:
    digits = dict(zip("一二两三四五六七八九", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
    hundred, tens, units, _ = numeral.groups()
    tenfold = digits.get(tens[0], 1) if tens else 0
    return 100.0 if hundred else 10.0 * tenfold + digits.get(units or "", 0)


def _fraction(match: re.Match[str], at: int) -> Reading[float]:
    above, below = int(match[1]), int(match[2])
    if above == below != 1:
        return Reading(Nonresponse("unclear", f"{match[0]} may be a tie"), "several-numbers")
    return _share(above, below, match[0], at)


def _share(above: float, below: float, said: str, at: int) -> Reading[float]:
    span = (at, at + len(said))
    if below == 0 or above > below:
        detail = f"out of range: {said} is not from 0 to 1"
        return Reading(Nonresponse("invalid", detail), "out-of-range", span)
    return Reading(100 * above / below, "fraction", span)
