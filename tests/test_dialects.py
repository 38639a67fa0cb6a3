"""What holds of every dialect: nothing raises, nothing false is accepted, nothing is sent twice.

Each is put over real sockets through the matrix of 24 wrong responses and eight stalls.
"""

import asyncio
import gzip
import json
import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.administer import administer
from equipoise.desk import Desk, Patience
from equipoise.ledger import Ledger
from equipoise.providers import DIALECTS, dialect
from equipoise.providers.http import Timeouts, sender
from equipoise.providers.keys import OWN_KEYS, STRUCK_OUT, key_for, key_variable
from equipoise.terms import (
    Completion,
    Fault,
    Instrument,
    Message,
    Misuse,
    Reply,
    Trial,
    assistant,
    canonical_json,
    user,
)
from faulty_server import response, saying, serving
from spoken import HELD_IN, OVER_HTTP, WHOLE, subject, whole

HTML = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"
KEY = "sk-test/Ab+cd=0123456789abcdef"
SHORT = Timeouts(connect=0.3, read=0.3, total=0.6)
every = pytest.mark.parametrize("name", WHOLE)
over_http = pytest.mark.parametrize("name", OVER_HTTP)


def decode(name, body, status=200):
    return dialect(name).decode(Reply(body, status))


# What a reply says.

PLAIN = {
    "plain": (b'"mercy"', "mercy"),
    "an escaped lone surrogate": (rb'"mer\ud800cy"', "mer\ud800cy"),
    "an escaped pair": (rb'"\ud83d\ude00"', "\U0001f600"),
    "an escaped NUL": (rb'"a\u0000b"', "a\0b"),
    "in Chinese": ('"仁慈"'.encode(), "仁慈"),
    "empty": (b'""', ""),
}


@every
@pytest.mark.parametrize("case", PLAIN)
def test_plain_words_are_a_completion(name, case):
    said, text = PLAIN[case]
    found = decode(name, whole(name, said))
    assert isinstance(found, Completion)
    assert (found.text, found.finish) == (text, "stop")


@every
@pytest.mark.parametrize("beside", [
    b'"created":' + b"9" * 5000, b'"usage":"free"', b'"usageMetadata":[1]', b'"usage":null',
    b'"model":{"id":1},"modelVersion":7', b'"error":null', b'"usage":{"cost":NaN}',
    b'"usage":{"input_tokens":' + b"9" * 5000 + b'}', b'"x":-Infinity', b'"usage":{"a":1e999}',
    b'"usageMetadata":{"thoughtsTokenCount":' + b"9" * 5000 + b"}", b'"stop_details":5',
])
def test_a_field_in_a_form_of_its_own_does_not_cost_the_words(name, beside):
    found = decode(name, whole(name, beside=beside))
    assert isinstance(found, Completion)
    assert (found.text, found.finish) == ("mercy", "stop")


@every
@pytest.mark.parametrize("around", [b"\xef\xbb\xbf%s", b"\n  \r\n%s\n"])
def test_what_stands_around_a_reply_does_not_cost_the_words(name, around):
    assert decode(name, around % whole(name)).text == "mercy"


def spoilt(name):
    """Bytes that hold no reply in that form."""
    good = whole(name)
    yield from (HTML, b"", b"null", b"[]", b"{}", b'"mercy"', good[:-9], good + b"x", bytes(1000))
    yield b"data: " + good + b"\n\ndata: [DONE]\n\n"
    yield b"data: " + good + b"\n\n"
    yield good.replace(b"mercy", b"mer\xff\xfe")
    yield good.replace(b"mercy", b"\xed\xa0\x80")
    yield good.replace(b"mercy", b"mer\0cy")
    yield good.replace(b"mercy", "仁慈".encode("gbk"))
    yield good.decode().encode("utf-16")
    yield gzip.compress(good)
    yield b"[" * 100_000 + b"]" * 100_000
    yield whole(name, beside=b'"x":' + b"[" * 100_000 + b"]" * 100_000)
    yield from (whole(name, text) for text in (b"50", b"true", b'{"text":"mercy"}', b"[5]"))
    yield from (b'{"%s":%s}' % (HELD_IN[name].encode(), value)
                for value in (b"[]", b"null", b"5", b'"mercy"', b"[null]", b"[5]", b"[[]]"))


@every
def test_bytes_that_hold_no_reply_make_no_completion(name):
    for body in spoilt(name):
        found = decode(name, body)
        assert isinstance(found, Fault), body[:200]
        assert (found.kind, found.transient, found.sent) == ("malformed", False, True), body[:200]
        assert found.detail.isprintable() and 0 < len(found.detail) < 600


