"""What a fingerprint's page says in words, made from its numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from equipoise.report.arms import WHEN, Arm, Gathered
from equipoise.report.words import listed, spelled

REMAINDER = {
    "dissent": "named both words",
    "position": "followed the order of the two words",
    "refused": "mostly refused",
    "unclear": "mostly said neither word clearly",
    "truncated": "mostly ran out of room",
    "invalid": "mostly broke the form asked for",
    "error": "mostly ended in an error",
    "not asked": "were mostly not asked",
}
UNTIL = {"not asked": "lost a cell before a second word was named"}
MOST_IN_A_HEADLINE = 3
ERROR_SHARE = 5


def headline(g: Gathered) -> tuple[str, ...]:
    """The finding with its numbers, a sentence a subject; of many subjects the two extremes."""
    if g.arms and all(arm.found.cells.n == 0 for arm in g.arms):
        return (f"Nothing has been asked yet: {g.registration.cells:,} cells are registered"
                " and none is on record.",)
    errors = sum(arm.found.lost.get("error", 0) for arm in g.arms)
    asked = sum(arm.found.cells.n for arm in g.arms)
    if 100 * errors > ERROR_SHARE * asked:
        return (f"No finding: {errors:,} of the {asked:,} cells asked ended in an error, and more"
                f" than {ERROR_SHARE}% is too many.",)
    by_subject: defaultdict[str, list[Arm]] = defaultdict(list)
    for arm in g.arms:
        by_subject[arm.found.subject].append(arm)
    if len(by_subject) <= MOST_IN_A_HEADLINE:
        return tuple(_committed(name, arms) for name, arms in by_subject.items())
    return _of_many([arms[0] for arms in by_subject.values()])


def _of_many(arms: Sequence[Arm]) -> tuple[str, ...]:
    """The range, and who stands alone at either end of it."""
    counts = [arm.found.commits.count for arm in arms]
    least, most, n = min(counts), max(counts), arms[0].found.commits.n
    if least == most:
        return (f"Each of {spelled(len(arms))} subjects committed to a word in {most:,} of {n:,}"
                " pairs.",)
    alone = [arm for arm in arms for end in (most, least)
             if arm.found.commits.count == end and counts.count(end) == 1]
    return (f"Of {spelled(len(arms))} subjects, the steadiest committed to a word in {most:,} of"
            f" {n:,} pairs and the least steady in {least:,}.",
            *(_committed(arm.found.subject, [arm]) for arm in alone))


def _committed(name: str, arms: Sequence[Arm]) -> str:
    """A null is said as plainly as a hit: in 0 of 16 pairs."""
    modes: defaultdict[str, list[Arm]] = defaultdict(list)
    for arm in arms:
        modes[arm.found.answer].append(arm)
    parts: list[str] = []
    for answer, draws in modes.items():
        counts = listed([f"{arm.found.commits.count:,}" for arm in draws])
        pairs = "" if parts else " pairs"
        times = f" in {spelled(len(draws))} draws" if len(draws) > 1 else ""
        parts.append(f"in {counts} of {draws[0].found.commits.n:,}{pairs}{times} {WHEN[answer]}")
    return f"{name} committed to a word {', '.join(parts[:-1])}{', and ' * (len(parts) > 1)}" \
           f"{parts[-1]}."


def remainder(g: Gathered, arm: Arm) -> str:
    """Why the other pairs of an arm hold no word, commonest cause first."""
    rest = arm.found.commits.n - arm.found.commits.count
    if rest == 0:
        return f"{arm.title}: every pair committed."
    ranked = sorted(arm.found.causes.items(), key=lambda kind: -kind[1])
    every = "all " if len(ranked) == 1 and rest > 1 else ""
    said = {**REMAINDER, **(UNTIL if g.registration.until_dissent else {})}
    reasons = listed([f"{every}{count:,} {said[kind]}" for kind, count in ranked])
    return f"{arm.title}: of the {rest:,} pairs without a committed word, {reasons}."


def meanings(g: Gathered) -> dict[str, str]:
    """What became of a pair, in words, by its name."""
    every = spelled(g.cells_of_pair)
    only = "No second word was named, and the commonest loss was "
    return {
        "committed": f"All {every} cells named the same word.",
        "dissent": "Some cells named one word and some the other.",
        "position": "In each framing that picked in both orders the pick moved with the order,"
                    " always the same way.",
        "refused": f"{only}a refusal.",
        "unclear": f"{only}a reply that names neither word clearly.",
        "truncated": f"{only}a reply cut off at its limit.",
        "invalid": f"{only}a reply that broke the form asked for.",
        "error": f"{only}a call that ended in an error.",
        "not asked": "A cell was lost before a second word was named, and the rest were not asked."
        if g.registration.until_dissent
        else "No second word was named, and most cells were not asked.",
    }


def saved(g: Gathered) -> str:
    """What asking until dissent left out, and what can then not be measured."""
    skipped = sum(arm.not_asked for arm in g.arms)
    every = sum(arm.found.cells.n + arm.not_asked for arm in g.arms)
    if g.registration.until_dissent:
        return (f"Each pair was asked until its first dissent or loss: that left {skipped:,} of"
                f" {every:,} calls unasked. Which words are committed is the same as with every"
                f" call made.{_unfinished(g)} Why a pair did not commit is then what was seen"
                " first, and sharpness and the effects of position, framing and language are not"
                " measured.")
    if skipped:
        return (f"This run is not complete: {skipped:,} of {every:,} cells have not been asked, and"
                " a pair with a cell missing cannot commit. The same `equipoise run` command goes"
                " on where it stopped.")
    return ""


def _unfinished(g: Gathered) -> str:
    """Pairs that could still commit, where a run until dissent was itself stopped."""
    left = sum(
        set(slot.lost) == {"not asked"} and min(slot.picks.values()) == 0
        for arm in g.arms for slot in arm.found.slots.values()
    )
    if not left:
        return ""
    return (f" The run is not complete: {left:,} pairs could still commit, and the same"
            " `equipoise run` command goes on where it stopped.")


def limits(g: Gathered) -> tuple[str, ...]:
    """What this run does not show."""
    every, answers = spelled(g.cells_of_pair), g.registration.factors["answer"]
    said = [
        "A committed word is not a belief, a value or a wish. It is the word this subject names"
        f" in {every} disguises of one forced choice.",
        "A pair that did not commit does not show neutrality: one dissent, one refusal or one reply"
        " that could not be read is enough.",
        f"The {every} cells of a pair are {every} prompts, not {every} independent draws of one"
        " answer: how many of them agree is a description, and no p-value is made of it.",
        "The pairs were chosen, not sampled from all the pairs there could be. An interval over"
        " pairs treats them as if they had been, and says nothing of other words.",
        "A word and its translation are two words. Where languages disagree, the reason may lie"
        " in the words rather than in the subject.",
        "The subject is the model as it was set up above: other settings, another engine or"
        " another version is another subject.",
    ]
    if len(answers) > 1:
        said.insert(2, "The answer modes are separate measures and are never pooled: what can"
                       " be said when nothing else is allowed need not be what is said freely.")
    if "constrained" in answers:
        said.insert(3, "Held to the two words, a subject that would have refused or rambled names"
                       " a word all the same.")
    if g.registration.draws == 1:
        said.append("Each cell was drawn once. How far a second asking would differ is another"
                    " question: `equipoise replay-check` asks it.")
    return tuple(said)
