"""Which engines may be compared, and who may read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.instruments.replay.arms import Arm
from equipoise.terms import Misuse, Subject

OWN = frozenset(("callable", "endpoint"))
"""Engines of a person's own: they are given the turn itself as JSON, not a prompt."""


def require_other_family(engines: Sequence[Subject], readers: Sequence[Subject]) -> None:
    """Raises Misuse where a reader is of the family of an engine it would read."""
    for reader in readers:
        for engine in engines:
            if reader.family == engine.family:
                raise Misuse(f"{reader.name} may not read {engine.name}: both are of the family"
                             f" {engine.family}. Name a reader of another family, or say which"
                             " family it is of with ?family=….")


def require_prompted(engines: Sequence[Subject], arms: Mapping[str, Arm]) -> None:
    """Raises Misuse where a change is to a prompt and an engine has its own."""
    for engine in engines:
        if engine.dialect in OWN and any(arm.prompt for arm in arms.values()):
            raise Misuse(f"{engine.name} is given turns and no prompt, so a changed prompt changes"
                         " nothing of it. Change the engine and give the changed one as second.")
