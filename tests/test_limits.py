"""Money and calls are reserved before they are spent, so a cap holds at any moment."""

from __future__ import annotations

import asyncio
import math
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equipoise.administer import administer
from equipoise.desk import Desk, Patience
from equipoise.ledger import Ledger, verify
from equipoise.providers.http import Timeouts, sender
from equipoise.providers.limits import Budget, budgeted, paced
from equipoise.providers.openai_chat import decode, encode
from equipoise.providers.prices import Price
from equipoise.terms import (
    Completion,
    Fault,
    Instrument,
    Misuse,
    Nonresponse,
    Reply,
    Request,
    Subject,
    Trial,
    Usage,
    canonical_json,
    user,
)
from faulty_server import response, saying, serving

CENT = 1e-9
"""Sums of binary fractions may differ by as much."""
DOLLAR = Price(0, 1e6)
"""A dollar a completion token: what a call costs is how many it used."""


def call(worst: int) -> Request:
    subject = Subject("m", "m", "m", "openai", settings={"max_tokens": worst})
    return encode(subject, (user("mercy or justice?"),), "free", ())


def dollar(subject: Subject) -> Price:
    return DOLLAR


def stated(request: Request, reply: Reply) -> Usage:
    found = decode(reply)
    return found.usage if isinstance(found, Completion) else Usage()


def charged(cost: float) -> Reply:
    return Reply(canonical_json({"choices": [{"message": {"content": "mercy"}}],
                                 "usage": {"cost": cost}}))


class Bill:
    """What a provider is owed, watched against the cap by every call at every step.

    A call on the wire is owed at its worst, and one that is over at what it cost.
    """

    def __init__(self, budget: Budget, cap: float) -> None:
        self.budget, self.cap, self.owed = budget, cap, 0.0
        self.calls = self.at_once = self.most_at_once = 0

    def provider(self, outcome: Reply | Fault, actual: float):
        """A provider of that outcome, which costs so much."""

        async def provider(request: Request) -> Reply | Fault:
            worst = DOLLAR.worst(request.body)
            self.calls += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.owed += worst
            for _ in range(1 + self.calls % 5):
                self._look()
                await asyncio.sleep(0)
            self.owed += actual - worst
            self.at_once -= 1
            self._look()
            return outcome

        return provider

    def _look(self) -> None:
        assert max(self.owed, self.budget.spent_usd) <= self.cap + CENT


def spend(cap, at_once, calls):
    """Make (worst, outcome, actual) calls under a cap; returns (budget, bill, refusals)."""
    budget = Budget(max_usd=cap)
    bill = Bill(budget, cap)
    refused = []

    async def worker(queue):
        for worst, outcome, actual in queue:
            guarded = budgeted(budget, dollar, stated)(bill.provider(outcome, actual))
            found = await guarded(call(worst))
            if isinstance(found, Fault) and found.kind == "over budget":
                refused.append((worst, budget.spent_usd, bill.at_once))
                assert not found.sent

    async def go():
        queue = iter(calls)
        await asyncio.gather(*(worker(queue) for _ in range(at_once)))

    asyncio.run(go())
    return budget, bill, refused


def a_call(worst, share, form):
    """A call that may cost `worst`: its outcome, and what it costs in truth."""
    cost = round(worst * share, 6)
    return worst, *{
        "charged": (charged(cost), cost), "unknown": (Fault("unknown", "reset"), worst),
        "silent": (Reply(b"<html>"), worst),
        "unreachable": (Fault("unreachable", sent=False, transient=True), 0.0),
    }[form]


FORMS = ["charged"] * 5 + ["unknown", "silent", "unreachable"]
CALLS = st.lists(
    st.builds(a_call, st.integers(1, 60), st.floats(0, 1), st.sampled_from(FORMS)),
    min_size=1, max_size=150,
)


@pytest.mark.parametrize("at_once", [1, 8, 64])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(cap=st.floats(0, 1500), calls=CALLS)
@example(cap=0.0, calls=[a_call(1, 0, "charged")])
def test_what_is_owed_never_passes_the_cap(at_once, cap, calls):
    budget, bill, refused = spend(cap, at_once, calls)
    assert budget.spent_usd == pytest.approx(bill.owed, abs=1e-6)
    assert bill.calls + len(refused) == len(calls)
    for worst, spent, at_once_then in refused:
        assert at_once_then == 0, "refused while a call on the wire could still have made room"
        assert spent + worst > cap - CENT


@pytest.mark.parametrize("at_once", [1, 8, 64])
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_nine_tenths_of_a_cap_can_be_used_because_calls_wait(at_once, share):
    cap = 1000
    calls = [a_call(40 + place % 20, share, "charged")
             for place in range(round(1.5 * cap / 40 / share))]
    budget, bill, refused = spend(cap, at_once, calls)
    assert 0.9 * cap <= budget.spent_usd <= cap
    assert refused
    assert (bill.most_at_once > 1) == (at_once > 1)


