"""The course of one batch: handed in once, looked up when in doubt, waited for, and fetched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from equipoise.providers.batch_form import (
    CANCELLED,
    EXPIRED,
    Form,
    Left,
    Pace,
    State,
    Unheard,
)
from equipoise.providers.batch_match import Matched, matched
from equipoise.providers.batch_wire import Exchange
from equipoise.providers.retry_after import retry_after
from equipoise.terms import Completion, Fault, Misuse, Reply

CREATIONS, DOWNLOADS, LOOKS = 8, 12, 3
SKEW = 2 * 86_400.0
"""Seconds by which a provider's clock may be off from ours."""

FARTHEST_PAGES = 50
FULL_WAIT = 300.0


@dataclass(frozen=True, slots=True)
class Course:
    """How batches are brought through one interface, over one connection."""

    exchange: Exchange
    form: Form
    pace: Pace
    decode: Callable[[Reply], Completion | Fault]
    say: Callable[[str], None]
    looked: Callable[[State], None]

    async def handed_in(
        self, token: str, lines: Sequence[bytes], creating: Callable[[], Awaitable[object]]
    ) -> str | Fault:
        """The id of the batch made of these lines; a Fault where there is surely none.

        `creating` is awaited before the first try. When a try may have gone through, the batch
        is looked up before another is made. Raises Left when that cannot be learnt.
        """
        file = await self._uploaded(token, lines) if self.form.upload else ""
        if isinstance(file, Fault):
            return file
        await creating()
        fault, since, waits = Fault("unreachable", sent=False), time.time(), self.pace.waits()
        for _ in range(CREATIONS):
            outcome = await self.exchange(self.form.creation(token, lines, file))
            if (state := self._made(outcome)) is not None:
                return state.id
            if _in_doubt(outcome):
                self.say(f"Whether a batch was created is in doubt ({_shown(outcome)}):"
                         " looking it up.")
                if batch := await self.found(token, len(lines), since):
                    return batch
                self.say("The provider lists no such batch: it was not created. Trying again.")
            early = _names(outcome, file) and time.time() - since < self.pace.settling
            fault = self._refused(outcome)
            if not (fault.transient or early):
                return fault
            await asyncio.sleep(max(next(waits), _asked_to_wait(outcome)))
        return fault

    async def _uploaded(self, token: str, lines: Sequence[bytes]) -> str | Fault:
        """The name of the input file. One uploaded twice costs nothing and does nothing."""
        assert self.form.upload is not None
        fault, waits = Fault("unreachable", sent=False), self.pace.waits()
        post = self.form.upload(token, lines)
        for _ in range(CREATIONS):
            outcome = await self.exchange(post)
            if (made := self.form.file(outcome)) if isinstance(outcome, Reply) else "":
                return made
            fault = self._refused(outcome)
            if not fault.transient:
                return fault
            await asyncio.sleep(max(next(waits), _asked_to_wait(outcome)))
        return fault

    def _made(self, outcome: Reply | Fault) -> State | None:
        if isinstance(outcome, Fault) or not 200 <= outcome.status < 300:
            return None
        return self.form.state(outcome.body)

    def _refused(self, outcome: Reply | Fault) -> Fault:
        """Why nothing was made: certain by now, so nothing was billed."""
        found = self.decode(outcome) if isinstance(outcome, Reply) else outcome
        if isinstance(found, Completion) or found.kind in ("unknown", "malformed"):
            return Fault("unreachable", _shown(outcome), transient=True, sent=False)
        return replace(found, detail=f"handing a batch in: {found.detail}", sent=False)

    async def found(self, token: str, calls: int, since: float) -> str:
        """The id of the batch that was handed in as `token`, or nothing where there is none.

        There is none when a whole list, asked for once the provider has had time to show what
        was made before this was called, does not hold it. `since` is when it was first handed
        in. Raises Left when no list can be had.
        """
        begun, waits, known_not = time.monotonic(), self.pace.waits(), set[str]()
        while True:
            asked = time.monotonic() - begun
            states = await self._list(since)
            for state in states or ():
                if state.id in known_not:
                    continue
                if await self._is_ours(state, token, calls, since):
                    return state.id
                known_not.add(state.id)
            if states is not None and asked >= self.pace.settling:
                return ""
            if asked >= 4 * self.pace.settling:
                raise _unlearnt("the provider does not list its batches")
            await asyncio.sleep(min(next(waits), self.pace.settling))

    async def _is_ours(self, state: State, token: str, calls: int, since: float) -> bool:
        """Whether a listed batch is the one; where it bears no mark, its results' ids tell.

        Raises Left where they cannot be read.
        """
        if self.form.marked:
            return state.token == token
        if state.total != calls or 0 < state.created < since - SKEW:
            return False
        lines = await self._lines(await self.ended(state.id))
        names = [result.name for line in lines or () if (result := self.form.result(line))]
        if not names:
            raise _unlearnt(f"the batch {state.id} has as many calls, and no results to tell by")
        return any(name.startswith(f"{token}-") for name in names)

    async def _list(self, since: float) -> list[State] | None:
        """Batches made since then, and maybe older; None where the list is not whole."""
        path, states = f"{self.form.path}?limit=100", list[State]()
        for _ in range(FARTHEST_PAGES):
            outcome = await self.exchange(path)
            if isinstance(outcome, Fault) or outcome.status != 200:
                return None
            if (page := self.form.listed(outcome.body)) is None:
                return None
            states += page.states
            if not page.following or 0 < page.states[-1].created < since - SKEW:
                return states
            path = page.following
        return None

    async def ended(self, batch: str) -> State:
        """The batch once it has ended, however long that takes.

        Raises Left when the key is refused, or the batch is not known for long.
        """
        waits, missed = self.pace.waits(), 0.0
        while True:
            outcome = await self.exchange(f"{self.form.path}/{batch}")
            if (state := self._made(outcome)) is not None:
                missed = 0.0
                self.looked(state)
                if state.ended:
                    return state
            elif _gone(outcome):
                # A provider may not know a batch for a while after it was made, and in between.
                missed = missed or time.monotonic()
                if time.monotonic() - missed > self.pace.settling:
                    raise Unheard(Misuse(
                        f"The provider does not know the batch {batch} under this key. Nothing was"
                        " sent. Give the key it was handed in with; if the batch is gone,"
                        " --retry-unknown asks its calls again.", 75))
            _require_key(outcome, batch)
            await asyncio.sleep(max(next(waits), _asked_to_wait(outcome)))

    async def outcomes(self, batch: str, names: Collection[str]) -> dict[str, Reply | Fault]:
        """What came of each name once the batch has ended. Raises Left."""
        waits = self.pace.waits()
        for look in range(LOOKS):
            state = await self.ended(batch)
            if state.never_ran:
                return dict.fromkeys(names, _never_ran(state))
            found = matched(names, await self._lines(state) or (), self.form.result)
            if len(found.outcomes) == len(names) and not found.unread or look == LOOKS - 1:
                break
            await asyncio.sleep(next(waits))
        self._report(state, found, len(names))
        return dict.fromkeys(names, _missing(state, found)) | found.outcomes

    async def _lines(self, state: State) -> list[bytes] | None:
        """The result lines of a batch; None where they are gone."""
        lines: list[bytes] = []
        for path in state.results:
            if (body := await self._fetched(path, state.id)) is None:
                return None
            lines += body.split(b"\n")
        return lines

    async def _fetched(self, path: str, batch: str) -> bytes | None:
        begun, waits, failed = time.monotonic(), self.pace.waits(), 0
        while failed < DOWNLOADS:
            outcome = await self.exchange(path)
            if isinstance(outcome, Reply) and outcome.status == 200:
                return outcome.body
            _require_key(outcome, batch)
            if not _gone(outcome):
                failed += 1
            elif time.monotonic() - begun > self.pace.settling:
                return None
            await asyncio.sleep(max(next(waits), _asked_to_wait(outcome)))
        raise Left(Misuse(
            f"The results of the batch {batch} could not be fetched ({_shown(outcome)})."
            " They stay at the provider; the same command fetches them.", 75))

    def _report(self, state: State, found: Matched, calls: int) -> None:
        odd = {
            "without a result": calls - len(found.outcomes) if not state.cut_short else 0,
            "under ids that are not ours": len(found.strange),
            "under an id that has one already": len(found.doubled),
            "that cannot be read": found.unread,
        }
        said = [f"{count:,} {what}" for what, count in odd.items() if count]
        if said:
            self.say(f"Batch {state.id} ({state.status}): of {calls:,} calls and their result"
                     f" lines, {', '.join(said)}. None was guessed at.")


