"""Where in a ledger some words stand: what a person needs to have them erased."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.ledger.store import Ledger


class Found(NamedTuple):
    """One entry whose words hold a text: its number, run, cell and stage."""

    seq: int
    run: str
    key: str
    stage: str


def holding(ledger: Ledger, text: str) -> Iterator[Found]:
    """Every reply, note or fault whose bytes hold `text`, plain or as JSON escapes it."""
    forms = {text.encode("utf-8", "surrogatepass"), escaped(text, ascii_only=False),
             escaped(text, ascii_only=True)}
    for seq, run, key, stage, words in ledger.all_words():
        if any(form in words for form in forms):
            yield Found(seq, run, key, stage)


def escaped(text: str, *, ascii_only: bool) -> bytes:
    """A text as it stands in JSON, without its quotes."""
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass")
