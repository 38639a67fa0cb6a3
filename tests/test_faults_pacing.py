"""A provider that limits the rate is sent less, left alone for as long as it says, and no other."""

import asyncio
import math
from collections import Counter

import pytest

from equipoise.desk import Patience
from equipoise.providers import lanes
from equipoise.providers.lanes import Lane, Lanes
from faulty_server import response
from storms import ATTEMPTS, LATENCY, MERCY, WORKERS, Storm, weathered

CALM = WORKERS / LATENCY


@pytest.fixture
def ten_times_faster(monkeypatch):
    """The storm of a minute in six seconds: everything that is a time is a tenth of it."""
    for name in ("RECOVERY", "LONGEST_GUESS", "SPREAD"):
        monkeypatch.setattr(lanes, name, getattr(lanes, name) / 10)


@pytest.mark.parametrize("wait", [0.5, 0.0, None])
def test_a_storm_is_met_with_few_requests_and_is_over_soon_after_it_ends(
    tmp_path, ten_times_faster, wait
):
    storm = Storm(300, 2.4, wait)
    answered, found = weathered(tmp_path / "l.db", storm, 1600, Patience(ATTEMPTS, 0.1, 6.0))
    assert found.stopped is None and answered == 1600
    assert storm.rate(0, 2.4) * 2.4 <= WORKERS * ATTEMPTS
    assert storm.after_the_first() <= 0.2 * CALM * 2.4
    assert storm.came_too_early(slack=0.2) == 0
    assert storm.back_after(0.8 * WORKERS) < 3.0


def test_retries_are_spread_evenly_over_their_wait(tmp_path):
    """640 retries in ten bins of 50 ms: 10% each, with a standard error of 1.2."""
    seen, told, waits = Counter(), {}, []

    async def behave(got, wire):
        seen[got.body] += 1
        if seen[got.body] == 1:
            told[got.body] = got.at
            return await wire.send(response(b"", 503))
        waits.append(got.at - told[got.body])
        return await wire.send(MERCY)

    storm = Storm(10**9, 0, None)
    storm.behave = behave
    answered, _ = weathered(tmp_path / "l.db", storm, 640, Patience(2, 0.5, 0.5), 320)
    assert answered == len(waits) == 640
    bins = Counter(int(wait * 20) for wait in waits)
    assert max(bins.values()) <= 0.2 * 640


def run(lane, steps):
    async def go():
        return await steps(lane)

    return asyncio.run(go())


def test_only_calls_sent_since_the_last_cut_cut_again():
    async def steps(lane):
        for _ in range(64):
            await lane.enter()
        before = asyncio.get_running_loop().time()
        for _ in range(64):
            lane.leave()
            lane.slowed(before, 0.0, 0.0)
        once = lane.limit
        lane.slowed(asyncio.get_running_loop().time(), 0.0, 0.0)
        return once, lane.limit

    assert run(Lane(), steps) == (32, 16)


def test_a_lane_is_never_shut():
    async def steps(lane):
        await lane.enter()
        lane.leave()
        for _ in range(40):
            lane.slowed(math.inf, 0.0, 0.0)
        await lane.enter()
        return lane.limit

    assert run(Lane(), steps) == 1


def test_a_lane_grows_by_the_time_and_not_by_the_replies(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(lanes.time, "monotonic", lambda: now[0])

    async def steps(lane):
        for _ in range(40):
            await lane.enter()
        lane.slowed(100.0, 0.0, 0.0)
        limits = []
        for _ in range(10):
            now[0] += 1.0
            lane.went_well()
            lane.went_well()
            limits.append(lane.limit)
        return limits

    grown = [pytest.approx(20 + 40 * n / 15) for n in range(1, 8)]
    assert run(Lane(), steps) == [*grown, *[math.inf] * 3]


def test_what_waits_goes_in_the_order_it_came():
    order = []

    async def steps(lane):
        await lane.enter()
        lane.slowed(math.inf, 0.0, 0.0)

        async def call(number):
            await lane.enter()
            order.append(number)
            await asyncio.sleep(0)
            lane.leave()

        tasks = [asyncio.create_task(call(n)) for n in range(9)]
        await asyncio.sleep(0.01)
        assert order == []
        lane.leave()
        await asyncio.gather(*tasks)

    run(Lane(), steps)
    assert order == list(range(9))


def test_what_is_cancelled_while_it_waits_or_just_after_takes_no_room():
    async def steps(lane):
        await lane.enter()
        lane.slowed(math.inf, 0.0, 0.0)
        waiting = [asyncio.create_task(lane.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        lane.leave()
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.wait_for(lane.enter(), 5)

    run(Lane(), steps)


def test_stopping_lets_go_of_everything_that_waits():
    async def steps(lane):
        lane.cool(3600)
        waiting = [asyncio.create_task(lane.enter()) for _ in range(5)]
        await asyncio.sleep(0)
        lane.let_go()
        await asyncio.wait_for(asyncio.gather(*waiting), 5)
        lane.cool(3600)
        await asyncio.wait_for(lane.enter(), 5)

    run(Lane(), steps)


def test_subjects_at_one_host_share_a_lane_and_others_do_not():
    found = Lanes()
    one = found.of("https://api.example.com/v1")
    assert one is found.of("https://API.example.com/v2")
    assert one is not found.of("https://api.example.com:8443/v1")
    assert one is not found.of("https://api.example.org/v1")


def test_one_providers_rate_limit_does_not_slow_another(tmp_path):
    from equipoise.administer import administer
    from equipoise.desk import Desk
    from equipoise.ledger import Ledger
    from equipoise.providers import planted
    from equipoise.terms import Completion, Fault, Subject, Trial
    from storms import STUDY

    subjects = [Subject(n, n, n, "planted", f"https://{n}.example/v1") for n in ("a", "b")]
    trials = [Trial("sketch", subjects[n % 2], f"i{n}", {}) for n in range(40)]
    answered_b, ended_a = [], []

    async def provider(request):
        now = asyncio.get_running_loop().time()
        if request.subject.name == "b":
            answered_b.append(now)
        elif not ended_a:
            ended_a.append(now)
            return Fault("rate limited", transient=True, sent=False, retry_after=0.5)
        return planted.said("mercy")

    async def go():
        ledger = Ledger.open(tmp_path / "l.db")
        desk = Desk(ledger, ledger.register("r", b"{}", {}), provider,
                    patience=Patience(3, 0.001, 0.01))
        found = await administer(STUDY, trials, desk, at_once=40)
        ledger.close()
        return found

    found = asyncio.run(go())
    assert all(isinstance(o.value, Completion) for o in found.observations)
    assert max(answered_b) < ended_a[0] + 0.5
