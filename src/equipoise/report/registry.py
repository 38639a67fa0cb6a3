"""What becomes of each run that is offered for publication, as events in a list that only grows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from equipoise.report.comparing import carried, covered, differences, is_partial, not_asked
from equipoise.report.dataset import Dataset
from equipoise.report.versions import digest
from equipoise.terms import Misuse, content_hash

Event = dict[str, Any]
SAMPLE, LIVE, REFUSED, ABANDONED = "sample", "live", "refused", "abandoned"
NOT_PUBLISHED, ROLLED_BACK = "not published", "rolled back"
EARLIER = "published earlier"
MAKES_LIVE = (SAMPLE, LIVE, ROLLED_BACK)
DIFFERENT = 10
LONGEST_NAME = 100
PLAIN = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))[a-z0-9_-][a-z0-9._-]*")
"""Names that a folder of any system holds as they are."""



@dataclass(frozen=True)
class Offer:
    """A run as it is offered: its own answers, its stimuli by file name, its report, the head."""

    dataset: Dataset
    stimuli: Mapping[str, str]
    report: Mapping[str, Any]
    head: str = ""

    @property
    def run(self) -> str:
        return str(self.dataset["run"])

    @property
    def content(self) -> str:
        """SHA-256 of the run's own answers: the same content is the same run."""
        return digest(as_json(self.dataset))


@dataclass(frozen=True)
class Served:
    """What is served and what was published before, read from the current version."""

    version: Path | None
    events: tuple[Event, ...]
    dataset: Dataset | None
    about: Mapping[str, Any]

    @classmethod
    def nothing(cls) -> Served:
        """What a new site serves."""
        return cls(None, (), None, {})

    def published(self, run: str) -> Event | None:
        """The event with which a run was published, if it ever was."""
        return next((e for e in self.events if e["run"] == run and e["state"] == LIVE), None)

    def last(self, run: str) -> Event | None:
        """The newest event of a run."""
        return next((e for e in reversed(self.events) if e["run"] == run), None)


def as_json(value: object) -> bytes:
    """A value as published JSON: readable, in its own order; a lone surrogate as its escape.

    >>> as_json({"b": "\\u732b", "a": "\\ud800"}).decode()
    '{\\n "b": "猫",\\n "a": "\\\\ud800"\\n}\\n'
    """
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def iso(micros: int) -> str:
    """A moment, from microseconds since 1970, as ISO 8601 in UTC, in whole seconds.

    >>> iso(1_764_460_800_000_000)
    '2025-11-30T00:00:00Z'
    """
    found = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")


def judged(before: Served, offer: Offer) -> tuple[Event, Dataset | None]:
    """What becomes of a run: its event, and the dataset to be made live, if any is.

    Raises Misuse (exit 10) for a run that was published with other content.
    """
    if past := before.published(offer.run):
        if past["content"] != offer.content:
            raise _other_content(before, past, offer)
        return past, None
    event, dataset = _sample(before, offer) if offer.dataset["sample"] else _run(before, offer)
    return _kept(event), dataset


def _kept(event: Event) -> Event:
    """An event with where the run's snapshot and its report are kept."""
    name = file_of(event["run"])
    if event["state"] != LIVE:
        name += f"~{event['content'][:12]}"
    return {**event, "snapshot": f"data/history/{name}.json",
            "report": f"data/reports/{name}.json"}


def _other_content(before: Served, past: Event, offer: Offer) -> Misuse:
    assert before.version is not None
    stored: Dataset = json.loads((before.version / past["snapshot"]).read_bytes())
    found = differences(stored, offer.dataset)
    more = f"; and {len(found) - 3:,} more" if len(found) > 3 else ""
    return Misuse(f"The run {offer.run!r} was published at {past['at']} with other content:"
                  f" {'; '.join(found[:3])}{more}. What is published under a name stays. Run it"
                  " under another name, or publish to another --site.", DIFFERENT)


