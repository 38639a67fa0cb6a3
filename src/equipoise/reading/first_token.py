"""The first token: which option the alternatives for a reply's first token favour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from equipoise.reading.folding import DECORATION, bare
from equipoise.reading.names import Names, names
from equipoise.terms import Completion, Nonresponse, Reader, Reading

LEAST_HELD = 0.1


def first_token(options: Mapping[str, Sequence[str]]) -> Reader[str]:
    """A reader of the option that most of the first token's probability begins to name.

    An alternative counts for an option if, folded and without marks round it, it is the
    beginning of that option's names and of no other's, or begins with one of them as a
    whole word. One Latin letter begins no name: "A" may be an article and "I" the writer. The
    option with the most probability is read if it holds more than half of what all options
    hold together, and that is at least a tenth of all probability.

    >>> read = first_token({"A": ("A", "mercy"), "B": ("B", "punishment")})
    >>> read(Completion("", first_token=((" mer", -0.2), ("B", -1.9), ("The", -5.0)))).value
    'A'
    >>> read(Completion("", first_token=(("A", -0.7), ("B", -0.7)))).rule
    'first-token-tie'
    """
    called = names(options)

    def read(completion: Completion) -> Reading[str]:
        if completion.finish == "filter":
            return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
        held: dict[int, list[float]] = {}
        for token, logprob in completion.first_token:
            option = _begins(token, called)
            if option is not None and logprob <= 1e-6:
                held.setdefault(option, []).append(math.exp(logprob))
        sums = {option: math.fsum(parts) for option, parts in held.items()}
        total = math.fsum(sums.values())
        if total < LEAST_HELD:
            said = f"the options hold {total:.3f} of the first token's probability"
            return Reading(Nonresponse("unclear", said), "no-token")
        best = max(sums, key=lambda option: sums[option])
        if sums[best] * 2 <= total * (1 + 1e-12):
            return Reading(Nonresponse("unclear", "no option holds most"), "first-token-tie")
        return Reading(called.values[best], "first-token")

    return read


def _begins(token: str, called: Names) -> int | None:
    """The one option that a token begins to name, or names; None if none or several."""
    said = bare(token).strip(DECORATION)
    if not said:
        return None
    if said in called.exact:
        return called.exact[said]
    if len(said) == 1 and said.isascii():
        return None
    begun = {option for name, option in called.exact.items() if name.startswith(said)}
    begun |= {
        option for name, option in called.exact.items()
        if said.startswith(name) and not said[len(name)].isalnum()
    }
    return begun.pop() if len(begun) == 1 else None
