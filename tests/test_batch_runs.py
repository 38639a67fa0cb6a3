"""Runs in batches against a double of both interfaces: through instruments, deaths and commands.

Whatever step a run dies at, the same command settles its batch: none lost, none paid twice.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import batch_killed
from batch_double import Script, serving
from batch_killed import PACE, base, subject
from equipoise.cli import debates as debates_command
from equipoise.cli.batching import Batches
from equipoise.cli.running import Terms, read_run, run_registered
from equipoise.instruments.debates import planted as debaters
from equipoise.instruments.fingerprint import planted as traits
from equipoise.ledger import Ledger, verify
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.providers import dialect, planted
from equipoise.providers.batch import share_of_price
from equipoise.providers.prices import Price, Priced
from equipoise.terms import Misuse, user
from studying import registered, studied, suite_of

DIALECTS = ("openai", "responses", "anthropic")
BOTH = ("openai", "anthropic")
KEY = "sk-test-0123456789abcdef"

PLANNED = registered()


@contextmanager
def fingerprinted(script=None):
    with serving(traits.answerer(suite_of(PLANNED), traits.holds({})), script) as double:
        yield double


def texts(ended):
    return [o.value.text for o in ended.administration.observations]


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """What the planted subject says of each cell, asked directly."""
    provider = planted.answering(traits.answerer(suite_of(PLANNED), traits.holds({})))
    _, found, _ = studied(tmp_path_factory.mktemp("direct") / "ledger.db", provider, PLANNED)
    return [o.value.text for o in found.observations]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_fingerprint_in_a_batch_reads_as_asked_directly(tmp_path, name, answered):
    with fingerprinted() as double:
        ended = batch_killed.run(tmp_path, double.port, name)
        assert texts(ended) == answered
        assert double.created == 1 and ended.calls == 144
        again = batch_killed.run(tmp_path, double.port, name)
        assert (again.calls, again.head) == (0, ended.head) and double.created == 1
    assert not verify(tmp_path / "ledger.db").faults


def test_debates_go_in_a_batch_a_stage(tmp_path):
    with serving(None) as double:
        to = subject(double.port, "openai")
        registration, stimuli = debates_command.register(
            "standard", [to], ["free"], debates_named="best-food,tea-or-coffee")
        found = debates_command.lay_out(registration, stimuli)
        double.answer = debaters.answerer(found.suite, debaters.TRAITS["steady"])
        terms = Terms(batch=True, pace=PACE, quiet=True)
        ended = run_registered(tmp_path / "l.db", registration, stimuli, "d1", terms)
        stages = Counter(stage for _, stage in recorded(tmp_path / "l.db"))
        assert ended.administration.stopped is None and len(stages) >= 3
        assert double.created <= len(stages)
        assert sum(double.paid.values()) == sum(stages.values()) == ended.calls


def test_a_subject_that_costs_nothing_is_asked_beside_the_batch(tmp_path):
    with fingerprinted() as double:
        to = [subject(double.port, "openai"), planted.subject("holds")]
        registration, stimuli = registered(subjects=to)
        terms = Terms(batch=True, pace=PACE, quiet=True)
        ended = run_registered(tmp_path / "l.db", registration, stimuli, "r1", terms)
        assert ended.calls == 288 and all(texts(ended))
        assert double.created == 1 and sum(double.paid.values()) == 144


def recorded(path):
    ledger = Ledger.open(path, read_only=True)
    try:
        return {key: r.kind for key, r in ledger.recorded(ledger.runs()[0].seq).items()}
    finally:
        ledger.close()


def test_what_expired_is_asked_again_in_another_batch(tmp_path, answered):
    with fingerprinted(Script(ends="expired", then="completed")) as double:
        ended = batch_killed.run(tmp_path, double.port, "openai")
        assert texts(ended) == answered
        assert set(double.paid.values()) == {1} and double.created > 1


def test_a_cap_that_is_reached_waits_for_the_batch_under_way(tmp_path, answered):
    with fingerprinted() as double:
        ended = batch_killed.run(tmp_path, double.port, "anthropic", max_calls=50)
        assert ended.administration.stopped.code == 7
        assert Counter(recorded(tmp_path / "ledger.db").values()) == {"reply": 50}
        again = batch_killed.run(tmp_path, double.port, "anthropic", max_calls=500)
        assert texts(again) == answered
        assert set(double.paid.values()) == {1}


def test_a_batch_costs_half_where_that_is_known_and_is_reserved_in_full_elsewhere():
    assert share_of_price("https://api.anthropic.com") == 0.5
    assert share_of_price("https://api.openai.com.example.org/v1") == 1


def test_a_run_is_counted_at_half_only_where_all_of_it_was_asked_in_batches(tmp_path, monkeypatch):
    ledger, price = Ledger.open(tmp_path / "ledger.db"), Price(2.0, 8.0)
    run = ledger.register("r1", b"{}", {})
    to = replace(subject(1, "openai"), base_url="https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = dialect("openai").encode(to, [user("a")], "free", ())
    found = []
    for attempt, note in enumerate(("batches began", "batches over"), 1):
        ledger.note(run.seq, note, "{}")
        ledger.journal.append([Draft(
            Entry("intent", run.seq, "t", "s", attempt), request=asked)])
        prices = Batches(ledger, run, [to], PACE).prices({to.name: Priced(price, "--price")})
        found.append(prices[to.name].price)
    ledger.close()
    assert found == [Price(1.0, 4.0), price]


def test_money_is_reserved_before_a_batch_and_settled_after(tmp_path):
    with fingerprinted() as double:
        ended = batch_killed.run(
            tmp_path, double.port, "openai", prices={"": Price(1.0, 1.0)}, max_usd=1.0)
        assert ended.administration.stopped is None
        assert ended.spent_usd == pytest.approx(144 * (11 + 3) / 1e6)


# A death at any step.

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["batch_killed"])


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


def begun(folder, double, name):
    process = SERVER.Process(target=batch_killed.begin, args=(str(folder), double.port, name))
    process.start()
    return process


def count(path, kind):
    import apsw

    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        return db.execute("select count(*) from entries where kind = ?", (kind,)).get
    except apsw.Error:
        return 0


def wait_for(ready):
    until = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.002)


STEPS = ["intents written", "upload came", "uploaded", "creation came", "created", "looked at",
         "ended", "results asked", "half the results", "first reply written"]


@pytest.mark.parametrize("name, step", [
    (name, step) for name in BOTH for step in STEPS
    if not (name == "anthropic" and step.startswith("upload"))])
def test_a_run_killed_at_any_step_loses_nothing_and_pays_nothing_twice(
    tmp_path, name, step, answered
):
    path = tmp_path / "ledger.db"
    with fingerprinted(Script(hold=step)) as double:
        process = begun(tmp_path, double, name)
        if step == "intents written":
            wait_for(lambda: count(path, "intent") > 20)
        elif step == "first reply written":
            wait_for(lambda: count(path, "reply") > 0)
        else:
            assert double.reached.wait(30)
        process.kill()
        process.join()
        double.script.hold = ""
        made = double.created
        ended = batch_killed.run(tmp_path, double.port, name)
        assert texts(ended) == answered
        assert set(double.paid.values()) == {1} and len(double.paid) == 144
        assert double.created == max(made, 1)
    found = verify(path)
    assert not found.faults and not found.unsettled


def test_a_run_killed_again_and_again_loses_nothing_and_pays_nothing_twice(tmp_path, answered):
    with fingerprinted() as double:
        for step in ("uploaded", "created", "looked at", "half the results", "results asked"):
            double.script.hold = step
            double.reached.clear()
            process = begun(tmp_path, double, "openai")
            assert double.reached.wait(30)
            process.kill()
            process.join()
        double.script.hold = ""
        assert texts(batch_killed.run(tmp_path, double.port, "openai")) == answered
        assert set(double.paid.values()) == {1} and double.created == 1


@pytest.mark.soak
@pytest.mark.parametrize("name", BOTH)
def test_kills_at_random_moments_lose_nothing_and_pay_nothing_twice(tmp_path, name, answered):
    rng, kills, runs = random.Random(7), 0, 0
    while kills < 100:
        runs += 1
        folder = tmp_path / str(runs)
        folder.mkdir()
        with fingerprinted(Script(looks=6, early=1, broken=1)) as double:
            for _ in range(6):
                process = begun(folder, double, name)
                process.join(rng.uniform(0.05, 0.8))
                kills += process.is_alive()
                process.kill()
                process.join()
            assert texts(batch_killed.run(folder, double.port, name)) == answered
            assert set(double.paid.values()) == {1} and len(double.paid) == 144
        assert not verify(folder / "ledger.db").unsettled
    print(f"\n{name}: {kills} kills in {runs} runs: 0 lost, 0 paid twice")


def test_a_run_with_calls_in_a_batch_is_not_asked_otherwise(tmp_path, answered):
    with fingerprinted(Script(hold="looked at")) as double:
        process = begun(tmp_path, double, "openai")
        assert double.reached.wait(30)
        process.kill()
        process.join()
        double.script.hold = ""
        with pytest.raises(Misuse, match="144 calls .* with --batch"):
            batch_killed.run(tmp_path, double.port, "openai", batch=False, retry_unknown=True)
        assert texts(batch_killed.run(tmp_path, double.port, "openai")) == answered
        assert batch_killed.run(tmp_path, double.port, "openai", batch=False).calls == 0


def test_a_run_whose_note_of_a_batch_was_erased_is_not_gone_on_with(tmp_path):
    with fingerprinted() as double:
        batch_killed.run(tmp_path, double.port, "openai")
        ledger = Ledger.open(tmp_path / "ledger.db")
        [run] = ledger.runs()
        note = next(n for n in ledger.noted(run.seq) if n.about == "batch created")
        ledger.erase(note.seq, "a test")
        ledger.close()
        with pytest.raises(Misuse, match=f"The note {note.seq} .* was erased"):
            batch_killed.run(tmp_path, double.port, "openai")
        assert double.created == 1


def test_an_interrupt_leaves_the_batch_and_the_same_command_picks_it_up(tmp_path, answered):
    with fingerprinted(Script(looks=10**6)) as double:
        for _ in range(2):  # While it is first waited for, and while it is picked up.
            process, looks = begun(tmp_path, double, "openai"), len(double.went)
            wait_for(lambda looks=looks: [w for w, _ in double.went[looks:]].count("looked at") > 2)
            os.kill(process.pid, signal.SIGINT)
            process.join(10)
            assert process.exitcode == 130
        assert "the same command picks them up" in (tmp_path / "said").read_text()
        assert verify(tmp_path / "ledger.db").unsettled == 144
        double.script.looks = 1
        assert texts(batch_killed.run(tmp_path, double.port, "openai")) == answered
        assert set(double.paid.values()) == {1} and double.created == 1


# From the command line.


@pytest.mark.parametrize("name", BOTH)
def test_run_batch_from_the_command_line(equipoise, name):
    with fingerprinted() as double:
        model = f"{name}:m@{base(double.port, name)}"
        words = ("run", "fingerprint", "--suite", "demo", "-s", model, "--batch", "--yes")
        code, out, err = equipoise(*words, "--max-calls", 200)
        assert code == 0 and "144 calls" in err
        assert "batch: 144 of 144 done at the provider" in err
        code, out, err = equipoise(*words, "--max-calls", 200, "--per-minute", 5)
        assert code == 2 and "--per-minute" in err


def test_a_subject_without_a_batch_interface_is_refused(equipoise):
    code, _, err = equipoise("run", "fingerprint", "--suite", "demo", "-s", "planted:holds",
                             "--batch")
    assert code == 2 and "these have: openai, responses, anthropic" in err


def test_a_server_without_a_batch_interface_is_said_to_have_none(equipoise):
    with fingerprinted() as double:
        model = f"openai:m@http://127.0.0.1:{double.port}/other"
        code, _, err = equipoise("run", "fingerprint", "--suite", "demo", "-s", model, "--batch",
                                 "--yes", "--max-calls", 200)
        assert code == 2 and "does not know this model or address" in err


def test_a_read_only_look_at_a_run_in_a_batch_shows_what_is_there(tmp_path):
    with fingerprinted(Script(hold="looked at")) as double:
        process = begun(tmp_path, double, "openai")
        assert double.reached.wait(30)
        process.kill()
        process.join()
        ledger = Ledger.open(tmp_path / "ledger.db", read_only=True)
        _, _, found = read_run(ledger, "r1")
        ledger.close()
        assert len(found.observations) == 144
