"""Battles as a page for the people who choose: two pages of each conversation, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.report.environment import environment, style


def page(battles: Sequence[Mapping[str, Any]]) -> str:
    """One HTML file of what `Battle.shown` shows, and nothing of the run it is from."""
    return environment().get_template("battles.html.j2").render(
        battles=battles, style=style("page", "replay"))
