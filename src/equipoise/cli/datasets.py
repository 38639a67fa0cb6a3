"""The acts behind `dataset`: new, add, retire, erase, freeze, show and export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from equipoise import datasets
from equipoise.answers import read_lines
from equipoise.calibration import PER_CLASS
from equipoise.cli.dataset_files import Items, as_toml, read_items
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.cli.studies import stimuli_of
from equipoise.cli.trust import SHIPPED_FILES
from equipoise.datasets import Dataset, Kind, Version
from equipoise.instruments.replay.labels import SPLITS, labelled, split_of
from equipoise.instruments.replay.suite import RESERVED, SHIPPED, STANDARD, Suite, suite
from equipoise.labelling import TASKS
from equipoise.replacing import replacing
from equipoise.stimuli import Stimuli
from equipoise.terms import Misuse, canonical_json

MAY_STAND: Mapping[Kind, frozenset[str]] = {
    "openings": frozenset(("language", "question", "at_stake", "page", "earlier", "turn")),
    "moments": frozenset((
        "language", "question", "at_stake", "page", "said", "after", "at_stake_after", "engine",
        "present", "shown", "quality", "reason")),
}


class Formed(Struct, frozen=True):
    """A line of what `equipoise gold -o` writes."""

    item: str
    task: str
    bias: str
    status: str
    label: str = ""
    line: int = -1


def new(folder: Path, as_json: bool) -> None:
    """Make an empty dataset."""
    _said(datasets.new(folder), as_json)


def add(folder: Path, files: Sequence[Path], definitions: str | None, as_json: bool) -> None:
    """Add the items of files, once all are checked as a suite checks them."""
    of = _definitions(definitions)
    before = datasets.read(folder)
    read = [(file, kind, items) for file in files for kind, items in read_items(file).items()]
    for file, kind, items in read:
        require_sound(str(file), kind, items, of)
    for _, kind, items in read:
        datasets.add(folder, kind, items)
    after = datasets.read(folder)
    there = len(after.added) - len(before.added)
    say(f"{there:,} items added; {len(after.active):,} would be in the next version.")
    _said(after, as_json)


def _definitions(folder: str | None) -> tuple[Stimuli, Suite]:
    stimuli, within = stimuli_of(folder or STANDARD, SHIPPED, (STANDARD,), SHIPPED_FILES)
    return stimuli, suite(stimuli, within)


def require_sound(where: str, kind: Kind, items: Items, of: tuple[Stimuli, Suite]) -> None:
    """Raises Misuse for an item that no suite could hold, with the file it is in."""
    stimuli, laid_out = of
    for name, item in items.items():
        if not name.strip() or not name.isprintable() or set(name) & set(RESERVED):
            raise Misuse(f"{where}: the name {name!r} is empty, or holds one of {RESERVED}.")
        if strange := sorted(item.keys() - MAY_STAND[kind]):
            raise Misuse(f"{where}: {name} has the key {strange[0]!r}; keys of {kind} are"
                         f" {', '.join(sorted(MAY_STAND[kind]))}.")
        try:
            canonical_json(item)
        except (TypeError, ValueError):
            raise Misuse(f"{where}: {name} holds a value that is neither text, whole number nor"
                         " truth value.") from None
    try:
        if kind == "openings":
            suite(replace(stimuli, files={**stimuli.files, "openings": items}))
        else:
            labelled(replace(stimuli, files={"moments": items}), laid_out.biases)
    except Misuse as error:
        raise Misuse(f"{where}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise Misuse(f"{where}: an item is not of the form of {kind} ({error}).") from None


def leave(folder: Path, item: str, reason: str, words_too: bool, as_json: bool) -> None:
    """Retire an item, or erase its words."""
    after = (datasets.erase if words_too else datasets.retire)(folder, item, reason)
    if words_too:
        broken = [v.number for v in after.versions if item in v.items]
        say(f"The words of {item} are gone from {folder}. Files exported from it before, backups"
            " and ledgers of runs that showed it are not reached from here."
            + (f" No longer whole: version {', '.join(map(str, broken))}." if broken else ""))
    _said(after, as_json)


def freeze(folder: Path, as_json: bool) -> None:
    """Freeze the next version, and say what its splits can tell."""
    after = datasets.freeze(folder, split_of)
    version = after.versions[-1]
    say(f"Version {version.number} is frozen: {len(version.items):,} items, {version.hash}")
    _said(after, as_json)


def show(folder: Path, as_json: bool) -> None:
    """A dataset's versions, its splits by class, and its head."""
    _said(datasets.read(folder), as_json)


def _said(of: Dataset, as_json: bool) -> None:
    if as_json:
        emit_json(_values(of))
        return
    rows = [[str(v.number), f"{len(v.items):,}",
             *(f"{Counter(v.splits.values())[split]:,}" for split in SPLITS),
             "yes" if _is_whole(of, v) else "no", v.hash[:16]] for v in of.versions]
    emit(table(["version", "items", *SPLITS, "whole", "hash"], rows))
    active = of.active
    emit(f"\nNow {len(active):,} items; {len(of.gone('retire')):,} retired,"
         f" {len(of.gone('erase')):,} erased. Head {of.head}")
    for version in of.versions[-1:]:
        for said in arithmetic(of, version):
            emit(said)


