"""Closing options: an option by itself at a clause's end, after a colon, a "but" or a "so"."""

from __future__ import annotations

import re

from equipoise.reading.patterns import BLOCK, CONCEDES, DENIES, RESET
from equipoise.reading.skeleton import P

ALONE = re.compile(
    r"(?:,? ?(?:please|definitely|for me|for sure|any day|every time|hands down|all the way|always|"
    r"more|a bit more|slightly more|i think|i guess|i suppose|of course|now|instead|it is|pour moi|"
    r"bien sur|sans hesiter|"
    r"toujours|吧|呢|啊|了)){0,2}[ .!。]*"
)
LEAD = (
    r"(?:it's |it is |it would be |it has to be |i say |i'd say |for me,? |definitely |probably |"
    r"still |rather |now |now it's |c'est |ce sera |ce serait |je dis |plutot |pour moi,? |"
    r"我还是|我选|我|选|是|还是)?"
)
BEFORE = re.compile(
    rf"(?:(?P<colon>[^:,]: ?)|(?P<but>(?:^|[,;] ?)(?:but|mais|yet) |"
    rf"(?:^|,)(?:但是?|不过|可是|然而),?)|(?P<so>[,;] ?(?:and )?(?:so|thus|therefore|hence|donc|"
    rf"alors) |,(?:所以|因此|那就))){LEAD}$"
)
DECIDES = re.compile(
    r"\bi(?:'d|'ll| would| will| must| have to| admit| confess| concede| say| keep coming back|"
    r" decided|'ve (?:decided|concluded|made|thought|come)| have (?:decided|concluded|made))\b|"
    r"\b(?:convinced|persuaded) me\b|\bfor me\b|\b(?:to|must) (?:admit|confess|say)\b|"
    r"\bfor the sake of\b|\bmy mind\b|\bje (?:dirais|serais|vais|"
    r"choisirais|l'avoue|le dis|tranche|reponds|serai|pense)|\bj'(?:avoue|ai decide|aurais|irai)|"
    r"convaincue?\b|\bpour (?:les besoins|jouer)|我(?:会|就|得|要|必须|还是|直|承认|坦|想|觉得)|"
    r"说服了我|为了|\b(?:ok|okay|fine|alright|all right|very well|then)$|\b(?:only|just) (?:one|"
    r"a single) (?:\w+ )?(?:answer|choice|option|pick|word|"
    r"winner)\b|\b(?:short|simple|honest|quick|easy|obvious) "
    r"(?:\w+ )?(?:answer|choice|pick|one)\b|no (?:doubt|question|contest)|hands down|won't lie|"
    r"not (?:going to|gonna) lie|one word|"
    r"un seul mot|aucun doute|一个词|只有一个|毫无疑问"
)
CLEAR = re.compile(
    r"\b(?:only|just) (?:one|a single)\b|\bi (?:won't|will not|can't|cannot) lie\b|"
    r"\bnot (?:going to|gonna) lie\b|\bno (?:doubt|question|contest)\b|aucun doute|毫无疑问"
)
OTHERWISE = re.compile(
    r"\b(?:hate(?! to)|dislik\w*|despis\w*|detest\w*|avoid\w*|reject\w*|worst|least|not|told|"
    r"tells?|"
    r"read|heard|see|saw|wrote|example|opposite|sure|friend|brother|sister|wife|husband|mother|"
    r"father|boss|colleague|neighbou?r|two|options|choices|words|possibilities|discuss\w*|defin\w*|"
    r"explain\w*|consider\w*|talk\w*|speak\w*|writ\w*|study|describ\w*|start|begin|analy\w*|"
    r"fear\w*|"
    r"afraid|worr\w*|regret\w*|oppos\w*|against|need more|expect\w*|otherwise convinced|pire|"
    r"moins|eviter|deteste|parler\w*|ecrire|definir|expliqu\w*|exemple)\b|讨厌|最差|最不|避免|例如|"
    r"告诉|讨论|解释|害怕|反对"
)
FIRST_PERSON = re.compile(r"\bi\b|\bmon\b|\bma\b|\bmy h|\bi'|\bme\b|\bmy (?:first|initial|gut)\b|"
                          r"\bje\b|\bj'|\bmoi\b|我")
