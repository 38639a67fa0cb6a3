"""The label swap finds what was planted, and does not mistake one trait for another."""

import math
import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import count, product
from statistics import fmean

import pytest

from equipoise.cli.label_swap import as_values, excludes_zero, expect, planned
from equipoise.cli.running import read_run
from equipoise.cli.studies import first_question, register, study
from equipoise.instruments.label_swap.blocks import Cell as Draws
from equipoise.instruments.label_swap.blocks import Rules, blocks, least_valid, valid_wanted
from equipoise.instruments.label_swap.instrument import READER, RULES, label_swap
from equipoise.instruments.label_swap.measures import complete
from equipoise.instruments.label_swap.planted import TRAITS, Judge, answerer, judge, on_grid
from equipoise.instruments.label_swap.proof import (
    PLANTED,
    Detection,
    bands,
    conducted,
    detection,
    reference,
)
from equipoise.instruments.label_swap.suite import (
    IDENTICAL,
    MATCHED,
    SHIPPED,
    STANDARD,
    fold,
    suite,
)
from equipoise.ledger import Ledger
from equipoise.providers import planted
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import rate
from equipoise.stimuli import load, parse
from equipoise.terms import (
    Completion,
    Misuse,
    Nonresponse,
    Observation,
    Subject,
    Usage,
    canonical_json,
)
from studying import studied

SUBJECT = planted.subject("subject")
LEADING = "Option A~Option B"
STIMULI = load(SHIPPED)


@cache
def shipped(varied=(), only=()):
    return suite(STIMULI, STANDARD, varied, only)


GRANT = shipped((), ("grant",))


def registered(*subjects, answers=("free",), **more):
    return register("label-swap", list(subjects) or [SUBJECT], answers=list(answers), **more)


def observed(says, of=GRANT, *, rules=RULES, draws=5, answers=("free",), subject=PLANTED):
    """The instrument, and every trial answered by `says(what is shown, the draw)`."""
    cells = {of.prompt(shown): shown for shown in of.cells()}
    instrument = label_swap(of, answers, draws, rules)

    def answer(trial):
        def of_request(request):
            found = says(cells[request.messages[-1].text], trial.draw)
            return found if isinstance(found, Completion | Nonresponse) else Completion(str(found))

        return of_request

    return instrument, [Observation(trial, conducted(instrument, trial, answer(trial)))
                        for trial in instrument.design(subject)]


def judged(says, of=GRANT, **more):
    instrument, observations = observed(says, of, **more)
    [found] = instrument.analyse(observations).judged
    return found


def planted_in(planted_judge, of=GRANT, seed=0, **more):
    """What is found in a planted judge of the instrument's own."""
    instrument = label_swap(of, **more)
    answer = answerer(of, planted_judge, seed)
    [found] = instrument.analyse([Observation(trial, conducted(instrument, trial, answer))
                                  for trial in instrument.design(PLANTED)]).judged
    return found


def for_first(shown, points):
    """What a judge states that gives the option listed first so many points."""
    return points if shown.asked == "first" else 100 - points


def labels_of(shown, of):
    """The labels in the order listed."""
    one, two = of.pairs[shown.pair].labels
    return (one, two) if shown.label == "1" else (two, one)


def text_of(findings):
    """Every published figure, to the last digit."""
    return repr(as_values(findings))


# The design.


def designed(**more):
    registration, stimuli = registered(**more)
    laid_out = study(registration, stimuli)
    return registration, laid_out.suite, laid_out


def test_the_standard_design_is_six_hundred_trials():
    registration, of, laid_out = designed()
    # 4 decisions x 5 pairs x 5 draws x (2 x 2 matched cells + 2 identical)
    assert registration.cells == len(laid_out.trials) == 600
    content = Counter(trial.condition["content"] for trial in laid_out.trials)
    assert content == {"matched": 400, "identical": 200}
    assert (len(of.decisions), len(of.pairs)) == (4, 5)
    assert len({trial.key for trial in laid_out.trials}) == 600


@pytest.mark.parametrize("vary", ["", "wording", "asked", "alphabet", "wording,asked,alphabet"])
def test_a_matched_block_crosses_the_label_the_description_and_which_is_on_which(vary):
    _, of, laid_out = designed(vary=vary)
    found = {}
    for trial in laid_out.trials:
        level = trial.condition
        block = trial.item, level["content"], level["wording"], level["pair"], level["asked"]
        found.setdefault(block, Counter())[level["described"], level["label"]] += 1
    for (_, content, *_), cells in found.items():
        if content == "identical":
            assert cells == {("same", "1"): 5, ("same", "2"): 5}
            continue
        assert cells == dict.fromkeys(product("xy", "12"), 5)
        # The label that x carries is the first listed, or else the other.
        on_x = Counter(label if described == "x" else "12"[label == "1"]
                       for described, label in cells.elements())
        assert on_x == {"1": 10, "2": 10}


@pytest.mark.parametrize("vary, times, levels", [
    ("", 1, {"wording": 1, "pair": 5, "asked": 1}),
    ("wording", 3, {"wording": 3, "pair": 5, "asked": 1}),
    ("asked", 2, {"wording": 1, "pair": 5, "asked": 2}),
    ("alphabet", 3, {"wording": 1, "pair": 15, "asked": 1}),
    ("alphabet,asked,wording", 18, {"wording": 3, "pair": 15, "asked": 2}),
])
def test_each_factor_changes_the_design_in_its_own_way_only(vary, times, levels):
    registration, of, laid_out = designed(vary=vary)
    assert registration.cells == len(laid_out.trials) == 600 * times
    for name, n in levels.items():
        assert len(registration.factors[name]) == n
        assert {t.condition[name] for t in laid_out.trials} == set(registration.factors[name])
    # Factors stand in the registration in one order, however they were named.
    assert registration.declared["vary"] == [
        name for name in ("wording", "asked", "alphabet") if name in vary]


def test_three_labels_make_the_three_pairs_in_the_alphabets_order():
    of = shipped(("alphabet",))
    assert [pair for pair in of.pairs if "Option" in pair] == [
        "Option A~Option B", "Option A~Option C", "Option B~Option C"]


def test_the_prompts_of_a_block_differ_only_in_labels_descriptions_and_their_order():
    of = shipped(("wording", "asked", "alphabet"))
    found = {}
    for shown in of.cells():
        decision, prompt = of.decisions[shown.decision], of.prompt(shown)
        for text in (decision.x, decision.y, decision.same):
            prompt = prompt.replace(text, "{description}")
        for label in of.pairs[shown.pair].labels:
            prompt = prompt.replace(label, "{label}")
        found.setdefault((shown.decision, shown.wording), set()).add(prompt)
    assert len(found) == 4 * 3
    for prompts in found.values():
        [bare] = prompts
        assert (bare.count("{label}"), bare.count("{description}")) == (3, 2)


