"""A cap on money holds at any moment: over calls at once, processes, deaths and resumes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from billing import Account, billing
from equipoise.ledger import BudgetBook, Cap, Share
from equipoise.providers.limits import Budget, budgeted
from equipoise.providers.openai_chat import encode
from equipoise.providers.prices import Price
from equipoise.terms import Fault, Misuse, Reply, Subject, canonical_json, user
from test_limits import stated

CENT = 1e-9
SEEDS = 50
DOLLAR = Price(0, 1e6)


def request(worst: int):
    subject = Subject("m", "m", "m", "openai", settings={"max_tokens": worst})
    return encode(subject, (user("mercy or justice?"),), "free", ())


class World:
    """Every process's calls under one cap; what is owed is watched at every step."""

    def __init__(self, cap: float, seed: int, book: BudgetBook | None = None) -> None:
        self.cap, self.rng, self.book = cap, random.Random(seed), book
        self.owed, self.samples, self.budgets = 0.0, 0, []

    def look(self) -> None:
        """Settled + reserved + unknown at its worst never passes the cap; the books agree."""
        self.samples += 1
        held = sum(b.spent_usd + b.reserved_usd for b in self.budgets)
        assert self.owed <= held + CENT
        assert held <= self.cap + CENT

    def look_in_the_book(self) -> None:
        if self.book is not None:
            taken = self.book.totals("b").taken_usd
            assert sum(b.spent_usd + b.reserved_usd for b in self.budgets) <= taken + CENT
            assert taken <= self.cap + CENT

    async def provider(self, asked):
        """Bills a share of the worst; one call in twenty is reset after it was sent."""
        worst = DOLLAR.worst(asked.body)
        self.owed += worst
        for _ in range(self.rng.randrange(1, 4)):
            self.look()
            await asyncio.sleep(0)
        fate = self.rng.random()
        if fate < 0.05:
            return Fault("unknown", "reset")
        if fate < 0.08:
            self.owed -= worst
            return Fault("unreachable", sent=False)
        if fate < 0.10:
            self.owed -= worst
            return Reply(b"", 503)
        cost = worst * self.rng.uniform(0.02, 1.0)
        self.owed += cost - worst
        self.look()
        return Reply(canonical_json({"choices": [{"message": {"content": "mercy"}}],
                                     "usage": {"cost": cost}}))

    async def spend(self, budget: Budget, at_once: int, calls: int) -> int:
        """Make calls until there are none left or the cap is reached; how many were refused."""
        self.budgets.append(budget)
        guarded = budgeted(budget, lambda subject: DOLLAR, stated)(self.provider)
        queue, refused = iter(range(calls)), []

        async def worker():
            for _ in queue:
                found = await guarded(request(self.rng.randrange(1, 40)))
                if isinstance(found, Fault) and found.kind == "over budget":
                    refused.append(found)
                    return

        await asyncio.gather(*(worker() for _ in range(at_once)))
        budget.settled()
        return len(refused)


@pytest.mark.parametrize("at_once", [1, 8, 64, 256])
def test_what_is_settled_reserved_and_unknown_is_under_the_cap_in_every_sample(at_once):
    samples = 0
    for seed in range(SEEDS):
        cap = random.Random(seed).choice([0, 40, 300, 1500, 6000])
        world = World(cap, seed)
        budget = Budget(max_usd=cap)
        refused = asyncio.run(world.spend(budget, at_once, 400))
        samples += world.samples
        if refused:
            assert budget.spent_usd >= 0.9 * cap - 4 or cap < 400
    assert samples > 50 * SEEDS


@pytest.fixture
def book(tmp_path):
    made = BudgetBook.open(tmp_path / "ledger.db")
    yield made
    made.close()


@pytest.mark.parametrize("at_once", [1, 8, 64, 256])
def test_runs_that_share_a_budget_keep_its_cap_between_them(book, tmp_path, at_once):
    for seed in range(3):
        cap = [400.0, 1500.0, 4000.0][seed]
        name = f"r{seed}"
        book.set_cap("b", Cap(usd=cap))
        world = World(cap, seed, book)

        async def session(run, world=world, cap=cap):
            other = BudgetBook.open(tmp_path / "ledger.db")
            with other.spending(run):
                budget = Budget(max_usd=cap, share=Share(other, "b", run))
                try:
                    return await world.spend(budget, at_once, 250)
                finally:
                    other.close()

        async def both(name=name, world=world, session=session):
            async def sampled(done):
                while not done.is_set():
                    world.look_in_the_book()
                    await asyncio.sleep(0.002)

            done = asyncio.Event()
            sampling = asyncio.create_task(sampled(done))
            refused = await asyncio.gather(session(f"{name}-a"), session(f"{name}-b"))
            done.set()
            await sampling
            return refused

        refused = asyncio.run(both())
        totals = book.totals("b")
        spent = sum(b.spent_usd for b in world.budgets)
        assert totals.taken_usd == totals.settled_usd == pytest.approx(spent)
        assert spent <= cap + CENT
        if any(refused):
            assert spent >= 0.9 * cap - 40
        for run in totals.runs:
            book.settled("b", run, 0.0, 0)


