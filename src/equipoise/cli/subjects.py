"""Subjects as named on the command line, and the providers that reach them.

    local:smollm2-135m                 a model in the catalogue, run in this process
    local:/path/to/model.gguf          any GGUF file
    openai:MODEL@https://host/v1       any server that speaks chat completions
    responses:MODEL anthropic:MODEL gemini:MODEL openrouter:MODEL?upstream=NAME
    inspect:openai/gpt-4o              any provider of Inspect
    endpoint:NAME@https://host/path    an engine of your own that answers turns, for replay
    callable:package.module:function   the same, as a Python function
    planted:follows-position           a computed subject with one known trait

Settings follow as a query: `local:smollm2-135m?max_tokens=32&seed=7`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote

from equipoise.cli.settings import from_query
from equipoise.cli.studies import Handling, Study, handling
from equipoise.providers import (
    callables,
    capabilities,
    dialect,
    inspect_model,
    openrouter,
    planted,
)
from equipoise.providers.capabilities import PROVIDER_DEFAULT, UNKNOWN, of_model, settled
from equipoise.providers.engine import Engine, engine_of, serve
from equipoise.providers.weights import Weights, is_path, locate
from equipoise.terms import Fault, Misuse, Provider, Reply, Request, Subject

LOCAL = "local"
HOSTED = ("openai", "responses", "anthropic", "gemini", "openrouter", "inspect")
"""The routes to a server: each is named as the dialect that is spoken there."""

OWN_ENGINES = ("endpoint", "callable")
"""The routes to an engine of a person's own, which is given turns and no prompt."""

ROUTES = (LOCAL, *HOSTED, *OWN_ENGINES, "planted")
ADDRESSED = (*HOSTED, "endpoint")
"""The routes that take a base URL."""

USUAL = "openai"
"""Whose defaults hold for every hosted route that an instrument does not name."""


@dataclass(frozen=True)
class Named:
    """A subject as a person names it: a route, a model, where, and the settings asked for."""

    route: str
    model: str
    base_url: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def subject(spec: str, how: Handling) -> Subject:
    """The subject a short form names, with the instrument's settings beneath its own.

    Opens no connection. Raises Misuse that says what was wanted.
    """
    return built(named(spec), how)


def named(spec: str) -> Named:
    """What a short form says; raises Misuse for one that says nothing."""
    route, colon, rest = spec.partition(":")
    model, _, query = rest.partition("?")
    if not colon or not model or route not in ROUTES:
        raise Misuse(
            f"No subject {spec!r}: wanted local:MODEL, openai:MODEL@BASE_URL or planted:TRAIT,"
            f" with settings as ?max_tokens=32; also {':, '.join((*HOSTED[1:], *OWN_ENGINES))}:."
        )
    base_url = ""
    if route in ADDRESSED:
        model, _, base_url = model.partition("@")
        if not model or "?" in base_url:
            raise Misuse(f"No subject {spec!r}: wanted {route}:MODEL@BASE_URL, then settings as"
                         " ?max_tokens=32.")
    return Named(route, model, base_url, from_query(query))


def built(said: Named, how: Handling) -> Subject:
    """The subject that was named, with the instrument's settings beneath its own."""
    if said.route == LOCAL:
        return _local(said, how.settings[LOCAL])
    if said.route in OWN_ENGINES:
        return _own(said, how)
    if said.route != "planted":
        return _hosted(said, how.settings.get(said.route, how.settings[USUAL]))
    if said.model not in how.traits:
        near = get_close_matches(said.model, how.traits, 1)
        raise Misuse(
            f"No planted trait {said.model!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
            + f" There are: {', '.join(how.traits)}."
        )
    settings = {**how.settings["planted"], **said.settings}
    name = settings.pop("name", None) or said.model
    made = planted.subject(said.model, **{k: v for k, v in settings.items() if v is not None})
    return replace(made, name=name)


