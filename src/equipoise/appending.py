"""Add lines to the end of a file: each is on disk for good before the next is asked for."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from equipoise.terms import Misuse


@contextmanager
def appending(path: Path) -> Iterator[Callable[[bytes], None]]:
    """A function that adds one line of JSON to `path`, and returns once it is on disk for good.

    One process at a time appends to a file. A last line that was cut short was never
    acknowledged, and is taken off. Raises Misuse (6) where another process appends, or the file
    cannot be opened.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "said.jsonl"
    ...     _ = path.write_bytes(b'{"n":1}\\n{"n":')
    ...     with appending(path) as add:
    ...         add(b'{"n":2}')
    ...     path.read_text()
    '{"n":1}\\n{"n":2}\\n'
    """
    new = not path.exists()
    try:
        file = path.open("a+b")
    except OSError as error:
        raise Misuse(f"{path} cannot be written ({error.strerror}).", 6) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Misuse(f"Another process is writing {path}. End it first, or name another"
                         " file.", 6) from None
        if new:
            _settle(path.parent)
        _mend(file)

        def add(line: bytes) -> None:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())

        yield add


def _settle(folder: Path) -> None:
    """The folder's new entry, on disk for good."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


def _mend(file: IO[bytes]) -> None:
    """End the last line: it is kept where it is whole, and taken off where it was cut short."""
    file.seek(0)
    text = file.read()
    whole = text.rfind(b"\n") + 1
    if whole == len(text):
        return
    try:
        json.loads(text[whole:])
    except ValueError:
        file.truncate(whole)
    else:
        file.write(b"\n")
