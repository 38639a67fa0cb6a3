"""Badges: a reader's calibration as a file, and whether it holds for what is to be read now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from equipoise.cli.running import read_run
from equipoise.cli.screen import emit, emit_json, say
from equipoise.cli.trust import as_values
from equipoise.instruments.replay.calibrating import NAME, Calibrated, stamp
from equipoise.instruments.replay.suite import Suite
from equipoise.ledger import Ledger, Run, Where
from equipoise.replacing import replacing
from equipoise.report import trusting
from equipoise.stats.confusion import Confusion
from equipoise.terms import Misuse, Subject, canonical_json

State = Literal["uncalibrated", "trusted", "drifted", "stale"]
FORM = "equipoise badge 1"
VOTES = 3
"""Calls a page is read with where a reader's draws agree at less than kappa .9."""


@dataclass(frozen=True)
class Badge:
    """What a reader's calibration came to for one comparison, and why."""

    reader: str
    state: State
    why: str
    run: str = ""
    confusion: Confusion | None = None
    illustrative: bool = False
    calls: int = 1

    def as_json(self) -> dict[str, str]:
        return {"reader": self.reader, "state": self.state, "why": self.why, "run": self.run}


def write_badges(path: Where, name: str, out: Path | None, as_json: bool) -> None:
    """Write a finished calibration as a badge file, one object a reader.

    Raises Misuse for a run that is no calibration, or that did not reach its end.
    """
    ledger = Ledger.open(path, read_only=True)
    try:
        run, laid_out, found = read_run(ledger, name)
        head = ledger.head()
    finally:
        ledger.close()
    registration = laid_out.registration
    if registration.instrument != NAME:
        raise Misuse(f"The run {name!r} is of {registration.instrument}; a badge is made of a"
                     " calibration: equipoise run calibration.")
    if registration.declared["split"] != "test":
        raise Misuse(f"The run {name!r} is on the {registration.declared['split']} split. A badge"
                     " is made on the frozen test split alone.")
    findings = laid_out.analyse(found.observations)
    badges = [_written(c, registration, run, str(head)) for c in findings.calibrated]
    if out is not None:
        rewrite_badges(out, _still_drifted(badges, out))
        say(f"{out}: {len(badges)} badge{'s' if len(badges) > 1 else ''}.")
    if as_json:
        emit_json({"badges": badges, **as_values(findings)})
    else:
        emit("\n".join(f"{c.subject}: {trusting.badge(c)}" for c in findings.calibrated))


def rewrite_badges(out: Path, badges: Sequence[dict[str, Any]]) -> None:
    """Write a badge file, whole or not at all."""
    with replacing(out) as file:
        file.write(canonical_json({"form": FORM, "badges": list(badges)}) + b"\n")


def _still_drifted(badges: Sequence[dict[str, Any]], out: Path) -> Sequence[dict[str, Any]]:
    """The badges, with the drift that `out` holds of the same calibrations.

    Writing a calibration out again is no validation.
    """
    if not out.exists():
        return badges
    for old in read_badges(out):
        for badge in badges:
            if old.get("drifted") and _same(old, badge):
                badge["drifted"] = old["drifted"]
    return badges


def _same(old: dict[str, Any], badge: dict[str, Any]) -> bool:
    return all(old[key] == badge[key] for key in ("run", "reader", "answer", "task"))


def _written(c: Calibrated, registration: Any, run: Run, head: str) -> dict[str, Any]:
    [subject] = [s for s in registration.subjects if s["name"] == c.subject]
    return {
        "reader": subject, "answer": c.answer, "task": c.task,
        "holds_for": registration.declared["stamp"], "trusted": c.trust.trusted,
        "reasons": list(c.trust.reasons), "run": run.name, "at": run.at, "head": head,
        "confusion": asdict(c.found.decided),
        **({"illustrative": True} if c.illustrative else {}),
        **({"calls": 1 if c.agreement.is_steady else VOTES} if c.agreement.compared else {}),
    }


def badges_for(
    files: Sequence[Path], readers: Sequence[Subject], suite: Suite
) -> dict[str, Badge]:
    """The badge of each reader of pages: trusted only for this very set-up, prompt and words."""
    found = [badge for file in files for badge in read_badges(file)]
    return {reader.name: _badge(reader, found, stamp(suite, "page")) for reader in readers}


def _badge(reader: Subject, found: Sequence[dict[str, Any]], now: str) -> Badge:
    own = [b for b in found if b["task"] == "page" and b["reader"]["name"] == reader.name]
    if not own:
        return Badge(reader.name, "uncalibrated", "no badge was given for it")
    same = [b for b in own if as_asked(b["reader"]) == as_asked(reader.as_json())]
    if not same:
        return Badge(reader.name, "stale", "the reader was set up otherwise when it was calibrated",
                     own[-1]["run"])
    last = same[-1]
    counts = Confusion(**last["confusion"])
    if last["holds_for"] != now:
        return Badge(reader.name, "stale", "a definition or the reader's prompt was changed since",
                     last["run"])
    if last.get("drifted"):
        return Badge(reader.name, "drifted", str(last["drifted"]), last["run"], counts)
    if not last["trusted"]:
        return Badge(reader.name, "uncalibrated",
                     "; ".join(trusting.REASONS[why] for why in last["reasons"]), last["run"],
                     counts)
    rehearsal = bool(last.get("illustrative"))
    return Badge(reader.name, "trusted", "on illustrative labels" if rehearsal else "", last["run"],
                 counts, rehearsal, int(last.get("calls", 1)))


def as_asked(subject: dict[str, Any]) -> dict[str, Any]:
    """What makes a reader the same reader; which family it is counted to is no part of it."""
    return {key: value for key, value in subject.items() if key != "family"}


def read_badges(file: Path) -> list[dict[str, Any]]:
    """The badges of a file as they were written; raises Misuse for a file of none."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        badges: list[dict[str, Any]] = said["badges"]
        wanted = {"reader", "task", "holds_for", "trusted", "reasons", "run", "confusion"}
        if said["form"] != FORM or not all(wanted <= badge.keys() for badge in badges):
            raise KeyError("form")
    except FileNotFoundError:
        raise Misuse(f"There is no badge file {file}. Make one with equipoise badge RUN.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misuse(f"{file} is no badge file: equipoise badge RUN writes one.") from None
    return badges
