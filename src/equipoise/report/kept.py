"""What a published site keeps: what is served, what was live when, and every run's snapshot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from equipoise.report.dataset import Dataset
from equipoise.report.registry import MAKES_LIVE, Event, Served, iso
from equipoise.report.versions import current, drop, holding, reading, verified, versions
from equipoise.terms import Misuse

DATASET, REGISTRY, ABOUT = "data/dataset.json", "data/registry.json", "data/published.json"
CARRIED = (REGISTRY, "data/history/", "data/reports/", "data/stimuli/")
"""What every later version is built on."""


@dataclass(frozen=True)
class InForce:
    """A dataset that was live, from when and until when; the end is empty while it is."""

    dataset: Dataset
    since: str
    until: str


def served(site: Path) -> Served:
    """What is served now; every file of it is held to its checksum first."""
    version = current(site)
    if version is None:
        return Served.nothing()
    verified(version)
    return read(version)


def read(version: Path) -> Served:
    """What a version says, taken as it stands."""
    about = json.loads((version / ABOUT).read_bytes())
    return Served(version, events_of(version), dataset_of(version / DATASET), about)


def events_of(version: Path) -> tuple[Event, ...]:
    """What became of every run, in the order of time, as a version has it."""
    return tuple(json.loads((version / REGISTRY).read_bytes())["events"])


def registered(site: Path) -> Served:
    """What every later version is built on, held to its checksums: the registry and all kept."""
    version = current(site)
    if version is None:
        return Served.nothing()
    verified(version, CARRIED)
    return Served(version, events_of(version), None, {})


def dataset_of(path: Path) -> Dataset:
    """The dataset in a file."""
    found: Dataset = json.loads(path.read_bytes())
    return found


def earlier(site: Path, name: str, also: str = "") -> Path:
    """The version of that name, or whose name begins so; raises Misuse that lists them."""
    found = [known for known in versions(site) if name and known.startswith(name)]
    if len(found) != 1:
        listed = "; ".join(f"{known} ({_told(site / 'versions' / known)})"
                           for known in versions(site))
        raise Misuse(f"{len(found)} versions of {site} have a name that begins with {name!r};"
                     f" wanted one. There are: {listed or 'none'}.{also and f' And {also}.'}")
    folder = site / "versions" / found[0]
    verified(folder, (DATASET,))
    return folder


def _told(version: Path) -> str:
    """Which run a version serves, and since when."""
    try:
        about = json.loads((version / ABOUT).read_bytes())
        return f"{about['run']}, {about['published_at']}"
    except (OSError, ValueError, KeyError):
        return "not readable"


def as_of(site: Path, when: int) -> InForce:
    """The dataset that was live at a moment, in microseconds since 1970, and from when to when.

    Raises Misuse for a moment before there was any.
    """
    with reading(site):
        now = served(site)
        made_live = [e for e in now.events if e["state"] in MAKES_LIVE]
        found = [e for e in made_live if e["at"] <= iso(when)]
        if not found or now.version is None:
            first = "".join(f" The first dataset was published at {e['at']}."
                            for e in made_live[:1])
            raise Misuse(f"Nothing was live at {iso(when)} in {site}.{first}")
        after = made_live[len(found):]
        return InForce(dataset_of(now.version / found[-1]["snapshot"]), found[-1]["at"],
                       after[0]["at"] if after else "")


def stored(site: Path, name: str) -> tuple[str, Dataset]:
    """A dataset that a site keeps, and what it is called: that of a version, by its name or the
    beginning of it, or a run's snapshot, by the run's name.

    Of a run that was published the snapshot is of what it made live. Raises Misuse that lists what
    there is.
    """
    with reading(site):
        now = served(site)
        event = now.published(name) or now.last(name)
        if (now.version is not None and event is not None and "snapshot" in event
                and name not in versions(site)):
            return name, dataset_of(now.version / event["snapshot"])
        folder = earlier(site, name, "runs: " + (", ".join(dict.fromkeys(
            e["run"] for e in now.events)) or "none"))
        found = dataset_of(folder / DATASET)
        return f"{found['run']} in {folder.name}", found


def prune(site: Path, keep: int) -> tuple[tuple[str, str], ...]:
    """Take away all versions but the newest `keep` and the live one; what went, and what it served.

    The live version holds the registry with every snapshot, report and text that it names, and is
    held to its checksums first, so nothing of the record is lost, and a run can still be gone
    back to. What lies there and is no version stays.
    """
    with holding(site):
        live = served(site).version
        if live is None:
            raise Misuse(f"{site} holds nothing yet, so nothing can be taken away.")
        age = {name: n for name in versions(site) if (n := _age(site / "versions" / name))}
        newest = sorted(age, key=lambda name: (age[name], name == live.name), reverse=True)
        gone = [(name, _told(site / "versions" / name)) for name in newest[keep:]
                if name != live.name]
        for name, _ in reversed(gone):
            drop(site, name)
        return tuple(gone)


def _age(version: Path) -> int:
    """How many events a version's registry holds: each version has more than those before it."""
    try:
        return len(events_of(version))
    except (OSError, ValueError, KeyError, TypeError):
        return 0
