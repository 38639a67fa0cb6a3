"""A calibration as one page: the badge, the rates, and every item the reader got otherwise."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from equipoise.instruments.replay.calibrating import Calibrated, Findings, Labels
from equipoise.instruments.replay.page import worded
from equipoise.instruments.replay.suite import Suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import charts, trusting, words
from equipoise.report.environment import environment, style, subject_of
from equipoise.report.visible import LANGUAGE_TAGS


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item that the reader and the label differ on, or that waits for a person."""

    moment: str
    bias: str
    label: str
    said: str
    why: str
    message: str
    page: str
    language: str


@dataclass(frozen=True, slots=True)
class View:
    """One reader's calibration as the page shows it."""

    key: str
    c: Calibrated
    badge: str
    rates: tuple[tuple[str, Markup, str], ...]
    biases: tuple[tuple[str, str, str, int], ...]
    shows: tuple[str, ...]
    arithmetic: tuple[str, ...]
    wrong: tuple[ItemView, ...]
    queue: tuple[ItemView, ...]


def page(
    run: Run, registration: Registration, suite: Suite, labels: Labels, findings: Findings,
    head: Head,
) -> str:
    """A run's page: one HTML file that needs nothing beside it."""
    return environment().get_template("calibration.html.j2").render(
        run=run, registration=registration, suite=suite, labels=labels, findings=findings,
        views=[_view(c, labels, place) for place, c in enumerate(findings.calibrated, 1)],
        headline=trusting.headline(findings), asked=words.when(run.at), head=head,
        limits=trusting.limits(), style=style("page", "label_swap", "debates", "replay"),
        subjects=[subject_of(s) for s in registration.subjects], what=trusting.WHAT,
        prompt=_prompt(suite, registration.declared), command=shlex.quote(run.name),
    )


def _prompt(suite: Suite, declared: Mapping[str, Any]) -> str:
    return suite.prompts["en"]["page_reader" if declared["task"] == "page" else "detector"]


def _view(c: Calibrated, labels: Labels, place: int) -> View:
    t, decided = c.trust, c.found.decided
    rates = tuple((name, charts.interval(found), words.share(found)) for name, found in (
        ("says yes where the labels do", t.sensitivity),
        ("says no where the labels do", t.specificity),
        (f"two {'seats' if c.illustrative else 'people'} agree", t.human)))
    wrong = tuple(_item(labels, w.moment, w.bias, w.label, "yes" if w.said else "no", w.why)
                  for w in c.wrong)
    queue = tuple(_item(labels, moment, bias, bias in labels.moments[moment].shown, "unknown", "")
                  for moment, bias in c.unknown)
    return View(f"c{place}", c, trusting.badge(c), rates, tuple(trusting.by_bias(c)),
                tuple(trusting.shows(c)),
                tuple(trusting.arithmetic(decided.positives, decided.negatives)), wrong, queue)


def _item(labels: Labels, key: str, bias: str, label: bool, said: str, why: str) -> ItemView:
    moment = labels.moments[key]
    return ItemView(key, bias, "yes" if label else "no", said, why, moment.said,
                    worded(moment.after, moment.language), LANGUAGE_TAGS.get(moment.language, ""))
