"""The data of replay: whole, consistent, and enough of it to calibrate a reader."""

import re
from collections import Counter, defaultdict
from fractions import Fraction

import pytest

from equipoise.instruments.replay.labels import split_of
from equipoise.instruments.replay.suite import SHIPPED
from equipoise.stimuli import load, slots

DATA = load(SHIPPED)
BIASES = DATA["biases"]
PROMPTS = DATA["prompts"]
OPENINGS = DATA["openings"]
MOMENTS = DATA["moments"]
RATINGS = DATA["ratings"]
RATERS = DATA["raters"]

NOTICE = (
    "# Illustrative, written for this project; not a person's words, and no claim about people."
)
SEVEN = {
    "diagnosticity",
    "framing",
    "single-option",
    "one-sided",
    "biased-sample",
    "deferral",
    "regression-neglect",
}
CHECKS = {"plain_question", "names_the_other_answer", "asks_for_an_observation"}
CLAUSES = [
    "role",
    "page-rules",
    "one-question-at-a-time",
    "settle-rule",
    "at-stake",
    "plain-language",
    "no-advice",
    "thinking",
    "form",
]
SLOTS = {
    "moment": {"question", "page", "earlier", "said", "instructions"},
    "page_reader": {"definition", "debias", "page"},
    "detector": {"question", "page", "said", "definitions"},
    "quality": {"question", "line"},
    "outcome": {"line", "later"},
}
OPENING_KEYS = {"language", "question", "at_stake", "page", "earlier", "turn"}
MOMENT_KEYS = {
    "language",
    "engine",
    "question",
    "at_stake",
    "page",
    "said",
    "after",
    "present",
    "shown",
}
MAY_STAND = {"at_stake_after", "quality", "reason"}


def line_of(moment, number):
    if number == 0:
        return moment.get("at_stake_after", moment["at_stake"])
    return moment["after"][number - 1]["text"]


def shown_pairs():
    return [(name, bias) for name, moment in MOMENTS.items() for bias in moment["shown"]]


def failed_pairs():
    return [(name, bias) for name, moment in MOMENTS.items() for bias in moment.get("reason", {})]


def unserved_pairs():
    return [
        (name, bias)
        for name, moment in MOMENTS.items()
        for bias in moment["present"]
        if bias not in moment["shown"]
    ]


