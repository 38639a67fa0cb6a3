"""Datasets: only ever added to, frozen by version, split once, erasable with the chain intact."""

import json
import shutil
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import datasets
from equipoise.answers import lines_of, read_queue
from equipoise.cli.dataset_files import as_toml, read_items
from equipoise.cli.datasets import Formed, labelled_by
from equipoise.instruments.replay.labels import labelled, split_of
from equipoise.instruments.replay.suite import SHIPPED, suite
from equipoise.labelling import ordered
from equipoise.stimuli import load
from equipoise.terms import Misuse

STIMULI = load(SHIPPED)
SUITE = suite(STIMULI)
MOMENTS, OPENINGS = STIMULI["moments"], STIMULI["openings"]
TESTED = [name for name in "abcdefghij" if split_of(name) == "test"][:2]
ITEMS = {f"i{n}": {"said": f"words of {n}"} for n in range(12)}


@pytest.fixture
def made(tmp_path):
    """A dataset of twelve items, frozen once."""
    folder = tmp_path / "set"
    datasets.new(folder)
    datasets.add(folder, "moments", ITEMS)
    datasets.freeze(folder, split_of)
    return folder


def content(folder, number=1):
    found = datasets.read(folder)
    version = found.version(number)
    return version, found.content(version)


# What is frozen


def test_every_path_refuses_to_change_a_frozen_version(made):
    before = content(made)
    with pytest.raises(Misuse, match="never changed"):
        datasets.add(made, "moments", {"i0": {"said": "other words"}})
    with pytest.raises(Misuse, match="Nothing changed"):
        datasets.freeze(made, split_of)
    with pytest.raises(Misuse, match="a dataset in"):
        datasets.new(made)
    datasets.add(made, "moments", {"i0": ITEMS["i0"]})  # The same words are left as they are.
    datasets.add(made, "moments", {"later": {"said": "new"}})
    datasets.retire(made, "i1", "asked for")
    datasets.freeze(made, lambda name: "dev")
    assert content(made) == before
    with pytest.raises(Misuse, match="not used again"):
        datasets.add(made, "moments", {"i1": ITEMS["i1"]})
    second, words = content(made, 2)
    assert words["moments"].keys() == (ITEMS.keys() | {"later"}) - {"i1"}
    assert second.splits == {name: before[0].splits.get(name, "dev") for name in words["moments"]}


def test_a_split_is_drawn_when_a_moment_is_first_frozen_and_never_again(made):
    first, _ = content(made)
    assert first.splits == {name: split_of(name) for name in ITEMS}
    datasets.add(made, "moments", {"later": {"said": "new"}})
    datasets.freeze(made, lambda name: "few-shot")
    datasets.add(made, "openings", {"talk": {"turn": []}})
    datasets.freeze(made, lambda name: "test")
    second, third = content(made, 2)[0], content(made, 3)[0]
    assert second.splits == {**first.splits, "later": "few-shot"}
    assert third.splits == second.splits and "talk" in third.items


@pytest.mark.parametrize("name", [datasets.LOG, datasets.WORDS, datasets.HEAD])
def test_a_change_by_hand_at_any_place_is_found(made, name):
    # Every 7th byte of each file turned into another letter.
    text = (made / name).read_bytes()
    for at in range(0, len(text) - 1, 7):
        other = b"x" if text[at:at + 1] != b"x" else b"y"
        (made / name).write_bytes(text[:at] + other + text[at + 1:])
        with pytest.raises(Misuse) as error:
            datasets.read(made)
        assert error.value.code == 5
    (made / name).write_bytes(text)
    datasets.read(made)


def test_a_line_taken_away_moved_or_cut_off_is_found(made):
    datasets.retire(made, "i1", "asked for")
    lines = (made / datasets.LOG).read_bytes().splitlines(keepends=True)
    for kept in (lines[:-1], lines[:3] + lines[4:], [*lines[:3], lines[4], lines[3], *lines[5:]],
                 lines[:1], []):
        (made / datasets.LOG).write_bytes(b"".join(kept))
        with pytest.raises(Misuse) as error:
            datasets.read(made)
        assert error.value.code == 5
    (made / datasets.LOG).write_bytes(b"".join(lines))
    words = (made / datasets.WORDS).read_bytes().splitlines(keepends=True)
    (made / datasets.WORDS).write_bytes(b"".join(words[1:]))
    with pytest.raises(Misuse, match="are gone, and no entry says so"):
        datasets.read(made)


