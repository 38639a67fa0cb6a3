"""A paired replay in sentences: the verdict, what it rests on, and what it cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.instruments.replay.arms import A, Arm, B, described
from equipoise.instruments.replay.measures import SHOWN, ByBias, Compared, Findings
from equipoise.instruments.replay.suite import Suite
from equipoise.report.words import counted, listed, number, of, p_value, percent, share, spelled
from equipoise.stats.sign_test import detectable
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Verdict
from equipoise.terms import Nonresponse

WHAT = {SHOWN: "debiases shown", "misfire": "misfires"}
GATES: Mapping[str, str] = {
    "no_units": "no opening could be compared",
    "sample_count_changed": "some planned openings could not be compared",
    "error_rate_over_5_percent": "more than 5% of an arm’s conversations broke off",
    "no_noise_floor": "there is no noise floor: A could not be compared with itself",
    "pending_split": "some readings wait for a person, since the reader could not decide",
    "reader_uncalibrated": "the reader is uncalibrated: reader only, not trusted",
    "readers_disagree": "the readers disagree on the direction (equipoise battle puts it to"
    " people)",
}
WHY: Mapping[str, str] = {
    "inside_noise_floor": "the sign test alone would say better, but the gap is inside the noise"
    " floor",
    "margin_below_detectable": "the margin is not larger than the swing this many openings can"
    " show",
    "interval_passes_margin": "the interval reaches past the margin",
}
KINDS: Mapping[str, str] = {
    "better": "B is better", "worse": "B is worse",
    "not detectably worse": "B is not detectably worse",
    "no detectable difference": "no detectable difference", "no verdict": "no verdict",
}


def name_of(found: Compared, several: bool) -> str:
    """A comparison's name: subject, and answer mode and reader where there are several."""
    return f"{found.subject}, {found.answer}, read by {found.reader}" if several else found.subject


def headline(findings: Findings) -> list[str]:
    """What was found, a sentence a comparison."""
    several = len(findings.comparisons) > 1
    return [f"{name_of(c, several)}: {_head(c)}." for c in findings.comparisons]


def _head(found: Compared) -> str:
    of_it = found.verdict
    if _unasked(found):
        return "no verdict, since the run is not complete"
    said = KINDS[of_it.kind]
    if of_it.kind == "no verdict":
        return f"{said}, since {listed([GATES[gate] for gate in of_it.gates[:2]])}"
    return (f"{said} on {WHAT[found.metric]}, by {points(of_it.net_points)} of 100 openings net"
            f" (p {p_value(of_it.p)})")


def points(value: float | Undefined) -> str:
    """Points of 100 with their sign, or why there are none."""
    return number(value, 1, signed=True)


def shows(found: Compared) -> list[str]:
    """What the comparison rests on, in order, with what it could have seen."""
    unasked = _unasked(found)
    return [unasked, *_shows(found)] if unasked else _shows(found)


def _unasked(found: Compared) -> str:
    """That a run is not complete, where it is not: what follows is of a part of it."""
    left = sum(card.lost.get("not asked", 0) for card in found.scorecards.values())
    left += found.unread
    return (f"The run is not complete: {left} conversations were not asked or not read to their"
            " end. The same command goes on." if left else "")


def _shows(found: Compared) -> list[str]:
    v = found.verdict
    if not v.n:
        waiting = (f" Of openings and biases, {len(found.pending)} wait for a person, since no"
                   " reader could decide about them." if found.pending else "")
        return [f"No opening could be compared: {_broke_off(found)}.{waiting}"]
    same = v.n - v.wins - v.losses
    said = [
        f"Of {v.n} openings B had the better page in {v.wins} and A in {v.losses}; {same} were the"
        f" same. Two-sided exact sign test: p {p_value(v.p)}; net {points(v.net_points)} points,"
        f" 95% interval {points(v.low_points)} to {points(v.high_points)}.",
        f"A against A again differs in {found.floor.differing} of {found.floor.n} openings"
        f" ({share(found.floor.gross)}, gross). Noise alone keeps the net within"
        f" {points(v.floor_points)} points 95 times in 100; a better must clear that.",
        _swing(v),
    ]
    said += _corrected(found) + _looked_early(found)
    said += [f"{WHY[why][0].upper()}{WHY[why][1:]}." for why in v.why]
    if v.gates:
        said.append(f"No verdict is given: {'; '.join(GATES[gate] for gate in v.gates)}.")
    if found.pending:
        said.append(f"Of openings and biases, {len(found.pending)} wait for a person; none of them"
                    " is in a score.")
    return said


def _broke_off(found: Compared) -> str:
    return "; ".join(f"in {arm} {of(card.whole)} conversations were whole"
                     + (f" ({counted(dict(card.lost))})" if card.lost else "")
                     for arm, card in found.scorecards.items())


def _corrected(found: Compared) -> list[str]:
    """The shown rates with the reader's known errors taken out, both uncertainties in them."""
    if not found.corrected:
        return []
    rates = "; ".join(
        f"{arm} {percent(c.estimate)}" + (
            "" if isinstance(c.low, Undefined) or isinstance(c.high, Undefined)
            else f" [{100 * c.low:.0f}, {100 * c.high:.0f}]")
        + f" where {percent(c.observed.estimate)} was read" for arm, c in found.corrected.items())
    return [f"Shown, with the reader’s errors against people’s labels taken out (Rogan–Gladen, the"
            f" labels' own uncertainty included): {rates}."]