def _local(said: Named, defaults: Mapping[str, Any]) -> Subject:
    weights = locate(said.model)
    base_url = weights.path.as_uri() if is_path(said.model) else LOCAL
    fields = Engine.__dataclass_fields__
    asked = {**{key: value for key, value in defaults.items() if key in fields}, **said.settings}
    defaults = {key: value for key, value in defaults.items() if key not in fields}
    name, family = asked.pop("name", None), asked.pop("family", None)
    engine = Engine(**{name: value for name in list(asked)
                       if name in fields and (value := asked.pop(name)) is not None})
    found = settled(dialect("llamacpp"), UNKNOWN, weights.name, defaults, asked)
    return Subject(
        name or _called(weights.name, found.settings), weights.name, family or weights.family,
        "llamacpp", base_url, found.settings, engine_of(weights, engine) | _left_out(found))


def _hosted(said: Named, defaults: Mapping[str, Any]) -> Subject:
    spoken, asked = dialect(said.route), dict(said.settings)
    name, family = asked.pop("name", None), asked.pop("family", None)
    key_env = asked.pop("key_env", None)
    base_url = _base_url(said) or spoken.home
    known = of_model(said.model, base_url)
    if asked.get("max_completion_tokens"):
        defaults = {k: v for k, v in defaults.items() if k != "max_tokens"}
    found = settled(spoken, known, said.model, defaults, asked)
    settings = dict(found.settings)
    if known.limit in spoken.settings and known.limit not in settings and "max_tokens" in settings:
        settings[known.limit] = settings.pop("max_tokens")
    _require_whole(said, settings, key_env)
    engine = {**({"key_env": key_env} if key_env else {}), **_left_out(found)}
    if said.route == "inspect":
        engine["inspect"] = inspect_model.version()
    return Subject(
        name or _called(said.model, settings), said.model,
        family or known.family or said.model.split("/")[0].split("-")[0],
        said.route, base_url, settings, engine)


def _own(said: Named, how: Handling) -> Subject:
    """An engine of a person's own. What is behind it is not known here, so its family is asked for.

    A function is known by the SHA-256 of its source; an endpoint by its name and address.
    """
    asked = dict(said.settings)
    name, family, key_env = (asked.pop(key, None) for key in ("name", "family", "key_env"))
    if said.route not in how.settings:
        raise Misuse(f"{said.route}:{said.model} is an engine that is given turns of a conversation"
                     " with its page. Only replay asks it, as an engine.")
    if not family:
        raise Misuse(f"{said.route}:{said.model} does not say which family of models is behind it,"
                     " and no reader may be of that family. Say ?family=NAME; ?family=none where"
                     " there is no model.")
    if asked or (key_env and said.route == "callable"):
        raise Misuse(f"{said.route}:{said.model} is sent the turn and no settings. Leave"
                     f" {', '.join(asked) or 'key_env'} out.")
    if said.route == "callable":
        return Subject(name or _called(said.model, {}), said.model, family, said.route,
                       engine={"source": callables.source_hash(said.model)})
    if not (base_url := _base_url(said)):
        raise Misuse(f"endpoint:{said.model} has no address: wanted"
                     f" endpoint:{said.model}@https://host/path.")
    return Subject(name or _called(said.model, {}), said.model, family, said.route, base_url,
                   engine={"key_env": key_env} if key_env else {})


def _called(model: str, settings: Mapping[str, Any]) -> str:
    """A subject's name unless it is given one: two efforts of a model are two subjects.

    >>> _called("openai/gpt-5", {"effort": "low"})
    'openai_gpt-5:low'
    """
    effort = settings.get("effort")
    return model.replace("/", "_") + (f":{effort}" if effort else "")


def _left_out(found: capabilities.Settled) -> dict[str, Any]:
    return {PROVIDER_DEFAULT: list(found.left_out)} if found.left_out else {}