def test_erased_words_are_gone_and_the_chain_still_holds(made):
    found = datasets.erase(made, "i3", "the person asked")
    everything = b"".join(path.read_bytes() for path in made.iterdir())
    assert b"words of 3" not in everything and b"words of 4" in everything
    assert found.gone("erase") == {"i3"} and "i3" not in found.active
    assert found.entries[-1].reason == "the person asked"
    with pytest.raises(Misuse, match="no longer whole: 1 of its items"):
        content(made)
    with pytest.raises(Misuse, match="not used again"):
        datasets.add(made, "moments", {"i3": ITEMS["i3"]})
    datasets.freeze(made, split_of)
    assert "i3" not in content(made, 2)[1]["moments"]
    # The salt went with the words: the commitment that stays cannot be tried against guesses.
    assert b'"item":"i3"' not in (made / datasets.WORDS).read_bytes()


def test_an_erasing_that_was_cut_short_is_ended_by_the_next_write(made):
    before = (made / datasets.WORDS).read_bytes()
    datasets.erase(made, "i3", "the person asked")
    (made / datasets.WORDS).write_bytes(before)  # As if the words had not been taken out yet.
    datasets.erase(made, "i3", "the person asked")
    assert b"words of 3" not in (made / datasets.WORDS).read_bytes()
    assert len(datasets.read(made).entries) == 15


def test_leaving_takes_an_item_that_is_there_and_a_reason(made):
    for act in (datasets.retire, datasets.erase):
        with pytest.raises(Misuse, match="no item 'none'"):
            act(made, "none", "why")
        with pytest.raises(Misuse, match="takes a reason"):
            act(made, "i1", "  ")
    assert datasets.retire(made, "i1", "why") == datasets.retire(made, "i1", "again")


def test_an_adding_that_died_before_its_entry_is_given_again(made):
    with (made / datasets.WORDS).open("ab") as file:
        file.write(lines_of([datasets.Kept("new", "00", {"said": "orphan"})]) + b'{"item":"cut')
    assert "new" not in datasets.read(made).added
    found = datasets.add(made, "moments", {"new": {"said": "whole"}})
    assert found.words["new"].words == {"said": "whole"}


ACTS = st.lists(st.tuples(st.sampled_from(["add", "retire", "erase", "freeze"]),
                          st.sampled_from(["a", "b", "c", "d"])), max_size=14)


@settings(deadline=None, max_examples=40)
@given(ACTS)
def test_whatever_is_done_versions_stay_as_they_were_frozen(acts):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "set"
        datasets.new(folder)
        frozen = {}
        for act, name in acts:
            try:
                if act == "add":
                    datasets.add(folder, "moments", {name: {"said": name}})
                elif act == "freeze":
                    datasets.freeze(folder, split_of)
                else:
                    getattr(datasets, act)(folder, name, "why")
            except Misuse:
                pass
            now = datasets.read(folder)
            assert [v.number for v in now.versions] == list(range(1, len(now.versions) + 1))
            for version in now.versions:
                assert frozen.setdefault(version.number, version) == version
                assert version.items.keys() == version.splits.keys()
            assert not now.words.keys() & now.gone("erase")


# Files


@pytest.mark.parametrize("kind", ["moments", "openings"])
def test_the_shipped_items_come_out_as_they_went_in(tmp_path, kind):
    items = read_items(SHIPPED / f"{kind}.toml")[kind]
    (tmp_path / "again.toml").write_text(as_toml(items, ["Again."]), "utf-8")
    assert read_items(tmp_path / "again.toml") == {kind: STIMULI[kind]}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(-10**9, 10**9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8)


@given(st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3), max_size=3))
def test_any_words_are_written_as_the_toml_that_says_them(items):
    import tomllib

    assert tomllib.loads(as_toml(items, ["Notice."])) == items


def test_a_team_s_table_of_moments_and_of_openings(tmp_path):
    (tmp_path / "m.csv").write_text(
        "name,language,question,at_stake,page,said,after,present,shown,reason\n"
        'm,en,Stay or go?,A year.,"By when?\nWho says? => My uncle.","It is 5%, nothing.",'
        '"By when?\nAnd 95%?",framing; one-sided,framing=2,one-sided: No line asks it.\n')
    found = read_items(tmp_path / "m.csv")
    made = labelled(STIMULI.__class__("", {}, found), SUITE.biases)["m"]
    assert (made.present, made.shown) == (("framing", "one-sided"), {"framing": 2})
    assert made.before.lines[1].answer == "My uncle." and made.after.lines[1].text == "And 95%?"
    assert made.reason == {"one-sided": "No line asks it."} and made.after.at_stake == "A year."
    (tmp_path / "o.csv").write_text(
        "name,language,question,page,said,present,earlier\n"
        'o,fr,Rester ?,Pour quand ?,Rien que 5 %.,framing,"person: Bon.\nengine: Oui ?"\n'
        "o,fr,Rester ?,Pour quand ?,Ah oui.,,\n")
    assert read_items(tmp_path / "o.csv") == {"openings": {"o": {
        "language": "fr", "question": "Rester ?", "at_stake": "",
        "page": [{"text": "Pour quand ?", "answer": ""}],
        "earlier": [{"by": "person", "text": "Bon."}, {"by": "engine", "text": "Oui ?"}],
        "turn": [{"said": "Rien que 5 %.", "present": ["framing"]},
                 {"said": "Ah oui.", "present": []}]}}}


