"""Put a file in another's place: whoever opens it finds the old one or the new one, whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path`, on disk for good, once the block ends well.

    It keeps the permissions of the old one, unless `mode` names others. Where the block or the
    disk fails, raises what they raised, and the old file is as it was.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "page.html") as out:
    ...         _ = out.write(b"new")
    ...     [(p.name, p.read_text()) for p in Path(folder).iterdir()]
    [('page.html', 'new')]
    """
    with NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part", delete=False
    ) as out:
        part = Path(out.name)
        try:
            yield out
            out.flush()
            os.fsync(out.fileno())
            part.chmod(_mode(path) if mode is None else mode)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    on_disk(path.parent)


def on_disk(folder: Path) -> None:
    """Return once the names in a folder are on disk for good."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(path: Path) -> int:
    """The permissions the file has, or those a new file gets."""
    if path.exists():
        return path.stat().st_mode & 0o777
    return 0o666 & ~umask()


def umask() -> int:
    """The permissions that nothing new gets."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
