"""What is sent to Gemini, and the one thing that each of its replies says.

The whole replies are in the form of the examples at https://ai.google.dev/api/generate-content and
of the pages on thinking, structured output and safety settings.
"""

import json
import math

import pytest

from equipoise.providers.gemini import decode, encode, headers
from equipoise.terms import Completion, Fault, Message, Reply, Subject, Usage, assistant, user

FLASH = "gemini-2.5-flash"
EXAMPLE = b"""{
  "candidates": [{"content": {"parts": [{"text": "AI learns from data."}], "role": "model"},
                  "finishReason": "STOP", "index": 0}],
  "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 713,
                    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}],
                    "thoughtsTokenCount": 700},
  "modelVersion": "gemini-2.5-flash", "responseId": "mAitaLmkHPPlz7IPvtfUqQ4"
}"""


def asked(**settings):
    return Subject("m", FLASH, "gemini", "gemini", settings=settings)


def said(candidate=None, **more):
    whole = {"modelVersion": FLASH, **more}
    return Reply(json.dumps(
        whole if candidate is None else {**whole, "candidates": [candidate]}).encode())


def parts(*texts, finish="STOP", **more):
    return {"content": {"role": "model", "parts": [{"text": t} for t in texts]},
            **({"finishReason": finish} if finish else {}), **more}


ASKED = (user("Explain how AI works"),)


def sent(subject, messages=ASKED, mode="free", choices=()):
    return json.loads(encode(subject, messages, mode, choices).body)


def test_the_published_example_of_a_request_is_what_is_sent():
    assert encode(asked(), (user("Explain how AI works"),), "free", ()).body == (
        b'{"contents":[{"parts":[{"text":"Explain how AI works"}],"role":"user"}]}')


def test_the_key_is_a_header():
    assert headers("k") == {"x-goog-api-key": "k"}
    assert headers(None) == {}


def test_every_setting_has_its_name_there():
    body = sent(asked(temperature=0, max_tokens=8, top_p=0.5, top_k=3, seed=7, stop="x",
                      frequency_penalty=0.1, presence_penalty=0.2, effort="low"))
    assert body["generationConfig"] == {
        "temperature": 0, "maxOutputTokens": 8, "topP": 0.5, "topK": 3, "seed": 7,
        "stopSequences": ["x"], "frequencyPenalty": 0.1, "presencePenalty": 0.2,
        "thinkingConfig": {"thinkingLevel": "low"}}


