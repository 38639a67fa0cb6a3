"""A debate's contract: every way to break it is named, and nothing is repaired or let through."""

import json
import random
import re
import unicodedata
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.instruments.debates.contract import OPEN, Answer, Pick, full_answer, one_pick
from equipoise.instruments.debates.suite import SHIPPED, STANDARD, suite
from equipoise.stimuli import load
from equipoise.terms import Completion, Nonresponse

DEBATES = suite(load(SHIPPED), STANDARD).debates
BALL, TEA, PIZZA, TRIP = (
    "greatest-footballer", "tea-or-coffee", "pineapple-on-pizza", "car-train-or-plane")
REASONS = ["skill", "goals", "influence"]

OPEN_REPLY = {
    "pick": "Pelé", "top3": ["Pelé", "Lionel Messi", "Diego Maradona"],
    "points": {"Pelé": 50, "Lionel Messi": 30, "Diego Maradona": 20}, "criteria": REASONS,
}
TEA_REPLY = {"pick": "Tea", "ranking": ["Tea", "Coffee"], "points": {"Tea": 60, "Coffee": 40},
             "criteria": REASONS}
PIZZA_REPLY = {"pick": "No", "ranking": ["No", "Yes"], "points": {"No": 60, "Yes": 40},
               "criteria": REASONS}
TRIP_REPLY = {"pick": "Train", "ranking": ["Train", "Car", "Plane"],
              "points": {"Train": 5, "Car": 3, "Plane": 1}, "criteria": REASONS}
REPLIES = {BALL: OPEN_REPLY, TEA: TEA_REPLY, PIZZA: PIZZA_REPLY, TRIP: TRIP_REPLY}


def text(said):
    return said if isinstance(said, str) else text_of(said)


def text_of(said):
    return json.dumps(said, ensure_ascii=False)


def full(key, said, **more):
    debate = DEBATES[key]
    return full_answer(debate.kind, debate.names)(Completion(text(said), **more))


def one(key, said):
    debate = DEBATES[key]
    return one_pick(debate.kind, debate.names)(Completion(text(said)))


def but(key, **parts):
    """The valid reply but for these parts; None leaves one out."""
    return {name: part for name, part in {**REPLIES[key], **parts}.items() if part is not None}


def told(key, old, new):
    """The valid reply's text with one piece exchanged."""
    whole = text(REPLIES[key])
    assert old in whole
    return whole.replace(old, new, 1)


@pytest.mark.parametrize("key", REPLIES)
def test_a_reply_as_asked_is_valid(key):
    found = full(key, REPLIES[key]).value
    assert isinstance(found, Answer)
    ranking = REPLIES[key].get("top3") or REPLIES[key]["ranking"]
    assert (found.pick, found.runner_up) == (ranking[0], ranking[1])
    assert (list(found.ranking), list(found.criteria)) == (ranking, REASONS)


# Problems, each by the words it is put back in.


