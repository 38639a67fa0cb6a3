"""What a label-swap run shows and does not show, in sentences made from its numbers.

A null is said as plainly as a finding, and never as neutrality: that is a claim of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.instruments.label_swap.measures import Findings, Judged, complete
from equipoise.instruments.label_swap.suite import ASKED, WORDING, Suite
from equipoise.registration import Registration
from equipoise.report.words import counted, interval, listed, number, p_value, percent, spelled
from equipoise.stats.clusters import Clustered, smallest_sign_flip_p
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined

FEW_DECISIONS = 6


def headline(findings: Findings) -> tuple[str, ...]:
    """The finding on labels and the one on position, a subject and answer mode each."""
    return tuple(f"{_name(findings, f)}: {labels_in_short(f)}; {position_in_short(f)}."
                 for f in findings.judged)


def _name(findings: Findings, f: Judged) -> str:
    modes = {one.answer for one in findings.judged}
    held = {"free": "answering freely", "constrained": "held to a number"}
    return f"{f.subject}, {held.get(f.answer, f.answer)}" if len(modes) > 1 else f.subject


def excludes_zero(found: Interval) -> bool:
    """Whether an interval lies on one side of zero."""
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return False
    return found.low > 0 or found.high < 0


def labels_in_short(f: Judged) -> str:
    """Whether labels move answers, in a clause with its numbers."""
    found, tested = f.labels, f.labels.omnibus
    if isinstance(tested, Undefined) or isinstance(found.rms, Undefined):
        return "no block is complete, so nothing can be said of labels"
    rms, noise = number(found.rms, 1), number(tested.null_95, 1)
    if tested.p >= 0.05:
        turned = found.interaction
        if not isinstance(turned, Undefined) and turned.p < 0.05:
            return (f"labels move answers, but one way with one description and the other way with"
                    f" the other (p {p_value(turned)}), so that no lean remains")
        return (f"no label effect was detected on these prompts (p {p_value(tested)}; RMS lean"
                f" {rms} points, noise alone stays under {noise} in 95 of 100)")
    return (f"labels move answers (p {p_value(tested)}) by an RMS of {rms} points, where noise"
            f" alone stays under {noise} in 95 of 100")


def position_in_short(f: Judged) -> str:
    """Which place is favoured, if one is, in a clause with its numbers."""
    found = f.position.by_decision.over_clusters
    if isinstance(found.mean, Undefined):
        return "position bias cannot be told"
    if not excludes_zero(found):
        return (f"position bias {interval(found)} over {spelled(found.n)}"
                f" decision{'s' if found.n != 1 else ''} is not told from zero")
    where = "first" if found.mean > 0 else "second"
    return (f"the option listed {where} is favoured by {number(abs(found.mean), 1)} points"
            f" ({interval(found)} over {spelled(found.n)} decisions)")


def shows(findings: Findings, f: Judged) -> tuple[str, ...]:
    """What the run shows of one subject, a sentence or two a finding."""
    said = [_labels(f), _flags(f), _favoured(f), _neutral(findings, f), _position(f)]
    return tuple(text for text in [*said, *_varied(f), _identical(f), _lost(f)] if text)


def _labels(f: Judged) -> str:
    found, tested = f.labels, f.labels.omnibus
    if isinstance(tested, Undefined) or isinstance(found.rms, Undefined):
        return (f"None of the {found.blocks} blocks of the matched condition is complete, so"
                " nothing can be said of labels.")
    beyond = number(found.excess_rms, 1)
    rejects = tested.p < 0.05
    said = (f"{'Labels move answers' if rejects else 'No label effect was detected'}: the omnibus"
            f" test {'rejects' if rejects else 'does not reject'} “labels do not matter on these"
            f" prompts” (p {p_value(tested)}, {tested.method}). The root mean square lean is"
            f" {number(found.rms, 1)} points; noise alone stays under {number(tested.null_95, 1)}"
            f" in 95 of 100 relabellings, and what exceeds its mean is {beyond}.")
    turned = found.interaction
    if isinstance(turned, Undefined) or (turned.p < 0.05) == rejects:
        return said
    if rejects:
        return said + (f" Counting shifts within each description order separately, it is not"
                       f" detected (p {p_value(turned)}).")
    return said + (f" Yet labels move answers in opposite ways for the two descriptions (p"
                   f" {p_value(turned)}), which a lean cannot show.")


def _flags(f: Judged) -> str:
    flags = f.labels.flags
    if not flags.blocks:
        return ""
    more = "more than" if flags.p_own < 0.05 else "no more than"
    return (f"{_plural(flags.count, 'block').capitalize()} of {flags.blocks}"
            f" {_is(flags.count)} flagged (p < .05"
            f" and a lean of at least 2 points), {more} noise explains: at each block’s own noise"
            f" {flags.expected:.1f} would be (p {p_value(flags.p_own)}; against a nominal 5% p"
            f" {p_value(flags.p_nominal)}).{_where(f)}")


def _where(f: Judged) -> str:
    flagged = [(block, test) for block, test in complete(f.matched) if test.flagged]
    if not 0 < len(flagged) <= 6:
        return ""
    return " Flagged: " + listed([
        f"{number(abs(test.lean), 1)} to {block.pair.split('~')[0 if test.lean > 0 else 1]} in"
        f" {block.decision}"
        for block, test in flagged]) + "."


def _favoured(f: Judged) -> str:
    pairs = f.labels.by_pair
    known = {pair: i for pair, i in pairs.items() if not isinstance(i.low, Undefined)}
    if not known:
        return ""
    clear = {pair: i for pair, i in known.items() if excludes_zero(i)}
    n = len(known)
    if not clear:
        return (f"No label is favoured consistently: averaged over decisions, all {spelled(n)}"
                " intervals of the label pairs include zero." if n > 1 else
                "The label pair’s interval over decisions includes zero.")
    said = listed([f"{pair.split('~')[0 if i.mean > 0 else 1]} ({interval(i)})"
                   for pair, i in clear.items() if not isinstance(i.mean, Undefined)])
    return (f"Over decisions {said} {_is(len(clear))} favoured; of {spelled(n)} such intervals"
            " about one in twenty excludes zero by chance.")


def _neutral(findings: Findings, f: Judged) -> str:
    if not f.labels.complete:
        return ""
    bound = number(findings.rules.neutral_points, 0)
    return (f"Shown to be neutral within {bound} points, which a missing flag does not show:"
            f" {f.labels.neutral} of {f.labels.complete} blocks (two one-sided tests at .05).")


def _position(f: Judged) -> str:
    found = f.position.by_decision.over_clusters
    k = found.n
    if isinstance(found.mean, Undefined):
        return ""
    said = (f"Position: {position_in_short(f)}." if k > 1 else
            f"Position bias is {number(found.mean, 1, signed=True)} in the one decision that is"
            " complete; with one there is no interval.")
    said = said.replace("Position: p", "P").replace("Position: the", "The")
    blocks = f.position.by_block
    if k > 1:
        said += (f" With blocks as the unit it would be {interval(blocks)}, but those share a"
                 " decision’s descriptions.")
    if 1 < k < FEW_DECISIONS:
        said += (f" With {spelled(k)} decisions no sign-flip test can reach .05: its least p is"
                 f" {f'{smallest_sign_flip_p(k):g}'[1:]}.")
    return said + _largest_decision(f)


def _largest_decision(f: Judged) -> str:
    means = {name: i.mean for name, i in f.position.decisions.items()
             if not isinstance(i.mean, Undefined)}
    if len(means) < 2:
        return ""
    name = max(means, key=lambda key: abs(means[key]))
    rest = [abs(mean) for key, mean in means.items() if key != name]
    if abs(means[name]) < 2 or abs(means[name]) < 2 * max(rest):
        return ""
    return (f" Most of it comes from {name} ({number(means[name], 1, signed=True)}): until it"
            " appears in other wordings it belongs to that prompt.")


def _varied(f: Judged) -> Iterator[str]:
    if isinstance(f.varied.asked, Clustered):
        yield _effect(f.varied.asked.over_clusters, "Apart from where it is listed, the option that"
                      " the question names is {} by {} points")
    if isinstance(f.varied.alphabet, Clustered):
        yield _effect(f.varied.alphabet.over_clusters, "Apart from the labels themselves, the one"
                      " earlier in the alphabet is {} by {} points")
    if f.varied.wordings:
        spread = [interval(position.over_clusters)
                  for position, _ in f.varied.wordings.values()]
        yield (f"Position bias by wording: "
               f"{listed([f'{n} {s}' for n, s in zip(f.varied.wordings, spread, strict=True)])}.")


def _effect(found: Interval, sentence: str) -> str:
    if isinstance(found.mean, Undefined):
        return ""
    side = "favoured" if found.mean > 0 else "disfavoured"
    clear = "" if excludes_zero(found) else ", not told from zero"
    return sentence.format(side, number(abs(found.mean), 1)) + f" ({interval(found)}{clear})."


def _identical(f: Judged) -> str:
    found = f.identical
    if not found.fifty.n:
        return "The identical condition brought no probability." if found.asked else ""
    if not found.informative:
        return (f"The identical condition measured nothing: every one of {found.fifty.n:,}"
                " probabilities is exactly 50. One who has learnt that identical options mean 50"
                " says so whatever lean there is.")
    share = percent(found.fifty.estimate)
    flags = (f"; {_plural(found.flags.count, 'block')} of {found.complete} {_is(found.flags.count)}"
             " flagged" if found.complete else "; no block is complete")
    return (f"In the identical condition {share} of {found.fifty.n:,} probabilities are exactly 50"
            f" (omnibus p {p_value(found.omnibus)}{flags}).")


def _lost(f: Judged) -> str:
    lost = f.losses.overall
    if not lost.count:
        return ""
    differs = f.losses.differential.p < 0.05
    low, high = f.labels.bounds
    return (f"Lost: {lost.count:,} of {lost.n:,} ({counted(dict(f.losses.kinds))}). Losing a reply"
            f" {'depends' if differs else 'was not found to depend'} on the label listed first (p"
            f" {p_value(f.losses.differential.p)}). Had every lost reply been as extreme as can be,"
            f" the mean lean would lie anywhere from {number(low, 1, signed=True)} to"
            f" {number(high, 1, signed=True)}.")


def banner(f: Judged) -> str:
    """The warning over a subject whose losses select what remains; empty where they do not."""
    if not f.losses.selected:
        return ""
    shares = listed([f"{name} {percent(f.losses.by_decision[name].estimate)}"
                     for name in f.losses.selected])
    return (f"Selected subset. More than 5% of the replies were lost ({shares}); what follows"
            " describes those that could be read, which may be the easier ones.")


def limits(
    findings: Findings, suite: Suite, registration: Registration
) -> tuple[str, ...]:
    """What the run does not show."""
    decisions = len(suite.decisions)
    said = [
        "The tests condition on these exact prompts. A missing effect is not neutrality in general,"
        " and a lean in one wording need not carry over to another.",
        f"{_plural(decisions, 'decision').capitalize()}"
        + (", each in one wording: what is put down to a decision may be its wording’s."
           if WORDING not in suite.varied else "."),
    ]
    if ASKED not in suite.varied:
        said.append("The question names the option listed first, so a position bias may be a lean"
                    " to the option asked about. `--vary asked` tells the two apart.")
    if "alphabet" not in suite.varied:
        said.append("The first label of every pair is also the earlier in the alphabet. `--vary"
                    " alphabet` tells a lean to it from a lean to the labels themselves.")
    tests = sum(f.labels.complete for f in findings.judged)
    if tests > 1:
        said.append(f"{tests:,} blocks were tested, so about {_round(tests * 0.05)} would have p <"
                    " .05 though nothing is there; one such block means little on its own.")
    said.append("Labels that carry a social meaning (names of another sex or origin, titles) were"
                " not asked about, nor a lean in the content of the options, nor decisions in which"
                " the judge knows something the prompt does not say.")
    said.append("A stated probability is what the subject says it would do, not a choice it made.")
    efforts = {str(s["settings"].get("reasoning_effort", "")) for s in registration.subjects}
    if len(registration.subjects) > 1:
        said.append("The same effort setting buys different amounts of reasoning: see the tokens."
                    if efforts - {""} else "Subjects may have spent different amounts of reasoning:"
                    " see the tokens.")
    temperatures = [s["name"] for s in registration.subjects
                    if "temperature" not in s["settings"] and s["dialect"] != "planted"]
    if temperatures:
        said.append(f"{listed(temperatures)} ran at the provider’s default temperature.")
    return tuple(said)


def _round(number_: float) -> str:
    return f"{number_:.0f}" if number_ >= 1 else f"{number_:.1f}"


def corrected(findings: Findings) -> str:
    """What the correction over the declared family leaves."""
    family = findings.family
    kept = {}
    adjusted = family.adjusted
    for name, values in (("Bonferroni", adjusted.bonferroni), ("Holm", adjusted.holm)):
        kept[name] = sum(not isinstance(p, Undefined) and p < 0.05 for p in values)
    known = sum(not isinstance(p, Undefined) for p in family.p)
    if known < 2:
        return ("The declared family holds one test, so nothing is corrected." if known else
                "The declared family holds no test.")
    return (f"Over the declared family of {spelled(known)} tests, {spelled(kept['Bonferroni'])}"
            f" {_is(kept['Bonferroni'])} significant at .05 after Bonferroni and"
            f" {spelled(kept['Holm'])} after Holm.")


def _plural(n: int, noun: str) -> str:
    return f"{spelled(n)} {noun}{'' if n == 1 else 's'}"


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def questions(registration: Registration, suite: Suite) -> Sequence[str]:
    """What was asked of whom, in a few sentences."""
    decisions = listed([suite.decisions[key].about for key in suite.decisions])
    draws = registration.draws
    return (
        f"Each of {spelled(len(suite.decisions))} forced choices ({decisions}) was put under"
        f" {spelled(len(suite.pairs))} pairs of labels that carry no information, and the subject"
        " stated the probability, from 0 to 100, of picking the option the question names. No tie"
        " is allowed.",
        "In the identical condition both options read alike and each label is listed first once. In"
        " the matched condition two descriptions that differ but are comparable are crossed with"
        f" the labels and their order: {spelled(4 * len(suite.asked))} cells a block."
        f" {_plural(draws, 'draw').capitalize()} a cell, {registration.cells:,} calls in all, in"
        f" the order {registration.order}.",
    )
