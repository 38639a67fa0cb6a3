"""The act behind `spot`: people's answers to verdicts drawn at random, against the readers'.

It keeps a rolling figure for each reader, says when it has drifted, and corrects each run's rate
by the labels of its own random sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, Literal

from equipoise.answers import Settled, read_answers, read_lines
from equipoise.calibration import BAR, WINDOW, SpotCheck, spot_check
from equipoise.cli.badges import as_asked, read_badges, rewrite_badges
from equipoise.cli.queueing import SPOT, Key, read_key
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.cli.values import or_reason
from equipoise.gold import gold
from equipoise.labelling import YES, Answer, as_ratings, standing
from equipoise.report.words import number, percent
from equipoise.stats.cusum import Cusum, CusumPlan, cusum, cusum_plan
from equipoise.stats.prediction_powered import PredictionPowered, prediction_powered_mean
from equipoise.stats.undefined import Undefined
from equipoise.terms import Misuse, Nonresponse, canonical_json

By = Literal["rolling", "cusum"]
GOOD, BAD, ITEMS = 0.10, 0.30, 140
LEAST = ceil(BAR * WINDOW)
NOBODY = Nonresponse("not asked", "nobody has answered it")
APART = Nonresponse("unclear", "people did not decide")


@dataclass(frozen=True)
class Check:
    """One verdict drawn at random: what the reader said, and a person."""

    run: str
    at: int
    met: bool
    label: bool | Nonresponse

    @property
    def agrees(self) -> bool | Nonresponse:
        return self.label if isinstance(self.label, Nonresponse) else self.met == self.label


@dataclass(frozen=True)
class Rolling:
    """A reader's checks in the order of their runs, and what becomes of its badge.

    `alarm` is the CUSUM's, whose plan states how seldom it errs; only `by` decides.
    """

    reader: str
    checks: tuple[Check, ...]
    spot: SpotCheck
    plan: CusumPlan | Undefined
    alarm: Cusum
    by: By

    @property
    def figure(self) -> float | Undefined:
        return self.spot.figures[-1] if self.spot.figures else Undefined("too_few_units")

    @property
    def drifted(self) -> str:
        """Why the badge is to go, in words; empty while it stands."""
        if self.by == "cusum":
            if self.alarm.alarm_at is None or isinstance(self.plan, Undefined):
                return ""
            return (f"after {self.alarm.alarm_at} spot checks its errors passed the limit"
                    f" {self.plan.limit} of the running sum")
        if self.spot.flipped_at is None:
            return ""
        seen = self.spot.flipped_at
        figure = self.spot.figures[seen - 1]
        agreed = round(WINDOW * figure) if isinstance(figure, float) else 0
        run = self.checks[seen - 1].run
        return (f"people agreed with {agreed} of its last {WINDOW} spot checks in the run {run},"
                f" fewer than {LEAST}")


@dataclass(frozen=True)
class Helped:
    """One run's share of page readings on which a debias is visible, corrected by its labels."""

    run: str
    reader: str
    found: PredictionPowered
    said: int
    of: int


def checks(
    keys: Iterable[Key], answers: Sequence[Answer], settled: Sequence[Settled] = ()
) -> dict[str, list[Check]]:
    """Each reader's spot checks in time order: runs as they were registered, then as drawn.

    A verdict's label is gold where raters formed it, and else the one rater's who answered. One
    that was drawn twice, by two keys of its run, counts once, as the first.
    """
    said: dict[str, list[Answer]] = {}
    for answer in answers:
        said.setdefault(answer.id, []).append(answer)
    found: dict[str, list[Check]] = {}
    seen: set[bytes] = set()
    for key in sorted(keys, key=lambda key: int(key.header.get("at", 0))):
        for row in key.rows:
            named = canonical_json([key.header.get("run"), {**row, "id": ""}])
            if row["why"] != SPOT or named in seen:
                continue
            seen.add(named)
            found.setdefault(row["reader"], []).append(Check(
                key.header["run"], key.header["at"], row["verdict"] == "met",
                _label(row, said.get(row["id"], ()), settled)))
    return found


