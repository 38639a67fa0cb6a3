"""A replay's findings as a table and as values, its plan, and its proof on planted engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.cli.comparison import registered
from equipoise.cli.proving import Expected, planted_findings, show_expected
from equipoise.cli.screen import table
from equipoise.cli.studies import Study
from equipoise.cli.values import or_reason, rate_values
from equipoise.instruments.replay.instrument import NAME
from equipoise.instruments.replay.measures import Compared, Findings
from equipoise.instruments.replay.planted import ENGINES
from equipoise.instruments.replay.scorecard import Row
from equipoise.registration import Registration
from equipoise.report import verdicts
from equipoise.report.words import listed, number, of, p_value
from equipoise.stats.sign_test import detectable
from equipoise.stats.undefined import Undefined
from equipoise.stats.verdict import Verdict
from equipoise.terms import Observation


def as_table(findings: Findings, registration: Registration, reader: str | None) -> str:
    """The findings as the terminal shows them."""
    several = len(findings.comparisons) > 1
    rows = [[verdicts.name_of(c, several), c.verdict.kind, f"{c.verdict.wins} : {c.verdict.losses}",
             str(c.verdict.n), verdicts.points(c.verdict.net_points), p_value(c.verdict.p),
             verdicts.points(c.verdict.floor_points), number(c.verdict.detectable_points, 0)]
            for c in findings.comparisons]
    said = [f"Primary measure: {registration.primary}. Points of 100 openings; B against A.", "",
            table(["", "verdict", "B : A", "openings", "net", "p", "noise floor", "detectable"],
                  rows), ""]
    for c in findings.comparisons:
        if several:
            said.append(verdicts.name_of(c, several) + ":")
        said += verdicts.shows(c) + verdicts.by_bias(c)
        said += ["", _scorecards(c), ""]
    return "\n".join(said).rstrip()


def _scorecards(c: Compared) -> str:
    """Shown, misfired and put again, a row a bias, arm by arm."""
    arms = list(c.scorecards)
    biases = [*next(iter(c.scorecards.values())).rows, "all"]
    rows = [[bias, *(of(_row(c, arm, bias).shown) for arm in arms),
             *(of(_row(c, arm, bias).misfired) for arm in arms),
             *(of(_row(c, arm, bias).again) for arm in arms)] for bias in biases]
    header = ["bias", *(f"shown {arm}" for arm in arms), *(f"misfired {arm}" for arm in arms),
              *(f"put again {arm}" for arm in arms)]
    return table(header, rows)


def _row(c: Compared, arm: str, bias: str) -> Row:
    card = c.scorecards[arm]
    return card.total if bias == "all" else card.rows[bias]


def as_values(findings: Findings) -> dict[str, Any]:
    """The findings as JSON."""
    return {"comparisons": [{
        "subject": c.subject, "answer": c.answer, "reader": c.reader, "metric": c.metric,
        "verdict": verdict_values(c.verdict),
        "floor": {"n": c.floor.n, "differing": c.floor.differing, "net": c.floor.net,
                  **or_reason("net_points", c.floor.net_points),
                  "gross": rate_values(c.floor.gross)},
        "by_bias": {bias: {**verdict_values(row.verdict), **or_reason("holm", row.holm)}
                    for bias, row in c.by_bias.items()},
        "scorecards": {arm: {"whole": rate_values(card.whole), "lost": dict(card.lost),
                             "tokens": dict(card.tokens),
                             "detected": {b: {"recall": rate_values(k.sensitivity),
                                              "precision": rate_values(k.precision)}
                                          for b, k in card.detected.items()},
                             "all": row_values(card.total),
                             "biases": {b: row_values(r) for b, r in card.rows.items()}}
                       for arm, card in c.scorecards.items()},
        "self_agreement": {arm: {"items": a.items, **or_reason("pairwise", a.pairwise),
                                 **or_reason("kappa", a.kappa), **or_reason("ac1", a.ac1),
                                 "unanimous": rate_values(a.unanimous)}
                           for arm, a in c.agreement.items()},
        "corrected_shown": {arm: {"observed": rate_values(k.observed),
                                  **or_reason("estimate", k.estimate), **or_reason("se", k.se),
                                  **or_reason("low", k.low), **or_reason("high", k.high),
                                  "method": "rogan-gladen"} for arm, k in c.corrected.items()},
        "e_value": c.evidence.values[-1] if c.evidence.values else 1.0,
        "e_value_crossed_20_at": c.evidence.crossed, "e_p": c.evidence.p,
        "samples": [{"opening": s.opening, **{arm: verdicts.cell(f) for arm, f in
                                              s.figures.items()}} for s in c.samples],
        "pending": [list(one) for one in c.pending],
    } for c in findings.comparisons]}


def verdict_values(v: Verdict) -> dict[str, Any]:
    """A verdict with its gates and figures."""
    return {"kind": v.kind, "gates": list(v.gates), "why": list(v.why), "n": v.n, "wins": v.wins,
            "losses": v.losses, "p": v.p, **or_reason("net_points", v.net_points),
            **or_reason("low_points", v.low_points), **or_reason("high_points", v.high_points),
            **or_reason("detectable_points", v.detectable_points),
            **or_reason("floor_points", v.floor_points)}


def row_values(row: Row) -> dict[str, Any]:
    """A scorecard's row."""
    return {"shown": rate_values(row.shown), "misfired": rate_values(row.misfired),
            "misfired_of_shown": rate_values(row.misfired_of_shown),
            "again": rate_values(row.again), "outcomes": dict(row.outcomes),
            "stayed": rate_values(row.stayed), "undecided": row.undecided,
            "quality": {name: rate_values(found) for name, found in row.quality.items()}}


