"""Write a file so that anyone who opens it finds the old one or the new one, whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from equipoise.terms import Misuse

CANNOT_WRITE = 6


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` through a temporary file beside it, durably.

    What UTF-8 cannot hold is written as an escape. Raises Misuse (exit 6) where nothing can
    be written; the file that was there is then untouched.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # A device or a pipe has nothing to be replaced.
        else:
            _replace(path.resolve(), content)
    except OSError as fault:
        said = fault.strerror or str(fault)
        raise Misuse(
            f"Could not write {path}: {said}. Nothing was changed. Name another place with --out.",
            CANNOT_WRITE,
        ) from fault


def _replace(path: Path, content: bytes) -> None:
    place = path.parent
    number, name = tempfile.mkstemp(dir=place, prefix=f".{path.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mode(path: Path) -> int:
    """The permissions the file has, or those a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
