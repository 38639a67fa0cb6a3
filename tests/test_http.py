"""Over real sockets: exact bytes, a key that goes nowhere else, and no call sent or booked twice.

A call that may have reached the provider and brought no reply is unknown; one that cannot have
is unreachable, and may be tried again.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
import random
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from equipoise.administer import administer
from equipoise.desk import Desk, Patience
from equipoise.ledger import Ledger
from equipoise.providers.http import Timeouts, proxy_for, sender
from equipoise.providers.keys import STRUCK_OUT, key_for, struck_out
from equipoise.providers.limits import Budget, Price, budgeted
from equipoise.providers.openai_chat import decode
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
    user,
)
from faulty_server import response, saying, serving

SHORT = Timeouts(connect=0.3, read=0.3, total=0.6)
SLACK = 5.0
KEY = "sk-test/Ab+cd=" + "0123456789abcdef" + "&<Zz9>.~"
MERCY = b'{"choices":[{"message":{"content":"mercy"},"finish_reason":"stop"}]}'
SUBJECT = Subject("m", "m", "m", "openai", settings={"max_tokens": 10})


def asking(body=b"{}"):
    return Request(SUBJECT, (), body=body)


def run(behave, *bodies, greet=None, at=None, **options):
    """Send the bodies one after another to a server; returns (outcomes, server)."""

    async def go():
        async with serving(behave, greet) as server:
            url = at(server) if at else server.url
            async with sender(url, **options) as post:
                return [await post(asking(body)) for body in bodies or (b"{}",)], server

    return asyncio.run(go())


def one(behave, **options):
    [outcome], server = run(behave, **options)
    return outcome, server


def kind(outcome):
    return (outcome.kind, outcome.sent, outcome.transient)


UNKNOWN, UNREACHABLE = ("unknown", True, False), ("unreachable", False, True)


# What goes out and what comes back.


@pytest.mark.parametrize("body", [
    b"", b"{}", bytes(range(256)), "仁慈\r\n\r\n".encode(), b"\r\nGET / HTTP/1.1\r\n\r\n",
    b"x" * 300_000,
])
def test_bytes_are_the_same_at_both_ends(body):
    [outcome], server = run(saying(response(body)), body)
    assert outcome.body == server.got[0].body == body
    assert outcome.status == 200 and outcome.seconds >= 0


def test_bytes_come_back_the_same_in_chunks():
    async def behave(got, wire):
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (b"\xff\x00", b"\r\n", b"mercy"):
            await wire.send(b"%x\r\n%s\r\n" % (len(part), part))
            await asyncio.sleep(0.005)
        await wire.send(b"0\r\n\r\n")

    outcome, _ = one(behave)
    assert outcome.body == b"\xff\x00\r\nmercy"


def test_what_is_sent_says_what_it_must_and_no_more():
    [_], server = run(saying(response()), b'{"a":1}', key=KEY)
    got = server.got[0]
    assert got.head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert got.headers == {
        "host": f"127.0.0.1:{server.port}", "accept": "*/*", "accept-encoding": "identity",
        "user-agent": "equipoise", "content-type": "application/json",
        "authorization": f"Bearer {KEY}", "content-length": "7",
    }


def test_no_compression_is_asked_for_and_none_undone():
    packed = b"\x1f\x8b\x08 not really"
    outcome, server = one(saying(response(packed, 200, b"Content-Encoding: gzip")))
    assert server.got[0].headers["accept-encoding"] == "identity"
    assert outcome.body == packed


def test_headers_are_kept_as_they_came_and_cookies_are_not():
    outcome, _ = one(saying(response(
        b"{}", 200, b"X-Request-ID: Ab", b"Set-Cookie: session=secret", b"x-twice: 1",
        b"x-twice: 2", b"X-Cafe: \xe9", b"set-cookie: other=secret")))
    assert outcome.headers == (
        ("Content-Length", "2"), ("X-Request-ID", "Ab"), ("x-twice", "1"), ("x-twice", "2"),
        ("X-Cafe", "\xe9"))
    assert "secret" not in repr(outcome)


def test_a_cookie_is_never_sent_back():
    _, server = run(saying(response(b"{}", 200, b"Set-Cookie: a=b")), b"1", b"2")
    assert [("cookie" in got.headers) for got in server.got] == [False, False]


def test_a_body_beyond_the_cap_is_given_up_and_one_at_the_cap_is_kept():
    kept, _ = one(saying(response(b"x" * 1000)), cap=1000)
    over, _ = one(saying(response(b"x" * 1001)), cap=1000)
    assert len(kept.body) == 1000
    assert kind(over) == ("malformed", True, False) and "longer than 1,000 bytes" in over.detail


def test_the_cap_is_five_million_bytes_and_nothing_beyond_is_read():
    sent = []

    async def behave(got, wire):
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            await wire.send(b"x" * 1_000_000)
            sent.append(1_000_000)

    outcome, _ = one(behave)
    assert kind(outcome) == ("malformed", True, False) and "5,000,000" in outcome.detail
    assert sum(sent) < 20_000_000


# The key.


def encodings(key):
    """The forms in which a server may give a key back."""
    raw = key.encode()
    yield from (key, key[::-1], quote(key, safe=""), html.escape(key), raw.hex(), key[:8],
                key[-8:], json.dumps(key)[1:-1], json.dumps(key)[1:-1].replace("/", "\\/"))
    yield "".join(c if c.isalnum() or c in "-.~" else f"%{ord(c):02x}" for c in key)
    yield "".join(f"%{byte:02x}" for byte in raw)
    yield "".join(f"\\u{ord(c):04x}" for c in key)
    yield key.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    for before in ("", "u", "us", "user:"):
        yield base64.b64encode(f"{before}{key}".encode()).decode()
        yield base64.urlsafe_b64encode(f"{before}{key}:x".encode()).decode()


def core(form, key):
    """The part of an encoding that all three alignments of base64 share with the whole."""
    return form if form in (key[:8], key[-8:]) else form[8:-8]


@pytest.mark.parametrize("place", ["body", "header", "fault"])
def test_a_key_that_a_server_sends_back_is_struck_out_in_every_form(place):
    for form in encodings(KEY):
        said = {
            "body": response(b'{"error":"bad key %s"}' % form.encode(), 401),
            "header": response(b"{}", 401, b"X-Echo: Bearer %s" % form.encode()),
            "fault": b"HTTP/1.1 BAD %s\r\n\r\n" % form.encode(),
        }[place]
        outcome, _ = one(saying(said), key=KEY)
        told = repr(outcome) + (str(decode(outcome)) if isinstance(outcome, Reply) else "")
        while "\\\\" in told:
            told = told.replace("\\\\", "\\")
        assert core(form, KEY) not in told, form
        assert STRUCK_OUT.decode() in told, form


def test_a_key_is_struck_out_however_its_characters_are_escaped():
    draw = random.Random(0)
    for _ in range(300):
        said = "".join(draw.choice((
            c, f"%{ord(c):02x}", f"%{ord(c):02X}", f"\\u{ord(c):04x}", f"\\\\u{ord(c):04X}",
            f"&#{ord(c)};", f"&#x{ord(c):X};", html.escape(c), c if c.isalnum() else "\\" + c,
        )) for c in KEY)
        assert struck_out(Reply(f"<{said}>".encode()), KEY).body == b"<%s>" % STRUCK_OUT
        assert struck_out(Fault("unknown", f"仁{said}"), KEY).detail == f"仁{STRUCK_OUT.decode()}"


def test_a_key_echoed_in_many_pieces_leaves_no_trace_in_the_ledger(tmp_path):
    echo = response(b'{"error":{"message":"%s, %s"}}' % (KEY.encode(), KEY[:8].encode()), 401,
                    b"X-Auth: " + base64.b64encode(KEY.encode()))
    found, _, _ = administered(tmp_path, saying(echo), cells=1, key=KEY)
    told = repr(found.observations) + str(found.stopped)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
    with opened(tmp_path) as ledger:
        [past] = ledger.recorded(ledger.run("r").seq).values()
        told += repr(ledger.reply(past))
    for form in (KEY, KEY[:8], KEY[-8:], base64.b64encode(KEY.encode()).decode()[:-4]):
        assert form not in told
    assert found.stopped.code == 4


def test_bytes_that_hold_no_key_are_left_alone():
    body = b'{"sk-tesT":"Ab+cd","%s":1}' % KEY[1:8].encode()
    outcome, _ = one(saying(response(body)), key=KEY)
    assert outcome.body == body


def test_a_stand_in_for_a_key_is_not_struck_out_of_answers():
    outcome, server = one(saying(response(b"none of them")), key="none")
    assert server.got[0].headers["authorization"] == "Bearer none"
    assert outcome.body == b"none of them"


def test_a_key_is_sent_without_the_line_end_of_its_file():
    _, server = one(saying(response()), key="sk-12345678\r\n")
    assert server.got[0].headers["authorization"] == "Bearer sk-12345678"


@pytest.mark.parametrize("key", ["sk-1234\r\nX-Evil: 1", "sk 12345678", "sk-1234567é", "sk\x00123"])
def test_a_key_that_no_header_can_carry_is_refused_unsaid(key):
    with pytest.raises(Misuse) as error:
        one(saying(response()), key=key)
    assert error.value.code == 4 and key not in str(error.value)


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_without_a_key_nothing_is_authorised(key):
    _, server = one(saying(response()), key=key)
    assert "authorization" not in server.got[0].headers


def test_a_key_reaches_no_host_it_was_not_meant_for(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    monkeypatch.setenv("EQUIPOISE_API_KEY", "for-others")
    monkeypatch.setenv("MINE", "for-me")
    monkeypatch.delenv("NOT_SET", raising=False)
    assert key_for("https://api.openai.com/v1") == "for-openai"
    for other in ("http://127.0.0.1:1", "https://api.openai.com.evil.example/v1",
                  "https://evil.example/api.openai.com", "https://api.openai.com@evil.example/"):
        assert key_for(other) == "for-others"
    assert key_for("https://evil.example", "MINE") == "for-me"
    with pytest.raises(Misuse, match="NOT_SET") as error:
        key_for("https://api.openai.com/v1", "NOT_SET")
    assert error.value.code == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(status):
    async def go():
        async with serving(saying(response(MERCY))) as target:
            moved = response(b"gone", status, b"Location: " + target.url.encode())
            async with serving(saying(moved)) as server, sender(server.url, key=KEY) as post:
                return await post(asking()), server.requests, target.connections

    outcome, asked, followed = asyncio.run(go())
    assert (outcome.status, outcome.body, asked, followed) == (status, b"gone", 1, 0)
    assert decode(outcome).kind == "rejected"


@pytest.mark.parametrize("url", [
    "http://[bad/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "http:///v1",
    "http://a..b/v1", "http://" + "x" * 70 + ".example/v1", "ftp://a.example/v1", "a.example/v1",
    "http://user:hunter2@a.example/v1", "http://user:hunter2@[bad/v1",
])
def test_an_address_that_nothing_can_be_sent_to_is_refused_at_once(url):
    with pytest.raises(Misuse) as error:
        one(saying(response()), at=lambda server: url)
    assert "hunter2" not in str(error.value)


# What cannot have been sent.


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def test_a_refused_connection_was_never_sent():
    port = free_port()
    outcome, server = one(saying(response()), at=lambda server: f"http://127.0.0.1:{port}/v1")
    assert kind(outcome) == UNREACHABLE


def test_a_name_that_is_not_known_was_never_sent(monkeypatch):
    def unknown(*args, **more):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    outcome, _ = one(saying(response()), at=lambda server: "http://model.invalid/v1")
    assert kind(outcome) == UNREACHABLE and "model.invalid" in outcome.detail


def secure(server):
    return server.url.replace("http://", "https://")


async def answers_in_plain(wire):
    await wire.reader.read(1)
    await wire.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    wire.close()


async def hangs_up(wire):
    await wire.reader.read(1)
    wire.reset()


async def keeps_silent(wire):
    await asyncio.sleep(60)


@pytest.mark.parametrize("greet", [answers_in_plain, hangs_up, keeps_silent])
def test_a_handshake_that_fails_was_never_sent(greet):
    begun = time.monotonic()
    outcome, server = one(saying(response()), greet=greet, at=secure, timeouts=SHORT, key=KEY)
    assert kind(outcome) == UNREACHABLE and server.requests == 0
    assert time.monotonic() - begun < SHORT.total + SLACK


@pytest.mark.parametrize("timeouts", [Timeouts(0.2, 30, 30), Timeouts(30, 30, 0.8)])
def test_a_connection_that_never_comes_about_was_never_sent(timeouts):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one_ in waiting:
            one_.setblocking(False)
            one_.connect_ex(full.getsockname())
        begun = time.monotonic()
        outcome, _ = one(saying(response()), timeouts=timeouts,
                         at=lambda server: f"http://127.0.0.1:{full.getsockname()[1]}/v1")
        for one_ in waiting:
            one_.close()
    assert kind(outcome) == UNREACHABLE
    assert time.monotonic() - begun < 0.8 + SLACK


# What may have been sent, and brought no reply.


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def resets_after_the_body(got, wire):
    wire.reset()


async def closes_after_the_body(got, wire):
    wire.close()


async def closes_in_mid_headers(got, wire):
    await wire.send(b"HTTP/1.1 200 OK\r\nContent-")
    wire.close()


async def closes_in_mid_body(got, wire):
    await wire.send(HEAD + MERCY)
    wire.close()


async def resets_in_mid_body(got, wire):
    await wire.send(HEAD + MERCY)
    await asyncio.sleep(0.02)
    wire.reset()


async def resets_in_mid_chunk(got, wire):
    await wire.send(CHUNKED + b"ff\r\nmercy")
    await asyncio.sleep(0.02)
    wire.reset()


async def closes_before_the_last_chunk(got, wire):
    await wire.send(CHUNKED + b"5\r\nmercy\r\n")
    wire.close()


async def half_closes(got, wire):
    wire.half_close()
    await asyncio.sleep(60)


async def stalls(got, wire):
    await asyncio.sleep(60)


async def stalls_after_the_headers(got, wire):
    await wire.send(HEAD)
    await asyncio.sleep(60)


async def stalls_in_mid_body(got, wire):
    await wire.send(HEAD + MERCY)
    await asyncio.sleep(60)


async def drips(got, wire):
    await wire.send(HEAD)
    while True:
        await wire.send(b" ")
        await asyncio.sleep(0.05)


async def drips_headers(got, wire):
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await wire.send(b"x: y\r\n")
        await asyncio.sleep(0.05)


async def never_ends(got, wire):
    await wire.send(CHUNKED)
    while True:
        await wire.send(b"1\r\n \r\n")
        await asyncio.sleep(0.02)


async def promises_for_ever(got, wire):
    while True:
        await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(0.02)


LOST = [
    resets_after_the_body, closes_after_the_body, closes_in_mid_headers, closes_in_mid_body,
    resets_in_mid_body, resets_in_mid_chunk, closes_before_the_last_chunk, half_closes, stalls,
    stalls_after_the_headers, stalls_in_mid_body, drips, drips_headers, never_ends,
    promises_for_ever,
]


@pytest.mark.parametrize("behave", LOST, ids=lambda behave: behave.__name__)
def test_a_call_that_brought_no_whole_reply_is_unknown_in_good_time(behave):
    begun = time.monotonic()
    outcome, server = one(behave, timeouts=SHORT)
    assert time.monotonic() - begun < SHORT.total + SLACK
    assert kind(outcome) == UNKNOWN
    assert server.requests == 1
    assert outcome.detail


@pytest.mark.parametrize("behave", [stalls, stalls_after_the_headers, stalls_in_mid_body])
def test_a_silence_ends_long_before_the_total_does(behave):
    begun = time.monotonic()
    outcome, _ = one(behave, timeouts=Timeouts(connect=60, read=0.2, total=60))
    assert kind(outcome) == UNKNOWN
    assert time.monotonic() - begun < 0.2 + SLACK


@pytest.mark.parametrize("act", ["half_close", "close", "reset"])
def test_a_socket_shut_as_soon_as_it_is_accepted_makes_an_unknown(act):
    async def greet(wire):
        getattr(wire, act)()
        await asyncio.sleep(0.5 if act == "half_close" else 0)

    outcome, server = one(saying(response()), greet=greet, timeouts=SHORT)
    assert kind(outcome) == UNKNOWN
    assert server.connections == 1


@pytest.mark.parametrize("said", [
    b"\x00\xff garbage\r\n\r\n", b"hi there", b"HTTP/1.1 BAD OK\r\n\r\n", b"\r\n" * 5000,
    b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi", CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 5000 + b"Content-Length: 2\r\n\r\nhi",
])
def test_what_is_not_http_is_unknown(said):
    async def behave(got, wire):
        await wire.send(said)
        wire.close()

    outcome, _ = one(behave, timeouts=SHORT)
    assert kind(outcome) == UNKNOWN


def test_no_bytes_that_a_server_can_send_raise():
    whole = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\n"
             b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + MERCY)

    async def behave(got, wire):
        draw = random.Random(got.body)
        said = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            place = draw.randrange(len(said))
            said[place:place + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
        await wire.send(bytes(said))
        wire.close()

    outcomes, server = run(behave, *(b"%d" % place for place in range(300)), timeouts=SHORT)
    assert server.requests == 300
    assert all(isinstance(o, Reply) or kind(o) == UNKNOWN for o in outcomes)
    assert {type(o) for o in outcomes} == {Reply, Fault}


def test_a_connection_that_still_lives_is_used_again():
    outcomes, server = run(saying(response(b"1"), response(b"2"), response(b"3")), *[b"{}"] * 3)
    assert [o.body for o in outcomes] == [b"1", b"2", b"3"]
    assert server.connections == 1


def test_after_a_reply_cut_short_the_next_call_has_a_connection_of_its_own():
    async def behave(got, wire):
        await wire.send(response(b"fine") if got.place else HEAD + MERCY)
        await asyncio.sleep(60 if not got.place else 0)

    [cut, fine], server = run(behave, b"1", b"2", timeouts=SHORT)
    assert kind(cut) == UNKNOWN and fine.body == b"fine"
    assert server.connections == 2


@pytest.mark.parametrize("act", ["close", "reset"])
def test_a_kept_connection_that_died_costs_one_call_at_most(act):
    """A second request on a connection that the server drops unread: sent once, never again."""
    places = Counter()

    async def behave(got, wire):
        places[got.body] += 1
        if got.place == 0:
            return await wire.send(response(b"fine"))
        return getattr(wire, act)()

    [fine, lost, lost_again], server = run(behave, b"first", b"second", b"third")
    assert fine.body == b"fine" and kind(lost) == kind(lost_again) == UNKNOWN
    assert places == {b"first": 1, b"second": 1, b"third": 1}


def test_a_connection_closed_while_it_was_kept_is_noticed_and_not_used():
    async def behave(got, wire):
        await wire.send(response(b"fine"))
        wire.close()

    async def go():
        async with serving(behave) as server, sender(server.url) as post:
            first = await post(asking())
            await asyncio.sleep(0.05)
            return first, await post(asking()), server

    first, second, server = asyncio.run(go())
    assert first.body == second.body == b"fine"
    assert (server.requests, server.connections) == (2, 2)


# Proxies.


@pytest.fixture
def environment(monkeypatch):
    """Sets proxy variables, with none left over from outside."""
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    def set_(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}", "http://127.0.0.1:{}/"])
def test_the_proxy_that_the_environment_names_is_asked(environment, form):
    def through(server):
        environment(HTTP_PROXY=form.format(server.port))
        return "http://model.invalid/v1"

    outcome, server = one(saying(response(MERCY)), at=through)
    assert outcome.body == MERCY
    assert server.got[0].head.startswith(b"POST http://model.invalid/v1 HTTP/1.1")


@pytest.mark.parametrize(("url", "excepted"), [
    ("http://a.example/v1", "a.example"), ("http://a.example:8080/v1", "a.example:8080"),
    ("http://b.a.example/v1", ".a.example"), ("http://a.example/v1", "*"),
    ("http://127.0.0.1:1/v1", ""), ("http://localhost:1/v1", ""), ("http://[::1]:1/v1", ""),
])
def test_an_excepted_address_and_this_machine_are_asked_directly(environment, url, excepted):
    environment(HTTP_PROXY="http://proxy.example:3128", NO_PROXY=excepted)
    assert proxy_for(url) is None
    assert proxy_for("http://other.example/v1") == (
        None if excepted == "*" else "http://proxy.example:3128")


def test_no_proxy_is_asked_where_none_is_named(environment):
    assert proxy_for("http://a.example/v1") is None
    environment(HTTPS_PROXY="http://proxy.example:3128")
    assert proxy_for("http://a.example/v1") is None
    assert proxy_for("https://a.example/v1") == "http://proxy.example:3128"


@pytest.mark.parametrize("proxy", [
    "socks5://user:hunter2@proxy.example:1080", "http://user:hunter2@[bad", "http://u:hunter2@h:x",
])
def test_a_proxy_that_cannot_be_asked_is_refused_without_its_password(environment, proxy):
    environment(HTTPS_PROXY=proxy)
    with pytest.raises(Misuse, match="proxy") as error:
        proxy_for("https://a.example/v1")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("status", [403, 407, 502])
def test_a_proxy_that_opens_no_tunnel_is_told_no_key_and_nothing_was_sent(environment, status):
    def through(server):
        environment(HTTPS_PROXY=f"http://user:hunter2@127.0.0.1:{server.port}")
        return "https://model.invalid/v1"

    outcome, server = one(saying(response(b"no", status)), at=through, key=KEY)
    assert kind(outcome) == UNREACHABLE
    assert "hunter2" not in outcome.detail
    [got] = server.got
    assert got.head.startswith(b"CONNECT model.invalid:443 ")
    assert "authorization" not in got.headers and KEY.encode() not in got.head
    assert got.headers["proxy-authorization"].startswith("Basic ")


# Through the desk, with a ledger.


async def conduct(trial, ask):
    return await ask("pick", [user(f"{trial.item}: mercy or justice?")])


STUDY = Instrument("sketch", "0", "picks", lambda subject: (), conduct, lambda found: found)


@contextmanager
def opened(folder):
    ledger = Ledger.open(folder / "l.db")
    try:
        yield ledger
    finally:
        ledger.close()


def administered(folder, behave, *, cells, at_once=1, key=None, timeouts=SHORT, **desk):
    """Ask that many cells of a faulty server; returns (administration, server, desk)."""
    trials = [Trial("sketch", SUBJECT, f"item{place}", {}) for place in range(cells)]

    async def go(ledger):
        async with serving(behave) as server, sender(
            server.url, key=key, timeouts=timeouts
        ) as post:
            run_ = ledger.register("r", b"{}", {})
            asked = Desk(ledger, run_, post, **{"patience": Patience(3, 0.001, 0.01)} | desk)
            return await administer(STUDY, trials, asked, at_once=at_once), server, asked

    with opened(folder) as ledger:
        return asyncio.run(go(ledger))


def values(found):
    return [o.value for o in found.observations]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("attempts", [1, 4])
def test_a_fault_that_passes_is_sent_exactly_as_often_as_said(tmp_path, status, attempts):
    found, server, _ = administered(tmp_path, saying(response(b"", status)), cells=1,
                                    patience=Patience(attempts, 0.001, 0.002))
    assert server.requests == attempts
    assert isinstance(values(found)[0], Nonresponse) and values(found)[0].kind == "error"


@pytest.mark.parametrize("said", [
    response(b"", 400), response(b"", 413), response(b"", 422), response(b"", 501),
    response(b"", 301), response(b"", 204), response(b"<html>"), response(MERCY[:-9]),
    response(b'{"error":"no"}'), response(b'{"error":{"code":"insufficient_quota"}}', 429),
])
def test_a_fault_that_stays_is_sent_once(tmp_path, said):
    found, server, _ = administered(tmp_path, saying(said), cells=1)
    assert server.requests == 1
    assert values(found)[0].kind == "error"


@pytest.mark.parametrize("behave", [resets_after_the_body, closes_in_mid_body, stalls])
def test_a_call_whose_outcome_is_unknown_is_sent_once(tmp_path, behave):
    found, server, _ = administered(tmp_path, behave, cells=1)
    assert server.requests == 1
    assert values(found)[0].kind == "error"
    _, later, _ = administered(tmp_path, saying(response(MERCY)), cells=1)
    assert later.requests == 0


def test_a_reply_that_spent_its_tokens_on_reasoning_is_kept_and_not_asked_again(tmp_path):
    body = MERCY.replace(b'"mercy"', b'null,"reasoning":"hm"').replace(b'"stop"', b'"length"')
    found, server, _ = administered(tmp_path, saying(response(body)), cells=1)
    assert server.requests == 1
    assert values(found) == [Completion("", "length", "hm")]


DATED = (b"Date: Sat, 03 Feb 2001 04:05:06 GMT", b"Retry-After: Sat, 03 Feb 2001 04:05:07 GMT")


@pytest.mark.parametrize(("headers", "told"), [((b"Retry-After: 0.3",), 0.3), (DATED, 1.0)])
@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_in_either_form_is_waited_out(tmp_path, headers, told, status):
    found, server, _ = administered(
        tmp_path, saying(response(b"", status, *headers), response(MERCY)), cells=1)
    assert values(found) == [Completion("mercy")]
    first, second = (got.at for got in server.got)
    assert told <= second - first < told + SLACK


@pytest.mark.parametrize("said", [b"inf", b"nan", b"soon", b"-1", b"9" * 400])
def test_a_wait_that_is_none_holds_nothing_up(tmp_path, said):
    found, server, _ = administered(
        tmp_path, saying(response(b"", 429, b"Retry-After: " + said), response(MERCY)), cells=1)
    assert values(found) == [Completion("mercy")] and server.requests == 2


def test_while_one_waits_as_told_the_others_do_not_send(tmp_path):
    """Four calls are on the wire when the first is told to wait; none follows until it is over."""
    told, all_here = [], []

    async def behave(got, wire):
        loop = asyncio.get_running_loop()
        if got.place >= 4:
            return await wire.send(response(MERCY))
        all_here.append(got)
        while len(all_here) < 4:
            await asyncio.sleep(0.005)
        if got.place == 0:
            told.append(loop.time())
            return await wire.send(response(b"", 429, b"Retry-After: 0.6"))
        await asyncio.sleep(0.2)
        return await wire.send(response(MERCY))

    found, server, _ = administered(tmp_path, behave, cells=12, at_once=4,
                                    timeouts=Timeouts(5, 10, 20))
    assert values(found) == [Completion("mercy")] * 12
    assert server.requests == 13
    assert min(got.at for got in server.got[4:]) >= told[0] + 0.6


def test_of_200_calls_reset_at_random_none_is_sent_twice_and_each_is_booked(tmp_path):
    """What the server saw, it may bill: each is booked, and those without a reply at the worst."""
    price, budget = Price(0, 1e6), Budget()
    whole = response(MERCY[:-1] + b',"usage":{"prompt_tokens":5,"completion_tokens":1}}')
    resets = []

    async def behave(got, wire):
        cut = random.Random(got.body).randrange(-len(whole), len(whole))
        await wire.send(whole[:cut] if cut > 0 else whole)
        if cut > 0:
            resets.append(got.body)
            await asyncio.sleep(0.002)
            wire.reset()

    found, server, desk = administered(
        tmp_path, behave, cells=200, at_once=16, timeouts=Timeouts(5, 10, 20),
        guard=budgeted(budget, lambda subject: price, lambda request, reply: decode(reply).usage))
    seen = Counter(got.body for got in server.got)
    assert len(seen) == 200 and set(seen.values()) == {1}
    assert desk.outcomes["calls"] == budget.calls == 200 >= server.requests
    answered = sum(isinstance(value, Completion) for value in values(found))
    assert 50 < len(resets) < 150 and answered == 200 - len(resets)
    assert budget.spent_usd == pytest.approx(answered * 1 + len(resets) * 10)
    with opened(tmp_path) as ledger:
        kinds = Counter(past.kind for past in ledger.recorded(1).values())
    assert kinds == {"reply": answered, "unknown": len(resets)}


def test_no_connection_and_no_thread_is_left_behind():
    before = threading.active_count()

    async def go():
        async with serving(stalls) as server:
            async with sender(server.url, timeouts=SHORT) as post:
                task = asyncio.create_task(post(asking()))
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.sleep(0.05)
            return len(asyncio.all_tasks())

    assert asyncio.run(go()) <= 2
    assert threading.active_count() == before