def texts(value):
    """Every text inside a value of TOML, its keys left out.

    >>> list(texts({"page": [{"text": "a", "answer": "b"}], "line": 1}))
    ['a', 'b']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def french_texts():
    for bias in BIASES.values():
        yield from (text for key, text in bias.items() if key.endswith("_fr"))
    for table in (*OPENINGS.values(), *MOMENTS.values()):
        if table["language"] == "fr":
            yield from texts(table)
    for row in RATINGS:
        if MOMENTS[row["moment"]]["language"] == "fr":
            yield row["reason"]


def labels_by_item():
    found = defaultdict(dict)
    for row in RATINGS:
        found[row["moment"], row["bias"], row["task"]][row["rater"]] = row["label"]
    return found


def gold_of(labels):
    """Two votes at least, and more than half of the raters; else there is none.

    >>> gold_of(["yes", "yes", "no"]), gold_of(["yes", "no"]), gold_of(["yes"])
    ('yes', None, None)
    """
    label, votes = Counter(labels).most_common(1)[0]
    return label if votes >= 2 and 2 * votes > len(labels) else None


def test_every_file_says_that_it_is_illustrative():
    for name, text in DATA.texts.items():
        if name.endswith(".toml"):
            assert text.splitlines()[0] == NOTICE, name
    # A comment would be read as a header in CSV: the seats' file speaks for the ratings.
    assert "ratings.csv" in DATA.texts["raters.toml"]


def test_each_bias_is_written_in_both_languages():
    wanted = {"title", "definition", "debias", "instruction"}
    assert set(BIASES) == SEVEN
    for bias in BIASES.values():
        assert set(bias) == wanted | {f"{key}_fr" for key in wanted}
        for key in ("definition", "definition_fr"):
            assert 2 <= len(re.findall(r"\.(?= |$)", bias[key])) <= 4
        assert all(bias[key] != bias[f"{key}_fr"] for key in wanted)


def test_no_two_debiases_have_the_same_wording():
    contracts = [bias[key] for bias in BIASES.values() for key in ("debias", "debias_fr")]
    lines = [line_of(MOMENTS[name], MOMENTS[name]["shown"][bias]) for name, bias in shown_pairs()]
    for wordings in (contracts, lines):
        assert [text for text, count in Counter(wordings).items() if count > 1] == []


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_prompts_have_their_clauses_and_their_slots(language):
    prompts = PROMPTS[language]
    assert list(prompts["engine"]) == CLAUSES
    assert all("$" not in clause for clause in prompts["engine"].values())
    assert {key: set(slots(text)) for key, text in prompts.items() if key != "engine"} == SLOTS


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_prompts_name_every_key_and_word_of_their_form(language):
    prompts = PROMPTS[language]
    said = {
        "engine": ("reply", "edits", "op", "ask", "revise", "settle", "drop", "stake", "line"),
        "page_reader": ("verdict", "line", "quote", "met", "not met", "unknown"),
        "detector": ("present", "bias", "evidence", "unknown"),
        "quality": (*sorted(CHECKS), "met", "not met", "unknown"),
        "outcome": ("outcome", "successful", "dismissed", "ignored", "unknown"),
    }
    for key, words in said.items():
        text = prompts[key]["form"] if key == "engine" else prompts[key]
        assert [word for word in words if f'"{word}"' not in text] == [], key


def test_the_openings_are_enough_and_well_formed():
    languages = Counter(opening["language"] for opening in OPENINGS.values())
    assert len(OPENINGS) >= 40
    assert languages["en"] >= 24
    assert languages["fr"] >= 16
    for name, opening in OPENINGS.items():
        assert set(opening) == OPENING_KEYS, name
        assert 1 <= len(opening["page"]) <= 4, name
        assert 2 <= len(opening["turn"]) <= 3, name
        assert all(set(line) == {"text", "answer"} for line in opening["page"]), name
        for said in opening["earlier"]:
            assert set(said) == {"by", "text"}
            assert said["by"] in {"person", "engine"}, name
        for turn in opening["turn"]:
            assert set(turn) == {"said", "present"}
            assert set(turn["present"]) <= SEVEN, name


def test_every_bias_is_in_six_openings_and_six_openings_have_none():
    holds = [{bias for turn in o["turn"] for bias in turn["present"]} for o in OPENINGS.values()]
    assert all(sum(bias in held for held in holds) >= 6 for bias in SEVEN)
    assert sum(not held for held in holds) >= 6


@pytest.mark.parametrize("name", sorted(MOMENTS))
def test_a_moment_names_only_biases_and_lines_there_are(name):
    moment = MOMENTS[name]
    shown, reason = moment["shown"], moment.get("reason", {})
    assert MOMENT_KEYS <= set(moment) <= MOMENT_KEYS | MAY_STAND
    assert moment["language"] in {"en", "fr"}
    assert moment["engine"] in {"full", "weaker"}
    assert all(set(line) == {"text", "answer"} for line in moment["page"] + moment["after"])
    assert all(line["text"] for line in moment["page"] + moment["after"])
    assert set(moment["present"]) | set(shown) | set(reason) <= SEVEN
    assert len(moment["present"]) == len(set(moment["present"]))
    assert all(0 <= number <= len(moment["after"]) for number in shown.values())
    assert moment.get("at_stake_after") != moment["at_stake"]
    assert set(moment.get("quality", {})) == set(shown)
    for checks in moment.get("quality", {}).values():
        assert set(checks) == CHECKS
        assert set(checks.values()) <= {"met", "not met", "unknown"}


@pytest.mark.parametrize("name", sorted(MOMENTS))
def test_every_fail_has_a_reason_and_no_shown_debias_has_one(name):
    moment = MOMENTS[name]
    reason = moment.get("reason", {})
    assert set(moment["present"]) == set(moment["present"]) & (set(moment["shown"]) | set(reason))
    assert not set(moment["shown"]) & set(reason)
    assert all(text and "\n" not in text for text in reason.values())


def test_the_moments_are_enough_for_a_frozen_split():
    assert len(MOMENTS) >= 84
    assert len(shown_pairs()) >= 95
    assert len(unserved_pairs()) >= 60
    for pairs in (shown_pairs(), failed_pairs()):
        assert sum(split_of(name) == "test" for name, _ in pairs) >= 40


def test_the_moments_cover_both_languages_both_engines_and_the_hard_cases():
    french = Fraction(sum(m["language"] == "fr" for m in MOMENTS.values()), len(MOMENTS))
    weaker = Fraction(sum(m["engine"] == "weaker" for m in MOMENTS.values()), len(MOMENTS))
    assert abs(french - Fraction(2, 5)) <= Fraction(1, 20)
    assert abs(weaker - Fraction(1, 3)) <= Fraction(1, 20)
    places = [MOMENTS[name]["shown"][bias] for name, bias in shown_pairs()]
    at_stake = sum(place == 0 for place in places)
    settled = sum(
        place > 0 and MOMENTS[name]["after"][place - 1]["answer"] != ""
        for (name, _), place in zip(shown_pairs(), places, strict=True)
    )
    uncalled = sum(bias not in MOMENTS[name]["present"] for name, bias in shown_pairs())
    near_misses = sum(bias not in MOMENTS[name]["present"] for name, bias in failed_pairs())
    assert at_stake >= 5
    assert settled >= 8
    assert uncalled >= 10
    assert near_misses >= 20


def test_each_bias_is_shown_and_missed_often_enough_to_be_scored():
    shown = Counter(bias for _, bias in shown_pairs())
    failed = Counter(bias for _, bias in failed_pairs())
    assert all(shown[bias] >= 10 and failed[bias] >= 8 for bias in SEVEN)


def test_the_weaker_engine_serves_fewer_of_the_biases():
    def served(engine):
        called = [
            bias in moment["shown"]
            for moment in MOMENTS.values()
            if moment["engine"] == engine
            for bias in moment["present"]
        ]
        return Fraction(sum(called), len(called))

    assert served("weaker") < Fraction(1, 4) < Fraction(1, 2) < served("full")


def test_no_opening_is_repeated_in_the_moments():
    for said in (
        lambda table: [table["question"]],
        lambda table: [turn["said"] for turn in table.get("turn", [])] or [table["said"]],
    ):
        every = [text for t in (*OPENINGS.values(), *MOMENTS.values()) for text in said(t)]
        assert [text for text, count in Counter(every).items() if count > 1] == []
    assert not set(OPENINGS) & set(MOMENTS)


def test_french_is_set_as_french():
    for text in french_texts():
        assert not re.search(r"[^\s][?!;:»]|«\S|[“”]|\s[,.]|  ", text), text


def test_english_is_set_as_english():
    for table in (*OPENINGS.values(), *MOMENTS.values()):
        if table["language"] == "en":
            for text in texts(table):
                assert not re.search(r"\s[?!;:,.]|[«»]|  ", text), text


def test_the_ratings_refer_to_what_there_is():
    assert set(RATERS) == {"seat-1", "seat-2", "seat-3"}
    for row in RATINGS:
        moment = MOMENTS[row["moment"]]
        assert row["bias"] in {*moment["present"], *moment["shown"], *moment.get("reason", {})}
        assert row["task"] in {"present", "shown"}
        assert row["label"] in {"yes", "no", "unknown"}
        assert moment["language"] in RATERS[row["rater"]]["languages"], row
    keys = [(row["moment"], row["bias"], row["task"], row["rater"]) for row in RATINGS]
    assert len(keys) == len(set(keys))


def test_every_pair_that_matters_is_rated_for_both_tasks_and_by_two():
    wanted = {
        (name, bias, task)
        for name, moment in MOMENTS.items()
        for bias in {*moment["present"], *moment["shown"], *moment.get("reason", {})}
        for task in ("present", "shown")
    }
    found = labels_by_item()
    assert set(found) == wanted
    assert all(len(labels) >= 2 and "seat-1" in labels for labels in found.values())
    assert sum({"seat-2", "seat-3"} <= labels.keys() for labels in found.values()) >= 40


def test_the_principal_gives_a_reason_for_every_fail():
    for row in RATINGS:
        if row["rater"] == "seat-1" and row["task"] == "shown" and row["label"] == "no":
            assert row["reason"], row


def test_raters_disagree_as_people_do_and_gold_is_what_the_moments_say():
    found = labels_by_item()
    split = [item for item, labels in found.items() if len(set(labels.values())) > 1]
    assert Fraction(8, 100) <= Fraction(len(split), len(found)) <= Fraction(12, 100)
    without = {item: labels for item, labels in found.items() if not gold_of([*labels.values()])}
    for (name, bias, task), labels in found.items():
        if (name, bias, task) not in without:
            held = MOMENTS[name]["present" if task == "present" else "shown"]
            assert gold_of([*labels.values()]) == ("yes" if bias in held else "no"), (name, bias)
    waiting = [item for item, labels in without.items() if len(labels) == 2]
    for_adjudication = [item for item, labels in without.items() if len(labels) == 3]
    assert len(waiting) == 3
    assert len(for_adjudication) == 2
