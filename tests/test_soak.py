"""Proofs that take minutes: `make soak`. Their last figures stand in CONTRIBUTING.md."""

import random
import shutil
import time
from collections import Counter

import pytest

import killed
from equipoise.cli.calibrating import calibrated
from equipoise.cli.fingerprint import expect, register
from equipoise.cli.studies import study
from equipoise.instruments.fingerprint import planted as traits
from equipoise.ledger import Ledger, verify
from equipoise.providers import planted
from equipoise.stats.undefined import Undefined
from test_kills import SERVER, lines

pytestmark = pytest.mark.soak


def test_a_thousand_kills_lose_nothing_and_send_nothing_twice(tmp_path, capsys):
    rng, unknown, worst = random.Random(1), 0, 0
    sent, told = Counter(), 0
    for part in range(20):
        folder = tmp_path / str(part)
        folder.mkdir()
        before = 0
        for _ in range(50):
            process = SERVER.Process(target=killed.run, args=(str(folder),))
            process.start()
            time.sleep(rng.uniform(0.02, 0.5))
            process.kill()
            process.join()
            path = folder / "ledger.db"
            found = verify(path) if killed.begun(path) else None
            if found:
                assert not found.faults
                worst, before = max(worst, found.unsettled - before), found.unsettled
        unknown += before
        sent.update(f"{part}/{line}" for line in lines(folder / "sent"))
        ledger = Ledger.open(folder / "ledger.db")
        kept = {key for (key, _), r in ledger.recorded(1).items() if r.kind == "reply"}
        ledger.close()
        acknowledged = set(lines(folder / "told"))
        assert acknowledged <= kept
        told += len(acknowledged)
    assert max(sent.values()) == 1 and worst <= killed.IN_FLIGHT
    with capsys.disabled():
        print(f"\n1,000 kills: {told:,} acknowledged, 0 lost; {sum(sent.values()):,} sent,"
              f" 0 twice; {unknown:,} unknown, at most {worst} a kill")


def test_five_hundred_cuts_and_flips_of_the_log_open_to_a_prefix(tmp_path, capsys):
    import apsw

    from test_ledger import filled

    source = filled(tmp_path / "l.db", 20)
    keeper = apsw.Connection(str(source))
    keeper.execute("begin; select * from entries").fetchall()
    filled(source, 200, name="r2")
    rng, shorter = random.Random(3), 0
    wal = source.with_name("l.db-wal")
    assert wal.stat().st_size > 10_000
    for trial in range(1000):
        copy = tmp_path / "copy.db"
        for suffix in ("", "-wal", ".head"):
            shutil.copy(source.with_name(f"l.db{suffix}"), copy.with_name(f"copy.db{suffix}"))
        copy.with_name("copy.db-shm").unlink(missing_ok=True)
        damaged = bytearray(wal.read_bytes())
        if trial % 2:
            damaged = damaged[: rng.randrange(len(damaged))]
        else:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        copy.with_name("copy.db-wal").write_bytes(damaged)
        found = verify(copy)
        whole = found.published is not None and found.rows >= found.published.rows
        assert whole != bool(found.faults)
        shorter += not whole
    keeper.close()
    with capsys.disabled():
        print(f"\n1,000 damaged logs: all opened to a prefix, {shorter} shorter than the head,"
              f" all {shorter} said so")


def test_twenty_subjects_of_the_full_suite_take_less_than_a_gigabyte(tmp_path, capsys):
    """More cells than 20 x 36,576 = 731,520, in a process of its own, from a mock."""
    import json
    import subprocess
    import sys
    from pathlib import Path

    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "large.py"), "20", str(tmp_path / "l.db")],
        capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    with capsys.disabled():
        print(f"\n{found['cells']:,} cells: peak {found['peak_mb']:.0f} MB,"
              f" {found['cells_a_core']:,.0f} cells/s a core, {found['cells_a_second']:,.0f}/s;"
              f" the loop late by {found['late_ms']:.0f} ms in 1 of 100 looks;"
              f" verified at {found['verified_a_second']:,.0f} rows/s")
    assert found["cells"] >= 731_520 and found["faults"] == []
    assert found["peak_mb"] < 1000
    assert found["cells_a_core"] >= 2500
    assert found["verified_a_second"] >= 100_000
    assert found["late_ms"] < 100


