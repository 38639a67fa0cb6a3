"""A user's own pages, a line each, checked without a word of them in any message."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from equipoise.instruments.replay.page import Page
from equipoise.instruments.replay.suite import LANGUAGES, page_of
from equipoise.terms import Misuse

PROBLEMS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of one day, as a person saw it."""

    day: date
    language: str
    page: Page


def pages_in(path: Path) -> list[Shown]:
    """The pages of a JSON Lines file; raises Misuse that names lines and quotes none of them."""
    found: list[Shown] = []
    problems: list[str] = []
    lines = sys.stdin if str(path) == "-" else _opened(path)
    for number, line in enumerate(lines, 1):
        if line.strip():
            made = _page(line)
            if isinstance(made, str):
                problems.append(f"line {number} {made}")
            else:
                found.append(made)
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        raise Misuse(f"The pages cannot be counted: {'; '.join(problems[:PROBLEMS_SHOWN])}"
                     + (f"; and {more:,} more" if more > 0 else "") + '. Wanted {"day":'
                     ' "2026-11-30", "language": "en", "page": {"at_stake": "…", "lines":'
                     ' [{"text": "…", "answer": "…"}]}} on each line.')
    return found


def _opened(path: Path) -> Iterable[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise Misuse(f"The pages cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise Misuse("The pages are not UTF-8. Save them as UTF-8.") from None


def _page(line: str) -> Shown | str:
    """A line's page, or what is wrong with it, in words of ours alone."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(said, dict) or not isinstance(said.get("page"), dict):
        return "has no page"
    try:
        day = date.fromisoformat(said["day"])
    except (KeyError, TypeError, ValueError):
        return "has no day such as 2026-11-30"
    if said.get("language") not in LANGUAGES:
        return f"is in no language of {', '.join(LANGUAGES)}"
    lines, stake = said["page"].get("lines"), said["page"].get("at_stake", "")
    if not isinstance(lines, list) or not isinstance(stake, str) or not all(map(_fits, lines)):
        return "has a page that is not one of lines, each with a text"
    return Shown(day, said["language"], page_of("", lines, stake))


def _fits(line: Any) -> bool:
    return (isinstance(line, dict) and isinstance(line.get("text"), str)
            and bool(line["text"].strip()) and isinstance(line.get("answer", ""), str))
