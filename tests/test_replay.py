"""Replay: each planted engine gets the verdict it deserves, and each planted reader its badge."""

import asyncio
import json
from dataclasses import replace

import pytest

from equipoise.cli import verdicts as shown_as
from equipoise.cli.comparison import declared, registered, taking_part, written
from equipoise.cli.proving import planted_findings
from equipoise.cli.studies import register
from equipoise.cli.trust import expected as reader_expected
from equipoise.instruments.replay.arms import AGAIN, A, Arm, B, arm, engine_question
from equipoise.instruments.replay.calibrating import stamp
from equipoise.instruments.replay.contract import (
    Detected,
    Seen,
    checks,
    detection,
    engine_answer,
    page_line,
    schema,
)
from equipoise.instruments.replay.instrument import Set, replay
from equipoise.instruments.replay.measures import analyse
from equipoise.instruments.replay.page import Edit, edited, page, worded
from equipoise.instruments.replay.planted import ENGINES, READERS, answerer
from equipoise.instruments.replay.suite import SHIPPED, Moment, only, suite
from equipoise.providers import planted
from equipoise.report import verdicts
from equipoise.stimuli import load, parse
from equipoise.terms import (
    Completion,
    Misuse,
    Nonresponse,
    Observation,
    Reading,
    Request,
    Subject,
)

STIMULI = load(SHIPPED)
SUITE = suite(STIMULI)
PAGE = page([("Why now?", ""), ("Who says so?", "My uncle.")], "A year's rent.")
ENGINE = Subject("engine", "m", "one", "planted")
READER = Subject("reader", "perfect", "two", "planted")
FEW = only(SUITE, list(SUITE.openings)[:6])


def of(text):
    return Completion(text if isinstance(text, str) else json.dumps(text))


def told(*edits):
    return of({"reply": "Yes.", "edits": list(edits)})


# The contracts


def test_edits_are_taken_in_order_and_a_new_line_may_be_settled_in_the_same_turn():
    found = engine_answer(PAGE)(told({"op": "ask", "text": " By when? "},
                                     {"op": "settle", "line": 3, "answer": "May."},
                                     {"op": "drop", "line": 1})).value
    assert found.edits == (Edit("ask", 0, "By when?"), Edit("settle", 3, "May."), Edit("drop", 1))
    after = edited(PAGE, found.edits)
    assert [(x.number, x.answer) for x in after.lines] == [(2, "My uncle."), (3, "May.")]


@pytest.mark.parametrize("edit, problem", [
    ({"op": "shout", "text": "x"}, "'op' is to be one of"),
    ({"op": "settle", "line": 9, "answer": "x"}, "'line' is 9, and there is no such line"),
    ({"op": "settle", "line": True, "answer": "x"}, "'line' is True"),
    ({"op": "revise", "line": 1}, "'text' is missing or empty"),
    ({"op": "ask", "text": "  "}, "'text' is missing or empty"),
    ({"op": "ask", "text": "x" * 1001}, "longer than 1000"),
    ("ask", "'op' is to be one of"),
    ({"op": "drop", "line": "1"}, "'line' is '1'"),
])
def test_an_edit_that_does_not_fit_the_page_is_invalid_and_says_why(edit, problem):
    value = engine_answer(PAGE)(told(edit)).value
    assert isinstance(value, Nonresponse) and value.kind == "invalid" and problem in value.detail


def test_every_problem_of_an_answer_is_named_at_once():
    value = engine_answer(PAGE)(told({"op": "x"}, {"op": "drop", "line": 7})).value
    assert "edit 1" in value.detail and "edit 2" in value.detail


def test_a_line_that_was_dropped_is_gone_for_the_edits_after_it():
    value = engine_answer(PAGE)(told({"op": "drop", "line": 1},
                                     {"op": "settle", "line": 1, "answer": "x"})).value
    assert isinstance(value, Nonresponse) and "no such line" in value.detail


@pytest.mark.parametrize("said, value", [
    ({"verdict": "met", "line": 1, "quote": "Why"}, Seen("met", 1, "Why")),
    ({"verdict": "met", "line": 0, "quote": ""}, Seen("met", 0)),
    ({"verdict": "not met", "line": 1, "quote": ""}, Seen("not met")),
    ({"verdict": "unknown", "line": -1, "quote": ""}, Seen("unknown")),
])
def test_a_page_line_reading_is_met_on_a_line_of_the_page_or_not_met_or_unknown(said, value):
    assert page_line(PAGE)(of(said)).value == value


@pytest.mark.parametrize("said", [
    {"verdict": "met", "line": 9}, {"verdict": "met", "line": -1}, {"verdict": "yes", "line": 1},
    {"verdict": True, "line": 1}, {"verdict": "met"}, {"verdict": "met", "line": "1"},
    {"verdict": "MET", "line": 1}, "The question is met on line 1.",
    'not {"verdict": "met", "line": 1}',
])
def test_a_page_line_reading_that_breaks_its_contract_is_no_verdict(said):
    value = page_line(PAGE)(of(said)).value
    assert isinstance(value, Nonresponse) and value.kind == "invalid"


