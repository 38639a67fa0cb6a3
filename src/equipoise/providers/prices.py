"""What a call costs: prices by tokens, the most a request can cost, and where a price is from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from equipoise.terms import Misuse, Subject, Usage

MOST_TOKENS = 10**9
"""No call has as many: a count above it is a provider's mistake."""
TOOL_TOKENS = 1000
"""What a provider may add to a prompt that carries tools, beside the bytes that were sent."""


class _Nested(msgspec.Struct, gc=False):
    maxOutputTokens: Any = None
    candidateCount: Any = None


class _Limited(msgspec.Struct, gc=False):
    """The fields of a request that bound its cost, whatever its dialect."""

    model: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    generationConfig: _Nested | None = None
    n: Any = None
    tools: Any = None


_decoder = msgspec.json.Decoder(_Limited)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million prompt tokens and for a million completion tokens.

    `cached` is for prompt tokens that the provider read from its cache, where they cost
    otherwise; `call` is in dollars for each call, beside its tokens; a tier (start, prompt,
    completion) holds for the whole of a call with more prompt tokens than its start, cached or
    not. Reasoning tokens are completion tokens.
    """

    prompt: float
    completion: float
    cached: float | None = None
    call: float = 0.0
    tiers: tuple[tuple[int, float, float], ...] = ()

    @property
    def free(self) -> bool:
        """Whether nothing costs anything."""
        return not (self.prompt or self.completion or self.cached or self.call or self.tiers)

    def times(self, share: float) -> Price:
        """The price at a share of it, as for calls in a batch.

        >>> Price(2.0, 10.0, cached=0.5).times(0.5)
        Price(prompt=1.0, completion=5.0, cached=0.25, call=0.0, tiers=())
        """
        return Price(
            self.prompt * share, self.completion * share,
            None if self.cached is None else self.cached * share, self.call * share,
            tuple((start, p * share, c * share) for start, p, c in self.tiers))

    def worst(self, body: bytes) -> float:
        """The most one call can cost in USD: every byte sent a token, every token allowed used.

        Raises Misuse when the request sets no limit on tokens.
        """
        tokens, tools = allowed(body)
        return self.at_most(len(body) + TOOL_TOKENS * tools, tokens)

    def at_most(self, prompt: float, completion: float) -> float:
        """What so many tokens cost in USD at most, in whichever tier they may fall."""
        rates = [(self.prompt, self.completion),
                 *((p, c) for start, p, c in self.tiers if prompt > start)]
        return self.call + max(
            max(p, self.cached or 0.0) * prompt + c * completion for p, c in rates) / 1e6

    def cost(self, usage: Usage) -> float | None:
        """What a call cost in USD: as the provider states it, else by its token counts.

        None where it states neither, or what no call can cost: below zero, or without end.
        """
        if usage.cost_usd is not None and 0 <= usage.cost_usd < math.inf:
            return usage.cost_usd
        if usage.prompt is None or usage.completion is None:
            return None
        if not (0 <= usage.prompt < MOST_TOKENS and 0 <= usage.completion < MOST_TOKENS):
            return None
        return self.of(usage.prompt, usage.completion, usage.cached or 0)

    def of(self, prompt: float, completion: float, cached: int = 0) -> float:
        """What so many tokens cost in USD; `cached` of the prompt's were read from a cache.

        >>> Price(2.0, 10.0, cached=0.5).of(1_000_000, 100_000, cached=400_000)
        2.4
        """
        rate, reply, read = self.prompt, self.completion, 0.0
        if self.cached is not None:
            read = min(max(cached, 0), prompt)
        for start, p, c in self.tiers:
            if prompt > start:
                rate, reply, read = p, c, 0.0
        dollars = (prompt - read) * rate + read * (self.cached or 0.0) + completion * reply
        return self.call + dollars / 1e6


def allowed(body: bytes) -> tuple[int, bool]:
    """The completion tokens a request allows, over all its replies, and whether it has tools."""
    try:
        said = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        said = _looked_at_again(body)
    nested = said.generationConfig or _Nested()
    limits = [limit for limit in (said.max_tokens, said.max_completion_tokens,
                                  said.max_output_tokens, nested.maxOutputTokens)
              if limit is not None]
    if not limits or not all(map(_is_count, limits)):
        found = f"max_tokens {limits[0]!r}" if limits else "no max_tokens"
        raise Misuse(
            f"{said.model or 'A subject'} has a price but {found}, so its worst cost is"
            " unbounded. Set max_tokens, or cap the calls with --max-calls instead."
        )
    replies = [count for count in (said.n, nested.candidateCount) if _is_count(count)]
    return max(limits) * max(replies, default=1), bool(said.tools)


def _looked_at_again(body: bytes) -> _Limited:
    """The same fields where the strict decoder refuses the text: an escaped lone surrogate."""
    said = json.loads(body)
    nested = said.get("generationConfig")
    if isinstance(nested, dict):
        said["generationConfig"] = {k: v for k, v in nested.items()
                                    if k in ("maxOutputTokens", "candidateCount")}
    else:
        said.pop("generationConfig", None)
    return msgspec.convert({k: v for k, v in said.items() if k in _Limited.__struct_fields__},
                           _Limited)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value is not True and value > 0


@dataclass(frozen=True, slots=True)
class Priced:
    """A subject's price and where it is from; `price` is None where none is known."""

    price: Price | None
    source: str

    def as_json(self) -> dict[str, Any]:
        return {"price": asdict(self.price) if self.price else None, "source": self.source}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Priced:
        price = said["price"]
        if price is None:
            return cls(None, said["source"])
        tiers = tuple((int(t[0]), float(t[1]), float(t[2])) for t in price["tiers"])
        return cls(Price(**{**price, "tiers": tiers}), said["source"])


