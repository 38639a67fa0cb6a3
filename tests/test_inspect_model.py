"""A provider of Inspect as one of ours: what is put to it, what it gives back, and no retry."""

import asyncio
import json

import pytest

from equipoise.providers.inspect_model import answering, decode, encode, model_named, version
from equipoise.terms import Completion, Fault, Message, Misuse, Reply, Subject, Usage, user

# Importing Inspect takes seconds: once, on one worker, and only when these tests run.
pytestmark = [pytest.mark.xdist_group("inspect"),
              pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")]

SUBJECT = Subject("m", "mockllm/model", "mock", "inspect", settings={
    "max_tokens": 9, "temperature": 0, "effort": "low", "stop": "\n"})
ASKED = (Message("system", "Be brief."), user("仁慈?"))


def model(*outputs):
    """Inspect's mock model, that gives these outputs or raises them."""
    from inspect_ai.model import get_model

    left = list(outputs)

    def give(messages, tools, tool_choice, config):
        calls.append((messages, config))
        output = left.pop(0)
        if isinstance(output, Exception):
            raise output
        return output

    calls = []
    return get_model("mockllm/model", custom_outputs=give, memoize=False), calls


def output(content, stop="stop"):
    """What Inspect's mock model gives; a pair is reasoning and words."""
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage

    if not isinstance(content, str):
        content = [ContentReasoning(reasoning=content[0]), ContentText(text=content[1])]
    made = ModelOutput.from_content("mockllm/model", content, stop_reason=stop)
    made.usage = ModelUsage(input_tokens=5, output_tokens=7, total_tokens=12, reasoning_tokens=3)
    return made


def answered(outcome, mode="free", choices=(), schema=""):
    mock, calls = model(outcome)
    provider = answering(mock)
    reply = asyncio.run(provider(encode(SUBJECT, ASKED, mode, choices, schema)))
    return reply, calls


def test_a_question_is_canonical_json_in_inspects_words():
    assert encode(SUBJECT, ASKED, "free", ()).body == (
        '{"config":{"max_tokens":9,"reasoning_effort":"low","stop_seqs":["\\n"],"temperature":0},'
        '"messages":[{"content":"Be brief.","role":"system"},{"content":"仁慈?","role":"user"}],'
        '"model":"mockllm/model"}').encode()


def test_what_inspect_is_asked_is_what_was_written_down_and_what_it_says_is_kept_whole():
    reply, [(messages, config)] = answered(output("mercy"))
    assert [(m.role, m.content) for m in messages] == [("system", "Be brief."), ("user", "仁慈?")]
    assert (config.max_tokens, config.temperature, config.reasoning_effort, config.stop_seqs) == (
        9, 0, "low", ["\n"])
    assert config.max_retries == 0
    assert json.loads(reply.body)["choices"][0]["message"]["content"] == "mercy"
    assert decode(reply) == Completion("mercy", "stop", "", "mockllm/model", "inspect",
                                       usage=Usage(5, 7, 3))


@pytest.mark.parametrize("schema", ["", '{"type":"object","properties":{"z":{"type":"string"}}}'])
def test_a_constrained_reply_is_asked_for_by_a_schema(schema):
    _, [(_, config)] = answered(output("mercy"), "constrained", ("a", "b"), schema)
    held = config.response_schema.json_schema.properties
    assert list(held) == (["z"] if schema else ["choice"])


def test_reasoning_is_kept_apart_from_the_words():
    reply, _ = answered(output(("hm", "mercy")))
    found = decode(reply)
    assert (found.text, found.reasoning) == ("mercy", "hm")


@pytest.mark.parametrize(("stop", "finish"), [
    ("stop", "stop"), ("max_tokens", "length"), ("model_length", "length"),
    ("content_filter", "filter"), ("tool_calls", "other"), ("unknown", "other"),
])
def test_each_reason_to_stop_is_one_finish(stop, finish):
    reply, _ = answered(output("mercy", stop))
    assert decode(reply).finish == finish


class Refused(Exception):
    def __init__(self, status_code):
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@pytest.mark.parametrize(("raised", "kind", "transient"), [
    (Refused(401), "auth", False), (Refused(429), "rate limited", True),
    (Refused(529), "server error", True), (Refused(404), "not found", False),
    (Refused(400), "rejected", False), (RuntimeError("lost"), "unknown", False),
])
def test_what_inspect_raises_is_a_fault_and_is_asked_once(raised, kind, transient):
    found, calls = answered(raised)
    assert isinstance(found, Fault) and len(calls) == 1
    assert (found.kind, found.transient, found.sent) == (kind, transient, True)


def test_no_key_of_the_environment_is_in_what_inspect_says(monkeypatch):
    monkeypatch.setenv("SOMEONES_API_KEY", "sk-0123456789abcdefghijklmnop")
    for outcome in (output("the key sk-0123456789abcdefghijklmnop"),
                    RuntimeError("bad key sk-0123456789abcdefghijklmnop")):
        found, _ = answered(outcome)
        assert "0123456789abcdef" not in repr(found) and "[key struck out]" in repr(found)


def test_an_error_without_choices_is_a_fault():
    assert decode(Reply(b'{"choices":[],"error":"no"}')).kind == "server error"


def test_a_model_that_inspect_has_not_is_refused():
    with pytest.raises(Misuse, match="inspect:openai/gpt-4o"):
        model_named("nonesuch/model")
    assert version().startswith("inspect-ai 0.")
