"""Results of promptfoo: the JSON or JSON Lines file of `promptfoo eval -o`.

A result is a record. Results of one provider with one prompt and one set of variables are draws
of one cell. promptfoo answers a repeat from its cache where it can: a cached reply with the text
of another draw of its cell is that draw over again, and no draw of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.recorded.record import (
    FINISHES,
    Log,
    Looked,
    NotARecord,
    Record,
    as_prompt,
    count_at,
    header_of,
    loaded,
    part,
    text_at,
)
from equipoise.recorded.slices import elements, members
from equipoise.terms import Completion, Finish, Nonresponse, Usage

FAILED_TO_RUN = 2
"""`failureReason` of a result whose call failed; 1 is a failed assertion, which is no error."""


def opened(path: Path, text: str | None) -> Log:
    """The log in a file's text: one object, or a result a line."""
    assert text is not None
    if _is_lines(text):
        return Log("", path.stem, "{}", lambda: _records(_lines(text)))
    places = {key: (start, end) for key, start, end in members(text)}
    start = places.get("results", (0, 0))[0]
    header = {key: json.loads(text[a:b]) for key, (a, b) in places.items() if key != "results"}
    if text[start : start + 1] == "{":
        inner = {key: (a, b) for key, a, b in members(text, start)}
        header["results"] = {k: json.loads(text[a:b]) for k, (a, b) in inner.items()
                             if k != "results"}
        start = inner.get("results", (0, 0))[0]
    if text[start : start + 1] != "[":
        raise NotARecord("no list of results, so no promptfoo log")
    version = text_at(header, "metadata", "promptfooVersion")
    task = text_at(header, "config", "description") or text_at(header, "evalId") or path.stem
    return Log(version, task, header_of(header), lambda: _records(_results(text, start)))


def _results(text: str, start: int) -> Iterator[tuple[str, str]]:
    line, last = 1, 0
    for number, (begins, ends) in enumerate(elements(text, start), 1):
        line, last = line + text.count("\n", last, begins), begins
        yield f"result {number} (line {line}): ", text[begins:ends]


def _is_lines(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        return "promptIdx" in json.loads(first)
    except (ValueError, TypeError, RecursionError):
        return False


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"line {number}: ", line


def _records(found: Iterator[tuple[str, str]]) -> Iterator[Record]:
    items: dict[bytes, str] = {}
    drawn: dict[tuple[str, str], list[str | None]] = {}
    for where, raw in found:
        result = loaded(raw, where)
        provider = result.get("provider")
        subject = (text_at(provider, "label") or text_at(provider, "id")
                   or (provider if isinstance(provider, str) else ""))
        if not subject:
            raise NotARecord(f"{where}no provider, so no promptfoo result")
        raw_prompt = text_at(result, "prompt", "raw")
        prompt = as_prompt({"prompt": raw_prompt, "vars": part(result, "vars")})
        item = items.setdefault(prompt, f"test-{len(items) + 1}")
        before = drawn.setdefault((subject, item), [])
        said, cached = _said(result), part(result, "response", "cached") is True
        text = said.text if isinstance(said, Completion) else None
        again = "cache" if cached and text is not None and text in before else ""
        before.append(text)
        yield Record(subject, item, len(before), raw.encode(), prompt, again)


def look(raw: bytes) -> Looked:
    """What a result says; raises NotARecord."""
    result = loaded(raw)
    return Looked((_said(result),), cached=part(result, "response", "cached") is True)


def _said(result: dict[str, Any]) -> Completion | Nonresponse:
    response = result.get("response")
    failed = part(response, "error")
    output, text = part(response, "output"), ""
    if failed or (output is None and (result.get("error") or response is None)):
        return Nonresponse("error", str(failed or result.get("error") or "no response"))
    if result.get("failureReason") == FAILED_TO_RUN:
        return Nonresponse("error", str(result.get("error") or "the call failed"))
    if isinstance(output, str):
        text = output
    elif output is not None:
        text = text_at(response, "raw") or json.dumps(output, ensure_ascii=False)
    finish: Finish = FINISHES.get(text_at(response, "finishReason"), "other")
    if part(response, "isRefusal") is True:
        finish = "filter"
    cost = part(response, "cost")
    return Completion(
        text, finish, usage=Usage(
            count_at(response, "tokenUsage", "prompt"),
            count_at(response, "tokenUsage", "completion"),
            count_at(response, "tokenUsage", "completionDetails", "reasoning"),
            float(cost) if isinstance(cost, int | float) else None))
