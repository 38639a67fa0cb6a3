"""An engine of a person's own that is a Python function, run in this process.

It is given the turn as a dict and gives back what an endpoint would, as a dict. A plain function
is called in a thread of its own, an async one on a loop of its own thread, so that neither holds
up the run; what it prints goes to stderr. Its exceptions are faults, with their type and message.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from equipoise.providers import endpoint
from equipoise.providers.keys import environment_secrets, struck_out
from equipoise.terms import Fault, Misuse, Provider, Reply, Request

SECONDS = 300.0
"""How long a call may take: as long as one over HTTP."""

LONGEST_DETAIL = 300
PASSING = (TimeoutError, ConnectionError)
Function = Callable[[dict[str, Any]], Any]

encode, decode = endpoint.encode, endpoint.decode


def function_named(name: str) -> Function:
    """The function that `package.module:function` names, looked for in this folder too.

    Raises Misuse where there is none, and for a module that cannot be imported.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise Misuse(f"{name!r} names no function: wanted callable:package.module:function.")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        with redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise Misuse(f"The module {module_name} cannot be imported: {_said(error)}. It is looked"
                     " for where Python looks, and then in this folder.") from None
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise Misuse(f"{module_name} has no function {attribute!r}.")
    function: Function = found
    return function


def source_hash(name: str) -> str:
    """SHA-256 of the file that the function is written in: a changed function is another subject.

    Where it is named in another file (imported there, or wrapped), of both files together. Raises
    Misuse for a function with no source of its own.
    """
    function = function_named(name)
    try:
        written = inspect.getsourcefile(inspect.unwrap(function)) or ""
        named = inspect.getsourcefile(sys.modules[name.partition(":")[0]]) or ""
        found = hashlib.sha256()
        for file in dict.fromkeys((named, written)):
            found.update(Path(file).read_bytes())
        return found.hexdigest()
    except (TypeError, OSError):
        raise Misuse(f"{name} has no source file to be known by. Name a function that is written"
                     " in a file.") from None


@asynccontextmanager
async def answering(name: str, source: str, seconds: float = SECONDS) -> AsyncIterator[Provider]:
    """A provider that calls the function of that name, if its source is still the registered one.

    Raises Misuse where it is not.
    """
    function, now = function_named(name), source_hash(name)
    if now != source:
        raise Misuse(f"The source of {name} has the SHA-256 {now[:12]}…; this run is registered"
                     f" with {source[:12]}…. Put that back, or start a new run.")
    secrets = environment_secrets()
    ours = asyncio.new_event_loop()
    threading.Thread(target=_turning, args=(ours,), daemon=True).start()

    async def provider(request: Request) -> Reply | Fault:
        outcome = await _asked(function, request, ours, seconds)
        for secret in secrets:
            outcome = struck_out(outcome, secret)
        return outcome

    try:
        with redirect_stdout(sys.stderr):
            yield provider
    finally:
        ours.call_soon_threadsafe(ours.stop)


def _turning(ours: asyncio.AbstractEventLoop) -> None:
    ours.run_forever()
    ours.close()


async def _asked(
    function: Function, request: Request, ours: asyncio.AbstractEventLoop, seconds: float
) -> Reply | Fault:
    """One call; a function that does not come back in time is left to itself."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[Reply | Fault] = loop.create_future()

    def hand_over(outcome: Reply | Fault) -> None:
        if not came.done():
            came.set_result(outcome)

    def call() -> None:
        outcome = _outcome(function, request, ours)
        with suppress(RuntimeError):  # The run may have ended meanwhile, and its loop with it.
            loop.call_soon_threadsafe(hand_over, outcome)

    threading.Thread(target=call, daemon=True).start()
    try:
        return await asyncio.wait_for(came, seconds)
    except TimeoutError:
        return Fault("unknown", f"it did not come back within {seconds:g} seconds")


def _outcome(
    function: Function, request: Request, ours: asyncio.AbstractEventLoop
) -> Reply | Fault:
    try:
        said = function(json.loads(request.body))
        if inspect.isawaitable(said):
            said = asyncio.run_coroutine_threadsafe(_awaited(said), ours).result()
        return Reply(json.dumps(said, sort_keys=True, allow_nan=False).encode())
    except PASSING as error:
        return Fault("server error", _said(error), transient=True)
    except BaseException as error:
        return Fault("rejected", _said(error))


async def _awaited(said: Awaitable[Any]) -> Any:
    try:
        return await said
    except (SystemExit, KeyboardInterrupt) as error:  # Either would end the loop for all calls.
        raise RuntimeError(_said(error)) from None


def _said(error: BaseException) -> str:
    """An exception's type and message, on one line."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be read)"
    text = " ".join(f"{type(error).__name__}: {message}".split()).removesuffix(":")
    safe = "".join(c if c.isprintable() else " " for c in text)
    return safe if len(safe) <= LONGEST_DETAIL else safe[: LONGEST_DETAIL - 1] + "…"