def calls(biases: int, quality: bool, detector: bool, readers: int) -> Any:
    """Calls of a trial, by its turns: at least, where no page changes, and at most."""

    def of_trial(turns: int) -> tuple[int, int]:
        each = turns * (1 + detector)
        return each + biases * readers, each + biases * readers * (turns + 1) + biases * quality

    return of_trial


def planned(laid_out: Study, asked: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """What `plan` says of a replay: its arms, every call, and what so many openings can show."""
    part, suite = registered(laid_out.registration.declared), laid_out.suite
    count = calls(len(suite.biases), part.quality is not None, part.detector is not None,
                  sum(part.votes.get(r.name, 1) for r in part.readers))
    each = [count(len(suite.openings[t.item].turns)) for t in laid_out.trials]
    least, most = sum(low for low, _ in each), sum(high for _, high in each)
    engine = sum(len(suite.openings[t.item].turns) for t in laid_out.trials)
    samples = sum(bool(o.present) for o in suite.openings.values())
    seen = detectable(samples, part.discordance).exact
    margin = part.margin if part.saving else None
    values = {
        "arms": {name: arm.as_json() for name, arm in part.arms.items()},
        "openings": len(suite.openings), "openings_with_a_bias": samples, "metric": part.metric,
        "calls_engine": engine, "calls": least, "calls_most": most,
        "calls_when": "no page changes",
        "discordance": part.discordance, "margin": margin, **or_reason("detectable", seen),
    }
    swing = number(seen if isinstance(seen, Undefined) else 100 * seen, 0)
    lines = [
        f"Arms          {verdicts.arms_of(part.arms)}",
        *_swap(laid_out, part),
        f"Openings      {len(suite.openings)}, {samples} with a bias in what the person says",
        f"Readers       {', '.join(r.name for r in part.readers)}"
        + (f"; detector {part.detector.name}" if part.detector else "; fired by the labels"),
        f"Conversations {len(laid_out.trials):,} ({engine:,} turns of the engine; with readers"
        f" {least:,} to {most:,} calls)",
        f"Detectable    a net of {swing} points at {100 * part.discordance:.0f}% differing, 80%"
        " power",
    ]
    told = set(part.arms["A"].instructions) ^ set(part.arms["B"].instructions)
    few = sum(bool(told & o.present.keys()) for o in suite.openings.values())
    if told and few < samples:
        lines.append(f"Reach         only {few} of {samples} openings hold a bias whose instruction"
                     f" changes: the net cannot be above {100 * few / samples:.0f} points."
                     + (" That is below what can be detected." if not isinstance(seen, Undefined)
                        and few / samples <= seen else ""))
    if margin is not None and not isinstance(seen, Undefined) and margin <= 100 * seen:
        lines.append(f"Margin        {margin:g} points cannot be told from noise by {samples}"
                     f" openings: it must be above {swing}. Widen it or bring more openings.")
    return values, lines


def _swap(laid_out: Study, part: Any) -> list[str]:
    """Which engine takes the place of which, and of what families they and their readers are."""
    if part.second is None:
        return []
    first = ", ".join(f"{s['name']} (family {s['family']})"
                      for s in laid_out.registration.subjects)
    return [f"Engines       {part.second.name} (family {part.second.family}) against {first};"
            f" readers of {listed(sorted({r.family for r in part.readers}))}"
            + (", one family of readers taken as enough" if part.one_reader else "")]


def columns(observation: Observation[Any]) -> Mapping[str, Any]:
    """What an exported row says of a conversation: its last page and each bias's fate."""
    value = observation.value
    said: dict[str, Any] = {"turns_written": len(value.replies)}
    last = value.versions[-1]
    said["at_stake"] = last.at_stake
    said["last_page"] = "\n".join(f"{x.number}. {x.text}" + (f" — {x.answer}" if x.answer else "")
                             for x in last.lines)
    for reader, fates in value.fates.items():
        for bias, fate in fates.items():
            shown = fate.shown if isinstance(fate.shown, bool) else "unknown"
            said[f"{reader}_{bias}_shown"] = shown
            said[f"{reader}_{bias}_misfires"] = "; ".join(fate.misfires)
            said[f"{reader}_{bias}_outcome"] = (
                fate.outcome if isinstance(fate.outcome, str) else "")
    return said


def selftest(suite_name: str | None, as_json: bool) -> None:
    """Planted engines through the whole pipeline: each must get the verdict it deserves."""
    found = [(trait, planted_findings(NAME, [trait], readers=("planted:perfect",),
                                      change=("instruction:all",)).comparisons[0])
             for trait in ENGINES]
    checks = [Expected(trait, _described(c), expected(trait, c)) for trait, c in found]
    show_expected({"suite": suite_name or "standard"}, checks, as_json)


def _described(c: Compared) -> str:
    v = c.verdict
    again = sum(card.total.again.count for card in c.scorecards.values())
    return (f"B : A {v.wins} : {v.losses} of {v.n}, p {p_value(v.p)}, misfired"
            f" {of(c.scorecards['B'].total.misfired)}, put again {again}")


def expected(trait: str, c: Compared) -> bool:
    """Whether what was planted was found, and its neighbours were not."""
    v, card = c.verdict, c.scorecards["B"].total
    again, quiet = card.again.count, card.misfired.count == 0
    flat = v.p >= 0.05
    flagged = [bias for bias, row in c.by_bias.items()
               if not isinstance(row.holm, Undefined) and row.verdict.p < 0.05]
    return {
        "same": flat and quiet and not again,
        "better": v.p < 0.05 and v.wins > v.losses and quiet and not again,
        "better-on-one": "framing" in flagged and v.wins > v.losses and quiet and not again,
        "worse": v.p < 0.05 and v.losses > v.wins and quiet and not again,
        "late": flat and quiet and not again and card.shown.count > 0,
        "asks-again": flat and again > 0 and quiet,
        "asks-everyone": flat and not quiet and not again,
        "own-words": flat and quiet and not again,
        "never-json": v.n == 0 and card.shown.n == 0,
    }[trait]


def entry_rows(findings: Findings) -> tuple[tuple[str, ...], ...]:
    """A row a comparison, for the log."""
    return (("", "verdict", "B : A", "openings", "net", "p", "noise floor", "detectable"),
            *((f"{c.subject}, {c.answer}, {c.reader}", c.verdict.kind,
               f"{c.verdict.wins} : {c.verdict.losses}", str(c.verdict.n),
               verdicts.points(c.verdict.net_points), p_value(c.verdict.p),
               verdicts.points(c.verdict.floor_points),
               number(c.verdict.detectable_points, 0)) for c in findings.comparisons))


