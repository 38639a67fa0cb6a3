"""The vocabulary, as types: one class a word, and no behaviour that a word does not need.

The values made once for every cell are Structs: frozen like the others, and made in a fifth of
the time.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

AnswerMode = Literal["free", "constrained", "first-token"]
Finish = Literal["stop", "length", "filter", "other"]
FaultKind = Literal[
    "rate limited", "auth", "not found", "rejected", "server error", "malformed", "unreachable",
    "unknown", "over budget",
]
NonresponseKind = Literal["refused", "unclear", "invalid", "truncated", "error", "not asked"]


def canonical_json(value: object) -> bytes:
    """The one text a JSON value has here: keys sorted, UTF-8, no white space, no NaN.

    >>> canonical_json({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def content_hash(value: object) -> str:
    """SHA-256 (hex) of a value's canonical JSON: same value, same name, on any machine.

    >>> content_hash({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    True
    """
    return hashlib.sha256(canonical_json(value)).hexdigest()


class Message(Struct, frozen=True, gc=False):
    role: Literal["system", "user", "assistant"]
    text: str


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


@dataclass(frozen=True)
class Subject:
    """What is measured: a model as it was set up, never a model in the abstract.

    `dialect` names the form its requests take on the wire. `settings` go over the wire
    (temperature, limits); `engine` holds what can move an answer without being sent
    (weights' hash, cache, slots, flash attention), `base_url` is where it is reached.
    """

    name: str
    model: str
    family: str
    dialect: str
    base_url: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def stamp(self) -> str:
        """Names this set-up: any change to it is another subject."""
        return content_hash(self.as_json())

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "model": self.model, "family": self.family,
            "dialect": self.dialect, "base_url": self.base_url,
            "settings": dict(self.settings), "engine": dict(self.engine),
        }


@dataclass(frozen=True)
class Request:
    """One question as it goes over the wire: `body` holds the exact bytes sent.

    `choices` are the only whole replies allowed where `mode` is constrained, and the words
    looked for where it is first-token; `schema`, where there is one, is the JSON Schema (as
    JSON text, its keys in the order wanted) that a constrained reply must fit instead.
    """

    subject: Subject
    messages: tuple[Message, ...]
    mode: AnswerMode = "free"
    choices: tuple[str, ...] = ()
    body: bytes = b"{}"
    schema: str = ""

    @cached_property
    def stamp(self) -> bytes:
        """SHA-256 of what was sent and of the subject it was sent to."""
        return hashlib.sha256(self.subject.stamp.encode() + b"\n" + self.body).digest()


class Reply(Struct, frozen=True, gc=False):
    """What came back, byte for byte; `seconds` is from sending to the last byte."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a provider gave no completion.

    `sent` says whether the request may have reached the provider: if it may, and no reply
    came, the call is unknown and may have been billed.
    """

    kind: FaultKind
    detail: str = ""
    transient: bool = False
    sent: bool = True
    retry_after: float | None = None


class Usage(Struct, frozen=True, gc=False):
    """Tokens, as the provider counted them; `cost_usd` only where the provider states it.

    `reasoning` are among the completion's, `cached` (read from a cache) among the prompt's.
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    cached: int | None = None


class Completion(Struct, frozen=True, gc=False):
    """What a dialect makes of a reply: derived each time, never stored."""

    text: str
    finish: Finish = "stop"
    reasoning: str = ""
    model: str = ""
    upstream: str = ""
    system_fingerprint: str = ""
    usage: Usage = Usage()
    first_token: tuple[tuple[str, float], ...] = ()
    """Alternatives for the first token, each with its log-probability."""


Provider: TypeAlias = Callable[[Request], Awaitable[Reply | Fault]]


@dataclass(frozen=True, slots=True)
class Nonresponse:
    """Why there is no answer. Never None, never 0, never 50."""

    kind: NonresponseKind
    detail: str = ""


class Reading(Struct, Generic[T_co], frozen=True, gc=False):
    """What a reader made of a reply: the answer or the reason there is none.

    `rule` names the published rule that decided; `span` is where in the text it was decided,
    (-1, -1) where no single place decided it.
    """

    value: T_co | Nonresponse
    rule: str
    span: tuple[int, int] = (-1, -1)


Reader: TypeAlias = Callable[[Completion], Reading[T]]


class Trial(Struct, frozen=True):
    """One pass of one subject through one cell of the design.

    `condition` holds the levels in the order in which the design names its factors.
    """

    instrument: str
    subject: Subject
    item: str
    condition: Mapping[str, str]
    draw: int = 1

    @property
    def key(self) -> str:
        levels = "/".join(self.condition.values())
        return f"{self.subject.name}/{self.item}/{levels}/{self.draw}"

    @property
    def rng(self) -> random.Random:
        """The only randomness a trial may use: the same every time this trial runs."""
        return random.Random(f"{self.instrument}/{self.key}")


class Observation(Struct, Generic[T_co], frozen=True):
    """A trial and what was read from it: one row of the data."""

    trial: Trial
    value: T_co


class Ask(Protocol):
    """Puts one named question and returns its completion, or the reason there is none."""

    async def __call__(
        self,
        stage: str,
        messages: Iterable[Message],
        *,
        mode: AnswerMode = "free",
        choices: Sequence[str] = (),
        schema: str = "",
        by: Subject | None = None,
    ) -> Completion | Nonresponse: ...


@dataclass(frozen=True)
class Instrument(Generic[T]):
    """A study as a value: how to lay out trials, conduct one, and analyse them all.

    `primary` names the measure that is registered before the first call.
    """

    name: str
    stamp: str
    primary: str
    design: Callable[[Subject], Sequence[Trial]]
    conduct: Callable[[Trial, Ask], Awaitable[T]]
    analyse: Callable[[Sequence[Observation[T]]], Any]


class Misuse(Exception):
    """A person's mistake or a bad input: what was found, what was wanted, what to do.

    `code` is the exit code, listed in docs/exit-codes.md.
    """

    def __init__(self, sentence: str, code: int = 2) -> None:
        super().__init__(sentence)
        self.code = code