def _run(before: Served, offer: Offer) -> tuple[Event, Dataset | None]:
    own, event = offer.dataset, listed(offer)
    if event["state"] != NOT_PUBLISHED:
        return event, None
    try:
        dataset = carried(own, before.dataset) if is_partial(own, before.dataset) else own
    except Misuse as why:
        return {**event, "state": REFUSED, "reason": str(why).removesuffix(".")}, None
    return {**event, "state": LIVE, "reason": _said(dataset),
            "dataset": digest(as_json(dataset))}, dataset


def _sample(before: Served, offer: Offer) -> tuple[Event, Dataset]:
    if any(e["state"] == LIVE for e in before.events):
        raise Misuse("The site has held a run; sample data is for before the first one. Go back to"
                     " a version with --rollback, or publish to another --site.")
    return {**_event(offer), "state": SAMPLE, "reason": "sample data, before the first run",
            "dataset": digest(as_json(offer.dataset))}, offer.dataset


def listed(offer: Offer) -> Event:
    """A run that is not made live, as it stands: abandoned, refused, or not published."""
    event, count = _event(offer), covered(offer.dataset)
    said = f"{count['succeeded']:,} of {count['registered']:,} registered pairs succeeded"
    if left := not_asked(offer.dataset):
        cells = len(offer.dataset["answers"]) + len(offer.dataset["menu"])
        return {**event, "state": ABANDONED, "reason":
                f"not finished: {left:,} of {cells:,} cells have a question that was not put"}
    if count["succeeded"] < count["needed"] or not count["registered"]:
        return {**event, "state": REFUSED, "reason": f"{said}; {count['needed']:,} are needed"}
    return {**event, "state": NOT_PUBLISHED, "reason": said}


def _event(offer: Offer) -> Event:
    own = offer.dataset
    return {"run": offer.run, "registered_at": iso(own["registered_at"]),
            "registration": own["registration"], "stamp": own["stamp"],
            "rerun_of": own["declared"].get("rerun_of"), "coverage": covered(own),
            "content": offer.content, "head": offer.head}


def _said(dataset: Dataset) -> str:
    """Why a run is live, in words, with what it carries over."""
    count = dataset["own_coverage" if "own_coverage" in dataset else "coverage"]
    said = f"{count['succeeded']:,} of {count['registered']:,} registered pairs succeeded"
    if over := dataset.get("carried_over"):
        again = over["asked_again"]
        said += (f"; asked again: {_counted(len(again['debates']), 'debate')} of"
                 f" {_counted(len(again['subjects']), 'subject')}; the other"
                 f" {_counted(over['answers'], 'answer')} carried over unchanged from"
                 f" {', '.join(over['runs'])}")
    return said


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def news(
    before: Served, event: Event, offer: Offer, others: Sequence[Offer], at: int
) -> list[tuple[Event, Offer]]:
    """The events that are news, each with its run and its time; the run offered comes first.

    Of the others, one is news while nothing is published or known of it, or its content changed.
    The time is never before that of the last event, whatever the clock says.
    """
    past = before.last(event["run"]) or {}
    is_news = event["state"] != past.get("state") or any(
        event[part] != past.get(part) for part in ("reason", "content", "snapshot"))
    found = [(event, offer)] if is_news and before.published(event["run"]) is None else []
    for other in others:
        known = before.last(other.run)
        if before.published(other.run) is None and (
            known is None or known["content"] != other.content
        ):
            found.append((_kept(listed(other)), other))
    events = stamped(before, [event for event, _ in found], at)
    return list(zip(events, [one for _, one in found], strict=True))


def stamped(before: Served, events: Iterable[Event], at: int) -> list[Event]:
    """Events with their time: never before the last one."""
    when = max([iso(at), *(e["at"] for e in before.events[-1:])])
    return [{**event, "at": when} for event in events]


def file_of(run: str) -> str:
    """What a run's files are called: its name where that is plain, else a name made of it.

    No two runs have one name, in a folder that does not tell capitals apart either.

    >>> file_of("debates-1"), file_of("sample data"), file_of("一" * 100)
    ('debates-1', 'sample~data~331489bbd2c82faa', '~6f5ad6f1252bd390')
    """
    if PLAIN.fullmatch(run) and len(run) <= LONGEST_NAME:
        return run
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "~" for c in run)
    return f"{plain[:LONGEST_NAME].strip('~')}~{content_hash(run)[:16]}"
