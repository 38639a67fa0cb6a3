"""Running, resuming and reading again are one act, and nothing is sent twice."""

import asyncio
from collections import Counter

import pytest

from equipoise.cli.studies import study
from equipoise.desk import Desk, Patience
from equipoise.instruments.fingerprint import planted as traits
from equipoise.ledger import Ledger, verify
from equipoise.providers import planted
from equipoise.providers.limits import paced
from equipoise.registration import Registration, require_registered
from equipoise.terms import Fault, Misuse, Reply, Subject, Trial, user
from studying import SUBJECT, registered, studied, suite_of

PLANNED = registered()
CELLS = PLANNED[0].cells


def counting(answer=None):
    """A provider that counts how often each request was sent."""
    answer = answer or traits.answerer(suite_of(PLANNED), traits.holds({}))
    sent = Counter()

    async def provider(request):
        sent[request.stamp] += 1
        await asyncio.sleep(0)
        found = answer(request)
        return found if isinstance(found, Reply | Fault) else planted.said(found)

    provider.sent = sent
    return provider


def values(administration):
    return [o.value for o in administration.observations]


def kinds(administration):
    return Counter(getattr(v.readings["stated_choice"].value, "kind", "picked")
                   for v in values(administration))


def test_every_cell_is_asked_once(tmp_path):
    provider = counting()
    _, found, _ = studied(tmp_path / "l.db", provider)
    assert len(provider.sent) == sum(provider.sent.values()) == CELLS == len(found.observations)


def test_resuming_a_finished_run_asks_nothing_and_finds_the_same(tmp_path):
    _, first, _ = studied(tmp_path / "l.db", counting())
    provider = counting()
    _, second, _ = studied(tmp_path / "l.db", provider)
    assert not provider.sent
    assert first.observations == second.observations


def test_reading_again_needs_no_provider(tmp_path):
    laid_out, first, _ = studied(tmp_path / "l.db", counting())
    _, second, _ = studied(tmp_path / "l.db", None)
    assert laid_out.instrument.analyse(first.observations) == laid_out.instrument.analyse(
        second.observations)


def test_what_was_never_asked_is_not_asked(tmp_path):
    _, found, _ = studied(tmp_path / "l.db", None)
    assert kinds(found) == {"not asked": CELLS}


def test_a_stopped_run_goes_on_where_it_stopped(tmp_path):
    seen = []

    def stopping(request):
        seen.append(request)
        return Fault("auth", "status 401", sent=False) if len(seen) == 50 else "mercy"

    _, found, _ = studied(tmp_path / "l.db", counting(stopping), at_once=4)
    assert found.stopped.code == 4
    assert 50 <= len(seen) <= 54
    provider = counting()
    _, found, _ = studied(tmp_path / "l.db", provider)
    assert found.stopped is None
    assert sum(provider.sent.values()) == CELLS - len(seen) + 1


def test_a_changed_setting_stops_the_run_before_anything_is_sent(tmp_path):
    studied(tmp_path / "l.db", counting())
    ledger = Ledger.open(tmp_path / "l.db", read_only=True)
    desk = Desk(ledger, ledger.run("r1"), counting())
    laid_out = study(*PLANNED)
    trial = laid_out.trials[0]
    hotter = planned_trial(trial, temperature=1)
    with pytest.raises(Misuse, match="but to another request"):
        desk.replay(laid_out.instrument.conduct, hotter)
    ledger.close()


def planned_trial(trial, **settings):
    subject = Subject("subject", "subject", "planted", "planted", settings=settings)
    return Trial(trial.instrument, subject, trial.item, trial.condition, trial.draw)


def test_reading_stops_where_an_earlier_reading_has_changed_a_later_question(tmp_path):
    trial = Trial("two-stage", SUBJECT, "x", {})
    ledger = Ledger.open(tmp_path / "l.db")
    run = ledger.register("r1", b"{}", {})

    def two_stages(read):
        async def conduct(trial, ask):
            first = await ask("pick", [user("Which?")])
            second = await ask("push", [user(f"Not {read(first.text)}?")])
            return first.text, second.text

        return conduct

    desk = Desk(ledger, run, planted.answering(lambda r: "Jordan" if "Which" in r.messages[0].text
                                               else "still"))

    async def conducted():
        found = await desk.conduct(two_stages(str), trial)
        await desk.drained()
        return found

    assert asyncio.run(conducted()) == ("Jordan", "still")
    reading = Desk(ledger, run)
    assert reading.replay(two_stages(str), trial) == ("Jordan", "still")
    with pytest.raises(Misuse, match="an earlier reading has changed"):
        reading.replay(two_stages(str.upper), trial)
    ledger.close()


def test_a_passing_fault_is_tried_again_and_every_attempt_is_kept(tmp_path):
    tries = Counter()

    def flaky(request):
        tries[request.stamp] += 1
        return Reply(b"busy", 503) if tries[request.stamp] < 3 else "mercy"

    _, found, desk = studied(tmp_path / "l.db", counting(flaky))
    assert found.stopped is None or found.stopped.code == 75
    assert set(tries.values()) <= {1, 2, 3}
    assert verify(tmp_path / "l.db").rows == 1 + 2 * sum(tries.values())