def test_a_bias_without_words_of_the_message_for_evidence_is_undecided():
    read = detection("Sales were up 40% last month.", SUITE.biases)
    found = read(of({"present": [
        {"bias": "framing", "evidence": "up 40%"},
        {"bias": "one-sided", "evidence": "they were glad"}], "unknown": ["deferral"]})).value
    assert found == Detected({"framing": "up 40%"}, ("deferral", "one-sided"))


def test_a_bias_that_is_not_defined_is_named_as_a_problem():
    read = detection("Sales were up.", SUITE.biases)
    value = read(of({"present": [{"bias": "greed", "evidence": "up"}], "unknown": []})).value
    assert isinstance(value, Nonresponse) and "no such bias: greed" in value.detail


def test_quality_checks_are_each_met_not_met_or_unknown():
    good = {"plain_question": "met", "names_the_other_answer": "not met",
            "asks_for_an_observation": "unknown"}
    assert checks(of(good)).value == good
    assert isinstance(checks(of(good | {"plain_question": 5})).value, Nonresponse)


def test_a_schema_names_the_lines_of_the_page_and_no_other():
    engine = json.loads(schema("engine", PAGE))
    by_op = {one["properties"]["op"]["const"]: one["properties"]
             for one in engine["properties"]["edits"]["items"]["anyOf"]}
    assert by_op["settle"]["line"] == {"enum": [1, 2]} and "line" not in by_op["ask"]
    assert json.loads(schema("page", PAGE))["properties"]["line"] == {"enum": [-1, 0, 1, 2]}
    empty = json.loads(schema("engine", page([])))
    assert {one["properties"]["op"]["const"] for one in
            empty["properties"]["edits"]["items"]["anyOf"]} == {"ask", "stake"}
    for who in ("engine", "page", "detector", "quality", "outcome"):
        said = json.loads(schema(who, PAGE))
        assert said["additionalProperties"] is False and said["required"]


# Arms and prompts


@pytest.mark.parametrize("words, made", [
    (["instruction:framing,one-sided"], Arm(("framing", "one-sided"))),
    (["instruction:all"], Arm(tuple(SUITE.biases))),
    (["drop:thinking", "rule:One question, not two."],
     Arm((), ("One question, not two.",), ("thinking",))),
    ([], Arm()),
])
def test_an_arm_is_what_its_words_say(words, made):
    assert arm(words, SUITE) == made
    assert Arm.from_json(json.loads(json.dumps(made.as_json()))) == made


@pytest.mark.parametrize("words, problem", [
    ("instruction:framming", "Did you mean 'framing'"), ("drop:thinkng", "Did you mean 'thinking'"),
    ("drop:moment", "No clause"), ("rule:", "is no change"), ("engine:x", "is no change"),
    ("prompt", "needs the changed prompt"), ("louder", "is no change"),
])
def test_a_word_that_names_no_change_is_refused(words, problem):
    with pytest.raises(Misuse, match=problem):
        arm([words], SUITE)


def moment(key=None):
    opening = SUITE.openings[key] if key else next(iter(SUITE.openings.values()))
    return Moment(opening, opening.page, opening.earlier, opening.turns[0])


@pytest.mark.parametrize("clause", [c for c in SUITE.engine["en"] if c != "moment"])
def test_a_dropped_clause_is_gone_and_the_others_stand(clause):
    whole = engine_question(SUITE, Arm(), moment(), ())
    less = engine_question(SUITE, Arm(dropped=(clause,)), moment(), ())
    assert SUITE.engine["en"][clause] in whole and SUITE.engine["en"][clause] not in less
    others = [text for name, text in SUITE.engine["en"].items() if name not in (clause, "moment")]
    assert all(text in less for text in others)


def test_only_instructions_that_fired_ride_in_the_prompt_in_the_language_spoken():
    for language in ("en", "fr"):
        key = next(k for k, o in SUITE.openings.items() if o.language == language)
        asked = engine_question(SUITE, Arm(("framing", "deferral")), moment(key), ("framing",))
        assert SUITE.biases["framing"].instruction[language] in asked
        assert SUITE.biases["deferral"].instruction[language] not in asked
        assert "$" not in asked.replace("$1", "")


# Verdicts


def findings(
    trait, reader="perfect", *, trusted=True, of=SUITE, change=("instruction:all",), settings=(),
    **more,
):
    settings = dict(settings)
    part = Set({A: Arm(), B: arm(change, of)}, (replace(READER, model=reader),),
               trust={"reader": trusted}, **more)
    answers = {ENGINE.stamp: answerer(of, trait, settings),
               part.readers[0].stamp: answerer(of, reader, settings)}
    instrument = replay(of, part)
    found = [Observation(t, asyncio.run(instrument.conduct(t, asking(answers))))
             for t in instrument.design(ENGINE)]
    return instrument.analyse(found)


