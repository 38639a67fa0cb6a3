"""Batches as a provider: calls are gathered, handed in together, and answered hours later.

A call waits for its reply like any other; whoever runs it lets a whole stage wait at once.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from equipoise.providers import CALL, batch_anthropic, batch_openai, dialect
from equipoise.providers.batch_course import Course
from equipoise.providers.batch_form import Form, Left, Pace, State, Unheard
from equipoise.providers.batch_match import named, new_token
from equipoise.providers.batch_wire import exchanging
from equipoise.providers.keys import credential, struck_out
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject

FORMS: Mapping[str, Form] = {
    "openai": batch_openai.CHAT,
    "responses": batch_openai.RESPONSES,
    "anthropic": batch_anthropic.FORM,
}
"""The dialects that have a batch interface."""

SHARE_OF_PRICE: Mapping[str, float] = {"api.openai.com": 0.5, "api.anthropic.com": 0.5}
"""What a call costs in a batch, of what it costs alone, where it is known: by host."""

CREATION_SECONDS = 30.0
LINE_BYTES = 250
"""More than a line, or a file's frame shared among its lines, adds to a request's body."""

NEVER_HANDED_IN = Fault("unreachable", "the run ended before its batch was created", sent=False)


FORGOTTEN = Fault("unknown", "its batch could not be found again")


@dataclass(frozen=True, slots=True)
class Witness:
    """What batches are told to: the first two return once it is on record, durably.

    `creating` gets a batch's token and its calls' intents, `created` the token and the
    provider's id; `stop` why nothing more is to be handed in; `looked` a batch as it stands.
    """

    creating: Callable[[str, Sequence[int]], Awaitable[object]]
    created: Callable[[str, str], Awaitable[object]]
    stop: Callable[[Misuse], None]
    looked: Callable[[State], None]
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A batch of an earlier session: the stamp of each intent's request, and when it was noted.

    `id` is empty where it is only known to have been about to be created. `key_changed` says that
    it was handed in with another key; `forget` that it may be given up where it is not found.
    """

    token: str
    id: str
    stamps: Mapping[int, bytes]
    since: float
    key_changed: bool = False
    forget: bool = False


def form(subject: Subject) -> Form:
    """The batch interface of a subject's provider; raises Misuse where it has none."""
    try:
        return FORMS[subject.dialect]
    except KeyError:
        raise Misuse(
            f"{subject.name} speaks {subject.dialect}, which has no batch interface; these have:"
            f" {', '.join(FORMS)}. Leave --batch out.") from None


def share_of_price(base_url: str) -> float:
    """What a call in a batch costs, of its usual price: 1 where nothing is known.

    >>> share_of_price("https://api.openai.com/v1"), share_of_price("http://localhost/v1")
    (0.5, 1.0)
    """
    return SHARE_OF_PRICE.get(urlsplit(base_url).hostname or "", 1.0)


@asynccontextmanager
async def batching(
    subject: Subject, key: str | None, witness: Witness, leaving: asyncio.Event, pace: Pace
) -> AsyncIterator[Provider]:
    """A provider that asks this subject in batches.

    A call must be made with its intent's number in `CALL`. Once `leaving` is set, calls that
    were not handed in come back as not sent, and those that were are cancelled: their batch
    goes on at the provider, and `picked_up` fetches it. Raises Misuse as `http.sender` does.
    """
    async with _course(subject, key, witness, pace) as course:
        gathering = _Gathering(course, witness, key)
        tasks = [asyncio.create_task(gathering.gather()),
                 asyncio.create_task(gathering.leave(leaving))]
        try:
            yield gathering.asked
        finally:
            await _ended([*tasks, *gathering.under_way])


async def picked_up(
    subject: Subject, key: str | None, witness: Witness, batch: HandedIn, pace: Pace
) -> dict[int, Reply | Fault]:
    """What came of each call of an earlier session's batch, by intent, once it has ended.

    Raises Left where that cannot be learnt now.
    """
    names = {named(batch.token, intent, stamp): intent for intent, stamp in batch.stamps.items()}
    try:
        async with _course(subject, key, witness, pace) as course:
            found = batch.id or await course.found(batch.token, len(names), batch.since)
            if not found and batch.key_changed:
                raise Unheard(Misuse(
                    "Whether a batch was created cannot be learnt: it was to be, with another key."
                    " Nothing was sent. Give that key; --retry-unknown asks its calls again.", 4))
            outcomes = (await course.outcomes(found, names.keys()) if found
                        else dict.fromkeys(names, NEVER_HANDED_IN))
    except Unheard:
        if not batch.forget:
            raise
        outcomes = dict.fromkeys(names, FORGOTTEN)
    return {intent: struck_out(outcomes[name], key) for name, intent in names.items()}


