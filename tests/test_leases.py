"""Workers that share a run: each trial is one worker's at a time, under one pace and one cap."""

import asyncio
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from equipoise.cli.planning import plan
from equipoise.cli.running import Terms
from equipoise.cli.studies import study
from equipoise.cli.worker import Charges, work
from equipoise.ledger import Ledger, verify
from equipoise.ledger.journal import LeaseLost, OverCap
from equipoise.ledger.leases import Team
from equipoise.providers import planted
from equipoise.providers.prices import Price
from equipoise.terms import Fault, Misuse, Reply, Usage
from meddling import rows
from mocked import mocked
from studying import registered
from test_ledger import request

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["test_leases"])
FREE, CELLS = Charges(lambda subject: None), 288
DEMO = registered("demo", (planted.subject("holds"),))


@pytest.fixture
def where(server):
    return server.database()


@pytest.fixture(autouse=True)
def _found(monkeypatch):
    """The fork server imports what it preloads before it is told our path."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), before]))


@pytest.fixture
def team(where):
    ledger = Ledger.open(where)
    run = ledger.register("r1", b"{}", {})
    found = Team(where, run.seq)
    yield found
    found.close()
    ledger.close()


def gathered(team, trials=6, *, spent=(0, 0.0), **limits):
    more = {"max_calls": None, "max_usd": None, "per_minute": None} | limits
    team.gather([f"s/{n}" for n in range(trials)], spent=spent, **more)
    return team


def test_a_trial_is_leased_to_one_worker_at_a_time_in_order(team):
    gathered(team)
    one, two, three = (team.lease(f"w{n}", 3, 60) for n in range(3))
    assert (one.trials, one.places) == (("s/0", "s/1", "s/2"), (0, 1, 2))
    assert two.trials == ("s/3", "s/4", "s/5")
    assert two.fence > one.fence
    assert three is None
    team.give_back(one, done=True)
    team.give_back(two, done=False)
    assert team.left() == 3
    assert team.lease("w3", 9, 60).trials == two.trials


def test_a_lease_that_ran_out_is_anothers_and_cannot_be_renewed(team):
    gathered(team)
    late = team.lease("w1", 2, 0.05)
    assert team.renew(late, 0.05)
    time.sleep(0.1)
    assert not team.renew(late, 60)
    again = team.lease("w2", 2, 60)
    assert again.trials == late.trials and again.fence > late.fence
    team.give_back(late, done=True)
    assert team.left() == 6


def test_a_worker_that_is_gone_gives_up_its_leases_at_once(team):
    gathered(team)
    gone = team.lease("w1", 2, 60)
    team.free("w1")
    assert not team.renew(gone, 60)
    assert team.lease("w2", 2, 60).trials == gone.trials


async def intended(ledger, keys):
    found = await asyncio.gather(
        *(ledger.intend(1, key, "choice", 1, request(key)) for key in keys),
        return_exceptions=True)
    return [type(one) for one in found]


def test_an_intent_is_written_only_while_its_lease_holds(where, team):
    gathered(team)
    lease = team.lease("w1", 2, 0.2)
    ledger = Ledger.open(where)
    leased = ledger.under(lease, FREE)
    assert asyncio.run(intended(leased, ["s/0"])) == [int]
    time.sleep(0.25)
    assert asyncio.run(intended(leased, ["s/1"])) == [LeaseLost]
    other = team.lease("w2", 2, 60)
    assert asyncio.run(intended(leased, ["s/1"])) == [LeaseLost]
    assert asyncio.run(intended(ledger.under(other, FREE), ["s/1"])) == [int]
    ledger.close()
    assert rows(where, "select key from entries where kind = 'intent'") == [("s/0",), ("s/1",)]


def test_one_lost_lease_does_not_stop_what_is_handed_in_beside_it(where, team):
    gathered(team)
    lost, held = team.lease("w1", 1, 0.01), team.lease("w2", 1, 60)
    time.sleep(0.05)
    ledger = Ledger.open(where)

    async def both():
        return await asyncio.gather(*(
            intended(ledger.under(lease, FREE), lease.trials) for lease in (lost, held)))

    assert asyncio.run(both()) == [[LeaseLost], [int]]
    ledger.close()


def test_a_late_reply_settles_its_own_intent_and_is_not_counted_twice(where, team):
    gathered(team, 1)
    ledger = Ledger.open(where)
    first = ledger.under(team.lease("w1", 1, 0.05), FREE)

    async def late():
        intent = await first.intend(1, "s/0", "choice", 1, request(0))
        await asyncio.sleep(0.1)
        second = ledger.under(team.lease("w2", 1, 60), FREE)
        seen = [r.kind for r in second.recorded(1).values()]
        again = await second.intend(1, "s/0", "choice", 2, request(0))
        await second.settle(1, again, Reply(b"asked again"), 0.1)
        await first.settle(1, intent, Reply(b"late"), 9.0)
        return seen

    assert asyncio.run(late()) == ["intent"]
    [counted] = ledger.recorded(1).values()
    assert ledger.reply(counted).body == b"asked again"
    assert [sent.kind for sent in ledger.calls(1)] == ["reply", "reply"]
    ledger.close()
    assert verify(where).faults == ()


def test_workers_together_pass_no_cap_on_calls(where, team):
    gathered(team, 40, max_calls=25, spent=(5, 0.0))
    ledgers = [Ledger.open(where) for _ in range(4)]

    async def asked():
        return await asyncio.gather(*(
            intended(ledger.under(lease, FREE), lease.trials)
            for ledger in ledgers for lease in [team.lease("w", 10, 60)]))

    found = Counter(kind for one in asyncio.run(asked()) for kind in one)
    for ledger in ledgers:
        ledger.close()
    assert found == {int: 20, OverCap: 20}
    assert team.spent() == (25, 0.0)


class Priced:
    """Every call may cost a dollar and costs a quarter."""

    def worst(self, request):
        return 1.0

    def booked(self, request, outcome):
        return 0.0 if isinstance(outcome, Fault) and not outcome.sent else 0.25


def test_money_is_reserved_at_its_worst_and_put_right_by_what_came_of_it(where, team):
    gathered(team, 8, max_usd=3.5, spent=(1, 0.5))
    ledger = Ledger.open(where)
    leased = ledger.under(team.lease("w1", 8, 60), Priced())

    async def asked():
        intents = await asyncio.gather(*(
            leased.intend(1, f"s/{n}", "choice", 1, request(n)) for n in range(3)))
        reserved = team.spent()
        over = await intended(leased, ["s/3"])
        await leased.settle(1, intents[0], Reply(b"{}"), 0.1)
        await leased.settle(1, intents[1], Fault("unreachable", sent=False), 0.1)
        after = team.spent()
        fits = await intended(leased, ["s/4"])
        return reserved, over, after, fits

    assert asyncio.run(asked()) == ((4, 3.5), [OverCap], (3, 1.75), [int])
    ledger.close()


def test_a_price_is_booked_as_it_is_in_one_process():
    price, asked = Price(1.0, 2.0), request(1)
    asked = type(asked)(asked.subject, asked.messages, body=b'{"max_tokens":100}')
    told = Reply(b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],'
                 b'"usage":{"prompt_tokens":10,"completion_tokens":5}}')
    charges = Charges(lambda subject: price)
    assert charges.booked(asked, told) == price.cost(Usage(10, 5)) == 20e-6
    assert charges.booked(asked, Reply(b"{}")) == charges.worst(asked) == price.worst(asked.body)
    assert charges.booked(asked, Reply(b"{}", 500)) == 0.0
    assert charges.booked(asked, Fault("unknown")) == charges.worst(asked)
    assert charges.booked(asked, Fault("unreachable", sent=False)) == 0.0


def begun(where, planned, terms):
    """A registered run, its trials gathered; returns the team that its caller holds."""
    registration, stimuli = planned
    ledger = Ledger.open(where)
    run = ledger.register("r1", registration.as_json(), stimuli.texts)
    ledger.close()
    team = Team(where, run.seq)
    team.gather([trial.key for trial in study(*planned).trials], max_calls=terms.max_calls,
                max_usd=terms.max_usd, spent=(0, 0.0), per_minute=terms.per_minute)
    return team


def worked(where, terms, workers=4, seconds=30.0):
    """Workers as threads; returns why each stopped."""
    said = {}

    def one(n):
        try:
            said[n] = work(where, "r1", f"w{n}", terms, seconds)
        except BaseException as error:
            said[n] = repr(error)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [said[n] for n in range(workers)]


def test_workers_ask_every_trial_once_and_no_faster_than_one_process_may(where):
    terms = Terms(per_minute=3600, at_once=8)
    team = begun(where, DEMO, terms)
    assert worked(where, terms) == [""] * 4
    times = [at for [at] in rows(
        where, "select at from entries where kind = 'intent' order by at")]
    found = verify(where)
    assert (found.unsettled, found.faults, team.left()) == (0, (), 0)
    assert len(times) == 144
    for window in (0.5, 1.0, 2.0):
        most = max(sum(t <= at < t + 1e6 * window for at in times) for t in times)
        assert most <= 60 * 1.05 * window + 1 + 4 * 15
    assert 143 / ((times[-1] - times[0]) / 1e6) <= 60 * 1.05
    team.close()


def test_workers_and_one_process_come_to_the_same_page_byte_for_byte(
    where, equipoise, tmp_path
):
    asked = {"instrument": "fingerprint", "subjects": ["planted:flips-coins"],
             "answers": "free,first-token", "suite": "demo"}
    planned, terms = plan(**asked), Terms(at_once=4)
    code, _, err = equipoise("run", "fingerprint", "--suite", "demo", "--answers",
                             asked["answers"], "--subject", *asked["subjects"], "--run", "r1",
                             "--ledger", "one.db")
    assert code == 0, err
    team = begun(where, planned, terms)
    assert worked(where, terms) == [""] * 4
    team.close()
    order = "select key from entries where kind = 'intent' order by seq"
    assert rows(tmp_path / "one.db", order) != rows(where, order)
    require_same(equipoise, tmp_path / "one.db", where)


def require_same(equipoise, one, other):
    """All that is made of two ledgers' run r1 is the same, byte for byte."""
    cells, findings, pages = (
        [equipoise(*words, "--ledger", getattr(place, "url", place))[1] for place in (one, other)]
        for words in (("export", "r1", "--format", "jsonl"), ("read", "r1", "--json"),
                      ("report", "r1", "--out", "-")))
    assert cells[0].count("\n") == CELLS and cells[0] == cells[1]
    assert findings[0] == findings[1]
    assert pages[0] != pages[1]
    assert timeless(pages[0], one) == timeless(pages[1], other)