def _label(
    row: Mapping[str, Any], answers: Sequence[Answer], settled: Sequence[Settled]
) -> bool | Nonresponse:
    ruled = [one.as_adjudication() for one in settled if one.id == row["id"]]
    rated = [r for r in as_ratings(answers) if r.definition == row["definition"]]
    found = gold(rated, row["definition"], ruled)
    if isinstance(found.label, str):
        return found.label == YES
    if found.status == "pending":
        return next(r.label for r in rated if r.label is not None) == YES
    answered = any(a.definition == row["definition"] for a in standing(answers))
    return APART if answered else NOBODY


def rolling(reader: str, found: Sequence[Check], by: By) -> Rolling:
    """The rolling figure and the CUSUM over a reader's checks."""
    plan = cusum_plan(GOOD, BAD, ITEMS)
    errors = [not one.agrees for one in found if not isinstance(one.agrees, Nonresponse)]
    alarm = Cusum((), None) if isinstance(plan, Undefined) else cusum(errors, plan)
    return Rolling(reader, tuple(found), spot_check(one.agrees for one in found), plan, alarm, by)


def helped(key: Key, answers: Sequence[Answer], settled: Sequence[Settled] = ()) -> list[Helped]:
    """Each reader's rate in one run by PPI++: its random sample was labelled, the rest was not.

    The rate is of page readings, a version and a bias each, and not the scorecard's of moments.
    """
    found = []
    for reader, its in checks([key], answers, settled).items():
        known = [(one.met, one.label) for one in its if isinstance(one.label, bool)]
        counts = key.header["verdicts"][reader]
        met, other = counts.get("met", 0), counts.get("not met", 0)
        seen = sum(said for said, _ in known)
        rest = [1.0] * (met - seen) + [0.0] * (other - (len(known) - seen))
        found.append(Helped(
            key.header["run"], reader, prediction_powered_mean(
                [float(label) for _, label in known], [float(said) for said, _ in known], rest),
            met, met + other))
    return found


def spot(
    ratings: Sequence[Path], keys: Sequence[Path], adjudications: Path | None,
    badge: Path | None, by: By, as_json: bool,
) -> None:
    """Print each reader's rolling figure; with a badge file, write into it what has drifted.

    Raises Misuse for a key of no run.
    """
    read = [read_key(path) for path in keys]
    if strange := [path for path, key in zip(keys, read, strict=True) if "run" not in key.header]:
        raise Misuse(f"{strange[0]} is the key of a folder's moments; a spot check needs the key of"
                     " a run.")
    answers = [a for path in ratings for a in read_answers(path, {})]
    settled = read_lines(adjudications, Settled) if adjudications else []
    by_reader = checks(read, answers, settled)
    found = [rolling(reader, its, by) for reader, its in by_reader.items()]
    rates = [one for key in read for one in helped(key, answers, settled)]
    if as_json:
        emit_json({"readers": [_values(one) for one in found],
                   "rates": [_rate_values(one) for one in rates]})
    else:
        _print(found, rates)
    if badge is not None:
        _write(badge, read, answers, settled, by)


def _write(
    path: Path, keys: Sequence[Key], answers: Sequence[Answer], settled: Sequence[Settled], by: By
) -> None:
    """Write drift into a badge file. What drifted stays so until the reader is validated again."""
    badges, gone = read_badges(path), []
    for badge in badges:
        reader = badge["reader"]["name"]
        if badge["task"] != "page" or badge.get("drifted"):
            continue
        own = [key for key in keys if _of_this_badge(key, badge)]
        after = rolling(reader, checks(own, answers, settled).get(reader, []), by)
        if after.drifted:
            badge["drifted"] = after.drifted
            gone.append(reader)
    if gone:
        rewrite_badges(path, badges)
    drifted = [b["reader"]["name"] for b in badges if b.get("drifted")]
    say(f"{path}: " + (f"{', '.join(drifted)} drifted: uncalibrated until validated again."
                       if drifted else "no reader has drifted."))


