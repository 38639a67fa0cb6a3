"""Figures as JSON values: an undefined one is null beside its reason."""

from __future__ import annotations

from math import isinf
from typing import Any

from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate


def rate_values(found: Rate) -> dict[str, Any]:
    """A rate with its numerator, denominator and interval."""
    return {"count": found.count, "n": found.n, **or_reason("estimate", found.estimate),
            **or_reason("low", found.low), **or_reason("high", found.high),
            "interval": "wilson", "confidence": found.confidence}


def or_reason(name: str, value: float | Undefined) -> dict[str, Any]:
    """A number under its name, or null with its reason under `name_reason`."""
    if isinstance(value, Undefined):
        return {name: None, f"{name}_reason": value.reason}
    if isinf(value):
        return {name: None, f"{name}_reason": "unbounded"}
    return {name: value}
