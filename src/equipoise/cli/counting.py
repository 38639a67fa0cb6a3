"""Counts from a user's own pages: the page-line reader reads them, and only counts are let out.

No ledger is opened and nothing is written beside the counts, since what a ledger holds is words.
The reader is given each page. All that is let out goes through `checked`: whole numbers, and
names that are fixed before a page is read. Nothing a page, a reader or a fault said is in a
message either.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from equipoise.cli.badges import State, badges_for
from equipoise.cli.replay import READING, SHIPPED_FILES
from equipoise.cli.running import AT_ONCE, finished
from equipoise.cli.screen import SCHEMA_VERSION, emit, say, table
from equipoise.cli.studies import stimuli_of
from equipoise.cli.subjects import reached, subject
from equipoise.cli.user_pages import Shown, pages_in
from equipoise.desk import Patience
from equipoise.instruments.replay.contract import Seen, page_line
from equipoise.instruments.replay.page import Page
from equipoise.instruments.replay.planted import answerer
from equipoise.instruments.replay.suite import SHIPPED, STANDARD, Suite, suite
from equipoise.providers import dialect, planted
from equipoise.providers.retry_after import retry_after
from equipoise.replacing import replacing
from equipoise.stats.small_cells import HIDDEN, SMALL, let_out
from equipoise.terms import Completion, Fault, Misuse, Provider, Reply, Subject, user

ON_THIS_MACHINE = frozenset(("llamacpp", "planted"))
"""Readers that run in processes of ours; a server on this machine may send on what it gets."""

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
FIELDS = frozenset(("schema_version", "reader", "hidden_below", "days", "year", "month", "day",
                    "biases", "pages", "shown", "unknown"))
NAMES = frozenset((HIDDEN, *get_args(State)))
MOST_LOST = 0.05
ROUNDED_TO = 1000
"""Calls are told rounded up: their exact number would say how many pages a hidden day has."""

PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Terms:
    """Who reads, on what terms."""

    reader: str
    trust: Sequence[Path] = ()
    suite: str = STANDARD
    may_see_pages: bool = False
    max_calls: int | None = None
    at_once: int | None = None


def count(path: Path, terms: Terms, out: Path | None, as_json: bool) -> None:
    """Let out, for each day and bias, on how many pages the debias was shown.

    Days that `out` holds already are not read or counted again. Raises Misuse, in which no word
    of a page stands, for pages that cannot be read, a reader that may not, and too many lost.
    """
    try:
        _count(path, terms, out, as_json)
    except (Misuse, OSError):
        raise
    except Exception as error:
        # Its message, and its traceback, may hold what it was about.
        raise Misuse(f"A fault of equipoise stopped the count: {type(error).__name__}. Nothing was"
                     " let out.", 1) from None


def _count(path: Path, terms: Terms, out: Path | None, as_json: bool) -> None:
    stimuli, within = stimuli_of(terms.suite, SHIPPED, (STANDARD,), SHIPPED_FILES)
    of, reader = suite(stimuli, within), subject(terms.reader, READING)
    _require_may_read(reader, terms)
    state = badges_for(terms.trust, [reader], of)[reader.name].state
    before = _let_out_before(out, of)
    done = {(d["year"], d["month"], d["day"]) for d in before}
    pages = [one for one in pages_in(path)
             if (one.day.year, one.day.month, one.day.day) not in done]
    _require_capped(reader, terms, len(pages) * len(of.biases))
    found = finished(_read(of, reader, pages, terms))
    days = sorted(before + _days(of, pages, found, state),
                  key=lambda d: (d["year"], d["month"], d["day"]))
    written = checked({"schema_version": SCHEMA_VERSION, "hidden_below": SMALL, "days": days},
                      of.biases)
    if out is not None:
        with replacing(out) as file:
            file.write(written.encode() + b"\n")
    emit(written if as_json else _table(json.loads(written)))
    # How many pages were read would give a hidden day's back, and is not said.
    say(f"Days counted: {len(days) - len(done):,}, and {len(done):,} before."
        + ("" if state == "trusted" else " The reader is not trusted: these are its counts alone."))


def _require_may_read(reader: Subject, terms: Terms) -> None:
    """Raises Misuse for a reader that pages would be sent to, unless a person said they may."""
    if reader.dialect in ON_THIS_MACHINE:
        return
    where = urlsplit(reader.base_url)
    if not terms.may_see_pages:
        raise Misuse(f"{reader.name} is reached at {where.hostname or reader.dialect} and would be"
                     " given every page, word for word. If it may be, say so with"
                     " --reader-may-see-pages; local: readers need no leave.")
    if where.scheme == "http" and where.hostname not in LOOPBACK:
        raise Misuse(f"{reader.name} is reached without TLS, so that others on the way could read"
                     " the pages too. Name it at https://.")


def _require_capped(reader: Subject, terms: Terms, calls: int) -> None:
    if dialect(reader.dialect).paid and (terms.max_calls is None or calls > terms.max_calls):
        enough = ROUNDED_TO * -(-calls // ROUNDED_TO)
        raise Misuse(f"Up to {enough:,} calls to {reader.name} may cost money"
                     + (" and nothing caps them" if terms.max_calls is None else
                        f", and the cap is {terms.max_calls:,}")
                     + ". Give --max-calls, at least as many.", 7 if terms.max_calls else 2)


async def _read(
    of: Suite, reader: Subject, pages: Sequence[Shown], terms: Terms
) -> list[Counter[str]]:
    """By page, the biases whose debias the reader found there; `?` before those undecided."""
    queue = iter([(place, bias) for place, page in enumerate(pages) for bias in of.biases
                  if not page.page.is_empty])
    found: list[Counter[str]] = [Counter() for _ in pages]
    lost: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        provider = (planted.answering(answerer(of, reader.model, reader.settings))
                    if reader.dialect == "planted"
                    else await stack.enter_async_context(reached([reader])))

        async def work() -> None:
            for place, bias in queue:
                one = pages[place]
                said = await _asked(provider, reader, of.page_question(
                    one.language, bias, one.page), one.page)
                if isinstance(said, Fault):
                    lost[said.kind] += 1
                    _require_going_on(said, lost)
                verdict = said.verdict if isinstance(said, Seen) else "unknown"
                found[place][{"met": bias, "unknown": f"?{bias}"}.get(verdict, "")] += 1

        await asyncio.gather(*(work() for _ in range(
            terms.at_once or AT_ONCE.get(reader.dialect, 16))))
    if lost.total() > MOST_LOST * len(pages) * len(of.biases):
        raise Misuse(f"More than 5% of the calls came to nothing ({', '.join(sorted(lost))})."
                     " Nothing was let out.", 3)
    return found


async def _asked(
    provider: Provider, reader: Subject, question: str, page: Page
) -> Seen | Fault | None:
    """One reading, None where the reader's answer breaks its contract; kept nowhere."""
    spoken = dialect(reader.dialect)
    request = spoken.encode(reader, [user(question)], "free", (), "")
    for tries in range(1, PATIENCE.attempts + 1):
        outcome = await provider(request)
        said = outcome if isinstance(outcome, Fault) else spoken.decode(outcome)
        if isinstance(said, Completion):
            value = page_line(page)(said).value
            return value if isinstance(value, Seen) else None
        if not said.transient or tries == PATIENCE.attempts:
            return said
        asked = retry_after(outcome) if isinstance(outcome, Reply) else None
        await asyncio.sleep(min(max(asked or 0.0, PATIENCE.wait(tries)), PATIENCE.longest_wait))
    return None


