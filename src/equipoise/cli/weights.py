"""The acts behind `models`."""

from __future__ import annotations

from equipoise.cli.screen import emit, emit_json, say, table
from equipoise.providers.weights import listed, pull


def show(as_json: bool) -> None:
    """Print the catalogue."""
    found = listed()
    if as_json:
        emit_json({"models": [
            {"name": m.entry.name, "family": m.entry.family, "bytes": m.entry.size,
             "licence": m.entry.licence, "sha256": m.entry.sha256, "pulled": m.pulled}
            for m in found
        ]})
        return
    emit(table(["model", "family", "licence", "MB", "here"],
               [[m.entry.name, m.entry.family, m.entry.licence, f"{m.entry.size / 1e6:.0f}",
                 "yes" if m.pulled else "no"] for m in found]))


def fetch(name: str) -> None:
    """Pull a model and say where it lies."""
    path = pull(name)
    say(f"{name}: {path.stat().st_size:,} bytes, SHA-256 as wanted.")
    emit(str(path))