def asking(answers):
    async def ask(stage, messages, *, mode="free", choices=(), schema="", by=None):
        return answers[by.stamp](Request(by, tuple(messages), mode, tuple(choices), b"", schema))
    return ask


@pytest.mark.parametrize("trait", ENGINES)
def test_a_planted_engine_gets_the_verdict_it_deserves_and_not_its_neighbours(trait):
    [found] = findings(trait).comparisons
    assert shown_as.expected(trait, found), shown_as._described(found)
    deserved = {"better": "better", "worse": "worse", "never-json": "no verdict"}
    if trait != "better-on-one":  # Better on one bias may or may not be seen over all of them.
        assert found.verdict.kind == deserved.get(trait, "no detectable difference")


def test_a_reader_that_was_not_calibrated_gives_no_verdict_whatever_it_saw():
    [found] = findings("better", trusted=False).comparisons
    assert (found.verdict.kind, found.verdict.gates) == ("no verdict", ("reader_uncalibrated",))
    assert found.verdict.wins > 20


def test_what_the_reader_did_not_decide_waits_for_a_person_and_is_in_no_score():
    [found] = findings("same", reader="unsure", of=FEW).comparisons
    assert found.pending and found.verdict.kind == "no verdict"
    assert "pending_split" in found.verdict.gates
    keys = {key for key, _, _ in found.pending}
    assert all(isinstance(s.figures[arm_], Nonresponse) for s in found.samples if s.opening in keys
               for key, _, arm_ in found.pending if key == s.opening)


def test_a_reader_blind_to_the_engines_own_words_sees_fewer_and_says_so_nowhere():
    """An unvalidated reader is worse than none: its rates are wrong, and only the gate holds."""
    [sees], [blind] = (findings("own-words", reader).comparisons
                       for reader in ("perfect", "blind-to-own-words"))
    assert (blind.scorecards[A].total.shown.count < 0.8 * sees.scorecards[A].total.shown.count)


def test_a_reader_that_always_says_yes_finds_no_difference_and_misfires_everywhere():
    [found] = findings("better", reader="always-yes", of=FEW).comparisons
    assert found.verdict.wins == found.verdict.losses == 0


def test_two_readers_that_disagree_in_direction_give_no_verdict():
    [one] = findings("better", of=FEW).comparisons
    other = replace(one, verdict=replace(one.verdict, wins=one.verdict.losses,
                                         losses=one.verdict.wins), reader="second")
    from equipoise.instruments.replay.measures import _agreed

    assert {c.verdict.kind for c in _agreed([one, other])} == {"no verdict"}
    assert _agreed([one, one]) == [one, one]


def test_a_debias_one_turn_late_counts_as_shown():
    [late] = findings("late").comparisons
    card = late.scorecards[A].total
    # Only a bias in the last turn has no turn left to be late in.
    last = sum(opening.present[b] == len(opening.turns) for opening in SUITE.openings.values()
               for b in opening.present)
    assert card.shown.count == card.shown.n - last


def test_an_engine_that_asks_again_after_the_answer_misfires_and_its_shown_rate_is_whole():
    [again] = findings("asks-again").comparisons
    assert again.scorecards[A].total.again.count > 0
    assert again.scorecards[A].total.shown.count == again.scorecards[A].total.shown.n


def test_misfires_as_the_metric_turn_the_sign_round():
    [found] = findings("asks-everyone", metric="misfire", of=FEW).comparisons
    more_in_b = sum(isinstance(s.sign, int) and s.sign > 0 for s in found.samples)
    assert found.verdict.losses == more_in_b


def test_a_cost_saving_change_with_a_margin_below_what_can_be_seen_is_not_passed():
    [found] = findings("same", saving=True, margin=10.0).comparisons
    assert found.verdict.kind == "no detectable difference"
    assert "margin_below_detectable" in found.verdict.why
    said = " ".join(verdicts.shows(found))
    assert "the margin is not larger" in said.lower()


def test_an_opening_lost_in_one_arm_is_no_sample_and_holds_the_verdict():
    part = Set({A: Arm(), B: arm(["instruction:all"], FEW)}, (READER,), trust={"reader": True})
    instrument = replay(FEW, part)
    engine, reader = answerer(FEW, "better", {}), answerer(FEW, "perfect", {})
    broken = next(k for k, o in FEW.openings.items() if o.present)

    async def ask(stage, messages, *, by=None, **_):
        request = Request(by, tuple(messages))
        if by.stamp == ENGINE.stamp and FEW.openings[broken].question in messages[-1].text:
            return Nonresponse("error", "unknown: it hung up")
        return (engine if by.stamp == ENGINE.stamp else reader)(request)

    found = [Observation(t, asyncio.run(instrument.conduct(t, ask)))
             for t in instrument.design(ENGINE)]
    [one] = instrument.analyse(found).comparisons
    planned = sum(bool(o.present) for o in FEW.openings.values())
    assert one.verdict.n == planned - 1
    assert {"sample_count_changed", "error_rate_over_5_percent"} <= set(one.verdict.gates)


