"""Write a page or a table where a person wants it, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from equipoise.replacing import replacing
from equipoise.terms import Misuse

CANNOT_WRITE = 6


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path`: whoever opens it finds the old file or the new one, whole.

    What UTF-8 cannot hold is written as an escape. Raises Misuse (exit 6) where nothing can
    be written; the file that was there is then untouched.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # A device or a pipe has nothing to be replaced.
            return
        with replacing(path.resolve()) as out:
            out.write(content)
    except OSError as fault:
        said = fault.strerror or str(fault)
        raise Misuse(
            f"Could not write {path}: {said}. Nothing was changed. Name another place with --out.",
            CANNOT_WRITE,
        ) from fault
