"""Samples of the LM Evaluation Harness: `samples_TASK_DATE.jsonl`, as `--log_samples` writes it.

A line is a record, its repeats draws. A line that holds the same replies under another filter is
no draw of its own. A task that compares log-likelihoods asked for no text: its lines hold
numbers, and are not read. The harness does not write down how a reply ended, so one that was cut
off cannot be told from one that was not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.recorded.record import (
    Log,
    Looked,
    NotARecord,
    Record,
    as_prompt,
    lettered,
    loaded,
    part,
    text_at,
)
from equipoise.terms import Completion, Nonresponse

NO_TEXT = Nonresponse("not asked", "log-likelihoods: no text was asked for")
FILE = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d.\-]+)?")


def opened(path: Path, text: str | None) -> Log:
    """The log in a file's text; task and model are named by the file and its folder."""
    assert text is not None
    named = FILE.fullmatch(path.stem)
    folder = path.resolve().parent.name
    subject = folder.replace("__", "/") if "__" in folder else "unnamed"
    return Log("", named["task"] if named else path.stem, "{}", lambda: _records(text, subject))


def _records(text: str, subject: str) -> Iterator[Record]:
    seen: dict[str, list[list[Any]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        sample, where = loaded(line, f"line {number}: "), f"line {number}: "
        name = sample.get("doc_id")
        if not isinstance(name, str | int) or not isinstance(sample.get("resps"), list):
            raise NotARecord(f"{where}no doc_id and resps, so no sample of lm-eval")
        before, responses = seen.setdefault(str(name), []), sample["resps"]
        draw, again = 1 + sum(len(list(_replies(one))) for one in before), ""
        if responses in before:
            draw, again = 1, f"filter {text_at(sample, 'filter')}"
        else:
            before.append(responses)
        yield Record(subject, str(name), draw, line.encode(),
                     as_prompt(sample.get("arguments")), again)


def look(raw: bytes) -> Looked:
    """What a line says; raises NotARecord."""
    sample = loaded(raw)
    doc = sample.get("doc")
    choices = part(doc, "choices")
    options = lettered(part(choices, "text") or choices or part(doc, "options"))
    return Looked(tuple(_said(sample)), options, text_at(sample, "target"))


def _said(sample: dict[str, Any]) -> Iterator[Completion | Nonresponse]:
    responses = sample.get("resps")
    found = list(_replies(responses if isinstance(responses, list) else []))
    if not _asked_for_text(sample):
        yield NO_TEXT
        return
    for text in found:
        yield (Completion(text, "other") if isinstance(text, str) else
               Nonresponse("error", f"the log holds no text, but {json.dumps(text)[:100]}"))
    if not found:
        yield Nonresponse("error", "the log holds no reply")


def _replies(responses: list[Any]) -> Iterator[Any]:
    """The replies of a line: a list for each request, with its repeats."""
    for response in responses:
        yield from response if isinstance(response, list) else [response]


def _asked_for_text(sample: dict[str, Any]) -> bool:
    """Whether a line's request had settings for writing, as only requests for a text have.

    The numbers of log-likelihoods are logged as text too, so their look decides nothing. Without
    the requests, a reply of a pair tells a log-likelihood, and a bare number one.
    """
    asked = sample.get("arguments")
    requests = list(asked.values()) if isinstance(asked, dict) else asked
    if isinstance(requests, list) and requests:
        first = requests[0]
        within = list(first.values()) if isinstance(first, dict) else first
        return isinstance(within, list) and any(isinstance(one, dict) for one in within)
    first = part(sample.get("resps"), 0, 0)
    return isinstance(first, str) and not _is_number(first)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
