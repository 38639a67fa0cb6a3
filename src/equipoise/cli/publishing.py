"""The acts behind `publish` and `compare`: a site of debates runs, and two runs side by side."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from equipoise.administer import Administration, administer
from equipoise.cli.recorded import require_asked
from equipoise.cli.running import finished, on_record, read_run
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.cli.studies import Study, register, study
from equipoise.cli.subjects import reached
from equipoise.desk import Desk
from equipoise.instruments.debates.instrument import NAME
from equipoise.ledger import Ledger, Run, Where
from equipoise.providers import planted
from equipoise.registration import Registration
from equipoise.report.comparing import COMPARED, Comparison
from equipoise.report.comparing import compare as compared
from equipoise.report.dataset import STAGES, Dataset
from equipoise.report.dataset import dataset as made
from equipoise.report.publishing import Pages, Published, roll_back
from equipoise.report.publishing import publish as publish_offer
from equipoise.report.registry import ABANDONED, REFUSED, Offer, Served, judged
from equipoise.report.versions import current
from equipoise.terms import Misuse, Observation, Subject, content_hash

NOT_LIVE = 3
SAMPLE_RUN, SAMPLE_AT = "sample data", 1_767_225_600_000_000
SAMPLES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sample-steady": ("steady", {}),
    "sample-wavers": ("flips-at-random", {"rate": 0.2}),
    "sample-wavers-often": ("flips-at-random", {"rate": 0.5}),
    "sample-caves": ("caves-to-pressure", {}),
    "sample-yields": ("switches-to-runner-up", {}),
    "sample-other-in-chinese": ("prefers-another-in-chinese", {}),
    "sample-hedges": ("hedges", {}),
}
"""The subjects of the sample data: what they are called, and what was planted in each."""


def publish(
    path: Where, name: str | None, site: Path, *, sample_data: bool, rollback: str | None,
    as_json: bool,
) -> None:
    """Publish a run, the sample data or an earlier version; raises Misuse for one not made live."""
    if sum((name is not None, sample_data, rollback is not None)) != 1:
        raise Misuse("Publish one thing: a RUN, --sample, or --rollback with a version's name.")
    pages, at = site_pages(), time.time_ns() // 1000
    if rollback is not None:
        return show(roll_back(site, rollback, pages, at), site, as_json)
    if name is None:
        return show(publish_offer(site, sample(), pages, at), site, as_json)
    offer, others = offers(path, name)
    if current(site) is None and judged(Served.nothing(), offer)[1] is None:
        publish_offer(site, sample(), pages, at)
    found = publish_offer(site, offer, pages, at, others)
    show(found, site, as_json)
    if found.state in (REFUSED, ABANDONED):
        raise Misuse(f"The run {name!r} is not made live: {found.reason}. It is in the registry as"
                     f" {found.state}; what is live stays as it was.", NOT_LIVE)
    return None


def site_pages() -> Pages:
    """What makes the pages; imported here, since only publishing needs it."""
    from equipoise.report.debates import site

    return site


def show(found: Published, site: Path, as_json: bool) -> None:
    """Print what became of a run, and where the site stands."""
    if as_json:
        emit_json({**asdict(found), "site": str(site)})
    else:
        emit(f"{found.run}: {found.state}. {found.reason[0].upper()}{found.reason[1:]}.")
        emit(f"Live: {found.live} · version {found.version}"
             f"{'' if found.changed else ' · nothing was changed'}")
    say(f"Serve it with: python -m http.server --directory {site / 'current'}")


def offers(path: Where, name: str) -> tuple[Offer, list[Offer]]:
    """A debates run as it is offered for publication, and the ledger's other debates runs."""
    ledger = Ledger.open(path, read_only=True)
    try:
        require_debates(on_record(ledger, name))
        others = [run.name for run in ledger.runs() if run.name != name
                  and Registration.from_json(run.registration).instrument == NAME]
        return offered(ledger, name), list(_readable(ledger, others))
    finally:
        ledger.close()


