"""How English replies state a choice; `P` is an option, over a folded skeleton."""

from __future__ import annotations

from equipoise.reading.skeleton import P

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
    r"team|easy|simple|no contest|no question|without (?:a doubt|hesitation|question)"
)
CORRECTIONS = (
    r"(?:(?:no|actually|but|hmm),? )?(?:wait|hold on|hang on)(?:,? (?:no|actually))?|"
    r"actually,? no|no,? actually|"
    r"on (?:second thoughts?|reflection)|correction|scratch that|"
    r"(?:actually,? )?i(?:'ve)? changed? my mind(?: to)?|"
    r"i take (?:that|it) back|let me (?:correct|change|revise|reconsider)(?: (?:that|this|myself|"
    r"my (?:answer|mind|choice)))?|sorry,? (?:i meant|no)|i mean|i meant|no|never ?mind|"
    r"changed my mind|revised|edit"
)
_ADV = (
    r"(?:(?:definitely|personally|probably|clearly|honestly|certainly|strongly|still|always|really|"
    r"firmly|ultimately|absolutely|gladly|happily|therefore|thus|then|also|simply|actually|most "
    r"likely|easily|instead|have to|need to|would|like to|want to|going to|'d) ){0,3}"
)
_VERB = (
    r"(?:choose|pick|select|prefer|take|favou?r|opt for|go for|go with|side with|vote(?: for)?|"
    r"lean(?:ing)?(?: more)?(?: toward| towards| to)?|going with|going for|choosing|picking|"
    r"selecting|"
    r"preferring|opting for|siding with|voting for|chose|picked|selected|chosen|decided on|"
    r"settled? on|stick(?:ing)? with|stand (?:by|with)|recommend|say|answer|respond|reply|"
    r"inclined (?:to choose|to pick|to say|towards?|to)|"
    r"rather(?: have| choose| pick| go with| drink| take)?|prefer to (?:have|choose|pick|drink))"
)
_NOUN = r"(?:answer|choice|pick|preference|vote|selection|decision|response|reply|verdict)"
_ADJ = (
    r"(?:(?:final|own|honest|personal|clear|correct|right|better|best|preferred|stronger|firm|"
    r"definitive|single|one-word|considered|top|instinctive) ){0,2}"
)
_IS = r"(?: is| was| would be|'s| remains| goes to| has to be| must be| will be| leans towards?)"
_BETTER = r"(?:better|preferable|superior|wiser|stronger|nicer|nobler|best)"
_MUCH = (
    r"(?:clearly |definitely |much |far |slightly |simply |probably |a bit |generally |always )?"
)

