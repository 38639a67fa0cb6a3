"""Debates runs as a published site: which is live, what each came to, and since when.

A version of the site holds everything: the pages, the live dataset, the registry of every run and
a snapshot of each. The dataset that was live at a moment follows from the registry.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.report.dataset import Dataset
from equipoise.report.registry import (
    MAKES_LIVE,
    ROLLED_BACK,
    Event,
    Offer,
    Served,
    as_json,
    iso,
    judged,
    news,
    stamped,
)
from equipoise.report.versions import (
    SUMS,
    Content,
    current,
    digest,
    holding,
    place,
    verified,
    versions,
)
from equipoise.terms import Misuse

Pages = Callable[[Dataset, Mapping[str, Any]], Mapping[str, str]]
"""Makes the pages of a site, by their path in it, from its dataset and what is said beside."""
DATASET, REGISTRY, ABOUT = "data/dataset.json", "data/registry.json", "data/published.json"
SHOWN = ("run", "at", "state", "reason", "snapshot", "report")


@dataclass(frozen=True)
class Published:
    """What became of a run and why; the version that is served now, and the run live in it."""

    run: str
    state: str
    reason: str
    version: str
    live: str
    changed: bool


@dataclass(frozen=True)
class Live:
    """What is to be served: a dataset, and the data files that belong to it alone."""

    dataset: Dataset
    about: Mapping[str, Any]
    files: Mapping[str, Content]


def publish(
    site: Path, offer: Offer, pages: Pages, at: int, others: Sequence[Offer] = ()
) -> Published:
    """Make a run the live dataset, or enter in the registry why it is not.

    `others` are further runs on record: the registry lists them too. Nothing is written where
    nothing is new. Raises Misuse (exit 10) for a run that was published with other content, and
    where what is served was changed by hand.
    """
    with holding(site):
        before = served(site)
        event, dataset = judged(before, offer)
        is_news, events = news(before, event, others, at)
        said = offer.run, event["state"], event["reason"]
        if dataset is not None and is_news:
            live = _live(offer, dataset, events[0]["at"])
        elif before.version is None:
            raise Misuse(f"The run {offer.run!r} is not made live ({event['reason']}), and {site}"
                         " holds nothing yet. Publish sample data first, with --sample.")
        elif not events:
            return Published(*said, before.version.name, before.about["run"], changed=False)
        else:
            live = as_before(before)
        own = _own_files(offer, event, dataset) if is_news else {}
        made = place(site, _files(before, events, live, own, pages))
    return Published(*said, made.name, live.about["run"], changed=True)


def roll_back(site: Path, version: str, pages: Pages, at: int) -> Published:
    """Make the dataset of an earlier version live again; the registry keeps all that came since.

    Raises Misuse for a version there is not, or that is not as it was published (exit 10).
    """
    with holding(site):
        before, folder = served(site), _earlier(site, version)
        live = as_before(read(folder))
        run, was = live.dataset["run"], digest(live.files[DATASET])
        past = next((e for e in reversed(before.events)
                     if e["state"] in MAKES_LIVE and e["dataset"] == was), None)
        if past is None or before.version is None:
            raise Misuse(f"The version {folder.name} of {site} was never live. Publish its run"
                         f" {run!r} instead.")
        if was == digest(before.version / DATASET):
            return Published(run, ROLLED_BACK, f"the dataset of {folder.name} is live",
                             before.version.name, run, changed=False)
        reason = f"rolled back to the version {folder.name}, first live at {past['at']}"
        events = stamped(before, [{**past, "state": ROLLED_BACK, "reason": reason}], at)
        live = replace(live, about={**live.about, "published_at": events[0]["at"]})
        made = place(site, _files(before, events, live, {}, pages))
    return Published(run, ROLLED_BACK, reason, made.name, run, changed=True)


def as_of(site: Path, when: int) -> Dataset:
    """The dataset that was live at a moment, in microseconds since 1970.

    Raises Misuse for a moment before there was any.
    """
    now = served(site)
    found = [e for e in now.events if e["state"] in MAKES_LIVE and e["at"] <= iso(when)]
    if not found or now.version is None:
        first = f" The first dataset was published at {now.events[0]['at']}." if now.events else ""
        raise Misuse(f"Nothing was live at {iso(when)} in {site}.{first}")
    return _dataset(now.version / found[-1]["snapshot"])


def served(site: Path) -> Served:
    """What is served now; every file of it is held to its checksum first."""
    version = current(site)
    if version is None:
        return Served.nothing()
    verified(version)
    return read(version)


def read(version: Path) -> Served:
    """What a version says, taken as it stands."""
    registry = json.loads((version / REGISTRY).read_bytes())
    about = json.loads((version / ABOUT).read_bytes())
    return Served(version, tuple(registry["events"]), _dataset(version / DATASET), about)


def _dataset(path: Path) -> Dataset:
    found: Dataset = json.loads(path.read_bytes())
    return found


def _earlier(site: Path, name: str) -> Path:
    """The version of that name, or whose name begins so; raises Misuse that lists them."""
    found = [known for known in versions(site) if name and known.startswith(name)]
    if len(found) != 1:
        listed = "; ".join(f"{known} ({_told(site / 'versions' / known)})"
                           for known in versions(site))
        raise Misuse(f"{len(found)} versions of {site} have a name that begins with {name!r};"
                     f" wanted one. There are: {listed or 'none'}.")
    folder = site / "versions" / found[0]
    verified(folder)
    return folder


def _told(version: Path) -> str:
    """Which run a version serves, and since when."""
    try:
        about = json.loads((version / ABOUT).read_bytes())
        return f"{about['run']}, {about['published_at']}"
    except (OSError, ValueError, KeyError):
        return "not readable"


def _live(offer: Offer, dataset: Dataset, at: str) -> Live:
    about = {"run": offer.run, "sample": dataset["sample"], "published_at": at, "head": offer.head,
             "registration": dataset["registration"]}
    texts = {f"data/{name}": text.encode() for name, text in offer.stimuli.items()}
    return Live(dataset, about, {DATASET: as_json(dataset), **texts})


def as_before(before: Served) -> Live:
    """What a version serves, file by file."""
    version, dataset = before.version, before.dataset
    assert version is not None and dataset is not None
    names = [DATASET, *(f"data/{p.name}" for p in sorted((version / "data").glob("*.toml")))]
    return Live(dataset, before.about, {name: version / name for name in names})


def _own_files(offer: Offer, event: Event, dataset: Dataset | None) -> dict[str, bytes]:
    """What is kept of a run for good: the dataset it made live, or its own, its report, stimuli."""
    kept = offer.dataset if dataset is None else dataset
    return {event["snapshot"]: as_json(kept), event["report"]: as_json(offer.report),
            **{f"data/stimuli/{offer.dataset['stamp'][:12]}/{file}": text.encode()
               for file, text in offer.stimuli.items()}}


def _files(
    before: Served, events: Sequence[Event], live: Live, own: Mapping[str, Content], pages: Pages
) -> dict[str, Content]:
    """Every file of a version: what was kept, what is new, what is live, and its pages."""
    every = [*before.events, *events]
    data: dict[str, Content] = {
        **own, **_kept(before), **live.files, REGISTRY: as_json({"schema": 1, "events": every}),
        ABOUT: as_json({**live.about, "dataset_sha256": digest(live.files[DATASET])})}
    made = pages(live.dataset, {
        "published_at": live.about["published_at"], "head": live.about["head"],
        "history": [{key: e.get(key) or "" for key in SHOWN} for e in every],
        "files": _downloads(data, live.about["run"], every), **_shown_stimuli(live)})
    return {**{path: html.encode("utf-8", "backslashreplace") for path, html in made.items()},
            **data}


def _shown_stimuli(live: Live) -> dict[str, Any]:
    """The prompts by language and form, and the hedging phrases by category, as pages show them."""
    prompts, hedging = (tomllib.loads(_bytes(live.files[f"data/{name}.toml"]).decode())
                        for name in ("prompts", "hedging"))
    phrases: dict[str, list[str]] = {}
    for listed in hedging.values():
        for category, said in listed.items():
            phrases.setdefault(category, []).extend(said)
    return {"prompts": prompts, "hedging": phrases}


def _kept(before: Served) -> dict[str, Content]:
    """The snapshots, reports and stimuli of every run before."""
    if before.version is None:
        return {}
    return {p.relative_to(before.version).as_posix(): p
            for folder in ("history", "reports", "stimuli")
            for p in sorted((before.version / "data" / folder).rglob("*")) if p.is_file()}


def _downloads(
    data: Mapping[str, Content], run: str, events: Sequence[Event]
) -> list[tuple[str, str]]:
    """The data files of what is live, each with its size and its SHA-256, as pages link to them."""
    report = next(e["report"] for e in reversed(events)
                  if e["run"] == run and e["state"] in MAKES_LIVE)
    shown = [path for path in sorted(data) if path.count("/") == 1 or path == report]
    return [*((path, f"{path.removeprefix('data/')} · {len(_bytes(data[path])):,} bytes · SHA-256"
               f" {digest(data[path])}") for path in shown), (SUMS, SUMS)]


def _bytes(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()
