"""What is fixed before the first call: what will be asked, of whom, how often, and the measure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from equipoise.terms import Misuse, Trial, canonical_json, content_hash


@dataclass(frozen=True)
class Registration:
    """A run's plan. Two registrations are the same run exactly when every field is the same.

    `stamp` names the stimuli by content; `primary` is the measure the run is for; `cells` is
    the number of trials over all subjects and draws; `declared` holds what an instrument fixes
    beside: rules, factors varied, the family of tests.
    """

    instrument: str
    suite: str
    stamp: str
    subjects: tuple[Mapping[str, Any], ...]
    items: tuple[str, ...]
    factors: Mapping[str, tuple[str, ...]]
    draws: int
    cells: int
    order: str
    readers: tuple[str, ...]
    primary: str
    until_dissent: bool = False
    declared: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> bytes:
        """Canonical JSON: what the ledger keeps and what `hash` is taken of."""
        return canonical_json(self._values())

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the registration."""
        return content_hash(self._values())

    def _values(self) -> dict[str, Any]:
        """Every field; `declared` only where there is any, as it was not in the first ledgers."""
        values = asdict(self)
        if not self.declared:
            del values["declared"]
        return values

    @property
    def name(self) -> str:
        """What the run is called unless a person names it: the same plan is the same run."""
        return f"{self.instrument}-{self.suite}-{self.hash[:8]}"

    @classmethod
    def from_json(cls, text: bytes) -> Registration:
        said = json.loads(text)
        for name in ("subjects", "items", "readers"):
            said[name] = tuple(said[name])
        said["factors"] = {name: tuple(levels) for name, levels in said["factors"].items()}
        return cls(**said)


def require_registered(registration: Registration, trials: Sequence[Trial]) -> None:
    """Refuse trials that were not registered: other items, other subjects, further draws.

    Raises Misuse: taking more draws once results can be seen is how noise becomes a finding.
    """
    draws = max((trial.draw for trial in trials), default=0)
    if draws > registration.draws:
        raise Misuse(
            f"{draws} draws a cell were asked for and {registration.draws} registered."
            " A run takes no more than it registered; to take more, start a new run with --run."
        )
    items, subjects = set(registration.items), {s["name"] for s in registration.subjects}
    for trial in trials:
        if trial.item not in items or trial.subject.name not in subjects:
            raise Misuse(f"The trial {trial.key} was not registered. Start a new run with --run.")
