"""Templates and what they share: filters, marks, style sheets, how a subject is described."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from equipoise.report import charts, words
from equipoise.report.visible import shown, tag

TEMPLATES = Path(__file__).parent / "templates"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates' environment: everything printed is escaped and shown for what it is."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=shown,
    )
    made.filters |= {
        "of": words.of, "bounds": words.bounds, "spelled": words.spelled,
        "thousands": lambda n: f"{n:,}", "ticked": _ticked, "listed": words.listed,
        "p": words.p_value, "points": lambda value: words.number(value, 1, signed=True),
        "plain": lambda value: words.number(value, 1), "interval": words.interval,
        "counted": lambda kinds: words.counted(dict(kinds)),
        "net": words.net, "share": words.share, "percent": words.percent, "when": words.when,
        "whole": lambda value: words.number(value, 0), "hundredths": words.number,
        "plural": words.plural, "unbroken": words.unbroken, "capital": words.capital,
        "path": lambda text: quote(str(text).lstrip("/")), "han": lambda text: tag(text, "zh"),
    }
    made.globals |= {"glyph": charts.glyph, "swatch": charts.swatch, "slug": charts.slug}
    return made


def style(*names: str) -> Markup:
    """Style sheets, one after the other."""
    return Markup("\n".join((TEMPLATES / f"{name}.css").read_text(encoding="utf-8")
                            for name in names))


def _ticked(sentence: str) -> Markup:
    """A sentence with what stands between backticks set as code."""
    parts = [Markup("<code>{}</code>" if place % 2 else "{}").format(part)
             for place, part in enumerate(sentence.split("`"))]
    return Markup("").join(parts)


def subject_of(subject: Mapping[str, Any]) -> dict[str, str]:
    """A registered subject as a page describes it."""
    return {
        **{part: str(subject[part]) for part in ("name", "model", "family", "dialect")},
        "base_url": str(subject["base_url"]),
        "settings": settings(subject["settings"]), "engine": settings(subject["engine"]),
    }


def settings(found: Mapping[str, Any]) -> str:
    """Settings in one line, by name."""
    return " · ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, sort_keys=True)}"
        for name, value in sorted(found.items())
    )
