"""OpenRouter: one upstream and no other, its cost as it states it.

The usage is that of the example at https://openrouter.ai/docs/use-cases/usage-accounting.
"""

import json

from equipoise.providers.openrouter import decode, encode
from equipoise.terms import Completion, Reply, Subject, Usage, user

EXAMPLE = b"""{
  "id": "gen-1", "provider": "DeepInfra", "model": "deepseek/deepseek-chat",
  "object": "chat.completion", "system_fingerprint": null,
  "choices": [{"logprobs": null, "finish_reason": "stop", "native_finish_reason": "stop",
               "index": 0, "message": {"role": "assistant", "content": "mercy", "refusal": null,
                                       "reasoning": "hm"}}],
  "usage": {"completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1},
            "cost": 0.95, "cost_details": {"upstream_inference_cost": 19}, "prompt_tokens": 194,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "total_tokens": 196}
}"""


def sent(mode="free", **settings):
    subject = Subject("m", "maker/m", "m", "openrouter", settings=settings)
    return encode(subject, (user("Hi"),), mode, ("a", "b")).body


def test_the_upstream_is_pinned_and_nothing_falls_back():
    assert sent(upstream="DeepInfra", temperature=0, effort="low") == (
        b'{"messages":[{"content":"Hi","role":"user"}],"model":"maker/m",'
        b'"provider":{"allow_fallbacks":false,"order":["DeepInfra"],"require_parameters":true},'
        b'"reasoning":{"effort":"low"},"temperature":0,"usage":{"include":true}}')


def test_any_upstream_is_any_that_takes_every_setting():
    assert json.loads(sent(upstream="any"))["provider"] == {"require_parameters": True}


def test_another_upstream_is_another_subject():
    stamps = {Subject("m", "m", "m", "openrouter", settings={"upstream": name}).stamp
              for name in ("DeepInfra", "Together", "any")}
    assert len(stamps) == 3


def test_answers_are_held_and_asked_for_as_in_chat_completions():
    assert json.loads(sent("constrained", upstream="a"))["response_format"]["type"] == "json_schema"
    assert json.loads(sent("first-token", upstream="a"))["top_logprobs"] == 20


def test_a_reply_says_who_gave_it_and_what_it_cost():
    assert decode(Reply(EXAMPLE)) == Completion(
        "mercy", "stop", "hm", "deepseek/deepseek-chat", "DeepInfra",
        usage=Usage(194, 2, 1, 0.95, 0))
