"""Which kind of disk a folder is on: on a network disk two writers' locks are not to be trusted."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.terms import Misuse

NETWORK_DISKS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "lustre"})
MOUNTS = Path("/proc/mounts")
I_KNOW = "EQUIPOISE_NETWORK_DISK"


def kind_of_disk(folder: Path) -> str:
    """The file system a folder is on, as the system names it; `unknown` where it does not say."""
    kind, longest = "unknown", -1
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return kind
    here = folder.resolve()
    for line in mounts:
        _, place, name, *_ = line.split()
        place = place.replace("\\040", " ")
        if here.is_relative_to(place) and len(place) >= longest:
            kind, longest = name, len(place)
    return kind


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the owner alone."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def require_local_disk(path: Path) -> None:
    """Raises Misuse for a ledger on a network disk, unless the environment says it is known."""
    kind = kind_of_disk(path.parent)
    if kind in NETWORK_DISKS and not os.environ.get(I_KNOW):
        raise Misuse(
            f"{path} is on a network disk ({kind}), whose locks are not to be trusted: two writers"
            " can damage the ledger. Put it on a local disk, and copy it with `equipoise backup`."
            f" If you know that nothing else opens it, set {I_KNOW}=1.", 6
        )
