"""Subjects by short forms and in a TOML file: what they are, and what is said of a mistake."""

import json
import re
from pathlib import Path

import pytest

from equipoise.cli.studies import handling
from equipoise.cli.subject_file import chosen, read, stated_prices
from equipoise.cli.subjects import HOSTED, plan_lines, subject
from equipoise.providers import dialect
from equipoise.providers.keys import OWN_KEYS
from equipoise.terms import Misuse, Subject
from faulty_server import response, serving_in_a_thread
from spoken import whole

HOW = handling("fingerprint")


@pytest.mark.parametrize(("spec", "expected"), [
    ("openai:gpt-4o", Subject("gpt-4o", "gpt-4o", "gpt", "openai", "https://api.openai.com/v1",
                              {"temperature": 0, "max_tokens": 256})),
    ("openai:maker/m@http://127.0.0.1:9/v1/?max_tokens=16&key_env=MINE",
     Subject("maker_m", "maker/m", "maker", "openai", "http://127.0.0.1:9/v1",
             {"temperature": 0, "max_tokens": 16}, {"key_env": "MINE"})),
    ("responses:gpt-5?effort=low", Subject(
        "gpt-5:low", "gpt-5", "gpt", "responses", "https://api.openai.com/v1",
        {"max_tokens": 256, "effort": "low"}, {"provider_default": ["temperature"]})),
    ("anthropic:claude-opus-4-6?thinking=adaptive&effort=max", Subject(
        "claude-opus-4-6:max", "claude-opus-4-6", "claude", "anthropic",
        "https://api.anthropic.com", {"max_tokens": 256, "thinking": "adaptive", "effort": "max"},
        {"provider_default": ["temperature"]})),
    ("gemini:gemini-2.5-flash?thinking=0&safety=BLOCK_NONE", Subject(
        "gemini-2.5-flash", "gemini-2.5-flash", "gemini", "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        {"temperature": 0, "max_tokens": 256, "thinking": 0, "safety": "BLOCK_NONE"})),
    ("openrouter:deepseek/deepseek-chat?upstream=DeepInfra&name=ds&family=other", Subject(
        "ds", "deepseek/deepseek-chat", "other", "openrouter", "https://openrouter.ai/api/v1",
        {"temperature": 0, "max_tokens": 256, "upstream": "DeepInfra"})),
    ("openai:o3?reasoning_effort=high", Subject(
        "o3:high", "o3", "o", "openai", "https://api.openai.com/v1",
        {"max_completion_tokens": 256, "effort": "high"}, {"provider_default": ["temperature"]})),
])
def test_a_short_form_is_one_subject(spec, expected):
    found = subject(spec, HOW)
    assert found == expected
    assert found.stamp == expected.stamp


def test_the_page_names_every_setting_that_a_form_has_a_word_for():
    page = (Path(__file__).parents[1] / "docs/subjects.md").read_text(encoding="utf-8")
    rows = {}
    for row in re.findall(r"^\| (`.*`) \| (.*`max_tokens`.*) \|$", page, re.M):
        for route in re.findall(r"`(\w+)`", row[0]):
            rows[route] = set(re.findall(r"`(\w+)`", row[1])) - {"adaptive", "disabled"}
    for route in (*HOSTED, "local"):
        if route != "openrouter":
            assert rows[route] == dialect("llamacpp" if route == "local" else route).settings
    assert dialect("openrouter").settings == rows["openai"] - {
        "max_completion_tokens", "repeat_penalty"} | {"upstream"}


def test_a_provider_of_inspect_is_labelled_with_its_version():
    found = subject("inspect:openai/gpt-4o", HOW)
    assert (found.name, found.model, found.dialect) == ("openai_gpt-4o", "openai/gpt-4o", "inspect")
    assert found.engine["inspect"].startswith("inspect-ai 0.")


def test_a_route_without_a_model_is_refused():
    for route in HOSTED:
        with pytest.raises(Misuse, match=f"wanted {route}:MODEL@BASE_URL"):
            subject(f"{route}:@http://127.0.0.1:9", HOW)


@pytest.mark.parametrize(("spec", "said"), [
    ("openrouter:a/b", "Pin one with"), ("openrouter:a/b?upstream=", "wanted a word"),
    ("openai:m?efort=low", "Did you mean 'effort'"), ("openai:m?name=a/b", "without a slash"),
    ("openai:m?name=3", "wanted a word"), ("openai:m?thinking=true", "wanted adaptive"),
    ("openai:m?stop=3", "list of texts"),
    ("openai:m?upstream=x", "no word for the setting 'upstream'"),
    ("inspect:openai/gpt-4o?key_env=X", "Leave key_env out"),
    ("openai:m?temperature=x&max_tokens=0", "wanted a number. The setting max_tokens is 0"),
])
def test_a_mistake_in_a_short_form_is_said(spec, said):
    with pytest.raises(Misuse) as error:
        subject(spec, HOW)
    assert said in str(error.value)


@pytest.mark.parametrize("base", ["http://a.example", "http://a.example/v1", "http://a.example/"])
def test_anthropics_version_stands_once_in_an_address(base):
    found = subject(f"anthropic:claude-opus-4-6@{base}", HOW)
    assert dialect("anthropic").url(found.base_url, found.model) == "http://a.example/v1/messages"


def test_two_efforts_of_a_model_are_two_subjects_of_one_run(equipoise):
    code, out, _ = equipoise("plan", "fingerprint", "-s", "openai:o3?effort=low",
                             "-s", "openai:o3?effort=high", "--json")
    said = json.loads(out)
    assert code == 0 and said["subjects"] == ["o3:low", "o3:high"]
    assert said["provider_default"] == {"o3:low": ["temperature"], "o3:high": ["temperature"]}


def test_a_plan_says_what_is_left_to_the_provider_and_of_whom_nothing_is_known(equipoise):
    words = ["plan", "fingerprint", "-s", "openai:o3", "-s", "openai:own", "-s", "planted:holds"]
    _, out, _ = equipoise(*words)
    assert "Left out      o3: temperature (the provider's default)\n" in out
    assert "Not known     what own accepts: every setting is sent\n" in out
    assert plan_lines([]) == []


# In a file.

FILE = """
[[subject]]
name = "small"
route = "openai"
model = "gpt-4o-mini"
temperature = 0.3
price = {prompt = 0.15, completion = 0.60}

[[subject]]
route = "responses"
model = "gpt-5"
family = "five"
effort = "low"
max_tokens = 4000

[[subject]]
route = "openrouter"
model = "deepseek/deepseek-chat"
upstream = "DeepInfra"
temperature = "provider-default"
price = {prompt = 1, completion = 2, cached = 0.5}

[[subject]]
name = "here"
route = "openai"
model = "m"
base_url = "http://127.0.0.1:9/v1"
key_env = "MINE"
stop = ["\\n"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "subjects.toml"

    def write(text=FILE):
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_names_the_same_subjects_as_the_short_forms(file):
    assert [one.subject for one in read(file(), HOW)] == [subject(spec, HOW) for spec in (
        "openai:gpt-4o-mini?temperature=0.3&name=small",
        "responses:gpt-5?family=five&effort=low&max_tokens=4000",
        "openrouter:deepseek/deepseek-chat?upstream=DeepInfra&temperature=provider-default",
        'openai:m@http://127.0.0.1:9/v1?name=here&key_env=MINE&stop=["\\n"]')]


def test_all_of_a_file_are_taken_or_those_that_are_named(file):
    path = file()
    names = ["small", "gpt-5:low", "deepseek_deepseek-chat", "here"]
    assert [s.name for s in chosen((), path, HOW)] == names
    picked = chosen(("gpt-5:low", "small", "planted:holds"), path, HOW)
    assert [s.name for s in picked] == ["gpt-5:low", "small", "holds"]
    with pytest.raises(Misuse, match="Did you mean 'small'"):
        chosen(("smal",), path, HOW)


def test_a_price_is_stated_by_name_and_is_no_part_of_a_stamp(file):
    path = file()
    assert stated_prices(path, HOW) == {
        "small": {"prompt": 0.15, "completion": 0.6},
        "deepseek_deepseek-chat": {"prompt": 1.0, "completion": 2.0, "cached": 0.5}}
    assert stated_prices(None, HOW) == {}
    priced = [s.stamp for s in chosen((), path, HOW)]
    without = "\n".join(line for line in FILE.splitlines() if not line.startswith("price"))
    assert [s.stamp for s in chosen((), file(without), HOW)] == priced


def test_every_mistake_in_a_file_is_said_at_once(file):
    path = file("""
        [[subject]]
        name = "first"
        route = "opnai"
        model = "m"
        temprature = 0
        price = {prompt = -1, completion = 2}
        [[subject]]
        route = "responses"
        model = "gpt-5"
        temperature = 0
        effort = "most"
        [[subject]]
        route = "local"
        model = 5
        base_url = "http://127.0.0.1:9"
        max_tokens = 0
        [[subject]]
        route = "openai"
        model = "m"
        [[subject]]
        route = "openai"
        model = "m"
        [[subjects]]
        """)
    with pytest.raises(Misuse) as error:
        read(path, HOW)
    said = str(error.value)
    for part in ("There is no table 'subjects'. Did you mean 'subject'?", "subject first:",
                 "no route 'opnai'. Did you mean 'openai'?", "not below zero",
                 "no key 'temprature'. Did you mean 'temperature'?", "takes no temperature",
                 "no effort 'most'", "says no model", "base_url is a text", "max_tokens is 0",
                 "2 subjects called 'm'"):
        assert part in said, part


@pytest.mark.parametrize(("text", "said"), [
    ("", "no [[subject]] table"), ("[subject]\nname = 'a'", "no [[subject]] table"),
    ("subject = 5", "no [[subject]] table"), ("[[subject", "cannot be read"),
    ("[[subject]]", "says no route"), ("[[subject]]\nroute = 5\nmodel = 'm'", "says no route"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nprice = 3", "price is not"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nprice = {prompt = inf, completion = 1}",
     "price is not"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nprice = {prompt = 1, completion = 1, c = 1}",
     "price is not"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nprice = {prompt = 1, cached = 1}",
     "price is not"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nmessages = []", "no key 'messages'"),
    ("[[subject]]\nroute = 'openai'\nmodel = 'm'\nbase_url = 'ftp://x'", "http://"),
])
def test_a_file_that_names_no_subject_is_refused(file, text, said):
    with pytest.raises(Misuse) as error:
        read(file(text), HOW)
    assert said in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(Misuse, match="No such file"):
        read(tmp_path / "none.toml", HOW)


PATHS = {"openai": "/v1/chat/completions", "openrouter": "/v1/chat/completions",
         "responses": "/v1/responses", "anthropic": "/v1/messages",
         "gemini": "/v1/models/gemini-2.5-flash:generateContent"}
MODELS = {"openai": "gpt-4o", "openrouter": "maker/m", "responses": "gpt-5",
          "anthropic": "claude-opus-4-6", "gemini": "gemini-2.5-flash"}
OURS = "sk-ours/0123456789abcdefghijkl"


def test_a_run_over_every_route_is_read_again_from_its_bytes(equipoise, tmp_path, monkeypatch):
    """Each server answers in its own form alone, and no other key goes to it."""
    monkeypatch.setenv("EQUIPOISE_API_KEY", OURS)
    for variable in OWN_KEYS.values():
        monkeypatch.setenv(variable, f"sk-theirs-{variable}")

    async def behave(got, wire):
        at = got.head.split(b" ")[1].decode()
        sent = json.loads(got.body)
        name = next(name for name, path in PATHS.items() if path == at
                    and (name == "openrouter") == ("provider" in sent))
        assert b"sk-theirs" not in got.head and OURS.encode() in got.head
        await wire.send(response(whole(name, b'"A"')))

    with serving_in_a_thread(behave) as server:
        specs = [f"{route}:{model}@http://127.0.0.1:{server.port}/v1"
                 + ("?upstream=Up" if route == "openrouter" else "")
                 for route, model in MODELS.items()]
        words = [word for spec in specs for word in ("-s", spec)]
        code, out, error = equipoise("run", "fingerprint", *words, "--run", "r", "--yes",
                                     "--max-calls", "9999", "--no-progress")
        assert code == 0, error
        assert server.requests == 144 * len(MODELS)
    assert equipoise("read", "r")[1] == out
    assert equipoise("verify")[0] == 0
    for file in tmp_path.iterdir():
        assert b"sk-" not in file.read_bytes()


def test_a_run_takes_its_subjects_from_a_file(equipoise, tmp_path):
    (tmp_path / "s.toml").write_text("""
        [[subject]]
        route = "planted"
        model = "holds"
        [[subject]]
        route = "planted"
        model = "flips-coins"
        """)
    code, out, _ = equipoise("run", "fingerprint", "--subjects", "s.toml")
    assert code == 0 and "holds" in out and "flips-coins" in out
    code, _, error = equipoise("run", "fingerprint")
    assert code == 2 and "No subject is named" in error


@pytest.mark.parametrize("instrument, seed", [
    ("label-swap", 4_294_967_295), ("debates", 4_294_967_295), ("replay", 4_294_967_295),
    ("fingerprint", 0),
])
def test_a_local_model_draws_anew_where_an_instrument_takes_several_draws(
    tmp_path, instrument, seed
):
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"GGUF and what follows")
    made = subject(f"local:{weights}", handling(instrument))
    assert made.engine["seed"] == seed and "seed" not in made.settings
    asked = subject(f"local:{weights}?seed=7", handling(instrument))
    assert asked.engine["seed"] == 7