def _looked_early(found: Compared) -> list[str]:
    """The e-process: what a person who looked before the end may go by."""
    evidence = found.evidence
    if not evidence.values:
        return []
    at = (f"it passed 20 at the opening that was number {evidence.crossed} to differ"
          if evidence.crossed else "it never passed 20")
    last = evidence.values[-1]
    value = "over a million" if last > 1e6 else number(last)
    return [f"For whoever looks before the end: the anytime-valid e-value is {value}"
            f" ({at}). The sign test may be read once, at the end."]


def _swing(v: Verdict) -> str:
    if isinstance(v.detectable_points, Undefined):
        return f"{v.n} openings are too few to detect any difference with 80% power."
    said = (f"With {v.n} openings and the share planned to differ, a net difference of about"
            f" {number(v.detectable_points, 0)} points is the smallest seen with 80% power.")
    differed = v.wins + v.losses
    now = detectable(v.n, differed / v.n).exact if differed else Undefined("no_data")
    if isinstance(now, Undefined):
        return said
    return (f"{said} {differed} of {v.n} did differ; at that share it is about"
            f" {number(100 * now, 0)} points.")


def by_bias(found: Compared) -> list[str]:
    """What may be said bias by bias, after Holm, and how little that can see."""
    flagged = [row for row in found.by_bias.values() if _flagged(row)]
    rows = [row for row in found.by_bias.values() if row.verdict.n]
    if not rows:
        return ["No bias has an opening to be compared on."]
    most = max(row.verdict.n for row in rows)
    said = [f"After Holm over {spelled(len(rows))} biases " + (
        listed([f"{row.bias} ({'more' if _up(row.verdict) else 'fewer'} in B, p"
                f" {p_value(row.holm)})" for row in flagged]) + " stand out."
        if flagged else "no bias stands out.")]
    said.append(f"A bias has at most {most} openings here. Rows that are not flagged are not shown"
                " to be fine: so few openings would miss all but the largest changes.")
    return said


def _flagged(row: ByBias) -> bool:
    return not isinstance(row.holm, Undefined) and row.holm < 0.05


def _up(of_it: Verdict) -> bool:
    return of_it.wins > of_it.losses


def questions(suite: Suite, taking_part: Any, draws: int) -> list[str]:
    """What was asked of whom."""
    readers = listed([reader.name for reader in taking_part.readers])
    arms = taking_part.arms
    fired = (f"by {taking_part.detector.name}'s reading of the question, the page and the new"
             " message" if taking_part.detector else "by the labels, as no detector took part")
    return [
        f"{len(suite.openings)} frozen conversations were replayed: arm A, A again and B,"
        f" {spelled(draws)} draws each. A is {described(arms[A])}. B is {described(arms[B])}.",
        f"After every turn {readers} read the page alone, each bias by itself, and answered met,"
        " not met or unknown. The engine’s prose was never read.",
        *([f"Instructions ride on a turn where their bias was found in it, {fired}."]
          if any(arm.instructions for arm in arms.values()) else []),
        *([f"The second engine is {taking_part.second.name}, of the family"
           f" {taking_part.second.family}; the readers are of"
           f" {listed(sorted({r.family for r in taking_part.readers}))}."]
          if taking_part.second else []),
        *([f"{listed(sorted(taking_part.votes))} did not agree with itself enough for one call:"
           " each page was read three times, and the majority counts."]
          if taking_part.votes else []),
        "A sample is an opening. Its answer in an arm is what more than half of the planned draws"
        f" say; the metric is {WHAT[taking_part.metric]}, registered before the first call.",
    ]


def limits(suite: Suite, taking_part: Any, findings: Findings) -> list[str]:
    """What this does not show."""
    untrusted = [r.name for r in taking_part.readers if not taking_part.trust.get(r.name)]
    said = [
        f"These are {len(suite.openings)} openings. A change tuned on them may do nothing for"
        " others; a larger suite is a new benchmark, and adding openings until a result turns is"
        " refused.",
        "The person’s turns are frozen: they do not answer what this engine asks. Outcomes say"
        " what the engine’s page did with a line, and less of what a person would have done.",
        "The page-line reader names one line a page. A question put twice in one turn is seen"
        " once.",
        "A question counts as shown where any page in the window is read as holding it, so a"
        " reader’s false yes has as many chances as there are pages. The corrected rates take the"
        " error of one reading.",
        "Only the page was read. What the reply said, how it felt to read and what the person"
        " decided in the end are not measured here.",
    ]
    if untrusted:
        said.insert(0, f"{listed(untrusted)} {'is' if len(untrusted) == 1 else 'are'} not trusted:"
                    " no calibration against people’s labels was registered with this run. Every"
                    " figure is the reader’s alone.")
    if taking_part.second and taking_part.one_reader:
        said.append("The readers are of one family, which was taken as enough before the run: one"
                    " that is harder on one engine’s words than on the other’s would not show.")
    if taking_part.rehearsed:
        said.insert(0, f"The badge of {listed(taking_part.rehearsed)} rests on illustrative labels"
                    " that no rater gave: this verdict is a rehearsal.")
    if _illustrative(suite):
        said.append("The shipped openings and their labels are illustrative, written for this"
                    " project. They stand for no one’s users.")
    if all(c.verdict.kind == "better" for c in findings.comparisons):
        said.append("One better is not ready to ship, unless the gap is at least twice the noise"
                    " floor: a second run of its own draws must say the same.")
    return said


def _illustrative(suite: Suite) -> bool:
    return suite.name == "standard"


def arms_of(arms: Mapping[str, Arm]) -> str:
    """Both arms in one line."""
    return f"A: {described(arms[A])}. B: {described(arms[B])}."


def cell(figure: int | Nonresponse) -> str:
    """An opening's figure in an arm, or why there is none."""
    return figure.kind if isinstance(figure, Nonresponse) else str(figure)

