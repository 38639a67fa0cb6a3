"""What is sent to Anthropic, and the one thing that each of its replies says.

The whole replies are in the form of the examples at https://platform.claude.com/docs/en/api/messages
and of the pages on stop reasons, structured outputs and effort.
"""

import json

import pytest

from equipoise.providers.anthropic import VERSION, decode, encode, headers
from equipoise.terms import Completion, Fault, Message, Reply, Subject, Usage, assistant, user

OPUS = "claude-opus-4-6"
SUBJECT = Subject("m", OPUS, "claude", "anthropic", settings={"max_tokens": 1024})
EXAMPLE = b"""{
  "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
  "content": [{"type": "text", "text": "Hello!"}],
  "model": "claude-opus-4-6", "stop_reason": "end_turn", "stop_sequence": null,
  "usage": {"input_tokens": 12, "output_tokens": 6}
}"""


def said(content, stop="end_turn", **more):
    return Reply(json.dumps({"type": "message", "content": content, "stop_reason": stop,
                             "model": OPUS, **more}).encode())


def text(words):
    return {"type": "text", "text": words}

ASKED = (user("Hello, Claude"),)


def sent(subject=SUBJECT, messages=ASKED, mode="free", choices=()):
    return json.loads(encode(subject, messages, mode, choices).body)


def asked(**settings):
    return Subject("m", OPUS, "claude", "anthropic", settings={"max_tokens": 1024, **settings})


def test_the_published_example_of_a_request_is_what_is_sent():
    assert encode(SUBJECT, (user("Hello, Claude"),), "free", ()).body == (
        b'{"max_tokens":1024,"messages":[{"content":"Hello, Claude","role":"user"}],'
        b'"model":"claude-opus-4-6"}')


def test_the_version_and_the_key_are_headers():
    assert headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    assert headers(None) == {"anthropic-version": VERSION}


def test_what_a_system_says_stands_beside_the_messages():
    whole = (Message("system", "Be brief."), user("Hi"), assistant("Hello!"), user("Why?"))
    body = sent(messages=whole)
    assert body["system"] == "Be brief."
    assert body["messages"] == [{"role": "user", "content": "Hi"},
                                {"role": "assistant", "content": "Hello!"},
                                {"role": "user", "content": "Why?"}]
    two = sent(messages=(Message("system", "a"), Message("system", "b"), user("Hi")))
    assert two["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_a_constrained_reply_is_held_by_its_format_and_an_effort_stands_beside():
    body = sent(asked(effort="low"), mode="constrained", choices=("mercy", "justice"))
    choice = {"type": "string", "enum": ["mercy", "justice"]}
    assert body["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": {
        "type": "object", "properties": {"choice": choice}, "required": ["choice"],
        "additionalProperties": False}}}


@pytest.mark.parametrize(("setting", "field"), [
    ("adaptive", {"type": "adaptive"}), ("disabled", {"type": "disabled"}),
    (2048, {"type": "enabled", "budget_tokens": 2048}),
])
def test_thinking_is_said_in_a_word_or_in_tokens(setting, field):
    assert sent(asked(thinking=setting))["thinking"] == field


@pytest.mark.parametrize("stop", ["\n\n", ["\n\n"]])
def test_a_stop_is_a_list_of_sequences(stop):
    assert sent(asked(stop=stop))["stop_sequences"] == ["\n\n"]


REPLIES = {
    "the published example": (Reply(EXAMPLE), Completion(
        "Hello!", "stop", "", OPUS, usage=Usage(12, 6))),
    "a stop sequence": (said([text("a")], "stop_sequence"), Completion("a", "stop", "", OPUS)),
    "cut short": (said([text("a")], "max_tokens"), Completion("a", "length", "", OPUS)),
    "no more context": (said([text("a")], "model_context_window_exceeded"),
                        Completion("a", "length", "", OPUS)),
    "a turn that paused": (said([text("a")], "pause_turn"), Completion("a", "other", "", OPUS)),
    "a tool": (said([{"type": "tool_use", "name": "t", "input": {}}], "tool_use"),
               Completion("", "other", "", OPUS)),
    "a reason of another day": (said([text("a")], "tired"), Completion("a", "other", "", OPUS)),
    "no reason": (said([text("a")], None), Completion("a", "other", "", OPUS)),
    "a refusal": (said([], "refusal", stop_details={
        "type": "refusal", "category": "bio", "explanation": "I cannot help with this."}),
        Completion("I cannot help with this.", "filter", "", OPUS)),
    "a refusal without a word": (said([], "refusal"), Completion("", "filter", "", OPUS)),
    "a refusal in its own words": (said([text("No.")], "refusal", stop_details={
        "explanation": "policy"}), Completion("No.", "filter", "", OPUS)),
    "nothing said": (said([], "end_turn"), Completion("", "stop", "", OPUS)),
    "thinking, then text": (
        said([{"type": "thinking", "thinking": "hm", "signature": "x"},
              {"type": "redacted_thinking", "data": "…"}, text("mer"), text("cy")]),
        Completion("mercy", "stop", "hm", OPUS)),
    "only thinking": (
        said([{"type": "thinking", "thinking": "hm"}], "max_tokens"),
        Completion("", "length", "hm", OPUS)),
    "a prompt read from a cache": (
        said([text("a")], usage={
            "input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11,
            "output_tokens": 40, "output_tokens_details": {"thinking_tokens": 30}}),
        Completion("a", "stop", "", OPUS, usage=Usage(23, 40, 30, None, 11))),
    "counts that are none": (
        said([text("a")], usage={"input_tokens": -5, "output_tokens": "six"}),
        Completion("a", "stop", "", OPUS, usage=Usage(None, None))),
}


@pytest.mark.parametrize("case", REPLIES)
def test_each_reply_says_one_thing(case):
    reply, expected = REPLIES[case]
    assert decode(reply) == expected


ERRORS = {
    "overloaded": (529, "overloaded_error", "server error", True),
    "overloaded under 200": (200, "overloaded_error", "server error", True),
    "a wrong request under 200": (200, "invalid_request_error", "server error", False),
    "an internal error": (500, "api_error", "server error", True),
    "a rate limit": (429, "rate_limit_error", "rate limited", True),
    "a wrong key": (401, "authentication_error", "auth", False),
    "no permission": (403, "permission_error", "auth", False),
    "an unknown model": (404, "not_found_error", "not found", False),
    "too large": (413, "request_too_large", "rejected", False),
    "a wrong request": (400, "invalid_request_error", "rejected", False),
    "billing": (402, "billing_error", "over budget", False),
}


@pytest.mark.parametrize("case", ERRORS)
def test_each_published_error_is_one_fault(case):
    status, kind, fault, transient = ERRORS[case]
    body = {"type": "error", "error": {"type": kind, "message": "…"}, "request_id": "req_1"}
    found = decode(Reply(json.dumps(body).encode(), status))
    assert isinstance(found, Fault)
    assert (found.kind, found.transient) == (fault, transient)


@pytest.mark.parametrize("body", [
    b'{"type":"error"}', b'{"type":"message"}', b'{"content":[{"type":"text","text":"a"}]}',
    b'{"type":"message","content":null}', b'{"type":"message","content":[{"text":"a"}]}',
    b'{"type":"message","content":[{"type":"text","text":5}]}',
    b'{"type":"completion","content":[]}',
])
def test_what_is_not_a_message_is_a_fault(body):
    assert isinstance(decode(Reply(body)), Fault)
