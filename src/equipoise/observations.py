"""Sort observations into blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from equipoise.terms import Observation, Trial

T = TypeVar("T")


def blocks(
    observations: Iterable[Observation[T]], by: Callable[[Trial], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Observation[T]]]:
    """The observations that `by` gives one name, together, in the order they came."""
    found: defaultdict[tuple[str, ...], list[Observation[T]]] = defaultdict(list)
    for observation in observations:
        found[by(observation.trial)].append(observation)
    return dict(found)
