"""The act behind `gold`: what raters' labels come to under the definitions of now."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from equipoise.agreements import ALL, Agreed, agreed, headline
from equipoise.answers import COLUMNS, Settled, lines_of, read_answers, read_lines
from equipoise.cli.queueing import Key, read_key
from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.cli.studies import stimuli_of
from equipoise.cli.trust import SHIPPED_FILES
from equipoise.cli.values import or_reason, rate_values
from equipoise.gold import Adjudication
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, suite
from equipoise.labelling import UNKNOWN, Answer, Task, standing
from equipoise.replacing import replacing
from equipoise.report import rated
from equipoise.terms import Misuse


def show_gold(
    ratings: Sequence[Path], adjudications: Path | None, folder: str | None, keys: Sequence[Path],
    out: Path | None, csv_out: Path | None, as_json: bool,
) -> None:
    """Form gold from ratings and print it with the raters' agreement; write both where asked.

    Definition stamps decide what counts: those of `folder`, or the shipped ones. Raises Misuse
    where every label was given under other words.
    """
    stamps = stamps_of(folder)
    read = [read_key(path) for path in keys]
    names, places = named(read), placed(read)
    answers = [_renamed(a, names) for path in ratings for a in read_answers(path, stamps)]
    settled = read_lines(adjudications, Settled) if adjudications else []
    found = agreed(answers, [_adjudicated(one, names) for one in settled], stamps)
    _require_current(answers, stamps, folder)
    if out is not None:
        with replacing(out) as file:
            file.write(lines_of(gold_lines(found, answers, places)))
        rows = [gold for row in found if row.bias != ALL for gold in row.golds.values()]
        say(f"{out}: {len(rows):,} items, {sum(gold.is_gold for gold in rows):,} of them gold.")
    if csv_out is not None:
        with replacing(csv_out) as file:
            file.write(as_csv(answers, stamps).encode())
        say(f"{csv_out}: the labels under the definitions of now, a suite's ratings.csv.")
    if as_json:
        emit_json({"gold": [as_values(row) for row in found]})
        return
    _print(found)


def _print(found: Sequence[Agreed]) -> None:
    many = [row for row in found if len(row.raters) > 2]
    pairs = [row for row in found if len(row.raters) == 2]
    emit(table(*rated.gold_rows(found)))
    emit("\n" + table(*rated.agreement_rows(found)))
    if many:
        emit("\n" + table(*rated.alone_rows(many)))
    if pairs:
        emit("\n" + table(*rated.pair_rows(pairs)))
    for note in rated.notes(found):
        emit("\n" + note)


def stamps_of(folder: str | None) -> dict[str, str]:
    """The definitions of now, by bias: a folder's, or the shipped ones."""
    stimuli, within = stimuli_of(folder or STANDARD, SHIPPED, (STANDARD,), SHIPPED_FILES)
    return {key: bias.stamp for key, bias in suite(stimuli, within).biases.items()}


def named(keys: Iterable[Key]) -> dict[str, str]:
    """Items of moments by id, each as moment/bias/task; items of a run keep their ids."""
    return {row["id"]: f"{row['moment']}/{row['bias']}/{row['task']}"
            for key in keys for row in key.rows if "moment" in row}


def placed(keys: Iterable[Key]) -> dict[str, list[dict[str, Any]]]:
    """The verdicts of runs that each item is about, by id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for key in keys:
        for row in key.rows if "run" in key.header else ():
            found.setdefault(row["id"], []).append(
                {"run": key.header["run"], **{k: v for k, v in row.items() if k != "id"}})
    return found


def _renamed(answer: Answer, names: Mapping[str, str]) -> Answer:
    return msgspec.structs.replace(answer, id=names.get(answer.id, answer.id))


def _adjudicated(one: Settled, names: Mapping[str, str]) -> tuple[Task, str, Adjudication]:
    said = msgspec.structs.replace(one, id=names.get(one.id, one.id))
    return one.task, one.bias, said.as_adjudication()


def _require_current(
    answers: Sequence[Answer], stamps: Mapping[str, str], folder: str | None
) -> None:
    labelled = [a for a in answers if a.act == "answer"]
    if not labelled:
        raise Misuse("There is no label in these files.")
    if not any(a.definition == stamps.get(a.bias) for a in labelled):
        raise Misuse(f"All {len(labelled):,} labels were given under other definitions than those"
                     f" of {folder or 'the shipped suite'}, so none counts. Name the folder they"
                     " were given under with --suite, or label again.")


def gold_lines(
    found: Iterable[Agreed], answers: Sequence[Answer],
    places: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """Gold as rows: an item's state, its label where it is gold, and the line that was named.

    `places` are the verdicts that an item is about, which its row then names under `of`.
    """
    now = standing(answers)
    lines: dict[str, Counter[int]] = {}
    for one in now:
        if one.label == "yes" and one.line >= 0:
            lines.setdefault(one.id, Counter())[one.line] += 1
    rows = []
    for row in found:
        if row.bias == ALL:
            continue
        for item, gold in row.golds.items():
            said: dict[str, Any] = {"item": item, "task": row.task, "bias": row.bias,
                                    "status": gold.status, "raters": gold.raters,
                                    "stale": gold.stale}
            if gold.is_gold:
                said["label"] = gold.label
                if gold.label == "yes" and item in lines:
                    said["line"] = min(lines[item], key=lambda n: (-lines[item][n], n))
            if item in places:
                said["of"] = list(places[item])
            rows.append(said)
    return rows


def as_csv(answers: Iterable[Answer], stamps: Mapping[str, str]) -> str:
    """The labels that count, in the columns of a suite's ratings.csv.

    Raises Misuse for an item that is of no moment: give the queue's key.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in standing(answers):
        if one.definition != stamps.get(one.bias):
            continue
        moment, _, rest = one.id.rpartition(f"/{one.bias}/")
        if not moment or rest != one.task:
            raise Misuse(f"The item {one.id} is not known to be of a moment. Name the key of its"
                         " queue with --key.")
        rows.writerow((moment, one.bias, one.task, one.rater,
                       "" if one.label == UNKNOWN else one.label, one.reason))
    return text.getvalue()


def as_values(row: Agreed) -> dict[str, Any]:
    """A row as JSON."""
    one, of = headline(row), row.together
    return {
        "task": row.task, "bias": row.bias, "items": len(row.golds),
        "statuses": dict(row.statuses), "unknown": row.unknown, "raters": list(row.raters),
        "agreement": rated.discounted(one.percent, one.kappa), "kappa_of": one.kind, "n": one.n,
        **or_reason("percent", one.percent), **or_reason("kappa", one.kappa),
        **or_reason("fleiss", of.fleiss), **or_reason("conger", of.conger),
        **or_reason("ac1", of.ac1), **or_reason("alpha", of.alpha),
        "alone": [{"rater": left.rater, "rated": left.rated, "dropped": left.dropped,
                   "agreed": rate_values(left.cohen.agreed),
                   **or_reason("kappa", left.cohen.kappa)} for left in row.alone],
        "pairs": [{"raters": list(pair), "agreed": rate_values(cohen.agreed),
                   **or_reason("kappa", cohen.kappa), **or_reason("se", cohen.se)}
                  for pair, cohen in row.pairs.items()],
    }
