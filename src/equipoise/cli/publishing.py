"""The act behind `publish`: a site of debates runs."""

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
from equipoise.cli.screen import emit, emit_json, say
from equipoise.cli.studies import Study, register, study
from equipoise.cli.subjects import reached
from equipoise.desk import Desk
from equipoise.instruments.debates.instrument import NAME
from equipoise.ledger import Ledger, Run, Where
from equipoise.providers import planted
from equipoise.registration import Registration
from equipoise.report.dataset import Dataset
from equipoise.report.dataset import dataset as made
from equipoise.report.kept import prune
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
    keep: int | None, as_json: bool,
) -> None:
    """Publish a run, the sample data or an earlier version; raises Misuse for one not made live.

    With `keep`, or with that alone, versions older than so many are then taken away.
    """
    asked = sum((name is not None, sample_data, rollback is not None))
    if asked > 1 or not asked and keep is None:
        raise Misuse("Publish one thing: a RUN, --sample, or --rollback with a version's name."
                     " --keep N may stand alone.")
    found = _published(path, name, site, rollback) if asked else None
    gone = () if keep is None else prune(site, keep)
    show(found, gone if keep is not None else None, site, as_json)
    if found is not None and found.state in (REFUSED, ABANDONED):
        raise Misuse(f"The run {name!r} is not made live: {found.reason}. It is in the registry as"
                     f" {found.state}; what is live stays as it was.", NOT_LIVE)


def _published(path: Where, name: str | None, site: Path, rollback: str | None) -> Published:
    """What became of a run, of an earlier version, or of the sample data where neither is named."""
    pages, at = site_pages(), time.time_ns() // 1000
    if rollback is not None:
        return roll_back(site, rollback, pages, at)
    if name is None:
        return publish_offer(site, sample(), pages, at)
    offer, others = offers(path, name)
    if current(site) is None and judged(Served.nothing(), offer)[1] is None:
        publish_offer(site, sample(), pages, at)
    return publish_offer(site, offer, pages, at, others)


def site_pages() -> Pages:
    """What makes the pages and their tables; imported here, since only publishing needs it."""
    from equipoise.report.debates import site
    from equipoise.report.figures import labelled, tables

    def pages(dataset: Dataset, more: Mapping[str, Any]) -> dict[str, str]:
        found = tables(dataset)
        return {**site(dataset, {**more, "tables": labelled(found)}), **found}

    return pages


def show(
    found: Published | None, gone: Sequence[tuple[str, str]] | None, site: Path, as_json: bool
) -> None:
    """Print what became of a run, which versions went, and where the site stands."""
    if as_json:
        emit_json({**(asdict(found) if found else {}), "site": str(site), **(
            {} if gone is None else {"taken_away": [
                {"version": version, "served": served} for version, served in gone]})})
    elif found is not None:
        emit(f"{found.run}: {found.state}. {found.reason[0].upper()}{found.reason[1:]}.")
        emit(f"Live: {found.live} · version {found.version}"
             f"{'' if found.changed else ' · nothing was changed'}")
    if found is not None and found.entered:
        say(f"Entered in the registry too, each with its snapshot: {', '.join(found.entered)}.")
    if gone is not None and not as_json:
        emit(f"Versions taken away: {len(gone):,}."
             + "".join(f"\n  {version} ({served})" for version, served in gone))
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
        "failures": [said for row in _asked(own) for said in _failures(row)],
        "problems": [said for row in _asked(own) for said in _problems(row)],
        "tokens": {part: total(part) for part in ("prompt", "completion", "reasoning")},
        "cost_usd": total("cost_usd"),
        "calls_with_cost": sum(u.cost_usd is not None for u in usages),
        "cost_said": "as the providers state it, over the calls that do" if total("cost_usd")
        is not None else "no provider stated a cost",
    }


def _asked(own: Dataset) -> Iterator[Mapping[str, Any]]:
    """Every row with its stages, those of the menu too."""
    yield from own["answers"]
    for row in own["menu"]:
        yield {**row, "push": "", "stages": {"menu": row}}


def _failures(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**_where(row), "stage": name, "kind": stage["nonresponse"], "detail": stage["detail"]}
            for name, stage in row["stages"].items() if stage["pick"] is None]


def _problems(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**_where(row), "stage": name, "problem": stage["problem"],
             "mended": stage["pick"] is not None}
            for name, stage in row["stages"].items() if stage["problem"]]


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