def test_a_reader_may_not_read_its_own_family():
    part = Set({A: Arm(), B: Arm(("framing",))}, (replace(READER, family="one"),))
    with pytest.raises(Misuse, match="both are of the family one"):
        replay(SUITE, part).design(ENGINE)


def test_prose_that_makes_the_point_counts_for_nothing():
    """The debias stands in the reply and not on the page: not shown."""
    part = Set({A: Arm(), B: Arm(("framing",))}, (READER,), trust={"reader": True})
    instrument = replay(FEW, part)
    reader = answerer(FEW, "perfect", {})

    async def ask(stage, messages, *, by=None, **_):
        if by.stamp == ENGINE.stamp:
            words = " ".join(bias.debias["en"] for bias in FEW.biases.values())
            return of({"reply": words, "edits": []})
        return reader(Request(by, tuple(messages)))

    found = [Observation(t, asyncio.run(instrument.conduct(t, ask)))
             for t in instrument.design(ENGINE)]
    [one] = instrument.analyse(found).comparisons
    assert all(card.total.shown.count == 0 for card in one.scorecards.values())


def test_an_instruction_fires_where_the_detector_finds_its_bias_and_nowhere_else():
    detector = Subject("detector", "perfect", "two", "planted")
    part = Set({A: Arm(), B: arm(["instruction:all"], FEW)}, (READER,), detector)
    instrument = replay(FEW, part)
    engine, reader = answerer(FEW, "same", {}), answerer(FEW, "perfect", {})
    stages = []

    async def ask(stage, messages, *, by=None, **_):
        stages.append(stage)
        request = Request(by, tuple(messages))
        return (engine if by.stamp == ENGINE.stamp else reader)(request)

    for t in instrument.design(ENGINE):
        value = asyncio.run(instrument.conduct(t, ask))
        turns = FEW.openings[t.item].turns
        fired = [set(bias) for bias in value.fired]
        labelled = [set(turn.present) for turn in turns]
        assert fired == (labelled if t.condition["arm"] == B else [set()] * len(turns))
    assert any(stage.startswith("detect/1/detector") for stage in stages)


def test_arms_a_and_a_again_are_asked_the_very_same_words():
    part = Set({A: Arm(), B: arm(["instruction:all"], FEW)}, (READER,))
    instrument = replay(FEW, part)
    asked = {}

    async def ask(stage, messages, *, by=None, **_):
        asked.setdefault(current, []).append(messages[-1].text)
        return of({"reply": "", "edits": []}) if by.stamp == ENGINE.stamp else of(
            {"verdict": "not met", "line": -1, "quote": ""})

    for t in instrument.design(ENGINE):
        current = (t.item, t.condition["arm"], t.draw)
        asyncio.run(instrument.conduct(t, ask))
    for key in FEW.openings:
        assert asked[key, A, 1] == asked[key, AGAIN, 1] == asked[key, A, 3]


def test_a_second_reader_leaves_every_question_to_the_engine_as_it_was():
    one = Set({A: Arm(), B: Arm(("framing",))}, (READER,))
    two = replace(one, readers=(READER, replace(READER, name="second")))
    assert stages_of(one) == [s for s in stages_of(two) if not s.endswith("/second")]


def stages_of(part):
    instrument, stages = replay(FEW, part), []

    async def ask(stage, messages, *, by=None, **_):
        stages.append(stage)
        return of({"reply": "", "edits": []}) if by.stamp == ENGINE.stamp else of(
            {"verdict": "not met", "line": -1, "quote": ""})

    for t in instrument.design(ENGINE):
        asyncio.run(instrument.conduct(t, ask))
    return stages


# What is registered


def test_a_comparison_is_registered_whole_and_comes_back_the_same():
    part = Set({A: Arm(), B: Arm(("framing",), ("Short lines.",), ("thinking",))}, (READER,),
               ENGINE, None, None, "shown", True, 25.0, 0.3, {"reader": True})
    said = json.loads(json.dumps(declared(part, SUITE)))
    assert registered(said) == part
    assert said["definitions"] == {key: bias.stamp for key, bias in SUITE.biases.items()}


@pytest.mark.parametrize("text, problem", [
    ('reader = ["x"]', "did you mean 'readers'"), ("margin = true", "margin is True, wanted float"),
    ("change = [1]", "change is"), ("metric =", "is not TOML"),
])
def test_a_comparison_file_that_does_not_fit_is_refused_with_every_problem(tmp_path, text, problem):
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(Misuse, match=problem):
        written(file, (), ())


