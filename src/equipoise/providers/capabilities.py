"""What families of models accept: the shipped table, and a subject held against it.

A default of ours that a family does not take is left out and named in the subject's `engine`
as a provider default; what a person asked for and cannot have is refused. Nothing is changed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import msgspec

from equipoise.providers import Dialect, dialect
from equipoise.terms import AnswerMode, Misuse, Subject

OWN_TABLE = "EQUIPOISE_CAPABILITIES"
TABLE = Path(__file__).with_name("capabilities.toml")
PROVIDER_DEFAULT = "provider_default"
"""Where in a subject's `engine` the settings stand that were left to the provider."""

DEFAULT_EFFORT = "default"
SAMPLING = frozenset((
    "temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
    "repeat_penalty",
))
NO_THINKING = (None, "disabled")
WANTS = {"constrained": "structured", "first-token": "logprobs"}

Accepted = bool | tuple[str, ...]
"""Always, never, or at these levels of effort alone."""


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a family of models accepts; None where it is not known, and nothing is assumed."""

    family: str = ""
    models: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    temperature: Accepted | None = None
    effort: tuple[str, ...] | None = None
    logprobs: Accepted | None = None
    structured: Accepted | None = None
    batch: bool | None = None
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    @property
    def is_known(self) -> bool:
        """Whether anything is known of what the family accepts."""
        return any(fact is not None for fact in (
            self.temperature, self.effort, self.logprobs, self.structured, self.batch))

    def fits(self, model: str, host: str) -> bool:
        """Whether a model, at a host, is of this family."""
        return ((not self.hosts or host in self.hosts)
                and any(fnmatchcase(model, pattern) for pattern in self.models))


UNKNOWN = Capabilities()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[Capabilities, ...]
    checked: str = ""


@lru_cache(maxsize=8)
def _in(path: Path) -> _Table:
    """The table in a file; raises Misuse where it is not in the form of the shipped one."""
    try:
        with path.open("rb") as file:
            return msgspec.convert(tomllib.load(file), _Table)
    except (OSError, ValueError) as error:
        raise Misuse(f"The capabilities in {path}, which {OWN_TABLE} names, cannot be read:"
                     f" {error}. Wanted TOML as in {TABLE.name}.") from None


def table() -> tuple[Capabilities, ...]:
    """The families, in the order in which they are searched: a person's own, then the shipped."""
    own = os.environ.get(OWN_TABLE)
    return (_in(Path(own).expanduser()).family if own else ()) + _in(TABLE).family


def checked() -> str:
    """The day on which the shipped table was last held against what providers publish."""
    return _in(TABLE).checked


def of_model(model: str, base_url: str = "") -> Capabilities:
    """What is known of a model, by its name as its provider or OpenRouter has it.

    >>> of_model("o3-mini").temperature, of_model("anthropic/claude-opus-4.7").temperature
    (False, False)
    >>> of_model("my-own-model") == UNKNOWN
    True
    """
    bare, host = model.rpartition("/")[2].partition(":")[0].lower(), urlsplit(base_url).hostname
    return next((entry for entry in table() if entry.fits(bare, host or "")), UNKNOWN)


@dataclass(frozen=True, slots=True)
class Settled:
    """Settings as they will be sent, and the names of those left to the provider."""

    settings: Mapping[str, Any]
    left_out: tuple[str, ...] = field(default=())


def settled(
    spoken: Dialect, known: Capabilities, model: str,
    defaults: Mapping[str, Any], asked: Mapping[str, Any],
) -> Settled:
    """The instrument's defaults beneath what a person asked for, as far as they are accepted.

    A setting that a person leaves to the provider is None in `asked`. Raises Misuse that says
    what is accepted where a person asked for what is not.
    """
    whole = {**defaults, **asked}
    if problems := [problem for name, value in asked.items() if value is not None
                    if (problem := _refused(spoken, known, model, name, whole))]:
        raise Misuse(" ".join(problems))
    settings, left_out = {}, []
    for name, value in whole.items():
        if value is None or (name not in asked
                             and _refused(spoken, known, model, name, whole)):
            left_out.append(name)
        else:
            settings[name] = value
    return Settled(settings, tuple(sorted(left_out)))


def _refused(
    spoken: Dialect, known: Capabilities, model: str, name: str, whole: Mapping[str, Any]
) -> str:
    """Why a setting cannot be sent, with what can be; nothing where it can."""
    if name not in spoken.settings:
        return (f"The form that {model} is asked in has no word for the setting {name!r}. It has:"
                f" {', '.join(sorted(spoken.settings))}.")
    effort = whole.get("effort") or DEFAULT_EFFORT
    if name == "effort" and known.effort is not None and whole[name] not in known.effort:
        levels = ", ".join(known.effort)
        return (f"{model} takes no effort {whole[name]!r}: there are {levels}." if levels else
                f"{model} takes no effort: leave it out.")
    if name in SAMPLING and not _at(known.temperature, effort):
        return f"{model} takes no {name}{_when(known.temperature)}. Leave it out."
    if name in SAMPLING and known.family == "claude" and whole.get("thinking") not in NO_THINKING:
        return f"{model} takes no {name} while it thinks. Leave it out."
    return ""


def _at(accepted: Accepted | None, effort: str) -> bool:
    """Whether it is accepted at that effort; what is not known is tried."""
    return accepted is None or accepted is True or (accepted is not False and effort in accepted)


def _when(accepted: Accepted | None) -> str:
    if not isinstance(accepted, tuple):
        return ""
    levels = [level for level in accepted if level != DEFAULT_EFFORT]
    return f" but at effort {' or '.join(levels)}" + (
        " or its default" if DEFAULT_EFFORT in accepted else "")


def require_modes(subjects: Sequence[Subject], modes: Sequence[str]) -> None:
    """Raises Misuse for a way of answering that a subject cannot be asked for.

    Says all of them at once.
    """
    problems = [
        f"{subject.name} cannot be asked for {mode} answers: {why}."
        for subject in subjects for mode in modes if (why := _lacks(subject, mode))
    ]
    if problems:
        raise Misuse(" ".join([*problems, "Choose others with --answers."]))


def _lacks(subject: Subject, mode: str) -> str:
    spoken = dialect(subject.dialect)
    if cast(AnswerMode, mode) not in spoken.modes and mode in WANTS:
        return f"there are no {WORDS[WANTS[mode]]} in the form of {subject.dialect}"
    if mode not in WANTS or not spoken.paid:
        return ""
    known = of_model(subject.model, subject.base_url)
    accepted = known.logprobs if WANTS[mode] == "logprobs" else known.structured
    effort = subject.settings.get("effort") or DEFAULT_EFFORT
    if _at(accepted, effort):
        return ""
    return f"{subject.model} gives no {WORDS[WANTS[mode]]}{_when(accepted)}"


WORDS = {"logprobs": "log-probabilities", "structured": "replies held to a JSON Schema"}