def test_every_cell_shows_what_its_condition_says():
    of = shipped(("wording", "asked", "alphabet"))
    for shown in of.cells():
        prompt, decision = of.prompt(shown), of.decisions[shown.decision]
        listed = labels_of(shown, of)
        texts = {"x": (decision.x, decision.y), "y": (decision.y, decision.x),
                 "same": (decision.same, decision.same)}[shown.described]
        parts = listed[0], texts[0], listed[1], texts[1], listed[shown.asked == "second"]
        places = []
        for part in parts:
            places.append(prompt.index(part, places[-1] + 1 if places else 0))
        assert places == sorted(places)
        assert max(prompt.rindex(label) for label in listed) == places[-1]


def test_every_cell_has_a_prompt_of_its_own():
    of = shipped(("wording", "asked", "alphabet"))
    cells = list(of.cells())
    assert len(cells) == 600 // 5 * 18
    assert len({of.prompt(shown) for shown in cells}) == len(set(cells)) == len(cells)


def test_a_constrained_answer_may_be_any_whole_number_from_0_to_100_and_a_free_one_anything():
    _, _, laid_out = designed(answers=("free", "constrained"))
    asked = {}
    for trial in laid_out.trials:
        messages, mode, choices, *_ = first_question(laid_out.instrument, trial)
        assert len(messages) == 1 and mode == trial.condition["answer"]
        asked.setdefault(mode, set()).add(tuple(choices))
    assert asked == {"free": {()}, "constrained": {tuple(str(n) for n in range(101))}}
    assert len(laid_out.trials) == 1200


def test_decisions_can_be_asked_alone_and_in_the_suite_s_order():
    registration, of, laid_out = designed(decisions="analyst, grant")
    assert registration.items == ("grant", "analyst") == tuple(of.decisions)
    assert registration.cells == 300


# Suites.

LABELS = '[colour]\nlabels = ["Blue", "Green"]\n'
WORDING = "$first_label: $first / $second_label: $second. How likely is $asked?"


def decisions(name="tea", **changed):
    """One decision as TOML, with lines changed; a value of "" leaves its line out."""
    lines = {"about": '"drinks"', "x": '"green leaves"', "y": '"black leaves"',
             "same": '"leaves"'} | changed
    plain = lines.pop("plain", f'plain = "{WORDING}"')
    return "\n".join([f"[{name}]", *(f"{key} = {text}" for key, text in lines.items() if text),
                      f"[{name}.wordings]", plain, ""])


def folder(path, **texts):
    for name, text in texts.items():
        (path / f"{name}.toml").write_text(text, encoding="utf-8")
    return str(path)


def test_a_suite_of_ones_own_is_a_folder_and_takes_the_shipped_labels(tmp_path):
    mine = folder(tmp_path, decisions=decisions())
    registration, stimuli = registered(suite=mine)
    laid_out = study(registration, stimuli)
    assert (registration.suite, registration.items) == (STANDARD, ("tea",))
    assert registration.cells == len(laid_out.trials) == 5 * 6 * 5
    assert tuple(laid_out.suite.pairs) == tuple(GRANT.pairs)
    assert "labels.toml" in stimuli.texts and stimuli.stamp != STIMULI.stamp
    shown = next(iter(laid_out.suite.cells()))
    assert laid_out.suite.prompt(shown) == (
        "Option A: leaves / Option B: leaves. How likely is Option A?")


def test_labels_of_ones_own_replace_the_shipped_ones(tmp_path):
    mine = folder(tmp_path, decisions=decisions(), labels=LABELS)
    registration, stimuli = registered(suite=f"{mine}:standard")
    laid_out = study(registration, stimuli)
    assert tuple(laid_out.suite.pairs) == ("Blue~Green",)
    assert len(laid_out.trials) == 30