def test_no_call_is_tried_more_often_than_said(tmp_path):
    tries = Counter()

    def down(request):
        tries[request.stamp] += 1
        return Reply(b"", 500)

    studied(tmp_path / "l.db", counting(down), at_once=1)
    assert max(tries.values()) == 3


def test_a_provider_that_stays_down_stops_the_run(tmp_path):
    _, found, _ = studied(tmp_path / "l.db", counting(lambda r: Reply(b"", 500)))
    assert found.stopped.code == 75
    assert sum(kinds(found).values()) == CELLS


def test_what_may_have_been_billed_is_not_sent_again(tmp_path):
    answer = traits.answerer(suite_of(PLANNED), traits.holds({}))
    lost = counting(lambda r: Fault("unknown", "reset") if r.stamp[0] % 2 else answer(r))
    _, first, _ = studied(tmp_path / "l.db", lost, at_once=1)
    unknown = sum(stamp[0] % 2 for stamp in lost.sent)
    assert kinds(first)["error"] == unknown > 30
    again = counting()
    _, found, _ = studied(tmp_path / "l.db", again)
    assert not again.sent
    assert values(found) == values(first)
    _, found, _ = studied(tmp_path / "l.db", again, retry_unknown=True)
    assert sum(again.sent.values()) == unknown
    assert kinds(found) == {"picked": CELLS}


def test_a_garbled_reply_was_paid_for_and_is_kept(tmp_path):
    def garbling(request):
        return Reply(b"\xff\x00<html>") if request.stamp[0] % 2 else "mercy"

    garbled = counting(garbling)
    _, first, _ = studied(tmp_path / "l.db", garbled, at_once=1)
    assert first.stopped is None
    again = counting()
    _, found, _ = studied(tmp_path / "l.db", again)
    assert not again.sent
    assert kinds(found)["error"] == sum(stamp[0] % 2 for stamp in garbled.sent)


def test_replies_of_the_wrong_kind_one_after_another_stop_the_run(tmp_path):
    pages = counting(lambda r: Reply(b"<html>not an API</html>"))
    _, found, _ = studied(tmp_path / "l.db", pages, at_once=1)
    assert found.stopped.code == 75 and "Check the base URL" in str(found.stopped)
    assert sum(pages.sent.values()) == 20


def test_a_wait_asked_for_is_waited_and_shared(tmp_path):
    begun, times = [], []

    def limited(request):
        now = asyncio.get_running_loop().time()
        begun.append(now)
        times.append(now - begun[0])
        if len(times) == 1:
            return Fault("rate limited", transient=True, sent=False, retry_after=0.2)
        return "mercy"

    studied(tmp_path / "l.db", counting(limited), at_once=1)
    assert times[1] >= 0.2


def test_what_waits_for_its_turn_is_not_sent_once_the_run_is_stopped(tmp_path):
    seen = []

    def refused(request):
        seen.append(request)
        return Fault("auth", "status 401", sent=False)

    _, found, desk = studied(tmp_path / "l.db", counting(refused), at_once=8, guard=paced(200))
    assert found.stopped.code == 4
    assert len(seen) == desk.outcomes["calls"] == 1
    assert kinds(found)["not asked"] == CELLS - 1


def test_a_wait_of_hours_stops_the_run_instead(tmp_path):
    hours = counting(lambda r: Fault("rate limited", "", True, False, retry_after=86_400))
    _, found, _ = studied(tmp_path / "l.db", hours, at_once=1)
    assert found.stopped.code == 75
    assert "86,400 seconds" in str(found.stopped)
    assert sum(hours.sent.values()) == 1


def test_more_draws_than_registered_are_refused():
    registration = PLANNED[0]
    trial = Trial("fingerprint", SUBJECT, registration.items[0], {}, draw=2)
    with pytest.raises(Misuse, match="2 draws a cell were asked for and 1 registered"):
        require_registered(registration, [trial])


def test_a_registration_survives_its_own_text():
    registration = PLANNED[0]
    assert Registration.from_json(registration.as_json()) == registration


@pytest.mark.parametrize("change", [
    {"draws": 2}, {"order": "random:1"}, {"until_dissent": True}, {"answers": ["constrained"]},
    {"suite_name": "quick"}, {"subjects": [planted.subject("subject", temperature=1)]},
])
def test_any_change_of_plan_is_another_run(change):
    assert registered(**change)[0].hash != PLANNED[0].hash


def test_waits_are_drawn_with_full_jitter_up_to_a_doubling_bound():
    waits = [Patience(5, 1.0, 4.0).wait(tries) for tries in (1, 2, 3, 9) for _ in range(200)]
    bounds = [1.0] * 200 + [2.0] * 200 + [4.0] * 400
    assert all(0 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert min(waits) < 0.1 < 3.0 < max(waits)
