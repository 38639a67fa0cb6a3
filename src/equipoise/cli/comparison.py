"""A comparison as it is written down before a run: the arms, who reads, and what decides.

    change = ["instruction:framing"]
    base = []                                  # what A has that B has too or not; none: as it is
    readers = ["openai:gpt-4o-mini?family=openai"]
    detector = ""                              # none: instructions fire by the labels
    quality = ""
    second = ""                                # the other engine, for change = ["engine"]
    one-reader = false                         # one family of readers, though the engines' differ
    prompt = ""                                # a changed prompt file, for change = ["prompt"]
    metric = "shown"
    cost-saving = false
    margin = 25                                # points, with cost-saving
    discordance = 0.3
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from equipoise.instruments.replay.arms import A, Arm, B, arm
from equipoise.instruments.replay.instrument import METRICS, Set
from equipoise.instruments.replay.suite import Suite
from equipoise.stats.confusion import Confusion
from equipoise.terms import Misuse, Subject


def nothing_moved(findings: Any, first: str, second: str) -> str:
    """Of an instrument with one reader of replies no other reader can move a finding."""
    return ""


KEYS: Mapping[str, type] = {
    "change": list, "base": list, "readers": list, "detector": str, "quality": str, "second": str,
    "prompt": str, "metric": str, "cost-saving": bool, "margin": float, "discordance": float,
    "one-reader": bool,
}


@dataclass(frozen=True)
class Written:
    """A comparison file's words, checked for their types and for nothing else."""

    change: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    detector: str = ""
    quality: str = ""
    second: str = ""
    prompt: str = ""
    metric: str = METRICS[0]
    cost_saving: bool = False
    margin: float = 0.0
    discordance: float = 0.3
    one_reader: bool = False


def written(path: Path | None, change: Sequence[str], readers: Sequence[str]) -> Written:
    """What a comparison file says, with the command line's changes and readers in their place.

    Raises Misuse that names every key and value that does not fit.
    """
    said = _file(path) if path else {}
    problems = []
    for key, value in said.items():
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            problems.append(f"no key {key!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        elif not _fits(value, KEYS[key]):
            problems.append(f"{key} is {value!r}, wanted {KEYS[key].__name__}")
    if problems:
        raise Misuse(f"{path}: {'; '.join(problems)}. Keys are {', '.join(KEYS)}.")
    made: dict[str, Any] = {key.replace("-", "_"): tuple(value) if isinstance(value, list)
                            else value for key, value in said.items()}
    given = {"change": tuple(change), "readers": tuple(readers)}
    return Written(**{**made, **{key: value for key, value in given.items() if value}})


def _file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise Misuse(f"There is no comparison {path}. Name a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} is not TOML: {error}. Mend that line.") from error
    except OSError as error:
        raise Misuse(f"{path} cannot be read ({error.strerror}).", 6) from error


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, kind)


def taking_part(
    of: Written, suite: Suite, subject: Callable[[str], Subject],
    engine: Callable[[str], Subject] | None = None,
) -> Set:
    """The comparison with its subjects; raises Misuse for one that could decide nothing.

    `subject` makes a reader of its short form, `engine` (or else it too) the second engine.
    """
    if not of.readers:
        raise Misuse("A replay needs a reader of pages: name one with --reader, or in the"
                     " comparison under readers.")
    if of.metric not in METRICS:
        raise Misuse(f"No metric {of.metric!r}: there are {', '.join(METRICS)}.")
    if of.cost_saving and not 0 < of.margin <= 100:
        raise Misuse("A change that is to save cost needs the margin that is accepted for it, in"
                     " points: margin = 25.")
    if not 0 < of.discordance <= 1:
        raise Misuse(f"The discordance is {of.discordance:g}; wanted a share above 0, up to 1.")
    arms = {A: arm(of.base, suite), B: arm(of.change, suite)}
    if arms[A] == arms[B]:
        raise Misuse("Both arms are the same, so nothing would be compared. Say what changes with"
                     " --change, as in --change instruction:framing.")
    if bool(of.second) != (arms[A].engine or arms[B].engine):
        raise Misuse("The change `engine` and the key `second` go together: second names the"
                     " engine that takes the place of the first.")
    readers = tuple(map(subject, of.readers))
    if len({reader.name for reader in readers}) < len(readers):
        raise Misuse("Two readers have one name. Name one otherwise, as in ?name=second.")
    detector, quality = (subject(spec) if spec else None for spec in (of.detector, of.quality))
    second = (engine or subject)(of.second) if of.second else None
    return Set(arms, readers, detector, quality, second, of.metric, of.cost_saving, of.margin,
               of.discordance, one_reader=of.one_reader)


def require_families(engines: Sequence[Subject], of: Set) -> None:
    """Raises Misuse where the arms' engines are of two families and the readers all of one.

    A reader may be harder on one vendor's words than on another's: where engines of two are
    compared, readers of two must agree, unless the comparison says that one is to do.
    """
    swapped = of.arms[A].engine != of.arms[B].engine
    if not swapped or of.one_reader or len({reader.family for reader in of.readers}) > 1:
        return
    for engine in engines:
        if of.second is not None and engine.family != of.second.family:
            raise Misuse(
                f"{engine.name} is of the family {engine.family} and {of.second.name} of"
                f" {of.second.family}: a comparison across families wants two readers of two"
                " families, so that a verdict stands only where both agree. Name a second with"
                " --reader, or say one-reader = true in the comparison, which the page will say.")


def declared(of: Set, suite: Suite) -> dict[str, Any]:
    """A comparison as it is registered, before anything is asked."""
    return {
        "arms": {name: arm.as_json() for name, arm in of.arms.items()},
        "readers": [s.as_json() for s in of.readers],
        **{role: one.as_json() for role, one in others_of(of).items()},
        "metric": of.metric, "cost_saving": of.saving, "margin": of.margin,
        "discordance": of.discordance, "one_reader": of.one_reader, "trust": dict(of.trust),
        **({"votes": dict(of.votes)} if of.votes else {}),
        **({"rehearsed": list(of.rehearsed)} if of.rehearsed else {}),
        "confusions": {name: asdict(found) for name, found in of.confusions.items()},
        "definitions": {key: bias.stamp for key, bias in suite.biases.items()},
    }


def others_of(of: Set) -> dict[str, Subject]:
    return {role: one for role, one in (("detector", of.detector), ("quality", of.quality),
                                        ("second", of.second)) if one is not None}


def registered(said: Mapping[str, Any]) -> Set:
    """The comparison that `declared` wrote down."""
    others = {role: Subject(**said[role]) if role in said else None
              for role in ("detector", "quality", "second")}
    return Set({name: Arm.from_json(arm) for name, arm in said["arms"].items()},
               tuple(Subject(**one) for one in said["readers"]), others["detector"],
               others["quality"], others["second"], said["metric"], said["cost_saving"],
               said["margin"], said["discordance"], said["trust"],
               {name: Confusion(**counts) for name, counts in said["confusions"].items()},
               tuple(said.get("rehearsed", ())), said.get("one_reader", False),
               said.get("votes", {}))