@pytest.mark.parametrize("at_once", [1, 8, 64])
@pytest.mark.parametrize("most", [0, 1, 7, 100])
def test_a_cap_on_calls_is_exact(at_once, most):
    reached = []

    async def provider(request):
        reached.append(request)
        await asyncio.sleep(0)
        return charged(0)

    async def go():
        guarded = budgeted(Budget(max_calls=most), lambda subject: None, stated)(provider)
        gate = asyncio.Semaphore(at_once)

        async def one():
            async with gate:
                return await guarded(call(1))

        return await asyncio.gather(*(one() for _ in range(120)))

    found = asyncio.run(go())
    assert len(reached) == most
    refused = [o for o in found if isinstance(o, Fault)]
    assert len(refused) == 120 - most
    assert {(o.kind, o.sent, o.transient) for o in refused} == {("over budget", False, False)}


def settled(outcome, price=DOLLAR, worst=10, budget=None):
    """What a budget has spent after one call with this outcome."""
    budget = budget or Budget(max_usd=100)

    async def provider(request):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def go():
        found = await asyncio.gather(
            budgeted(budget, lambda subject: price, stated)(provider)(call(worst)),
            return_exceptions=True)
        return found[0]

    assert type(asyncio.run(go())) is type(outcome)
    return budget.spent_usd


def usage(fields: str, status=200) -> Reply:
    return Reply(b'{"choices":[{"message":{"content":"mercy"}}],"usage":%s}' % fields.encode(),
                 status)


@pytest.mark.parametrize(("outcome", "spent"), [
    (charged(3.5), 3.5), (charged(0), 0), (usage('{"prompt_tokens":5,"completion_tokens":2}'), 2),
    (Fault("unknown", "reset"), 10), (Fault("malformed", "longer than the cap"), 10),
    (Fault("unreachable", sent=False), 0), (usage("{}"), 10), (usage("null"), 10),
    (Reply(b"<html>"), 10), (Reply(b""), 10), (Reply(b"", 204), 10), (Reply(b"{}", 206), 10),
    (Reply(b"", 429), 0), (Reply(b"", 503), 0), (Reply(b"", 400), 0),
    (usage('{"completion_tokens":2}'), 10), (usage('{"cost":NaN}'), 10),
    (usage('{"cost":-5}'), 10), (usage('{"cost":1e400}'), 10),
    (usage('{"prompt_tokens":-1000000,"completion_tokens":2}'), 10),
    (usage('{"prompt_tokens":5,"completion_tokens":-7}'), 10),
    (usage('{"prompt_tokens":5,"completion_tokens":%s}' % ("9" * 40)), 10),
    (usage('{"cost":-5,"prompt_tokens":5,"completion_tokens":2}'), 2),
    (RuntimeError("a bug"), 10), (asyncio.CancelledError(), 10),
])
def test_a_call_is_booked_at_its_cost_or_else_at_its_worst(outcome, spent):
    assert settled(outcome) == spent


def test_after_a_call_that_failed_the_whole_of_the_rest_is_free_again():
    budget = Budget(max_usd=20)
    assert settled(Fault("unreachable", sent=False), budget=budget) == 0
    assert settled(charged(10), budget=budget) == 10
    assert settled(charged(10), budget=budget) == 20


def test_many_small_sums_leave_nothing_reserved():
    budget = Budget(max_usd=1.0)

    async def go():
        for _ in range(3):
            for _ in range(10):
                assert await budget.reserve(0.1) is None or budget.spent_usd > 0
            for _ in range(10):
                budget.settle(0.1, 0.0)
        return await budget.reserve(1.0)

    assert asyncio.run(go()) is None


def test_an_overcharge_stops_what_follows():
    budget = Budget(max_usd=20)
    assert settled(charged(30), budget=budget) == 30

    async def go():
        return await budget.reserve(0.01)

    refused = asyncio.run(go())
    assert refused.kind == "over budget" and not refused.sent
    assert "billed $30.000000" in refused.detail and "$10.000000 at most" in refused.detail


def priced(**fields):
    subject = Subject("m", "m", "m", "openai", settings=fields)
    return Price(2.0, 10.0), encode(subject, (user("仁慈?"),), "free", ())


def test_the_worst_price_is_every_byte_a_token_and_every_token_used():
    price, request = priced(max_tokens=24)
    assert price.worst(request.body) == pytest.approx((2 * len(request.body) + 240) / 1e6)
    assert price.worst(request.body) >= price.cost(Usage(len(request.body), 24))