@every
def test_a_reply_in_another_form_makes_no_completion(name):
    for other in WHOLE:
        if HELD_IN[other] != HELD_IN[name]:
            assert isinstance(decode(name, whole(other)), Fault)


@pytest.mark.parametrize("name", OVER_HTTP)
@pytest.mark.parametrize(("error", "passes"), [
    ({"code": 503}, True), ({"type": "overloaded_error", "message": "Overloaded"}, True),
    ({"code": "server_error"}, True), ({"code": 429, "status": "RESOURCE_EXHAUSTED"}, True),
    ({"message": "The service is currently unavailable."}, True), ("overloaded", True),
    ({"code": 400}, False), ({"type": "invalid_request_error"}, False), ("no such thing", False),
    ({"code": None, "message": "the context is 500 tokens"}, False),
])
def test_an_error_under_a_good_status_is_no_reply_even_beside_words(name, error, passes):
    alone = canonical_json({"error": error})
    beside = whole(name, beside=b'"error":' + canonical_json(error))
    for body in (alone, beside):
        found = decode(name, body)
        assert isinstance(found, Fault)
        assert (found.kind, found.transient) == ("server error", passes)


STATUSES = {
    101: ("rejected", False), 301: ("rejected", False), 307: ("rejected", False),
    400: ("rejected", False), 401: ("auth", False), 402: ("over budget", False),
    403: ("auth", False), 404: ("not found", False), 408: ("server error", True),
    413: ("rejected", False), 415: ("rejected", False), 422: ("rejected", False),
    429: ("rate limited", True), 500: ("server error", True), 501: ("server error", False),
    502: ("server error", True), 503: ("server error", True), 504: ("server error", True),
    529: ("server error", True), 0: ("rejected", False),
}


@every
@pytest.mark.parametrize("status", STATUSES)
def test_no_completion_comes_of_a_failing_status(name, status):
    for body in (whole(name), b"", HTML):
        found = decode(name, body, status)
        assert isinstance(found, Fault)
        assert (found.kind, found.transient) == STATUSES[status]


BITS = [b"[", b"{", b"}", b"]", b",", b"null", b"NaN", b"1e999", rb'"\ud800"', b"\xff", b"\0",
        b"-1", b"true", HTML, b'"mercy"', b'"error":']
NAMES = sorted({part for body in WHOLE.values() for part in json.loads(body.replace(
    b"TEXT", b'"mercy"'))} | {
        "message", "parts", "text", "type", "usage", "usageMetadata", "error", "thought", "refusal",
        "finish_reason", "stop_reason", "finishReason", "logprobs", "logprobsResult", "summary",
        "incomplete_details", "promptFeedback", "blockReason", "thinking", "stop_details"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["message", "text", "output_text", "completed", "incomplete", "reasoning"]),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(NAMES), v, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.binary(max_size=200), st.lists(
    st.sampled_from([*BITS, *map(whole, WHOLE)]), max_size=8).map(b"".join)), st.integers(-1, 1000))
def test_no_bytes_under_any_status_raise(body, status):
    for name in WHOLE:
        for under in (status, 200):
            found = decode(name, body, under)
            assert isinstance(found, Completion | Fault)
            assert 200 <= under < 300 or isinstance(found, Fault)


