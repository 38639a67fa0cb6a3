"""Small runs to publish, and a publisher in a process of its own, made to be killed."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

from equipoise.cli.publishing import sample
from equipoise.report.publishing import publish
from equipoise.report.registry import Offer

SECOND = 1_000_000
AT = 1_800_000_000 * SECOND


def pages(dataset, more):
    """A site of two pages: enough to see what it was made of."""
    said = {"run": dataset["run"], "sample": dataset["sample"], "published": more["published_at"],
            "head": more["head"], "history": more["history"], "files": more["files"],
            "carried": sum(row["carried_over"] for row in dataset["answers"])}
    return {"index.html": json.dumps(said), "debates/one.html": dataset["run"]}


@cache
def sampled():
    return sample()


def offer(run="r1", subjects=2, debates=3, lost=0, more=None, **declared):
    """A run of planted answers, so many subjects and debates of it, with so many pairs lost."""
    own = copy.deepcopy(sampled().dataset)
    names = [s["name"] for s in own["subjects"]][:subjects]
    keys = list(own["debates"])[:debates]
    own |= {"run": run, "sample": False, "menu": [], "registered_at": AT,
            "subjects": own["subjects"][:subjects], "declared": {"menu": False, **declared},
            "debates": {key: own["debates"][key] for key in keys},
            "answers": [row | {"run": run} for row in own["answers"]
                        if row["subject"] in names and row["debate"] in keys],
            "sources": {run: next(iter(own["sources"].values()))}}
    for row in own["answers"][:lost]:
        row["succeeded"] = False
        row["stages"]["chinese"] |= {"pick": None, "nonresponse": "invalid", "detail": "no pick"}
    if more:
        more(own)
    from equipoise.report.dataset import coverage

    own["coverage"] = coverage(own["answers"])
    return replace(sampled(), dataset=own, head=f"9:{run}", report={"run": run})


def tree(folder):
    """Every file of a folder with its SHA-256; links as what they lead to."""
    return {str(p.relative_to(folder)): os.readlink(p) if p.is_symlink()
            else hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_symlink() or p.is_file()}


def whole(site):
    """The dataset that is served, all of it held to its checksums; none where nothing is."""
    link = Path(site) / "current"
    if not link.is_symlink():
        return None
    version = Path(site) / os.readlink(link)
    listed = dict(reversed(line.split("  ", 1))
                  for line in (version / "SHA256SUMS").read_text().splitlines())
    assert tree(version).keys() == listed.keys() | {"SHA256SUMS"}
    for path, digest in listed.items():
        assert hashlib.sha256((version / path).read_bytes()).hexdigest() == digest, path
    dataset = json.loads((version / "data/dataset.json").read_bytes())
    assert json.loads((version / "index.html").read_bytes())["run"] == dataset["run"]
    assert (version / "debates/one.html").read_text() == dataset["run"]
    about = json.loads((version / "data/published.json").read_bytes())
    assert about["dataset_sha256"] == listed["data/dataset.json"]
    live = [e for e in events(version) if e["state"] in ("sample", "live", "rolled back")]
    assert live[-1]["run"] == dataset["run"]
    return dataset


def events(version):
    return json.loads((Path(version) / "data/registry.json").read_bytes())["events"]


def publish_on_and_on(folder: str, made: bytes) -> None:
    """Publish run after run, each a new name, from where the registry stands; never ends."""
    import pickle

    first: Offer = pickle.loads(made)
    site = Path(folder) / "site"
    number = len(events(site / "current")) if (site / "current").exists() else 0
    (Path(folder) / "begun").touch()
    while True:
        run = f"r{number:05d}"
        own = first.dataset | {"run": run, "answers": [
            row | {"run": run} for row in first.dataset["answers"]],
            "sources": {run: first.dataset["sources"][first.run]}}
        publish(site, replace(first, dataset=own), pages, AT + number * SECOND)
        with (Path(folder) / "told").open("a") as told:
            told.write(f"{run}\n")
        number += 1