def left_to_provider(subjects: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The settings that each registered subject leaves to its provider, where it leaves any."""
    return {s["name"]: s["engine"][PROVIDER_DEFAULT]
            for s in subjects if s["engine"].get(PROVIDER_DEFAULT)}


def plan_lines(subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a plan says of its subjects: what is left to whom, and of whom nothing is known."""
    left = [f"Left out      {name}: {', '.join(settings)} (the provider's default)"
            for name, settings in left_to_provider(subjects).items()]
    unknown = [s["name"] for s in subjects if s["dialect"] in HOSTED
               and not of_model(s["model"], s["base_url"]).is_known]
    return left + ([f"Not known     what {', '.join(unknown)} accepts: every setting is sent"]
                   if unknown else [])


def _base_url(said: Named) -> str:
    # An endpoint's address is the whole of it, to the last slash.
    base_url = said.base_url if said.route == "endpoint" else said.base_url.rstrip("/")
    if "@" in base_url:
        raise Misuse("The base URL holds a name or password, which would be written down. Leave it"
                     " out, and set the environment variable EQUIPOISE_API_KEY.")
    if base_url and not base_url.startswith(("http://", "https://")):
        raise Misuse(f"The base URL {base_url!r} does not begin with http:// or https://.")
    # Other routes have it before their path; Anthropic has it in its path.
    return base_url.removesuffix("/v1") if said.route == "anthropic" else base_url


def _require_whole(said: Named, settings: Mapping[str, Any], key_env: str | None) -> None:
    """Raises Misuse for a subject that lacks what its route cannot do without."""
    if said.route == "openrouter" and "upstream" not in settings:
        raise Misuse(
            f"openrouter:{said.model} does not say which upstream answers, and another one is"
            f" another subject. Pin one with ?upstream=NAME, or say ?upstream={openrouter.ANY} for"
            " whichever OpenRouter picks, which is then recorded of each reply."
        )
    if said.route == "anthropic" and "max_tokens" not in settings:
        raise Misuse(f"anthropic:{said.model} has no max_tokens, and Anthropic has no default for"
                     " it. Set one.")
    if said.route == "inspect" and key_env:
        raise Misuse("Inspect takes its keys from the variables of its own providers. Leave"
                     " key_env out.")


@asynccontextmanager
async def reached(
    subjects: list[Subject], laid_out: Study | None = None
) -> AsyncIterator[Provider]:
    """One provider for all the subjects; engines are up and connections open inside.

    Planted subjects know the study that is laid out, and cannot be reached without one.
    """
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


async def _provider(
    subject: Subject, laid_out: Study | None, stack: AsyncExitStack
) -> Provider:
    if subject.dialect == "planted" and laid_out:
        how = handling(laid_out.registration.instrument)
        return planted.answering(how.planted(laid_out, subject))
    if subject.dialect == "inspect":
        return inspect_model.answering(
            inspect_model.model_named(subject.model, subject.base_url))
    if subject.dialect == "callable":
        return await stack.enter_async_context(
            callables.answering(subject.model, str(subject.engine["source"])))
    from equipoise.providers import http
    from equipoise.providers.keys import key_for

    base_url, key, spoken = subject.base_url, None, dialect(subject.dialect)
    if subject.dialect == "llamacpp":
        base_url = stack.enter_context(serve(_weights(subject), Engine(**{
            k: v for k, v in subject.engine.items() if k in Engine.__dataclass_fields__})))
    else:
        key = key_for(base_url, str(subject.engine.get("key_env", "")))
    url = spoken.url(base_url, subject.model)
    return await stack.enter_async_context(http.sender(url, key=key, headers=spoken.headers))


def _weights(subject: Subject) -> Weights:
    """The weights a local subject is registered with; raises Misuse where they are others now."""
    own = subject.base_url.removeprefix("file://")
    weights = locate(subject.model if own == LOCAL else unquote(own))
    if weights.sha256 != subject.engine["weights"]:
        raise Misuse(f"The weights of {subject.name} have the SHA-256 {weights.sha256[:12]}…;"
                     f" this run is registered with {subject.engine['weights'][:12]}…. Put"
                     " those back, or start a new run.")
    return weights
