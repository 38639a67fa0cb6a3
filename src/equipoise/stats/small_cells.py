"""Counts let out with the small ones hidden, and with what would give them away.

A row counts pages in three cells: shown, unknown, and the rest, which is never written but is
what is left. Fewer than ten is small. One small cell alone would follow from the total, so
another is hidden with it. Which one does not depend on how small the cell is, so the choice
tells nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SMALL: Final = 10
Hidden = Literal["hidden"]
HIDDEN: Final[Hidden] = "hidden"
Cell = int | Hidden


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is let out."""

    pages: Cell
    shown: Cell
    unknown: Cell


def let_out(pages: int, shown: int, unknown: int) -> Row:
    """A row with its small cells hidden, so that its total gives none of them back.

    With fewer than ten pages all is hidden. Where unknown or the rest alone is small, both are
    hidden: only their sum can be told, and either may be the small one. Where shown is small, or
    two cells are, all but the pages is hidden. No cell that is not written can then have one
    value only, for one who knows this rule too: `tests/test_counting.py` tries every row of up to
    80 pages. Raises ValueError for counts that do not fit into each other.

    >>> let_out(100, 57, 12)
    Row(pages=100, shown=57, unknown=12)
    >>> let_out(100, 57, 3)
    Row(pages=100, shown=57, unknown='hidden')
    >>> let_out(100, 4, 30), let_out(9, 4, 0)
    (Row(pages=100, shown='hidden', unknown='hidden'), Row(pages='hidden', shown='hidden', \
unknown='hidden'))
    """
    rest = pages - shown - unknown
    if min(shown, unknown, rest) < 0:
        raise ValueError(f"counts do not fit into each other: {pages}, {shown}, {unknown}")
    small = sum(cell < SMALL for cell in (shown, unknown, rest))
    if pages < SMALL:
        return Row(HIDDEN, HIDDEN, HIDDEN)
    if not small:
        return Row(pages, shown, unknown)
    if small == 1 and shown >= SMALL:
        return Row(pages, shown, HIDDEN)
    return Row(pages, HIDDEN, HIDDEN)
