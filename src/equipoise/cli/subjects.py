"""Subjects as named on the command line, and the providers that reach them.

    local:smollm2-135m                 a model in the catalogue, run in this process
    local:/path/to/model.gguf          any GGUF file
    openai:MODEL@https://host/v1       any server that speaks chat completions
    planted:follows-position           a computed subject with one known trait

Settings follow as a query: `local:smollm2-135m?max_tokens=32&seed=7`.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl, unquote

from equipoise.cli.studies import Handling, Study, handling
from equipoise.providers import planted
from equipoise.providers.engine import Engine, engine_of, serve
from equipoise.providers.weights import Weights, is_path, locate
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject

LOCAL = "local"
OPENAI = "https://api.openai.com/v1"
ROUTES = ("local", "openai", "planted")
KNOWN: Mapping[str, type] = {
    "temperature": float, "max_tokens": int, "max_completion_tokens": int, "seed": int,
    "top_p": float, "top_k": int, "min_p": float, "frequency_penalty": float,
    "presence_penalty": float, "repeat_penalty": float, "reasoning_effort": str, "stop": str,
    "user": str, "service_tier": str, "family": str, "key_env": str, "context": int,
    "slots": int, "prompt_cache": bool, "flash_attention": bool, "batch": int,
    "points": float, "noise": float, "grid": int, "rate": float,
}
PROVIDER_DEFAULT = "provider-default"
OURS = frozenset({"model", "messages", "stream", "logprobs", "top_logprobs", "grammar", "n",
                  "response_format"})


def subject(spec: str, how: Handling) -> Subject:
    """The subject a short form names, with the instrument's settings beneath its own.

    Opens no connection.

    Raises Misuse that says what was wanted.
    """
    route, colon, rest = spec.partition(":")
    name, _, query = rest.partition("?")
    if not colon or not name or route not in ROUTES:
        raise Misuse(
            f"No subject {spec!r}: wanted local:MODEL, openai:MODEL@BASE_URL or planted:TRAIT,"
            " with settings as ?max_tokens=32."
        )
    settings = _settings(how.settings[route], query)
    if route == "local":
        weights = locate(name)
        return _local(weights, weights.path.as_uri() if is_path(name) else LOCAL, settings)
    if route == "openai":
        return _openai(name, settings)
    if name not in how.traits:
        near = get_close_matches(name, how.traits, 1)
        raise Misuse(
            f"No planted trait {name!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
            + f" There are: {', '.join(how.traits)}."
        )
    return planted.subject(name, **settings)


def _settings(defaults: Mapping[str, Any], query: str) -> dict[str, Any]:
    """The defaults with the query's own; `provider-default` leaves a setting out."""
    settings: dict[str, Any] = dict(defaults)
    for name, text in parse_qsl(query, keep_blank_values=True):
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text
    if ours := sorted(OURS & settings.keys()):
        raise Misuse(f"The setting {ours[0]!r} is set by the instrument; leave it out.")
    for name, value in settings.items():
        _fits(name, value)
        if isinstance(value, float) and not math.isfinite(value):
            raise Misuse(f"The setting {name}={value} is not a number a request can carry.")
    return {name: value for name, value in settings.items() if value != PROVIDER_DEFAULT}


def _fits(name: str, value: object) -> None:
    """Raises Misuse for a setting there is not, or a value it cannot have."""
    if name not in KNOWN:
        near = get_close_matches(name, KNOWN, 1)
        raise Misuse(f"No setting {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")
                     + f" There are: {', '.join(sorted(KNOWN))}.")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value == PROVIDER_DEFAULT or KNOWN[name] is str:
        return
    if KNOWN[name] is bool and not isinstance(value, bool):
        raise Misuse(f"The setting {name} is {value!r}; wanted true or false.")
    if KNOWN[name] is int and not (isinstance(value, int) and number and value > -1):
        raise Misuse(f"The setting {name} is {value!r}; wanted a whole number.")
    if name.startswith("max_") and value == 0:
        raise Misuse(f"The setting {name} is 0: no reply could be given.")
    if KNOWN[name] is float and not number:
        raise Misuse(f"The setting {name} is {value!r}; wanted a number.")


def _local(weights: Weights, base_url: str, settings: dict[str, Any]) -> Subject:
    engine = Engine(**{name: settings.pop(name) for name in list(settings)
                       if name in Engine.__dataclass_fields__})
    return Subject(weights.name, weights.name, weights.family, "llamacpp",
                   base_url, settings,
                   engine_of(weights, engine))


def _openai(name: str, settings: dict[str, Any]) -> Subject:
    model, _, base_url = name.partition("@")
    base_url = (base_url or OPENAI).rstrip("/")
    if not model or "?" in base_url:
        raise Misuse(f"No subject 'openai:{name}': wanted openai:MODEL@BASE_URL, then settings as"
                     " ?max_tokens=32.")
    if "@" in base_url:
        raise Misuse("The base URL holds a name or password, which would be written down. Leave it"
                     " out, and set the environment variable EQUIPOISE_API_KEY.")
    if not base_url.startswith(("http://", "https://")):
        raise Misuse(f"The base URL {base_url!r} does not begin with http:// or https://.")
    key_from = settings.pop("key_env", None)
    engine = {"key_env": key_from} if key_from else {}
    family = settings.pop("family", model.split("/")[0].split("-")[0])
    return Subject(model.replace("/", "_"), model, family, "openai", base_url, settings, engine)


@asynccontextmanager
async def reached(subjects: list[Subject], laid_out: Study) -> AsyncIterator[Provider]:
    """One provider for all the subjects; engines are up and connections open inside."""
    async with AsyncExitStack() as stack:
        providers = {
            s.stamp: await _provider(s, laid_out, stack) for s in subjects
        }

        if len(providers) == 1:
            yield next(iter(providers.values()))
            return

        async def provider(request: Request) -> Reply | Fault:
            return await providers[request.subject.stamp](request)

        yield provider


async def _provider(subject: Subject, laid_out: Study, stack: AsyncExitStack) -> Provider:
    if subject.dialect == "planted":
        how = handling(laid_out.registration.instrument)
        return planted.answering(how.planted(laid_out, subject))
    from equipoise.providers import dialect, http
    from equipoise.providers.keys import key_for

    base_url, key = subject.base_url, None
    if subject.dialect == "llamacpp":
        settings = {k: v for k, v in subject.engine.items() if k in Engine.__dataclass_fields__}
        own = subject.base_url.removeprefix("file://")
        weights = locate(subject.model if own == LOCAL else unquote(own))
        if weights.sha256 != subject.engine["weights"]:
            raise Misuse(f"The weights of {subject.name} have the SHA-256 {weights.sha256[:12]}…;"
                         f" this run is registered with {subject.engine['weights'][:12]}…. Put"
                         " those back, or start a new run.")
        base_url = stack.enter_context(serve(weights, Engine(**settings)))
    else:
        key = key_for(base_url, str(subject.engine.get("key_env", "")))
    url = base_url + dialect(subject.dialect).path
    return await stack.enter_async_context(http.sender(url, key=key))
