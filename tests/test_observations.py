"""Observations are sorted into blocks, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from equipoise.observations import blocks
from equipoise.terms import Observation, Trial
from studying import SUBJECT


def observed(item, order):
    return Observation(Trial("any", SUBJECT, item, {"order": order}), f"{item} {order}")


def by_item(trial):
    return (trial.item,)


def test_a_block_holds_what_has_its_name_in_the_order_it_came():
    found = blocks([observed(*cell) for cell in
                    (("tea", "ab"), ("gin", "ab"), ("tea", "ba"))], by_item)
    assert {name: [o.value for o in block] for name, block in found.items()} == {
        ("tea",): ["tea ab", "tea ba"], ("gin",): ["gin ab"]}


def test_nothing_observed_is_no_block():
    assert blocks([], by_item) == {}


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(("ab", "ba")))))
def test_every_observation_stands_in_exactly_one_block(cells):
    observations = [observed(*cell) for cell in cells]
    found = blocks(observations, by_item)
    kept = [o for block in found.values() for o in block]
    assert sorted(map(id, kept)) == sorted(map(id, observations))
    assert all(o.trial.item == name for (name,), block in found.items() for o in block)