def timeless(page, place):
    """A page without what is each ledger's own: its head, and when the run was registered."""
    ledger = Ledger.open(place, read_only=True)
    head = str(ledger.head())
    ledger.close()
    assert head in page
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", page.replace(head, "HEAD"))


def test_a_cap_stops_all_workers_and_says_so(where):
    terms = Terms(max_calls=50, at_once=8)
    team = begun(where, DEMO, terms)
    said = worked(where, terms)
    assert all("The cap of 50 calls is reached" in one for one in said)
    assert team.stopped().code == 7
    assert rows(where, "select count(*) from entries where kind = 'intent'") == [(50,)]
    team.close()


def test_workers_that_are_told_to_stop_ask_nothing(where):
    terms = Terms(at_once=4)
    team = begun(where, DEMO, terms)
    team.stop(Misuse("Stopped by a person.", 130))
    assert worked(where, terms, 2) == ["Stopped by a person."] * 2
    assert team.left() == 144
    team.close()


def test_a_worker_paused_past_its_lease_pays_nothing_twice(where):
    with mocked(0.15) as mock:
        planned = plan("fingerprint", [mock.subject()], "free", suite="demo")
        terms = Terms(at_once=8, attempts=1)
        team = begun(where, planned, terms)
        os.environ["EQUIPOISE_API_KEY"] = "k"
        try:
            paused = SERVER.Process(target=work, args=(where, "r1", "paused", terms, 1.0))
            paused.start()
            while mock.count < 24:
                time.sleep(0.01)
            os.kill(paused.pid, signal.SIGSTOP)
            assert worked(where, terms, 1, 1.0) == [""]
            asked = mock.count
            os.kill(paused.pid, signal.SIGCONT)
            paused.join(30)
        finally:
            del os.environ["EQUIPOISE_API_KEY"]
        assert paused.exitcode == 0
        assert mock.count == asked <= 144
        team.close()
    found = verify(where)
    assert (found.unsettled, found.faults) == (0, ())
    attempts = rows(where, "select attempt, count(*), count(distinct key) from entries"
                           " where kind = 'intent' group by attempt")
    assert attempts == [(1, 144, 144)]