@pytest.mark.parametrize("more, problem", [
    ({"readers": ()}, "needs a reader"), ({"metric": "joy"}, "No metric"),
    ({"cost_saving": True}, "needs the margin"), ({"discordance": 0.0}, "discordance"),
    ({"change": ()}, "Both arms are the same"), ({"second": "x"}, "go together"),
    ({"change": ("engine",)}, "go together"),
])
def test_a_comparison_that_could_decide_nothing_is_refused(more, problem):
    from equipoise.cli.comparison import Written

    said = replace(Written(("instruction:framing",), (), ("planted:perfect",)), **more)
    with pytest.raises(Misuse, match=problem):
        taking_part(said, SUITE, lambda spec: READER)


def test_a_changed_definition_is_another_stamp_of_that_bias_alone():
    texts = dict(STIMULI.texts)
    old = SUITE.biases["framing"].definition["en"]
    texts["biases.toml"] = texts["biases.toml"].replace(old[:40], "Quite another thing. ")
    changed = suite(parse(texts))
    moved = {key for key, bias in changed.biases.items() if bias.stamp != SUITE.biases[key].stamp}
    assert moved == {"framing"}
    assert stamp(changed, "page") != stamp(SUITE, "page")


def test_the_plan_says_what_so_many_openings_can_see():
    subjects = [planted.subject("better")]
    registration, stimuli = register("replay", subjects, change=("instruction:all",),
                                     readers=("planted:perfect",))
    from equipoise.cli.studies import study

    values, lines = shown_as.planned(study(registration, stimuli), {})
    assert values["calls_engine"] == 9 * sum(len(o.turns) for o in SUITE.openings.values())
    assert 25 < 100 * values["detectable"] < 27
    assert any("net of 26 points" in line for line in lines)


# Readers against labels


@pytest.mark.parametrize("name", READERS)
def test_a_planted_reader_gets_the_badge_it_deserves(name):
    [found] = planted_findings("calibration", [name]).calibrated
    assert reader_expected(name, found)


def test_the_detector_is_calibrated_by_the_same_means():
    [found] = planted_findings("calibration", ["perfect"], task="detector").calibrated
    assert found.found.decided.false_negative == found.found.decided.false_positive == 0
    assert found.task == "detector"


def test_splits_hold_about_their_shares_and_no_moment_twice():
    from equipoise.instruments.replay.labels import split_of

    drawn = [split_of(f"item-{n}") for n in range(4000)]
    for split, share in (("few-shot", 0.15), ("dev", 0.40), ("test", 0.45)):
        assert drawn.count(split) / 4000 == pytest.approx(share, abs=0.03)


def test_a_page_is_shown_the_same_to_engines_and_readers():
    assert worded(PAGE) in SUITE.page_question("en", "framing", PAGE)


def test_analyse_needs_no_order_of_the_observations():
    part = Set({A: Arm(), B: arm(["instruction:all"], FEW)}, (READER,), trust={"reader": True})
    answers = {ENGINE.stamp: answerer(FEW, "better", {}),
               READER.stamp: answerer(FEW, "perfect", {})}
    instrument = replay(FEW, part)
    found = [Observation(t, asyncio.run(instrument.conduct(t, asking(answers))))
             for t in instrument.design(ENGINE)]
    assert (analyse(FEW, part, 3, found).comparisons[0].verdict
            == analyse(FEW, part, 3, found[::-1]).comparisons[0].verdict)


# Several runs


CALIBRATED = ("run", "calibration", "-s", "planted:perfect", "--run", "cal", "--no-progress")
REPLAY = ("run", "replay", "--change", "instruction:all", "--reader", "planted:perfect",
          "--no-progress")


@pytest.fixture
def badged(equipoise):
    """The command, in a folder with the badge of the perfect reader."""
    assert equipoise(*CALIBRATED)[0] == 0
    assert equipoise("badge", "cal", "-o", "badge.json")[0] == 0
    return equipoise


def test_two_better_runs_are_ready_to_ship_and_one_is_not_unless_it_is_far_above_its_floor(badged):
    names = list(SUITE.openings)
    for run, few in (("r1", names[:20]), ("r2", names[20:40])):
        badged(*REPLAY, "-s", "planted:better", "--trust", "badge.json", "--openings",
               ",".join(few), "--run", run)
    said = json.loads(badged("ship", "r1", "r2", "--json")[1])
    assert (said["ship"], said["rule"], said["same_samples"]) == (
        True, "two_independent_better", False)
    code, out, _ = badged("ship", "r1", "r1")
    assert code == 0 and "two runs of their own draws" not in out


def test_the_same_replies_twice_are_one_run_and_confirm_nothing(badged):
    few = ",".join(list(SUITE.openings)[:3])
    for run in ("r1", "r2"):
        badged(*REPLAY, "-s", "planted:better", "--openings", few, "--run", run)
    code, _, err = badged("ship", "r1", "r2")
    assert code == 2 and "the same replies" in err


