"""The choice a reply states, by published rules; `unclear` where none of them is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.reading.folding import DECORATION
from equipoise.reading.names import names
from equipoise.terms import Completion, Nonresponse, Reader, Reading


def stated_choice(options: Mapping[str, Sequence[str]]) -> Reader[str]:
    """A reader of which option a reply states as its choice.

    `options` maps each value to the names it may go by; letters count only where they are
    given as names. What is read is what the writer says in their own voice, unconditionally
    and last; a hedge, a question, a condition, another's words or a contradiction is
    `unclear`, a refusal without a choice `refused`. Names are compared folded (see
    `folding`), and reasoning sent with the reply is never read.

    >>> read = stated_choice({"A": ("A", "mercy"), "B": ("B", "punishment")})
    >>> read(Completion("While A has merits, my answer is B."))
    Reading(value='B', rule='stated-preference', span=(20, 34))
    >>> read(Completion("I would not choose mercy.")).value
    Nonresponse(kind='unclear', detail='')
    """
    spelled = {name: value for value, said in options.items() for name in said}

    def read(completion: Completion) -> Reading[str]:
        text = completion.text
        if completion.finish == "length":
            return Reading(Nonresponse("truncated", "stopped at the token limit"), "cut-off")
        if completion.finish == "filter":
            return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
        if (value := spelled.get(text)) is not None:
            return Reading(value, "whole-reply", (0, len(text)))
        called = names(options)
        if len(text) < 64 and text.isascii():
            short = text.strip(DECORATION)
            option = called.exact.get(short.lower())
            if option is not None:
                start = text.index(short)
                return Reading(called.values[option], "whole-reply", (start, start + len(short)))
        # Imported here: its patterns take a while to compile, and most replies need none.
        from equipoise.reading.statement import state

        return state(text, called)

    return read
