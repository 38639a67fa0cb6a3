"""A whole new page in place of edits, as an application of a person's own may give it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equipoise.instruments.replay.page import Edit, Line, Page

LONGEST_LINE = 1000


def edits_to(before: Page, said: Mapping[str, Any]) -> list[Edit] | list[str]:
    """The edits that lead from one page to another, or every problem of the other.

    A line that names its number is that line; one that names none is the first of the same text,
    or else a new one. Lines that are not there any more are dropped. A line may be opened again,
    and what is at stake taken off, which no edit of an engine can. New lines stand after the old.

    >>> from equipoise.instruments.replay.page import page
    >>> before = page([("Why now?", ""), ("By when?", "")])
    >>> for edit in edits_to(before, {"lines": [{"text": "Why now?", "answer": "The lease."}]}):
    ...     print(" ".join([edit.op, str(edit.line), edit.text]).strip())
    drop 2
    settle 1 The lease.
    """
    lines = said.get("lines")
    if not isinstance(lines, list):
        return ["'page' has no list of 'lines'"]
    stake = said.get("at_stake") or ""
    problems = [f"line {place} of the page: {problem}" for place, line in enumerate(lines, 1)
                for problem in _problems(before, line)]
    named = Counter(line["line"] for line in lines if isinstance(line, dict)
                    and type(line.get("line")) is int)
    problems += [f"line {number} is there {count} times" for number, count in named.items()
                 if count > 1]
    if not isinstance(stake, str) or len(stake) > LONGEST_LINE:
        problems.append(f"'at_stake' is to be a text of up to {LONGEST_LINE} characters")
    return problems or _edits(before, lines, str(stake).strip())


def _problems(before: Page, line: Any) -> Iterator[str]:
    if not isinstance(line, dict):
        yield "it is to be an object with a 'text' and, where it is settled, an 'answer'"
        return
    text, answer = line.get("text"), line.get("answer", "")
    if not isinstance(text, str) or not text.strip():
        yield "'text' is missing or empty"
    if not isinstance(answer, str):
        yield "'answer' is to be a text, empty where the line is open"
    for name, value in (("text", text), ("answer", answer)):
        if isinstance(value, str) and len(value) > LONGEST_LINE:
            yield f"{name!r} is longer than {LONGEST_LINE} characters"
    if "line" in line and (type(number := line["line"]) is not int
                           or before.line(number) is None):
        yield f"'line' is {number!r}, and there is no such line"


def _edits(before: Page, lines: Sequence[Mapping[str, Any]], stake: str) -> list[Edit]:
    was = _matched(before, lines)
    kept = {line.number for line in was if line is not None}
    edits = [Edit("stake", 0, stake)] if stake != before.at_stake else []
    edits += [Edit("drop", line.number) for line in before.lines if line.number not in kept]
    used = before.used
    for line, old in zip(lines, was, strict=True):
        text, answer = line["text"].strip(), line.get("answer", "").strip()
        if old is None:
            used += 1
            edits += [Edit("ask", 0, text), *([Edit("settle", used, answer)] if answer else [])]
            continue
        edits += [Edit("revise", old.number, text)] if text != old.text else []
        edits += [Edit("settle", old.number, answer)] if answer != old.answer else []
    return edits


def _matched(before: Page, lines: Sequence[Mapping[str, Any]]) -> list[Line | None]:
    """The line of the page before that each is, by its number or else by its text."""
    left = {line.number: line for line in before.lines}
    found: list[Line | None] = [left.pop(line["line"]) if "line" in line else None
                                for line in lines]
    for place, line in enumerate(lines):
        same = next((old for old in left.values() if old.text == line["text"].strip()), None)
        if "line" not in line and same is not None:
            found[place] = left.pop(same.number)
    return found