def mark(key: str | None, token: str) -> str:
    """Tells whether a batch was handed in with this key, and nothing of the key: 32 bits."""
    return hashlib.sha256(f"{token}/{key}".encode()).hexdigest()[:8]


@asynccontextmanager
async def _course(
    subject: Subject, key: str | None, witness: Witness, pace: Pace
) -> AsyncIterator[Course]:
    spoken, carried = dialect(subject.dialect), credential(key)
    async with exchanging(subject.base_url, spoken.headers(carried)) as exchange:
        yield Course(
            exchange, form(subject), pace, spoken.decode, witness.say, witness.looked)


@dataclass(frozen=True, slots=True)
class _Call:
    intent: int
    request: Request
    done: asyncio.Future[Reply | Fault]


class _Gathering:
    """Calls that wait for a batch, and the batches under way."""

    def __init__(self, course: Course, witness: Witness, key: str | None) -> None:
        self._course, self._witness, self._key = course, witness, key
        self._waiting: list[_Call] = []
        self._came = asyncio.Event()
        self._left, self._most = False, course.form.most_calls
        self.under_way: set[asyncio.Task[None]] = set()
        self._lodging: set[asyncio.Task[str | Fault]] = set()

    async def asked(self, request: Request) -> Reply | Fault:
        if self._left:
            return NEVER_HANDED_IN
        call = _Call(CALL.get(), request, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        self._came.set()
        return await call.done

    async def gather(self) -> None:
        """Make a batch of what waits, whenever no more comes for a while or a batch is full."""
        while True:
            await self._came.wait()
            while (count := len(self._waiting)) < self._most:
                await asyncio.sleep(self._course.pace.gather)
                if len(self._waiting) == count:
                    break
            self._came.clear()
            for calls in self._filled():
                task = asyncio.create_task(self._through(calls))
                self.under_way.add(task)
                task.add_done_callback(self.under_way.discard)

    def _filled(self) -> Iterable[dict[str, tuple[_Call, bytes]]]:
        """What waits, in as few batches as hold it: each call and its line, by name."""
        token, batch, size, most = new_token(), dict[str, tuple[_Call, bytes]](), 0, self._most
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            # A line feed in a body stands between its values: JSON escapes those within.
            body = call.request.body.replace(b"\n", b" ")
            size += len(body) + LINE_BYTES
            if batch and (len(batch) == most or size > self._course.form.most_bytes):
                yield batch
                token, batch, size = new_token(), {}, len(body) + LINE_BYTES
            name = named(token, call.intent, call.request.stamp)
            batch[name] = call, self._course.form.line(name, body)
        if batch:
            yield batch

    async def _through(self, calls: Mapping[str, tuple[_Call, bytes]]) -> None:
        """Bring one batch from its calls to their outcomes."""
        try:
            lodging = asyncio.create_task(self._lodged(calls))
            self._lodging.add(lodging)
            try:
                batch = await lodging
            finally:
                lodging.cancel()
                self._lodging.discard(lodging)
            outcomes = (dict.fromkeys(calls, batch) if isinstance(batch, Fault)
                        else await self._course.outcomes(batch, calls.keys()))
        except asyncio.CancelledError:
            self._cancel(call for call, _ in calls.values())
            raise
        except Exception as error:
            # Whatever ended this, the batch is on record or was never made.
            self._witness.stop(error.misuse if isinstance(error, Left) else
                               error if isinstance(error, Misuse) else
                               Misuse(f"A fault left a batch at the provider: {error!r}", 1))
            return self._cancel(call for call, _ in calls.values())
        for name, (call, _) in calls.items():
            if not call.done.done():
                call.done.set_result(struck_out(outcomes[name], self._key))
        return None

    async def _lodged(self, calls: Mapping[str, tuple[_Call, bytes]]) -> str | Fault:
        """The id of the batch of these calls, on record; a Fault where none was created."""
        token = next(iter(calls)).partition("-")[0]
        intents = [call.intent for call, _ in calls.values()]
        batch = await self._course.handed_in(
            token, [line for _, line in calls.values()],
            lambda: self._witness.creating(token, intents))
        if isinstance(batch, str):
            await self._witness.created(token, batch)
        return batch

    async def leave(self, leaving: asyncio.Event) -> None:
        """Once told so: hand nothing more in, learn the ids of what is being, and wait no more."""
        await leaving.wait()
        self._left = True
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            if not call.done.done():
                call.done.set_result(NEVER_HANDED_IN)
        if self._lodging:
            await asyncio.wait(self._lodging, timeout=CREATION_SECONDS)
        for task in list(self.under_way):
            task.cancel()

    def _cancel(self, calls: Iterable[_Call]) -> None:
        for call in calls:
            call.done.cancel()


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
