"""Batches against a double of both interfaces: every reply to its own call, none paid twice.

What a batch says of a call that was not run is never billed; what it does not say is unknown.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batch_double import Script, serving
from batch_killed import PACE, subject
from equipoise.providers import CALL, batch_course, dialect
from equipoise.providers.batch import FORMS, HandedIn, Witness, batching, picked_up
from equipoise.providers.batch_form import Left, Result
from equipoise.providers.batch_match import matched, named
from equipoise.providers.keys import STRUCK_OUT
from equipoise.terms import Completion, Fault, Reply, user

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


def test_where_a_batch_like_ours_has_no_results_to_tell_by_none_is_made():
    def before(double):
        double._make([{"custom_id": f"a-{n}-0"} for n in range(6)], "", "anthropic")
        double.batches["msgbatch_01"] |= {
            "ended": True, "ends": "completed", "ok": [("", "ran", {})] * 6, "bad": []}

    script = Script(reset=["before"])
    outcomes, double, told = asked("anthropic", script, before=before)
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
    assert double.created == 1 and [m.code for m in told.stopped] == [75]


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("page", [1, 2])
def test_a_batch_is_found_on_any_page_of_the_list(name, page):
    def before(double):
        for n in range(5):
            batch = double._make([{"custom_id": "a"}], f"other{n}", name)
            batch["file"] = "f"

    script = Script(reset=["after"], page=page)
    outcomes, double, _ = asked(name, script, before=before)
    assert [text(name, o) for o in outcomes] == [str(n) for n in range(6)]
    assert double.created == 6


def test_a_list_that_is_not_whole_says_nothing(monkeypatch):
    monkeypatch.setattr(batch_course, "FARTHEST_PAGES", 2)

    def before(double):
        for _ in range(5):
            double._make([{"custom_id": "a"}], "other", "openai")["file"] = "f"

    outcomes, double, told = asked("openai", Script(reset=["before"], page=2), before=before)
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
    assert double.created == 5 and [m.code for m in told.stopped] == [75]


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


@pytest.mark.parametrize("name", BOTH)
def test_a_batch_that_is_being_created_when_left_is_on_record_by_its_id(name):
    told = Told()

    async def go(double):
        leaving, to = asyncio.Event(), subject(double.port, name)
        async with batching(to, None, told.witness(), leaving, QUICK) as provider:
            call = asyncio.create_task(provider(asking(to, "a")))
            while not double.went or double.went[-1][0] != "creation came":
                await asyncio.sleep(0.01)
            leaving.set()
            [outcome] = await asyncio.gather(call, return_exceptions=True)
            assert isinstance(outcome, asyncio.CancelledError)

    with serving(echo, Script(creating=0.3)) as double:
        asyncio.run(go(double))
        assert [note[1] for note in told.notes] == [[0], next(iter(double.batches))]


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
