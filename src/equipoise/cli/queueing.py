"""The act behind `queue`: blind items for people, and a key that says where each came from.

The queue file is for raters and tells them nothing. The key file stays with whoever leads the
labelling: it joins an item with the verdict, or the moment, that it is about.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.answers import lines_of
from equipoise.cli.running import read_run
from equipoise.cli.screen import emit_json, say
from equipoise.cli.studies import stimuli_of
from equipoise.cli.trust import SHIPPED_FILES
from equipoise.instruments.replay.calibrating import stamp
from equipoise.instruments.replay.contract import Seen
from equipoise.instruments.replay.instrument import EMPTY, NAME, Replayed
from equipoise.instruments.replay.labels import SPLITS, Labelled, labelled
from equipoise.instruments.replay.page import Page, worded
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, Suite, suite
from equipoise.labelling import TASKS, Item, Task, blind, queue_stamp
from equipoise.ledger import Ledger, Where
from equipoise.terms import Misuse, Nonresponse, Observation, Reading

KEY_FORM = "equipoise key 1"
RANDOM, LEAST_NAME = 10, 4
MASK = "▮▮▮"
SPOT, WAITING, LABEL = "spot", "unknown", "label"
NEVER_CAME = ("error", "not asked")


@dataclass(frozen=True)
class Verdict:
    """One reading of one version of a page, by one reader: where it stands and what it says."""

    place: Mapping[str, Any]
    page: Page
    language: str
    says: str

    @property
    def decided(self) -> bool:
        return self.says in ("met", "not met")


def verdicts(of: Suite, observations: Iterable[Observation[Any]]) -> Iterator[Verdict]:
    """Every page reading that a reader was asked for; an empty or unchanged page was not."""
    for o in observations:
        replayed: Replayed = o.value
        trial = o.trial
        for reader, by_bias in replayed.seen.items():
            for bias, readings in by_bias.items():
                for version, reading in enumerate(readings):
                    page = replayed.versions[version]
                    asked_before = version and page == replayed.versions[version - 1]
                    if asked_before or reading.rule == EMPTY.rule:
                        continue
                    yield Verdict(
                        {"opening": trial.item, "engine": trial.subject.name, **trial.condition,
                         "draw": trial.draw, "version": version, "bias": bias, "reader": reader},
                        page, of.openings[trial.item].language, _says(reading))


def _says(reading: Reading[Any]) -> str:
    value = reading.value
    if isinstance(value, Seen):
        return value.verdict
    return value.kind if isinstance(value, Nonresponse) else "unclear"


def queue_run(
    path: Where, name: str, out: Path, key: Path, *, seed: int, sampled: int, as_json: bool
) -> None:
    """Write a replay's spot check: so many verdicts at random, and all that no reader decided.

    Raises Misuse for a run that is no replay or did not reach its end, and where a file is there
    already: a key that is gone makes its labels worth nothing.
    """
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
        head = ledger.head()
    finally:
        ledger.close()
    registration, of = laid_out.registration, laid_out.suite
    if registration.instrument != NAME:
        raise Misuse(f"The run {name!r} is of {registration.instrument}; a queue is made of a"
                     " replay, or of a folder's moments with --moments.")
    every = list(verdicts(of, found.observations))
    if any(v.says == "not asked" for v in every) or any(map(_unasked, found.observations)):
        raise Misuse(f"The run {name!r} is not finished. Give its command again first.")
    drawn, waiting = chosen(every, seed, sampled)
    secret = secrets.token_bytes(32)
    masked = masking([*registration.subjects, *registration.declared["readers"]])
    rows, items = [], {}
    for why, group in ((SPOT, drawn), (WAITING, waiting)):
        for verdict in group:
            item = page_item(secret, of, verdict, masked)
            items[item.id] = item
            rows.append({"id": item.id, "why": why, **verdict.place, "verdict": verdict.says,
                         "definition": item.stamp})
    header = {
        "form": KEY_FORM, "secret": secret.hex(), "run": run.name, "at": run.at,
        "head": str(head), "seed": seed, "sampled": len(drawn),
        "holds_for": stamp(of, "page"), "queue": queue_stamp(items.values()),
        "readers": {one["name"]: one for one in registration.declared["readers"]},
        "verdicts": counted(every),
        "masked": sum(MASK in item.page for item in items.values()),
    }
    _write(out, key, items.values(), header, rows)
    lost = sum(v.says in NEVER_CAME for v in every)
    _said(out, key, items, header, as_json,
          f"{len(drawn)} verdicts drawn at random of {sum(v.decided for v in every):,} and"
          f" {len(waiting):,} that no reader decided, as {len(items):,} items"
          + (f"; {lost:,} readings never came back and are asked again by the run's command"
             if lost else ""))


def _unasked(observation: Observation[Any]) -> bool:
    return any(isinstance(reading.value, Nonresponse) and reading.value.kind == "not asked"
               for reading in observation.value.readings.values())


def chosen(
    every: Sequence[Verdict], seed: int, sampled: int
) -> tuple[list[Verdict], list[Verdict]]:
    """So many decided verdicts, each set of them as likely as any other, and all undecided ones.

    Nothing about a verdict but that it was decided has a part in the draw. What never came back
    is in neither.
    """
    decided = [verdict for verdict in every if verdict.decided]
    drawn = random.Random(f"spot/{seed}").sample(decided, min(sampled, len(decided)))
    return drawn, [v for v in every if not v.decided and v.says not in NEVER_CAME]


def counted(every: Iterable[Verdict]) -> dict[str, dict[str, int]]:
    """How often each reader said what."""
    found: dict[str, Counter[str]] = {}
    for verdict in every:
        found.setdefault(verdict.place["reader"], Counter())[verdict.says] += 1
    return {reader: dict(counts) for reader, counts in found.items()}


def masking(subjects: Iterable[Mapping[str, Any]]) -> Callable[[str], str]:
    """Takes the names, models and families of subjects out of a text, as whole words.

    Planted subjects are named with ordinary words, and have none to take out.

    >>> masking([{"dialect": "openai", "name": "m-1", "model": "gpt-x", "family": "gpt"}])(
    ...     "As GPT-X I ask: why?")
    'As ▮▮▮ I ask: why?'
    """
    names = {str(one[part]) for one in subjects if one["dialect"] != "planted"
             for part in ("name", "model", "family") if len(str(one[part])) >= LEAST_NAME}
    if not names:
        return lambda text: text
    ranked = "|".join(re.escape(each) for each in sorted(names, key=lambda x: (-len(x), x)))
    found = re.compile(rf"(?<!\w)(?:{ranked})(?!\w)", re.IGNORECASE)
    return lambda text: found.sub(MASK, text)


def page_item(
    secret: bytes, of: Suite, verdict: Verdict, masked: Callable[[str], str]
) -> Item:
    """A page and a bias as an item: what the reader was shown of them, and nothing else."""
    shown = masked(worded(verdict.page, verdict.language))
    return _item(secret, of, "shown", verdict.place["bias"], verdict.language, {"page": shown})


def _item(
    secret: bytes, of: Suite, task: Task, bias: str, language: str, shown: Mapping[str, str],
    moment: str = "",
) -> Item:
    contract = of.biases[bias]
    named = blind(secret, {"task": task, "bias": bias, "language": language, "moment": moment,
                           **shown})
    return Item(named, task, language, bias, contract.title[language],
                contract.definition[language], contract.debias[language], contract.stamp, **shown)


def queue_moments(
    folder: str, split: str, tasks: Sequence[str], out: Path, key: Path, as_json: bool
) -> None:
    """Write the moments of a split as a labelling queue: an item a moment, bias and task.

    Neither the labels that stand in the folder nor which engine wrote the page is in it.
    """
    if split not in SPLITS or not tasks or not set(tasks) <= set(TASKS):
        raise Misuse(f"The split {split!r} or a task of {', '.join(tasks)!r} is not one there is:"
                     f" splits are {', '.join(SPLITS)}, tasks {', '.join(TASKS)}.")
    stimuli, within = stimuli_of(folder, SHIPPED, (STANDARD,), SHIPPED_FILES)
    of = suite(stimuli, within)
    moments = {name: one for name, one in labelled(stimuli, of.biases).items()
               if one.split == split}
    if not moments:
        raise Misuse(f"The split {split} holds no moment.")
    secret = secrets.token_bytes(32)
    rows, items = [], {}
    for task in (task for task in TASKS if task in tasks):
        for name, moment in moments.items():
            for bias in of.biases:
                item = _item(secret, of, task, bias, moment.language, _shown(moment, task), name)
                items[item.id] = item
                rows.append({"id": item.id, "why": LABEL, "moment": name, "bias": bias,
                             "task": task, "definition": item.stamp})
    header = {"form": KEY_FORM, "secret": secret.hex(), "moments": stimuli.stamp, "split": split,
              "queue": queue_stamp(items.values())}
    _write(out, key, items.values(), header, rows)
    _said(out, key, items, header, as_json, f"{len(moments):,} moments as {len(items):,} items")


def _shown(of: Labelled, task: Task) -> dict[str, str]:
    """What a reader of that task is shown of a moment."""
    if task == "shown":
        return {"page": worded(of.after, of.language)}
    return {"page": worded(of.before, of.language), "question": of.question, "said": of.said}


def _write(
    out: Path, key: Path, items: Iterable[Item], header: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Both files, new; the key for its owner's eyes alone, and first, since it cannot be remade."""
    for path in (key, out):
        if path.exists():
            raise Misuse(f"{path} is there already, and is not written over: labels may hang on"
                         " it. Name another file.")
    in_order = sorted(items, key=lambda item: item.id)
    _new(key, 0o600, lines_of([header, *rows]))
    _new(out, 0o666, lines_of(in_order))


def _new(path: Path, mode: int, text: bytes) -> None:
    try:
        at = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(at, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(at)
    except OSError as error:
        raise Misuse(f"{path} cannot be written ({error.strerror}).", 6) from error


def _said(
    out: Path, key: Path, items: Mapping[str, Item], header: Mapping[str, Any], as_json: bool,
    what: str,
) -> None:
    say(f"{out}: {what}, for raters. {key} says where each came from: keep it from them.")
    if as_json:
        emit_json({"queue": header["queue"], "items": len(items), "file": str(out),
                   "key": str(key)})


@dataclass(frozen=True)
class Key:
    """A key file: what it was made of, and a row a verdict or moment."""

    header: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]


def read_key(path: Path) -> Key:
    """A key file; raises Misuse for what is none."""
    try:
        header, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if header["form"] != KEY_FORM or not all({"id", "why"} <= row.keys() for row in rows):
            raise KeyError("form")
    except FileNotFoundError:
        raise Misuse(f"There is no key file {path}. equipoise queue --key writes one.") from None
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misuse(f"{path} is no key file: equipoise queue --key writes one.") from None
    return Key(header, tuple(rows))
