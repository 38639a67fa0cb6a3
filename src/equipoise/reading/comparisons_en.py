"""How English sets one option above another; `P` is an option, over a folded skeleton."""

from __future__ import annotations

from equipoise.reading.skeleton import P

BETTER = r"(?:better|preferable|superior|wiser|nicer|nobler|lovelier|best)"
MUCH = (
    r"(?:clearly |definitely |much |far |slightly |simply |probably |a bit |generally |always )?"
)
GOOD = (
    r"(?:important|just|humane|sensible|reasonable|interesting|compelling|rewarding|valuable|"
    r"precious|appealing|attractive|"
    r"desirable|enjoyable|satisfying|"
    r"meaningful|essential|vital|lovable|likeable|delicious|tasty|fun|pleasant|worthwhile|"
    r"noble|sacred|good|great|nice|fine|dear)"
)
_BE = r"(?:is|are|seems?|feels?|looks?|sounds?|tastes?|would be|remains?)"
_MINE = (
    r"(?: (?:to me|for me|in my (?:book|eyes|view|opinion|experience)|personally|i think))?"
)
_FAR = r"(?:(?:so|way|far|much|clearly|definitely|a lot|lots|a bit|slightly|even|always) ){0,3}"
_FORGO = (
    r"(?:give up|lose|sacrifice|forgo|go without|do without|live without|part with|abandon|"
    r"surrender|miss out on|drop|skip)"
)
_LIKE = r"(?:like|love|value|enjoy|appreciate|prize|treasure|cherish|esteem|rate|trust|want|need)"
COMPARISONS = (
    rf"(?P<pick>{P}) {_BE} (?:a |the )?{_FAR}{MUCH}(?:{BETTER}|tastier|dearer|"
    rf"more {GOOD})(?: choice| option| answer| one)?{_MINE} (?:than|to) (?P<drop>{P})",
    rf"(?P<drop>{P}) {_BE} {_FAR}{MUCH}(?:worse{_MINE} than|inferior to|"
    rf"less {GOOD}{_MINE} than) (?P<pick>{P})",
    rf"(?P<drop>{P}) (?:isn't|aren't|is not|are not|is nowhere near|are nowhere near|"
    rf"doesn't (?:seem|taste|feel)|is never|will never be|could never be) "
    rf"(?:(?:nearly|quite|half|remotely|anywhere near|just) )?(?:as|so) {GOOD}{_MINE} as "
    rf"(?P<pick>{P})",
    rf"(?P<pick>{P}) (?:matters?|counts?|means?|weighs?|appeals?(?: to me)?|is worth|are worth)"
    rf"{_MINE} {_FAR}more{_MINE} than (?P<drop>{P})",
    rf"(?P<drop>{P}) (?:matters?|counts?|means?|weighs?|appeals?(?: to me)?|is worth|are worth)"
    rf"{_MINE} {_FAR}less{_MINE} than (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:suits?|fits?|pleases?) me {_FAR}(?:better|more) than (?P<drop>{P})",
    rf"(?P<drop>{P}) (?:suits?|fits?|pleases?) me {_FAR}less than (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:comes?|ranks?|stands?)(?: first,?)?{_MINE} (?:before|above|ahead of|over|"
    rf"higher than) (?P<drop>{P})",
    rf"(?P<drop>{P}) (?:comes?|ranks?|stands?){_MINE} (?:after|below|behind|lower than|second to) "
    rf"(?P<pick>{P})",
    rf"i(?:'d| would) (?:much )?(?:rather|sooner) {_FORGO} (?P<drop>{P}) than (?P<pick>{P})",
    rf"i(?:'d| would|'ll| will) (?:gladly |happily |always )?(?:trade|swap|exchange|sacrifice|"
    rf"give up) (?P<drop>{P}) for (?P<pick>{P})",
    rf"i(?:'d| would|'ll| will| could)? never (?:trade|swap|exchange|sacrifice|give up) "
    rf"(?P<pick>{P}) for (?P<drop>{P})",
    rf"i(?:'d| would| do| personally| really)? ?{_LIKE} (?P<drop>{P}) {_FAR}less than "
    rf"(?:i {_LIKE} )?(?P<pick>{P})",
    rf"i(?:'d| would| do| personally| really)? ?{_LIKE} (?P<pick>{P}) {_FAR}(?:more|better|higher) "
    rf"than (?:i {_LIKE} )?(?P<drop>{P})",
    rf"i (?:personally )?(?:care|think|mind) {_FAR}more (?:about|of) (?P<pick>{P}) than "
    rf"(?:about |of )?(?P<drop>{P})",
    rf"i (?:personally )?(?:care|think|mind) {_FAR}less (?:about|of) (?P<drop>{P}) than "
    rf"(?:about |of )?(?P<pick>{P})",
    rf"i(?: personally| really)? (?:find|consider|think|deem|rate) (?P<pick>{P}) (?:to be )?"
    rf"{_FAR}(?:{BETTER}|more {GOOD}) (?:than|to) (?P<drop>{P})",
    rf"i(?: personally| always)? (?:rate|rank|place|put|hold) (?P<pick>{P}) (?:far |well |way )?"
    rf"(?:above|over|before|ahead of) (?P<drop>{P})",
    rf"(?P<pick>{P}) (?:beats?|trumps?|outweighs?|surpass(?:es)?|tops?|outranks?|outshines?) "
    rf"(?P<drop>{P})",
    rf"(?P<drop>{P}) (?:pales? (?:in comparison (?:to|with)|beside|next to|before)|"
    rf"(?:is|are) no (?:match|substitute) for|(?:doesn't|don't|can't|cannot) (?:hold a candle to|"
    rf"compete with|compare (?:to|with)|match|beat|rival|measure up to)) (?P<pick>{P})",
    rf"(?P<drop>{P})[a-z', ]{{1,40}}, but (?:it's|it is|they're|they are) no (?P<pick>{P})",
    rf"(?P<pick>{P}) (?:appeals|resonates|speaks) more (?:strongly |deeply )?(?:to|with) me than "
    rf"(?P<drop>{P})",
    rf"(?:better|rather|sooner) (?P<pick>{P}) than (?P<drop>{P})",
    rf"(?P<pick>{P}) ?>{{1,3}} ?(?P<drop>{P})",
    rf"(?P<drop>{P}) ?<{{1,3}} ?(?P<pick>{P})",
)
