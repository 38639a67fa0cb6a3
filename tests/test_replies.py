"""The bar: every corpus of replies is read without one misread.

A corpus is a folder of JSON Lines, tests/replies or the one that EQUIPOISE_REPLIES names.
Each line holds a reply, what was asked for, and the readings that are acceptable.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from equipoise.reading.by_name import READERS, option_names, reader_for, stated_choice
from equipoise.reading.rules import RULES
from equipoise.terms import Completion, Misuse, Nonresponse, Reading

FOLDER = Path(os.environ.get("EQUIPOISE_REPLIES", Path(__file__).parent / "replies"))
FILES = sorted(FOLDER.glob("*.jsonl"))
NO_ANSWER = ("refused", "unclear", "invalid", "truncated", "out of range")
KNOWN = {"reply", "options", "contract", "scale", "finish", "accept", "note"}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


def read(line: dict[str, Any]) -> Reading[Any]:
    return reader_for(line)(completion(line))


def completion(line: dict[str, Any]) -> Completion:
    return Completion(line["reply"], finish=line.get("finish", "stop"))


def label(value: object) -> object:
    """A reading as a corpus writes it: the answer, or the kind of nonresponse."""
    if isinstance(value, Nonresponse):
        return "out of range" if value.detail.startswith("out of range") else value.kind
    return value


def is_answer(accepted: object) -> bool:
    return not isinstance(accepted, str) or accepted not in NO_ANSWER


def judge(file: Path) -> tuple[list[str], list[str], int]:
    """The misreads, the readable lines left unread, and how many were readable.

    A line is readable if the first reading it accepts is an answer: to leave it unread, as
    unclear or invalid, is then a loss and no misread; to read a refusal there is one.
    """
    misreads: list[str] = []
    unread: list[str] = []
    readable = 0
    for number, line in enumerate(lines(file), 1):
        assert set(line) <= KNOWN, f"{file.name}:{number} has keys {sorted(set(line) - KNOWN)}"
        reading = read(line)
        said, wanted = label(reading.value), is_answer(line["accept"][0])
        readable += wanted
        told = f"{file.name}:{number} {said!r} by {reading.rule}: {line['reply'][:200]!r}"
        if wanted and said in ("unclear", "invalid"):
            unread.append(told)
        elif said not in line["accept"]:
            misreads.append(told)
    return misreads, unread, readable


def test_there_are_corpora() -> None:
    assert FILES, f"no *.jsonl in {FOLDER}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_reply_is_misread(file: Path) -> None:
    misreads, _, _ = judge(file)
    assert not misreads, "\n".join(["misread:", *misreads])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nineteen_readable_replies_in_twenty_are_read(file: Path) -> None:
    _, unread, readable = judge(file)
    told = "\n".join([f"{len(unread)} of {readable} readable replies unread:", *unread])
    assert len(unread) <= 0.05 * readable, told


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_rule_that_reads_is_published(file: Path) -> None:
    assert {read(line).rule for line in lines(file)} <= set(RULES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_order_of_the_options_never_changes_a_reading(file: Path) -> None:
    for line in lines(file):
        if "options" in line:
            turned = line | {"options": dict(reversed(line["options"].items()))}
            assert read(turned) == read(line), line["reply"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_new_names_for_the_answers_never_change_a_reading(file: Path) -> None:
    for line in lines(file):
        if "options" in line:
            values = list(line["options"])
            names = {value: option_names(line)[value] for value in values}
            renamed = {f"answer {i}": names[value] for i, value in enumerate(values)}
            found = label(stated_choice(renamed)(completion(line)).value)
            expected = label(read(line).value)
            if expected in values:
                expected = f"answer {values.index(expected)}"
            assert found == expected, line["reply"]


def test_a_line_of_unknown_shape_fails_loudly() -> None:
    with pytest.raises(Misuse, match="exactly one of"):
        reader_for({"reply": "A"})
    with pytest.raises(Misuse, match="exactly one of"):
        reader_for({"reply": "A", "options": {"A": "x", "B": "y"}, "scale": "0 to 100"})


@pytest.mark.parametrize("name", READERS)
def test_every_reader_can_be_made_from_a_line(name: str) -> None:
    line = {"options": {"A": "x", "B": "y"}, "contract": '{"pick": string}', "scale": "0 to 100"}
    assert READERS[name](line)(Completion("")).rule in RULES


def test_every_rule_is_in_the_docs() -> None:
    docs = (Path(__file__).parent.parent / "docs" / "readers.md").read_text()
    missing = [rule for rule, does in RULES.items() if f"| `{rule}` | {does} |" not in docs]
    assert not missing