def _in_doubt(outcome: Reply | Fault) -> bool:
    """Whether what was posted may have had its effect."""
    if isinstance(outcome, Fault):
        return outcome.sent
    return outcome.status >= 500 or 200 <= outcome.status < 300 or outcome.status in (408, 409)


def _unlearnt(why: str) -> Left:
    return Left(Misuse(f"Whether a batch was created cannot be learnt: {why}. Nothing more was"
                       " sent. The same command looks again.", 75))


def _names(outcome: Reply | Fault, file: str) -> bool:
    """Whether a refusal is about the file, which a provider may not know right after it came."""
    return (bool(file) and isinstance(outcome, Reply) and outcome.status in (400, 404)
            and file.encode() in outcome.body)


def _gone(outcome: Reply | Fault) -> bool:
    return isinstance(outcome, Reply) and outcome.status in (404, 410)


def _require_key(outcome: Reply | Fault, batch: str) -> None:
    if isinstance(outcome, Reply) and outcome.status in (401, 403):
        raise Left(Misuse(
            f"The provider refused the key while the batch {batch} was waited for (status"
            f" {outcome.status}). The batch goes on. Set the right key, then give the same command"
            " again.", 4))


def _asked_to_wait(outcome: Reply | Fault) -> float:
    return (retry_after(outcome) or 0.0) if isinstance(outcome, Reply) else 0.0


def _shown(outcome: Reply | Fault) -> str:
    return outcome.detail if isinstance(outcome, Fault) else f"status {outcome.status}"


def _never_ran(state: State) -> Fault:
    if state.status in ("expired", "cancelled"):
        return EXPIRED if state.status == "expired" else CANCELLED
    said = f"the batch was refused as a whole: {state.never_ran}"
    if state.full:
        return Fault("rate limited", said, transient=True, sent=False, retry_after=FULL_WAIT)
    return Fault("rejected", said, sent=False)


def _missing(state: State, found: Matched) -> Fault:
    """What a call is whose result is missing: not run, only where the counts prove it."""
    ran = sum(isinstance(outcome, Reply) for outcome in found.outcomes.values())
    if state.cut_short and not found.unread and ran >= state.done:
        return EXPIRED if state.status == "expired" else CANCELLED
    if not state.results:
        return Fault("unknown", f"the results of the batch {state.id} are gone")
    return Fault("unknown", f"the batch {state.id} ended without a result under its id")
