"""Numbers in a form of their own: an object, a returned value, one in so many, a corrected one."""

from __future__ import annotations

import re

from equipoise.reading.skeleton import GONE

BODY = r"[-+−]?\d{1,15}(?:[.,]\d{1,15})?"
FENCED = r"(?:```[a-z0-9]{0,12}\s{1,9})?"
OBJECT = re.compile(
    rf"{FENCED}\{{\s{{0,9}}\"[a-z _]{{1,40}}\"\s{{0,9}}:\s{{0,9}}\"?(?P<number>{BODY})(?: ?%)?\"?"
    r"\s{0,9}\}(?:\s{0,9}```)?"
)
RETURNED = re.compile(
    rf"{FENCED}(?:def [a-z0-9_]{{1,40}}\([^)\n]{{0,80}}\)[^:\n]{{0,30}}:\s{{1,20}})?"
    rf"(?:return |print\(|return\()[ \t]{{0,4}}(?P<number>{BODY})[ \t]{{0,4}}\)?(?:\s{{0,9}}```)?"
)
NUMERALS = dict(zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
                    range(1, 11), strict=True))
COUNT = rf"(\d{{1,6}}|{'|'.join(NUMERALS)})"
RATIO = re.compile(rf"(?:about |roughly |a )?{COUNT} (?:in|out of|chances? (?:in|out of)) {COUNT}"
                   r"(?: chances?)?")
EVEN = re.compile(r"(?:it's )?(?:fifty[ -]?fifty|50 ?- ?50|moitie[ -]moitie|五五开|一半一半)")
TURN = (
    r"(?:no,? wait|wait,? no|hold on|actually|scratch that|on (?:second thoughts?|reflection)|"
    r"correction|sorry|or rather|no|non|en fait|pardon|plutot|不对|更正|等等)"
)
AGAIN = (
    r"(?:(?:i'd say|i would say|i'll say|make (?:it|that)|i mean|i meant|it's|rather|je dirais|"
    r"disons|应该是|是),? ?){0,2}"
)
CORRECTED = re.compile(
    rf"\A[^\d\n]{{0,60}}\d[\d.,]{{0,8}}(?<![.,]) ?%?[.,;:! —-]{{1,4}}{TURN}[,.:;!… ]{{1,3}}{AGAIN}"
    rf"(?P<number>{BODY}) ?%?[ .!。]*"
)
INSTEAD = re.compile(
    rf"(?:not|pas|不是) ?\d[\d.,]{{0,8}}(?<![.,]) ?%?[.,;，。]? ?(?:but |mais |而?是)?"
    rf"(?P<number>{BODY}) ?%?[ .!。]*"
)
UNSURE = re.compile(r"\?|\b(?:or|maybe|perhaps|if|between|ou|peut-etre|si|entre)\b|可能|或|如果")


def in_form(text: str) -> tuple[re.Match[str], str] | None:
    """The number that is all an object or a piece of Python gives, and its rule.

    >>> found = in_form('{"answer": 18}')
    >>> found[0]["number"], found[1]
    ('18', 'number-object')
    """
    for pattern, rule in ((OBJECT, "number-object"), (RETURNED, "python-number")):
        match = pattern.fullmatch(text.strip(" \t\n" + GONE))
        if match is not None:
            return match, rule
    return None


def corrected(text: str) -> re.Match[str] | None:
    """The number that a reply of two numbers puts in the place of the other."""
    if len(re.findall(r"\d+(?:[.,]\d+)?", text)) != 2 or UNSURE.search(text):
        return None
    return CORRECTED.fullmatch(text) or INSTEAD.fullmatch(text)


def one_in(said: str) -> tuple[float, float] | None:
    """What "1 in 4" or "three out of four" sets against each other; None for a mark out of ten.

    >>> one_in("one in four")
    (1, 4)
    """
    if EVEN.fullmatch(said):
        return 1, 2
    ratio = RATIO.fullmatch(said)
    if ratio is None:
        return None
    above, below = (NUMERALS.get(part) or int(part) for part in ratio.groups())
    if "out of" in said and below in (5, 10, 100):
        return None
    return above, below


def _spelled() -> dict[str, int]:
    """Every whole number from 0 to 100 as it is spelled in English and in French."""
    tens = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
            "eighty": 80, "ninety": 90}
    teens = [
        "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
        "nineteen",
    ]
    said = {"zero": 0, "a hundred": 100, "one hundred": 100, "cent": 100, **tens,
            **{word: 11 + i for i, word in enumerate(teens)}, **NUMERALS}
    said |= {f"{t} {u}": n + NUMERALS[u] for t, n in tens.items() for u in list(NUMERALS)[:9]}
    units = [
        "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze",
        "douze", "treize", "quatorze", "quinze", "seize",
    ]
    low = {word: i for i, word in enumerate(units, 1)}
    low |= {f"dix {word}": 10 + low[word] for word in ("sept", "huit", "neuf")}
    twenties = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60,
                "quatre vingt": 80, "quatre vingts": 80}
    said |= low | twenties
    for word, ten in twenties.items():
        most = 19 if ten in (60, 80) else 9
        said |= {f"{word}{' et' * both} {low_word}": ten + n for low_word, n in low.items()
                 if n <= most for both in (False, True)}
    return said


SPELLED = _spelled()


def spelled(said: str) -> int | None:
    """The number from 0 to 100 that a text spells and says no more.

    >>> spelled("forty-two percent"), spelled("soixante-dix"), spelled("forty or so")
    (42, 70, None)
    """
    words = re.sub(r" ?(?:per ?cent|pour ?cent|%)$", "", said).replace("-", " ")
    return SPELLED.get(words)