CONCEDING = re.compile(
    rf"^ ?{P}(?! (?:isn't|aren't|is not) {P})|\b(?:both|neither|either) (?:is|are|has|have|of|one|"
    rf"option|sides?)\b|\b(?:not that|nothing against|sorry|apolog\w+|hard|tough|difficult|close|"
    rf"sure|"
    r"granted|true|fine|certainly|argument|sake|respect|offen[cs]e|fair|no doubt|desolee?s?|"
    r"navree?s?|pardon|certes|difficile|dur|d'accord|bien sur|soit)\b|"
    r"抱歉|遗憾|固然|虽|难|诚然|确实"
)
NOT_CONCEDING = re.compile(
    r"\b(?:about|of|mean\w*|serv\w*|order(?:ed|s)|orders?|asking|ask(?:ed)?|talk\w*|speak\w*|"
    r"writ\w*|"
    rf"discuss\w*|neither {P}|she|he|they|we have|we had|parle|il|ils|elle|elles|on)\b|"
    r"\b(?:anything|nothing|everything|nobody|no one|all|none|tout|rien)(?: at all)?,? ?$|"
    rf"(?<!think )(?<!expect )(?<!guess )\bi(?:'d| would|'ll| will) [a-z ]{{2,14}}{P} ?$|他|她|"
    rf"人们|本文|讲的"
)
PUT_OFF = re.compile(r"\b(?:unless|until|would have|used to|told|wanted|asked|if)\b|如果|除非")
SORTED = re.compile(
    r"\b(?:for (?:the|a|an|those|children|adults)|in the|in (?:summer|winter)|when|le (?:matin|"
    r"soir)|"
    r"at (?:night|work|home)|if(?! (?:this|that|it|you) ))\b|早上|晚上|夏天|冬天|如果"
)


def closing(body: str) -> tuple[str, tuple[int, int]] | None:
    """The option that ends a clause by itself and stands as the writer's own choice, and where.

    >>> closing("i'll be brief: \\ue001")[0] == "\\ue001"
    True
    >>> closing("he told me: \\ue001") is closing("anything but \\ue001") is None
    True
    """
    named = list(re.finditer(P, body))
    if not named or ALONE.fullmatch(body, named[-1].end()) is None:
        return None
    last = named[-1]
    how = BEFORE.search(body, 0, last.start())
    though = CONCEDES.match(body)
    if though is not None and body[though.end() : last.start()].strip() == "":
        return (last[0], last.span()) if last[0] not in though[0] else None
    if how is None:
        return None
    before = body[: how.start() + (1 if how["colon"] else 0)]
    if how["so"]:
        stands = not any(p.search(before) for p in (SORTED, NOT_CONCEDING, PUT_OFF))
    else:
        stands = _after_colon(before) if how["colon"] else _after_but(before, last[0])
    return (last[0], (how.end(), last.end())) if stands else None


def _after_colon(before: str) -> bool:
    """Whether what stands before a colon announces the writer's own decision."""
    resets = list(RESET.finditer(before))
    own = before[resets[-1].end() :] if resets else before
    decided = DECIDES.search(own)
    own = CLEAR.sub("", own)
    if re.search(P, own) or OTHERWISE.search(own) or DENIES.search(own) or BLOCK.search(own):
        return False
    return decided is not None


def _after_but(before: str, sign: str) -> bool:
    """Whether what stands before a "but" concedes something, in the writer's own voice."""
    if SORTED.search(before) or re.search(sign, before):
        return False
    if not before.strip(" ,"):
        return True
    conceding = CONCEDING.search(before)
    if conceding is not None and not re.match(r" ?[\ue000-\uefff]", conceding[0]):
        return NOT_CONCEDING.search(before[: conceding.start()]) is None
    if NOT_CONCEDING.search(before):
        return False
    return conceding is not None or FIRST_PERSON.search(before) is not None
