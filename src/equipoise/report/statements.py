"""What a label-swap run shows and does not show, in sentences made from its numbers.

A null is said as plainly as a finding, and never as neutrality: that is a claim of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from equipoise.instruments.label_swap.measures import Findings, Judged, complete
from equipoise.instruments.label_swap.suite import ASKED, WORDING, Suite
from equipoise.registration import Registration
from equipoise.report.words import (
    capital,
    counted,
    interval,
    listed,
    number,
    of,
    p_value,
    plural,
    spelled,
)
from equipoise.stats.clusters import Clustered, smallest_sign_flip_p
from equipoise.stats.permutation import Omnibus
from equipoise.stats.t_interval import Interval
from equipoise.stats.undefined import Undefined

FEW_DECISIONS = 6
MOST_IN_A_HEADLINE = 3
ALPHA = 0.05


def headline(findings: Findings) -> tuple[str, ...]:
    """The finding on labels and the one on position; of many judges, which have either."""
    judged = findings.judged
    if all(map(nothing_asked, judged)):
        return ("Nothing has been asked yet.",)
    if len(judged) <= MOST_IN_A_HEADLINE:
        return tuple(f"{_name(findings, f)}: {_in_short(findings, f)}." for f in judged)
    return _labels_of_many(findings), _position_of_many(findings)


def _name(findings: Findings, f: Judged) -> str:
    modes = {one.answer for one in findings.judged}
    held = {"free": "answering freely", "constrained": "held to a number"}
    return f"{f.subject}, {held.get(f.answer, f.answer)}" if len(modes) > 1 else f.subject


def _in_short(findings: Findings, f: Judged) -> str:
    if nothing_asked(f):
        return "nothing has been asked yet"
    if nothing_came(f):
        return f"no reply gave a probability ({counted(_lost_kinds(f))})"
    said = f"{labels_in_short(findings, f)}; {position_in_short(f)}"
    return f"so far, of a run that is not complete: {said}" if _unasked(f) else said


def _labels_of_many(findings: Findings) -> str:
    subjects = {f.subject for f in findings.judged}
    modes = len({f.answer for f in findings.judged})
    whom = f"Of {spelled(len(subjects))} subjects" + (f" in {spelled(modes)} answer modes"
                                                      if modes > 1 else "")
    unknown = sum(isinstance(f.labels.omnibus, Undefined) for f in findings.judged)
    if unknown == len(findings.judged):
        return f"{whom} nothing can be said of labels: no block is complete."
    moved = [f"{_name(findings, f)} ({_rms(f)})" for f in findings.judged
             if _below(holm_of(findings, f))]
    said = (f"labels move the answers of {_first(moved)} after Holm" if moved else
            "none shows a label effect after Holm")
    return f"{whom}, {said}" + (f"; of {spelled(unknown)} nothing can be said." if unknown else ".")


def _position_of_many(findings: Findings) -> str:
    found = [(f, f.position.by_decision.over_clusters) for f in findings.judged]
    if all(isinstance(i.low, Undefined) for _, i in found):
        return "Position bias cannot be told from zero: that takes two decisions."
    clear = [f"{_name(findings, f)} ({interval(i)} points)" for f, i in found if excludes_zero(i)]
    return f"Position bias is told from zero in {_first(clear) if clear else 'none of them'}."


def _first(named: Sequence[str]) -> str:
    kept, rest = named[:MOST_IN_A_HEADLINE], len(named) - MOST_IN_A_HEADLINE
    return listed([*kept, f"{spelled(rest)} more"] if rest > 0 else kept)


def nothing_asked(f: Judged) -> bool:
    return f.losses.overall.n == 0 and f.identical.asked == 0


def nothing_came(f: Judged) -> bool:
    return f.losses.overall.count == f.losses.overall.n and f.identical.fifty.n == 0


def only_number(f: Judged) -> float | None:
    """The one number that every reply of the matched condition states, if they all do."""
    values = {value for block in f.matched for cell in block.cells for value in cell.values}
    return values.pop() if len(values) == 1 else None


def excludes_zero(found: Interval) -> bool:
    """Whether an interval lies on one side of zero."""
    if isinstance(found.low, Undefined) or isinstance(found.high, Undefined):
        return False
    return found.low > 0 or found.high < 0


def holm_of(findings: Findings, f: Judged) -> float | Undefined:
    """The matched omnibus p of one judge, corrected over the declared family."""
    tests = [test[:2] for test in findings.family.tests]
    return findings.family.adjusted.holm[tests.index((f.subject, f.answer))]


def _below(p: float | Undefined) -> bool:
    return not isinstance(p, Undefined) and p < ALPHA


def _turned(findings: Findings, f: Judged) -> Omnibus | None:
    """Labels that help one description and hurt the other, where a lean would not show it.

    This test is outside the declared family, so it is held to .05 over the number of judges.
    """
    found, tested = f.labels.interaction, f.labels.omnibus
    if isinstance(found, Undefined) or isinstance(tested, Undefined) or tested.p < ALPHA:
        return None
    return found if found.p * len(findings.judged) < ALPHA else None


def _rms(f: Judged) -> str:
    """The RMS lean beside what noise gives, and the p of both."""
    tested = f.labels.omnibus
    noise = tested if isinstance(tested, Undefined) else tested.null_95
    if not isinstance(f.noise, Undefined) and f.noise == 0:
        return (f"RMS lean {number(f.labels.rms, 1)} points; replies to one prompt never differ,"
                " so read the points and not the p")
    return (f"RMS lean {number(f.labels.rms, 1)} points, noise alone stays under"
            f" {number(noise, 1)} in 95 of 100, p {p_value(tested)}")


def labels_in_short(findings: Findings, f: Judged) -> str:
    """Whether labels move answers, in a clause with its numbers."""
    if isinstance(f.labels.omnibus, Undefined):
        return "no block is complete, so nothing can be said of labels"
    if (only := only_number(f)) is not None:
        return f"every reply of the matched condition is {only:g}, whatever the labels"
    holm = holm_of(findings, f)
    if f.labels.omnibus.p < ALPHA:
        if _below(holm):
            return f"labels move answers ({_rms(f)})"
        return f"labels may move answers ({_rms(f)}, but {p_value(holm)} after Holm)"
    turned = _turned(findings, f)
    return f"no label effect was detected on these prompts ({_rms(f)})" + (
        f", but labels shift answers in opposite ways for the two descriptions (p"
        f" {p_value(turned)})" if turned else "")


def position_in_short(f: Judged) -> str:
    """Which place is favoured, if one is, in a clause with its numbers."""
    found = f.position.by_decision.over_clusters
    over = f"over {plural(found.n, 'decision')}"
    if isinstance(found.mean, Undefined):
        return "position bias cannot be told"
    if isinstance(found.low, Undefined):
        return (f"position bias is {number(found.mean, 1, signed=True)} points in one decision,"
                " which gives no interval")
    if found.low == found.high == 0:
        return f"position bias is exactly 0 {over}"
    if not excludes_zero(found):
        return f"position bias of {interval(found)} points {over} is not told from zero"
    where = "first" if found.mean > 0 else "second"
    return f"the option listed {where} is favoured by {_by(found)} {over}"


def _by(found: Interval) -> str:
    """How far a mean that has an interval lies from zero, toward its own side.

    >>> from equipoise.stats.t_interval import t_interval
    >>> _by(t_interval([-4.0, -4.5, -3.5]))
    '4.0 points [2.8, 5.2]'
    """
    mean, *ends = (x for x in (found.mean, found.low, found.high) if not isinstance(x, Undefined))
    low, high = sorted(end if mean > 0 else -end for end in ends)
    return f"{number(abs(mean), 1)} points [{number(low, 1)}, {number(high, 1)}]"


def shows(findings: Findings, f: Judged) -> tuple[str, ...]:
    """What the run shows of one subject, a sentence or two a finding."""
    if nothing_asked(f):
        return ("Nothing has been asked yet.",)
    if nothing_came(f):
        return tuple(filter(None, (
            f"No reply gave a probability ({counted(_lost_kinds(f))}), so nothing can be said of"
            " labels or of position.", _unasked(f))))
    said = [*_of_labels(findings, f), _position(f), *_varied(f), _identical(f), _lost(f),
            _unasked(f)]
    return tuple(text for text in said if text)


def _of_labels(findings: Findings, f: Judged) -> Iterator[str]:
    if (only := only_number(f)) is not None and f.labels.complete:
        yield (f"Every reply of the matched condition is {only:g}: labels move nothing here, nor"
               f" does anything else. With no variance the tests say nothing (p"
               f" {p_value(f.labels.omnibus)}).")
        return
    yield _labels(findings, f)
    yield _repeats(f)
    yield _flags(findings, f)
    yield _favoured(f)
    yield _neutral(findings, f)


def _labels(findings: Findings, f: Judged) -> str:
    found, tested = f.labels, f.labels.omnibus
    if isinstance(tested, Undefined):
        return (f"Of {plural(found.blocks, 'block')} of the matched condition none is complete, so"
                " nothing can be said of labels.")
    holm, rejects = holm_of(findings, f), tested.p < ALPHA
    moves = ("No label effect was detected" if not rejects else
             "Labels move answers" if _below(holm) else "Labels may move answers")
    family = _family_size(findings)
    after = f"; {p_value(holm)} after Holm over {spelled(family)} tests" if family > 1 else ""
    said = (f"{moves}: the omnibus test {'rejects' if rejects else 'does not reject'} “labels do"
            f" not matter on these prompts” (p {p_value(tested)}, {tested.method}{after}). The root"
            f" mean square lean is {number(found.rms, 1)} points; noise alone stays under"
            f" {number(tested.null_95, 1)} in 95 of 100 relabellings. With the mean square of"
            f" noise taken off it is {number(found.excess_rms, 1)}.")
    if rejects and not isinstance(found.interaction, Undefined) and found.interaction.p >= ALPHA:
        return said + (f" Counting shifts within each description order separately, it is not"
                       f" detected (p {p_value(found.interaction)}).")
    turned = _turned(findings, f)
    return said + (f" Yet labels move answers in opposite ways for the two descriptions (p"
                   f" {p_value(turned)}, a second test outside the declared family), which a lean"
                   " cannot show." if turned else "")


def _repeats(f: Judged) -> str:
    if f.noise != 0:
        return ""
    return ("Replies to one prompt never differ, so many draws say no more than one. The tests"
            " count each of them: any two label orders that differ at all get a small p. Read the"
            " points, not the p.")


def _flags(findings: Findings, f: Judged) -> str:
    flags, least = f.labels.flags, findings.rules.flag_points
    if not flags.blocks:
        return ""
    said = (f"{capital(_few(flags.count))} of {plural(flags.blocks, 'block')} {_is(flags.count)}"
            f" flagged (p < .05 and a lean of at least {least:g} points)")
    by_noise = f"by each block’s own noise {flags.expected:.1f} would be"
    if not flags.count:
        return f"{said}; {by_noise}."
    more = "more than" if flags.p_own < ALPHA else "no more than"
    return (f"{said}, {more} noise explains: {by_noise} (p {p_value(flags.p_own)}; against a"
            f" nominal 5%, p {p_value(flags.p_nominal)}).{_where(f)}")


def _where(f: Judged) -> str:
    flagged = [(block, test) for block, test in complete(f.matched) if test.flagged]
    if not 0 < len(flagged) <= 6:
        return ""
    return " Flagged: " + listed([
        f"{number(abs(test.lean), 1)} to {_over(block.pair, test.lean)} in {block.decision}"
        + (f" ({block.wording})" if f.varied.wordings else "")
        for block, test in flagged]) + "."


def _over(pair: str, lean: float) -> str:
    one, two = pair.split("~")
    return f"{one} over {two}" if lean > 0 else f"{two} over {one}"


def _favoured(f: Judged) -> str:
    known = {pair: i for pair, i in f.labels.by_pair.items() if not isinstance(i.low, Undefined)}
    clear = [f"{_over(pair, i.mean)} by {_by(i)}" for pair, i in known.items()
             if excludes_zero(i) and not isinstance(i.mean, Undefined)]
    n = len(known)
    if not known:
        return ""
    if not clear:
        return (f"No label is favoured consistently: averaged over decisions,"
                f" {'both' if n == 2 else f'all {spelled(n)}'} intervals of the label pairs include"
                " zero." if n > 1 else
                "The label pair’s interval over decisions includes zero.")
    return (f"Averaged over decisions, answers lean to {listed(clear)}."
            + (f" About one in twenty such intervals excludes zero by chance, and there are"
               f" {spelled(n)} of them." if n > 1 else ""))


def _neutral(findings: Findings, f: Judged) -> str:
    if not f.labels.complete:
        return ""
    bound = findings.rules.neutral_points
    return (f"A missing flag does not show neutrality. Two one-sided tests at .05 show a lean"
            f" within {bound:g} points in {_few(f.labels.neutral)} of"
            f" {plural(f.labels.complete, 'block')}.")


def _position(f: Judged) -> str:
    found = f.position.by_decision.over_clusters
    k = found.n
    if isinstance(found.mean, Undefined):
        return ""
    said = f"{capital(position_in_short(f))}."
    if only_number(f) is not None:
        return said
    if k > 1:
        said += (f" With blocks as the unit it would be {interval(f.position.by_block)}, but those"
                 " share a decision’s descriptions.")
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
    return (f" Most of it comes from {name} ({number(means[name], 1, signed=True)})"
            + ("." if f.varied.wordings else
               ": until it appears in other wordings it belongs to that prompt."))


def _varied(f: Judged) -> Iterator[str]:
    if isinstance(f.varied.asked, Clustered):
        yield _effect(f.varied.asked.over_clusters,
                      "Apart from where it is listed, the option that the question names")
    if isinstance(f.varied.alphabet, Clustered):
        alphabet = f.varied.alphabet.over_clusters
        yield _effect(alphabet, "Apart from the labels themselves, the one earlier in the alphabet"
                      ) + (" This is averaged over the kinds of labels, and a lean within one kind"
                           " can make it alone: see the pairs." if excludes_zero(alphabet) else "")
    if f.varied.wordings:
        spread = [f"{name} {interval(position.over_clusters)}"
                  for name, (position, _) in f.varied.wordings.items()]
        yield f"Position bias by wording: {listed(spread)}."


def _effect(found: Interval, whose: str) -> str:
    if isinstance(found.mean, Undefined):
        return ""
    if isinstance(found.low, Undefined):
        return (f"{whose} gets {number(found.mean, 1, signed=True)} points in one decision, which"
                " gives no interval.")
    if not excludes_zero(found):
        return f"{whose} shows no clear advantage ({interval(found)} points)."
    return f"{whose} is {'favoured' if found.mean > 0 else 'disfavoured'} by {_by(found)}."


def _identical(f: Judged) -> str:
    found = f.identical
    if not found.fifty.n:
        return "The identical condition brought no probability." if found.asked else ""
    if not found.informative:
        return (f"The identical condition measured nothing: every one of {found.fifty.n:,}"
                " probabilities is exactly 50. One who has learnt that identical options mean 50"
                " says so whatever lean there is.")
    tested = (f"omnibus p {p_value(found.omnibus)}; {_few(found.flags.count)} of"
              f" {plural(found.complete, 'block')} {_is(found.flags.count)} flagged"
              if found.complete else "no block is complete")
    return (f"In the identical condition {of(found.fifty)} probabilities are exactly 50"
            f" ({tested}).")


def _lost(f: Judged) -> str:
    lost = f.losses.overall
    if not lost.count:
        return ""
    differs = f.losses.differential.p < ALPHA
    low, high = f.labels.bounds
    return (f"Lost: {of(lost)} replies of the matched condition ({counted(lost_kinds(f))}). Losing"
            f" a reply {'depends' if differs else 'was not found to depend'} on the label listed"
            f" first (p {p_value(f.losses.differential.p)}). Had every lost reply been as extreme"
            f" as can be, the mean lean would lie anywhere from {number(low, 1, signed=True)} to"
            f" {number(high, 1, signed=True)}.")


def lost_kinds(f: Judged) -> dict[str, int]:
    """What was asked in the matched condition and gave no probability, by kind."""
    return {kind: n for kind, n in f.losses.kinds.items() if kind != "not asked"}


def _lost_kinds(f: Judged) -> dict[str, int]:
    """The same in both conditions."""
    kinds = Counter(f.losses.kinds) + Counter(f.identical.kinds)
    return {kind: n for kind, n in kinds.items() if kind != "not asked"}


def _unasked(f: Judged) -> str:
    n = f.losses.kinds.get("not asked", 0) + f.identical.kinds.get("not asked", 0)
    return f"The run is not complete: {plural(n, 'call')} {_was(n)} not made." if n else ""


def banner(f: Judged) -> str:
    """The warning over a subject whose losses select what remains; empty where they do not."""
    if not f.losses.selected:
        return ""
    where = listed([f"{name} ({of(f.losses.by_decision[name])})" for name in f.losses.selected])
    return f"Selected subset: more than 5% of the replies were lost in {where}. " + (
        "Nothing could be read." if nothing_came(f) else
        "The figures describe the replies that could be read, which may be the easier ones.")


def limits(
    findings: Findings, suite: Suite, registration: Registration
) -> tuple[str, ...]:
    """What the run does not show."""
    said = [
        "The tests condition on these exact prompts. A missing effect is not neutrality in general,"
        " and a lean in one wording need not carry over to another.",
        _of_decisions(suite),
    ]
    if ASKED not in suite.varied:
        said.append("The question names the option listed first, so a position bias may be a lean"
                    " to the option asked about. `--vary asked` tells the two apart.")
    if "alphabet" not in suite.varied:
        said.append("The first label of every pair is also the earlier in the alphabet. `--vary"
                    " alphabet` tells a lean to it from a lean to the labels themselves.")
    tests = sum(f.labels.complete for f in findings.judged)
    if tests > 1:
        said.append(f"{tests:,} blocks were tested, so about {_round(tests * ALPHA)} would have p <"
                    " .05 though nothing is there; one such block means little on its own.")
    said.append("Labels that carry a social meaning (names of another sex or origin, titles) were"
                " not asked about, nor a lean in the content of the options, nor decisions in which"
                " the judge knows something the prompt does not say.")
    said.append("A stated probability is what the subject says it would do, not a choice it made.")
    return (*said, *_of_settings(findings, registration))


def _of_decisions(suite: Suite) -> str:
    n = len(suite.decisions)
    said = (f"{capital(plural(n, 'decision'))} {_was(n)} asked about, and others may give other"
            " results.")
    if WORDING in suite.varied:
        return said
    return (f"{said} {'Each' if n > 1 else 'It'} has one wording: what is put down to a decision"
            " may be its wording’s.")


def _of_settings(findings: Findings, registration: Registration) -> Iterator[str]:
    see = ("see the tokens" if any(f.work.calls for f in findings.judged) else
           "no call says how much")
    efforts = {str(s["settings"].get("reasoning_effort", "")) for s in registration.subjects}
    if len(registration.subjects) > 1:
        yield (f"The same effort setting buys different amounts of reasoning: {see}."
               if efforts - {""} else
               f"Subjects may have spent different amounts of reasoning: {see}.")
    temperatures = [s["name"] for s in registration.subjects
                    if "temperature" not in s["settings"] and s["dialect"] != "planted"]
    if temperatures:
        yield f"The provider’s default temperature held for {listed(temperatures)}."


def _round(number_: float) -> str:
    return f"{number_:.0f}" if number_ >= 1 else f"{number_:.1f}"


def corrected(findings: Findings) -> str:
    """What the correction over the declared family leaves."""
    adjusted, known = findings.family.adjusted, _family_size(findings)
    if known < 2:
        return ("The declared family holds one test, so nothing is corrected." if known else
                "The declared family holds no test.")
    bonferroni, holm = (sum(map(_below, ps)) for ps in (adjusted.bonferroni, adjusted.holm))
    return (f"Over the declared family of {spelled(known)} tests, {_few(bonferroni)}"
            f" {_is(bonferroni)} significant at .05 after Bonferroni and {_few(holm)} after Holm.")


def corrected_blocks(f: Judged) -> str:
    """What the correction over one judge's blocks leaves."""
    holm, tarone = sum(map(_below, f.labels.holm.holm)), f.labels.tarone
    return (f"Corrected over the blocks, {_few(holm)} {_is(holm)} significant at .05 by Holm and"
            f" {_few(sum(tarone.rejected))} by Tarone, which leaves out those that"
            f" never could be and counts {_few(tarone.family)}.")