FREE = Priced(Price(0.0, 0.0), "nothing is billed")
UNKNOWN = Priced(None, "unknown")


def tabled(subject: Subject, now: datetime | None = None) -> Priced:
    """The price in the table of genai-prices, by the host a subject is reached at and its model.

    A host that the table does not know has no price there, whatever the model is called: who
    serves a model sets its price. Nothing is fetched. Where a price depends on the hour, the
    dearest of the next day is meant.
    """
    try:
        from genai_prices import __version__, data_snapshot
    except ImportError:
        return Priced(None, "unknown: genai-prices is not installed (equipoise[prices])")
    try:
        _, model = data_snapshot.get_snapshot().find_provider_model(
            subject.model, None, None, subject.base_url)
    except LookupError:
        return Priced(None, f"unknown to genai-prices {__version__}")
    begun = now or datetime.now(UTC)
    context = {name: str(subject.settings[name]) for name in ("service_tier",)
               if name in subject.settings}
    found = [_per_token(model.get_prices(begun + timedelta(hours=hour), context or None))
             for hour in range(24)]
    known = [price for price in found if price is not None]
    if len(known) < len(found):
        return Priced(None, f"not by tokens alone in genai-prices {__version__}")
    dearest = max(known, key=lambda price: price.at_most(1e6, 1e6))
    return Priced(dearest, f"genai-prices {__version__} ({model.id})")


def _per_token(prices: Any) -> Price | None:
    """A table's entry as a price; None where it is not one of text tokens in and out."""
    sent, said, thought, cached, calls = (getattr(prices, name, None) for name in (
        "input_mtok", "output_mtok", "output_reasoning_mtok", "cache_read_mtok",
        "requests_kcount"))
    if sent is None or said is None:
        return None
    if thought is not None and _rate(thought, 0) > _rate(said, 0):
        said = thought
    starts = sorted({tier.start for entry in (sent, said) for tier in getattr(entry, "tiers", ())})
    return Price(
        _rate(sent, 0), _rate(said, 0), None if cached is None else _rate(cached, 0),
        0.0 if calls is None else _rate(calls, 0) / 1000,
        tuple((start, _rate(sent, start + 1), _rate(said, start + 1)) for start in starts),
    )


def _rate(entry: Any, tokens: int) -> float:
    """A price, or its tier for a prompt of so many tokens."""
    found = getattr(entry, "base", entry)
    for tier in getattr(entry, "tiers", ()):
        if tokens > tier.start:
            found = tier.price
    return float(found)
