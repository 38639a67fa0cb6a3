"""Batches against a double of both interfaces: every reply to its own call, none paid twice.

What a batch says of a call that was not run is never billed; what it does not say is unknown.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import batch_killed
from batch_double import Script, serving
from batch_killed import PACE, base, subject
from equipoise.cli import debates as debates_command
from equipoise.cli.batching import Batches
from equipoise.cli.progress import Progress
from equipoise.cli.running import Terms, read_run, run_registered
from equipoise.instruments.debates import planted as debaters
from equipoise.instruments.fingerprint import planted as traits
from equipoise.ledger import Ledger, verify
from equipoise.ledger.chain import Entry
from equipoise.ledger.journal import Draft
from equipoise.providers import CALL, dialect
from equipoise.providers.batch import FORMS, HandedIn, Witness, batching, picked_up, share_of_price
from equipoise.providers.batch_course import Left
from equipoise.providers.batch_form import Result
from equipoise.providers.batch_match import matched, named
from equipoise.providers.keys import STRUCK_OUT
from equipoise.providers.limits import Price
from equipoise.terms import Completion, Fault, Misuse, Reply, user
from studying import registered, studied, suite_of

DIALECTS = ("openai", "responses", "anthropic")
BOTH = ("openai", "anthropic")
KEY = "sk-test/Ab+cd=" + "0123456789abcdef" + "&<Zz9>.~"
QUICK = replace(PACE, gather=0.02)


class Told:
    """A witness that remembers."""

    def __init__(self):
        self.notes, self.stopped, self.said, self.looks = [], [], [], []

    def witness(self):
        async def note(*what):
            self.notes.append(what)

        return Witness(note, note, self.stopped.append, self.looks.append, self.said.append)


def echo(request):
    return request.messages[-1].text


def asking(subject, prompt):
    return dialect(subject.dialect).encode(subject, [user(prompt)], "free", ())


def asked(name, script=None, prompts=range(6), *, answer=echo, key=None, before=None):
    """Ask the prompts in batches; returns (outcomes, the double, what was told)."""
    told = Told()

    async def go(double):
        leaving, to = asyncio.Event(), subject(double.port, name)
        async with batching(to, key, told.witness(), leaving, QUICK) as provider:
            async def one(intent, prompt):
                CALL.set(intent)
                return await provider(asking(to, str(prompt)))

            calls = [one(100 + place, prompt) for place, prompt in enumerate(prompts)]
            return await asyncio.gather(*calls, return_exceptions=True)

    with serving(answer, script, key or "") as double:
        if before:
            before(double)
        return asyncio.run(go(double)), double, told


def text(name, outcome):
    found = dialect(name).decode(outcome) if isinstance(outcome, Reply) else outcome
    return found.text if isinstance(found, Completion) else found


def kinds(outcomes):
    return [o.kind if isinstance(o, Fault) else "reply" for o in outcomes]


# Whose a result is.


@pytest.mark.parametrize("name", DIALECTS)
def test_each_call_gets_its_own_reply_whatever_order_they_come_in(name):
    outcomes, double, told = asked(name, prompts=range(20))
    assert [text(name, o) for o in outcomes] == [str(n) for n in range(20)]
    assert double.created == 1 and told.stopped == told.said == []
    token, intents = told.notes[0]
    assert intents == list(range(100, 120))
    assert told.notes[1:] == [(token, next(iter(double.batches)))]


@pytest.mark.parametrize("name", DIALECTS)
def test_equal_requests_of_different_draws_are_told_apart(name):
    drawn = Counter()

    def answer(request):
        drawn[echo(request)] += 1
        return f"{echo(request)} {drawn[echo(request)]}"

    outcomes, double, _ = asked(name, prompts=["a", "b", "a", "a"], answer=answer)
    names = [r["custom_id"] for r in next(iter(double.batches.values()))["requests"]]
    assert len(set(names)) == 4 and len({n.split("-")[2] for n in names}) == 2
    assert sorted(text(name, o) for o in outcomes) == ["a 1", "a 2", "a 3", "b 1"]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
@example("\ud800", None, False)
@example(10**400, None, False)
def test_a_body_is_cut_out_of_its_line_byte_for_byte(value, indent, plain):
    body = json.dumps({"x": value}, indent=indent, ensure_ascii=not plain).encode()
    body = body.replace(b"\n", b" ")
    of_openai = b'{ "error":null ,"response": {"body" :%s, "status_code":200},"custom_id":"a-1"}'
    of_anthropic = b'{"result": {"message": %s ,"type":"succeeded"},"custom_id":"a-1"}'
    for name, line in (("openai", of_openai), ("anthropic", of_anthropic)):
        assert FORMS[name].result(line % body) == Result("a-1", Reply(body))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_request_stands_in_the_batch_byte_for_byte(name):
    body = asking(subject(1, name), "“é” 仁 \n\u2028 </s>").body
    line = FORMS[name].line("a-1-2", body)
    assert body in line and b"\n" not in line
    assert json.loads(line)["custom_id"] == "a-1-2"


@given(st.binary(max_size=200))
def test_lines_that_are_no_results_are_never_one(line):
    for form in FORMS.values():
        assert form.result(line) is None
        assert form.state(line) is None and form.listed(line) is None


@given(st.data())
def test_lines_are_matched_by_id_alone(data):
    names = data.draw(st.lists(TEXTS, unique=True, max_size=8))
    asked_for = {n for n in names if data.draw(st.booleans())}
    lines = data.draw(st.permutations([n.encode() + b"." for n in names]))

    def read(line):
        name = line.decode().removesuffix(".")
        return Result(name, Reply(line))

    found = matched(asked_for, lines, read)
    assert found.outcomes == {n: Reply(n.encode() + b".") for n in asked_for}
    assert sorted(found.strange) == sorted(set(names) - asked_for)


def test_an_id_fits_every_interface_and_holds_the_requests_hash():
    name = named("5f0c2b7a91d3", 2**40, bytes(range(32)))
    assert len(name) <= 64 and name.endswith(bytes(range(16)).hex())


@pytest.mark.parametrize("name", BOTH)
def test_a_missing_result_is_unknown_and_reported(name):
    outcomes, _, told = asked(name, Script(missing={2}))
    assert kinds(outcomes) == ["reply", "reply", "unknown", "reply", "reply", "reply"]
    assert outcomes[2].sent and "without a result" in outcomes[2].detail
    assert len(told.said) == 1 and "1 without a result" in told.said[0]


@pytest.mark.parametrize("name", BOTH)
def test_a_result_under_a_strange_id_is_nobodys_and_reported(name):
    outcomes, _, told = asked(name, Script(strange=2))
    assert kinds(outcomes) == ["reply"] * 6
    assert "2 under ids that are not ours" in told.said[0]


@pytest.mark.parametrize("name", BOTH)
def test_a_result_whose_hash_is_another_requests_is_not_taken(name):
    outcomes, _, told = asked(name, Script(rehashed={1}))
    assert kinds(outcomes)[1] == "unknown" and kinds(outcomes).count("reply") == 5
    assert "1 under ids that are not ours" in told.said[0]


@pytest.mark.parametrize("name", BOTH)
def test_a_result_that_comes_twice_is_one_and_two_that_differ_are_none(name):
    outcomes, _, told = asked(name, Script(doubled={0}, differing={3}))
    assert kinds(outcomes) == ["reply", "reply", "reply", "unknown", "reply", "reply"]
    assert "they differ" in outcomes[3].detail
    assert "2 under an id that has one already" in told.said[0]


# What was not run.


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("ends", ["expired", "cancelled"])
def test_a_batch_cut_short_keeps_what_came_and_the_rest_was_not_billed(name, ends):
    outcomes, double, _ = asked(name, Script(ends=ends))
    assert [text(name, o) for o in outcomes[::2]] == ["0", "2", "4"]
    for fault in outcomes[1::2]:
        assert not fault.sent and fault.transient == (ends == "expired")
    assert sum(double.paid.values()) == 3


@pytest.mark.parametrize("unrun", [lambda place: place % 2 == 1, lambda place: True])
def test_what_an_expired_batch_says_nothing_of_was_not_run_where_its_counts_prove_it(unrun):
    outcomes, _, _ = asked("openai", Script(ends="expired", unsaid=True, unrun=unrun))
    assert [isinstance(o, Fault) for o in outcomes] == [unrun(p) for p in range(6)]
    assert not any(o.sent for o in outcomes if isinstance(o, Fault))


def test_where_the_counts_do_not_prove_it_the_rest_of_an_expired_batch_is_unknown():
    script = Script(ends="expired", unsaid=True, unrun=lambda place: place > 3, missing={0})
    outcomes, _, _ = asked("openai", script)
    assert kinds(outcomes) == ["unknown", "reply", "reply", "reply", "unknown", "unknown"]


FAILURES = [
    ("openai", 400, "invalid_request_error", "rejected", False),
    ("openai", 429, "tokens", "rate limited", True),
    ("anthropic", 400, "invalid_request_error", "rejected", False),
    ("anthropic", 529, "overloaded_error", "server error", True),
    ("anthropic", 500, "api_error", "server error", True),
]


@pytest.mark.parametrize("name, status, said, kind, transient", FAILURES)
def test_a_request_the_model_refused_is_a_reply_under_its_status(
    name, status, said, kind, transient
):
    outcomes, _, told = asked(name, Script(failing={1: (status, said)}))
    assert outcomes[1].status == status and said.encode() in outcomes[1].body
    fault = dialect(name).decode(outcomes[1])
    assert (fault.kind, fault.transient) == (kind, transient)
    assert kinds(outcomes) == ["reply"] * 6 and told.said == []


def test_a_batch_that_fails_validation_was_not_billed_and_says_why():
    errors = [{"code": "invalid_json_line", "message": "This line is not parseable.", "line": 3}]
    outcomes, double, _ = asked("openai", Script(ends="failed", errors=errors))
    assert {(o.kind, o.sent, o.transient) for o in outcomes} == {("rejected", False, False)}
    assert "This line is not parseable. (line 3)" in outcomes[0].detail
    assert not double.paid


def test_a_full_queue_passes():
    errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]
    outcomes, _, _ = asked("openai", Script(ends="failed", errors=errors))
    assert {(o.kind, o.sent, o.transient) for o in outcomes} == {("rate limited", False, True)}
    assert outcomes[0].retry_after == 300


# What passes.


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("trouble", [
    {"early": 3}, {"unseen_results": 2}, {"broken": 3}, {"down": 2}, {"unseen_file": 2},
], ids=lambda t: next(iter(t)))
def test_what_passes_is_waited_for(name, trouble):
    outcomes, double, told = asked(name, Script(**trouble))
    assert [text(name, o) for o in outcomes] == [str(n) for n in range(6)]
    assert double.created == 1 and set(double.paid.values()) == {1}
    assert told.said == told.stopped == []


@pytest.mark.parametrize("trouble", ["limited", "limited_creations"])
def test_a_provider_that_asks_for_time_is_given_it(trouble):
    begun = time.monotonic()
    outcomes, double, _ = asked("anthropic", Script(**{trouble: 1}))
    assert time.monotonic() - begun >= 1
    assert kinds(outcomes) == ["reply"] * 6 and double.created == 1


def test_a_batch_that_is_not_known_for_long_is_left_as_the_key_may_be_anothers():
    outcomes, double, told = asked("openai", Script(early=10**6))
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
    assert [m.code for m in told.stopped] == [75] and double.created == 1


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("way", ["reset", "down_creation"])
def test_a_creation_in_doubt_is_looked_up_and_none_is_made_twice(name, when, way):
    outcomes, double, told = asked(name, Script(**{way: [when]}, unlisted=1))
    assert [text(name, o) for o in outcomes] == [str(n) for n in range(6)]
    assert double.created == 1 and set(double.paid.values()) == {1}
    assert "in doubt" in told.said[0]
    assert any("not created" in said for said in told.said) == (when == "before")


def test_a_batch_of_as_many_calls_that_is_anothers_is_not_taken_for_ours():
    def before(double):
        for token in ("aaaaaaaaaaaa", "bbbbbbbbbbbb"):
            requests = [{"custom_id": f"{token}-{n}-0", "params": {
                "model": "m", "messages": [{"role": "user", "content": "theirs"}]}}
                for n in range(6)]
            double._make(requests, "", "anthropic")

    outcomes, double, _ = asked("anthropic", Script(reset=["after"]), before=before)
    assert [text("anthropic", o) for o in outcomes] == [str(n) for n in range(6)]
    assert double.created == 3


@pytest.mark.parametrize("name", BOTH)
def test_where_it_cannot_be_learnt_whether_a_batch_was_made_none_is_made(name):
    outcomes, double, told = asked(name, Script(reset=["after"], lists_down=10**6))
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
    assert double.created == 1 and [m.code for m in told.stopped] == [75]


# Keys, limits and leaving.


@pytest.mark.parametrize("name", DIALECTS)
def test_the_key_goes_in_its_header_and_is_struck_out_of_replies(name):
    outcomes, double, _ = asked(name, Script(echo=True), key=KEY)
    assert double.keys == {KEY}
    for outcome in outcomes:
        assert KEY.encode() not in outcome.body and STRUCK_OUT in outcome.body


def test_a_key_refused_while_a_batch_is_waited_for_leaves_the_batch():
    outcomes, double, told = asked("openai", Script(refused_key=1))
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
    assert [m.code for m in told.stopped] == [4] and double.created == 1


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("limit", [{"most_calls": 4}, {"most_bytes": 1700}])
def test_calls_that_one_batch_cannot_hold_go_in_several(name, limit, monkeypatch):
    monkeypatch.setitem(FORMS, name, replace(FORMS[name], **limit))
    outcomes, double, told = asked(name, prompts=range(10))
    assert [text(name, o) for o in outcomes] == [str(n) for n in range(10)]
    sizes = [len(b["requests"]) for b in double.batches.values()]
    assert sum(sizes) == 10 and 1 < len(sizes) < 10
    assert sorted(i for note in told.notes if isinstance(note[1], list) for i in note[1]) == (
        list(range(100, 110)))


def test_a_call_that_comes_later_is_in_a_later_batch():
    async def go(double):
        told, to = Told(), subject(double.port, "openai")
        async with batching(to, None, told.witness(), asyncio.Event(), QUICK) as provider:
            return [text("openai", await provider(asking(to, p))) for p in ("a", "b")]

    with serving(echo) as double:
        assert asyncio.run(go(double)) == ["a", "b"]
        assert double.created == 2


def test_leaving_hands_nothing_more_in_and_what_was_is_picked_up():
    told = Told()

    async def go(double):
        leaving, to = asyncio.Event(), subject(double.port, "openai")
        async with batching(to, None, told.witness(), leaving, QUICK) as provider:
            async def one(intent):
                CALL.set(intent)
                return await provider(asking(to, str(intent)))

            first = [asyncio.create_task(one(n)) for n in (1, 2)]
            while not told.looks:
                await asyncio.sleep(0.01)
            late = asyncio.create_task(one(3))
            await asyncio.sleep(0)
            leaving.set()
            waiting = await asyncio.gather(*first, late, return_exceptions=True)
        (token, intents), (_, batch) = told.notes
        double.script.looks = 1
        stamps = {n: asking(to, str(n)).stamp for n in intents}
        left = HandedIn(token, batch, stamps, time.time())
        return waiting, await picked_up(to, None, told.witness(), left, QUICK)

    with serving(echo, Script(looks=10**6)) as double:
        waiting, found = asyncio.run(go(double))
        assert [isinstance(w, asyncio.CancelledError) for w in waiting] == [True, True, False]
        assert not waiting[2].sent and double.created == 1
        assert {n: text("openai", o) for n, o in found.items()} == {1: "1", 2: "2"}


def left(double, batch="", **more):
    """Pick up a batch of one call of an earlier session."""
    to = subject(double.port, "openai")
    handed_in = HandedIn("5f0c2b7a91d3", batch, {7: bytes(32)}, time.time(), **more)
    return asyncio.run(picked_up(to, None, Told().witness(), handed_in, QUICK))


def made_before(double, token):
    double._make([{"custom_id": f"{token}-1-2", "body": {"model": "m", "messages": [
        {"role": "user", "content": "a"}]}}], token, "openai")["file"] = "f"


def test_a_batch_that_was_never_created_was_not_handed_in():
    with serving(echo) as double:
        assert not left(double)[7].sent and not double.created


def test_under_another_key_a_batch_that_is_not_listed_may_have_been_created_all_the_same():
    with serving(echo) as double:
        with pytest.raises(Left, match="another key") as stopped:
            left(double, key_changed=True)
        assert stopped.value.misuse.code == 4
        assert left(double, key_changed=True, forget=True)[7].sent


def test_a_batch_that_its_provider_does_not_know_is_lost_only_when_a_person_says_so():
    with serving(echo) as double:
        with pytest.raises(Left, match="--retry-unknown"):
            left(double, "batch_9")
        assert left(double, "batch_9", forget=True)[7].kind == "unknown"


def test_results_that_cannot_be_fetched_now_are_left():
    with serving(echo, Script(broken=10**6)) as double:
        made_before(double, "5f0c2b7a91d3")
        with pytest.raises(Left) as stopped:
            left(double, "batch_1")
        assert stopped.value.misuse.code == 75


# Through an instrument.

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
    from equipoise.providers.planted import answering

    provider = answering(traits.answerer(suite_of(PLANNED), traits.holds({})))
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
        assert texts(batch_killed.run(tmp_path, double.port, "anthropic")) == answered
        assert set(double.paid.values()) == {1}


def test_a_batch_costs_half_where_that_is_known_and_is_reserved_in_full_elsewhere():
    assert share_of_price("https://api.anthropic.com") == 0.5
    assert share_of_price("https://api.openai.com.example.org/v1") == 1


def test_a_run_is_counted_at_half_only_where_all_of_it_was_asked_in_batches(tmp_path, monkeypatch):
    ledger, price = Ledger.open(tmp_path / "ledger.db"), Price(2.0, 8.0)
    run = ledger.register("r1", b"{}", {})
    to = replace(subject(1, "openai"), base_url="https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = []
    for attempt, note in enumerate(("batches began", "batches over"), 1):
        ledger.note(run.seq, note, "{}")
        ledger.journal.append([Draft(
            Entry("intent", run.seq, "t", "s", attempt), request=asking(to, "a"))])
        found.append(Batches(ledger, run, [to], Progress(1, "r"), PACE).price(price))
    ledger.close()
    assert found == [Price(1.0, 4.0), price]


def test_money_is_reserved_before_a_batch_and_settled_after(tmp_path):
    with fingerprinted() as double:
        ended = batch_killed.run(
            tmp_path, double.port, "openai", price=Price(1.0, 1.0), max_usd=1.0)
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


def test_run_batch_from_the_command_line(equipoise):
    with fingerprinted() as double:
        model = f"openai:m@{base(double.port, 'openai')}"
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


def test_the_double_runs_in_one_thread():
    assert threading.active_count() == 1
