"""How English replies state a choice; `P` is an option, over a folded skeleton."""

from __future__ import annotations

from equipoise.reading.comparisons_en import BETTER, COMPARISONS, GOOD, MUCH
from equipoise.reading.skeleton import P

__all__ = [
    "BLOCKS",
    "CANCELS",
    "COMPARISONS",
    "CORRECTIONS",
    "EXPLAINS",
    "GOES_ON",
    "LEADING_STATEMENTS",
    "NEGATED",
    "OPENERS",
    "REFUSALS",
    "REJECTED",
    "RESETS",
    "STATEMENTS",
]

OPENERS = (
    r"ok|okay|sure(?: thing)?|well|hmm+|yes|alright|all right|certainly|of course|absolutely|"
    r"(?:great|good|tough|hard|interesting|difficult) (?:question|choice|one)|honestly|personally|"
    r"so|thus|therefore|hence|then|overall|ultimately|in the end|in conclusion|to conclude|"
    r"in short|in summary|all things considered|after (?:careful |some |much )?(?:thinking|"
    r"thought|consideration|reflection|deliberation|(?:weighing|considering) [a-z ]{1,24})|"
    r"on balance|for me|to me|in my (?:view|opinion)|i think|i believe|"
    r"i(?:'d| would)(?: have to)? (?:say|go with|answer)|i'll (?:say|go with)|i guess|i suppose|"
    r"probably|definitely|clearly|easily|actually|but|and|still|however|that said|that being said|"
    r"if (?:i(?:'m| am| was| were)? )?(?:(?:had|have) to|must|need to|forced to|forced|pressed)"
    r"(?: ?(?:make|give|provide) a choice| ?(?:absolutely )?(?:choose|pick|decide|answer|select|"
    r"say)"
    rf"(?: (?:just |only )?one| between (?:them|the two|{P} and {P})|only)?(?: word)?)?|"
    rf"given (?:the (?:choice|options?|two)|a choice|this)(?: between {P} (?:and|or) {P})?|"
    rf"(?:between|of) (?:the two|these two|those two|these|them|{P} (?:and|or) {P})|"
    r"(?:in )?one word(?: answer)?|with one word|final(?:ly)?|as for me|here goes|"
    r"(?:here is|here's) (?:my|the) (?:answer|choice|pick|reply)|gun to my head|"
    r"on the whole|in general|generally|by default|all else (?:being )?equal|deep down|at heart|"
    r"rather|better|team|easy|simple|no contest|no question|without (?:a doubt|hesitation|"
    r"question)|"
    r"to be (?:honest|fair|clear|frank|brief)|admittedly|truthfully|frankly|"
    r"(?:just )?for the sake of (?:it|(?:the |this )?[a-z]{1,20})|for (?:argument's|"
    r"arguments) sake|"
    rf"(?:sorry|apologies|no offen[cs]e|with (?:all )?(?:due )?respect)(?: to| for)?"
    rf"[a-z' ]{{0,20}}{P}[a-z' ]{{0,20}}|if you (?:insist|must know|really want to know|press me|"
    rf"force me(?: to choose)?|make me choose)|since i (?:must|have to) (?:choose|pick|decide)|"
    rf"if (?:i|we|you) [a-z' ]{{0,30}}\b(?:(?:only|just|but) one|choose one|pick one|choose|pick|"
    rf"decide)(?=[,:])|there's no doubt(?: about it)?"
)
CORRECTIONS = (
    r"(?:(?:no|actually|but|hmm),? )?(?:wait|hold on|hang on)(?:,? (?:no|actually))?|"
    r"actually,? no|no,? actually|"
    r"on (?:second thoughts?|reflection)|correction|scratch that|"
    r"(?:actually,? )?i(?:'ve)? changed? my mind(?: to)?|"
    r"i take (?:that|it) back|let me (?:correct|change|revise|reconsider)(?: (?:that|this|myself|"
    r"my (?:answer|mind|choice)))?|sorry,? (?:i meant|no)|i mean|i meant|no|never ?mind|"
    r"changed my mind|revised|edit|or (?:rather|actually)|make that|i should say|(?:just |"
    r"only )?(?:kidding|joking)|jk"
)
_ADV = (
    r"(?:(?:definitely|personally|probably|clearly|honestly|certainly|strongly|still|always|really|"
    r"firmly|ultimately|absolutely|gladly|happily|therefore|thus|then|also|simply|actually|most "
    r"likely|easily|instead|slightly|somewhat|a bit|a little|a touch|marginally|gonna|just|much|"
    r"have to|need to|would|like to|want to|going to|'d) ){0,3}"
)
_VERB = (
    r"(?:choose|pick|select|prefer|take|favou?r|opt for|go for|go with|side with|vote(?: for)?|"
    r"lean(?:ing)?(?: more)?(?: toward| towards| to)?|going with|going for|choosing|picking|"
    r"selecting|"
    r"preferring|opting for|siding with|voting for|chose|picked|selected|chosen|decided on|"
    r"settled? on|stick(?:ing)? with|stand (?:by|with)|recommend|say|answer|respond|reply|"
    r"(?:\w{4,9}ly )?inclined (?:to choose|to pick|to say|towards?|to)|lean(?:ing|ed)? "
    r"(?:slightly|somewhat|a bit|a little|strongly|heavily|more)(?: more)? (?:towards?|to)|"
    r"argue for|root(?:ing)? for|cheer for|back|endorse|plump for|gravitate (?:to|towards?)|"
    r"tend (?:to|towards?)|swear by|go|vouch for|answer with|reply with|respond with|stand for|"
    r"believe (?:more )?in|"
    r"(?:resonate|identify|connect|align|sympathi[sz]e|agree)(?: more| most| better)?(?: strongly|"
    r" closely)? with|come down on the side of|(?:on|take) the side of|"
    r"count me in for|"
    r"rather(?: have| choose| pick| go with| drink| take)?|prefer to (?:have|choose|pick|drink))"
)
_NOUN = (
    r"(?:answer|choice|pick|preference|vote|selection|decision|response|reply|verdict|winner|"
    r"favou?rite|money|allegiance)"
)
_ADJ = (
    r"(?:(?:final|own|honest|personal|clear|correct|right|better|best|preferred|stronger|firm|"
    r"definitive|single|one-word|considered|top|instinctive) ){0,2}"
)
_IS = (
    r"(?: is| was| would be|'s| remains| goes to| has to be| must be| will be|"
    r"(?: would)?(?: clearly| slightly| probably| definitely| always)? (?:leans?|goes|go|lies|"
    r"falls|"
    r"stands?|tips?)(?: more| slightly)?(?: towards?| to| with| on)?)"
)