def test_a_changed_comma_is_another_study(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    one, _ = registered(suite=folder(tmp_path / "a", decisions=decisions()))
    other, _ = registered(suite=folder(tmp_path / "b", decisions=decisions(x='"green, leaves"')))
    assert one.stamp != other.stamp and one.hash != other.hash and one.cells == other.cells


def test_a_slot_may_stand_twice_and_a_dollar_by_itself():
    of = suite(parse({"decisions.toml": decisions(
        plain=f'plain = "$$5 or $5: {WORDING} I mean $asked."'), "labels.toml": LABELS}), STANDARD)
    assert of.prompt(next(iter(of.cells()))) == (
        "$5 or $5: Blue: leaves / Green: leaves. How likely is Blue? I mean Blue.")


def test_a_description_may_hold_what_looks_like_a_slot():
    of = suite(parse({"decisions.toml": decisions(x='"costs $first"'), "labels.toml": LABELS}),
               STANDARD)
    assert any("Blue: costs $first" in of.prompt(shown) for shown in of.cells())


@pytest.mark.parametrize("changed, said", [
    ({"decisions.toml": ""}, "decisions.toml is missing or empty"),
    ({"decisions.toml": None}, "decisions.toml is missing or empty"),
    ({"decisions.toml": None, "decisions.csv": "tea,x\n1,2\n"}, "decisions.toml is missing"),
    ({"decisions.toml": "[tea\n"}, "decisions.toml is not TOML"),
    ({"decisions.toml": "tea = 5\n"},
     "[tea] does not fit: missing about, same, wordings, x, y"),
    ({"decisions.toml": decisions(same="")}, "[tea] does not fit: missing same"),
    ({"decisions.toml": decisions(z='"white"')}, "[tea] does not fit: spare z"),
    ({"decisions.toml": decisions(z='"white"', about="")}, "missing about; spare z"),
    ({"decisions.toml": decisions(x="5")}, "[tea] needs texts, and at least one under"),
    ({"decisions.toml": decisions(x='" "')}, "[tea] needs texts"),
    ({"decisions.toml": decisions(about='""')}, "[tea] needs texts"),
    ({"decisions.toml": decisions(plain="")}, "at least one under [tea.wordings]"),
    ({"decisions.toml": decisions(plain="plain = 5")}, "[tea] needs texts"),
    ({"decisions.toml": '[tea]\nabout = "a"\nx = "b"\ny = "c"\nsame = "d"\nwordings = "e"\n'},
     "[tea] needs texts"),
    ({"decisions.toml": decisions(y='"green leaves"')}, "x and y of [tea] are the same text"),
    ({"decisions.toml": decisions(y='"green leaves "')}, "x and y of [tea] are the same text"),
    ({"decisions.toml": decisions(plain='plain = "$first_label or $second_label?"')},
     "'plain' of [tea] does not fit: missing asked, first, second"),
    ({"decisions.toml": decisions(plain=f'plain = "{WORDING} $third"')}, "spare third"),
    ({"decisions.toml": decisions(plain=f'plain = "{WORDING.replace("$asked", "$$asked")}"')},
     "missing asked; it needs $asked, $first, $first_label, $second, $second_label"),
    ({"decisions.toml": decisions(plain=f'plain = "{WORDING.replace("$asked", "$Asked")}"')},
     "missing asked; spare Asked"),
    ({"decisions.toml": decisions(plain=f'"a/b" = "{WORDING}"')},
     "the wording 'a/b' of [tea] does not fit: its name"),
    *(({"decisions.toml": decisions(name)}, f"decisions.toml: the name {said!r} holds one of ~ /")
      for name, said in (('"a/b"', "a/b"), ('"a~b"', "a~b"), ('"a$b"', "a$b"),
                         ("'a\"b'", 'a"b'), ("'a\\b'", "a\\b"))),
    ({"labels.toml": ""}, "labels.toml is missing or empty"),
    ({"labels.toml": None}, "labels.toml is missing or empty"),
    ({"labels.toml": None, "labels.csv": "a,b\n1,2\n"}, "labels.toml is missing or empty"),
    ({"labels.toml": "colour = 5\n"}, "[colour] needs labels"),
    ({"labels.toml": '[colour]\nabout = "x"\n'}, "[colour] needs labels"),
    ({"labels.toml": '[colour]\nlabels = "Blue"\n'}, "[colour] needs labels"),
    ({"labels.toml": '[colour]\nlabels = ["Blue"]\n'}, ", two of them"),
    ({"labels.toml": '[colour]\nlabels = ["Blue", "Green", "Red"]\n'}, ", two of them"),
    ({"labels.toml": LABELS + 'fourth = "Red"\n'}, "[colour] needs labels = [\"…\", \"…\"]; spare"
     " fourth"),
    ({"labels.toml": '[colour]\nlabels = [1, 2]\n'}, "[colour] has the label 1; wanted a text"),
    ({"labels.toml": '[colour]\nlabels = ["", "Blue"]\n'}, "has the label ''"),
    ({"labels.toml": '[colour]\nlabels = ["Blue", "Gr~n"]\n'}, "has the label 'Gr~n'"),
    ({"labels.toml": LABELS + "third = 5\n"}, "has the label 5"),
    ({"labels.toml": '[colour]\nlabels = ["Green", "Blue"]\n'},
     "not in the alphabet's order: wanted Blue, Green"),
    ({"labels.toml": '[colour]\nlabels = ["Red", "Émeraude"]\n'}, "wanted Émeraude, Red"),
    ({"labels.toml": LABELS + 'third = "Amber"\n'}, "wanted Amber, Blue, Green"),
    ({"labels.toml": '[colour]\nlabels = ["Blue", "Blue-green"]\n'},
     "one of 'Blue' ([colour]) and 'Blue-green' ([colour]) is a part of the other"),
    ({"labels.toml": LABELS + '[shade]\nlabels = ["Amber", "dark bluë"]\n'},
     "one of 'Blue' ([colour]) and 'dark bluë' ([shade]) is a part of the other"),
    ({"labels.toml": '[colour]\nlabels = ["Blue", "blue"]\n'}, "is a part of the other"),
    ({"labels.toml": '[colour]\nlabels = ["Blue", "Blue"]\n'}, "is a part of the other"),
    ({"labels.toml": LABELS + LABELS.replace("colour", "shade")}, "is a part of the other"),
    ({"labels.toml": LABELS + '[shade]\nlabels = ["Blue", "Red"]\n'}, "is a part of the other"),
    ({"varied": ("mood",)}, "No factor 'mood': a study can vary wording, asked, alphabet"),
    ({"varied": ("asked", "asked")}, "A factor is named twice in asked,asked"),
    ({"varied": ("wording",)}, "holds one wording of every decision"),
    ({"varied": ("alphabet",)}, "[colour] has no third label, which the factor 'alphabet' needs"),
    ({"varied": ("alphabet",), "labels.toml": LABELS + 'third = "Greenish"\n'},
     "is a part of the other"),
    ({"only": ("te",)}, "No decision 'te'. Did you mean 'tea'? There are: tea."),
    ({"only": ("coffee",)}, "No decision 'coffee'. There are: tea."),
])
def test_a_bad_suite_is_refused_with_its_place(changed, said):
    texts = {"decisions.toml": decisions(), "labels.toml": LABELS}
    varied, only = changed.get("varied", ()), changed.get("only", ())
    texts |= {name: text for name, text in changed.items() if "." in name}
    with pytest.raises(Misuse) as error:
        suite(parse({name: text for name, text in texts.items() if text is not None}), STANDARD,
              varied, only)
    assert said in str(error.value)


@pytest.mark.parametrize("asked, said", [
    ({"draws": 2}, "2 draws were asked for; a cell needs at least 3 with so many valid replies"),
    ({"draws": 4, "min_valid": 5}, "needs at least 5"),
    ({"draws": 1_001}, "takes at most 1,000"),
    ({"min_valid": 0}, "valid"),
    ({"family": "all"}, "No family 'all'"),
    ({"vary": "mood"}, "No factor 'mood'"),
    ({"vary": "asked,asked"}, "named twice in asked,asked"),
    ({"decisions": "grants"}, "No decision 'grants'. Did you mean 'grant'?"),
    ({"decisions": "zebra"}, "There are: grant, debate, forecaster, analyst"),
    ({"suite": "demo"}, "There is no suite 'demo': there is standard, or name a folder"),
    ({"suite": "no/such/folder"}, "There is no folder no/such/folder"),
    ({"answers": ("first-token",)}, "The answer modes first-token are not one or more"),
    ({"answers": ("free", "free")}, "The answer modes free, free are not one or more, each once"),
    ({"answers": ()}, "The answer modes (none) are not"),
    ({"order": "sorted"}, "No order 'sorted': there are grouped and random:SEED"),
    ({"order": "random:x"}, "No order 'random:x'"),
    ({"until_dissent": True}, "--until-dissent is no option of label-swap. It takes --decisions,"
     " --family, --min-valid, --rerun-of, --vary."),
])
def test_what_cannot_be_registered_is_refused_before_anything_is_asked(asked, said):
    with pytest.raises(Misuse) as error:
        registered(**asked)
    assert said in str(error.value)


def test_a_folder_holds_one_suite(tmp_path):
    mine = folder(tmp_path, decisions=decisions())
    with pytest.raises(Misuse, match="There is no suite 'short': there is standard"):
        registered(suite=f"{mine}:short")
    (tmp_path / "decisions.toml").unlink()
    with pytest.raises(Misuse, match=r"decisions\.toml is missing or empty"):
        registered(suite=mine)


def test_a_planted_judge_answers_on_a_grid_of_ones_or_fives():
    with pytest.raises(Misuse, match="grid is 3"):
        judge("leans", {"grid": 3})
    made = judge("leans", {"points": 3, "noise": 2, "grid": 5})
    assert (made.lean, made.noise, made.grid, made.position) == (3, 2, 5, 0)


# The shipped stimuli.


def test_the_shipped_decisions_all_fit_in_three_wordings():
    of = shipped(("wording", "asked", "alphabet"))
    assert list(of.decisions) == ["grant", "debate", "forecaster", "analyst"]
    for name, decision in of.decisions.items():
        assert of.wordings(name) == ("plain", "brief", "formal")
        assert len({decision.x, decision.y, decision.same}) == 3
        assert len(set(decision.wordings.values())) == 3


def test_the_shipped_labels_are_in_the_alphabets_order_and_none_is_part_of_another():
    found = [[*kind["labels"], kind["third"]] for kind in STIMULI["labels"].values()]
    assert len(found) == 5
    for labels in found:
        assert labels == sorted(labels, key=fold) == sorted(labels)
    every = [label.casefold() for labels in found for label in labels]
    assert not [(a, b) for a in every for b in every if a != b and a in b]


def test_no_label_stands_in_a_description_or_a_wording():
    labels = [label for kind in STIMULI["labels"].values()
              for label in (*kind["labels"], kind["third"])]
    for name, decision in shipped().decisions.items():
        for text in (decision.x, decision.y, decision.same, *decision.wordings.values()):
            for label in labels:
                assert not re.search(rf"\b{re.escape(label)}\b", text, re.IGNORECASE), (name, label)


def test_descriptions_to_compare_are_about_as_long():
    """A much longer description would be a cue of its own."""
    for decision in shipped().decisions.values():
        lengths = sorted(len(text.split()) for text in (decision.x, decision.y, decision.same))
        assert lengths[-1] <= 1.25 * lengths[0]


def test_every_wording_allows_no_tie_and_wants_a_number_from_0_to_100():
    for decision in shipped().decisions.values():
        for text in decision.wordings.values():
            assert "exactly one" in text.casefold()
            assert re.search(r"\b0\b.*\b100\b", text, re.DOTALL)


# Replies.


def test_the_probability_is_turned_to_the_first_listed_option_whichever_was_asked():
    of = shipped(("asked",), ("grant",))
    found = judged(lambda shown, draw: 70 if shown.asked == "first" else 30, of)
    assert {value for block in found.matched for cell in block.cells for value in cell.values} == {
        70}
    assert found.position.by_block.mean == 20
    assert (found.labels.rms, found.varied.asked.over_clusters.mean) == (0, 0)


@pytest.mark.parametrize("out", ["130", "-5", "100.5%", "1,000"])
def test_a_probability_out_of_range_is_lost_and_never_clamped(out):
    def says(shown, draw):
        return out if draw == 1 and shown.label == "1" else 60

    found = judged(says)
    # A fifth of the cells with label 1 first: 5 pairs x 2 of 4 cells x 1 of 5 draws.
    assert (found.losses.overall.count, found.losses.overall.n) == (10, 100)
    assert found.losses.kinds == {"invalid": 10}
    assert {len(cell.values) for block in found.matched for cell in block.cells
            if cell.label == "1"} == {4}
    assert (found.labels.rms, found.position.by_block.mean, found.noise) == (0, 10, 0)
    assert found.losses.by_cell["x", "1"].count == 5 and found.losses.by_cell["x", "2"].count == 0


@pytest.mark.parametrize("said, kind", [
    (Completion("Let me see", "length"), "truncated"), (Completion("", "filter"), "refused"),
    ("I cannot choose between them.", "refused"), ("Either is fine.", "unclear"),
    ("0.7", "unclear"), (Nonresponse("error", "unknown"), "error"),
])
def test_what_gives_no_probability_is_lost_by_its_kind(said, kind):
    found = judged(lambda shown, draw: said if draw == 5 else 50)
    assert (found.losses.kinds, found.identical.kinds) == ({kind: 20}, {kind: 10})
    assert (found.losses.overall.count, found.losses.overall.n) == (20, 100)
    assert found.labels.complete == 5


def test_what_was_not_asked_is_not_lost_and_still_bounds_the_lean():
    def says(shown, draw):
        return Nonresponse("not asked") if shown.pair == LEADING else 50

    found = judged(says)
    assert (found.losses.overall.count, found.losses.overall.n) == (0, 80)
    assert found.losses.kinds == {"not asked": 20}
    assert (found.labels.complete, found.labels.blocks) == (4, 5)
    assert (found.identical.asked, found.identical.kinds) == (40, {"not asked": 10})
    assert found.losses.selected == ()
    first = found.matched[0]
    assert (first.test, first.bounds, first.position_bounds) == (
        Undefined("incomplete"), (-50, 50), (-50, 50))


def test_draws_that_were_not_asked_bound_the_lean_as_lost_ones_do():
    found = judged(lambda shown, draw: 50 if (shown.described, shown.label) != ("x", "1") else
                   60 if draw <= 3 else Nonresponse("not asked"))
    # 180 / 5 and 380 / 5 against 50; halved, and over two description orders.
    assert found.matched[0].bounds == ((36 - 50) / 4, (76 - 50) / 4)
    assert found.matched[0].position_bounds == ((36 - 50) / 4, (76 - 50) / 4)
    assert (found.losses.overall.count, found.losses.overall.n) == (0, 90)


def test_a_subject_of_whom_nothing_came_back_has_no_finding_and_no_zero():
    found = judged(lambda shown, draw: "no idea")
    none = Undefined("no_data")
    assert (found.labels.omnibus, found.labels.rms, found.labels.excess_rms) == (none, none, none)
    assert found.position.by_decision.over_clusters.mean == none
    assert (found.labels.complete, found.identical.informative) == (0, False)
    assert found.noise == Undefined("too_few_units")
    assert found.labels.bounds == found.position.bounds == (-50, 50)
    assert found.losses.overall.count == found.losses.overall.n == 100


# Completeness.


def up_to(valid, content):
    """Only the first draws of one cell are valid."""

    def says(shown, draw):
        cell = shown.pair == LEADING and shown.content == content and shown.label == "1"
        return "no idea" if cell and shown.described in "xsame" and draw > valid else 50 + draw

    return says


@pytest.mark.parametrize("valid, kept", [(5, 5), (3, 5), (2, 4), (0, 4)])
def test_a_matched_block_is_complete_with_three_valid_replies_in_every_cell(valid, kept):
    found = judged(up_to(valid, MATCHED))
    assert (found.labels.complete, found.identical.complete) == (kept, 5)
    assert (found.matched[0].test == Undefined("incomplete")) == (kept == 4)
    assert [len(cell.values) for cell in found.matched[0].cells] == [valid, 5, 5, 5]
    assert {s.min_valid: s.complete for s in found.strictness} == {
        1: 4 + (valid >= 1), 3: 4 + (valid >= 3), 5: 4 + (valid >= 5)}


@pytest.mark.parametrize("valid, kept", [(5, 5), (4, 5), (3, 4)])
def test_an_identical_block_takes_four(valid, kept):
    found = judged(up_to(valid, IDENTICAL))
    assert (found.labels.complete, found.identical.complete) == (5, kept)


def test_an_identical_block_asked_both_ways_takes_three_and_one_of_three_draws_all_of_them():
    of = shipped(("asked",), ("grant",))
    assert judged(up_to(3, IDENTICAL), of).identical.complete == 5
    assert judged(up_to(2, IDENTICAL), of).identical.complete == 4
    assert judged(up_to(3, IDENTICAL), draws=3).identical.complete == 5
    assert judged(up_to(2, IDENTICAL), draws=3).identical.complete == 4


def test_a_registered_number_of_valid_replies_is_the_one_applied():
    for wanted, kept in ((4, 4), (3, 5)):
        assert judged(up_to(3, MATCHED), rules=Rules(min_valid=wanted)).labels.complete == kept


@pytest.mark.parametrize("strata", [1, 2, 4])
def test_the_least_valid_replies_are_the_fewest_with_which_two_labellings_are_below_alpha(strata):
    m = least_valid(strata)
    ways = {n: math.comb(2 * n, n) ** strata for n in (m - 1, m)}
    assert ways[m - 1] <= 2 * 20 < ways[m]
    assert m == {1: 4, 2: 3, 4: 2}[strata]


# Lost replies.


def test_lost_replies_are_refilled_where_they_move_the_lean_most():
    # With x first: 60, 60, 60 and two lost under label 1; 40 four times and one lost under 2.
    def says(shown, draw):
        if shown.pair != LEADING or shown.described != "x":
            return 50
        if shown.label == "1":
            return 60 if draw <= 3 else "no idea"
        return 40 if draw <= 4 else "no idea"

    found = judged(says)
    block = found.matched[0]
    # Least: (180 + 2 x 0) / 5 = 36 against (160 + 100) / 5 = 52; most: 380 / 5 = 76 against 32.
    # Halved, and over two description orders of which the other is 0.
    assert block.bounds == ((36 - 52) / 4, (76 - 32) / 4) == (-4, 11)
    assert block.position_bounds == ((36 + 32 + 100) / 4 - 50, (76 + 52 + 100) / 4 - 50) == (-8, 7)
    assert block.test.lean == (60 - 40) / 4
    assert found.labels.bounds == (-4 / 5, 11 / 5)
    assert found.position.bounds == (-8 / 5, 7 / 5)


def test_a_cell_that_lost_everything_bounds_the_lean_whichever_option_was_asked():
    of = shipped(("asked",), ("grant",))
    for which in ("first", "second"):
        found = judged(lambda shown, draw, which=which: "no idea" if (
            shown.pair, shown.asked, shown.described, shown.label) == (LEADING, which, "x", "1")
            else 50, of)
        # One of four strata lies anywhere from 0 - 50 to 100 - 50; halved.
        assert found.matched[0].bounds == (-50 / 8, 50 / 8)
        assert found.matched[0].test == Undefined("incomplete")


def test_bounds_without_a_loss_are_the_lean_and_the_position_themselves():
    found = planted_in(Judge(lean=8.0))
    for block in found.matched:
        assert block.bounds == pytest.approx((block.test.lean, block.test.lean), abs=1e-12)
        assert block.position_bounds == pytest.approx((block.test.position,) * 2, abs=1e-12)


@pytest.mark.parametrize("lost, selected", [(5, ()), (6, ("grant",))])
def test_more_than_five_in_a_hundred_lost_makes_a_selected_subset(lost, selected):
    left = count()
    found = judged(lambda shown, draw: "no idea" if shown.content == MATCHED and draw == 1
                   and next(left) < lost else 50)
    assert (found.losses.overall.count, found.losses.overall.n) == (lost, 100)
    assert found.losses.selected == selected


def test_losing_the_replies_of_one_label_is_told_from_losing_as_many_of_both():
    one = judged(lambda shown, draw: "no idea" if shown.label == "1" and draw <= 2 else 50)
    both = judged(lambda shown, draw: "no idea" if draw == 1 else 50)
    assert one.losses.overall.count == both.losses.overall.count == 20
    assert one.losses.differential.p < 1e-5 and one.losses.differential.odds_ratio == math.inf
    assert both.losses.differential.p == 1


# Noise, grid, neutrality.


def test_noise_is_the_sd_of_replies_to_one_prompt_whatever_prompts_differ_by():
    # Around any middle: squares 4 + 4 + 4 + 4 + 0 over 4 degrees of freedom.
    off = (-2, 2, -2, 2, 0)
    found = judged(lambda shown, draw: 50 + off[draw - 1] + 10 * (shown.described == "x"))
    assert found.noise == pytest.approx(2)
    assert judged(lambda shown, draw: 50, draws=1, rules=Rules(min_valid=1)
                  ).noise == Undefined("too_few_units")


@pytest.mark.parametrize("others, grid", [(0, 5), (5, 5), (6, 1), (100, 1)])
def test_replies_lie_on_fives_where_95_in_100_do(others, grid):
    left = count()
    found = judged(lambda shown, draw: 51 if shown.content == MATCHED and next(left) < others
                   else 5 * draw)
    assert found.grid == grid


def test_the_excess_rms_is_what_lies_beyond_the_mean_square_that_noise_gives():
    found = judged(lambda shown, draw: 54 if shown.label == "1" else 46)
    # Ten replies 4 from their middle: S^2 = 160 / 9, and E0 is 2 S^2 (1/5 + 1/5) / 16 = 8 / 9.
    assert (found.labels.rms, found.labels.null_mean_square) == (4, pytest.approx(8 / 9))
    assert found.labels.excess_rms == pytest.approx(math.sqrt(16 - 8 / 9))
    level = judged(lambda shown, draw: 50 + draw)
    assert (level.labels.rms, level.labels.excess_rms) == (0, 0)
    assert level.labels.null_mean_square > 0


def test_an_identical_condition_of_nothing_but_fifty_is_not_informative():
    found = judged(lambda shown, draw: 50 if shown.content == IDENTICAL else 40 + draw)
    assert (found.identical.fifty.count, found.identical.fifty.n) == (50, 50)
    assert not found.identical.informative
    assert (found.identical.omnibus.p, found.identical.flags.count) == (1, 0)
    left = count()
    other = judged(lambda shown, draw: 51 if shown.content == IDENTICAL and not next(left)
                   else 50)
    assert other.identical.informative and other.identical.fifty.count == 49


def test_a_lean_in_the_identical_condition_is_found_there_and_not_in_the_matched_one():
    found = judged(lambda shown, draw: 50 + (draw - 3) + (
        8 * (1 if shown.label == "1" else -1) if shown.content == IDENTICAL else 0))
    assert found.identical.omnibus.p < 1e-9 and found.identical.flags.count == 5
    assert found.identical.rms == 8
    assert (found.labels.omnibus.p, found.labels.rms) == (1, 0)


@pytest.mark.parametrize("number", [50, 0, 73])
def test_replies_that_are_all_one_number_never_show_a_block_neutral(number):
    found = judged(lambda shown, draw: number)
    assert {block.neutral for block in found.blocks} == {Undefined("one_class")}
    assert (found.labels.neutral, found.labels.omnibus.p) == (0, 1)


def test_a_small_spread_about_no_lean_shows_a_block_neutral_and_a_wide_one_does_not():
    small = judged(lambda shown, draw: 49 + draw % 3)
    assert small.labels.neutral == 5
    wide = judged(lambda shown, draw: 20 + 15 * (draw % 5))
    assert (wide.labels.neutral, wide.labels.flags.count) == (0, 0)
    leaning = judged(lambda shown, draw: 49 + draw % 3 + (3 if shown.label == "1" else -3))
    assert (leaning.labels.neutral, leaning.labels.flags.count) == (0, 5)


def test_a_lean_of_exactly_two_points_is_flagged_and_one_reply_less_is_not():
    exact = judged(lambda shown, draw: 52 if shown.label == "1" else 48)
    less = judged(lambda shown, draw: (51 if shown.described == "x" and draw == 1 else 52)
                  if shown.label == "1" else 48)
    assert [(b.test.lean, b.test.flagged) for b in exact.matched] == [(2.0, True)] * 5
    assert [(b.test.lean, b.test.flagged) for b in less.matched] == [(1.95, False)] * 5


@pytest.mark.parametrize("draws, varied", [(20, ()), (9, ("asked",))])
def test_a_block_without_any_lean_can_be_read_whatever_the_number_of_draws(draws, varied):
    # Replies depend on the description order alone: every lean is nought, every p is 1.
    of = shipped(varied, ("grant",))
    found = judged(lambda shown, draw: for_first(
        shown, (60 if shown.described == "x" else 40) + 7 * draw % 11), of, draws=draws)
    assert [block.test.lean for block in found.matched] == [0] * 5
    assert [block.test.p for block in found.matched] == pytest.approx([1] * 5)
    assert found.labels.omnibus.p == pytest.approx(1)


# What further factors tell apart.


def test_the_asked_factor_tells_the_option_asked_about_from_the_option_listed_first():
    of = shipped(("asked",))
    flat = {"noise": 0.0, "described": (0.0,), "positions": (0.0,)}
    for planted_judge, position, asked in (
        (Judge(named=8.0, **flat), 0, 8), (Judge(position=8.0, **flat), 8, 0),
        (Judge(named=3.0, position=-5.0, **flat), -5, 3),
    ):
        found = planted_in(planted_judge, of)
        assert found.position.by_decision.over_clusters.mean == position
        assert found.varied.asked.over_clusters.mean == asked
        assert found.varied.asked.over_units.low == found.varied.asked.over_units.high == asked
        assert found.labels.rms == 0


def test_without_the_asked_factor_the_two_give_the_same_replies():
    flat = {"noise": 0.0, "described": (0.0,), "positions": (0.0,)}
    named, first = (planted_in(Judge(**flat, **lean), shipped())
                    for lean in ({"named": 8.0}, {"position": 8.0}))
    assert named.position == first.position
    assert named.varied.asked == first.varied.asked == Undefined("no_data")


def alphabet_of(likes, of=None):
    of = of or shipped(("alphabet",))

    def says(shown, draw):
        first, second = labels_of(shown, of)
        return 50 + 6 * (likes(first, second) - likes(second, first))

    return judged(says, of)


def test_a_liking_for_the_earlier_label_is_an_effect_of_the_alphabet_in_every_decision():
    found = alphabet_of(lambda label, other: label < other)
    effect = found.varied.alphabet
    assert (effect.units, effect.clusters) == (20, 4)
    assert effect.over_clusters.mean == 6
    assert effect.over_units.low == effect.over_units.high == 6  # in each of the 20 trios
    assert found.labels.rms == 6


def test_a_liking_for_one_label_is_a_lean_and_no_effect_of_the_alphabet():
    found = alphabet_of(lambda label, other: label == "Option B")
    effect = found.varied.alphabet
    assert (effect.over_units.low, effect.over_units.high) == (0, 0)
    assert {pair: i.mean for pair, i in found.labels.by_pair.items() if "Option" in pair} == {
        "Option A~Option B": -6, "Option A~Option C": 0, "Option B~Option C": 6}
    assert {i.mean for pair, i in found.labels.by_pair.items() if "Option" not in pair} == {0}


def test_a_liking_for_the_first_label_of_each_kind_is_no_effect_of_the_alphabet_either():
    firsts = {kind["labels"][0] for kind in STIMULI["labels"].values()}
    effect = alphabet_of(lambda label, other: label in firsts).varied.alphabet
    assert (effect.over_units.low, effect.over_units.high) == (0, 0)


def test_a_trio_of_which_a_pair_is_incomplete_says_nothing_of_the_alphabet():
    of = shipped(("alphabet",), ("grant",))
    found = judged(lambda shown, draw: "no idea" if shown.pair == "Option A~Option C" else 50, of)
    assert found.labels.complete == 14 and found.varied.alphabet.units == 4


def test_wordings_are_reported_each_for_itself():
    of = shipped(("wording",))

    def says(shown, draw):
        if shown.wording == "formal":
            return 50 + (4 if shown.label == "1" else -4)
        return 58 if shown.wording == "brief" else 50

    found = judged(says, of)
    assert len(found.matched) == 60
    assert {name: (position.over_clusters.mean, lean.over_clusters.mean)
            for name, (position, lean) in found.varied.wordings.items()} == {
        "plain": (0, 0), "brief": (8, 0), "formal": (0, 4)}
    assert found.position.by_decision.over_clusters.mean == pytest.approx(8 / 3)
    assert judged(lambda shown, draw: 50).varied.wordings == {}


# The family.


def holm(ps):
    """Holm (1979): stepping up the sorted p, each times the tests that remain."""
    found, least = {}, 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        found[place] = least
    return [found[place] for place in range(len(ps))]


def three_subjects(family):
    """Two with leans of unlike size in both conditions, and one that says nothing."""
    found = []
    for name, lean in (("much", 2.5), ("little", 1.0), ("silent", None)):
        subject = planted.subject(name)
        instrument = label_swap(GRANT, rules=Rules(family=family))
        answer = (lambda request: Completion("no idea")) if lean is None else answerer(
            GRANT, Judge(lean=lean, fifty=False), seed=name)
        found += [Observation(trial, conducted(instrument, trial, answer))
                  for trial in instrument.design(subject)]
    return instrument.analyse(found)


@pytest.mark.parametrize("family, contents", [
    ("matched", [MATCHED]), ("both", [MATCHED, IDENTICAL])])
def test_the_declared_family_is_corrected_over_subjects_and_no_more(family, contents):
    findings = three_subjects(family)
    tests, ps = findings.family.tests, findings.family.p
    assert tests == tuple((name, "free", content) for name in ("much", "little", "silent")
                          for content in contents)
    wanted = [omnibus for one in findings.judged for omnibus in (
        one.labels.omnibus, one.identical.omnibus)[: len(contents)]]
    assert list(ps) == [p if isinstance(p, Undefined) else p.p for p in wanted]
    known = [p for p in ps if not isinstance(p, Undefined)]
    assert len(known) == 2 * len(contents) and ps[-1] == Undefined("no_data")
    adjusted = findings.family.adjusted
    assert adjusted.bonferroni[: len(known)] == pytest.approx(
        [min(1, len(known) * p) for p in known])
    assert adjusted.holm[: len(known)] == pytest.approx(holm(known))
    assert adjusted.holm[-1] == adjusted.bonferroni[-1] == Undefined("no_data")
    assert any(h < b for h, b in zip(adjusted.holm, adjusted.bonferroni, strict=True)
               if not isinstance(h, Undefined))


def test_the_published_run_keeps_five_subjects_by_holm_and_two_by_bonferroni():
    # statistics.md 7.1: omnibus p of 1, 5, 26, 32 and 46 over 2,001.
    ps = [n / 2_001 for n in (1, 5, 26, 32, 46)]
    assert sum(p < 0.05 for p in holm(ps)) == 5
    assert sum(5 * p < 0.05 for p in ps) == 2
    assert [round(p, 4) for p in holm(ps)] == [0.0025, 0.0100, 0.0390, 0.0390, 0.0390]


# Order.


def test_findings_do_not_depend_on_the_order_in_which_trials_were_administered():
    of = shipped(("asked",), ("grant", "debate"))
    instrument = label_swap(of)
    answer = answerer(of, Judge(lean=3.0, truncates=0.1, fifty=False))
    rows = [Observation(trial, conducted(instrument, trial, answer))
            for trial in instrument.design(PLANTED)]
    wanted = text_of(instrument.analyse(rows))
    for seed in range(3):
        assert text_of(instrument.analyse(random.Random(seed).sample(rows, len(rows)))) == wanted


def test_what_a_run_cost_does_not_depend_on_that_order_either():
    chance = random.Random(1)
    instrument, rows = observed(lambda shown, draw: Completion("50", usage=Usage(
        250, 9, 3, chance.randint(1, 10_000) / 1e6)))
    [found] = instrument.analyse(rows).judged
    assert (found.work.calls, found.work.prompt, found.work.completion, found.work.reasoning) == (
        150, 150 * 250, 150 * 9, 150 * 3)
    for seed in range(5):
        [mixed] = instrument.analyse(random.Random(seed).sample(rows, len(rows))).judged
        assert mixed.work == found.work


def through_ledger(path, *subjects, **asked):
    """Planted subjects administered into a ledger: the study and its observations."""
    plan = registered(*subjects, **asked)
    of = study(*plan).suite
    answers = {s.name: answerer(of, judge(s.model, s.settings)) for s in subjects}
    provider = planted.answering(lambda request: answers[request.subject.name](request))
    laid_out, administration, _ = studied(path, provider, plan)
    assert administration.stopped is None
    return laid_out, administration.observations


def test_subjects_stand_in_the_registered_order_whatever_was_asked_first(tmp_path):
    subjects = [planted.subject(name) for name in ("says-fifty", "leans", "neutral")]
    laid_out, rows = through_ledger(tmp_path / "l.db", *subjects, decisions="grant",
                                    order="random:5", answers=("free", "constrained"))
    assert [(f.subject, f.answer) for f in laid_out.analyse(rows).judged] == [
        (name, answer) for name in ("says-fifty", "leans", "neutral")
        for answer in ("free", "constrained")]
    first = {row.trial.subject.name for row in rows[:20]}
    assert len(first) == 3  # mixed as asked
    mixed = random.Random(1).sample(rows, len(rows))
    assert text_of(laid_out.analyse(mixed)) == text_of(laid_out.analyse(rows))


def test_a_run_read_again_from_its_ledger_has_equal_findings(tmp_path):
    subjects = [planted.subject(name) for name in ("leans", "truncates-one-label")]
    laid_out, rows = through_ledger(tmp_path / "l.db", *subjects, decisions="grant,analyst",
                                    vary="wording", family="both")
    ledger = Ledger.open(tmp_path / "l.db")
    try:
        _, again, administration = read_run(ledger, "r1")
    finally:
        ledger.close()
    assert administration.observations == rows
    assert again.registration == laid_out.registration
    assert text_of(again.analyse(administration.observations)) == text_of(laid_out.analyse(rows))


def test_grouped_or_in_random_order_a_steady_judge_is_found_the_same(tmp_path):
    steady = [Subject("leans", "leans", "planted", "planted", settings={"noise": 0})]
    found = []
    for order in ("grouped", "random:3"):
        laid_out, rows = through_ledger(tmp_path / order[0], *steady, decisions="debate",
                                        order=order)
        found.append((laid_out.registration.hash, text_of(laid_out.analyse(rows))))
    (one, findings), (other, same) = found
    assert findings == same and one != other


def test_findings_as_json_values_are_json_whatever_the_losses():
    # Only one label's replies are lost: the odds of losing one are without bound.
    instrument, rows = observed(lambda shown, draw: "no idea" if shown.label == "1" and draw < 3
                                else 50)
    findings = instrument.analyse(rows)
    assert findings.judged[0].losses.differential.odds_ratio == math.inf
    assert canonical_json(as_values(findings))  # refuses what JSON has no word for


@pytest.mark.parametrize("asked, takes", [
    ({}, 4), ({"min_valid": 5}, 5), ({"draws": 3}, 3), ({"vary": "asked"}, 3),
    ({"vary": "asked", "min_valid": 4}, 4),
])
def test_a_plan_says_how_many_valid_replies_an_identical_block_takes(asked, takes):
    registration, _, laid_out = designed(**asked)
    rules = Rules(**registration.declared["rules"])
    block = [trial for trial in laid_out.trials if trial.condition["pair"] == LEADING
             and trial.item == "grant" and trial.condition["content"] == IDENTICAL]
    drawn = {which: Draws("first", "same", which, (50.0,) * registration.draws, {})
             for which in "12"}
    cells = [replace(drawn[label], asked=which) for which in laid_out.suite.asked
             for label in "12"]
    assert len(block) == len(cells) * registration.draws
    assert valid_wanted(IDENTICAL, cells, rules) == takes
    _, lines = planned(laid_out, {})
    [said] = [line for line in lines if "identical condition" in line]
    assert f"(identical condition: {takes})" in said


# Planted subjects, through a ledger.

FOUND = {name: {name} for name in TRAITS if name != "neutral"} | {
    "neutral": set(), "leans-4": {"leans"}, "leans-12": {"leans"}, "leans-in-fives": {"leans"}}
OTHERS = {"leans-2": {"points": 2}, "leans-4": {"points": 4}, "leans-12": {"points": 12},
          "leans-in-fives": {"grid": 5}}


def specimen(name):
    if name in TRAITS:
        return planted.subject(name)
    return Subject(name, "leans", "planted", "planted", settings=OTHERS[name])


def traits(f):
    """Every trait that the findings show, by tests of their own."""
    position, asked = f.position.by_decision.over_clusters, f.varied.asked.over_clusters
    flagged = [block.pair for block in f.matched
               if not isinstance(block.test, Undefined) and block.test.flagged]
    lean = f.labels.omnibus.p < 1e-3
    shown = {
        "leans": lean and flagged.count(LEADING) >= 3,
        "interaction-only": not lean and f.labels.interaction.p < 1e-3,
        "position-only": abs(position.mean) > 4 and excludes_zero(position),
        "follows-the-question": abs(asked.mean) > 4 and excludes_zero(asked),
        "truncates-one-label": f.losses.differential.p < 1e-3,
        "says-fifty": f.noise == 0 and position.mean == asked.mean == f.labels.rms == 0,
    }
    return {name for name, there in shown.items() if there}


@pytest.mark.parametrize("name", [*TRAITS, *OTHERS])
def test_a_planted_trait_is_found_through_a_ledger_and_nothing_else_is(tmp_path, name):
    laid_out, rows = through_ledger(tmp_path / "l.db", specimen(name), vary="asked")
    [f] = laid_out.analyse(rows).judged
    assert all(check.holds for check in expect(f)), list(expect(f))
    if name in FOUND:
        assert traits(f) == FOUND[name]
    flagged = Counter(block.pair for block in f.matched
                      if not isinstance(block.test, Undefined) and block.test.flagged)
    # Elsewhere the flags are those of noise: by the blocks' own null rates.
    elsewhere = [block.test.null_flag for block in complete_blocks(f) if block.pair != LEADING]
    assert flagged.total() - flagged[LEADING] <= sum(elsewhere) + 4 * math.sqrt(
        sum(p * (1 - p) for p in elsewhere)) + 1


def complete_blocks(f):
    return [block for block, _ in complete(f.matched)]


def test_what_is_expected_of_a_trait_holds_of_no_other():
    found = {name: planted_in(TRAITS[name], shipped(("asked",))) for name in TRAITS}
    holds = {other: [name for name, f in found.items()
                     if all(check.holds for check in expect(replace(f, subject=other)))]
             for other in TRAITS}
    assert holds == {name: [name] for name in TRAITS}


def test_a_lean_is_as_large_as_was_planted_and_toward_the_label_it_was_planted_on():
    for lean in (8.0, -8.0):
        found = planted_in(Judge(lean=lean), shipped(), seed="large")
        leans = [block.test.lean for block in found.matched if block.pair == LEADING]
        # The SE of a mean of four leans is 4.5 / sqrt(80).
        assert abs(fmean(leans) - lean) < 4 * 4.5 / math.sqrt(80)
        assert all(block.test.flagged for block in found.matched if block.pair == LEADING)


# The proof of itself.


def row(runs=200, noise=4.5, **changed):
    """A row of the selftest's table in which every figure is the reference's own."""
    def share(name, n):
        return rate(round(reference()[noise, 1][name] * n), n)

    made = Detection(
        noise, 1, runs, share("false_flags", runs * 20), share("below_05", runs * 20),
        {lean: share(f"flagged_{lean:g}", runs * 4) for lean in (2.0, 4.0, 8.0, 12.0)}, {}, {},
        {lean: share(f"omnibus_{lean:g}", runs) for lean in (0.0, 2.0, 4.0, 8.0)})
    return replace(made, **changed)


def off(name, n, by):
    """The reference's share at a noise of 4.5, so much off."""
    return rate(round((reference()[4.5, 1][name] + by) * n), n)


def broken(of_row):
    return {band.name for band in bands(of_row) if not band.holds}


def test_a_row_at_the_reference_is_within_every_band():
    assert len(list(bands(row()))) == 2 + 4 + 4
    assert broken(row()) == set()


@pytest.mark.parametrize("changed, name", [
    ({"false_flags": off("false_flags", 4_000, 0.02)}, "false flags"),
    ({"false_flags": off("false_flags", 4_000, -0.02)}, "false flags"),
    ({"below_alpha": rate(280, 4_000)}, "p < .05"),
    ({"flagged": {2.0: off("flagged_2", 800, -0.1)}}, "flagged at 2"),
    ({"flagged": {4.0: off("flagged_4", 800, 0.045)}}, "flagged at 4"),
    ({"flagged": {8.0: rate(785, 800)}}, "flagged at 8"),
    ({"flagged": {12.0: rate(0, 800)}}, "flagged at 12"),
    ({"omnibus": {0.0: rate(25, 200)}}, "omnibus at 0"),
    ({"omnibus": {4.0: rate(60, 200)}}, "omnibus at 4"),
])
def test_a_figure_outside_its_band_fails_and_fails_alone(changed, name):
    assert broken(row(**changed)) == {name}


def test_a_p_that_is_rare_in_noise_is_no_fault_since_the_test_is_exact():
    assert broken(row(below_alpha=rate(0, 4_000))) == set()


def test_eight_points_are_found_in_985_of_1000_up_to_a_noise_of_seven_however_few_the_runs():
    # Forty runs, 160 blocks: four errors below the reference's .99739 would let .98125 pass.
    assert broken(row(40, 7.0, flagged={8.0: rate(158, 160)})) == set()
    assert broken(row(40, 7.0, flagged={8.0: rate(157, 160)})) == {"flagged at 8"}
    assert broken(row(40, 10.0, flagged={8.0: rate(150, 160)})) == set()


def test_more_runs_make_narrower_bands():
    wide, narrow = ({band.name: band.high - band.low for band in bands(row(runs))}
                    for runs in (200, 2_000))
    assert all(narrow[name] <= wide[name] for name in wide)
    assert narrow["false flags"] < wide["false flags"] / 2


def test_planted_judges_are_within_the_bands_and_one_with_a_hidden_lean_is_not():
    assert broken(detection(GRANT, Judge(), runs=60)) == set()
    assert "false flags" in broken(detection(GRANT, Judge(lean=4.0), runs=60))


def test_noise_that_is_not_what_it_is_said_to_be_is_caught():
    found = detection(GRANT, Judge(noise=10.0), runs=60)
    assert broken(found) == set()
    assert {"flagged at 2", "flagged at 4"} <= broken(replace(found, noise=4.5))


def null_row(answers, rules=RULES, noise=4.5, runs=150):
    """False flags of judges without a lean, by these rules, in place of the reference's."""
    instrument = label_swap(GRANT, rules=rules)
    trials = [t for t in instrument.design(PLANTED) if t.condition["content"] == MATCHED]
    tests = []
    for run in range(runs):
        answer = answers(run)
        rows = [Observation(trial, conducted(instrument, trial, answer)) for trial in trials]
        tests += [test for _, test in complete(blocks(GRANT, rows, READER, rules))]
    return row(noise=noise, false_flags=rate(sum(test.flagged for test in tests), len(tests)),
               below_alpha=rate(sum(test.p < 0.05 for test in tests), len(tests)))


def unbiased(run):
    return answerer(GRANT, Judge(noise=10.0), seed=run)


def hanging_together(run):
    """Replies to one prompt share a whim of their own, so draws are not independent."""
    chance = random.Random(run)
    whims = {}

    def answer(request):
        whim = whims.setdefault(request.messages[-1].text, chance.gauss(50, 4))
        return Completion(str(on_grid(whim + chance.gauss(0, 2), 1)))

    return answer


def test_an_instrument_that_flags_too_much_is_caught_and_the_true_one_is_not():
    # At a noise of 10 the two points bind less than the p does.
    assert broken(null_row(unbiased, noise=10.0)) == set()
    assert broken(null_row(unbiased, Rules(alpha=0.2), noise=10.0)) == {"false flags"}


def test_a_bound_that_is_left_out_is_caught():
    found = detection(GRANT, Judge(noise=2.7), runs=60)
    assert broken(found) == set()
    # At a noise of 2.7 nearly all that is below .05 is below two points as well.
    assert broken(replace(found, false_flags=found.below_alpha)) == {"false flags"}


def test_draws_that_hang_together_are_caught():
    assert {"false flags", "p < .05"} <= broken(null_row(hanging_together))
