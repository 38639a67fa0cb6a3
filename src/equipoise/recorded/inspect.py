"""Logs of Inspect (UKGovernmentBEIS/inspect_ai, log version 2): `.eval` and `.json`.

A sample is a record, its epoch the draw. What a sample's reply is: the text of its output's first
choice, without the reasoning. A sample with an error has none, whatever stands in it.
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
    lettered,
    loaded,
    part,
    text_at,
)
from equipoise.recorded.slices import elements, members
from equipoise.terms import Completion, Nonresponse, Usage

ATTACHMENT = "attachment://"


def opened(path: Path, text: str | None) -> Log:
    """The log in a file: `text` is the file's where it is JSON, None where it is a zip."""
    if text is None:
        return _from_archive(path)
    places = {key: (start, end) for key, start, end in members(text)}
    header = {key: json.loads(text[start:end]) for key, (start, end) in places.items()
              if key != "samples"}
    start = places.get("samples", (None, 0))[0]

    def records() -> Iterator[Record]:
        found = [] if start is None else elements(text, start)
        for number, (begins, ends) in enumerate(found, 1):
            yield _record(header, text[begins:ends].encode(), f"sample {number}: ")

    return _log(header, records)


def _from_archive(path: Path) -> Log:
    # Imported here: reading what was imported needs no zip file.
    from equipoise.recorded.archive import Archive

    archive = Archive(path)
    names = archive.names
    held = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if held is None:
        raise NotARecord("a zip file without header.json, so no Inspect log")
    header = loaded(archive.read(held), f"{held}: ")

    def records() -> Iterator[Record]:
        for name in names:
            if name.startswith("samples/") and name.endswith(".json"):
                yield _record(header, archive.read(name), f"member {name!r}: ")

    return _log(header, records)


def _log(header: dict[str, Any], records: Any) -> Log:
    if not text_at(header, "eval", "task") or not text_at(header, "eval", "model"):
        raise NotARecord("no task and model under \"eval\", so no Inspect log")
    return Log(text_at(header, "eval", "packages", "inspect_ai"), header["eval"]["task"],
               header_of(header), records)


def _record(header: dict[str, Any], raw: bytes, where: str) -> Record:
    sample = loaded(raw, where)
    name, epoch = sample.get("id"), count_at(sample, "epoch")
    if not isinstance(name, str | int) or epoch is None or "input" not in sample:
        raise NotARecord(f"{where}no id, epoch and input, so no sample")
    return Record(header["eval"]["model"], str(name), epoch, raw, as_prompt(sample["input"]))


def look(raw: bytes) -> Looked:
    """What a sample says; raises NotARecord."""
    sample = loaded(raw)
    target = sample.get("target")
    several = target if isinstance(target, list) else [target]
    return Looked((_said(sample),), lettered(sample.get("choices")),
                  " | ".join(t for t in several if isinstance(t, str)))


def _said(sample: dict[str, Any]) -> Completion | Nonresponse:
    output = sample.get("output")
    failed = part(sample, "error", "message") or part(output, "error")
    if failed:
        return Nonresponse("error", str(failed))
    choice = part(output, "choices", 0)
    if choice is None:
        limit = text_at(sample, "limit", "type")
        return Nonresponse("error", f"the {limit} limit was reached before a reply" if limit
                           else "the log holds no reply")
    text, reasoning = _parts(part(choice, "message", "content"), sample.get("attachments"))
    return Completion(
        text, FINISHES.get(text_at(choice, "stop_reason"), "other"), reasoning,
        text_at(output, "model"),
        usage=Usage(count_at(output, "usage", "input_tokens"),
                    count_at(output, "usage", "output_tokens"),
                    count_at(output, "usage", "reasoning_tokens")),
        first_token=_first_token(choice))


def _parts(content: object, attachments: object) -> tuple[str, str]:
    """The text of a message and its reasoning, each put back where it was stored apart."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said: dict[str, list[str]] = {"text": [], "reasoning": []}
    for one in parts:
        kind = text_at(one, "type")
        if kind in said:
            words = text_at(one, kind)
            if words.startswith(ATTACHMENT):
                words = text_at(attachments, words.removeprefix(ATTACHMENT)) or words
            said[kind].append(words)
    return "".join(said["text"]), "".join(said["reasoning"])


def _first_token(choice: object) -> tuple[tuple[str, float], ...]:
    found = part(choice, "logprobs", "content", 0, "top_logprobs")
    pairs = [(part(a, "token"), part(a, "logprob")) for a in found or ()]
    return tuple((token, float(logprob)) for token, logprob in pairs
                 if isinstance(token, str) and isinstance(logprob, int | float))