STATEMENTS = (
    rf"i(?: would|'d|'ll| will| do| must| am|'m| have|'ve| shall|,? personally,?)? ?{_ADV}{_VERB}"
    rf"(?: for)?:? (?:the (?!absence|lack|end|death|loss|opposite|abolition|denial|idea of no)"
    rf"\w{{3,12}} of )?(?P<pick>{P})",
    rf"i(?:'m| am| have always been| will always be|'ve always been) {_ADV}(?:more of |very much )?"
    rf"(?:an? )?(?P<pick>{P}) (?:person|drinker|lover|fan|guy|girl|man|woman|type|people|"
    rf"enthusiast|"
    rf"partisan|devotee|supporter)",
    rf"(?:i'll have|make mine|pour me|serve me|bring me|hand me|get me)(?: an?)? (?P<pick>{P})",
    rf"i (?:(?!(?:s?he|him|her|they|them|you|who|people)\b)[a-z']{{1,12}} ){{1,5}}"
    rf"(?:{P}(?: [a-z']{{1,12}}){{0,4}})?,? ?but (?:ultimately |finally |in the end )?(?:chose|"
    rf"choose|picked|pick|prefer|would choose|would pick|will go with|settled on|went with|go with|"
    rf"opted for|decided on|(?:am|'m) going with|decided to go with) (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:appeals|resonates|speaks)(?: more| most| better)?(?: strongly| deeply)? "
    rf"(?:to|with) me(?: more| most| better)?(?! than)",
    rf"(?P<pick>{P}) (?:appeals|speaks|matters|means) (?:to me )?(?:the )?(?:more|most)(?: to me)?"
    rf"(?! than)",
    rf"(?P<pick>{P}) (?:edges (?:it|out)|takes (?:it|the cake|the crown)|comes out on top|"
    rf"prevails)",
    rf"(?:the )?(?:scales?|balance|needle) tips? (?:towards?|to|in favou?r of) (?P<pick>{P})",
    rf"(?:there's |there is )?nothing (?:is )?(?:better|more {GOOD}) than (?P<pick>{P})",
    rf"i(?: personally| really)? (?:find|consider|think|deem|rate) (?P<pick>{P}) (?:to be )?"
    rf"(?:(?:much|far|slightly|the) )?(?:{BETTER}|more {GOOD})(?: \w+)?(?! than| to)(?=[.,!]|$)",
    rf"(?P<pick>{P}) (?:is|are|seems?|sounds?|feels?|looks?|tastes?) {MUCH}more {GOOD}(?: to me|"
    rf" for me)?(?! than| to)(?=[.,!]|$)",
    rf"(?P<pick>{P}) (?:is|are|would be|remains) (?:my|the) (?:all-time |absolute |personal |"
    rf"clear )?"
    rf"(?:favou?rite|winner|(?:better|superior|best|right) [a-z]{{3,12}}|"
    rf"[a-z]{{3,9}}er (?:of the two|choice|option|path|value|"
    rf"virtue|ideal|principle|good|answer|word|one|way|cause))",
    rf"(?:my|the) {_ADJ}{_NOUN}(?: here| for me| between (?:the two|them))?{_IS}"
    rf"(?: for| clear| simple| therefore| definitely)?:? (?P<pick>{P})",
    rf"my {_ADJ}{_NOUN}:? (?P<pick>{P})",
    rf"my first (?:choice|pick) (?:is|would be|will always be):? (?P<pick>{P})",
    rf"the (?:better|correct|right|best|stronger|preferred|preferable) "
    rf"(?:option|one|word|choice|answer)(?: here| for me)?{_IS}:? (?P<pick>{P})",
    rf"the (?:word|one|option|answer|side) i(?:'d| would|'ll| will| have)?(?: now)? "
    rf"(?:choose|pick|prefer|select|go with|chose|chosen){_IS}:? (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:it is|wins(?: for me)?|for me|for the win|gets my vote)",
    rf"(?P<pick>{P}) (?:is|would be|remains|seems|feels like) (?:my|the) {_ADJ}"
    rf"(?:answer|choice|pick|preference|vote|selection|option|one|winner|way to go)",
    rf"(?P<pick>{P}) is (?:what|the one|the option|the word|the answer) i(?:'d| would|'ll| will)? "
    rf"(?:choose|pick|prefer|go with|take|select)",
    rf"(?P<pick>{P}) (?:is|seems|feels|sounds|looks) {MUCH}(?:better|preferable|best|right|"
    rf"correct|"
    rf"superior)(?: for me| to me)?(?! than| to)",
    rf"(?:nothing|no other) (?:beats|tops|compares (?:to|with)|comes close to|is better than|"
    rf"can beat|could beat|matches|rivals) (?:a )?(?:good )?(?P<pick>{P})",
    rf"(?:you|i|one) (?:can't|cannot|can never|couldn't) (?:beat|top) (?:a )?(?:good )?"
    rf"(?P<pick>{P})",
    rf"(?P<pick>{P}) (?:is|are) better(?: to me| for me)?(?=[.,!]|$)",
    rf"only (?P<pick>{P}) is (?:right|correct|acceptable|valid)",
    rf"i(?:'d| would| do)? ?(?:like|enjoy|love|value|want|trust) (?P<pick>{P}) (?:more|better|best|"
    rf"most|much more)",
)
LEADING_STATEMENTS = (
    rf"answer(?: is)? (?P<pick>{P})",
    rf"(?:it(?:'s| is|'d be| would be| has to be| must be|'ll be| will be|'s got to be|"
    rf"'s gotta be|'d have to be|'ll have to be| would have to be)|gotta be|"
    rf"has to be|got to be|make it|give me|let's go with|go with|choose|pick|select|"
    rf"put me down for|going with|gonna go with|rooting for|team|"
    rf"i'm(?: on)?(?: team)?|i am(?: on)? team|count me in for|choosing|definitely|picking) "
    rf"(?:definitely |probably |clearly |always )?(?P<pick>{P})",
    rf"(?:the|my) (?:word|option|one|letter)(?: is|:) (?P<pick>{P})",
    rf"now (?:it's|it is|i'm|only )? ?(?P<pick>{P})",
)
REJECTED = (
    rf"not (?P<drop>{P}),? (?:but(?: rather)? )?(?P<pick>{P})",
    rf"(?:rather than|instead of) (?P<drop>{P}), (?P<pick>{P})",
    rf"(?P<drop>{P}) is (?:not|wrong|incorrect)[a-z ]{{0,20}}, (?:so )?(?P<pick>{P})(?: is)?",
    rf"(?:it|this|that|(?:my|the) {_ADJ}{_NOUN})(?:'s not| is not| isn't| wouldn't be|"
    rf" would not be) (?P<drop>{P})[,:]? (?:but |rather |it's |it is |it'd be |instead ){{0,2}}"
    rf"(?P<pick>{P})",
    rf"i (?:don't|do not|won't|wouldn't|would not|will not) (?:\w+ ){{1,3}}(?P<drop>{P})[,:] "
    rf"(?:but |instead |rather )?(?:i (?:\w+ ){{1,3}}|i'd (?:\w+ ){{1,3}})?(?P<pick>{P})",
    rf"(?:never|not|no) (?P<drop>{P}),? (?:always|only|but|rather) (?P<pick>{P})",
    rf"not (?:a fan of |into |big on |keen on )(?P<drop>{P}), so (?P<pick>{P})",
    rf"not (?P<drop>{P})[,:] (?:but |rather |it's ){{0,2}}(?P<pick>{P})",
)
NEGATED = (
    rf"(?:not|never|no|nor|neither|anything but|avoid|reject|rejecting|except|against|besides|"
    rf"cannot|can't|won't|don't|didn't|wouldn't|couldn't) (?:(?:ever|really|simply|actually|the|"
    rf"choose|choosing|pick|picking|select|selecting|prefer|go with|take|favou?r|say|opt for|for|"
    rf"recommend|vote|support|want|like|give) ){{0,3}}(?P<drop>{P})",
)
CANCELS = (
    r"\bneither\b|\bboth(?! (?:have|has|are|sides|options|had|can|of these have|offer|matter))|"
    r"\bit(?: really| all)? depends\b|\b(?:no|not have a|don't have a) (?:strong |clear |real |"
    r"particular )*preference\b|\bi(?:'m| am) (?:not sure|unsure|torn|undecided)\b|"
    r"\bi don't know\b|"
    r"\b(?:can't|cannot) (?:decide|say|choose between)\b|\b(?:just )?(?:kidding|joking)\b|"
    r"\beither(?: one| of)?(?: is| are| works| would)\b|^(?:neither|either|none|not|nope|no|nah)$|"
    r"\bequally (?:good|valid|important|valuable)\b|\bnone of (?:the above|these|them)\b|"
    rf"^(?:(?:or|and|also|maybe|perhaps|possibly),? ){{1,3}}{P}|\bcoin (?:flip|toss)\b|"
    rf"\ba bit of (?:each|both)"
)
REFUSALS = (
    r"\bas an? (?:ai|artificial|language model|large language|assistant|llm)\b|"
    r"\bi(?:'m| am) (?:just )?an? (?:ai|language model|artificial)\b|"
    r"\bi(?:'m| am)? ?(?:can't|cannot|can not|won't|will not|am not able to|'m not able to|"
    r"'m unable to|am unable to|must decline|have to decline|decline to|refuse to|'d rather not|"
    r"would rather not|prefer not to|am not going to|'m not going to|do not wish to|"
    r"don't (?:think i (?:can|should)|feel comfortable)|must refuse|'m not comfortable|"
    r"am not comfortable)(?: to)?(?=(?: \w+)? ?(?:choose|choosing|pick|picking|answer|answering|"
    r"select|help|assist|comply|provide|make|express|give|say|take|do|participate|engage|offer|"
    rf"fulfil|respond|discuss|play|choice|that|this|state|share|reply|continue|with)\b(?! ?{P})|"
    r"\W*(?:$|[.,;:\n]))|"
    r"\bi(?:'m| am)? ?(?:don't|do not|lack)(?: really| actually)?(?: have)?(?: any)?(?: personal|"
    r" own|"
    r" actual)* (?:preferences|opinions|feelings|beliefs|desires|likes|tastes)\b|"
    rf"\bi (?:decline|refuse|abstain|respectfully decline)\b(?!(?: to)? \w+ {P})|\bnot (?:able|"
    rf"allowed) to (?:choose|answer"
    r"|pick|help)"
)
EXPLAINS = (
    r",? ?(?:because|since|given|due to|thanks to|as (?:it|they|this|that|i|the|there|its|a|in)\b|"
    r"so that|,which|which|who|on the grounds|in ¤ (?:to|that)|not (?:just |only |merely )?because|"
    r"however (?:un|dis|im)?[a-z]{4,}|simply because|mainly because|even though|though|"
    r"although|while|whereas|despite|even if)\b"
)
GOES_ON = (
    r",? ?(?:please|for me|any day(?: of the week)?|every time|all the way|hands down|here|"
    r"definitely|for sure|"
    r"of course|without (?:a |any )?(?:doubt|hesitation|question)|personally|myself|i think|"
    r"i guess|"
    r"i suppose|i believe|i'd say|too|again|always|no (?:contest|doubt|question)|probably|"
    r"obviously|clearly|certainly|"
    r"in the end|overall|on balance|this time|today|in this case|by far|by a mile|instead|"
    r"as my (?:final )?(?:answer|choice|pick|preference)|as the (?:better|best|right|correct|"
    r"stronger)"
    r"[a-z ]{0,20}|if (?:i|you|we)(?:'m| am| was| were)? (?:must|had to|have to|insist|forced)"
    r"[a-z ]{0,24}|if (?:forced|pressed)[a-z ]{0,20}|between the two|of the two|"
    r"for (?:its|their|the) [a-z' ,]{0,60}|every single time|thank you|thanks|won't you|then|"
    r"in my (?:book|opinion|view|eyes|experience|mind)|to my mind|to me|if you ask me|honestly|"
    r"first and foremost|first|above all(?: else)?|above everything|all day(?: long)?|anytime|"
    r"by a (?:long|wide|large) (?:shot|way|margin)|any day of the week|now|frankly|really|indeed|"
    r"after all|on this one|in this (?:case|matchup|instance|scenario)|any day[a-z ]{0,20}|"
    r"all the way,? \w{2,8}|by an? \w{2,8}|and (?:leave|stick|stand|that's|i mean|"
    r"i'm)[a-z' ]{1,30}|"
    r"more|a bit more|a little more|every (?:single )?(?:day|time)|but only just)"
)
BLOCKS = (
    r"\b(?:if|unless|when|whenever|depend\w*|sometimes|maybe|perhaps|or|some|most|many|people|"
    r"others|usually|normally|often|said|says|replied|asked|wrote|whispered|shouted|answered|"
    r"could|might|suppose|imagine|hypothetical\w*|except|not (?:really|sure|always)|wait|"
    r"both(?! (?:have|has|are|sides|options|matter|can))|"
    r"neither|either|equally|critics|they|she|he|someone|somebody|would (?:say|argue)|pretend\w*|"
    r"but|however|can't|cannot|unclear|joking|kidding|used to|until|only|first thought|"
    r"human|user|student|teacher|customer|interviewer|"
    r"(?:in|at|during|on|for|before|after) (?:the |an? |my )?(?:\w+ )?(?:mornings?|evenings?|"
    r"nights?|"
    r"afternoons?|summers?|winters?|spring|autumn|breakfast|lunch|dinner|wars?|wartime|crisis|"
    r"emergency|emergencies|weekends?|weekdays?|mondays?|fridays?|sundays?|work|sleep)|"
    r"according to|were i|had i|assuming|supposing|noun|verb|means)\b"
)
RESETS = r"\b(?:but|however|yet|nevertheless|nonetheless|still|that said|even so)\b"
