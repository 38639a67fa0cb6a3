"""A reader's calibration in sentences: its rates, its badge, and what the bar itself can tell."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.calibration import BAR, PER_CLASS, chance_trusted
from equipoise.instruments.replay.calibrating import Calibrated, Findings, wanted
from equipoise.report.words import listed, number, percent, share, spelled
from equipoise.stats.undefined import Undefined

REASONS: Mapping[str, str] = {
    "below_bar": f"one of its rates is below {float(BAR)}",
    "below_human_ceiling": "it is more than 0.10 below the agreement of two people",
    "human_ceiling_missing": "it is not known how far two people agree",
    "too_few_per_class": f"a class has fewer than {PER_CLASS} decided items",
}
REHEARSAL = ("These labels are illustrative: written for this project, by no rater. A badge on them"
             " is a rehearsal and no reason to count a reader.")
WHAT = {"page": "debiases on pages", "detector": "biases in messages"}


def badge(c: Calibrated) -> str:
    """Trusted, or uncalibrated with its reasons."""
    if c.trust.trusted:
        return "trusted" + (", on illustrative labels" if c.illustrative else "")
    return f"uncalibrated: {listed([REASONS[reason] for reason in c.trust.reasons])}"


def headline(findings: Findings) -> list[str]:
    """What was found, a sentence a reader."""
    return [f"{c.subject} as a reader of {WHAT[c.task]} is {badge(c)}." for c in
            findings.calibrated]


def shows(c: Calibrated) -> list[str]:
    """What the badge rests on, and what such a badge can tell."""
    t = c.trust
    said = [REHEARSAL] if c.illustrative else []
    said += [
        f"Of the items labelled yes it said so in {share(t.sensitivity)}; of those"
        f" labelled no it left {share(t.specificity)}. The lower of both is"
        f" {number(t.least)}; the bar is {float(BAR)}, with {PER_CLASS} items of each class.",
        f"It did not decide {share(t.unknown)} of the items: those are in no rate, and a person’s"
        " to settle.",
        f"Two {'seats' if c.illustrative else 'people'} agree on {share(t.human)} of the items both"
        f" labelled. Measured as the reader"
        f" is, each against the other, that is {number(c.ceiling)}.",
    ]
    if not isinstance(t.chance_above, Undefined):
        said.append("The chance that both its true rates are above the bar, every value as likely"
                    f" before, is {percent(t.chance_above)}.")
    if c.weaker.decided.n:
        said.append("On pages of the deliberately weaker engine alone: yes"
                    f" {share(c.weaker.decided.sensitivity)}, no"
                    f" {share(c.weaker.decided.specificity)}.")
    if c.agreement.compared:
        said.append(f"Its draws agree in {percent(c.agreement.pairwise)} of pairs, kappa"
                    f" {number(c.agreement.kappa)}, AC1 {number(c.agreement.ac1)}:"
                    + (" one call will do." if c.agreement.is_steady
                       else " take the majority of three."))
    return said


def arithmetic(positives: int, negatives: int) -> list[str]:
    """What a split of so many items of each class can tell, and how many it would take."""
    rarer = min(positives, negatives)
    said = [f"This split holds {positives} items labelled yes and {negatives} labelled no."]
    if rarer < PER_CLASS:
        from equipoise.stats.wilson import rate

        n = wanted(rate(rarer, positives + negatives), PER_CLASS)
        said.append(f"The bar needs {PER_CLASS} of each: at this mix {n:,} items in the split,"
                    f" {round(n / 0.45):,} in all for a frozen 45%. No reader can be trusted on"
                    " fewer, whatever it says.")
        return said
    rates = ", ".join(
        f"{true:.2f} passes {percent(chance_trusted(true, true, positives, negatives))}"
        for true in (0.80, 0.85, 0.90, 0.95))
    said.append(f"How often a reader whose true rates are both so reaches the bar here: {rates}.")
    return said


def by_bias(c: Calibrated) -> list[tuple[str, str, str, int]]:
    """A row a bias: sensitivity, specificity and what was not decided."""
    return [(bias, share(row.found.decided.sensitivity), share(row.found.decided.specificity),
             row.found.unknown) for bias, row in c.by_bias.items()]


def limits() -> list[str]:
    """What a badge does not show."""
    return [
        "The labels are one set of people’s, under definitions written down. A reader that agrees"
        " with them agrees with them, and no more.",
        f"The bar is a point estimate. {spelled(34).capitalize()} of 40 reaches it, and its Wilson"
        " interval goes from .71 to .93.",
        "The badge holds for this reader as set up, this prompt and these definitions. Change one"
        " and it is stale: run the calibration again.",
        "Items of one moment are not independent, so the intervals are somewhat too narrow.",
        "The shipped labels and ratings are illustrative, written for this project: a badge on"
        " them is a rehearsal. Bring your own people’s labels before a verdict counts.",
    ]
