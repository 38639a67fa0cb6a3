"""Whether a setting of effort changed anything, from a model that heeds it and ones that do not."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from equipoise.cli.efforting import _pairs, paired
from equipoise.cli.studies import handling
from equipoise.cli.subjects import subject
from equipoise.stats.undefined import Undefined
from equipoise.terms import Subject, canonical_json
from faulty_server import response, serving_in_a_thread

TOKENS = {"none": 0, "low": 40, "medium": 200, "high": 900}


def chat(tokens):
    usage = {"prompt_tokens": 5, "completion_tokens": 9}
    if tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": tokens}
    return canonical_json({"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
                           "usage": usage})


def heeds(effort, prompt):
    return TOKENS[effort] + random.Random(prompt).randrange(30)


def ignores(effort, prompt):
    return 100 + random.Random(prompt + effort).randrange(60)


MODELS = {
    "heeds": heeds, "ignores": ignores, "constant": lambda effort, prompt: 64,
    "thoughtless": lambda effort, prompt: 0, "silent": lambda effort, prompt: None,
    "the-other-way": lambda effort, prompt: 1000 - heeds(effort, prompt),
}


async def behave(got, wire):
    """Reasons as the model that is asked for does."""
    body = json.loads(got.body)
    prompt = body["messages"][-1]["content"]
    await wire.send(response(chat(MODELS[body["model"]](body["reasoning_effort"], prompt))))


def asked(*models, levels=("low", "high")):
    return [f"{model}?effort={level}" for model in models for level in levels]


def run(equipoise, specs):
    with serving_in_a_thread(behave) as server:
        base = f"http://127.0.0.1:{server.port}/v1"
        words = [word for spec in specs
                 for word in ("-s", f"openai:{spec.replace('?', f'@{base}?')}")]
        code, _, error = equipoise("run", "fingerprint", *words, "--run", "r", "--yes",
                                   "--max-calls", 10_000, "--no-progress")
    assert code == 0, error


def test_what_a_setting_of_effort_did_is_found_and_that_it_did_nothing(equipoise):
    run(equipoise, [*asked(*MODELS), "heeds?effort=none"])
    code, out, _ = equipoise("efforts", "r", "--json")
    assert code == 0
    found = {tuple(one["subjects"]): one for one in json.loads(out)["efforts"]}
    assert set(found) == {(f"{m}:low", f"{m}:high") for m in MODELS} | {
        ("heeds:none", "heeds:low"), ("heeds:none", "heeds:high")}
    heeded = found["heeds:low", "heeds:high"]
    assert (heeded["more"], heeded["less"], heeded["same"], heeded["unstated"]) == (144, 0, 0, 0)
    low, high = heeded["reasoning_tokens_a_cell"]
    assert 40 <= low < 70 and 900 <= high < 930
    # The two-sided sign test of 144 to 0.
    assert heeded["p"] == 2 / 2**144
    assert heeded["verdict"] == "More reasoning at high than at low in 144 of 144 cells."
    other = found["the-other-way:low", "the-other-way:high"]
    assert other["verdict"] == "More reasoning at low than at high in 144 of 144 cells."
    for model, said in (("ignores", "changed nothing that 144 cells show"),
                        ("constant", "same number of reasoning tokens in all 144 cells"),
                        ("thoughtless", "No reasoning at either effort in 144 cells"),
                        ("silent", "The provider reports no reasoning tokens")):
        one = found[f"{model}:low", f"{model}:high"]
        assert said in one["verdict"], one
        assert one["adjusted_p"] == {"undefined": "no_data"} or one["adjusted_p"] > 0.05
    silent = found["silent:low", "silent:high"]
    assert silent["reasoning_tokens_a_cell"] == [{"undefined": "no_data"}] * 2
    assert (silent["cells"], silent["unstated"]) == (0, 144)
    code, out, _ = equipoise("efforts", "r")
    assert code == 0 and "heeds:low → heeds:high: More reasoning at high" in out


def test_a_run_without_two_efforts_is_refused(equipoise):
    equipoise("run", "fingerprint", "-s", "planted:holds", "--run", "r", "--no-progress")
    code, out, error = equipoise("efforts", "r")
    assert (code, out) == (2, "") and "no two subjects that differ in effort alone" in error
    code, _, error = equipoise("efforts", "s")
    assert code == 2 and "No run 's'" in error


def test_what_one_effort_alone_takes_does_not_part_two_efforts():
    """At effort none this model takes a temperature, and at low it does not."""
    found = [subject(f"openai:gpt-5.1?effort={level}", handling("fingerprint"))
             for level in ("none", "low")]
    assert [("temperature" in s.settings) for s in found] == [True, False]
    assert [(a.name, b.name) for a, b in _pairs(found)] == [("gpt-5.1:none", "gpt-5.1:low")]
    hot = subject("openai:gpt-5.1?effort=none&temperature=1&name=hot", handling("fingerprint"))
    assert len(list(_pairs([found[0], hot]))) == 0


LOW, HIGH = (Subject(f"m:{effort}", "m", "m", "openai", settings={"effort": effort})
             for effort in ("low", "high"))


def test_cells_are_paired_and_those_with_nothing_stated_are_counted_apart():
    found = paired((LOW, HIGH), ({"a": 1, "b": 5, "c": None, "d": 2, "e": 7},
                                 {"a": 2, "b": 5, "c": 9, "d": 1, "f": 7}))
    assert (found.test.wins, found.test.losses, found.test.ties, found.cells) == (1, 1, 1, 3)
    assert found.means == (8 / 3, 8 / 3) and found.unstated == 3
    none = paired((LOW, HIGH), ({}, {}))
    assert none.means == (Undefined("no_data"),) * 2 and "cannot be said" in none.verdict


CELLS = st.dictionaries(st.integers(0, 9).map(str), st.none() | st.integers(0, 5))


@given(CELLS, CELLS)
def test_no_cell_is_lost_and_the_two_efforts_stand_the_other_way_round(lower, higher):
    found, turned = paired((LOW, HIGH), (lower, higher)), paired((HIGH, LOW), (higher, lower))
    assert found.cells + found.unstated == len(lower.keys() | higher.keys())
    assert (found.test.wins, found.test.losses) == (turned.test.losses, turned.test.wins)
    assert found.test.p == turned.test.p and found.means == turned.means[::-1]
    assert found.verdict.endswith(".")
