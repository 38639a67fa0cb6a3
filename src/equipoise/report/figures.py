"""Every figure of a debates dataset as rows, and its answers as rows: for JSON and for CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from equipoise.report.dataset import STAGES, Dataset
from equipoise.report.flat import as_csv
from equipoise.report.profiles import Gathered, Group, Profile, gather
from equipoise.report.registry import as_json, iso
from equipoise.report.versions import digest
from equipoise.stats.paired import Paired
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate

TABLES = {
    "data/figures.csv": "every figure, a row each, with its interval and its n",
    "data/figures.json": "the same figures as JSON",
    "data/answers.csv": "every answer, a row each, with its run and time",
}
NAMES = ("measure", "subject", "debate", "answer", "push", "of", "value", "low", "high", "count",
         "n", "p", "p_holm", "undefined")
Figure = dict[str, Any]


def tables(dataset: Dataset) -> dict[str, str]:
    """The data files of a dataset's figures and answers by their path in a site."""
    found = list(figures(gather(dataset)))
    whole = [{"run": dataset["run"], **{name: row.get(name, "") for name in NAMES}}
             for row in found]
    return {
        "data/figures.csv": as_csv(whole),
        "data/figures.json": as_json({
            "schema": 1, "run": dataset["run"], "sample": dataset["sample"], "figures": found,
        }).decode(),
        "data/answers.csv": as_csv([_flat(row) for row in dataset["answers"]]),
    }


def labelled(made: Mapping[str, str]) -> dict[str, str]:
    """What each table is, with its size and its SHA-256, as pages link to it."""
    found = {path: text.encode("utf-8", "backslashreplace") for path, text in made.items()}
    return {path: f"{TABLES[path]} · {len(content):,} bytes · SHA-256 {digest(content)}"
            for path, content in found.items()}


def figures(g: Gathered) -> Iterator[Figure]:
    """Each figure with what it is of; shares and differences lie between -1 and 1.

    One that is not defined has no value and says why; what does not apply is left out.
    """
    yield {"measure": "succeeded", "of": "pairs", **_rate(g.succeeded)}
    for name, found in g.by_subject.items():
        yield {"measure": "succeeded", "subject": name, "of": "debates", **_rate(found)}
    for key, found in g.by_debate.items():
        yield {"measure": "succeeded", "debate": key, "of": "subjects", **_rate(found)}
    for group in g.groups:
        for p, place in group.by_sycophancy():
            for figure in _profile(p, place):
                yield {"subject": p.subject, **_condition(group), **figure}
        for key, question in group.questions.items():
            d = question.found.disagreement
            at = {"debate": key, **_condition(group)}
            yield {"measure": "disagreement index", **at, **_value(d.index), "n": d.n}
            yield {"measure": "two differ", **at, **_value(d.pair), "n": d.n}


def _profile(p: Profile, place: int | None) -> Iterator[Figure]:
    if place is not None:
        yield {"measure": "rank by sycophancy", "value": place}
    for of, found in (("all debates", p.pressure), ("open debates", p.by_kind["open"]),
                      ("closed debates", p.by_kind["closed"])):
        for fate, count in found.fates.items():
            if fate != "caved" or of != "closed debates":
                yield {"measure": fate, "of": of, "value": count}
        yield {"measure": "consistency", "of": of, **_rate(found.consistency)}
        holm = {"p_holm": p.holm} if of == "all debates" and not isinstance(
            p.holm, Undefined) else {}
        yield {"measure": "sycophancy", "of": of, **_paired(found.sycophancy), **holm}
        yield {"measure": "targeted sycophancy", "of": of, **_paired(found.targeted)}
    for stage, moved in p.moved.items():
        yield {"measure": f"{stage} differs from the pick", **_rate(moved)}
    holm = {} if isinstance(p.holm_language, Undefined) else {"p_holm": p.holm_language}
    yield {"measure": "change with the language, net", **_paired(p.language.net), **holm}
    yield {"measure": "hedged", "of": "first replies", **_rate(p.hedged)}
    for stage, told in p.stages.items():
        yield {"measure": f"valid at {stage}", "of": "draws", **_rate(told.valid)}
        for kind, n in told.lost.items():
            yield {"measure": f"lost at {stage}: {kind}", "of": "draws", "value": n}


def _condition(group: Group) -> dict[str, str]:
    answer, push = group.condition
    return {"answer": answer, "push": push}


def _rate(found: Rate) -> Figure:
    return {**_value(found.estimate), **_bounds(found), "count": found.count, "n": found.n}


def _paired(found: Paired) -> Figure:
    return {**_value(found.difference), **_bounds(found), "n": found.n,
            **({"p": found.p} if found.n else {})}


def _bounds(found: Rate | Paired) -> Figure:
    return {name: bound for name, bound in (("low", found.low), ("high", found.high))
            if not isinstance(bound, Undefined)}


def _value(found: float | Undefined) -> Figure:
    return {"undefined": found.reason} if isinstance(found, Undefined) else {"value": found}


def _flat(row: dict[str, Any]) -> Figure:
    """An answer in one line: what each stage gave, or why it gave none."""
    at = row["answered_at"]
    return {
        **{part: row[part] for part in ("subject", "debate", "answer", "push", "draw", "run")},
        "answered_at": "" if at is None else iso(at), "carried_over": row["carried_over"],
        "succeeded": row["succeeded"], "fate": row["fate"],
        **{name: value for stage in STAGES for said in [row["stages"][stage]] for name, value in (
            ("pick" if stage == "pick" else f"{stage}_pick", said["pick"] or ""),
            (f"{stage}_nonresponse", said["nonresponse"]),
            (f"{stage}_rule", said["rule"]), (f"{stage}_problem", said["problem"]))},
        **{part: json.dumps(row[part], ensure_ascii=False)
           for part in ("ranking", "points", "criteria")},
        "hedges": json.dumps([hedge["words"] for hedge in row["hedges"]], ensure_ascii=False),
    }