def _is_whole(of: Dataset, version: Version) -> bool:
    return not version.items.keys() & of.gone("erase")


def arithmetic(of: Dataset, version: Version) -> list[str]:
    """What a version's test split can tell of a reader, task by task, for all biases as one."""
    if not _is_whole(of, version):
        return []
    moments = of.content(version).get("moments", {})
    tested = [item for name, item in moments.items() if version.splits[name] == "test"]
    biases = len(_definitions(None)[1].biases)
    said = []
    for task in TASKS if tested else ():
        yes = sum(len(item.get(task) or ()) for item in tested)
        no = len(tested) * biases - yes
        short = min(yes, no) < PER_CLASS
        said.append(f"Test split, task {task}: {yes:,} items labelled yes and {no:,} no; the bar"
                    f" takes {PER_CLASS} of each"
                    + (": no reader can be trusted on this." if short else "."))
    return said


def _values(of: Dataset) -> dict[str, Any]:
    return {
        "dataset": str(of.folder), "head": str(of.head), "items": len(of.active),
        "retired": sorted(of.gone("retire")), "erased": sorted(of.gone("erase")),
        "versions": [{"number": v.number, "hash": v.hash, "items": len(v.items),
                      "splits": dict(Counter(v.splits.values())), "whole": _is_whole(of, v)}
                     for v in of.versions],
    }


def export(
    folder: Path, number: int | None, out: Path, gold: Path | None, as_json: bool
) -> None:
    """Write a version as a folder of stimuli, the same bytes each time.

    With a gold file the labels are gold's, and moments without gold on every bias are left out.
    Raises Misuse for a version that is not whole, and where other files are in the way.
    """
    of = datasets.read(folder)
    if not of.versions:
        raise Misuse(f"{folder} has no version yet: freeze one.")
    version = of.version(number or of.versions[-1].number)
    content = of.content(version)
    for name, split in version.splits.items():
        if split_of(name) != split:
            raise Misuse(f"{name} was drawn into the split {split} when it was frozen, and would"
                         f" now be drawn into {split_of(name)}. Export it with the equipoise that"
                         " froze it.", 10)
    notice = [f"Version {version.number} of a dataset, {version.hash}"]
    left: dict[str, str] = {}
    if gold is not None:
        formed = read_lines(gold, Formed)
        labels, left = labelled_by(content.get("moments", {}), formed)
        content["moments"] = dict(labels)
        notice.append("Labels: gold formed by raters.")
        if not content["moments"]:
            raise Misuse(f"No moment of version {version.number} has gold on every bias: "
                         + "; ".join(f"{name}: {why}" for name, why in list(left.items())[:3]))
    _write(out, {f"{kind}.toml": as_toml(items, notice) for kind, items in content.items()})
    for name, why in left.items():
        say(f"Left out: {name}, {why}.")
    counts: dict[str, int] = {kind: len(items) for kind, items in content.items()}
    if as_json:
        emit_json({"version": version.number, "hash": version.hash, "folder": str(out),
                   **counts, "left_out": left})
    else:
        emit(f"{out}: " + ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
             + f" of version {version.number}; a suite's folder, for --suite.")


def labelled_by(
    moments: Mapping[str, Mapping[str, Any]], formed: Sequence[Formed]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Moments with gold for labels, and those left out with the reason.

    A task that the gold does not speak of keeps the labels it has.
    """
    by_moment: dict[tuple[str, str], list[Formed]] = {}
    for one in formed:
        moment, _, _ = one.item.rpartition(f"/{one.bias}/")
        by_moment.setdefault((moment, one.task), []).append(one)
    biases = {one.bias for one in formed}
    tasks = {one.task for one in formed}
    found, left = {}, {}
    for name, item in moments.items():
        rows = {task: by_moment.get((name, task), []) for task in tasks}
        if why := next(filter(None, (_lacking(biases, its) for its in rows.values())), ""):
            left[name] = why
            continue
        words = {key: value for key, value in item.items() if key not in ("quality", "reason")}
        if "present" in tasks:
            words["present"] = [one.bias for one in rows["present"] if one.label == "yes"]
        if "shown" in tasks:
            words["shown"] = {one.bias: one.line for one in rows["shown"] if one.label == "yes"}
        found[name] = words
    return found, left


def _lacking(biases: set[str], rows: Sequence[Formed]) -> str:
    """Why these rows are no labels of a moment; empty where they are."""
    labels = {one.bias: one for one in rows}
    for bias in sorted(biases):
        one = labels.get(bias)
        if one is None or not one.label:
            return f"{bias} is {one.status if one else 'not labelled'}"
        if one.task == "shown" and one.label == "yes" and one.line < 0:
            return f"nobody named the line that shows {bias}"
    return ""


def _write(out: Path, files: Mapping[str, str]) -> None:
    """The files of a folder; what is there already is never written over with other words."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = out / name
            if path.exists() and path.read_bytes() != text.encode():
                raise Misuse(f"{path} is there with other content, and is not written over. Name"
                             " another folder.")
        for name, text in files.items():
            with replacing(out / name) as file:
                file.write(text.encode())
    except OSError as error:
        raise Misuse(f"{out} cannot be written ({error.strerror}).", 6) from error
