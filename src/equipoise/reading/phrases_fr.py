"""How French replies state a choice; accents and elided articles are already folded away."""

from __future__ import annotations

from equipoise.reading.skeleton import P

OPENERS = (
    r"donc|alors|bon|eh bien|bien sur|d'accord|oui|voici(?: (?:ma reponse|mon choix))?|pour moi|"
    r"pour ma part|quant a moi|moi|a mon avis|selon moi|d'apres moi|personnellement|honnetement|"
    r"franchement|finalement|en conclusion|au final|en fin de compte|tout bien considere|je pense|"
    r"je crois|je dirais|plutot|sans (?:hesiter|hesitation|aucun doute)|evidemment|certainement|"
    r"probablement|clairement|mais|et|toutefois|cependant|en un mot|un (?:seul )?mot|"
    r"(?:s'il|puisqu'il) (?:faut|fallait) (?:vraiment |absolument |a tout prix )?"
    r"(?:choisir|trancher|repondre|se decider)|"
    r"si je (?:devais|dois)(?: vraiment| absolument)? (?:choisir|trancher|repondre)|"
    rf"entre (?:les deux|{P} et {P})|des deux|bonne question|par preference|a choisir|"
    rf"s'il (?:ne )?fallait (?:n')?en (?:garder|choisir) qu'une?|definitivement|"
    rf"pour (?:les besoins de la question|jouer le jeu|l'exercice)|"
    rf"(?:desole|navre|pardon|n'en deplaise)e?s?(?: pour| a| aux)?[a-z' ]{{0,20}}{P}"
    rf"[a-z' ]{{0,20}}"
)
CORRECTIONS = (
    r"(?:non,? )?(?:attends|attendez|attention)|en fait,? non|non,? (?:en fait|plutot)|non|en fait|"
    r"pardon|correction|je (?:me )?(?:corrige|ravise)|je change d'avis|reflexion faite|"
    r"a la reflexion|apres reflexion|je voulais dire|ou plutot(?: non)?|je (?:plaisante|rigole|"
    r"reconsidere)|"
    r"(?:laissez-moi|laisse-moi) (?:reconsiderer|reflechir|corriger)|c'est une blague"
)
_ADV = (
    r"(?:(?:donc|plutot|clairement|nettement|encore|toujours|sans hesiter|sans hesitation|de loin|"
    r"volontiers|finalement|naturellement|personnellement|certainement|probablement|surement|"
    r"franchement|avant tout|sans aucun doute|largement|vraiment|evidemment),? ){0,2}"
)
_NOUN = r"(?:reponse|preference|choix|vote|decision|option|selection|verdict)"
_BETTER = r"(?:mieux|meilleure?|preferable|superieure?)"
_MUCH = r"(?: nettement| bien| largement| clairement| toujours| beaucoup)?"

_GOOD = (
    r"(?:bons?|bonnes?|bien|importante?s?|precieu(?:x|se)s?|agreables?|interessante?s?|"
    r"essentiel(?:le)?s?|attirante?s?|savoureu(?:x|se)s?|chere?s? a mon coeur|a mon gout|nobles?|"
    r"justes?|sages?|humaine?s?|raisonnables?)"
)

