"""The local engine, on the real weights wherever they can be had."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from equipoise.providers.engine import Engine, engine_of, serve
from equipoise.providers.weights import Weights, locate, pull, weights_at
from equipoise.terms import Misuse

SMALL = Engine(context=512)
QUESTION = "Choose one word. Reply with one word only: 仁慈 or say \"no\""


@pytest.fixture(scope="module")
def smol() -> Weights:
    try:
        pull("smollm2-135m")
    except Misuse as error:
        if error.code != 75:
            raise
        pytest.skip("weights not pulled: run `equipoise models pull smollm2-135m` when connected")
    return locate("smollm2-135m")


def ask(url: str, **fields: Any) -> dict[str, Any]:
    said = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0, **fields}
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(said).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def test_it_answers_freely_by_a_grammar_and_by_its_first_token(
    smol: Weights, capfd: pytest.CaptureFixture[str]
) -> None:
    grammar = 'root ::= "仁慈" | "say \\"no\\""'
    with serve(smol, SMALL) as url:
        free = [ask(url, max_tokens=8) for _ in range(2)]
        held = ask(url, max_tokens=48, grammar=grammar)
        first = ask(url, max_tokens=1, logprobs=True, top_logprobs=20)
    texts = [reply["choices"][0]["message"]["content"] for reply in (*free, held)]
    assert texts[0] == texts[1]
    assert texts[2] in ("仁慈", 'say "no"')
    assert held["choices"][0]["finish_reason"] == "stop"
    assert free[0]["model"] == "smollm2-135m"
    assert len(first["choices"][0]["logprobs"]["content"][0]["top_logprobs"]) == 20
    assert capfd.readouterr() == ("", "")


def test_it_ends_at_once_with_a_request_in_flight(smol: Weights) -> None:
    with ThreadPoolExecutor(1) as pool:
        with serve(smol, SMALL) as url:
            asked = pool.submit(ask, url, max_tokens=400, ignore_eos=True)
            time.sleep(0.3)
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert isinstance(asked.exception(timeout=10), OSError)
    with pytest.raises(urllib.error.URLError):
        ask(url, max_tokens=1)


def test_two_engines_do_not_meet(smol: Weights) -> None:
    with serve(smol, SMALL) as one, serve(smol, SMALL) as other:
        assert one != other


def test_a_file_it_cannot_run_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "empty.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(Misuse, match="could not run .*bad GGUF version"), serve(weights_at(path)):
        raise AssertionError("served")


def test_the_engine_of_a_subject_names_weights_and_settings() -> None:
    weights = Weights("a", Path("a.gguf"), "ab" * 32, "unknown")
    on, off = Engine(version="v"), Engine(version="v", prompt_cache=False)
    assert engine_of(weights, on) == {
        "weights": "ab" * 32, "context": 2048, "slots": 1, "prompt_cache": True,
        "flash_attention": True, "batch": 512, "seed": 0, "version": "v",
    }
    assert engine_of(weights, on) != engine_of(weights, off)
