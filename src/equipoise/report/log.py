"""A measurement log: dated entries in plain Markdown, in date order, that only ever grows.

What stands in a log is never rewritten: an entry is put in its place among the others, a
correction is added under the entry it corrects, with its date, and a rerun is an entry of its
own. A person writes in the file as in any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from equipoise.report.words import when
from equipoise.terms import Misuse

TITLE = """# Measurement log

What has been measured: the question, the design, the result with its nulls, what it does not \
show, what it cost, and how to get it again. Entries stand in the order of their dates. An entry \
is changed only to correct an error, and the correction is marked; a rerun is a new entry.
"""
QUEUE = "## Queued"
QUEUE_ABOUT = "These have not been run."
MARK = re.compile(r'^\[//\]: # "run (?P<run>.+?) · (?P<date>\d{4}-\d{2}-\d{2}) · head (?P<head>'
                  r'[^"]*)"$', re.MULTILINE)
DATED = re.compile(r"^## (?P<date>\d{4}-\d{2}-\d{2})", re.MULTILINE)
BY_HAND = "*What this bears on, and what changes: to be written by hand.*"
ACTING = re.compile(r"[\\`*]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|\](?=[(:\[])|&(?=#?\w+;)"
                    r"|^[#>+~-]|://|\bwww\.")
"""Where Markdown would make something of a text: emphasis, code, a tag, a link, a list."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says, as sentences of plain text; `again` holds commands.

    `at` is when the run was first asked, in microseconds since 1970.
    """

    run: str
    at: int
    head: str
    title: str
    question: str
    design: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]
    not_shown: tuple[str, ...]
    cost: str
    again: tuple[str, ...]

    @property
    def date(self) -> str:
        """The day the run was first asked, in UTC.

        >>> Entry("r", 0, "", "", "", (), (), (), (), "", ()).date
        '1970-01-01'
        """
        return datetime.fromtimestamp(self.at // 1_000_000, UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class Written:
    """An entry that stands in a log: whose run, which day, and its text."""

    run: str
    date: str
    text: str
    start: int
    end: int


def plain(text: str) -> str:
    """A text that Markdown shows as it is, on one line.

    >>> print(plain("p < .05, a*b <i> [x](y)"))
    p < .05, a\\*b \\<i> [x\\](y)
    """
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return ACTING.sub(r"\\\g<0>", text)


def coded(sentence: str) -> str:
    """A sentence as Markdown, with what stands between backticks left as code."""
    return "".join(f"`{part}`" if place % 2 else _escaped(part)
                   for place, part in enumerate(re.split("`", " ".join(sentence.split()))))


def markdown(entry: Entry) -> str:
    """An entry as it is written."""
    lines = [
        f"## {entry.date} · {plain(entry.title)}", "",
        f'[//]: # "run {entry.run} · {entry.date} · head {entry.head}"', "",
        f"**Question.** {coded(entry.question)}", "",
        f"**Design.** {' '.join(map(coded, entry.design))}", "",
        "**Result.**", "", *result_lines(entry), "",
        "**What it does not show.**", "", *(f"- {coded(said)}" for said in entry.not_shown), "",
        f"**Cost.** {coded(entry.cost)}", "",
        "**To get it again.**", "", *(f"    {command}" for command in entry.again), "",
        BY_HAND,
    ]
    return "\n".join(lines) + "\n"


def result_lines(entry: Entry) -> list[str]:
    """The lines of an entry that follow from the record alone."""
    said = []
    if entry.table:
        head, *rows = entry.table
        said = [_row(head), "|" + " --- |" * len(head), *map(_row, rows), ""]
    return [*said, *(f"- {coded(sentence)}" for sentence in entry.result)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(plain(cell).replace("|", "\\|") for cell in cells) + " |"


def entries(log: str) -> list[Written]:
    """The entries of a log that a run made, in the order in which they stand."""
    heads = [found.start() for found in re.finditer(r"^## ", log, re.MULTILINE)]
    found = []
    for start, end in pairwise([*heads, len(log)]):
        text = log[start:end]
        if mark := MARK.search(text):
            found.append(Written(mark["run"], mark["date"], text, start, end))
    return found


def with_entry(log: str, entry: Entry) -> str:
    """The log with an entry in its place by date; every character that stood there stays.

    Raises Misuse where the run has an entry: what it found is corrected there, not written anew.
    """
    log = log or TITLE
    written = entries(log)
    if any(one.run == entry.run for one in written):
        raise Misuse(f"The log has an entry of the run {entry.run!r}. An entry is not written"
                     " twice: mark a correction with --correct, or run it again under another"
                     " name, which is a new entry.")
    later = [found.start() for found in DATED.finditer(log) if found["date"] > entry.date]
    queue = re.search(rf"^{QUEUE}$", log, re.MULTILINE)
    ends = [*later[:1], *([queue.start()] if queue else []), len(log)]
    return _inserted(log, min(ends), markdown(entry))


def _inserted(log: str, at: int, text: str) -> str:
    """The log with a paragraph before `at`, set off by blank lines."""
    before, after = log[:at], log[at:]
    gap = "" if before.endswith("\n\n") or not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}{text}{chr(10) if after and not after.startswith(chr(10)) else ''}{after}"


def with_correction(log: str, run: str, said: str, at: int) -> str:
    """The log with a correction under a run's entry, marked as one and dated.

    Raises Misuse for a run without an entry, or a correction that says nothing.
    """
    if not said.strip():
        raise Misuse("The correction is empty: say what was wrong and what is right.")
    for one in entries(log):
        if one.run == run:
            day = when(at).rpartition(",")[0]
            end = one.start + len(one.text.rstrip())
            return log[:end] + f"\n\n> **Corrected, {day}.** {plain(said)}" + log[end:]
    raise Misuse(f"The log has no entry of the run {run!r} to correct. It has: "
                 f"{', '.join(one.run for one in entries(log)) or 'none'}.")


def with_queued(log: str, said: str) -> str:
    """The log with something at the end of its queue of what has not been run.

    Raises Misuse where it says nothing or stands there.
    """
    log = log or TITLE
    line = f"- {plain(said)}"
    if not said.strip():
        raise Misuse("What is queued is empty: say what is to be measured, and what for.")
    if line in queued(log):
        raise Misuse(f"The queue holds {said!r} already.")
    if not re.search(rf"^{QUEUE}$", log, re.MULTILINE):
        return f"{log.rstrip()}\n\n{QUEUE}\n\n{QUEUE_ABOUT}\n\n{line}\n"
    start, end = _queue(log)
    kept = log[:end].rstrip()
    return f"{kept}{chr(10) if queued(log) else chr(10) * 2}{line}\n{log[end:]}"


def without_queued(log: str, name: str) -> str:
    """The log without the one queued line that begins with `name`, since that has been run.

    Raises Misuse where none or several do.
    """
    found = [line for line in queued(log) if line[2:].casefold().startswith(plain(name).casefold())]
    if len(found) != 1:
        raise Misuse(f"{len(found)} lines of the queue begin with {name!r}; wanted one. There are:"
                     f" {'; '.join(line[2:60] for line in queued(log)) or 'none'}.")
    start, end = _queue(log)
    return log[:start] + log[start:end].replace(found[0] + "\n", "", 1) + log[end:]


def queued(log: str) -> list[str]:
    """The lines of the queue."""
    start, end = _queue(log)
    return [line for line in log[start:end].splitlines() if line.startswith("- ")]


def _queue(log: str) -> tuple[int, int]:
    """Where the queue's section lies; nowhere at the end where there is none."""
    found = re.search(rf"^{QUEUE}$", log, re.MULTILINE)
    if found is None:
        return len(log), len(log)
    following = re.search(r"^## ", log[found.end():], re.MULTILINE)
    return found.start(), found.end() + following.start() if following else len(log)


def differing(log: str, entry: Entry) -> list[str]:
    """The result lines that the record now yields and the log's entry does not hold."""
    for one in entries(log):
        if one.run == entry.run:
            held = {line.strip() for line in one.text.splitlines()}
            return [line for line in result_lines(entry) if line.strip() and line.strip()
                    not in held]
    return result_lines(entry)


def is_corrected(log: str, run: str) -> bool:
    """Whether a run's entry carries a marked correction."""
    return any("> **Corrected, " in one.text for one in entries(log) if one.run == run)


def page(log: str, title: str = "Measurement log") -> str:
    """The log as a page of the site: nothing in it acts or is fetched."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    from equipoise.report.environment import environment, style
    from equipoise.report.visible import visible

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return environment().get_template("log.html.j2").render(
        title=title, style=style("page", "log"), text=Markup(reader.render(visible(log))),
    )
