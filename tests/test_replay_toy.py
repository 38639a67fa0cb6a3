"""A toy benchmark worked by hand: four openings, two biases, three draws an arm, every figure.

    opening  labels   A        A again  B
    one      framing  S - -    - - -    S S S    A no, again no, B yes: B wins
    two      framing  S S -    S - -    S S S    A yes, again no, B yes: the same
    three    framing  - - -    - - -    S S -    A no, again no, B yes: B wins
    four     none     - - -    - - -    S S -    B misfires

So B wins 2 of 3 and loses none: p = 2 x (1/2)^2 = .5, net 200/3 points. A and A again differ in
one of three, and one unit that differs by chance swings the net by one: a floor of 100/3 points.
"""

import asyncio
import json
from fractions import Fraction

import pytest

from equipoise.instruments.replay.arms import AGAIN, A, Arm, B
from equipoise.instruments.replay.instrument import Set, replay
from equipoise.instruments.replay.page import page
from equipoise.instruments.replay.suite import SHIPPED, Opening, Suite, Turn, suite
from equipoise.stimuli import load
from equipoise.terms import Completion, Observation, Subject

SHOWN = {
    "one": {A: "S--", AGAIN: "---", B: "SSS"},
    "two": {A: "SS-", AGAIN: "S--", B: "SSS"},
    "three": {A: "---", AGAIN: "---", B: "SS-"},
    "four": {A: "---", AGAIN: "---", B: "SS-"},
}
ENGINE, READER = Subject("engine", "m", "one", "planted"), Subject("reader", "r", "two", "planted")
QUESTION = "The same figure, read the other way?"


def toy():
    whole = suite(load(SHIPPED))
    openings = {
        key: Opening(key, "en", f"Question {key}?", page([("By when?", "")]), (),
                     (Turn("Something.", ("framing",) if key != "four" else ()),
                      Turn("In May.", ())))
        for key in SHOWN
    }
    biases = {key: whole.biases[key] for key in ("framing", "deferral")}
    return Suite("toy", "stamp", openings, biases, whole.engine, {}, whole.prompts)


@pytest.fixture(scope="module")
def found():
    of = toy()
    part = Set({A: Arm(), B: Arm(("framing",))}, (READER,), trust={"reader": True})
    instrument = replay(of, part)

    async def conducted(trial):
        shows = SHOWN[trial.item][trial.condition["arm"]][trial.draw - 1] == "S"

        async def ask(stage, messages, *, by=None, **_):
            text = messages[-1].text
            if by == READER:
                met = QUESTION in text and of.biases["framing"].definition["en"] in text
                return Completion(json.dumps({"verdict": "met" if met else "not met",
                                              "line": 2 if met else -1, "quote": ""}))
            edits = [{"op": "ask", "text": QUESTION}] if stage == "engine/1" and shows else []
            if stage == "engine/2" and QUESTION in text:
                edits = [{"op": "settle", "line": 2, "answer": "In May."}]
            return Completion(json.dumps({"reply": "Well.", "edits": edits}))

        return Observation(trial, await instrument.conduct(trial, ask))

    observations = [asyncio.run(conducted(t)) for t in instrument.design(ENGINE)]
    return instrument.analyse(observations).comparisons[0]


def test_two_wins_no_loss_of_three(found):
    v = found.verdict
    assert (v.n, v.wins, v.losses, v.p) == (3, 2, 0, 0.5)
    assert v.net_points == float(Fraction(200, 3))
    assert v.kind == "no detectable difference" and not v.gates


def test_one_of_three_differs_between_a_and_a_again(found):
    assert (found.floor.differing, found.floor.n, found.floor.net) == (1, 3, 1)
    assert found.floor.net_points == float(Fraction(100, 3))


def test_each_opening_has_the_majority_of_its_three_draws(found):
    assert {s.opening: tuple(s.figures.values()) for s in found.samples} == {
        "one": (0, 0, 1), "two": (1, 0, 1), "three": (0, 0, 1)}


def test_the_scorecards_count_openings(found):
    shown = {arm: (card.total.shown.count, card.total.shown.n)
             for arm, card in found.scorecards.items()}
    assert shown == {A: (1, 3), AGAIN: (0, 3), B: (3, 3)}
    # Absent: framing in one opening, deferral in four.
    b = found.scorecards[B].total
    assert (b.misfired.count, b.misfired.n) == (1, 5)
    assert b.misfired_of_shown.estimate == 0.25


def test_every_line_that_was_shown_was_settled_on_the_next_turn(found):
    # S in A: 1 + 2 + 0 draws of openings whose labels hold the bias; all settled on turn 2.
    a = found.scorecards[A].rows["framing"]
    assert a.outcomes == {"successful": 3} and (a.stayed.count, a.stayed.n) == (3, 3)
    assert found.scorecards[B].rows["framing"].outcomes == {"successful": 8}


def test_the_draws_of_a_agree_in_five_of_nine_pairs(found):
    # S--: 1 of 3 pairs agree; SS-: 1 of 3; ---: 3 of 3. Their mean is 5/9.
    assert found.agreement[A].pairwise == pytest.approx(5 / 9)
    assert (found.agreement[A].unanimous.count, found.agreement[A].unanimous.n) == (1, 3)


def test_a_bias_with_no_opening_has_no_verdict_of_its_own(found):
    assert found.by_bias["deferral"].verdict.n == 0
    assert found.by_bias["framing"].verdict.p_adjusted == 0.5


def test_the_e_value_of_two_wins_in_two_is_four_thirds(found):
    # 2^2 / ((2 + 1) C(2, 2)) = 4/3.
    assert found.evidence.values[-1] == pytest.approx(4 / 3) and found.evidence.crossed is None
