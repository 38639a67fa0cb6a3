"""What families of models take: left out where it is our default, refused where it was asked."""

import json

import pytest

from equipoise.cli.studies import handling, register
from equipoise.cli.subjects import built, named, subject
from equipoise.providers import DIALECTS, capabilities, dialect
from equipoise.providers.capabilities import UNKNOWN, of_model, require_modes
from equipoise.terms import Misuse, user

FINGERPRINT = handling("fingerprint")


def made(spec):
    return subject(spec, FINGERPRINT)


def refusal(spec, how=FINGERPRINT):
    with pytest.raises(Misuse) as error:
        subject(spec, how)
    assert error.value.code == 2
    return str(error.value)


# The table.


NAMES = [
    "gpt-oss-20b", "gpt-5.1-chat-latest", "gpt-5", "gpt-5.1", "gpt-5.4-mini", "gpt-5.5",
    "gpt-6-astra", "gpt-5.6-sol", "o1-mini", "o3", "gpt-4o-search-preview", "gpt-4o-2024-05-13",
    "gpt-4o", "gpt-4-turbo", "claude-3-7-sonnet-20250219", "claude-opus-4-8", "claude-sonnet-4-6",
    "claude-opus-4-5", "claude-haiku-4-5", "claude-opus-4-1", "claude-sonnet-5", "claude-next",
    "gemini-2.5-pro", "gemini-2.0-flash", "gemini-3-pro", "gemini-3.1-pro", "gemini-3-flash",
    "gemini-3.6-flash", "gemini-3.8-flash", "gemini-4", "deepseek-reasoner", "deepseek-chat",
    "deepseek-r1", "qwen3", "llama3.2", "mixtral", "gemma-3", "glm-5", "kimi-k2", "grok-4",
]


def test_no_entry_of_the_table_stands_in_the_shadow_of_one_before_it():
    reached = {of_model(name, "https://api.deepseek.com/v1") for name in NAMES}
    assert reached == set(capabilities.table())


@pytest.mark.parametrize(("model", "temperature", "effort"), [
    ("gpt-5", False, "minimal"), ("gpt-5-mini-2025-08-07", False, "minimal"),
    ("gpt-5.1", ("default", "none"), "none"), ("gpt-5.5-2026-04-23", ("none",), "xhigh"),
    ("openai/gpt-6-sol", ("none",), "max"), ("gpt-6.1-sol", False, "max"),
    ("o3-mini-2025-01-31", False, "low"), ("openai/o4-mini:free", False, "high"),
    ("claude-opus-4-6", True, "max"), ("anthropic/claude-opus-4.7", False, "xhigh"),
    ("claude-sonnet-5-5", False, "max"), ("claude-fable-5", False, "low"),
    ("claude-opus-4-5-20251101", True, "high"), ("google/gemini-3-pro-preview", True, "low"),
    ("gemini-3.8-flash", None, "low"), ("gpt-oss-120b", None, "low"),
])
def test_a_model_is_known_by_its_providers_name_and_by_openrouters(model, temperature, effort):
    found = of_model(model)
    assert found.temperature == temperature and effort in found.effort


@pytest.mark.parametrize("model", [
    "gpt-4o-mini", "gpt-4.1-nano", "claude-sonnet-4-5-20250929", "claude-3-5-haiku-20241022",
    "gemini-2.5-pro", "gpt-3.5-turbo", "claude-opus-4-20250514",
])
def test_models_without_levels_of_effort_take_temperature_and_no_effort(model):
    assert of_model(model).temperature is True and of_model(model).effort == ()


@pytest.mark.parametrize("model", ["my-own-model", "o", "gpt", "", "claud", "e3-mini", "x/y"])
def test_nothing_is_assumed_of_a_model_that_is_not_known(model):
    assert of_model(model) is UNKNOWN and not UNKNOWN.is_known


