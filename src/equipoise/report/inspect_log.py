"""A run's cells as a log of Inspect (log version 2), a zip that its viewer and readers open.

Each cell is a sample, its draw the epoch, each reader a score. A cell without an answer is
unscored (NaN, as Inspect has it), with the kind of nonresponse as its reason: Inspect leaves it
out of every metric, so it is never taken for a wrong answer.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from equipoise.terms import Message, Nonresponse, Reading

REASONS: Mapping[str, str] = {"refused": "refusal", "invalid": "invalid_response_format"}
STOPS: Mapping[str, str] = {
    "stop": "stop", "length": "max_tokens", "filter": "content_filter", "other": "unknown",
}
PLAIN, LONGEST = "~ ,+", 200


class Sample(Struct, frozen=True):
    """A cell as it goes into the log: `lost` says why there is no reply, where there is none."""

    cell: tuple[str, ...]
    draw: int
    asked: Sequence[Message]
    reply: str
    finish: str
    lost: str
    readings: Mapping[str, Reading[Any]]
    row: Mapping[str, Any]
    target: str = ""


def eval_log(samples: Iterable[Sample], model: str, about: Mapping[str, str], at: int) -> bytes:
    """The log's bytes: the same cells give the same bytes.

    `about` says of which run, with which stamps and head; `at` is when it was registered, in
    microseconds since 1970.
    """
    made = [(sample, _sample(sample, model)) for sample in samples]
    header = _header([sample for sample, _ in made], model, about, at)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, said: object) -> None:
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, json.dumps(said))

        add("_journal/start.json", {name: header[name] for name in ("version", "eval", "plan")})
        for _, said in made:
            add(f"samples/{said['id']}_epoch_{said['epoch']}.json", said)
        add("summaries.json", [_summary(said) for _, said in made])
        add("header.json", header)
    return out.getvalue()


def _header(
    samples: Sequence[Sample], model: str, about: Mapping[str, str], at: int
) -> dict[str, Any]:
    when = datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="seconds")
    readers = list(dict.fromkeys(name for sample in samples for name in sample.readings))
    answered = sum(not sample.lost for sample in samples)
    named = about["registration"]
    return {
        "version": 2, "status": "success" if answered == len(samples) else "cancelled",
        "eval": {
            "eval_id": named[:22], "run_id": named[22:44], "created": when,
            "task": about["run"], "task_id": named[44:], "task_version": 0, "task_args": {},
            "dataset": {"name": about["suite"], "samples": len({s.cell for s in samples}),
                        "shuffled": False},
            "model": model, "model_args": {}, "config": {
                "epochs": max((sample.draw for sample in samples), default=1)},
            "packages": {"equipoise": about["equipoise"]}, "metadata": {"equipoise": dict(about)},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples), "completed_samples": answered,
            "scores": [_scored(reader, samples) for reader in readers],
        },
        "stats": {"started_at": when, "completed_at": when, "model_usage": {}},
    }


def _scored(reader: str, samples: Sequence[Sample]) -> dict[str, Any]:
    found = [s.readings[reader].value for s in samples if reader in s.readings]
    lost = sum(isinstance(value, Nonresponse) for value in found)
    return {"name": reader, "scorer": reader, "scored_samples": len(found) - lost,
            "unscored_samples": lost, "params": {}, "metrics": {}}


def _sample(sample: Sample, model: str) -> dict[str, Any]:
    asked = [{"role": message.role, "content": message.text} for message in sample.asked]
    said: dict[str, Any] = {
        "id": named(sample.cell),
        "epoch": sample.draw, "input": asked, "target": sample.target, "messages": asked,
        "output": {"model": model, "choices": [], "completion": ""},
        "scores": {name: _score(name, reading, sample.row)
                   for name, reading in sample.readings.items()},
        "metadata": dict(sample.row), "store": {}, "events": [], "model_usage": {},
        "attachments": {},
    }
    if sample.lost:
        return said | {"error": {"message": sample.lost, "traceback": "", "traceback_ansi": ""}}
    reply = {"role": "assistant", "content": sample.reply, "source": "generate"}
    choice = {"message": reply, "stop_reason": STOPS.get(sample.finish, "unknown")}
    return said | {
        "messages": [*asked, reply],
        "output": {"model": model, "choices": [choice], "completion": sample.reply},
    }


def named(cell: Sequence[str]) -> str:
    """A cell's name as part of a file's name: what could be a path in it is escaped.

    >>> named(("../a", "plain"))
    '..%2Fa|plain'
    """
    safe = "|".join(quote(part, safe=PLAIN, errors="backslashreplace") for part in cell)
    if len(safe) <= LONGEST:
        return safe
    return f"{safe[:LONGEST - 20]}~{sha256(safe.encode()).hexdigest()[:16]}"


def _score(name: str, reading: Reading[Any], row: Mapping[str, Any]) -> dict[str, Any]:
    value = reading.value
    if isinstance(value, Nonresponse):
        why = f"{value.kind}: {value.detail}" if value.detail else value.kind
        return {"value": math.nan, "explanation": f"{why} (rule {reading.rule})",
                "reason": REASONS.get(value.kind, value.kind),
                "metadata": {"nonresponse": value.kind, "detail": value.detail,
                             "rule": reading.rule}}
    read_as = row.get(name, "")
    return {"value": read_as, "answer": str(read_as), "explanation": f"rule {reading.rule}",
            "metadata": {"rule": reading.rule, "span": list(reading.span)}}


def _summary(said: Mapping[str, Any]) -> dict[str, Any]:
    """What Inspect lists a sample by."""
    kept = {name: said[name] for name in ("id", "epoch", "input", "target", "scores")}
    error = said.get("error")
    return {**kept, "metadata": {}, "model_usage": {}, "completed": True,
            **({"error": error["message"]} if error else {})}