STRANGER = {**OPEN_REPLY["points"], "George Best": 1}
PROBLEMS = [
    # not one strict JSON object
    (BALL, told(BALL, '"pick": "Pelé",', '"pick": "Pelé", "pick": "Pelé",'), "the same key twice"),
    (BALL, told(BALL, '"Pelé": 50', '"Pelé": 40, "Pelé": 50'), "the same key twice"),
    (BALL, told(BALL, "50", "NaN"), "NaN is no JSON number"),
    (BALL, told(BALL, "50", "Infinity"), "Infinity is no JSON number"),
    (BALL, told(BALL, "20", "-Infinity"), "-Infinity is no JSON number"),
    (BALL, told(BALL, "50", "1e999"), "a number too large to hold"),
    (BALL, told(BALL, "50", "1" + "0" * 400), "an integer of 401 digits"),
    (BALL, told(BALL, '"skill"', "[" * 100 + "]" * 100), "deep, 64 allowed"),
    (BALL, text(OPEN_REPLY)[:-1], "not JSON"),
    (BALL, text(OPEN_REPLY)[:60], "not JSON"),
    (BALL, text(OPEN_REPLY) + "\n" + told(BALL, "50", "60"), "more than one JSON object"),
    (BALL, text(OPEN_REPLY) + text(TEA_REPLY), "more than one JSON object"),
    (BALL, "Pelé", "no JSON object"),
    (BALL, "", "nothing was said"),
    (BALL, '["Pelé"]', "no JSON object"),
    (BALL, told(BALL, '"skill", ', '"skill",, '), "not JSON"),
    (BALL, told(BALL, "50", "fifty"), "not JSON"),
    (BALL, told(BALL, "50", "+50"), "not JSON"),
    (BALL, told(BALL, "50", "050"), "not JSON"),
    # keys
    (BALL, but(BALL, pick=None), "missing: pick"),
    (BALL, but(BALL, top3=None), "missing: top3"),
    (BALL, but(BALL, points=None), "missing: points"),
    (BALL, but(BALL, criteria=None), "missing: criteria"),
    (BALL, but(BALL, ranking=["Pelé"], top3=None), "missing: top3"),
    (TEA, but(TEA, ranking=None, top3=["Tea", "Coffee"]), "missing: ranking"),
    (BALL, but(BALL, reasoning="long"), "leave out the keys 'reasoning'"),
    (BALL, but(BALL, b=1, a=2), "leave out the keys 'a', 'b'"),
    (BALL, but(BALL, pick=["Pelé"]), "'pick' is array, wanted string"),
    (BALL, but(BALL, pick=True), "'pick' is boolean, wanted string"),
    (BALL, but(BALL, top3="Pelé"), "'top3' is string, wanted array"),
    (BALL, but(BALL, points=[50, 30]), "'points' is array, wanted object"),
    (BALL, but(BALL, criteria="skill"), "'criteria' is string, wanted array"),
    # names
    (BALL, but(BALL, pick=""), "'pick' only holds an answer's place"),
    (BALL, but(BALL, pick=" … "), "'pick' only holds an answer's place"),
    (BALL, but(BALL, pick="<best>"), "'pick' only holds an answer's place"),
    (BALL, but(BALL, top3=["Pelé", "", "Xavi"]), "entry 2 of top3 is empty"),
    (BALL, but(BALL, top3=["Pelé", 7, "Xavi"]), "entry 2 of top3 must be a text"),
    (BALL, but(BALL, points={"Pelé": 50, "": 30}), "a key of points is empty"),
    (BALL, but(BALL, pick="Pelé, because he won three cups, which nobody else has done"),
     "pick must be one short name, not a sentence"),
    (BALL, but(BALL, pick="Pelé; it is not close"), "pick must be one short name"),
    (BALL, but(BALL, pick="我选贝利。他最强。"), "pick must be one short name"),
    (BALL, but(BALL, pick="Pelé\nMessi"), "pick must be one short name"),
    (BALL, but(BALL, pick="x" * 61), "pick must be one short name"),
    (BALL, but(BALL, top3=["Pelé", "Lionel Messi", "a b c d e f g h i"]),
     "entry 3 of top3 must be one short name"),
    # the ranking
    (BALL, but(BALL, top3=["Lionel Messi", "Pelé", "Diego Maradona"]),
     "top3 must begin with the pick"),
    (BALL, but(BALL, top3=["Pelé", "Lionel Messi"]),
     "top3 must hold exactly three names, not 2"),
    (BALL, but(BALL, top3=["Pelé", "Lionel Messi", "Diego Maradona", "Xavi"]),
     "top3 must hold exactly three names, not 4"),
    (BALL, but(BALL, top3=[]), "top3 must hold exactly three names, not 0"),
    (BALL, but(BALL, top3=["Pelé", "Lionel Messi", "Messi"]), "top3 names one answer twice"),
    (BALL, but(BALL, top3=["Pelé", "pele", "Messi"]), "top3 names one answer twice"),
    (TEA, but(TEA, ranking=["Tea"]), "ranking must hold each alternative of the question exactly"),
    (TEA, but(TEA, ranking=["Tea", "茶"]), "ranking names one answer twice"),
    (TEA, but(TEA, ranking=["Tea", "Coffee", "Coffee"]), "ranking must hold each alternative"),
    (TEA, but(TEA, ranking=["Coffee", "Tea"]), "ranking must begin with the pick"),
    (TRIP, but(TRIP, ranking=["Train", "Car"]), "ranking must hold each alternative"),
    # points
    (BALL, but(BALL, points=STRANGER), "points may only go to entries of top3"),
    (BALL, but(BALL, points={"Pelé": 50}), "give points to at least two entries"),
    (BALL, but(BALL, points={}), "give points to at least two entries"),
    (BALL, but(BALL, points={"Lionel Messi": 5, "Diego Maradona": 4}), "give points to the pick"),
    (BALL, but(BALL, points={"Pelé": 50, "pele": 9}), "points name one answer twice"),
    (BALL, but(BALL, points={"Pelé": 50, "Lionel Messi": -1}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": True, "Lionel Messi": 0}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": 5, "Lionel Messi": False}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": "5", "Lionel Messi": 0}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": 5, "Lionel Messi": None}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": 5, "Lionel Messi": [1]}), "finite number, 0 or more"),
    (BALL, but(BALL, points={"Pelé": 50, "Lionel Messi": 50}), "strictly the most points"),
    (BALL, but(BALL, points={"Pelé": 0, "Lionel Messi": 0}), "strictly the most points"),
    (BALL, but(BALL, points={"Pelé": 30, "Lionel Messi": 50}), "strictly the most points"),
    (TEA, but(TEA, points={"Tea": 60}), "points must go to exactly the entries of ranking"),
    (TEA, but(TEA, points={"Tea": 60, "Coffee": 1, "Juice": 1}),
     "points must go to exactly the entries of ranking"),
    (TRIP, but(TRIP, points={"Train": 5, "Car": 3}),
     "points must go to exactly the entries of ranking"),
    (TEA, but(TEA, points={"Tea": 50, "Coffee": 50}), "strictly the most points"),
    # criteria
    (BALL, but(BALL, criteria=["skill", "goals"]), "give exactly three criteria, not 2"),
    (BALL, but(BALL, criteria=["skill", "goals", "a", "b"]), "give exactly three criteria, not 4"),
    (BALL, but(BALL, criteria=["skill", "Skill.", "goals"]), "the three criteria must differ"),
    (BALL, but(BALL, criteria=["skill", "", "goals"]), "every criterion must be a short text"),
    (BALL, but(BALL, criteria=["skill", 3, "goals"]), "every criterion must be a short text"),
    (BALL, but(BALL, criteria=["skill", "g" * 81, "goals"]), "shorter than 80 characters"),
    # closed debates: what the question does not name
    (TEA, but(TEA, pick="Juice"), "pick must be one of the alternatives that the question names,"
     " which 'Juice' is not"),
    (TEA, but(TEA, pick="Maybe"), "which 'Maybe' is not"),
    (TEA, but(TEA, pick="Tea and coffee"), "which 'Tea and coffee' is not"),
    (TEA, but(TEA, pick="I would go for tea"), "which 'I would go for tea' is not"),
    (TEA, but(TEA, ranking=["Tea", "Coffee", "Juice"]),
     "each entry of ranking must be one of the alternatives"),
    (TRIP, but(TRIP, pick="Ship"), "which 'Ship' is not"),
    (PIZZA, but(PIZZA, pick="Pineapple"), "which 'Pineapple' is not"),
    (PIZZA, but(PIZZA, ranking=["No", "Pepperoni", "Mushroom"]), "which 'Pepperoni' is not"),
    (PIZZA, but(PIZZA, pick="Maybe"), "which 'Maybe' is not"),
    (PIZZA, but(PIZZA, pick="no"), "pick must be exactly 'Yes' or 'No'"),
    (PIZZA, but(PIZZA, pick="NO"), "pick must be exactly 'Yes' or 'No'"),
    (PIZZA, but(PIZZA, pick="否"), "pick must be exactly 'Yes' or 'No'"),
    (PIZZA, but(PIZZA, pick="No."), "pick must be exactly 'Yes' or 'No'"),
]


