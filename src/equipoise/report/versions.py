"""A folder of versions, one of them current: written whole beside the others, swapped in one step.

    SITE/versions/0123456789ab/   a whole site, named by its content, never changed
    SITE/current                  a link to the version that is served

All that is published lies inside the versions, so the swap of the link is the one step at which
anything is published: a process that ends before it has published nothing, after it everything.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

from equipoise.terms import Misuse

SUMS = "SHA256SUMS"
CANNOT_WRITE, CHANGED = 6, 10
Content = bytes | Path
"""What a file holds: these bytes, or the same as that file, which never changes."""


@contextmanager
def holding(site: Path) -> Iterator[None]:
    """The site, for this process alone: another that publishes waits its turn.

    Raises Misuse (exit 6) where the disk or the permissions fail.
    """
    try:
        site.mkdir(parents=True, exist_ok=True)
        with (site / ".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
    except OSError as fault:
        raise Misuse(f"Could not write {site}: {fault.strerror or fault}. What is served is the old"
                     " site or the new one, whole. Mend that, then give the same command again.",
                     CANNOT_WRITE) from fault


@contextmanager
def reading(site: Path) -> Iterator[None]:
    """Raises Misuse (exit 6) where a file of the site cannot be read."""
    try:
        yield
    except OSError as fault:
        raise Misuse(f"Could not read {fault.filename or site}: {fault.strerror or fault}.",
                     CANNOT_WRITE) from fault


def current(site: Path) -> Path | None:
    """The version that is served, none where there is none yet; raises Misuse for a link to
    nothing, or for what is no link."""
    link = site / "current"
    if not link.is_symlink():
        if link.exists():
            raise Misuse(f"{link} is no link, so it was not made here. Name another folder with"
                         " --site, or move it away.")
        return None
    version = site / os.readlink(link)
    if not version.is_dir():
        raise Misuse(f"{link} leads to {version}, which is gone. Put it back, or point the link at"
                     f" one of {', '.join(versions(site)) or 'none that are left'}.", CHANGED)
    return version


def versions(site: Path) -> list[str]:
    """The names of all the versions there are."""
    folder = site / "versions"
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) if (
        folder.is_dir()) else []


def verified(version: Path, under: tuple[str, ...] = ("",)) -> dict[str, str]:
    """The SHA-256 of the files of a version by their path, each derived again from its bytes:
    of all of them, or of those whose path begins with one of `under`.

    Raises Misuse (exit 10) that names what was changed, is missing, or was added.
    """
    try:
        said = (version / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        raise Misuse(f"{version} holds no readable {SUMS}: it is no whole version.",
                     CHANGED) from fault
    sums = {path: digest for digest, _, path in (line.partition("  ") for line in said)
            if path.startswith(under)}
    there = {path for p in version.rglob("*") if p.is_symlink() or not p.is_dir()
             for path in [p.relative_to(version).as_posix()] if path.startswith(under)} - {SUMS}
    wrong = sorted(there ^ sums.keys()) + sorted(
        path for path in there & sums.keys() if digest(version / path) != sums[path])
    if wrong or name_of((version / SUMS).read_bytes()) != version.name:
        more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
        raise Misuse(f"{version} is not as it was published: {', '.join(wrong[:5]) or SUMS}{more}"
                     f" {'were' if len(wrong) > 1 else 'was'} changed, added or taken away. Put"
                     " back a copy"
                     + (f"; or, if its data is whole, have its pages made again with --rollback"
                        f" {version.name}." if "" in under else "."), CHANGED)
    return sums


def is_whole(version: Path) -> bool:
    """Whether every file of a version is as it was published."""
    try:
        verified(version)
    except Misuse:
        return False
    return True


def digest(content: Content) -> str:
    """The SHA-256 (hex) of what a file holds."""
    return sha256(content if isinstance(content, bytes) else content.read_bytes()).hexdigest()


def name_of(sums: bytes) -> str:
    """What a version is called: the first 12 figures of its checksums' SHA-256."""
    return sha256(sums).hexdigest()[:12]


def place(site: Path, files: Mapping[str, Content]) -> Path:
    """Write a version with these files and make it current: all of it or nothing."""
    for path in files:
        _require_within(path)
    sums = "".join(f"{digest(files[path])}  {path}\n" for path in sorted(files)).encode()
    made = site / "versions" / name_of(sums)
    made.parent.mkdir(exist_ok=True)
    _clear(site)
    try:
        if made.exists():
            verified(made)
        else:
            part = made.with_name(f".{made.name}.part")
            _write(part, {**files, SUMS: sums})
            os.replace(part, made)
            _sync(made.parent)
        _point(site, made)
    except OSError:
        with suppress(OSError):
            _clear(site)
        raise
    return made


def _require_within(path: str) -> None:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not path.isprintable() or "\\" in path:
        raise ValueError(f"the page {path!r} would lie outside the site")


def _clear(site: Path) -> None:
    """Take away what is half written: a process that was killed can leave that."""
    for left in (site / "versions").glob(".*.part"):
        shutil.rmtree(left)
    (site / ".current.new").unlink(missing_ok=True)


def drop(site: Path, name: str) -> None:
    """Take a version away: first out of sight in one step, so that none is ever there in part."""
    _clear(site)
    version = site / "versions" / name
    part = version.with_name(f".{name}.part")
    os.replace(version, part)
    _sync(version.parent)
    shutil.rmtree(part)


def _write(folder: Path, files: Mapping[str, Content]) -> None:
    """Write all files into a new folder, on disk for good."""
    folders = {folder}
    folder.mkdir()
    for path, content in files.items():
        out = folder / path
        out.parent.mkdir(parents=True, exist_ok=True)
        folders.update(p for p in out.parents if p.is_relative_to(folder))
        if isinstance(content, Path) and _linked(content, out):
            continue
        with out.open("xb") as file:
            file.write(content if isinstance(content, bytes) else content.read_bytes())
            file.flush()
            os.fsync(file.fileno())
    for one in sorted(folders, reverse=True):
        _sync(one)


def _linked(kept: Path, out: Path) -> bool:
    """Whether a file that is kept could be given a second name, so that it is stored once."""
    try:
        os.link(kept, out)
    except OSError:
        # It may be there all the same, and writing into it would write into the old version.
        out.unlink(missing_ok=True)
        return False
    return True


def _point(site: Path, version: Path) -> None:
    """Make a version current, in one step."""
    new = site / ".current.new"
    os.symlink(f"versions/{version.name}", new)
    os.replace(new, site / "current")
    _sync(site)


def _sync(folder: Path) -> None:
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