# The command


@pytest.fixture
def shipped(equipoise, tmp_path):
    """The shipped items as a dataset, frozen once."""
    for words in (("new", "set"), ("add", "set", SHIPPED / "moments.toml",
                                   SHIPPED / "openings.toml"), ("freeze", "set")):
        code, _, err = equipoise("dataset", *words)
        assert code == 0, err
    return tmp_path


def test_an_exported_version_is_a_suite_and_the_same_bytes_each_time(shipped, equipoise):
    code, out, err = equipoise("dataset", "export", "set", "-o", "one")
    assert code == 0 and "140 moments" in out, err
    equipoise("dataset", "retire", "set", "boiler-salesman", "--reason", "asked for")
    equipoise("dataset", "freeze", "set")
    code, _, _ = equipoise("dataset", "export", "set", "-o", "again", "--version", "1")
    assert code == 0
    one = load(shipped / "one")
    assert load(shipped / "again").stamp == one.stamp
    assert (one["moments"], one["openings"]) == (MOMENTS, OPENINGS)
    code, _, err = equipoise("plan", "replay", "--suite", "one", "-s", "planted:better",
                             "--change", "instruction:all", "--reader", "planted:perfect")
    assert code == 0, err
    code, _, err = equipoise("plan", "calibration", "--suite", "one", "-s", "planted:perfect")
    assert code == 0, err
    code, _, err = equipoise("dataset", "export", "set", "-o", "one")
    assert code == 2 and "is there with other content" in err


def test_a_dataset_is_shown_with_what_its_splits_can_tell(shipped, equipoise):
    code, out, _ = equipoise("dataset", "show", "set", "--json")
    [version] = json.loads(out)["versions"]
    splits = Counter(split_of(name) for name in MOMENTS)
    assert code == 0 and version["splits"] == splits and version["items"] == 183
    _, out, _ = equipoise("dataset", "show", "set")
    tested = [name for name in MOMENTS if split_of(name) == "test"]
    yes = sum(len(MOMENTS[name]["shown"]) for name in tested)
    assert f"task shown: {yes} items labelled yes and {7 * len(tested) - yes} no" in out


def test_erasing_says_what_is_reached_and_what_is_not(shipped, equipoise):
    code, _, err = equipoise("dataset", "erase", "set", "boiler-salesman", "--reason", "asked")
    assert code == 0 and "No longer whole: version 1" in err and "not reached from here" in err
    code, _, err = equipoise("dataset", "export", "set", "-o", "one")
    assert code == 2 and "no longer whole" in err


@pytest.mark.parametrize("text, said", [
    ('[m]\nlanguage = "en"\n', "neither an opening"), ("[m\n", "not TOML"),
    ('[m]\nlanguage = "en"\nafter = []\n', "has no question"),
    ('[m]\nafter = []\nx = 1\n', "has the key 'x'"), ('["a/b"]\nafter = []\n', "holds one of"),
    ('[m]\nlanguage = "en"\nquestion = "q"\nsaid = nan\nafter = []\n', "neither text"),
    ('[m]\nlanguage = "en"\nquestion = "q"\nsaid = "s"\nafter = 3\n', "not of the form"),
    ('[m]\nlanguage = "en"\nquestion = "q"\nsaid = "s"\nafter = []\npresent = ["x"]\n',
     "names the bias 'x'"),
    ('[o]\nlanguage = "en"\nquestion = "q"\nturn = [{ said = "" }]\n', "needs what is said"),
])
def test_an_item_that_no_suite_could_hold_is_not_added(equipoise, tmp_path, text, said):
    (tmp_path / "own.toml").write_text(text)
    equipoise("dataset", "new", "set")
    code, _, err = equipoise("dataset", "add", "set", SHIPPED / "moments.toml", "own.toml")
    assert code == 2 and said in err and "own.toml" in err
    assert datasets.read(tmp_path / "set").added == {}