def _of_this_badge(key: Key, badge: Mapping[str, Any]) -> bool:
    """Whether a run was read by this very reader, under these words, after it was validated."""
    reader = key.header["readers"].get(badge["reader"]["name"])
    return (reader is not None and as_asked(reader) == as_asked(badge["reader"])
            and key.header["holds_for"] == badge["holds_for"]
            and key.header["at"] > badge.get("at", 0))


def _print(found: Sequence[Rolling], rates: Sequence[Helped]) -> None:
    if not found:
        raise Misuse("These keys hold no verdict that was drawn at random.")
    emit(table(["reader", "drawn", "answered", "agreed", f"last {WINDOW}", "running sum", "state"],
               [_cells(one) for one in found]))
    plan = found[0].plan
    if not isinstance(plan, Undefined):
        emit(f"\nThe figure is of the last {WINDOW} that people decided, and below {LEAST} the"
             " badge goes. A reader that is right nine times in ten loses it within 140 by chance"
             f" about every second time. The running sum gives its alarm at {plan.limit}; at one"
             f" error in ten that happens by chance within {plan.items} items with probability"
             f" {plan.false_alarm:.3f}.")
    emit("\n" + table(["run", "reader", "reader's own rate", "labels", "by labels alone",
                       "by PPI++", "weight"], [_rate_cells(one) for one in rates]))
    emit("\nThe rate is of page readings, a version and a bias each, on which the debias is"
         " visible; it is not the scorecard's rate of moments.")


def _cells(one: Rolling) -> list[str]:
    decided = [c.agrees for c in one.checks if isinstance(c.agrees, bool)]
    total = one.alarm.sums[-1] if one.alarm.sums else 0
    limit = "" if isinstance(one.plan, Undefined) else f" of {one.plan.limit}"
    state = f"drifted: {one.drifted}" if one.drifted else "stands"
    return [one.reader, str(len(one.checks)), str(len(decided)), str(sum(decided)),
            percent(one.figure), f"{total}{limit}", state]


def _rate_cells(one: Helped) -> list[str]:
    own = f"{one.said} of {one.of}"
    return [one.run, one.reader, own, str(one.found.labelled), _ends(one.found.classical),
            _ends(one.found.tuned), number(one.found.weight)]


def _ends(found: Any) -> str:
    if isinstance(found.low, Undefined):
        return percent(found.estimate)
    if found.low == found.high:
        return f"{percent(found.estimate)}, no interval: the labels all agree"
    return f"{percent(found.estimate)} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def _values(one: Rolling) -> dict[str, Any]:
    return {
        "reader": one.reader, "drawn": len(one.checks), "decided": one.spot.decided,
        "agreed": sum(c.agrees is True for c in one.checks), **or_reason("figure", one.figure),
        "drifted": one.drifted, "by": one.by,
        "flipped_at": one.spot.flipped_at, "alarm_at": one.alarm.alarm_at,
        "false_alarm": None if isinstance(one.plan, Undefined) else one.plan.false_alarm,
        "runs": list(dict.fromkeys(f"{c.run} {_day(c.at)}" for c in one.checks)),
    }


def _rate_values(one: Helped) -> dict[str, Any]:
    return {
        "run": one.run, "reader": one.reader, "met": one.said, "of": one.of,
        "labelled": one.found.labelled, **or_reason("estimate", one.found.tuned.estimate),
        **or_reason("low", one.found.tuned.low), **or_reason("high", one.found.tuned.high),
        **or_reason("weight", one.found.weight),
        **or_reason("labels_alone", one.found.classical.estimate),
    }


def _day(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros / 1e6, UTC):%Y-%m-%d}"
