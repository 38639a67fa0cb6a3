"""What a run's calls came to by its ledger: outcomes, tokens, and what each is booked at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

import msgspec

from equipoise.ledger import Ledger, Run, Sent
from equipoise.providers import dialect
from equipoise.providers.prices import FREE, UNKNOWN, Price, Priced
from equipoise.stats.undefined import Undefined
from equipoise.terms import Completion, Reply, Request, Subject, Usage


@dataclass
class Tally:
    """What a subject's calls came to: outcomes, tokens, and dollars by how they are known.

    `worst_usd` is for calls that may have been billed and say nothing of it; `unpriced` counts
    replies that no price is known for and that state no cost.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    stated: int = 0
    stated_usd: float = 0.0
    computed_usd: float = 0.0
    worst_usd: float = 0.0
    unpriced: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def latency(self) -> float | Undefined:
        """The median reply's seconds, from sending to the last byte."""
        return median(self.seconds) if self.seconds else Undefined("no_data")

    @property
    def usd(self) -> float:
        return self.stated_usd + self.computed_usd + self.worst_usd

    @property
    def calls(self) -> int:
        """Tries that were sent, or may have been."""
        return sum(self.outcomes.values()) - self.outcomes["not sent"]


def tallied(ledger: Ledger, run: Run, prices: Mapping[str, Priced]) -> dict[str, Tally]:
    """Every subject's calls as the ledger has them, each try counted; the unknown at their worst.

    A call that was asked again after it was unknown is booked twice: it may have been billed
    twice.
    """
    found: dict[str, Tally] = {}
    for sent in ledger.calls(run.seq):
        _tally(found.setdefault(sent.subject.name, Tally()), sent, prices)
    return found


def _tally(tally: Tally, sent: Sent, prices: Mapping[str, Priced]) -> None:
    if sent.reply is not None:
        tally.seconds.append(sent.reply.seconds)
    price = prices.get(sent.subject.name, UNKNOWN).price
    if not dialect(sent.subject.dialect).paid:
        price = FREE.price
    if sent.kind == "fault":
        tally.outcomes["not sent"] += 1
    elif sent.reply is None:
        tally.outcomes["unknown" if sent.kind in ("intent", "unknown") else "erased"] += 1
        _at_worst(tally, price, sent.body)
    else:
        _count(tally, price, sent.body, sent.reply, usage_of(sent.subject, sent.reply))


def _count(tally: Tally, price: Price | None, body: bytes, reply: Reply, usage: Usage) -> None:
    served = 200 <= reply.status < 300
    tally.outcomes["replies" if served else "refused"] += 1
    tally.tokens.update({name: count for name in ("prompt", "completion", "reasoning", "cached")
                         if (count := getattr(usage, name)) is not None and count > 0})
    stated = Price(0.0, 0.0).cost(Usage(cost_usd=usage.cost_usd))
    if stated is not None:
        tally.stated += 1
        tally.stated_usd += stated
    elif price is not None and (cost := price.cost(usage)) is not None:
        tally.computed_usd += cost
    elif served:
        _at_worst(tally, price, body)


@dataclass(frozen=True, slots=True)
class Booked:
    """What one try is booked at, in USD: as its reply states, else by price, else at the worst.

    `id` is the provider's own name for the call, "" where no reply says it.
    """

    id: str
    usd: float
    stated: bool = False
    at_worst: bool = False


def booked_calls(ledger: Ledger, run: Run, prices: Mapping[str, Priced]) -> Iterator[Booked]:
    """Every try of a run that was sent, or may have been, and what it is booked at."""
    for sent in ledger.calls(run.seq):
        if sent.kind != "fault":
            tally = Tally()
            _tally(tally, sent, prices)
            yield Booked(reply_id(sent.reply.body) if sent.reply else "", tally.usd,
                         tally.stated > 0, tally.worst_usd > 0 or tally.unpriced > 0)


class _Named(msgspec.Struct, gc=False):
    id: str | None = None
    responseId: str | None = None


_named = msgspec.json.Decoder(_Named)


def reply_id(body: bytes) -> str:
    """The provider's own name for a call, as its reply states it; "" where it states none.

    >>> reply_id(b'{"id":"gen-1","choices":[]}'), reply_id(b"<html>")
    ('gen-1', '')
    """
    try:
        found = _named.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _looked_at_again(body)
    return found.id or found.responseId or ""


def _looked_at_again(body: bytes) -> str:
    """The same where the strict decoder refuses something beside the id."""
    try:
        said = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return ""
    named = [said[key] for key in ("id", "responseId") if said.get(key)] if isinstance(
        said, dict) else []
    return str(named[0]) if named else ""


def _at_worst(tally: Tally, price: Price | None, body: bytes) -> None:
    if price is None:
        tally.unpriced += 1
    elif not price.free:
        tally.worst_usd += price.worst(body)


def usage_of(subject: Subject, reply: Reply) -> Usage:
    """The tokens and the cost a reply states, in the subject's own dialect."""
    found = dialect(subject.dialect).decode(reply)
    return found.usage if isinstance(found, Completion) else Usage()


def usage(request: Request, reply: Reply) -> Usage:
    """The tokens and the cost that a reply to this request states."""
    return usage_of(request.subject, reply)
