"""Which result of a batch is whose: by our id and the request's hash, never guessed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from equipoise.providers.batch_form import Result
from equipoise.terms import Fault, Reply

HASH_DIGITS = 32


class Matched(NamedTuple):
    """What the result lines of a batch say of the names asked about.

    `strange` are ids that are none of ours, or ours with another request's hash; `doubled` ids
    with more than one line; `unread` counts lines that are no results.
    """

    outcomes: dict[str, Reply | Fault]
    strange: list[str]
    doubled: list[str]
    unread: int


def new_token() -> str:
    """A name for a batch that no other has."""
    return secrets.token_hex(6)


def named(token: str, intent: int, stamp: bytes) -> str:
    """The id of a request in a batch: the batch's token, the call's intent, the request's hash.

    At most 64 of letters, digits and dashes, which every interface takes. Equal requests of two
    draws have different intents, and so different ids.

    >>> named("5f0c2b7a91d3", 17, bytes(32))
    '5f0c2b7a91d3-17-00000000000000000000000000000000'
    """
    return f"{token}-{intent}-{stamp.hex()[:HASH_DIGITS]}"


def matched(
    names: Collection[str], lines: Iterable[bytes], read: Callable[[bytes], Result | None]
) -> Matched:
    """Each name's outcome, whatever order the lines are in.

    Two lines of one name that say the same are one; two that differ make the call unknown,
    as which of them is the reply cannot be known.
    """
    found, wanted = Matched({}, [], [], 0), set(names)
    unread = 0
    for line in lines:
        if not line.strip():
            continue
        result = read(line)
        if result is None:
            unread += 1
        elif result.name not in wanted:
            found.strange.append(result.name)
        elif result.name not in found.outcomes:
            found.outcomes[result.name] = result.outcome
        else:
            found.doubled.append(result.name)
            if found.outcomes[result.name] != result.outcome:
                found.outcomes[result.name] = Fault(
                    "unknown", "the batch holds two results under its id, and they differ")
    return found._replace(unread=unread)