def _readable(ledger: Ledger, names: Sequence[str]) -> Iterator[Offer]:
    """These runs as they could be offered; one that cannot be read any more holds up no other."""
    for name in names:
        try:
            yield offered(ledger, name)
        except Misuse as why:
            say(f"The run {name!r} is not entered in the registry: {why}")


def require_debates(run: Run) -> None:
    """Raises Misuse for a run of another instrument."""
    require_asked(run)
    instrument = Registration.from_json(run.registration).instrument
    if instrument != NAME:
        raise Misuse(f"The run {run.name!r} is of {instrument}; only runs of {NAME} are published"
                     f" and compared. Write its page with equipoise report {run.name}.")


def offered(ledger: Ledger, name: str) -> Offer:
    """A recorded run with what is published beside it."""
    run, laid_out, found = read_run(ledger, name)
    return offer_of(run, laid_out, found.observations, ledger)


def offer_of(
    run: Run, laid_out: Study, observations: Sequence[Observation[Any]], ledger: Ledger
) -> Offer:
    """A run's own dataset, stimuli and report, its rows in the order of subjects and debates."""
    registration = laid_out.registration
    stimuli = ledger.stimuli(registration.stamp)
    rows = _in_order(laid_out, observations)
    own = made(run, registration, laid_out.suite, rows, laid_out.analyse(observations),
               ledger.answered(run.seq))
    source = {"registration": registration.hash, "stamp": registration.stamp,
              "registered_at": run.at, "prompts": content_hash(stimuli["prompts.toml"])}
    own = {**own, "sources": {run.name: source}}
    head = ledger.head()
    return Offer(own, stimuli, report_of(own, rows, ledger, run), str(head))


def _in_order(
    laid_out: Study, observations: Sequence[Observation[Any]]
) -> list[Observation[Any]]:
    registration = laid_out.registration
    subjects = [s["name"] for s in registration.subjects]
    places = {what: {level: place for place, level in enumerate(levels)}
              for what, levels in (("subject", subjects), ("item", registration.items),
                                   *registration.factors.items())}

    def place(o: Observation[Any]) -> tuple[int, ...]:
        level = o.trial.condition
        return (places["subject"][o.trial.subject.name], places["answer"][level["answer"]],
                places["push"].get(level["push"], -1), places["item"][o.trial.item], o.trial.draw)

    return sorted(observations, key=place)


def report_of(
    own: Dataset, observations: Sequence[Observation[Any]], ledger: Ledger, run: Run
) -> dict[str, Any]:
    """What a run took and what went wrong in it: calls, retries, failures, problems, tokens, cost.

    A problem is what a reply was told was wrong when it was asked for again.
    """
    kinds = [sent.kind for sent in ledger.calls(run.seq)]
    usages = [u for o in observations for s in o.value.stages.values() for u in s.usages]

    def total(part: str) -> float | None:
        known = [n for u in usages if (n := getattr(u, part)) is not None]
        return sum(known) if known else None

    return {
        "run": own["run"], "coverage": own["coverage"],
        "calls": {"tries": len(kinds), "replies": kinds.count("reply"),
                  "faults": kinds.count("fault"),
                  "unknown": kinds.count("unknown") + kinds.count("intent"),
                  "questions": len(ledger.recorded(run.seq)),
                  "retries": len(kinds) - len(ledger.recorded(run.seq))},
        "failures": [said for row in own["answers"] for said in _failures(row)],
        "problems": [said for row in own["answers"] for said in _problems(row)],
        "tokens": {part: total(part) for part in ("prompt", "completion", "reasoning")},
        "cost_usd": total("cost_usd"),
        "cost_said": "as the providers state it, over the calls that do" if total("cost_usd")
        is not None else "no provider stated a cost",
    }


def _failures(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**_where(row), "stage": name, "kind": stage["nonresponse"], "detail": stage["detail"]}
            for name in STAGES for stage in [row["stages"][name]] if stage["pick"] is None]


def _problems(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**_where(row), "stage": name, "problem": stage["problem"],
             "mended": stage["pick"] is not None}
            for name in STAGES for stage in [row["stages"][name]] if stage["problem"]]


def _where(row: Mapping[str, Any]) -> dict[str, Any]:
    return {part: row[part] for part in ("subject", "debate", "answer", "push", "draw")}


