"""A number that does not exist, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "no_data", "one_class", "too_few_units", "incomplete", "no_overlap", "unit_count_one",
    "tied", "no_majority", "contested", "uninformative",
]


@dataclass(frozen=True, slots=True)
class Undefined:
    """Stands where a number would: never 0, 1 or NaN in its place."""

    reason: Reason
