"""Recasting: a choice said by denying its denial, put as a plain one before it is read.

"I can't live without tea", "je ne bois que du thé" and "非茶莫属" choose tea although they
hold a denial. Each pattern turns such words into plain ones, and names no option itself.
"""

from __future__ import annotations

import re
from functools import partial

from equipoise.reading.skeleton import P, Skeleton

_CANNOT = r"(?:can't|cannot|can not|can never|could never|couldn't|could not)"
_PICK_EN = (
    r"(?:choose|pick|prefer|select|go with|say|take|favou?r|love|answer|side with|drink|have)"
)
_PICKING_EN = r"(?:choosing|picking|preferring|selecting|going with|saying|taking|siding with)"
_BUT = r"(?:but|other than|except(?: for)?|besides|else (?:but|than))"
_LACK_EN = (
    r"(?:(?:live|do|be|go|function|survive|cope|manage|get by)(?: a day| properly)?|(?:imagine|"
    r"picture|see)(?: a| my| any)? (?:life|world|living|day|morning)) without"
)
_SPURN_EN = r"(?:say no to|refuse|turn down|resist|pass up|do without|give up(?: on)?|part with)"
_PICK_FR = r"(?:choisir|preferer|prendre|dire|repondre|pencher pour|opter pour|aimer|boire)"
_LACK_FR = r"(?:me passer|vivre sans|me priver|resister|faire sans|renoncer|dire non)"
_LACK_ZH = r"(?:没有|缺少|失去|离开|放弃|抛弃|割舍|拒绝|抗拒|舍弃)"