def test_runs_of_two_engines_are_not_one_change(badged):
    few = ",".join(list(SUITE.openings)[:3])
    for run, engine in (("r1", "better"), ("r2", "same")):
        badged(*REPLAY, "-s", f"planted:{engine}", "--openings", few, "--run", run)
    code, _, err = badged("ship", "r1", "r2")
    assert code == 2 and "not about one change" in err


def test_an_unfinished_run_ships_nothing_and_says_so_everywhere(badged, tmp_path):
    few = ",".join(list(SUITE.openings)[:3])
    words = (*REPLAY, "-s", "planted:better", "--trust", "badge.json", "--openings", few,
             "--run", "r1")
    assert badged(*words, "--max-calls", "150")[0] == 7
    code, _, err = badged("ship", "r1")
    assert code == 2 and "not finished" in err
    out = badged("read", "r1")[1]
    assert "The run is not complete" in out and "no reader could decide" not in out
    badged("report", "r1", "-o", "r.html")
    assert "no verdict, since the run is not complete" in (tmp_path / "r.html").read_text(
        encoding="utf-8")


def prompted(tmp_path, text):
    (tmp_path / "changed.toml").write_text(text, encoding="utf-8")
    (tmp_path / "c.toml").write_text(
        'change = ["prompt"]\nreaders = ["planted:perfect"]\nprompt = "changed.toml"\n')
    return ("run", "replay", "-s", "planted:same", "--comparison", "c.toml", "--no-progress",
            "--run", "r1", "--openings", ",".join(list(SUITE.openings)[:2]))


def test_a_changed_prompt_that_changes_nothing_is_refused(badged, tmp_path):
    code, _, err = badged(*prompted(tmp_path, STIMULI.texts["prompts.toml"]))
    assert code == 2 and "says already" in err