def _family_size(findings: Findings) -> int:
    return sum(not isinstance(p, Undefined) for p in findings.family.p)


def _few(n: int) -> str:
    """A count of what there is, as the subject of a sentence."""
    return spelled(n) if n else "none"


def _is(n: int) -> str:
    return "is" if n < 2 else "are"


def _was(n: int) -> str:
    return "was" if n < 2 else "were"


def questions(registration: Registration, suite: Suite) -> Sequence[str]:
    """What was asked of whom, in a few sentences."""
    decisions = listed([suite.decisions[key].about for key in suite.decisions])
    n, draws = len(suite.decisions), registration.draws
    choices = f"Each of {spelled(n)} forced choices" if n > 1 else "One forced choice"
    crossed = ("the labels, their order and the option the question names"
               if ASKED in suite.varied else "the labels and their order")
    return (
        f"{choices} ({decisions}) was put under {plural(len(suite.pairs), 'pair')} of labels that"
        " carry no information, and the subject stated the probability, from 0 to 100, of picking"
        " the option the question names. No tie is allowed.",
        "In the identical condition both options read alike and each label is listed first in turn."
        " In the matched condition two descriptions that differ but are comparable are crossed with"
        f" {crossed}: {spelled(4 * len(suite.asked))} cells a block."
        f" {capital(plural(draws, 'draw'))} a cell, {plural(registration.cells, 'call')} in all,"
        f" {_order(registration.order)}.",
    )


def _order(order: str) -> str:
    name, _, seed = order.partition(":")
    return f"in random order (seed {seed})" if seed else f"in the order {name}"