@pytest.mark.parametrize(("fields", "tokens"), [
    ({"max_completion_tokens": 500}, 500), ({"max_tokens": 24, "max_completion_tokens": 500}, 500),
    ({"max_tokens": 24, "n": 5}, 120), ({"max_tokens": 24, "n": None}, 24),
])
def test_the_worst_price_counts_every_limit_and_every_reply(fields, tokens):
    price, request = priced(**fields)
    assert price.worst(request.body) == pytest.approx((2 * len(request.body) + 10 * tokens) / 1e6)


@pytest.mark.parametrize("fields", [
    {}, {"max_tokens": None}, {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": "many"},
    {"max_tokens": True}, {"max_tokens": 2.5}, {"max_tokens": [24]},
    {"max_tokens": 24, "max_completion_tokens": -1},
])
def test_without_a_limit_on_tokens_the_worst_price_is_unbounded(fields):
    price, request = priced(**fields)
    with pytest.raises(Misuse, match="unbounded. Set max_tokens") as error:
        price.worst(request.body)
    assert error.value.code == 2


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.none() | st.integers(), st.none() | st.integers(), st.none() | st.floats())
def test_no_stated_usage_makes_a_cost_that_is_none(prompt, completion, cost):
    found = Price(1.0, 2.0).cost(Usage(prompt, completion, None, cost))
    assert found is None or 0 <= found < math.inf


def started(per_minute, calls):
    """When each of some calls made together got through, from the first on."""
    times = []

    async def provider(request):
        times.append(time.monotonic())
        return charged(0)

    async def go():
        guarded = paced(per_minute)(provider)
        await asyncio.gather(*(guarded(call(1)) for _ in range(calls)))

    begun = time.monotonic()
    asyncio.run(go())
    return [at - begun for at in times]


def test_paced_calls_start_no_earlier_than_their_turn():
    times = started(3000, 12)
    assert len(times) == 12
    assert all(at >= place * 0.02 - 0.002 for place, at in enumerate(times))


def test_a_pace_makes_no_call_wait_that_is_late_already():
    times = started(6_000_000, 50)
    assert len(times) == 50 and times[-1] < 5


# With the ledger: a call that is refused was never begun.


async def conduct(trial, ask):
    return await ask("pick", [user(f"{trial.item}: mercy or justice?")])


STUDY = Instrument("sketch", "0", "picks", lambda subject: (), conduct, lambda found: found)
SUBJECT = Subject("m", "m", "m", "openai", settings={"max_tokens": 10})
WHOLE = response(charged(10).body)


def administered(folder, behave, guard, *, cells, at_once):
    trials = [Trial("sketch", SUBJECT, f"item{place}", {}) for place in range(cells)]

    async def go(ledger):
        async with serving(behave) as server, sender(
            server.url, timeouts=Timeouts(5, 10, 20)
        ) as post:
            desk = Desk(ledger, ledger.register("r", b"{}", {}), post, guard=guard,
                        patience=Patience(3, 0.001, 0.01))
            return await administer(STUDY, trials, desk, at_once=at_once), server

    ledger = Ledger.open(folder / "l.db")
    try:
        return asyncio.run(go(ledger))
    finally:
        ledger.close()


@pytest.mark.parametrize("at_once", [1, 8, 64])
@pytest.mark.parametrize("limit", [{"max_usd": 75.0}, {"max_calls": 7}])
def test_a_refused_call_leaves_no_intent_and_stops_the_run(tmp_path, at_once, limit):
    budget = Budget(**limit)
    found, server = administered(tmp_path, saying(WHOLE), budgeted(budget, dollar, stated),
                                 cells=64, at_once=at_once)
    assert server.requests == 7
    assert found.stopped.code == 7
    assert verify(tmp_path / "l.db").rows == 1 + 2 * 7
    answers = [o.value for o in found.observations]
    assert sum(isinstance(value, Completion) for value in answers) == 7
    assert sum(isinstance(value, Nonresponse) for value in answers) == 57
    if "max_usd" in limit:
        assert budget.spent_usd == 70


def test_a_call_that_waits_for_money_has_no_intent_while_it_waits(tmp_path):
    budget, rows = Budget(max_usd=10.0), []

    async def behave(got, wire):
        await asyncio.sleep(0.02)
        reading = Ledger.open(tmp_path / "l.db", read_only=True)
        rows.append(reading.head().rows)
        reading.close()
        await wire.send(response(charged(0).body))

    administered(tmp_path, behave, budgeted(budget, dollar, stated), cells=4, at_once=4)
    assert rows == [2, 4, 6, 8]


def test_every_try_of_a_call_is_reserved_and_booked(tmp_path):
    async def behave(got, wire):
        await wire.send(response(b"", 503) if got.place < 2 else WHOLE)

    budget = Budget(max_usd=100.0)
    found, server = administered(tmp_path, behave, budgeted(budget, dollar, stated),
                                 cells=1, at_once=1)
    assert server.requests == budget.calls == 3
    assert budget.spent_usd == 10 and found.stopped is None