@pytest.mark.parametrize("seed", range(10))
def test_coin_flips_commit_no_more_than_they_should(tmp_path, seed):
    """Over ten seeds of the core suite: expected false commits 3,600 x 2 / 4,096 = 1.76."""
    from studying import studied

    planned = register("core", [planted.subject("flips-coins")], ["free"])
    laid_out = study(*planned)
    answer = traits.answerer(laid_out.suite, traits.flips_coins, seed)
    _, found, _ = studied(tmp_path / "l.db", planted.answering(answer), planned)
    fingerprint = laid_out.instrument.analyse(found.observations).fingerprints[0]
    assert fingerprint.commits.count <= 3
    assert all(check.holds for check in expect(fingerprint))
    assert not isinstance(fingerprint.sharpness, Undefined)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_label_swaps_table_of_detections_lies_in_its_bands_from_any_seed(seed, capsys):
    rows = calibrated(seed=seed)
    figures = sum(len(found.bands) for found in rows)
    out = [(found.row.noise, found.row.grid, band.name)
           for found in rows for band in found.bands if not band.holds]
    with capsys.disabled():
        print(f"\nseed {seed}: {figures - len(out)} of {figures} figures in their bands {out}")
    # Four errors leave one figure in 16,000 outside; of 60 one would be a sign of a fault.
    assert not out


@pytest.mark.parametrize("reader", ["perfect", "eight-nine"])
def test_two_hundred_simulated_replays_err_at_their_nominal_rates(reader, capsys):
    """The same engine in both arms is called better or worse no oftener than it should be, and
    one that is better is found; of one that is better on one bias, that bias and no other."""
    from test_replay import SUITE, findings

    runs, wrong, found, flags, false_flags = 200, 0, 0, 0, 0
    for seed in range(1, runs + 1):
        [same] = findings("same", reader, settings={"seed": seed}).comparisons
        wrong += same.verdict.kind in ("better", "worse")
        [better] = findings("better", reader, settings={"seed": seed}).comparisons
        found += better.verdict.kind == "better"
        [one] = findings("better-on-one", reader, settings={"seed": seed}).comparisons
        kinds = {bias: row.verdict.kind for bias, row in one.by_bias.items()}
        flags += kinds["framing"] == "better"
        false_flags += any(kind in ("better", "worse") for bias, kind in kinds.items()
                           if bias != "framing")
    n = sum("framing" in o.present for o in SUITE.openings.values())
    with capsys.disabled():
        print(f"\n{runs} simulated replays, {reader} reader: same called better or worse {wrong},"
              f" better found {found}; better on one bias ({n} openings): that bias {flags},"
              f" any other {false_flags}")
    # Nominal .05, and four standard errors of 200 runs above it.
    assert wrong <= 22 and false_flags <= 22
    assert found >= 190


@pytest.mark.parametrize("wait", [5.0, None])
def test_a_storm_of_a_minute_is_met_with_few_requests_and_is_over_soon_after(
    tmp_path, capsys, wait
):
    from equipoise.desk import Patience
    from storms import ATTEMPTS, WORKERS, Storm, weathered

    storm = Storm(3000, 60.0, wait)
    answered, found = weathered(tmp_path / "l.db", storm, 20_000, Patience(ATTEMPTS))
    calm = storm.rate(-3.0, 0.0)
    in_storm = round(60 * storm.rate(0, 60))
    back = next(s for s in range(60) if storm.rate(60.0 + s, 61.0 + s) >= 0.8 * calm)
    with capsys.disabled():
        print(f"\n429 for a minute, Retry-After {wait}: {in_storm} requests in it (at most"
              f" {WORKERS * ATTEMPTS}), 80% of the calm {calm:.0f}/s again {back + 1} s after it;"
              f" {answered:,} of 20,000 answered")
    assert found.stopped is None and answered == 20_000
    assert in_storm <= WORKERS * ATTEMPTS
    assert storm.after_the_first() <= 0.2 * calm * 60
    assert storm.came_too_early(slack=0.2) == 0
    assert back < 30