def texts_in(value):
    """Every text in a JSON value, keys apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(VALUES)
def test_no_json_of_any_shape_raises_or_makes_words_that_it_does_not_hold(value):
    for name in WHOLE:
        held = HELD_IN[name]
        for said in (value, {held: value},
                     {held: [value], "type": "message", "status": "completed"},
                     {"type": "message", "status": "incomplete", held: [{
                         "message": value, "content": value, "type": "message", "text": value}]}):
            found = decode(name, json.dumps(said).encode())
            assert isinstance(found, Completion | Fault)
            if not isinstance(said, dict) or not said.get(held):
                assert isinstance(found, Fault) or found.text == ""
            if isinstance(found, Completion):
                assert set(found.text) <= set("".join(texts_in(said)))
                assert all(n is None or isinstance(n, int) for n in (
                    found.usage.prompt, found.usage.completion, found.usage.reasoning))


def places(value, at=()):
    """Where each part of a JSON value stands."""
    yield at
    if isinstance(value, list | dict):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


def put(value, at, new):
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = put(value[at[0]], at[1:], new)
    return copy


@every
def test_a_reply_with_any_part_replaced_says_mercy_or_nothing(name):
    good = json.loads(whole(name))
    for at in places(good):
        for new in (None, 0, -1.5, True, "", "stop", [], {}, [None], {"text": 5}, "x" * 50):
            found = decode(name, json.dumps(put(good, at, new)).encode())
            if isinstance(found, Completion):
                assert found.text in ("mercy", "", new)


@every
def test_no_depth_of_nesting_raises(name):
    for depth in (*range(1, 1200, 7), 5000):
        nested = b"[" * depth + b"1" + b"]" * depth
        decode(name, whole(name, nested))
        decode(name, whole(name, beside=b'"usage":%s,"usageMetadata":%s' % (nested, nested)))
        assert isinstance(decode(name, b'{"error":%s}' % nested), Fault)


# What is sent.

MESSAGES = (Message("system", "Be brief."), user("选“仁慈”\n"), assistant("mercy"), user("Why?"))
TEXTS = st.text(max_size=20) | st.sampled_from(
    ['"', "\\", "\n\0\x7f", "\u2028", "仁慈", '","role":"', "the place of the schema",
     "text 0 of m"])
MODES = [("free", ()), ("constrained", ("a", "b")), ("first-token", ())]


@every
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS)),
       st.sampled_from(["low", ""]))
def test_whatever_is_asked_the_body_is_canonical_json_and_holds_every_text(name, messages, effort):
    asked = subject(name, **({"effort": effort} if effort else {}))
    for mode, choices in MODES:
        if mode in dialect(name).modes:
            body = dialect(name).encode(asked, messages, mode, choices, "").body
            assert body == canonical_json(json.loads(body))
            held = sorted(texts_in(json.loads(body)))
            assert all(held.count(m.text) >= sum(n.text == m.text for n in messages)
                       for m in messages)


@every
def test_a_schema_goes_out_as_it_is_written(name):
    schema = '{"type": "object", "properties": {"z": {"type": "string"}, "a": {}}}'
    for said in (MESSAGES, (user("the place of the schema"),), (user("mer\ud800cy"),)):
        request = dialect(name).encode(subject(name), said, "constrained", (), schema)
        assert schema.encode() in request.body and request.schema == schema
        assert all(m.text in list(texts_in(json.loads(request.body))) for m in said)


@every
def test_a_reply_with_a_lone_surrogate_can_be_quoted_back(name):
    body = dialect(name).encode(subject(name), (user("a"), assistant("mer\ud800cy")), "free", (),
                                "").body
    assert "mer\ud800cy" in list(texts_in(json.loads(body)))


@every
def test_what_a_subject_does_not_set_is_not_sent(name):
    asked = subject(name)
    bare = type(asked)("m", "m", "m", name)
    body = json.loads(dialect(name).encode(bare, (user("a"),), "free", (), "").body)
    assert not body.keys() & {"temperature", "max_tokens", "generationConfig", "reasoning",
                              "output_config", "max_output_tokens"}
    assert body.get("config", {}) == {}


@every
def test_another_effort_is_another_request_and_another_stamp(name):
    bodies, stamps = set(), set()
    for effort in ("low", "high"):
        asked = subject(name, effort=effort)
        request = dialect(name).encode(asked, MESSAGES, "free", (), "")
        bodies.add(request.body)
        stamps.add(request.stamp)
        assert effort in list(texts_in(json.loads(request.body)))
    assert len(bodies) == len(stamps) == 2


# The key.

CARRIED = {"openai": "authorization", "responses": "authorization", "openrouter": "authorization",
           "anthropic": "x-api-key", "gemini": "x-goog-api-key"}


def asked_of(name, behave, at=None, **options):
    """One question put to a server in that dialect; returns (outcome, server)."""
    spoken, who = dialect(name), subject(name)

    async def go():
        async with serving(behave) as server:
            base = f"http://127.0.0.1:{server.port}/v1"
            async with sender(spoken.url(base, who.model), key=KEY, headers=spoken.headers,
                              **options) as post:
                return await post(spoken.encode(who, (user("hi"),), "free", (), "")), server

    return asyncio.run(go())


@over_http
def test_a_key_goes_out_in_the_one_header_its_provider_reads(name):
    _, server = asked_of(name, saying(response(whole(name))))
    headers = server.got[0].headers
    carriers = {header for header in set(CARRIED.values()) if header in headers}
    assert carriers == {CARRIED[name]}
    assert headers[CARRIED[name]].removeprefix("Bearer ") == KEY
    assert KEY.encode() not in server.got[0].body
    assert KEY.encode() not in server.got[0].head.split(b"\r\n")[0]


def test_each_dialects_own_host_has_a_key_of_its_own(monkeypatch):
    for spoken in DIALECTS.values():
        if spoken.home:
            variable = OWN_KEYS[urlsplit(spoken.home).hostname]
            assert key_variable(spoken.home) == variable
            monkeypatch.setenv(variable, f"for {variable}")
            assert key_for(spoken.home) == f"for {variable}"


@pytest.mark.parametrize("url", [
    "http://api.anthropic.com", "https://api.anthropic.com.evil.example", "https://evil.example",
    "https://evil.example/api.anthropic.com", "https://api.anthropic.com@evil.example",
    "https://openrouter.ai.evil.example/api/v1", "http://generativelanguage.googleapis.com/v1beta",
])
def test_a_providers_key_goes_nowhere_else_and_never_in_the_clear(monkeypatch, url):
    for variable in OWN_KEYS.values():
        monkeypatch.setenv(variable, f"for {variable}")
    monkeypatch.delenv("EQUIPOISE_API_KEY", raising=False)
    assert key_for(url) is None


def test_a_key_that_is_not_there_is_said_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(Misuse, match="GEMINI_API_KEY") as error:
        key_for(dialect("gemini").home)
    assert error.value.code == 4


def test_a_key_can_be_in_a_file_that_no_one_else_may_read(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text("sk-from-a-file\n")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY_FILE", str(file))
    file.chmod(0o600)
    assert key_for("https://api.anthropic.com") == "sk-from-a-file\n"
    for mode in (0o640, 0o604, 0o644):
        file.chmod(mode)
        with pytest.raises(Misuse, match="chmod 600") as error:
            key_for("https://api.anthropic.com")
        assert error.value.code == 4 and "sk-from" not in str(error.value)
    file.unlink()
    with pytest.raises(Misuse, match="cannot be read"):
        key_for("https://api.anthropic.com")


def test_the_model_of_a_gemini_address_cannot_lead_elsewhere():
    at = dialect("gemini").url("https://a.example/v1", "../x?key=1#/")
    assert at == "https://a.example/v1/models/..%2Fx%3Fkey%3D1%23%2F:generateContent"


# Twenty-four wrong responses, through each dialect over a socket.

ERROR = canonical_json({"error": {"type": "overloaded_error", "message": "Overloaded"}})
ECHO = b'{"error":{"message":"bad key %s"}}' % KEY.encode()
ELSEWHERE = b"Location: http://127.0.0.1:9/"

MATRIX = {
    "HTML under 200": (lambda good: response(HTML), "malformed", False),
    "an error object under 200": (lambda good: response(ERROR), "server error", True),
    "nothing under 200": (lambda good: response(b""), "malformed", False),
    "truncated JSON": (lambda good: response(good[:-9]), "malformed", False),
    "another charset": (
        lambda good: response(good.replace(b"mercy", "仁慈".encode("gbk"))), "malformed", False),
    "a gzip bomb": (lambda good: response(gzip.compress(bytes(10_000_000)), 200,
                                          b"Content-Encoding: gzip"), "malformed", False),
    "a body of 100 MB": (lambda good: b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
                         + b" " * 6_000_000, "malformed", False),
    "a redirect to another host": (
        lambda good: response(b"", 307, ELSEWHERE), "rejected", False),
    "204": (lambda good: b"HTTP/1.1 204 No Content\r\n\r\n", "malformed", False),
    "401 that echoes the key": (lambda good: response(ECHO, 401), "auth", False),
    "402": (lambda good: response(b"", 402), "over budget", False),
    "403": (lambda good: response(b"", 403), "auth", False),
    "404": (lambda good: response(b"", 404), "not found", False),
    "413": (lambda good: response(HTML, 413), "rejected", False),
    "415": (lambda good: response(b"", 415), "rejected", False),
    "422": (lambda good: response(b"", 422), "rejected", False),
    "429 with a wait": (
        lambda good: response(b"", 429, b"Retry-After: 1"), "rate limited", True),
    "429 without one": (lambda good: response(b"", 429), "rate limited", True),
    "500": (lambda good: response(ERROR, 500), "server error", True),
    "502 in HTML": (lambda good: response(HTML, 502), "server error", True),
    "503": (lambda good: response(b"", 503), "server error", True),
    "504": (lambda good: response(HTML, 504), "server error", True),
    "529": (lambda good: response(ERROR, 529), "server error", True),
    "a stream that ends without its end": (
        lambda good: response(b"data: " + good + b"\n\n", 200,
                              b"Content-Type: text/event-stream"), "malformed", False),
    "an error in mid-stream": (
        lambda good: response(b"data: " + good + b"\n\ndata: " + ERROR + b"\n\n"), "malformed",
        False),
}


@over_http
@pytest.mark.parametrize("case", MATRIX)
def test_each_wrong_response_is_one_fault_and_costs_one_request(name, case):
    make, kind, transient = MATRIX[case]
    outcome, server = asked_of(name, saying(make(whole(name))))
    found = dialect(name).decode(outcome) if isinstance(outcome, Reply) else outcome
    assert isinstance(found, Fault)
    assert (found.kind, found.transient, found.sent) == (kind, transient, True)
    assert server.requests == server.connections == 1
    assert KEY not in repr(outcome) + repr(found)
    assert case != "401 that echoes the key" or STRUCK_OUT.decode() in found.detail


async def keeps_silent(got, wire):
    await asyncio.sleep(60)


def says_then_stalls(said):
    async def behave(got, wire):
        await wire.send(said)
        await asyncio.sleep(60)
    return behave


async def drips(got, wire):
    await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        await wire.send(b" ")
        await asyncio.sleep(0.05)


async def never_ends(got, wire):
    await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await wire.send(b"1\r\n \r\n")
        await asyncio.sleep(0.02)


async def half_closes(got, wire):
    wire.half_close()
    await asyncio.sleep(60)


def stalls(name):
    """What becomes of a call: whether the server saw it, and then not a whole reply of it."""
    good = whole(name)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    return {
        "no reply": keeps_silent, "headers alone": says_then_stalls(head),
        "half a body": says_then_stalls(head + good), "a drip": drips, "no end": never_ends,
        "half closed": half_closes,
        "the whole, and its connection kept": says_then_stalls(response(good)),
        "a part of the headers": says_then_stalls(b"HTTP/1.1 200 OK\r\nContent-"),
    }


@over_http
def test_no_stall_outlasts_the_total_and_none_passes_for_a_reply(name):
    spoken, who, cases = dialect(name), subject(name), stalls(name)

    async def one(behave):
        async with serving(behave) as server:
            url = spoken.url(f"http://127.0.0.1:{server.port}", who.model)
            async with sender(url, key=KEY, headers=spoken.headers, timeouts=SHORT) as post:
                found = await post(spoken.encode(who, (user("hi"),), "free", (), ""))
                return found, server.requests

    async def all_of_them():
        return await asyncio.gather(*map(one, cases.values()))

    begun = time.monotonic()
    found = dict(zip(cases, asyncio.run(all_of_them()), strict=True))
    assert time.monotonic() - begun < SHORT.total + 5
    for case, (outcome, requests) in found.items():
        assert requests == 1
        if case == "the whole, and its connection kept":
            assert spoken.decode(outcome).text == "mercy"
        else:
            assert (outcome.kind, outcome.sent, outcome.transient) == ("unknown", True, False)


PASSING = [429, 500, 502, 503, 504, 529]


async def conduct(trial, ask):
    return await ask("pick", [user(f"{trial.item}: mercy or justice?")])


@over_http
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_fault_that_passes_is_sent_exactly_as_often_as_said(tmp_path, name, attempts):
    spoken, who = dialect(name), subject(name)
    study = Instrument("sketch", "0", "picks", lambda subject: (), conduct, lambda found: found)
    trials = [Trial("sketch", who, f"item{status}", {}) for status in PASSING]

    async def behave(got, wire):
        status = next(status for status in PASSING if b"item%d" % status in got.body)
        await wire.send(response(ERROR, status))

    async def go(ledger):
        async with serving(behave) as server:
            url = spoken.url(f"http://127.0.0.1:{server.port}", who.model)
            async with sender(url, headers=spoken.headers) as post:
                desk = Desk(ledger, ledger.register("r", b"{}", {}), post,
                            patience=Patience(attempts, 0.001, 0.002))
                return await administer(study, trials, desk, at_once=2), server.requests

    ledger = Ledger.open(tmp_path / "l.db")
    try:
        found, requests = asyncio.run(go(ledger))
    finally:
        ledger.close()
    assert requests == attempts * len(PASSING)
    assert {o.value.kind for o in found.observations} == {"error"}


def test_every_dialect_has_a_name_a_subject_can_be_asked_in():
    with pytest.raises(Misuse, match="speaks openai") as error:
        dialect("latin")
    assert error.value.code == 5
    assert all("free" in spoken.modes for spoken in DIALECTS.values())