@pytest.mark.parametrize("key, said, words", PROBLEMS)
def test_a_problem_is_named(key, said, words):
    found = full(key, said).value
    assert isinstance(found, Nonresponse) and found.kind == "invalid"
    assert words in found.detail


@pytest.mark.parametrize("said, words", [
    (but(BALL, note="x", pick="Pelé; of course", criteria=["skill"]),
     ["leave out the keys 'note'", "pick must be one short name", "exactly three criteria"]),
    (but(BALL, top3=["Messi", "Xavi"], points={"Xavi": -1}),
     ["top3 must hold exactly three names", "top3 must begin with the pick",
      "at least two entries", "give points to the pick", "finite number, 0 or more"]),
    (but(BALL, note="x", top3=["Pelé", "Lionel Messi"]),
     ["leave out the keys 'note'", "top3 must hold exactly three names, not 2"]),
    (but(BALL, criteria=["skill"], points={"Pelé": 1, "Lionel Messi": 1}),
     ["exactly three criteria", "strictly the most points"]),
    (but(BALL, pick=7, top3="Pelé"), ["'pick' is integer", "'top3' is string"]),
    (but(BALL, pick=7, criteria=None), ["'pick' is integer", "missing: criteria"]),
])
def test_every_problem_is_named_at_once(said, words):
    """There is one retry: a problem that is not named then costs the answer."""
    found = full(BALL, said).value
    assert [word for word in words if word not in found.detail] == []


