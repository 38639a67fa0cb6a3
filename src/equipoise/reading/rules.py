"""The rules: every name a reading can carry, and what the rule of that name does."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    # how an answer was found
    "whole-reply": "The whole reply, without marks round it, is one option's name or label.",
    "contract-line": "The last line or sentence that begins with a word such as ANSWER, Réponse "
    "or 答案 and a separator names one option, in a way another rule reads.",
    "json-choice": "A JSON object holds one option under a key such as choice or answer, or under "
    "its only key.",
    "python-return": "All return or print lines of a Python reply give the same option.",
    "leading-option": "A clause begins with an option by itself, after opening words at most, and "
    "what follows only explains it.",
    "stated-preference": "The writer states a choice in their own voice: I choose, my answer is, "
    "je préfère, 我选择.",
    "comparison": "One option is said to be better than the other.",
    "rejected-other": "One option is set against the other that is turned down: not A but B.",
    "closing-option": "A clause ends with an option by itself, after a colon, a but or a so, and "
    "what stands before it is the writer's own decision, concession or reason.",
    "full-name": "The whole reply is one full name that ends in an option given with a capital.",
    "emoji-name": "The whole reply is emoji whose Unicode name is one option's name.",
    "changed-mind": "A later choice, marked as a change of mind, stands against an earlier one.",
    "first-word": "The option word that is named first; nothing else is looked at.",
    "first-token": "One option holds more than half of the first token's probability that begins "
    "to name any option.",
    "whole-number": "The whole reply is one number, with a percent sign or 'out of 100' at most.",
    "concluded-number": "The number follows a concluding phrase: my probability is, so, je dirais, "
    "我的答案是.",
    "leading-number": "A number begins the reply and no other number competes with it.",
    "only-number": "The reply's only number is called a probability or a chance, without bounds.",
    "chinese-number": "The whole reply is a number from 0 to 100 in Chinese numerals.",
    "fraction": "The whole reply is a fraction of two whole numbers, read as points: 1/2 is 50, "
    "and so is 1 in 2.",
    "whole-proportion": "A number written 1.0 is the whole as a proportion, and is read as 100.",
    "number-object": "The whole reply is a JSON object with one key, which holds a number.",
    "python-number": "The whole reply is a line of Python that returns or prints a number.",
    "corrected-number": "The reply gives two numbers and puts the last in the place of the first.",
    "spelled-number": "The whole reply is a number from 0 to 100 spelled in English or French.",
    "whole-object": "The whole reply is one JSON object.",
    "fenced-object": "One JSON object stands in a code fence, which is left out.",
    "object-in-prose": "One JSON object stands among words, which are left out.",
    "wide-marks": "There is one JSON object once full-width and curly marks are taken as JSON's "
    "own.",
    "single-quotes": "There is one JSON object once single quotes, where no double one stands, are "
    "taken as JSON's own.",
    "quoted-object": "The whole reply is one JSON string that holds one JSON object.",
    "repeated-object": "The same JSON object stands more than once.",
    "bare-keys": "There is one JSON object once keys without quotes are taken as quoted.",
    "key-case": "A key of the contract is found once capitals are set aside.",
    # why there is no answer
    "empty": "Nothing was said, or nothing outside the reasoning.",
    "cut-off": "The reply stopped at the token limit and is not read.",
    "filtered": "The provider's filter stopped the reply.",
    "unfinished-thinking": "The reply ended inside its reasoning.",
    "too-long": "The reply is longer than the reader reads.",
    "refusal": "The reply declines to answer and states no choice.",
    "hedged": "The reply takes both, neither, or says that it depends.",
    "two-answers": "The reply says two things against each other and does not say which stands.",
    "only-rejected": "The reply only says what it does not choose.",
    "unread-contract": "The last contract line names no option that can be read.",
    "no-choice": "No rule reads a choice in the reply.",
    "no-word": "Neither option word is named.",
    "no-token": "The options hold less than a tenth of the first token's probability.",
    "first-token-tie": "No option holds more than half of the probability.",
    "out-of-range": "The number stated is not from 0 to 100; it is never clamped.",
    "maybe-proportion": "A number between 0 and 1 with a decimal point may be a proportion, and "
    "the "
    "scale is 0 to 100.",
    "several-numbers": "Several numbers are given, and no rule says which is meant.",
    "no-number-stated": "No rule reads a number in the reply.",
    "no-object": "The reply holds no JSON object.",
    "two-objects": "The reply holds JSON objects that differ.",
    "not-json": "What begins as an object is not JSON; it is not repaired.",
    "too-deep": "The brackets nest deeper than is read.",
    "duplicate-key": "An object has the same key twice.",
    "no-number": "NaN, Infinity, or a number too large to hold.",
    "missing-key": "A key that the contract requires is missing.",
    "wrong-type": "A key's value is not of the type that the contract requires.",
    "placeholder": "A string only holds an answer's place: empty, dots, <your choice here>.",
    "disowned-object": "The sentence round the object denies it, supposes it or gives it as an "
    "example.",
}