@pytest.mark.parametrize("model", ["qwen3:8b", "llama-3.3-70b", "deepseek-r1", "mistral-large"])
def test_of_open_weights_only_the_family_is_known(model):
    assert of_model(model).family and not of_model(model).is_known


def test_what_holds_of_a_host_holds_there_alone():
    assert of_model("deepseek-reasoner", "https://api.deepseek.com").temperature is False
    assert of_model("deepseek-reasoner", "http://127.0.0.1:8000/v1").temperature is None


def test_a_table_of_ones_own_comes_first(monkeypatch, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('[[family]]\nfamily = "o"\nmodels = ["o3*"]\neffort = ["most"]\n')
    assert "no effort 'most'" in refusal("openai:o3?effort=most")
    monkeypatch.setenv("EQUIPOISE_CAPABILITIES", str(file))
    assert made("openai:o3?effort=most").settings["effort"] == "most"
    assert made("openai:o1").engine == {"provider_default": ["temperature"]}
    for text in ("[[family", "[[family]]\nfamily = 'o'\ntempreature = true\n", "family = 5"):
        bad = tmp_path / f"{len(text)}.toml"
        bad.write_text(text)
        monkeypatch.setenv("EQUIPOISE_CAPABILITIES", str(bad))
        with pytest.raises(Misuse, match="EQUIPOISE_CAPABILITIES names"):
            made("openai:o3")


# Settings.


def test_a_default_of_ours_that_is_not_taken_is_left_out_and_recorded():
    found = made("openai:gpt-5")
    assert "temperature" not in found.settings
    assert found.engine["provider_default"] == ["temperature"]
    body = json.loads(dialect("openai").encode(found, (user("a"),), "free", (), "").body)
    assert "temperature" not in body


def test_that_something_is_left_to_the_provider_is_part_of_the_stamp():
    left, plain = made("openai:x?temperature=provider-default"), made("openai:x")
    assert left.engine == {"provider_default": ["temperature"]} and plain.engine == {}
    without = type(left)(**{**left.as_json(), "engine": {}})
    assert len({left.stamp, plain.stamp, without.stamp}) == 3


def test_what_a_person_asked_for_and_cannot_have_is_refused_with_what_can_be_had():
    assert "gpt-5 takes no temperature. Leave it out." in refusal("openai:gpt-5?temperature=0")
    assert "there are minimal, low, medium, high" in refusal("responses:gpt-5?effort=xhigh")
    assert "takes no effort: leave it out" in refusal("openai:gpt-4o?effort=low")
    assert "at effort none" in refusal("openai:gpt-5.5?temperature=1")
    assert "at effort none or its default" in refusal(
        "openai:gpt-5.1?temperature=1&effort=high")
    assert "no word for the setting 'seed'" in refusal("anthropic:claude-opus-4-6?seed=1")
    assert "no word for the setting 'max_completion_tokens'" in refusal(
        "gemini:gemini-2.5-pro?max_completion_tokens=9")


def test_everything_that_cannot_be_had_is_said_at_once():
    said = refusal("anthropic:claude-opus-4-8?effort=minimal&top_p=0.5&seed=1")
    assert all(part in said for part in ("no effort 'minimal'", "no top_p", "'seed'"))


@pytest.mark.parametrize(("spec", "sent"), [
    ("openai:gpt-5.1", True), ("openai:gpt-5.1?effort=none", True),
    ("openai:gpt-5.1?effort=low", False), ("openai:gpt-5.5", False),
    ("openai:gpt-5.5?effort=none", True), ("openai:gpt-4o", True), ("openai:anything", True),
    ("anthropic:claude-opus-4-6", True), ("anthropic:claude-opus-4-8", False),
    ("anthropic:claude-opus-4-6?thinking=adaptive", False),
    ("anthropic:claude-opus-4-6?thinking=2048", False),
    ("anthropic:claude-opus-4-6?thinking=disabled", True),
    ("openrouter:anthropic/claude-opus-4.7?upstream=any", False),
    ("openai:o3@http://127.0.0.1:9/v1", False),
])
def test_a_temperature_is_sent_where_it_is_taken(spec, sent):
    found = made(spec)
    assert ("temperature" in found.settings) is sent
    assert found.engine.get("provider_default", []) == ([] if sent else ["temperature"])


def test_the_limit_has_the_name_that_the_family_has_for_it():
    assert made("openai:o3?max_tokens=9").settings == {"max_completion_tokens": 9}
    assert made("responses:o3?max_tokens=9").settings == {"max_tokens": 9}
    assert made("openai:gpt-4o?max_tokens=9").settings == {"temperature": 0, "max_tokens": 9}
    assert made("openai:x?max_completion_tokens=9").settings == {
        "temperature": 0, "max_completion_tokens": 9}


def test_a_request_without_a_limit_is_refused_where_there_must_be_one():
    assert "has no max_tokens" in refusal("anthropic:claude-opus-4-6?max_tokens=provider-default")
    assert "max_tokens" not in made("openai:x?max_tokens=provider-default").settings


def test_a_default_that_a_form_has_no_word_for_is_left_out_and_recorded():
    how = type(FINGERPRINT)(**{
        **{name: getattr(FINGERPRINT, name) for name in FINGERPRINT.__dataclass_fields__},
        "settings": {**FINGERPRINT.settings, "openai": {"temperature": 1, "max_tokens": 5,
                                                        "seed": 3}}})
    found = built(named("anthropic:claude-opus-4-6"), how)
    assert found.settings == {"temperature": 1, "max_tokens": 5}
    assert found.engine == {"provider_default": ["seed"]}


# Ways of answering.


@pytest.mark.parametrize(("spec", "mode", "why"), [
    ("anthropic:claude-opus-4-6", "first-token", "no log-probabilities in the form of anthropic"),
    ("openai:o3", "first-token", "o3 gives no log-probabilities"),
    ("openai:gpt-5.1?effort=low", "first-token", "at effort none or its default"),
    ("openrouter:anthropic/claude-sonnet-4.5?upstream=any", "first-token", "log-probabilities"),
    ("openai:gpt-3.5-turbo", "constrained", "no replies held to a JSON Schema"),
    ("anthropic:claude-3-haiku-20240307", "constrained", "no replies held to a JSON Schema"),
])
def test_a_way_of_answering_that_a_subject_has_not_is_refused_before_anything_is_sent(
    spec, mode, why
):
    with pytest.raises(Misuse, match=why) as error:
        register("fingerprint", [made(spec)], answers=["free", mode])
    assert "--answers" in str(error.value)


@pytest.mark.parametrize(("spec", "mode"), [
    ("openai:gpt-4o", "first-token"), ("openai:gpt-5.1", "first-token"),
    ("openai:gpt-4o-mini", "constrained"), ("anthropic:claude-sonnet-4-5", "constrained"),
    ("gemini:gemini-2.5-flash", "constrained"), ("openai:anything", "first-token"),
    ("openai:qwen3@http://127.0.0.1:9/v1", "constrained"), ("planted:holds", "first-token"),
])
def test_a_way_of_answering_that_is_there_or_not_known_of_is_asked_for(spec, mode):
    require_modes([made(spec)], ["free", mode])


def test_all_that_is_lacking_is_said_at_once():
    subjects = [made("openai:o3"), made("anthropic:claude-3-haiku-20240307")]
    with pytest.raises(Misuse) as error:
        require_modes(subjects, ["first-token", "constrained"])
    assert str(error.value).count("cannot be asked for") == 3


def test_every_setting_that_a_form_has_a_word_for_is_one_a_person_can_name():
    from equipoise.cli.settings import KNOWN

    for spoken in DIALECTS.values():
        assert spoken.settings <= KNOWN.keys()
