"""Write a page, a table or a folder where a person wants it, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from equipoise.replacing import on_disk, replacing, umask
from equipoise.terms import Misuse

CANNOT_WRITE = 6


def write_whole(path: Path, text: str | bytes) -> None:
    """Write `text` to `path`: whoever opens it finds the old file or the new one, whole.

    What UTF-8 cannot hold is written as an escape. Raises Misuse (exit 6) where nothing can
    be written; the file that was there is then untouched.
    """
    content = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # A device or a pipe has nothing to be replaced.
            return
        with replacing(path.resolve()) as out:
            out.write(content)
    except OSError as fault:
        raise cannot_write(path, fault) from fault


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder of files, each named by its path within it: the whole folder or none.

    Raises Misuse where a folder with something in it is there already, and (exit 6) where
    nothing can be written.
    """
    path = path.resolve()
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise Misuse(f"{path} is there already. A folder is written whole, in no other's place:"
                     " name a new one with -o, or move that one away.")
    part: Path | None = None
    try:
        part = Path(mkdtemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part"))
        for name, content in files.items():
            place = part / name
            place.parent.mkdir(exist_ok=True)
            with place.open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
        for folder in (part, *(place for place in part.rglob("*") if place.is_dir())):
            on_disk(folder)
        part.chmod(0o777 & ~umask())
        part.replace(path)
        on_disk(path.parent)
    except OSError as fault:
        raise cannot_write(path, fault) from fault
    finally:
        if part is not None and part.exists():
            shutil.rmtree(part)


def cannot_write(path: Path, fault: OSError) -> Misuse:
    """What a failed write means to a person."""
    return Misuse(
        f"Could not write {path}: {fault.strerror or fault}. Nothing was changed. Name another"
        " place with --out.", CANNOT_WRITE)
