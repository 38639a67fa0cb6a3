"""What is sent as a chat completion, and the one thing that each reply in that form says."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.providers import llamacpp
from equipoise.providers.limits import Price
from equipoise.providers.openai_chat import decode, encode
from equipoise.providers.retry_after import retry_after
from equipoise.reading.stated_choice import stated_choice
from equipoise.terms import (
    Completion,
    Fault,
    Message,
    Nonresponse,
    Reply,
    Subject,
    Usage,
    assistant,
    canonical_json,
    user,
)

SUBJECT = Subject("m", "maker/m", "m", "openai", "https://a.example/v1",
                  {"temperature": 0, "max_tokens": 24}, {"key_env": "KEY"})
ASKED = (user("Pick one: mercy or justice"),)
CHOICES = ("mercy", "justice")
HTML = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"


def chat(message='"content":"mercy"', choice='"finish_reason":"stop"', beside='"model":"m-1"'):
    """A chat completion as bytes, with the given fields in each of its three objects."""
    return f'{{"choices":[{{"message":{{{message}}},{choice}}}],{beside}}}'.encode()


def error(code, **more):
    return canonical_json({"error": {"code": code, "message": "no", **more}})


def first_tokens(alternatives):
    return ('"finish_reason":"length","logprobs":{"content":[{"token":"m","logprob":-0.1,'
            f'"top_logprobs":{alternatives}}}]}}')


USED = Usage(9, 1)
QUOTA = canonical_json({"error": {
    "message": "You exceeded your current quota, please check your plan and billing details. "
               + "For more information on this error, read the docs. " * 4,
    "type": "insufficient_quota"}})

COMPLETIONS = {
    "whole": (chat(beside='"model":"m-1","provider":"up","system_fingerprint":"fp",'
                   '"usage":{"prompt_tokens":9,"completion_tokens":1,"cost":0.5,'
                   '"completion_tokens_details":{"reasoning_tokens":0}}'),
              Completion("mercy", "stop", "", "m-1", "up", "fp", Usage(9, 1, 0, 0.5))),
    "bare": (b'{"choices":[{"message":{"content":"mercy"}}]}', Completion("mercy", "other")),
    "all tokens spent on reasoning": (
        chat('"content":null,"reasoning":"hm, mercy"', '"finish_reason":"length"'),
        Completion("", "length", "hm, mercy", "m-1")),
    "reasoning by its other name": (
        chat('"content":"mercy","reasoning_content":"hm"'),
        Completion("mercy", "stop", "hm", "m-1")),
    "no content at all": (chat('"role":"assistant"'), Completion("", "stop", "", "m-1")),
    "content in parts": (
        chat('"content":[{"type":"text","text":"mer"},{"type":"image"},{"text":"cy"}]'),
        Completion("mercy", "stop", "", "m-1")),
    "content of no parts": (chat('"content":[]'), Completion("", "stop", "", "m-1")),
    "refusal in its own field": (
        chat('"content":null,"refusal":"I cannot."'), Completion("I cannot.", "filter", "", "m-1")),
    "finish missing": (chat(choice='"index":0'), Completion("mercy", "other", "", "m-1")),
    "finish null": (chat(choice='"finish_reason":null'), Completion("mercy", "other", "", "m-1")),
    "finish unknown": (
        chat(choice='"finish_reason":"tired"'), Completion("mercy", "other", "", "m-1")),
    "finish not text": (chat(choice='"finish_reason":3'), Completion("mercy", "other", "", "m-1")),
    "filtered": (
        chat(choice='"finish_reason":"content_filter"'), Completion("mercy", "filter", "", "m-1")),
    "truncated": (
        chat(choice='"finish_reason":"max_tokens"'), Completion("mercy", "length", "", "m-1")),
    "escaped lone surrogate": (
        chat(r'"content":"mer\ud800cy"'), Completion("mer\ud800cy", "stop", "", "m-1")),
    "escaped pair": (chat(r'"content":"\ud83d\ude00"'), Completion("😀", "stop", "", "m-1")),
    "escaped NUL": (chat(r'"content":"a\u0000b"'), Completion("a\0b", "stop", "", "m-1")),
    "byte-order mark": (b"\xef\xbb\xbf" + chat(), Completion("mercy", "stop", "", "m-1")),
    "white space to keep alive": (
        b"\n  \r\n" + chat() + b"\n", Completion("mercy", "stop", "", "m-1")),
    "duplicate key: the last": (
        chat('"content":"justice","content":"mercy"'), Completion("mercy", "stop", "", "m-1")),
    "10 MB": (chat('"content":"' + "mercy " * 1_700_000 + '"'),
              Completion("mercy " * 1_700_000, "stop", "", "m-1")),
    "NaN in the usage": (
        chat(beside='"usage":{"prompt_tokens":NaN,"completion_tokens":1,"cost":NaN}'),
        Completion("mercy", "stop", usage=Usage(None, 1))),
    "infinite cost": (chat(beside='"usage":{"prompt_tokens":9,"completion_tokens":1,"cost":1e400}'),
                      Completion("mercy", "stop", usage=USED)),
    "cost itemised": (
        chat(beside='"usage":{"prompt_tokens":9,"completion_tokens":1,"cost":{"total":1}}'),
        Completion("mercy", "stop", usage=USED)),
    "count of 5,000 digits": (
        chat(beside=f'"usage":{{"prompt_tokens":{"9" * 5000},"completion_tokens":1}}'),
        Completion("mercy", "stop", usage=Usage(None, 1))),
    "unread integer of 5,000 digits": (
        chat(beside=f'"created":{"9" * 5000}'), Completion("mercy", "stop")),
    "usage not an object": (chat(beside='"usage":"free"'), Completion("mercy", "stop")),
    "upstream not text": (chat(beside='"provider":{"id":1}'), Completion("mercy", "stop")),
    "error field empty": (chat(beside='"error":null'), Completion("mercy", "stop")),
    "log-probabilities missing though asked for": (
        chat(choice='"finish_reason":"length"'), Completion("mercy", "length", "", "m-1")),
    "log-probabilities null": (chat(choice='"finish_reason":"stop","logprobs":null'),
                               Completion("mercy", "stop", "", "m-1")),
    "log-probabilities of no token": (
        chat(choice='"finish_reason":"stop","logprobs":{"content":[]}'),
        Completion("mercy", "stop", "", "m-1")),
    "alternatives null": (
        chat(choice=first_tokens("null")), Completion("mercy", "length", "", "m-1")),
    "some alternatives null": (
        chat(choice=first_tokens('[null,{"token":"m","logprob":-0.1},{"token":"j","logprob":null},'
                                 '{"token":"k","logprob":NaN},{"token":"x","logprob":-Infinity}]')),
        Completion("mercy", "length", "", "m-1", first_token=(("m", -0.1), ("x", -math.inf)))),
}

FAULTS = {
    "HTML": (200, HTML, "malformed", False),
    "empty": (200, b"", "malformed", False),
    "no content": (204, b"", "malformed", False),
    "truncated JSON": (200, chat()[:-20], "malformed", False),
    "JSON, and something after it": (200, chat() + b"x", "malformed", False),
    "an event stream": (200, b"data: " + chat() + b"\n\ndata: [DONE]\n\n", "malformed", False),
    "invalid UTF-8": (200, chat().replace(b"mercy", b"mer\xff\xfe"), "malformed", False),
    "another charset": (200, chat('"content":"仁慈"').decode().encode("gbk"), "malformed", False),
    "UTF-16": (200, chat().decode().encode("utf-16"), "malformed", False),
    "surrogate as bytes": (200, chat().replace(b"mercy", b"\xed\xa0\x80"), "malformed", False),
    "NULs": (200, bytes(1000), "malformed", False),
    "a raw NUL in the text": (200, chat().replace(b"mercy", b"mer\0cy"), "malformed", False),
    "compressed though not asked": (200, b"\x1f\x8b\x08" + bytes(40), "malformed", False),
    "nested 100,000 deep": (200, b"[" * 100_000 + b"]" * 100_000, "malformed", False),
    "nested 100,000 deep in a field": (
        200, chat(beside='"x":' + "[" * 100_000 + "]" * 100_000), "malformed", False),
    "nested 100,000 deep in an error": (
        200, b'{"error":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "malformed", False),
    "no choices": (200, b'{"choices":[]}', "malformed", False),
    "choices null": (200, b'{"choices":null}', "malformed", False),
    "no message": (200, b'{"choices":[{"finish_reason":"stop"}]}', "malformed", False),
    "a choice that is null": (200, b'{"choices":[null]}', "malformed", False),
    "content a number": (200, chat('"content":50'), "malformed", False),
    "content an object": (200, chat('"content":{"text":"mercy"}'), "malformed", False),
    "a bare string": (200, b'"mercy"', "malformed", False),
    "an error object": (200, error("bad_prompt"), "server error", False),
    "an error as text": (200, b'{"error":"no such thing"}', "server error", False),
    "an error that passes, by code": (200, error(503), "server error", True),
    "an error that passes, by word": (200, error(None, type="overloaded_error"), "server error",
                                      True),
    "an error that only looks passing": (
        200, error(400, detail="the context is 500 tokens"), "server error", False),
    "an error in a text that only looks passing": (
        200, b'{"error":"the context is 500 tokens"}', "server error", False),
    "an error in mid-reply": (
        200, chat(choice='"finish_reason":"error","error":{"code":502}'), "server error", True),
    "a redirect": (301, HTML, "rejected", False),
    "a redirect that keeps the method": (307, b"", "rejected", False),
    "a bad request": (400, error(400), "rejected", False),
    "a wrong key": (401, error("invalid_api_key"), "auth", False),
    "no credit": (402, error(402), "over budget", False),
    "forbidden": (403, error(403), "auth", False),
    "an unknown model": (404, error("model_not_found"), "not found", False),
    "a timeout of the request": (408, b"", "server error", True),
    "too large": (413, HTML, "rejected", False),
    "another media type": (415, b"", "rejected", False),
    "unprocessable": (422, error(422), "rejected", False),
    "a rate limit": (429, error("rate_limit_exceeded"), "rate limited", True),
    "a quota used up": (429, QUOTA, "over budget", False),
    "an internal error": (500, error(500), "server error", True),
    "not implemented": (501, b"", "server error", False),
    "a bad gateway": (502, HTML, "server error", True),
    "unavailable": (503, b"", "server error", True),
    "a gateway's timeout": (504, HTML, "server error", True),
    "overloaded": (529, error("overloaded_error"), "server error", True),
    "a completion, but under a failing status": (500, chat(), "server error", True),
    "a switch of protocols": (101, b"", "rejected", False),
    "a status that is none": (0, chat(), "rejected", False),
}


@pytest.mark.parametrize("case", COMPLETIONS)
def test_a_reply_whose_words_are_plain_is_a_completion(case):
    body, expected = COMPLETIONS[case]
    found = decode(Reply(body))
    assert found == expected


@pytest.mark.parametrize("case", FAULTS)
def test_every_other_reply_is_one_fault(case):
    status, body, kind, transient = FAULTS[case]
    found = decode(Reply(body, status))
    assert isinstance(found, Fault)
    assert (found.kind, found.transient, found.sent) == (kind, transient, True)
    assert found.detail.isprintable() and 0 < len(found.detail) < 600


def test_a_model_that_spent_its_tokens_on_reasoning_was_cut_short():
    body, _ = COMPLETIONS["all tokens spent on reasoning"]
    reading = stated_choice({c: (c,) for c in CHOICES})(decode(Reply(body)))
    assert isinstance(reading.value, Nonresponse) and reading.value.kind == "truncated"


def test_no_depth_of_nesting_raises():
    for depth in range(1, 1200):
        nested = b"[" * depth + b"1" + b"]" * depth
        assert isinstance(decode(Reply(b'{"error":%s}' % nested)), Fault)
        decode(Reply(chat(beside='"x":1').replace(b'"x":1', b'"usage":%s' % nested)))


BITS = st.sampled_from([
    b'{"choices":', b"[", b"{", b"}", b"]", b'"message":', b'"content":', b'"mercy"', b",", b"null",
    b'"finish_reason":', b"NaN", b"1e999", b'"\\ud800"', b"\xff", b"\0", b'"usage":', b'"error":',
    b"-1", b"true", chat(), chat('"content":null'), HTML,
])
BYTES = st.one_of(st.binary(max_size=200), st.lists(BITS, max_size=12).map(b"".join))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from([
        "choices", "message", "content", "finish_reason", "logprobs", "top_logprobs", "usage",
        "cost", "error", "text", "token", "code", "prompt_tokens"]), v, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(BYTES, st.integers(-1, 1000) | st.just(200))
def test_no_bytes_under_any_status_raise(body, status):
    found = decode(Reply(body, status))
    assert isinstance(found, Completion | Fault)
    assert 200 <= status < 300 or isinstance(found, Fault)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(VALUES)
def test_no_json_of_any_shape_raises(value):
    for said in (value, {"choices": value}, {"choices": [value]},
                 {"choices": [{"message": {"content": "mercy"}}], "usage": value, "model": value},
                 {"choices": [{"message": {"content": value}, "logprobs": {"content": value}}]}):
        found = decode(Reply(json.dumps(said).encode()))
        assert isinstance(found, Completion | Fault)
        if isinstance(found, Completion):
            assert isinstance(found.text, str)
            cost = Price(1, 1).cost(found.usage)
            assert cost is None or 0 <= cost < math.inf


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(-1, 1000).filter(lambda status: not 200 <= status < 300), st.binary())
def test_no_completion_comes_of_a_failing_status(status, body):
    assert isinstance(decode(Reply(body, status)), Fault)
    assert isinstance(decode(Reply(chat(), status)), Fault)


def body_of(subject=SUBJECT, messages=ASKED, mode="free", choices=CHOICES, by=encode):
    return json.loads(by(subject, messages, mode, choices).body)


def test_what_is_sent_is_canonical_json():
    request = encode(SUBJECT, (user("选“仁慈”\n"), assistant("mercy")), "free", ())
    assert request.body == (
        '{"max_tokens":24,"messages":[{"content":"选“仁慈”\\n","role":"user"},'
        '{"content":"mercy","role":"assistant"}],"model":"maker/m","temperature":0}').encode()
    assert request.body == canonical_json(json.loads(request.body))


TEXTS = st.text(max_size=30) | st.sampled_from(
    ['"', "\\", "\n\0\x7f", "\u2028", "仁慈", '","role":"'])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS)),
       st.lists(TEXTS, min_size=1, max_size=3),
       st.dictionaries(st.sampled_from(["temperature", "seed", "stop"]), st.integers() | TEXTS))
def test_whatever_is_asked_the_body_is_its_canonical_json(messages, choices, set_up):
    subject = Subject("m", "m", "m", "openai", settings=set_up)
    whole = {"model": "m", **set_up,
             "messages": [{"role": m.role, "content": m.text} for m in messages]}
    schema = {"type": "object", "properties": {"choice": {"type": "string", "enum": choices}},
              "required": ["choice"], "additionalProperties": False}
    named = {"name": "choice", "strict": True, "schema": schema}
    for by, mode, more in (
        (encode, "free", {}), (llamacpp.encode, "free", {}),
        (encode, "first-token", {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}),
        (encode, "constrained",
         {"response_format": {"type": "json_schema", "json_schema": named}}),
        (llamacpp.encode, "constrained", {"grammar": llamacpp.grammar(choices)}),
    ):
        assert by(subject, messages, mode, choices).body == canonical_json(whole | more)


@pytest.mark.parametrize("mode", ["free", "constrained"])
def test_a_setting_that_is_not_given_is_not_sent(mode):
    bare = Subject("m", "m", "m", "openai")
    assert set(body_of(bare, mode=mode)) - {"response_format"} == {"model", "messages"}


def test_a_constrained_reply_is_held_to_the_choices_by_a_schema():
    choices = ('say "no"', "back\\slash", "仁慈")
    sent = body_of(mode="constrained", choices=choices)["response_format"]
    assert sent["type"] == "json_schema" and sent["json_schema"]["strict"] is True
    schema = sent["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == list(choices)
    assert schema["required"] == ["choice"] and schema["additionalProperties"] is False


def test_a_constrained_reply_is_held_to_the_choices_by_a_grammar():
    choices = ('say "no"', "back\\slash", "仁慈", "two\nlines", "\b")
    sent = body_of(mode="constrained", choices=choices, by=llamacpp.encode)
    assert sent["grammar"] == (
        r'root ::= "say \"no\"" | "back\\slash" | "仁慈" | "two\x0Alines" | "\x08"')
    assert "response_format" not in sent


def test_the_first_token_is_asked_for_with_its_alternatives():
    sent = body_of(mode="first-token")
    assert (sent["max_tokens"], sent["logprobs"], sent["top_logprobs"]) == (1, True, 20)


def test_a_limit_by_its_other_name_is_the_only_limit_sent():
    reasoner = Subject("m", "m", "m", "openai", settings={"max_completion_tokens": 500})
    sent = body_of(reasoner, mode="first-token")
    assert sent["max_completion_tokens"] == 1 and "max_tokens" not in sent


@pytest.mark.parametrize("by", [encode, llamacpp.encode])
def test_a_reply_with_a_lone_surrogate_can_be_quoted_back(by):
    said = decode(Reply(COMPLETIONS["escaped lone surrogate"][0])).text
    sent = body_of(messages=(*ASKED, assistant(said)), mode="constrained", by=by)
    assert sent["messages"][1]["content"] == said == "mer\ud800cy"


def test_equal_questions_have_equal_stamps():
    again = Subject("m", "maker/m", "m", "openai", "https://a.example/v1",
                    {"max_tokens": 24, "temperature": 0}, {"key_env": "KEY"})
    for mode in ("free", "constrained", "first-token"):
        assert (encode(SUBJECT, ASKED, mode, CHOICES).stamp
                == encode(again, list(ASKED), mode, list(CHOICES)).stamp)


def test_any_difference_is_another_stamp():
    def changed(**fields):
        return Subject(**SUBJECT.as_json() | fields)

    asked = [
        encode(SUBJECT, ASKED, "free", CHOICES),
        encode(SUBJECT, ASKED, "constrained", CHOICES),
        encode(SUBJECT, ASKED, "constrained", CHOICES[::-1]),
        encode(SUBJECT, ASKED, "first-token", CHOICES),
        encode(SUBJECT, (user(ASKED[0].text + " "),), "free", CHOICES),
        encode(SUBJECT, (assistant(ASKED[0].text),), "free", CHOICES),
        encode(SUBJECT, ASKED * 2, "free", CHOICES),
        encode(changed(model="maker/n"), ASKED, "free", CHOICES),
        encode(changed(name="n"), ASKED, "free", CHOICES),
        encode(changed(base_url="https://b.example/v1"), ASKED, "free", CHOICES),
        encode(changed(settings={"temperature": 1, "max_tokens": 24}), ASKED, "free", CHOICES),
        encode(changed(settings={"max_tokens": 24}), ASKED, "free", CHOICES),
        encode(changed(engine={"key_env": "KEY", "flash": True}), ASKED, "free", CHOICES),
        encode(changed(engine={}), ASKED, "free", CHOICES),
        llamacpp.encode(SUBJECT, ASKED, "constrained", CHOICES),
    ]
    assert len({request.stamp for request in asked}) == len(asked)


NOON, LATER = "Mon, 30 Nov 2026 12:00:00 GMT", "Mon, 30 Nov 2026 12:01:30 GMT"


@pytest.mark.parametrize(("said", "date", "seconds"), [
    ("60", NOON, 60.0), (" 0.3 ", None, 0.3), ("0", None, 0.0), (LATER, NOON, 90.0),
    (NOON, LATER, 0.0), (LATER, "yesterday", 1.5), (LATER.removesuffix(" GMT"), NOON, 90.0),
    ("", NOON, None), ("soon", NOON, None), ("inf", None, None), ("nan", None, None),
    ("9" * 400, None, None), ("1_0", None, None), ("-5", None, None),
    ("Mon, 30 Nov 99999 12:00:00 GMT", NOON, None),
])
def test_a_wait_is_read_in_either_form_and_nothing_else_is_one(said, date, seconds):
    headers = (("retry-AFTER", said), *([("date", date)] if date else []))
    now = 1796040088.5  # 12:01:28.5 on that day
    assert retry_after(Reply(b"", 429, headers), lambda: now) == pytest.approx(seconds)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=40) | st.from_regex(r"Mon, \d{1,2} \w{3} \d{1,5} \d\d:\d\d:\d\d ?[\w+-]*"),
       st.text(max_size=20) | st.just(NOON))
def test_no_header_makes_a_wait_that_is_not_one(said, date):
    seconds = retry_after(Reply(b"", 429, (("Retry-After", said), ("Date", date))))
    assert seconds is None or 0 <= seconds < math.inf