def _require_going_on(fault: Fault, lost: Counter[str]) -> None:
    """Raises Misuse for a fault that more calls cannot mend; what the provider said is left out."""
    code = {"auth": 4, "not found": 2, "over budget": 7}.get(fault.kind)
    if code or lost.total() >= 20:
        raise Misuse(f"The reader gives no answers ({fault.kind}). Nothing was let out. What it"
                     " said is not shown, as it may quote a page; try it with calibration.",
                     code or 75)


def _days(
    of: Suite, pages: Sequence[Shown], found: Sequence[Counter[str]], state: State
) -> list[dict[str, Any]]:
    by_day: dict[date, Counter[str]] = {}
    sizes: Counter[date] = Counter(page.day for page in pages)
    for page, said in zip(pages, found, strict=True):
        by_day.setdefault(page.day, Counter()).update(said)
    return [{"year": day.year, "month": day.month, "day": day.day, "reader": state, "biases": {
        bias: _row(sizes[day], said[bias], said[f"?{bias}"]) for bias in of.biases}}
        for day, said in sorted(by_day.items())]


def _row(pages: int, shown: int, unknown: int) -> dict[str, Any]:
    row = let_out(pages, shown, unknown)
    return {"pages": row.pages, "shown": row.shown, "unknown": row.unknown}


def checked(said: Mapping[str, Any], biases: Iterable[str]) -> str:
    """What is let out, as JSON; raises Misuse for anything but whole numbers and known names."""
    keys = FIELDS | set(biases)

    def fits(value: Any) -> bool:
        if isinstance(value, dict):
            return all(key in keys and fits(inner) for key, inner in value.items())
        if isinstance(value, list):
            return all(map(fits, value))
        return (type(value) is int and value >= 0) or (isinstance(value, str) and value in NAMES)

    if not fits(dict(said)):
        raise Misuse("Something other than counts and known names was to be let out, and was not.",
                     1)
    return json.dumps(said, ensure_ascii=True, sort_keys=True)


def _let_out_before(out: Path | None, of: Suite) -> list[dict[str, Any]]:
    """The days that the file of counts holds, which stay as they are."""
    if out is None or not out.exists():
        return []
    try:
        said = json.loads(out.read_text(encoding="utf-8"))
        checked(said, of.biases)
        days: list[dict[str, Any]] = said["days"]
        if not all({"year", "month", "day", "reader", "biases"} == d.keys() for d in days):
            raise KeyError("days")
    except (ValueError, KeyError, TypeError, AttributeError, Misuse):
        raise Misuse(f"{out} is there and holds no counts. Name another file.") from None
    return days


def _table(said: Mapping[str, Any]) -> str:
    rows = [[f"{d['year']:04}-{d['month']:02}-{d['day']:02}", d["reader"], bias,
             *(str(row[name]) for name in ("pages", "shown", "unknown"))]
            for d in said["days"] for bias, row in d["biases"].items()]
    return "\n".join([f"Counts under {said['hidden_below']} are hidden, and what would give them"
                      " away.", "",
                      table(["day", "reader", "bias", "pages", "shown", "unknown"], rows)])
