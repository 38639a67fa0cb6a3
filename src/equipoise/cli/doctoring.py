"""The act behind `doctor`: what equipoise stands on, each check with what to do about it."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import apsw

from equipoise.cli.screen import emit, emit_json, table
from equipoise.ledger import Database, Ledger, Where
from equipoise.ledger.disks import NETWORK_DISKS, kind_of_disk
from equipoise.ledger.opening import require_safe_sqlite
from equipoise.providers.keys import ANY_KEY, OWN_KEYS
from equipoise.providers.weights import listed
from equipoise.terms import Misuse

DASHBOARD, LISTENING = 8265, "0A"
SLOW_COMMIT_MS, WANTED_FILES, WANTED_BYTES = 50, 1024, 200_000_000


@dataclass(frozen=True)
class Check:
    """One thing looked at: ok, warn or fail, what was found, and what to do."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    do: str = ""


def doctor(path: Where, as_json: bool) -> None:
    """Print every check; raises Misuse (exit 1) when one fails."""
    checks = list(examined(path))
    if as_json:
        emit_json({"checks": [asdict(check) for check in checks]})
    else:
        emit(table(["", "state", "found"], [[c.name, c.state, c.found] for c in checks]))
        for check in checks:
            if check.do:
                emit(f"{check.name}: {check.do}")
    failed = [check.name for check in checks if check.state == "fail"]
    if failed:
        raise Misuse(f"Not fit to run: {', '.join(failed)}.", 1)


def examined(path: Where) -> Iterator[Check]:
    """Every check, in turn."""
    version = sys.version.split()[0]
    good = sys.version_info >= (3, 11)
    yield Check("python", "ok" if good else "fail", version, "" if good else "Use 3.11 or newer.")
    yield _tried("sqlite", lambda: require_safe_sqlite(apsw.sqlite_lib_version()),
                 apsw.sqlite_lib_version())
    folder = _existing(path.parent if isinstance(path, Path) else Path.cwd())
    if isinstance(path, Path):
        yield _disk_kind(folder)
    else:
        yield from _database(path)
    free = shutil.disk_usage(folder).free
    yield Check("free space", "ok" if free > WANTED_BYTES else "warn", f"{free / 1e9:.1f} GB",
                "" if free > WANTED_BYTES else "A full suite takes about 25 MB a subject.")
    yield _commit_speed(folder)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield Check("open files", "ok" if files >= WANTED_FILES else "warn", str(files),
                "" if files >= WANTED_FILES else "Raise it with `ulimit -n 4096`.")
    yield _ledger(path)
    yield _engine()
    here = [m.entry.name for m in listed() if m.pulled]
    yield Check("weights", "ok" if here else "warn", ", ".join(here) or "none pulled",
                "" if here else "equipoise models pull smollm2-135m")
    yield _keys()
    yield dashboard(DASHBOARD)


def _tried(name: str, act: Callable[[], object], found: str) -> Check:
    try:
        act()
    except Misuse as error:
        return Check(name, "fail", found, str(error))
    return Check(name, "ok", found)


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _disk_kind(folder: Path) -> Check:
    kind = kind_of_disk(folder)
    if kind == "unknown":
        return Check("file system", "warn", kind, "Keep the ledger on a local disk.")
    bad = kind in NETWORK_DISKS
    return Check("file system", "fail" if bad else "ok", kind,
                 "Locks on network disks are not to be trusted: keep the ledger on a local one."
                 if bad else "")


def _commit_speed(folder: Path) -> Check:
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            begun = time.perf_counter()
            for _ in range(5):
                file.write(b"x" * 4096)
                file.flush()
                os.fsync(file.fileno())
            ms = (time.perf_counter() - begun) / 5 * 1000
    except OSError as error:
        return Check("write", "fail", str(error), f"Make {folder} writable, or use --ledger.")
    slow = ms > SLOW_COMMIT_MS
    return Check("write", "warn" if slow else "ok", f"{ms:.1f} ms a durable write",
                 "This disk is slow: runs wait for it." if slow else "")


def _database(database: Database) -> Iterator[Check]:
    from equipoise.ledger.postgres_health import health

    for found in health(database):
        yield Check(*found)


def _ledger(path: Where) -> Check:
    if isinstance(path, Path) and not path.exists():
        return Check("ledger", "ok", f"none yet at {path}")
    try:
        ledger = Ledger.open(path, read_only=True)
    except Misuse as error:
        return Check("ledger", "fail", str(path), str(error))
    head = ledger.head()
    ledger.close()
    return Check("ledger", "ok", f"{head.rows:,} entries, reaching the published head")


def _engine() -> Check:
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        return Check("local engine", "warn", "not installed",
                     "Install equipoise[local] to run models in this process.")
    return Check("local engine", "ok", "xllamacpp")


def dashboard(port: int) -> Check:
    """Whether Ray's dashboard listens there: whoever reaches it can run code, without a key."""
    found = sorted({_address(line.split()[1]) for line in _sockets()
                    if line.split()[3] == LISTENING
                    and int(line.split()[1].rpartition(":")[2], 16) == port})
    if not found:
        return Check("dashboards", "ok", "none of Ray's is open on this machine")
    return Check("dashboards", "warn", f"something listens on {', '.join(found)}, port {port}",
                 "If it is Ray's dashboard, whoever reaches it can run code here without a key:"
                 " start Ray with --include-dashboard=false, and its nodes on a network of their"
                 " own.")


def _sockets() -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        try:
            yield from Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue


def _address(said: str) -> str:
    """Where a socket listens, in words: the kernel writes an address as hexadecimal words."""
    host = said.rpartition(":")[0]
    if set(host) == {"0"}:
        return "every address"
    return "loopback" if host.endswith("7F") or host.endswith("01000000") else "one address"


def _keys() -> Check:
    names = [form for name in (*OWN_KEYS.values(), ANY_KEY) for form in (name, f"{name}_FILE")]
    found = [name for name in names if os.environ.get(name)]
    if not found:
        return Check("keys", "ok", "none set; local and planted subjects need none")
    return Check("keys", "ok", f"{', '.join(found)} in the environment; used, never written down")