@pytest.mark.parametrize("part", ["top3", "points", "criteria"])
def test_the_form_given_in_the_prompt_is_no_answer(part):
    said = but(BALL, **{part: {
        "top3": ["Pelé", "<second>", "<third>"],
        "points": {"Pelé": 50, "<second>": 30}, "criteria": ["<phrase>", "skill", "goals"],
    }[part]})
    if part == "top3":
        said["points"] = {"Pelé": 50, "<second>": 30}
    found = full(BALL, said).value
    assert isinstance(found, Nonresponse) and found.kind == "invalid"


@pytest.mark.parametrize("key, said", [
    (TEA, "Green tea"), (TEA, "Possibly tea"), (TEA, "Hate tea"), (TEA, "Depends: tea"),
    (TRIP, "Cable car"), (TRIP, "Car sharing"), ("mathematics", "Partly invented"),
    ("mathematics", "Half discovered"), ("chess-or-go", "Speed chess"),
    ("sunrise-or-sunset", "Neither sunset"), ("tabs-or-spaces", "Mixed tabs"),
])
def test_an_alternative_that_the_question_never_named_is_no_answer(key, said):
    """In a closed debate names are matched for spelling and language alone (seed 000)."""
    debate = DEBATES[key]
    [plain] = [name for name in debate.reference if name.casefold() in said.casefold()]
    rest = [name for name in debate.reference if name != plain]
    ranked = [said, *rest]
    points = {name: 9 - place for place, name in enumerate(ranked)}
    found = full(key, {"pick": said, "ranking": ranked, "points": points, "criteria": REASONS})
    assert isinstance(found.value, Nonresponse)
    assert isinstance(one(key, {"pick": said}).value, Nonresponse)


@pytest.mark.parametrize("key, name", [
    ("greatest-novel", "Absalom, Absalom!"), ("greatest-film", "Airplane!"),
    ("greatest-film", "Who Framed Roger Rabbit?"), ("greatest-footballer", "Pelé!"),
])
def test_a_name_that_ends_in_a_mark_is_a_name(key, name):
    """Surrounding punctuation is taken off an answer (seed 000); a title may hold its own."""
    others = [other for other in DEBATES[key].reference if other != "Pelé"][:2]
    found = full(key, {"pick": name, "top3": [name, *others], "points": {name: 2, others[0]: 1},
                       "criteria": REASONS}).value
    assert isinstance(found, Answer)
    assert found.pick == name.strip("!?")


def test_every_form_of_the_table_is_short_enough_to_be_a_name():
    wrong = []
    for key, debate in DEBATES.items():
        for form in (*debate.names.names, *debate.names.forms):
            found = one(key, {"pick": form}).value
            if not isinstance(found, Pick) and debate.kind != "yes-no":
                wrong.append((key, form, found))
    assert not wrong


# What is no invalid answer but none at all.


@pytest.mark.parametrize("said, finish, kind", [
    ("I can't choose between them.", "stop", "refused"),
    ("As an AI, I don't have personal preferences.", "stop", "refused"),
    ('{"pick": "I cannot choose"}', "stop", "refused"),
    (text(but(BALL, pick="I cannot choose")), "stop", "refused"),
    (text(OPEN_REPLY)[:80], "length", "truncated"),
    (text(OPEN_REPLY), "length", "truncated"),
    (text(OPEN_REPLY), "filter", "refused"),
    ("<think>" + text(OPEN_REPLY), "stop", "truncated"),
])
def test_a_refusal_and_a_reply_cut_off_are_told_from_an_invalid_one(said, finish, kind):
    assert full(BALL, said, finish=finish).value.kind == kind


