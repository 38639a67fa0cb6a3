"""Every form of log by its name, and which one a file is in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.recorded import inspect, lm_eval, promptfoo
from equipoise.recorded.record import Log, Looked, NotARecord
from equipoise.recorded.slices import members
from equipoise.terms import Completion, Fault, Misuse, Reply

LARGEST_TEXT = 1_500_000_000
MARKS: Mapping[str, Sequence[set[str]]] = {
    "lm-eval": [{"doc_id", "resps"}], "inspect": [{"eval", "status"}],
    "promptfoo": [{"promptIdx"}, {"results"}, {"evalId"}],
}
"""The keys that show a form: of a log as a whole, or of its first line."""

DIALECT = "recorded-"


@dataclass(frozen=True, slots=True)
class Form:
    """One tool's log: what the tool is called, how its log is opened and a record looked at."""

    tool: str
    open: Callable[[Path, str | None], Log]
    look: Callable[[bytes], Looked]

    def decode(self, reply: Reply) -> Completion | Fault:
        """What a record says, or why it holds no reply; raises nothing, whatever the bytes."""
        try:
            said = self.look(reply.body).said[0]
        except NotARecord as error:
            return Fault("malformed", str(error))
        return said if isinstance(said, Completion) else Fault("malformed", said.detail)


FORMS: Mapping[str, Form] = {
    "inspect": Form("Inspect", inspect.opened, inspect.look),
    "promptfoo": Form("promptfoo", promptfoo.opened, promptfoo.look),
    "lm-eval": Form("the LM Evaluation Harness", lm_eval.opened, lm_eval.look),
}


def opened(path: Path, named: str | None) -> tuple[str, Log]:
    """The form of a file, as named or as it shows, and the log in it.

    Raises Misuse for a file in none of the forms, and NotARecord where its beginning is not
    whole.
    """
    with path.open("rb") as file:
        packed = file.read(4) == b"PK\x03\x04"
    text = None if packed else _text(path)
    form = named or ("inspect" if text is None else _shown(text))
    if form is None:
        raise Misuse(f"{path} shows no form of log that is known. Name it with --format:"
                     f" {', '.join(FORMS)}.")
    if text is None and form != "inspect":
        raise Misuse(f"{path} is a zip file; a log of {FORMS[form].tool} is JSON.")
    return form, FORMS[form].open(path, text)


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST_TEXT:
        raise Misuse(f"{path} is larger than {LARGEST_TEXT:,} bytes. Import it in parts.")
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + raw.count(b"\n", 0, error.start)
        raise NotARecord(f"line {line}: not UTF-8 ({error.reason})") from error


def _shown(text: str) -> str | None:
    """The one form that a text shows by its keys; raises NotARecord for an object cut short."""
    first, broken = text.lstrip().partition("\n")[0], None
    try:
        keys = set(json.loads(first))
    except (ValueError, TypeError, RecursionError):
        keys, broken = _keys(text)
    for form, marks in MARKS.items():
        if any(mark <= keys for mark in marks):
            return form
    if broken is not None and text.lstrip().startswith("{"):
        raise broken
    return None


def _keys(text: str) -> tuple[set[str], NotARecord | None]:
    """The keys of the object that the whole text is, as far as it can be read."""
    keys: set[str] = set()
    try:
        for key, _, _ in members(text):
            keys.add(key)
    except NotARecord as error:
        return keys, error
    return keys, None