RECASTS: tuple[tuple[str, str], ...] = (
    # English
    (rf"\bi(?: just| really| simply)? {_CANNOT} (?:help (?:but )?|avoid |resist |keep from |"
     rf"stop myself from |refrain from )(?:{_PICK_EN}|{_PICKING_EN}) (?=a? ?{P})", "i choose "),
    (rf"\bi(?: just| really| simply)? {_CANNOT} help myself[,:;]? ", "admittedly, "),
    (rf"\bi(?:'d| would| will)?(?: just| really| simply)? (?:{_CANNOT}|never|won't|wouldn't|"
     rf"would not)(?: ever)? (?:{_LACK_EN}|{_SPURN_EN}) (?:my |a |any )*(?={P})", "i choose "),
    (r"\bi (?:won't|don't|can't|cannot|will not|do not) (?:refuse|decline) to (?=answer|choose|"
     r"pick)", "i do "),
    (rf"\b(?:it|this|that|(?:the|my) (?:answer|choice|pick|vote))? ?(?:{_CANNOT}|can hardly) "
     rf"be (?:anything|anyone|any|something) ?(?:else )?{_BUT} (?=a? ?{P})", "it is "),
    (rf"\b(?:it|this|that|(?:the|my) (?:answer|choice|pick|vote)) (?:can|could) only be "
     rf"(?=a? ?{P})", "it is "),
    (rf"\bi(?:'d| would| will|'ll)? ?(?:{_CANNOT}|never|won't|wouldn't|would not|will not|do not|"
     rf"don't)(?: ever)? {_PICK_EN} (?:anything|anyone|any other)(?: else)? ?{_BUT} (?=a? ?{P})",
     "i choose "),
    (rf"\bi(?:'d| would| will|'ll)? ?(?:{_PICK_EN} |want |need )(?:nothing|none|no other)"
     rf"(?: else)? ?{_BUT} (?=a? ?{P})", "i choose "),
    (rf"(?:^|(?<=[,:] ))(?:nothing|none|no one)(?: else)? ?{_BUT} (?=a? ?{P})", "i choose "),
    (rf"\bi (?:have|see|had) no (?:other |real )?(?:choice|option|alternative) {_BUT} "
     rf"(?:to {_PICK_EN} )?(?=a? ?{P})", "i choose "),
    (rf"\b(?:there's |there is )?no way (?:that )?i (?:wouldn't|would not|won't|don't) "
     rf"{_PICK_EN} (?=a? ?{P})", "i choose "),
    (r"\b(?:don't|do not|didn't) (?:really )?(?:dislike|hate|mind|oppose|object to|despise)\b",
     "accept"),
    (rf"\b{_CANNOT} (?:deny|help|escape|ignore|fight|avoid|hide) (?:it|this|that|the truth)\b",
     "admit it"),
    (rf"({P}) (?:is not|isn't|aren't|are not|wouldn't be) (?:my|the) (?:right )?(?:answer|choice|"
     rf"pick|preference|way|option|one)[.;,] ({P}) (?:is|are|"
     rf"would be)(?=[ .!]*$)", r"not \1, but \2"),
    # French
    (r"\bje ne (?:peux|puis|saurais|pourrais) (?:pas |vraiment |guere )?(?:m'empecher|me retenir|"
     rf"m'abstenir) (?:de |d'){_PICK_FR} (?=.?.?.?{P})", "je choisis "),
    (rf"\bje ne (?:peux|puis|saurais|pourrais)(?: pas| jamais| plus)? {_LACK_FR}"
     rf"(?: de| d'| a| au| aux)? ?(?={P})", "je choisis "),
    (rf"\bje ne (?:dis|dirais|dirai) (?:jamais|pas) non (?:a |au |aux )?(?={P})", "je choisis "),
    (rf"\bje (?:ne |n')(?:peux |puis |saurais |pourrais )?[a-z]{{2,14}} (?:que |qu')(?={P})",
     "je choisis "),
    (rf"\bje ne (?:peux|puis|pourrais|saurais) que {_PICK_FR} (?={P})", "je choisis "),
    (rf"\bje n'ai (?:pas |d'|aucun )*(?:autre )?(?:choix|option|alternative) (?:que |qu')"
     rf"(?:de {_PICK_FR} )?(?={P})", "je choisis "),
    (rf"\bje n'ai d'autre (?:choix|option) (?:que |qu')(?:de {_PICK_FR} )?(?={P})",
     "je choisis "),
    (rf"\b(?:rien|personne|nul|aucun|pas) d?'? ?autre(?: chose| choix)? (?:que |qu')(?={P})|"
     rf"(?:^|(?<=, ))(?:nul autre|rien) (?:que |qu')(?={P})", "je choisis "),
    (rf"\b(?:ca|ce|cela|(?:ma|la) reponse|mon choix) ne (?:peut|pourrait|saurait) etre "
     rf"(?:autre chose )?(?:que |qu')(?={P})", "c'est "),
    # Chinese
    (r"不得不|不能不|不可不|没法不|无法不|忍不住", "必须"),
    (rf"非(?={P}(?:莫属|不可|不.(?:[,。!]|$)))", "我选"),
    (rf"(?<={P})(?:莫属|不可)(?=$|[,.!。\n])", ""),
    (rf"(?:不能|不可以|不可|无法|没法|没办法|怎么能)(?:没有|{_LACK_ZH})(?={P})|"
     rf"(?:离不开|少不了|戒不掉|舍不得|放不下|拒绝不了|抵挡不住|抗拒不了)(?={P})", "选"),
    (r"(?:并?不是|并非|并不|不)(?:说)?(?:我)?(?:不喜欢|不爱|讨厌|不欣赏|不想要|反对|不尊重|排斥|"
     r"不好)", "也欣赏"),
    (rf"除了(?={P},?我?(?:都?不|没|绝不)(?:会|想|要|有)?(?:选|喝|喜欢|考虑|爱)?"
     rf"(?:选择|别的|其[他它]|任何|第二))", "我选"),
)
COMPILED = tuple((re.compile(pattern, re.MULTILINE), by) for pattern, by in RECASTS)
HINT = re.compile(
    r"n't|\b(?:not|never|no|nothing|none|only|can|cannot)\b|\bn[e']|\b(?:rien|nul|personne|pas|"
    r"aucun)\b|"
    r"[不非没无舍]|忍|除了"
)


def recast(bones: Skeleton) -> Skeleton:
    """The skeleton with each denied denial put plainly.

    >>> text = "i can't live without \\ue000."
    >>> places = list(range(len(text)))
    >>> recast(Skeleton(text, places, places)).text.encode("ascii", "replace")
    b'i choose ?.'
    """
    if HINT.search(bones.text) is None:
        return bones
    for pattern, by in COMPILED:
        bones = bones.replace(pattern, partial(re.Match.expand, template=by))
    return bones
