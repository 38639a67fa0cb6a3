"""Debates runs as a published site: which is live, what each came to, and since when.

A version of the site holds everything: the pages, the live dataset, the registry of every run and
a snapshot of each. The dataset that was live at a moment follows from the registry.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.report.dataset import Dataset
from equipoise.report.kept import (
    ABOUT,
    DATASET,
    REGISTRY,
    dataset_of,
    earlier,
    registered,
    served,
)
from equipoise.report.registry import (
    EARLIER,
    LIVE,
    MAKES_LIVE,
    ROLLED_BACK,
    Event,
    Offer,
    Served,
    as_json,
    judged,
    news,
    stamped,
)
from equipoise.report.versions import (
    SUMS,
    Content,
    digest,
    holding,
    is_whole,
    place,
    versions,
)
from equipoise.terms import Misuse

Pages = Callable[[Dataset, Mapping[str, Any]], Mapping[str, str]]
"""Makes the pages of a site, by their path in it, from its dataset and what is said beside."""
SHOWN = ("run", "at", "state", "reason", "snapshot", "report")


@dataclass(frozen=True)
class Published:
    """What became of a run and why; the version that is served now, and the run live in it.

    `entered` are the other runs of which the registry had something new to say.
    """

    run: str
    state: str
    reason: str
    version: str
    live: str
    changed: bool
    entered: tuple[str, ...] = ()


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
        found = news(before, event, offer, others, at)
        events, entered = [e for e, _ in found], tuple(one.run for _, one in found)
        is_news = offer.run in entered
        said = offer.run, event["state"], event["reason"]
        if dataset is not None and is_news:
            live = _live(offer, dataset, events[0]["at"])
        elif before.version is None:
            raise Misuse(f"The run {offer.run!r} is not made live ({event['reason']}), and {site}"
                         " holds nothing yet. Publish sample data first, with --sample.")
        elif not events:
            return _as_it_stands(before, event, before.version.name)
        else:
            live = as_before(before)
        own: dict[str, Content] = {}
        for e, one in found:
            own |= _own_files(one, e, dataset if one is offer else None)
        made = place(site, _files(before, events, live, own, pages))
    return Published(*said, made.name, live.about["run"], True, tuple(
        run for run in entered if run != offer.run))


def _as_it_stands(before: Served, event: Event, version: str) -> Published:
    """What there is to say of a run of which nothing is new."""
    run, live = event["run"], before.about["run"]
    if event["state"] == LIVE and run != live:
        return Published(run, EARLIER, f"it was made live at {event['at']}, and since then {live}"
                         f" was; --rollback {run} makes it live again", version, live, False)
    return Published(run, event["state"], event["reason"], version, live, changed=False)


def roll_back(site: Path, version: str, pages: Pages, at: int) -> Published:
    """Make the dataset of an earlier version live again; the registry keeps all that came since.

    In place of a version's name that of a run that was live will do. The pages are made again from
    the snapshot, so pages that were changed by hand do not stand in the way. Raises Misuse for a
    version there is not, and for data that is not as it was published (exit 10).
    """
    with holding(site):
        before = registered(site)
        past, called = _once_live(site, before, version)
        assert before.version is not None
        run, is_live = past["run"], _is_live(before, past)
        if is_live and is_whole(before.version):
            return Published(run, ROLLED_BACK, f"the dataset of {called} is live",
                             before.version.name, run, changed=False)
        reason = (f"the pages of {called} made again" if is_live else
                  f"rolled back to {called}, first live at {past['at']}")
        events = stamped(before, [{**past, "state": ROLLED_BACK, "reason": reason}], at)
        live = _as_then(before.version, past, events[0]["at"])
        made = place(site, _files(before, events, live, {}, pages))
    return Published(run, ROLLED_BACK, reason, made.name, run, changed=True)


def _once_live(site: Path, before: Served, name: str) -> tuple[Event, str]:
    """The event that made a run's, or a version's, dataset live first; and what that is called."""
    live = [e for e in before.events if e["state"] in MAKES_LIVE]
    past = next((e for e in live if e["run"] == name), None)
    if past is not None and name not in versions(site):
        return past, f"the run {name}"
    folder = earlier(site, name)
    was = digest(folder / DATASET)
    past = next((e for e in live if e["dataset"] == was), None)
    if past is None:
        raise Misuse(f"The version {folder.name} of {site} was never live. Publish its run"
                     " instead.")
    return past, f"the version {folder.name}"


def _is_live(before: Served, past: Event) -> bool:
    now = [e for e in before.events if e["state"] in MAKES_LIVE][-1]
    return bool(now["dataset"] == past["dataset"])


def _as_then(version: Path, past: Event, at: str) -> Live:
    """A dataset that was live, with its stimuli, from what is kept of every run."""
    dataset = dataset_of(version / past["snapshot"])
    about = {"run": past["run"], "sample": dataset["sample"], "published_at": at,
             "head": past["head"], "registration": dataset["registration"]}
    texts = sorted((version / f"data/stimuli/{dataset['stamp'][:12]}").glob("*.toml"))
    return Live(dataset, about, {DATASET: version / past["snapshot"],
                                 **{f"data/{path.name}": path for path in texts}})


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
