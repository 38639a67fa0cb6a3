"""Rows as CSV that no spreadsheet takes for anything but what it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "−", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def formula_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it if it might.

    >>> formula_safe("=1+1"), formula_safe("mercy")
    ("'=1+1", 'mercy')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def as_csv(rows: Sequence[Mapping[str, Any]], raw: bool = False) -> str:
    """Rows under a header of every name in them; `raw` leaves texts exactly as they are.

    >>> as_csv([{"a": "=1", "n": 1}])
    '"a","n"\\n"\\'=1",1\\n'
    """
    out = io.StringIO()
    # All text is quoted: the writer leaves a carriage return bare, and what stands after it would
    # begin a row of its own.
    names = list(dict.fromkeys(name for found in rows for name in found)) or ["subject"]
    writer = csv.DictWriter(out, names, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    for found in rows:
        writer.writerow(found if raw else _safe(found))
    return out.getvalue()


def _safe(found: Mapping[str, Any]) -> dict[str, Any]:
    return {k: formula_safe(v) if isinstance(v, str) else v for k, v in found.items()}