# Valid in every form.


FORMS = [
    "{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```", "Here is my answer:\n\n{}",
    "{}\n\nI hope that helps.", "Sure!\n```json\n{}\n```\nThat is my view.",
    "<think>Pelé or Messi? {{\"pick\": \"Messi\"}}</think>\n{}", "答案：\n{}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", REPLIES)
def test_a_valid_reply_is_read_in_every_form(key, form):
    found = full(key, form.replace("{}", "\x00").replace("{{", "{").replace("}}", "}").replace(
        "\x00", text(REPLIES[key]))).value
    assert isinstance(found, Answer) and found.pick == REPLIES[key]["pick"]


@pytest.mark.parametrize("key, pick, ranking, wanted", [
    (BALL, "messi", ["Messi", "CR7", "Pele"], ["Lionel Messi", "Cristiano Ronaldo", "Pelé"]),
    (BALL, "梅西", ["美斯", "C羅", "球王贝利"], ["Lionel Messi", "Cristiano Ronaldo", "Pelé"]),
    (BALL, "“Messi”", ["Leo Messi", "Erling Haaland", "Garrincha"],
     ["Lionel Messi", "Erling Haaland", "Garrincha"]),
    (TEA, "咖啡", ["coffee", "茶"], ["Coffee", "Tea"]),
    (TEA, "COFFEE", ["Coffee.", "喝茶"], ["Coffee", "Tea"]),
    (TRIP, "高铁", ["火车", "By car", "Flying"], ["Train", "Car", "Plane"]),
    (PIZZA, "Yes", ["是", "否"], ["Yes", "No"]),
])
def test_names_are_read_by_their_forms(key, pick, ranking, wanted):
    points = {name: 9 - place for place, name in enumerate(ranking)}
    said = {"pick": pick, ("top3" if key == BALL else "ranking"): ranking, "points": points,
            "criteria": REASONS}
    found = full(key, said).value
    assert isinstance(found, Answer)
    assert (found.pick, list(found.ranking), list(found.points)) == (wanted[0], wanted, wanted)
    assert [named.said for named in found.named] == [pick, *ranking]


@pytest.mark.parametrize("key", ["tea-or-coffee", "car-train-or-plane", "pineapple-on-pizza"])
def test_every_order_of_the_alternatives_is_valid(key):
    for order in permutations(DEBATES[key].reference):
        points = {name: 5 - place for place, name in enumerate(order)}
        found = full(key, {"pick": order[0], "ranking": list(order), "points": points,
                           "criteria": REASONS}).value
        assert isinstance(found, Answer) and found.ranking == order


@pytest.mark.parametrize("key, said, pick", [
    (BALL, "梅西", "Lionel Messi"), (TEA, "茶", "Tea"), (TRIP, "坐火车", "Train"),
    (PIZZA, "Yes", "Yes"), (PIZZA, "No", "No"), ("mathematics", "被发现的", "Discovered"),
])
def test_one_pick_is_read_by_its_forms(key, said, pick):
    assert one(key, {"pick": said}).value.pick == pick
    assert one(key, f"```json\n{text({'pick': said})}\n```").value.pick == pick


@pytest.mark.parametrize("key, said, words", [
    (PIZZA, {"pick": "是"}, "exactly 'Yes' or 'No'"), (PIZZA, {"pick": "yes"}, "exactly"),
    (PIZZA, {"pick": "No "}, "exactly"), (PIZZA, {"pick": "也许"}, "which '也许' is not"),
    (TEA, {"pick": "果汁"}, "which '果汁' is not"), (TEA, {"pick": "茶和咖啡"}, "is not"),
    (TEA, {"pick": "Tea", "points": {"Tea": 1}}, "leave out the keys 'points'"),
    (BALL, {"pick": ""}, "place"), (BALL, {}, "missing: pick"), (BALL, {"pick": 7}, "integer"),
    (BALL, '{"pick": "贝利"', "not JSON"), (BALL, "贝利", "no JSON object"),
    (BALL, '{"pick": "贝利", "pick": "梅西"}', "the same key twice"),
])
def test_a_problem_of_one_pick_is_named(key, said, words):
    found = one(key, said).value
    assert isinstance(found, Nonresponse) and found.kind == "invalid" and words in found.detail