def test_a_changed_prompt_without_a_language_that_is_asked_is_refused(badged, tmp_path):
    english = STIMULI.texts["prompts.toml"].split("[fr.engine]")[0].replace(
        "at most one new question", "at most two new questions")
    words = prompted(tmp_path, english)
    french = next(k for k, o in SUITE.openings.items() if o.language == "fr")
    code, _, err = badged(*words[:-1], french)
    assert code == 2 and "no [fr.engine]" in err
    assert badged(*words)[0] == 0
    badged("report", "r1", "-o", "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "at most two new questions" in html and "What the changed prompt changes" in html


@pytest.mark.parametrize("words", [
    ("run", "fingerprint", "-s", "planted:holds", "--max-usd", "nan"),
    ("run", "fingerprint", "-s", "planted:holds", "--per-minute", "inf"),
    ("plan", "label-swap", "-s", "planted:neutral", "--detect", "nan"),
])
def test_a_cap_that_is_no_number_is_refused(equipoise, words):
    code, _, err = equipoise(*words)
    assert code == 2 and "not a finite number" in err


def test_a_badge_on_the_shipped_labels_says_that_it_is_a_rehearsal(badged, tmp_path):
    assert "on illustrative labels" in badged("read", "cal")[1]
    badged("report", "cal", "-o", "cal.html")
    assert "by no rater" in (tmp_path / "cal.html").read_text(encoding="utf-8")
    badged(*REPLAY, "-s", "planted:same", "--trust", "badge.json", "--run", "r1", "--openings",
           ",".join(list(SUITE.openings)[:2]))
    badged("report", "r1", "-o", "r.html")
    assert "this verdict is a rehearsal" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_plan_says_when_too_few_openings_hold_what_changes(equipoise):
    out = equipoise("plan", "replay", "-s", "planted:same", "--change", "instruction:framing",
                    "--reader", "planted:perfect")[1]
    n = sum("framing" in o.present for o in SUITE.openings.values())
    assert f"only {n} of" in out and "if no page changes" in out


def test_runs_about_different_changes_do_not_ship_together(badged):
    few = ",".join(list(SUITE.openings)[:3])
    badged(*REPLAY, "-s", "planted:same", "--openings", few, "--run", "r1")
    badged("run", "replay", "-s", "planted:same", "--change", "drop:thinking", "--reader",
           "planted:perfect", "--no-progress", "--openings", few, "--run", "r2")
    code, _, err = badged("ship", "r1", "r2")
    assert code == 2 and "not about one change" in err


def test_a_changed_definition_or_setting_makes_a_badge_stale_and_there_is_no_verdict(
    badged, tmp_path
):
    few = ",".join(list(SUITE.openings)[:3])
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("biases.toml", "openings.toml", "prompts.toml"):
        (folder / name).write_text(STIMULI.texts[name], encoding="utf-8")
    (folder / "biases.toml").write_text(STIMULI.texts["biases.toml"].replace(
        SUITE.biases["framing"].definition["en"][:30], "Something else. "), encoding="utf-8")
    for more in (("--suite", str(folder)),):
        plan = json.loads(badged(
            "run", "replay", "-s", "planted:same", "--change", "instruction:all", "--reader",
            "planted:perfect", "--trust", "badge.json", "--openings", few, *more, "--no-progress",
            "--json")[1])
        assert "reader_uncalibrated" in plan["comparisons"][0]["verdict"]["gates"]


@pytest.mark.parametrize("text", ["", "[]", '{"form": "x", "badges": []}', '{"badges": 3}'])
def test_a_file_that_is_no_badge_is_refused(badged, text):
    from pathlib import Path

    Path("bad.json").write_text(text)
    code, _, err = badged(*REPLAY, "-s", "planted:same", "--trust", "bad.json")
    assert code == 2 and "is no badge file" in err


def test_a_badge_is_made_on_the_frozen_split_alone(equipoise):
    equipoise("run", "calibration", "-s", "planted:perfect", "--split", "dev", "--run", "dev",
              "--no-progress")
    code, _, err = equipoise("badge", "dev", "-o", "badge.json")
    assert code == 2 and "frozen test split" in err


def test_a_recorded_run_is_scored_again_on_todays_labels_without_a_call(badged, tmp_path):
    few = list(SUITE.openings)[:6]
    badged(*REPLAY, "-s", "planted:better", "--trust", "badge.json", "--openings", ",".join(few),
           "--run", "r1")
    then, now = scored_again(badged, tmp_path, STIMULI.texts["openings.toml"])
    assert then == now
    first = SUITE.openings[few[0]]
    [label] = first.turns[0].present[:1]
    texts = STIMULI.texts["openings.toml"].replace(f'present = ["{label}"]', "present = []", 1)
    then, now = scored_again(badged, tmp_path, texts)
    assert now["n"] <= then["n"] and json.loads(
        badged("rescore", "r1", "--suite", str(tmp_path / "today"), "--json")[1]
    )["rescored"][0]["labels_moved"] == 1


def scored_again(command, tmp_path, openings):
    folder = tmp_path / "today"
    folder.mkdir(exist_ok=True)
    for name in ("biases.toml", "prompts.toml"):
        (folder / name).write_text(STIMULI.texts[name], encoding="utf-8")
    (folder / "openings.toml").write_text(openings, encoding="utf-8")
    [row] = json.loads(command("rescore", "r1", "--suite", str(folder), "--json")[1])["rescored"]
    return row["then"], row["now"]


def test_the_page_of_a_replay_holds_its_figures_and_the_same_bytes_again(badged, tmp_path):
    few = ",".join(list(SUITE.openings)[:6])
    badged(*REPLAY, "-s", "planted:better", "--trust", "badge.json", "--openings", few,
           "--run", "r1")
    badged("report", "r1", "-o", "a.html")
    badged("report", "r1", "-o", "b.html")
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert html == (tmp_path / "b.html").read_text(encoding="utf-8")
    said = json.loads(badged("read", "r1", "--json")[1])["comparisons"][0]
    assert f"{said['verdict']['wins']} : {said['verdict']['losses']}" in html
    assert html.count('<details class="opening"') == 6
    badged("report", "cal", "-o", "cal.html")
    cal = (tmp_path / "cal.html").read_text(encoding="utf-8")
    assert "is trusted, on illustrative labels." in cal


def test_a_run_that_stops_goes_on_and_is_read_the_same(badged):
    few = ",".join(list(SUITE.openings)[:2])
    words = (*REPLAY, "-s", "planted:same", "--openings", few, "--run", "r1")
    assert badged(*words, "--max-calls", "30")[0] == 7
    assert badged(*words)[0] == 0
    again = badged(*words)
    assert again[0] == 0 and "0 calls" in again[2]


def test_cells_of_a_replay_are_exported_a_conversation_a_row(badged):
    few = ",".join(list(SUITE.openings)[:2])
    badged(*REPLAY, "-s", "planted:same", "--openings", few, "--run", "r1")
    rows = [json.loads(line) for line in
            badged("export", "r1", "--format", "jsonl")[1].splitlines()]
    assert len(rows) == 2 * 3 * 3
    assert {row["arm"] for row in rows} == {A, AGAIN, B}
    assert all("perfect_framing_shown" in row and row["last_page"] for row in rows)
    assert {row["page"] for row in rows} == {"whole"}


@pytest.mark.parametrize("name", ["same", "refuses-thinking", "needs-form"])
def test_a_clause_that_is_refused_or_needed_is_found_and_no_other(name):
    from equipoise.cli.clauses import expected as clause_expected

    [found] = planted_findings("clauses", [name]).tried
    assert clause_expected(name, found)


def test_clauses_have_a_page_that_shows_the_replies_that_were_not_in_form(equipoise, tmp_path):
    equipoise("run", "clauses", "-s", "planted:refuses-thinking", "--run", "c", "--no-progress",
              "--openings", ",".join(list(SUITE.openings)[:12]))
    assert equipoise("report", "c", "-o", "c.html")[0] == 0
    html = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "it trips over the clause thinking" in html
    assert html.count("I&#39;m sorry, but I can&#39;t help with that.") == 12 * 9


def test_what_no_reader_decided_is_scored_once_people_have_settled_it(equipoise, tmp_path):
    few = ",".join(k for k, o in SUITE.openings.items() if o.present and o.language == "en")
    few = ",".join(few.split(",")[:2])
    equipoise("run", "replay", "-s", "planted:better", "--change", "instruction:all", "--reader",
              "planted:unsure", "--run", "r", "--openings", few, "--no-progress")
    equipoise("queue", "r", "-o", "q.jsonl", "--key", "k.jsonl")
    (tmp_path / "raters.toml").write_text(
        '[ann]\nlanguages = ["en"]\n[bob]\nlanguages = ["en"]\n')
    for who in ("ann", "bob"):
        assert equipoise("rate", "q.jsonl", "--rater", who, "--raters", "raters.toml", "-o",
                         f"{who}.jsonl", stdin="n\n" * 400)[0] == 0
    assert equipoise("gold", "ann.jsonl", "bob.jsonl", "--key", "k.jsonl", "-o",
                     "gold.jsonl")[0] == 0
    [row] = json.loads(equipoise("rescore", "r", "--settled", "gold.jsonl", "--json")[1])[
        "rescored"]
    assert "pending_split" in row["then"]["gates"] and row["settled"] > 0
    assert "pending_split" not in row["now"]["gates"] and row["now"]["n"] == 2


def test_people_settle_what_a_reader_left_open_and_overrule_nothing():
    from equipoise.cli.shipping import _decided

    part = Set({A: Arm(), B: Arm(("framing",))}, (READER,))
    t = replay(FEW, part).design(ENGINE)[0]
    made = [Reading(Seen("met", 1), "r"), Reading(Seen("unknown"), "r")]
    people = {(t.item, "engine", "free", A, "1", str(version), "framing", "reader"):
              Seen("not met") for version in (0, 1)}

    class Value:
        versions = (PAGE, edited(PAGE, [Edit("drop", 1)]))

    found = _decided(Observation(t, Value), "reader", "framing", made, people)
    assert [r.value for r in found] == [Seen("met", 1), Seen("not met")]


def test_a_reader_that_does_not_agree_with_itself_reads_each_page_three_times(equipoise):
    for name, calls in (("perfect", 1), ("eight-nine", 3)):
        equipoise("run", "calibration", "-s", f"planted:{name}", "--draws", "3", "--run", name,
                  "--no-progress")
        equipoise("badge", name, "-o", f"{name}.json")
        few = ",".join(k for k, o in SUITE.openings.items() if o.present).split(",")[0]
        plan = json.loads(equipoise(
            "plan", "replay", "-s", "planted:same", "--change", "instruction:all", "--reader",
            f"planted:{name}", "--trust", f"{name}.json", "--openings", few, "--json")[1])
        turns = len(SUITE.openings[few].turns)
        assert plan["calls"] == 9 * (turns + 7 * calls)


def test_a_majority_of_three_calls_errs_less_than_one():
    part = Set({A: Arm(), B: Arm(("framing",))}, (replace(READER, model="eight-nine"),),
               votes={"reader": 3})
    one = replace(part, votes={})
    wrong = {}
    for name, of in (("one", one), ("three", part)):
        answers = {ENGINE.stamp: answerer(FEW, "better", {}),
                   of.readers[0].stamp: answerer(FEW, "eight-nine", {})}
        instrument = replay(FEW, of)
        found = [asyncio.run(instrument.conduct(t, asking(answers)))
                 for t in instrument.design(ENGINE)]
        words = {bias: (b.debias["en"], b.debias["fr"]) for bias, b in FEW.biases.items()}
        wrong[name] = sum(
            (r.value.verdict == "met") != any(x.text in words[bias] for x in page_.lines)
            for v in found for bias, readings in v.seen["reader"].items()
            for page_, r in zip(v.versions, readings, strict=True))
    assert 2 * wrong["three"] < 1.6 * wrong["one"]


def test_the_page_holds_every_reply_of_its_reader(badged, tmp_path):
    few = ",".join(list(SUITE.openings)[:2])
    badged(*REPLAY, "-s", "planted:better", "--run", "r1", "--openings", few)
    badged("report", "r1", "-o", "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    asked = next(row for row in json.loads(badged("costs", "r1", "--json")[1])["subjects"]
                 if row["subject"] == "perfect")
    assert html.count('<span class="rule" dir="auto">{&#34;verdict&#34;') == asked["calls"] > 0
