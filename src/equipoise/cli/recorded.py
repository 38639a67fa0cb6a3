"""Runs that were imported: how they are told from runs that were registered, and named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.ledger import Run
from equipoise.registration import Registration
from equipoise.terms import Misuse


@dataclass(frozen=True, slots=True)
class How:
    """How a person wants recorded replies read: by which reader, with which options."""

    reader: str | None = None
    words: str | None = None
    contract: str | None = None


IMPORTED, STAGE = "imported", "recorded"
PROVENANCE = ("file", "sha256", "tool", "version", "task")


def escaped(name: str) -> str:
    """A name that can stand between slashes.

    >>> escaped("org/model"), unescaped("org%2Fmodel")
    ('org%2Fmodel', 'org/model')
    """
    safe = name.encode("utf-8", "backslashreplace").decode()
    return safe.replace("%", "%25").replace("/", "%2F")


def unescaped(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")


def imported(run: Run) -> Registration | None:
    """What was imported as this run; None for a run that was registered and asked."""
    found = Registration.from_json(run.registration)
    return found if found.instrument == IMPORTED else None


def require_asked(run: Run) -> None:
    """Raises Misuse for a run that was imported: it has no plan and can be nothing but read."""
    if (found := imported(run)) is not None:
        raise Misuse(
            f"The run {run.name!r} was imported from a log of {said_of(found)['tool']}: nothing"
            " was registered before it was asked, so it is not reported, published, compared or"
            f" asked again. Read it with equipoise read {run.name} --reader NAME, or export it.")


def said_of(found: Registration) -> dict[str, Any]:
    """Where an imported run came from: file, SHA-256, tool, version, task."""
    said = {name: str(found.declared.get(name, "")) for name in PROVENANCE}
    return {**said, "copies": found.declared.get("copies", {})}