# Points out of 100, with the sum as given.


STEADILY = settings(max_examples=300, deadline=None, derandomize=True)
NUMBERS = st.integers(0, 10**6) | st.floats(0, 1e9)


@STEADILY
@given(st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_points_are_out_of_100_and_their_sum_is_kept(given_points):
    best, *rest = sorted(given_points, reverse=True)
    if float(best) <= max(map(float, rest)):
        return
    ranked = OPEN_REPLY["top3"]
    found = full(BALL, but(BALL, points=dict(zip(ranked, (best, *rest), strict=True)))).value
    assert isinstance(found, Answer)
    assert found.sum == pytest.approx(float(best) + float(rest[0]) + float(rest[1]))
    assert sum(found.points.values()) == pytest.approx(100)
    for name, value in zip(ranked, (best, *rest), strict=True):
        assert found.points[name] == pytest.approx(100 * value / found.sum)


def test_points_for_two_of_three_are_enough():
    found = full(BALL, but(BALL, points={"Diego Maradona": 1, "Pelé": 3})).value
    assert (dict(found.points), found.sum) == ({"Diego Maradona": 25.0, "Pelé": 75.0}, 4.0)


def test_points_of_nothing_for_the_others_are_points():
    found = full(TEA, but(TEA, points={"Tea": 0.5, "Coffee": 0})).value
    assert (dict(found.points), found.sum) == ({"Tea": 100.0, "Coffee": 0.0}, 0.5)


# Ten thousand replies, judged by an account of the rules written from the seed alone.


KNOWN = {
    BALL: {"Pelé": "Pelé", "贝利": "Pelé", "Lionel Messi": "Lionel Messi",
           "Messi": "Lionel Messi", "梅西": "Lionel Messi", "Diego Maradona": "Diego Maradona",
           "Maradona": "Diego Maradona", "Erling Haaland": "Erling Haaland", "Xavi": "Xavi"},
    TEA: {"Tea": "Tea", "茶": "Tea", "Coffee": "Coffee", "咖啡": "Coffee"},
    TRIP: {"Train": "Train", "火车": "Train", "Trains": "Train", "Car": "Car", "Cars": "Car",
           "Plane": "Plane", "飞机": "Plane", "Planes": "Plane"},
    PIZZA: {"Yes": "Yes", "No": "No", "是": "Yes", "否": "No"},
}
STRANGE = ["Maybe", "", "Juice", "Pepperoni", "I would say that it is Pelé and not the other one",
           "<best>", "skill", "goals", "pick", "points"]
JUNK = ["NaN", "Infinity", "-1", "0", "50", "1e999", "true", "null", "{", "}", "[", "]", ",", ":",
        "1" * 30, '"a": 1,', "{}", '"', "50.0", "5e1", "```", "Tea"]


class Broken(Exception):
    """The rules are broken here."""


def require(holds):
    if not holds:
        raise Broken


def squashed(said):
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", said).casefold())
    return "".join(c for c in plain if c.isalnum())


def strict(said):
    """The one object of a reply: strict JSON, no key twice, no constant that JSON lacks."""

    def pairs(found):
        require(len({key for key, _ in found}) == len(found))
        return dict(found)

    def constant(word):
        raise Broken

    try:
        return json.loads(said, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Broken from error


def sound(key, said):
    """Raises Broken unless the object keeps every rule of the seed; gives back its pick."""
    is_open, listed = DEBATES[key].kind == OPEN, DEBATES[key].reference
    names = {squashed(form): name for form, name in KNOWN[key].items()}

    def name(found):
        require(isinstance(found, str) and squashed(found))
        require(len(found.split()) <= 8)
        return names.get(squashed(found), squashed(found))

    ranked_key = "top3" if is_open else "ranking"
    require(isinstance(said, dict))
    said = {part.strip().casefold(): value for part, value in said.items()}
    require(said.keys() == {"pick", ranked_key, "points", "criteria"})
    pick, points = name(said["pick"]), said["points"]
    require(isinstance(said[ranked_key], list) and isinstance(points, dict))
    ranked, keys = [name(x) for x in said[ranked_key]], [name(x) for x in points]
    require(ranked and ranked[0] == pick)
    require(len(set(ranked)) == len(ranked) and len(set(keys)) == len(keys))
    if is_open:
        require(len(ranked) == 3 and set(keys) <= set(ranked) and len(keys) >= 2)
    else:
        require(sorted(ranked) == sorted(listed) and sorted(keys) == sorted(listed))
    require(DEBATES[key].kind != "yes-no" or said["pick"] in ("Yes", "No"))
    values = dict(zip(keys, points.values(), strict=True))
    for value in values.values():
        require(isinstance(value, int | float) and not isinstance(value, bool))
        require(0 <= value < float("inf"))
    require(pick in values)
    require(all(values[pick] > value for of, value in values.items() if of != pick))
    criteria = said["criteria"]
    require(isinstance(criteria, list) and len(criteria) == 3)
    require(all(isinstance(text, str) and text.strip() for text in criteria))
    return pick


def bent(key, chance):
    """A valid reply with one rule bent and all the others kept, where that can be."""
    said = json.loads(valid_reply(key, chance))
    ranked = "top3" if "top3" in said else "ranking"
    names, points = said[ranked], said["points"]
    other = {name: form for form, name in KNOWN[key].items()}
    first, last = names[0], list(points)[-1]

    def alias(name):
        return next((form for form, of in KNOWN[key].items()
                     if of == KNOWN[key][name] and form != name), name)

    bends = (
        lambda: said.update(pick=names[1]),
        lambda: said.update({ranked: names[1:] + names[:1]}),
        lambda: said.update({ranked: names[:-1]}),
        lambda: said.update({ranked: [*names, chance.choice([*other.values(), "Maybe"])]}),
        lambda: said.update({ranked: [*names[:-1], alias(names[0])]}),
        lambda: said.update({ranked: [*names[:-1], chance.choice(STRANGE)]}),
        lambda: points.update({last: points[first]}),
        lambda: points.update({last: points[first] + 1}),
        lambda: points.update({last: chance.choice([-1, True, False, None, "1", [1], {}])}),
        lambda: points.update({first: True, **dict.fromkeys([*points][1:], False)}),
        lambda: points.update(dict.fromkeys(points, 0)),
        lambda: points.update({alias(first): 1}),
        lambda: points.update({alias(last): 0}),
        lambda: points.update({chance.choice(["Maybe", *other.values()]): 0}),
        lambda: points.pop(first),
        lambda: [points.pop(name) for name in [*points][1:]],
        lambda: said.update({chance.choice(["note", "ranking", "top3"]): names}),
        lambda: said.pop(chance.choice([*said])),
        lambda: said["criteria"].pop(),
        lambda: said["criteria"].append("more"),
        lambda: said["criteria"].__setitem__(1, chance.choice(["", " ", 7, None, True])),
        lambda: said.update(pick=chance.choice(["Maybe", "", first.lower(), f"{first}.",
                                                alias(first)])),
        lambda: said.update(pick=names[1], points=dict(zip(
            (names[1], names[0], *names[2:]), points.values(), strict=False))),
    )
    if chance.random() < 0.1:
        twice = chance.choice(["pick", "points", ranked, "criteria"])
        return text(said).replace("{", f"{{{text_of(twice)}: {text_of(said[twice])}, ", 1)
    chance.choice(bends)()
    return text(said)


TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\s+|.', re.DOTALL)


def valid_reply(key, chance):
    is_open = DEBATES[key].kind == OPEN
    by_name = {}
    for form, name in KNOWN[key].items():
        by_name.setdefault(name, []).append(form)
    order = chance.sample(sorted(by_name), 3 if is_open else len(by_name))
    said = [chance.choice(by_name[name]) if DEBATES[key].kind != "yes-no" else name
            for name in order]
    scored = said if not is_open or chance.random() < 0.7 else said[:2]
    points = {name: chance.choice((60, 55.5, 99)) - 20 * place
              for place, name in enumerate(scored)}
    return text({"pick": said[0], "top3" if is_open else "ranking": said, "points": points,
                 "criteria": chance.sample(["skill", "goals", "peak", "taste", "习惯"], 3)})


def mutated(key, chance):
    """A valid reply after up to four changes: a token or a sign out, twice, moved or exchanged."""
    said = valid_reply(key, chance)
    for _ in range(chance.choice((0, 0, 1, 1, 1, 2, 2, 3))):
        parts = TOKENS.findall(said) if chance.random() < 0.8 else list(said)
        if not parts:
            break
        i, j = chance.randrange(len(parts)), chance.randrange(len(parts))
        kind = chance.choice(("delete", "duplicate", "swap", "replace", "replace"))
        if kind == "delete":
            del parts[i]
        elif kind == "duplicate":
            parts.insert(j, parts[i])
        elif kind == "swap":
            parts[i], parts[j] = parts[j], parts[i]
        else:
            parts[i] = chance.choice([*map(text_of, [*KNOWN[key], *STRANGE]), *JUNK])
        said = "".join(parts)
    return said


def random_json(key, chance, depth=0):
    kind = chance.randrange(9 if depth < 4 else 5)
    if kind < 3:
        return chance.choice([*KNOWN[key], *STRANGE])
    if kind < 5:
        return chance.choice([0, 1, 60, -3, 0.5, True, False, None])
    if kind < 7:
        return [random_json(key, chance, depth + 1) for _ in range(chance.randrange(4))]
    keys = ["pick", "top3", "ranking", "points", "criteria", *KNOWN[key]]
    return {chance.choice(keys): random_json(key, chance, depth + 1)
            for _ in range(chance.randrange(6))}


def fuzzed(turn, chance):
    key = chance.choice(sorted(KNOWN))
    if turn % 10 < 3:
        said = bent(key, chance)
    elif turn % 10 < 8:
        said = mutated(key, chance)
    elif turn % 10 == 8:
        said = json.dumps({"pick": 1, **as_object(random_json(key, chance))}, ensure_ascii=False)
    else:
        said = chance.randbytes(chance.randrange(200)).decode("utf-8", "replace")
    if chance.random() < 0.2:
        said = chance.choice(("```json\n{}\n```", "My answer:\n{}", "{}\nThat is all.")).replace(
            "{}", said, 1)
    return key, said


def as_object(found):
    return found if isinstance(found, dict) else {"pick": found}


# Other ways to write the same object, published in docs/readers.md: none changes what it says.
SPELLINGS = {"repeated-object", "quoted-object", "wide-marks", "single-quotes", "bare-keys"}


def test_ten_thousand_replies_raise_nothing_and_nothing_false_is_accepted():
    chance = random.Random(20261203)
    accepted, spelled, false = 0, 0, []
    for turn in range(10_000):
        key, said = fuzzed(turn, chance)
        found = full(key, said)
        assert one(key, said) is not None
        if not isinstance(found.value, Answer):
            assert found.value.kind != "invalid" or found.value.detail
            continue
        accepted += 1
        if found.rule in SPELLINGS:
            spelled += 1
            continue
        first, last = found.span
        try:
            pick = sound(key, strict(said[first:last]))
        except Broken:
            false.append((key, said, found.value))
            continue
        assert squashed(found.value.pick) == squashed(pick)
    assert not false, false[:5]
    # The generator reaches both sides: neither everything nor nothing is accepted.
    assert 1_000 < accepted < 6_000 and spelled < 30


def test_nothing_sound_is_turned_away():
    """Ten thousand the other way: what keeps every rule, in names as listed, is an answer."""
    chance = random.Random(7)
    kept = 0
    for turn in range(10_000):
        key, said = fuzzed(turn, chance)
        try:
            found = strict(said)
            sound(key, found)
            require("pick" in found and "points" in found and "criteria" in found)
            require(len({squashed(text) for text in found["criteria"]}) == 3)
            said_names = [found["pick"], *found["points"], *found.get("top3", found.get("ranking"))]
            require(all(name in KNOWN[key] for name in said_names))
            require(all(value < 10**18 for value in found["points"].values()))
        except Broken:
            continue
        kept += 1
        assert isinstance(full(key, said).value, Answer), (key, said, full(key, said).value)
    assert kept > 800