STATEMENTS = (
    rf"i(?: would|'d|'ll| will| do| must| am|'m| have|'ve| shall|,? personally,?)? ?{_ADV}{_VERB}"
    rf"(?: for)?:? (?P<pick>{P})",
    rf"(?:my|the) {_ADJ}{_NOUN}(?: here| for me| between (?:the two|them))?{_IS}"
    rf"(?: for| clear| simple| therefore| definitely)?:? (?P<pick>{P})",
    rf"my {_ADJ}{_NOUN}:? (?P<pick>{P})",
    rf"the (?:better|correct|right|best|stronger|preferred|preferable) "
    rf"(?:option|one|word|choice|answer)(?: here| for me)?{_IS}:? (?P<pick>{P})",
    rf"the (?:word|one|option|answer|side) i(?:'d| would|'ll| will| have)?(?: now)? "
    rf"(?:choose|pick|prefer|select|go with|chose|chosen){_IS}:? (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:it is|wins(?: for me)?|for me|for the win|gets my vote)",
    rf"(?P<pick>{P}) (?:is|would be|remains|seems|feels like) (?:my|the) {_ADJ}"
    rf"(?:answer|choice|pick|preference|vote|selection|option|one|winner|way to go)",
    rf"(?P<pick>{P}) is (?:what|the one|the option|the word|the answer) i(?:'d| would|'ll| will)? "
    rf"(?:choose|pick|prefer|go with|take|select)",
    rf"(?P<pick>{P}) (?:is|seems|feels|sounds|looks) {_MUCH}(?:better|preferable|best|right|"
    rf"correct|"
    rf"superior)(?: for me| to me)?(?! than| to)",
    rf"only (?P<pick>{P}) is (?:right|correct|acceptable|valid)",
    rf"i(?:'d| would| do)? ?(?:like|enjoy|love|value|want|trust) (?P<pick>{P}) (?:more|better|best|"
    rf"most|much more)",
)
LEADING_STATEMENTS = (
    rf"answer(?: is)? (?P<pick>{P})",
    rf"(?:it(?:'s| is|'d be| would be| has to be| must be|'ll be| will be|'s got to be)|gotta be|"
    rf"has to be|got to be|make it|give me|let's go with|go with|choose|pick|select|"
    rf"put me down for|"
    rf"i'm(?: on)?(?: team)?|i am(?: on)? team|count me in for|choosing|definitely|picking) "
    rf"(?:definitely |probably |clearly |always )?(?P<pick>{P})",
)
COMPARISONS = (
    rf"(?P<pick>{P}) (?:is|seems|feels|looks|would be|sounds) (?:a |the )?{_MUCH}{_BETTER}"
    rf"(?: choice| option| answer| one)? (?:than|to) (?P<drop>{P})",
    rf"(?P<drop>{P}) (?:is|seems|feels|looks|would be) {_MUCH}(?:worse than|inferior to) "
    rf"(?P<pick>{P})",
    rf"(?P<pick>{P}) (?:beats|trumps|outweighs|surpasses) (?P<drop>{P})",
    rf"(?P<pick>{P}) ?> ?(?P<drop>{P})",
)
REJECTED = (
    rf"not (?P<drop>{P}),? (?:but(?: rather)? )?(?P<pick>{P})",
    rf"(?:rather than|instead of) (?P<drop>{P}), (?P<pick>{P})",
    rf"(?P<drop>{P}) is (?:not|wrong|incorrect)[a-z ]{{0,20}}, (?:so )?(?P<pick>{P})(?: is)?",
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
    r"so that|,which|which|who|on the grounds|simply because|mainly because|even though|though|"
    r"although|while|whereas|despite|even if)\b"
)
GOES_ON = (
    r",? ?(?:please|for me|any day|every time|all the way|hands down|here|definitely|for sure|"
    r"of course|without (?:a |any )?(?:doubt|hesitation|question)|personally|myself|i think|"
    r"i guess|"
    r"i suppose|i believe|i'd say|too|again|always|no (?:contest|doubt|question)|probably|"
    r"obviously|clearly|certainly|"
    r"in the end|overall|on balance|this time|today|in this case|by far|by a mile|instead|"
    r"as my (?:final )?(?:answer|choice|pick|preference)|as the (?:better|best|right|correct|"
    r"stronger)"
    r"[a-z ]{0,20}|if (?:i|you|we)(?:'m| am| was| were)? (?:must|had to|have to|insist|forced)"
    r"[a-z ]{0,24}|if (?:forced|pressed)[a-z ]{0,20}|between the two|of the two|"
    r"for (?:its|their|the) [a-z' ,]{0,60}|every single time|thank you|thanks|won't you|then)"
)
BLOCKS = (
    r"\b(?:if|unless|when|whenever|depend\w*|sometimes|maybe|perhaps|or|some|most|many|people|"
    r"others|usually|normally|often|said|says|replied|asked|wrote|whispered|shouted|answered|"
    r"could|might|suppose|imagine|hypothetical\w*|except|not (?:really|sure|always)|wait|"
    r"both(?! (?:have|has|are|sides|options|matter|can))|"
    r"neither|either|equally|critics|they|she|he|someone|somebody|would (?:say|argue)|pretend\w*|"
    r"but|however|can't|cannot|unclear|joking|kidding|used to|until|only|first thought|"
    r"human|user|student|teacher|customer|interviewer|"
    r"according to|were i|had i|assuming|supposing|noun|verb|means)\b"
)
RESETS = r"\b(?:but|however|yet|nevertheless|nonetheless|still|that said|even so)\b"