def test_a_call_waits_for_what_another_process_gives_back(book):
    book.set_cap("b", Cap(usd=10.0))
    ours, theirs = Share(book, "b", "ours"), Share(book, "b", "theirs")
    assert theirs.reserve_slice(8.0, 0) == (8.0, 0)

    async def go():
        budget, told = Budget(max_usd=10.0, share=ours), []
        budget.waits = lambda: told.append("waits")
        with book.spending("theirs"):
            waiting = asyncio.create_task(budget.reserve(5.0))
            await asyncio.sleep(0.3)
            assert not waiting.done() and told == ["waits"]
            theirs.settled(3.0, 1)
            return await waiting

    assert asyncio.run(go()) is None
    assert book.totals("b").taken_usd == 8.0


def test_what_a_process_that_died_has_taken_is_not_waited_for_and_not_spent_again(book):
    book.set_cap("b", Cap(usd=10.0))
    assert Share(book, "b", "died").reserve_slice(8.0, 0) == (8.0, 0)
    budget = Budget(max_usd=10.0, share=Share(book, "b", "ours"))
    refused = asyncio.run(budget.reserve(5.0))
    assert refused.kind == "over budget" and not refused.sent
    assert book.totals("b").taken_usd == 8.0 and book.open_shares("b") == ("died",)


def test_two_that_hold_a_little_each_do_not_wait_for_each_other(book):
    book.set_cap("b", Cap(usd=10.0))

    async def go():
        first, second = (Budget(max_usd=10.0, share=Share(book, "b", run)) for run in "xy")
        with book.spending("x"), book.spending("y"):
            for budget in (first, second):
                assert await budget.reserve(4.0) is None
                budget.settle(4.0, 0.5)

            async def spend(budget):
                if (refused := await budget.reserve(8.5)) is None:
                    budget.settle(8.5, 8.5)
                    budget.settled()
                return refused

            return await asyncio.wait_for(asyncio.gather(spend(first), spend(second)), 10)

    found = asyncio.run(go())
    assert sorted(f is None for f in found) == [False, True]


def test_a_cap_on_calls_is_shared_too(book):
    book.set_cap("b", Cap(calls=100))

    async def one(run):
        with book.spending(run):
            budget = Budget(max_calls=100, share=Share(book, "b", run))
            made = 0
            while await budget.reserve(0.0) is None:
                budget.settle(0.0, 0.0)
                made += 1
                await asyncio.sleep(0)
            budget.settled()
            return made

    async def both():
        return await asyncio.gather(one("x"), one("y"))

    assert sum(asyncio.run(both())) == 100
    assert book.totals("b").taken_calls == 100


def test_a_slice_is_no_more_than_a_64th_of_the_cap_or_a_quarter_of_what_is_left(book):
    book.set_cap("b", Cap(usd=64.0))
    share = Share(book, "b", "r")
    assert share.reserve_slice(0.25, 0) == (1.0, 0)
    assert share.reserve_slice(61.0, 0) == (61.0, 0)
    assert share.reserve_slice(0.25, 0) == (0.5, 0)
    assert share.reserve_slice(1.75, 0) is None
    assert share.reserve_slice(1.5, 0) == (1.5, 0)


def test_a_file_that_is_no_book_is_refused(tmp_path):
    (tmp_path / "ledger.db.budgets").write_text("shopping\n" * 200)
    with pytest.raises(Misuse) as error:
        BudgetBook.open(tmp_path / "ledger.db")
    assert error.value.code == 5


# Over the command line: what the provider is owed, whatever dies.

PRICE = Price(2.0, 10.0)
TERMS = ["--price", "2,10", "--yes", "--no-progress", "--json"]


def asking(url, *more, suite="demo", limit=100):
    return ["run", "fingerprint", "--suite", suite, "-s", f"openai:m@{url}?max_tokens={limit}",
            *TERMS, *map(str, more)]


def process(tmp_path, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "equipoise", *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | {"EQUIPOISE_LEDGER": str(tmp_path / "ledger.db")})