STATEMENTS = (
    rf"je (?:{_ADV})(?:choisis|choisirais|choisirai|prefere|prefererais|prefererai|prends|"
    rf"prendrais|"
    rf"prendrai|opte pour|opterais pour|vote(?: pour)?|voterais(?: pour)?|dirais|dis|penche pour|"
    rf"penche vers|pencherais pour|pencherais vers|retiens|retiendrais|selectionne|selectionnerais|"
    rf"reponds|repondrais|vais (?:choisir|prendre|pour|repondre)|me prononce pour|suis(?: plutot)? "
    rf"(?:pour|team)|recommande|favorise|privilegie|privilegierais|mise sur|tranche pour|"
    rf"irais vers|"
    rf"me range du cote|maintiens|reste sur|tends vers)(?: pour)?,?:? {_ADV}(?P<pick>{P})",
    rf"j'(?:opte pour|opterais pour|ai choisi|ai opte pour|aime mieux|aimerais mieux|irais vers"
    rf"|opte plutot pour|opterais plutot pour|opte donc pour) {_ADV}(?P<pick>{P})",
    rf"(?:ma|la|mon|le)(?: bonne| meilleure| meilleur)? {_NOUN}(?: finale?| personnelle?|"
    rf" est faite?)?,? ?"
    rf"(?:c'est|est|serait|sera|va a|va vers|irait a|irait vers|se porte sur|se porterait sur|"
    rf"va au|penche pour|revient a|"
    rf"reste|"
    rf"penche vers|va|:)(?: (?:donc|clairement|plutot|nettement|sans hesiter))?(?: pour| a|"
    rf" vers)?:? (?P<pick>{P})",
    rf"je (?:penche|pencherais|incline|suis) {_ADV}(?:pour|vers|du cote(?: de)?|partisane?(?: de)?|"
    rf"en faveur(?: de)?|favorable a|acquise? a) (?P<pick>{P})",
    rf"je (?:crois en|vote) (?P<pick>{P})",
    rf"c'est (?P<pick>{P}) que je (?:choisis|prefere|choisirais|prends|retiens|garde)",
    rf"je trouve (?:que )?(?P<pick>{P}) (?:est )?(?:{_BETTER}|plus {_GOOD})(?! que| qu'| au?x? |"
    rf" a )",
    rf"(?P<pick>{P}) (?:est|serait|me semble|me parait|reste){_MUCH} (?:{_BETTER}|mon choix|"
    rf"ma reponse|ma preference|le meilleur choix|la meilleure option|la bonne reponse|"
    rf"le bon choix)(?! que| au?x? {P})",
    rf"(?P<pick>{P}) (?:est|serait|me semble|me parait|reste){_MUCH} plus {_GOOD}"
    rf"(?! que| qu'| au?x? )",
    rf"(?P<pick>{P}) (?:l'emporte|gagne|remporte|triomphe|prime|pour moi|a ma preference|"
    rf"me convient mieux)",
    rf"j'aime (?P<pick>{P}) (?:plus|davantage)",
    rf"(?:va|allez) pour (?P<pick>{P})",
    rf"mieux vaut (?P<pick>{P})",
    rf"rien ne (?:vaut|bat|remplace|surpasse) (?:un bon |une bonne )?(?P<pick>{P})",
    rf"(?:le mot|l'option|mon mot) (?:est|c'est|:) ?(?P<pick>{P})",
    rf"seule? (?P<pick>{P}) est (?:correcte?|juste|bonne?|exacte?)",
)
LEADING_STATEMENTS = (
    rf"(?:c'est|ce serait|ce sera|choisir|choisissons|prends|je suis) (?:plutot |donc |"
    rf"clairement )?"
    rf"(?P<pick>{P})",
)
_BE = r"(?:est|sont|serait|seraient|me semble|me parait|reste|vaut|m'est)"
_MINE = r"(?: (?:a mes yeux|pour moi|a mon avis|selon moi|a mon gout))?"
_THAN = r"(?:que |qu'|au?x? )(?:a |au |aux |de |du |d')?"
_TO = r"(?:a |au |aux |de |du |d')?"
_MORE = r"(?:bien |nettement |beaucoup |encore |largement )?(?:plus|davantage|mieux)"
_LESS = r"(?:bien |nettement |beaucoup |encore |largement )?moins"
_FORGO = (
    r"(?:renoncerais|renonce|me passerais|me priverais|sacrifierais|abandonnerais|laisserais|"
    r"perdrais)"
)
COMPARISONS = (
    rf"je trouve (?:que )?(?P<pick>{P}) (?:est )?(?:{_BETTER}|plus {_GOOD}){_MINE} {_THAN}"
    rf"(?P<drop>{P})",
    rf"(?P<pick>{P}) {_BE}{_MUCH} (?:{_BETTER}|plus {_GOOD}){_MINE} {_THAN}(?P<drop>{P})",
    rf"(?P<drop>{P}) {_BE}{_MUCH} (?:pire|moins {_GOOD}|moins|inferieure?s?){_MINE} "
    rf"{_THAN}(?P<pick>{P})",
    rf"(?P<drop>{P}) (?:n'est|ne sont|ne sera jamais) (?:pas )?(?:aussi|si) {_GOOD}{_MINE} "
    rf"{_THAN}(?P<pick>{P})",
    rf"(?P<pick>{P}) (?:me (?:plait|convient|tente|parle|va|seduit)|m'attire|compte|importe|pese)"
    rf"{_MINE} {_MORE}{_MINE} {_THAN}(?P<drop>{P})",
    rf"(?P<drop>{P}) (?:me (?:plait|convient|tente|parle|va|seduit)|m'attire|compte|importe|pese)"
    rf"{_MINE} {_LESS}{_MINE} {_THAN}(?P<pick>{P})",
    rf"(?P<drop>{P}) ne (?:vaut|valent|vaudra|vaudrait) (?:pas|jamais) (?P<pick>{P})",
    rf"j'(?:aime|apprecie|estime) {_MORE} (?P<pick>{P}) {_THAN}(?P<drop>{P})",
    rf"j'(?:aime|apprecie|estime) {_LESS} (?P<drop>{P}) {_THAN}(?P<pick>{P})",
    rf"j'(?:aime|apprecie|estime) (?P<pick>{P}) {_MORE} {_THAN}(?P<drop>{P})",
    rf"j'(?:aime|apprecie|estime) (?P<drop>{P}) {_LESS} {_THAN}(?P<pick>{P})",
    rf"je (?:tiens|suis attachee?) {_MORE} {_TO}(?P<pick>{P}) {_THAN}(?P<drop>{P})",
    rf"je (?:tiens|suis attachee?) {_LESS} {_TO}(?P<drop>{P}) {_THAN}(?P<pick>{P})",
    rf"je {_FORGO} (?:plutot |plus volontiers |volontiers )?{_TO}(?P<drop>{P}) (?:plutot )?"
    rf"{_THAN}(?P<pick>{P})",
    rf"plutot (?P<pick>{P}) (?:que |qu')(?P<drop>{P})",
    rf"je suis (?:plus|plutot|davantage) (?P<pick>{P}) (?:que |qu')(?P<drop>{P})",
    rf"mieux vaut (?P<pick>{P}) (?:que |qu')(?P<drop>{P})",
    rf"(?P<pick>{P}) (?:l'emporte sur|passe avant|surpasse|bat|prime sur|vient avant) "
    rf"(?P<drop>{P})",
    rf"(?P<pick>{P}) plutot (?:que |qu')(?P<drop>{P})",
)
REJECTED = (
    rf"(?:non )?pas (?P<drop>{P}),? (?:mais )?(?:plutot )?(?P<pick>{P})",
    rf"(?:plutot que|au lieu de) (?P<drop>{P}), (?P<pick>{P})",
    rf"(?:ce|ma reponse|mon choix|ma preference|la reponse) n'est pas (?P<drop>{P})"
    rf"(?: que je (?:choisis|prefere|prends|choisirais))?,? (?:mais |c'est |plutot ){{1,2}}"
    rf"(?P<pick>{P})",
    rf"jamais (?P<drop>{P}),? (?:toujours|mais|plutot) (?P<pick>{P})",
    rf"pas (?P<drop>{P})[,:] (?:mais |c'est |plutot ){{0,2}}(?P<pick>{P})",
)
NEGATED = (
    rf"(?:pas|jamais|sauf|ni|aucune?|contre|rejette|refuse|sans) (?:de |pour |a |choisir )?"
    rf"(?P<drop>{P})",
    rf"\bn(?:e |')[a-z' ]{{1,20}} plus (?:de |du |a )?(?P<drop>{P})",
)
CANCELS = (
    r"\bni l'une? ni l'autre\b|\bles deux(?! (?:ont|sont|options? ont))|\bca depend\b|"
    r"\bcela depend\b|\btout depend\b|\baucune? des deux\b|\bpas de preference\b|"
    r"\bje ne sais pas\b|"
    rf"\bj'hesite\b|\bl'une? ou l'autre\b|\bje plaisante\b|^(?:ou|et|peut-etre),? {P}|"
    rf"\bni {P} ni {P}|\bimpossible de (?:trancher|choisir)\b|^non$|\baucune preference\b|"
    r"\bc'est selon\b|\bun peu (?:de chaque|des deux)\b"
)
REFUSALS = (
    r"\ben tant qu(?:'|e )(?:ia|intelligence artificielle|modele|assistant|une? (?:ia|modele|"
    r"assistant|intelligence))\b|\bje (?:ne (?:peux|puis|saurais|souhaite|veux|prefere)|n'ai) pas "
    r"(?:vraiment |me |y |vous |te |de |d')?(?:choisir|repondre|aider|prononcer|exprimer|donner|"
    r"faire|"
    r"fournir|prendre|trancher|preferences?(?! entre| pour| particuliere| marquee)|opinions?|"
    r"sentiments|avis|gouts|participer|"
    rf"satisfaire|selectionner|effectuer)\b(?! (?:pour )?{P})|\bje refuse\b|"
    rf"\bje prefere ne pas (?:repondre|choisir)\b|"
    r"\bje suis (?:une? )?(?:ia|intelligence artificielle|modele de langage)\b|"
    r"\bje (?:decline|m'abstiens)\b|\bpas en mesure de (?:choisir|repondre)\b|"
    r"\bje ne peux pas\W*$|\bje n'ai (?:pas|aucune?) (?:de |d')?(?:preferences?|"
    r"opinions?) personnelles?"
)
EXPLAINS = (
    r",? ?(?:car|parce qu|puisqu|etant donne|meme si|bien qu|quoiqu|vu qu|qui\b|malgre|tandis qu|"
    r"alors qu)"
)
GOES_ON = (
    r",? ?(?:sans (?:hesiter|hesitation|aucun doute|aucune hesitation)|bien sur|evidemment|"
    r"s'il (?:te|vous) plait|pour moi|de loin|toujours|personnellement|je pense|je crois|"
    r"pour (?:sa|son|ses|leur|leurs|le|la) [a-z' ,]{0,60}|si je (?:dois|devais)[a-z ]{0,20}|"
    r"s'il faut [a-z ]{0,20}|comme (?:choix|reponse)|avant tout|merci|en premier lieu|"
    r"a choisir|clairement|certainement|plutot|d'abord|en premier|par-dessus tout|a mes yeux|"
    r"a mon avis|selon moi|maintenant|desormais|franchement|honnetement|a coup sur|haut la main|"
    r"finalement|tout compte fait|"
    r"vraiment)"
)
BLOCKS = (
    r"\b(?:si|sauf|parfois|peut-etre|ou|selon (?!moi)|d'apres (?!moi)|suppose que|nom feminin|"
    r"nom masculin|signifie|certaine?s|beaucoup de|la plupart|les gens|"
    r"d'autres|"
    r"dirait|dirais-tu|on (?:dit|pourrait)|quand|lorsque|dit-il|dit-elle|a dit|pourrait|pourrais|"
    r"hypothe\w*|le (?:matin|soir|midi|week-end)|la nuit|en (?:ete|hiver|guerre|temps de)|"
    r"au (?:petit-dejeuner|travail)|mais|cependant|ils|elle|il disent|suppos\w*|imagin\w*|"
    r"ne sais pas|souvent|generalement)\b"
)
RESETS = r"\b(?:mais|cependant|toutefois|pourtant|neanmoins)\b"