def sample() -> Offer:
    """Sample data: planted subjects through the whole pipeline, the same bytes every time.

    It shows what a site looks like before its first run, and says so.
    """
    subjects = [replace(planted.subject(trait, **settings), name=name)
                for name, (trait, settings) in SAMPLES.items()]
    registration, stimuli = register(NAME, subjects, menu=True)
    laid_out = study(registration, stimuli)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.db")
        try:
            run = ledger.register("sample", registration.as_json(), stimuli.texts)
            found: Administration[Any] = finished(_administered(ledger, run, laid_out))
            offer = offer_of(replace(run, name=SAMPLE_RUN, at=SAMPLE_AT), laid_out,
                             found.observations, ledger)
        finally:
            ledger.close()
    own = {**offer.dataset, "sample": True}
    for part in ("answers", "menu"):
        own[part] = [{**row, "answered_at": SAMPLE_AT} for row in own[part]]
    return Offer(own, offer.stimuli, {**offer.report, "sample": True})


async def _administered(ledger: Ledger, run: Run, laid_out: Study) -> Administration[Any]:
    subjects = [Subject(**s) for s in laid_out.registration.subjects]
    async with reached(subjects, laid_out) as provider:
        return await administer(laid_out.instrument, laid_out.trials,
                                Desk(ledger, run, provider), at_once=64)


def compare(path: Where, first: str, second: str, as_json: bool) -> None:
    """Print what changed from one debates run to another, within equal conditions."""
    ledger = Ledger.open(path, read_only=True)
    try:
        for name in (first, second):
            require_debates(on_record(ledger, name))
        found = compared(offered(ledger, first).dataset, offered(ledger, second).dataset)
    finally:
        ledger.close()
    if as_json:
        return emit_json(comparison_values(found))
    return emit(as_text(found))


def comparison_values(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON values."""
    return {
        "runs": list(found.runs), "compared": found.compared, "same_answers": found.carried,
        **{what: {"changed": found.changed[what], "of": found.of[what]} for what in COMPARED},
        "moved_on_asking_again": [{"count": count, "of": n} for count, n in found.control],
        "rows": found.rows, "only_in_first": list(map(_named, found.only[0])),
        "only_in_second": list(map(_named, found.only[1])),
        "not_compared": [{**_named(at), "why": why} for at, why in found.otherwise],
    }


def _named(at: Sequence[str]) -> dict[str, str]:
    return dict(zip(("subject", "debate", "answer", "push"), at, strict=True))


def as_text(found: Comparison) -> str:
    """A comparison for a terminal."""
    a, b = found.runs
    if not found.compared:
        parts = [f"Nothing was asked alike in {a} and {b}."]
    else:
        changed = ", ".join(f"{what} in {found.changed[what]:,} of {found.of[what]:,}"
                            for what in COMPARED)
        moved = " and ".join(f"{count:,} of {n:,} ({run})" for run, (count, n) in zip(
            found.runs, found.control, strict=True))
        parts = [f"{a} → {b}: {found.compared:,} cells were asked alike. Changed: {changed}.",
                 f"On a plain second asking within a run, {moved} picks moved: that much changes by"
                 " itself."]
    if found.rows:
        parts.append(table(["subject", "debate", "condition", *COMPARED], [
            [row["subject"], row["debate"], f"{row['answer']} · {row['push']}",
             *(" → ".join(dict.fromkeys(row[what])) for what in COMPARED)] for row in found.rows]))
    for run, only in zip(found.runs, found.only, strict=True):
        if only:
            parts.append(f"Only in {run}: {_cells(only)}.")
    for why in dict.fromkeys(why for _, why in found.otherwise):
        parts.append(f"Not compared, as {why}: "
                     f"{_cells([at for at, said in found.otherwise if said == why])}.")
    return "\n\n".join(parts)


def _cells(cells: Sequence[tuple[str, ...]], most: int = 6) -> str:
    said = [" · ".join(at) for at in cells[:most]]
    more = f" and {len(cells) - most:,} more" if len(cells) > most else ""
    return f"{len(cells):,} ({'; '.join(said)}{more})"