@pytest.mark.parametrize("resets", [0.0, 0.05])
def test_two_processes_a_kill_and_a_resume_stay_under_one_cap(tmp_path, equipoise, resets):
    """C6: at no moment, over all processes, is the provider owed more than the cap."""
    cap = 0.25
    account = Account(PRICE, seed=3, resets=resets, seconds=0.01,
                      tokens=lambda rng, text: rng.randrange(20, 100))
    with billing(account) as url:
        shared = ["--max-usd", cap, "--budget", "lab", "--at-once", 16]
        one = asking(url, *shared, "--run", "one", "--draws", 2)
        two = asking(url, *shared, "--run", "two", "--draws", 3)
        first, second = process(tmp_path, *one), process(tmp_path, *two)
        until = time.monotonic() + 60
        while account.calls < 100 and time.monotonic() < until:
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        went_on = process(tmp_path, *one)
        ended = [p.communicate(timeout=120) + (p.returncode,) for p in (second, went_on)]
    assert account.most_owed <= cap + CENT
    assert {code for *_, code in ended} == {7}, ended
    code, out, _ = equipoise("costs", "one", "--json")
    booked = json.loads(out)["total"]["cost_usd"]
    [budget] = json.loads(out)["budgets"]
    booked += json.loads(equipoise("costs", "two", "--json")[1])["total"]["cost_usd"]
    assert account.billed <= booked + CENT <= cap + 2 * CENT
    assert budget["budget"] == "lab" and budget["runs"] == ["one", "two"]
    assert budget["taken_usd"] == pytest.approx(booked)
    assert booked >= 0.9 * cap


def test_a_cap_holds_over_a_resume_that_names_none_and_is_raised_by_name(equipoise, tmp_path):
    account = Account(PRICE, tokens=lambda rng, text: 50)
    with billing(account) as url:
        code, _, err = equipoise(*asking(url, "--run", "r", "--max-usd", 0.02))
        assert code == 7 and "cap of $0.02" in err
        spent = account.billed
        assert 0.9 * 0.02 <= spent <= 0.02
        code, _, err = equipoise(*asking(url, "--run", "r", "--max-calls", 1000))
        assert code == 7 and account.billed == spent
        code, _, err = equipoise(*asking(url, "--run", "r", "--max-usd", 5))
        assert code == 0 and "now $5.00" in err and "it was $0.02" in err
    assert account.calls == 144


def test_a_budget_in_money_is_not_spent_from_at_an_unknown_price(equipoise):
    account = Account(PRICE)
    with billing(account) as url:
        equipoise(*asking(url, "--run", "r", "--max-usd", 0.01))
        calls = account.calls
        words = [w for w in asking(url, "--run", "r", "--max-calls", 999) if w != "--price"
                 and w != "2,10"]
        code, _, err = equipoise(*words)
    assert code == 2 and "no price is known for m" in err and account.calls == calls


@pytest.mark.parametrize("at_once", [1, 8, 64])
def test_a_provider_that_bills_three_times_the_bound_stops_the_run(equipoise, at_once):
    """C2: the overshoot is at most that of the calls in flight, and the run says why it stops."""
    cap = 0.05
    account = Account(PRICE, times=3, states_cost=True, seconds=0.02,
                      tokens=lambda rng, text: 100)
    with billing(account) as url:
        code, _, err = equipoise(*asking(url, "--max-usd", cap, "--at-once", at_once))
    assert code == 7
    assert "was billed" in err and "nothing more is sent" in err and "To go on" in err
    assert account.calls <= 2 * at_once
    over = sum(bill - account.worsts[name] for name, bill in account.bills.items())
    assert over > 0 and account.billed - cap <= over


def test_a_thousand_calls_with_resets_are_booked_at_no_less_than_the_bill(equipoise):
    """B5: one reply in twenty breaks off after it was billed."""
    account = Account(PRICE, resets=0.05, seed=5)
    with billing(account) as url:
        equipoise(*asking(url, "--run", "r", "--draws", 7, "--max-usd", 50, "--at-once", 16))
    total = json.loads(equipoise("costs", "r", "--json")[1])["total"]
    assert account.calls >= 1000 and total["outcomes"]["unknown"] > 20
    assert total["cost_usd"] >= account.billed
    assert total["worst_usd"] < 0.5


def test_a_shared_budget_without_a_cap_is_refused(equipoise):
    code, _, err = equipoise(*asking("http://127.0.0.1:9/v1", "--budget", "lab", "--max-calls", 9))
    assert code != 2, err
    code, _, err = equipoise("run", "fingerprint", "-s", "planted:holds", "--budget", "none")
    assert code == 2 and "'none' has no cap" in err


def test_a_call_asked_again_after_it_was_unknown_is_booked_twice(equipoise):
    account = Account(PRICE, resets=1.0, tokens=lambda rng, text: 100)
    with billing(account) as url:
        words = asking(url, "--run", "r", "--max-usd", 5, "--attempts", 1)
        equipoise(*words)
        once = json.loads(equipoise("costs", "r", "--json")[1])["total"]
        account.resets = 0.0
        assert equipoise(*words, "--retry-unknown")[0] == 0
        twice = json.loads(equipoise("costs", "r", "--json")[1])["total"]
    assert once["outcomes"]["unknown"] == twice["outcomes"]["unknown"] == account.calls - 144
    assert twice["worst_usd"] == once["worst_usd"] > 0
    assert twice["cost_usd"] > account.billed