@pytest.mark.parametrize("name, text, said", [
    ("a.jsonl", '{"language":"en"}\n', "line 1: wanted an object with a name"),
    ("a.jsonl", "no\n", "line 1"), ("a.txt", "x", "none of .toml"),
    ("a.csv", "name,said\n", "has no column"),
    ("a.csv", "name,language,question,page,said,after,shown\nm,en,q,,s,p,framing\n",
     "to be a name, '='"),
    ("a.csv", "name,language,question,page,said,after,shown\nm,en,q,,s,p,framing=x\n",
     "no number of a line"),
    ("a.csv", "name,language,question,page,said,after\nm,en,q,,s,p\nm,en,q,,s,p\n", "there twice"),
])
def test_a_file_that_cannot_be_imported_says_where(equipoise, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    equipoise("dataset", "new", "set")
    code, _, err = equipoise("dataset", "add", "set", name)
    assert code == 2 and said in err
    code, _, err = equipoise("dataset", "add", "set", "missing.toml")
    assert code == 2 and "no file" in err


def test_labels_of_raters_become_a_version_s_labels(equipoise, tmp_path):
    (tmp_path / "own.jsonl").write_text("".join(json.dumps({
        "name": name, "language": "en", "question": "Stay or go?", "said": "It is only 5%.",
        "page": [], "after": [{"text": "And the other 95%?", "answer": ""}]}) + "\n"
        for name in TESTED))
    (tmp_path / "raters.toml").write_text("".join(
        f'[{name}]\nlanguages = ["en"]\n' for name in ("ann", "bob")))
    for words in (("dataset", "new", "set"), ("dataset", "add", "set", "own.jsonl"),
                  ("dataset", "freeze", "set"), ("dataset", "export", "set", "-o", "bare"),
                  ("queue", "--moments", "bare", "-o", "q.jsonl", "--key", "q.key",
                   "--task", "shown")):
        code, _, err = equipoise(*words)
        assert code == 0, err
    for rater in ("ann", "bob"):
        # Of seven definitions each is read once; of both moments only framing is on the page.
        keys = []
        seen = set()
        for item in ordered(read_queue(tmp_path / "q.jsonl"), rater):
            keys += ["1" if item.bias == "framing" else "n"] if item.bias in seen else [
                "", "1" if item.bias == "framing" else "n"]
            seen.add(item.bias)
        code, out, err = equipoise("rate", "q.jsonl", "--rater", rater, "-o", f"{rater}.jsonl",
                                   stdin="".join(f"{key}\n" for key in keys))
        assert code == 0 and "14 of 14" in out, err
    code, _, err = equipoise("gold", "ann.jsonl", "bob.jsonl", "--key", "q.key", "-o", "g.jsonl")
    assert code == 0, err
    code, out, err = equipoise("dataset", "export", "set", "-o", "made", "--gold", "g.jsonl")
    assert code == 0 and "2 moments" in out, err
    labels = [one["shown"] for one in load(tmp_path / "made")["moments"].values()]
    assert labels == [{"framing": 1}] * 2
    # Their ratings beside the labels say how far two people agree: on all 14 items.
    code, _, err = equipoise("gold", "ann.jsonl", "bob.jsonl", "--key", "q.key", "--csv",
                             "made/ratings.csv")
    assert code == 0, err
    code, out, err = equipoise("run", "calibration", "--suite", "made", "-s", "planted:perfect",
                               "--no-progress", "--json")
    assert code == 0, err
    [found] = json.loads(out)["calibrated"]
    assert (found["human"]["count"], found["human"]["n"]) == (14, 14)
    assert (found["sensitivity"]["n"], found["specificity"]["n"]) == (2, 12)
    assert found["reasons"] == ["too_few_per_class"]


def test_a_moment_without_gold_on_every_bias_is_left_out_and_said():
    moments = {"a": {"said": "x"}, "b": {"said": "y"}, "c": {"said": "z"}, "d": {"said": "w"}}
    formed = [Formed("a/framing/shown", "shown", "framing", "majority", "yes", 2),
              Formed("b/framing/shown", "shown", "framing", "contested"),
              Formed("c/framing/shown", "shown", "framing", "unanimous", "yes")]
    found, left = labelled_by(moments, formed)
    assert found == {"a": {"said": "x", "shown": {"framing": 2}}}
    assert left == {"b": "framing is contested", "c": "nobody named the line that shows framing",
                    "d": "framing is not labelled"}


def test_what_is_no_dataset_says_so(equipoise, tmp_path):
    code, _, err = equipoise("dataset", "show", "none")
    assert code == 2 and "no dataset in none" in err
    equipoise("dataset", "new", "set")
    code, _, err = equipoise("dataset", "freeze", "set")
    assert code == 2 and "nothing to freeze" in err
    code, _, err = equipoise("dataset", "export", "set", "-o", "x")
    assert code == 2 and "no version yet" in err
    shutil.rmtree(tmp_path / "set")
