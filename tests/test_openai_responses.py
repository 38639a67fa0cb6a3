"""What is sent as a response to be made, and the one thing that each reply in that form says.

The whole reply is in the form of the example at
https://developers.openai.com/api/reference/resources/responses/methods/create.
"""

import json
import math

import pytest

from equipoise.providers.openai_responses import decode, encode
from equipoise.terms import Completion, Fault, Message, Reply, Subject, Usage, assistant, user

EXAMPLE = b"""{
  "id": "resp_67ccd2bed1ec8190b14f964abc054267", "object": "response", "created_at": 1741476542,
  "status": "completed", "error": null, "incomplete_details": null, "instructions": null,
  "max_output_tokens": null, "model": "gpt-4.1-2025-04-14",
  "output": [{"type": "message", "id": "msg_67ccd2bf17f0819081ff3bb2cf6508e6",
              "status": "completed", "role": "assistant",
              "content": [{"type": "output_text", "text": "In a peaceful grove.",
                           "annotations": []}]}],
  "parallel_tool_calls": true, "previous_response_id": null,
  "reasoning": {"effort": null, "summary": null}, "store": true, "temperature": 1.0,
  "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
  "truncation": "disabled",
  "usage": {"input_tokens": 36, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 87, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 123},
  "user": null, "metadata": {}
}"""


def asked(**settings):
    return Subject("m", "gpt-5", "gpt", "responses", settings=settings)


ASKED = (user("Hi"),)


def sent(subject, messages=ASKED, mode="free", choices=()):
    return json.loads(encode(subject, messages, mode, choices).body)


def words(text):
    return {"type": "output_text", "text": text, "annotations": []}


def message(*content):
    return {"type": "message", "role": "assistant", "content": list(content)}


def said(*output, status="completed", **more):
    return Reply(json.dumps({"model": "gpt-5", "status": status, "output": list(output),
                             **more}).encode())


def test_a_request_is_these_bytes():
    asking = encode(asked(max_tokens=64, effort="low"),
                    (Message("system", "Be brief."), user("选\n"), assistant("Yes?")), "free", ())
    assert asking.body == (
        '{"input":[{"content":"Be brief.","role":"system"},{"content":"选\\n","role":"user"},'
        '{"content":"Yes?","role":"assistant"}],"max_output_tokens":64,"model":"gpt-5",'
        '"reasoning":{"effort":"low"},"store":false}').encode()


def test_nothing_is_ever_stored():
    for mode in ("free", "constrained", "first-token"):
        assert sent(asked(), mode=mode)["store"] is False


def test_a_constrained_reply_is_held_by_its_format():
    held = sent(asked(), mode="constrained", choices=("a", "b"))["text"]["format"]
    assert (held["type"], held["name"], held["strict"]) == ("json_schema", "choice", True)
    assert held["schema"]["properties"]["choice"]["enum"] == ["a", "b"]


def test_the_first_token_is_asked_for_with_its_alternatives():
    body = sent(asked(max_tokens=64), mode="first-token")
    assert (body["max_output_tokens"], body["top_logprobs"]) == (16, 20)
    assert body["include"] == ["message.output_text.logprobs"]


LOGPROBS = [{"token": "m", "logprob": -0.1, "bytes": [109], "top_logprobs": [
    {"token": "m", "logprob": -0.1}, {"token": "x", "logprob": None}, {"token": "j"},
    {"token": "k", "logprob": -math.inf}]}, {"token": "e", "logprob": -0.2, "top_logprobs": []}]
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}

REPLIES = {
    "the published example": (Reply(EXAMPLE), Completion(
        "In a peaceful grove.", "stop", "", "gpt-4.1-2025-04-14", usage=Usage(36, 87, 0, None, 0))),
    "reasoning, then text": (
        said(THOUGHT, message(words("mer"), words("cy")), usage={
            "input_tokens": 5, "output_tokens": 70,
            "output_tokens_details": {"reasoning_tokens": 64}}),
        Completion("mercy", "stop", "hm", "gpt-5", usage=Usage(5, 70, 64))),
    "cut short": (
        said(message(words("mer")), status="incomplete",
             incomplete_details={"reason": "max_output_tokens"}),
        Completion("mer", "length", "", "gpt-5")),
    "all tokens spent on reasoning": (
        said(THOUGHT, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        Completion("", "length", "hm", "gpt-5")),
    "filtered": (
        said(status="incomplete", incomplete_details={"reason": "content_filter"}),
        Completion("", "filter", "", "gpt-5")),
    "incomplete for a reason of another day": (
        said(message(words("a")), status="incomplete", incomplete_details={"reason": "steered"}),
        Completion("a", "other", "", "gpt-5")),
    "incomplete for no reason": (
        said(message(words("a")), status="incomplete"), Completion("a", "other", "", "gpt-5")),
    "a refusal": (
        said(message({"type": "refusal", "refusal": "I cannot."})),
        Completion("I cannot.", "filter", "", "gpt-5")),
    "a refusal after some words": (
        said(message(words("Well"), {"type": "refusal", "refusal": "I cannot."})),
        Completion("Well", "filter", "", "gpt-5")),
    "a message of nothing": (said(message()), Completion("", "stop", "", "gpt-5")),
    "a message beside a tool": (
        said({"type": "web_search_call", "id": "x"}, message(words("a"))),
        Completion("a", "stop", "", "gpt-5")),
    "alternatives of the first token": (
        said(message({**words("me"), "logprobs": LOGPROBS})),
        Completion("me", "stop", "", "gpt-5", first_token=(("m", -0.1), ("k", -math.inf)))),
    "alternatives in a form of their own": (
        said(message({**words("me"), "logprobs": "none"})), Completion("me", "stop", "", "gpt-5")),
}


@pytest.mark.parametrize("case", REPLIES)
def test_each_reply_says_one_thing(case):
    reply, expected = REPLIES[case]
    assert decode(reply) == expected


FAULTS = {
    "failed": (said(status="failed", error={"code": "server_error", "message": "…"}),
               "server error", True),
    "failed for good": (said(status="failed", error={"code": "invalid_prompt", "message": "…"}),
                        "server error", False),
    "failed without a word": (said(status="failed"), "server error", False),
    "still in progress": (said(message(words("a")), status="in_progress"), "malformed", False),
    "queued": (said(status="queued"), "malformed", False),
    "cancelled": (said(message(words("a")), status="cancelled"), "malformed", False),
    "completed with no message": (said(THOUGHT), "malformed", False),
    "completed with nothing": (said(), "malformed", False),
    "no status": (said(message(words("a")), status=None), "malformed", False),
    "text not text": (said(message({"type": "output_text", "text": 5})), "malformed", False),
    "a part of no type": (said(message({"text": "a"})), "malformed", False),
    "a spent quota": (Reply(b'{"error":{"code":"insufficient_quota"}}', 429), "over budget", False),
}


@pytest.mark.parametrize("case", FAULTS)
def test_every_other_reply_is_one_fault(case):
    reply, kind, transient = FAULTS[case]
    found = decode(reply)
    assert isinstance(found, Fault)
    assert (found.kind, found.transient) == (kind, transient)