def test_thinking_is_said_in_tokens_and_none_of_them_is_said_too():
    assert sent(asked(thinking=0))["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 0}}


def test_a_threshold_holds_for_every_harm():
    found = sent(asked(safety="BLOCK_NONE"))["safetySettings"]
    assert {one["threshold"] for one in found} == {"BLOCK_NONE"}
    assert [one["category"] for one in found] == [
        "HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_HATE_SPEECH",
        "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_DANGEROUS_CONTENT"]
    assert "safetySettings" not in sent(asked())


def test_what_a_system_says_stands_beside_the_contents_and_a_reply_is_the_models():
    body = sent(asked(), (Message("system", "Be brief."), user("Hi"), assistant("Yes?"),
                          user("Why?")))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [(c["role"], c["parts"]) for c in body["contents"]] == [
        ("user", [{"text": "Hi"}]), ("model", [{"text": "Yes?"}]), ("user", [{"text": "Why?"}])]


def test_a_constrained_reply_is_held_by_a_schema():
    config = sent(asked(max_tokens=9), mode="constrained", choices=("a", "b"))["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["properties"]["choice"]["enum"] == ["a", "b"]


def test_the_first_token_is_asked_for_with_its_alternatives():
    config = sent(asked(max_tokens=9), mode="first-token")["generationConfig"]
    assert config == {"maxOutputTokens": 1, "responseLogprobs": True, "logprobs": 20}


ALTERNATIVES = {"topCandidates": [{"candidates": [
    {"token": "m", "tokenId": 5, "logProbability": -0.1}, {"token": "x"},
    {"token": "j", "logProbability": -math.inf}]}, {"candidates": []}]}

REPLIES = {
    "the published example": (Reply(EXAMPLE), Completion(
        "AI learns from data.", "stop", "", FLASH, usage=Usage(8, 705, 700))),
    "cut short": (said(parts("a", finish="MAX_TOKENS")), Completion("a", "length", "", FLASH)),
    "all tokens spent on thoughts": (
        said({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"},
             usageMetadata={"promptTokenCount": 5, "thoughtsTokenCount": 60}),
        Completion("", "length", "", FLASH, usage=Usage(5, 60, 60))),
    "a candidate without content": (
        said({"finishReason": "SAFETY"}), Completion("", "filter", "", FLASH)),
    **{f"stopped for {why}": (said(parts("a", finish=why)), Completion("a", "filter", "", FLASH))
       for why in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")},
    **{f"stopped for {why}": (said(parts("a", finish=why)), Completion("a", "other", "", FLASH))
       for why in ("OTHER", "LANGUAGE", "MALFORMED_FUNCTION_CALL", "UNHEARD_OF")},
    "no reason": (said(parts("a", finish=None)), Completion("a", "other", "", FLASH)),
    "a blocked prompt": (
        said(promptFeedback={"blockReason": "PROHIBITED_CONTENT"},
             usageMetadata={"promptTokenCount": 5}),
        Completion("", "filter", "", FLASH, usage=Usage(5))),
    "a blocked prompt, and no candidates": (
        said(promptFeedback={"blockReason": "SAFETY"}, candidates=[]),
        Completion("", "filter", "", FLASH)),
    "thoughts, then text": (
        said({"content": {"parts": [{"text": "hm", "thought": True}, {"text": "mer"},
                                    {"functionCall": {"name": "f"}}, {"text": "cy"}]},
              "finishReason": "STOP"}),
        Completion("mercy", "stop", "hm", FLASH)),
    "the first of two candidates": (
        said(candidates=[parts("a"), parts("b")]), Completion("a", "stop", "", FLASH)),
    "alternatives of the first token": (
        said(parts("m", finish="MAX_TOKENS", logprobsResult=ALTERNATIVES)),
        Completion("m", "length", "", FLASH, first_token=(("m", -0.1), ("j", -math.inf)))),
    "alternatives in a form of their own": (
        said(parts("m", logprobsResult={"topCandidates": "none"})),
        Completion("m", "stop", "", FLASH)),
    "a cached prompt": (
        said(parts("a"), usageMetadata={"promptTokenCount": 9, "cachedContentTokenCount": 4,
                                        "candidatesTokenCount": 1}),
        Completion("a", "stop", "", FLASH, usage=Usage(9, 1, None, None, 4))),
    "counts that are none": (
        said(parts("a"), usageMetadata={"candidatesTokenCount": -5, "thoughtsTokenCount": 9}),
        Completion("a", "stop", "", FLASH, usage=Usage(None, None, 9))),
}


@pytest.mark.parametrize("case", REPLIES)
def test_each_reply_says_one_thing(case):
    reply, expected = REPLIES[case]
    assert decode(reply) == expected


ERRORS = {
    "a wrong key": (400, "INVALID_ARGUMENT", "auth", False),
    "a wrong request": (400, "FAILED_PRECONDITION", "rejected", False),
    "no permission": (403, "PERMISSION_DENIED", "auth", False),
    "an unknown model": (404, "NOT_FOUND", "not found", False),
    "too many": (429, "RESOURCE_EXHAUSTED", "rate limited", True),
    "an internal error": (500, "INTERNAL", "server error", True),
    "overloaded": (503, "UNAVAILABLE", "server error", True),
    "too slow": (504, "DEADLINE_EXCEEDED", "server error", True),
    "overloaded under 200": (200, "UNAVAILABLE", "server error", True),
}


@pytest.mark.parametrize("case", ERRORS)
def test_each_published_error_is_one_fault(case):
    status, name, fault, transient = ERRORS[case]
    code = 503 if status == 200 else status
    details = [{"reason": "API_KEY_INVALID"}] if case == "a wrong key" else []
    body = {"error": {"code": code, "message": "…", "status": name, "details": details}}
    found = decode(Reply(json.dumps(body).encode(), status))
    assert isinstance(found, Fault)
    assert (found.kind, found.transient) == (fault, transient)


@pytest.mark.parametrize("body", [
    b'{"candidates":[{}]}', b'{"candidates":[{"index":0}]}', b'{"promptFeedback":{}}',
    b'{"promptFeedback":{"blockReason":5}}', b'{"candidates":[{"content":"a"}]}',
    b'{"candidates":[{"content":{"parts":[{"text":5}]},"finishReason":"STOP"}]}',
    b'{"candidates":[{"content":{"parts":[{"text":"a","thought":"yes"}]}}]}',
])
def test_what_holds_no_content_is_a_fault(body):
    assert isinstance(decode(Reply(body)), Fault)
