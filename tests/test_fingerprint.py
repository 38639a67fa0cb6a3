"""The fingerprint finds what was planted, and does not mistake one trait for another."""

import json
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest

from equipoise.instruments.fingerprint import planted as traits
from equipoise.instruments.fingerprint.slot import coin_floor, false_commits
from equipoise.instruments.fingerprint.suite import suite
from equipoise.providers import planted
from equipoise.stats.undefined import Undefined
from equipoise.stimuli import load, parse
from equipoise.terms import Misuse, Nonresponse
from studying import SUBJECT, registered, studied, suite_of

QUICK = registered("quick")
SUITE = suite_of(QUICK)
N = len(SUITE.pairs)


def found(tmp_path, pick, planned=QUICK, **more):
    answer = traits.answerer(suite_of(planned), pick)
    laid_out, administration, _ = studied(
        tmp_path / "l.db", planted.answering(answer), planned, **more)
    findings = laid_out.instrument.analyse(administration.observations)
    return {f.reader: f for f in findings.fingerprints}["stated_choice"]


def test_twelve_cells_a_pair():
    assert QUICK[0].cells == N * 6 * 2


def test_a_held_preference_is_committed_to_that_word(tmp_path):
    wanted = {item: "ab"[n % 2] for n, item in enumerate(SUITE.pairs)}
    f = found(tmp_path, traits.holds(wanted))
    assert {i: s.committed for i, s in f.slots.items()} == {
        i: SUITE.pairs[i].words["ab".index(w)] for i, w in wanted.items()}
    assert (f.sharpness, f.causes, f.position.first, f.position.last) == (1.0, {}, 0, 0)


def test_a_position_follower_never_commits_and_is_called_one(tmp_path):
    f = found(tmp_path, traits.follows_position)
    assert (f.commits.count, f.causes) == (0, {"position": N})
    assert (f.position.first, f.position.same) == (6 * N, 0)
    assert f.sharpness == 0.5


def test_a_change_with_language_is_a_dissent_and_not_position(tmp_path):
    f = found(tmp_path, traits.changes_with_language)
    assert (f.commits.count, f.causes) == (0, {"dissent": N})
    assert f.position.same == 6 * N
    assert {pair: r.count for pair, r in f.languages.items()} == {
        "en–fr": 0, "en–zh": 0, "fr–zh": N}
    assert f.framings["french"].against.count == N == f.framings["chinese"].against.count


def test_a_refused_topic_is_refused_and_the_rest_commits(tmp_path):
    category = SUITE.pairs[next(iter(SUITE.pairs))].category
    refused = {i for i, p in SUITE.pairs.items() if p.category == category}
    f = found(tmp_path, traits.refuses(SUITE, frozenset([category])))
    assert f.causes == {"refused": len(refused)}
    assert {i for i, s in f.slots.items() if isinstance(s.committed, Nonresponse)} == refused
    assert f.lost == {"refused": 12 * len(refused)}


def test_coin_flips_stay_at_their_floor(tmp_path):
    f = found(tmp_path, traits.flips_coins)
    # P(3 or more of 60 commit) = 3.7e-6 for a pair's 2/4096.
    assert f.commits.count <= 2
    assert f.sharpness == pytest.approx(coin_floor(12), abs=0.05)
    swaps = f.position.n
    assert abs(f.position.first - swaps / 4) < 5 * (swaps * 3 / 16) ** 0.5


def test_one_dissent_in_twelve_costs_the_commitment(tmp_path):
    f = found(tmp_path, traits.dissents_once)
    assert (f.commits.count, f.causes) == (0, {"dissent": N})
    assert f.sharpness == pytest.approx(11 / 12)


def test_until_dissent_finds_the_same_fingerprint_with_fewer_calls(tmp_path):
    def mixed(asked, rng):
        return "a" if crc32(asked.item.encode()) % 2 else traits.flips_coins(asked, rng)

    full = found(tmp_path / "full", mixed)
    sent = Counter()
    planned = registered("quick", until_dissent=True)
    answer = traits.answerer(SUITE, mixed)

    async def counted(request):
        sent["calls"] += 1
        return planted.said(answer(request))

    laid_out, administration, _ = studied(tmp_path / "less.db", counted, planned)
    [less, _] = laid_out.instrument.analyse(administration.observations).fingerprints
    assert {i: s.committed for i, s in less.slots.items()} == {
        i: s.committed for i, s in full.slots.items()}
    assert sent["calls"] < 12 * N
    assert less.lost["not asked"] == 12 * N - sent["calls"]
    assert less.sharpness == Undefined("incomplete")


def test_equal_runs_give_equal_findings_whatever_the_order(tmp_path):
    one = found(tmp_path / "1", traits.flips_coins, registered("quick"))
    other = found(tmp_path / "2", traits.flips_coins, registered("quick", order="random:7"))
    assert one.slots == other.slots
    assert one.commits == other.commits


def test_false_commits_of_coin_flips_in_the_seed_suite():
    # 3048 pairs x 2 / 2^12 = 1.488
    assert false_commits(3048) == 3048 * 2 / 4096


@pytest.mark.parametrize("mode", ["constrained", "first-token"])
def test_the_other_answer_modes_find_what_is_planted_too(tmp_path, mode):
    planned = registered("demo", answers=[mode])
    n = len(planned[0].items)
    held = found(tmp_path / "1", traits.holds({}), planned)
    assert (held.commits.count, held.cells.count) == (n, 12 * n)
    followed = found(tmp_path / "2", traits.follows_position, planned)
    assert (followed.commits.count, followed.causes) == (0, {"position": n})


def test_constrained_replies_are_a_fingerprint_of_their_own(tmp_path):
    planned = registered("demo", answers=["free", "constrained"])
    answer = traits.answerer(suite_of(planned), traits.holds({}))
    laid_out, administration, _ = studied(tmp_path / "l.db", planted.answering(answer), planned)
    findings = laid_out.instrument.analyse(administration.observations)
    assert [(f.answer, f.reader) for f in findings.fingerprints] == [
        ("free", "stated_choice"), ("free", "first_word"),
        ("constrained", "stated_choice"), ("constrained", "first_word")]
    assert {f.commits.count for f in findings.fingerprints} == {12}


SHIPPED = Path(__file__).parents[1] / "src/equipoise/instruments/fingerprint/stimuli"
LEXICON = "category,en,fr,zh\nart,poem,poème,诗歌\nart,dance,danse,舞蹈\n"
FRAMING = '[plain]\nlanguage = "en"\nabout = "x"\nprompt = "$first or $second?"\n'


@pytest.mark.parametrize("texts, said", [
    ({"lexicon.csv": LEXICON + "art,Poems,vers,诗句\n"},
     "line 4: 'Poems' reads as 'poem' of line 2"),
    ({"lexicon.csv": LEXICON + "art,dance hall,bal,舞厅\n"}, "a part of the other"),
    ({"lexicon.csv": LEXICON + "art,song,chant,舞蹈曲\n"}, "a part of the other"),
    ({"lexicon.csv": LEXICON + "art,song,,歌曲\n"}, "line 4: nothing under fr"),
    ({"lexicon.csv": LEXICON + "art,song\n"}, "line 4: found 2 fields"),
    ({"lexicon.csv": LEXICON + "art,so,ng,chant,歌曲\n"}, "line 4: found"),
    ({"lexicon.csv": LEXICON + 'art,"so"ng,chant,歌曲\n'}, "line 4: not CSV"),
    ({"lexicon.csv": "category,en\nart,poem\n"}, "lacks a column"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING.replace("$second", "that")},
     "missing second"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING.replace("?", "$third?")}, "spare third"),
    ({"lexicon.csv": LEXICON, "framings.toml": "[plain\n"}, "framings.toml is not TOML"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING.replace('"en"', '"de"')}, "'de'"),
    ({"lexicon.csv": LEXICON, "framings.toml": '[plain]\nprompt = "$first $second"\n'},
     "missing about, language"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING,
      "suites.toml": '[x]\npairs = ["dance~poem"]'},
     "Did you mean 'poem~dance'"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING, "suites.toml": '[x]\npairs = "a"'},
     "needs pairs"),
    ({"lexicon.csv": LEXICON, "framings.toml": FRAMING,
      "suites.toml": '[x]\npairs = ["poem~dance", "poem~dance"]'}, "twice"),
])
def test_a_bad_suite_is_refused_with_its_place(texts, said):
    with pytest.raises(Misuse) as error:
        suite(parse(texts), "x" if "suites.toml" in texts else "full")
    assert said in str(error.value)


def test_an_unknown_suite_is_answered_with_the_known_ones():
    with pytest.raises(Misuse, match="Did you mean 'demo'.*quick, core, full"):
        suite(load(SHIPPED), "dmo")


def test_a_folder_of_ones_own_takes_the_shipped_framings(tmp_path):
    (tmp_path / "lexicon.csv").write_text(LEXICON, encoding="utf-8")
    registration, stimuli = registered(str(tmp_path))
    assert (registration.suite, registration.items, registration.cells) == (
        "full", ("poem~dance",), 12)
    assert "framings.toml" in stimuli.texts


def test_a_file_that_is_not_utf8_is_said_with_its_line(tmp_path):
    (tmp_path / "lexicon.csv").write_bytes(LEXICON.encode() + b"art,\xff,x,y\n")
    with pytest.raises(Misuse, match=r"lexicon.csv, line 4: not UTF-8"):
        load(tmp_path)


def test_no_prompt_holds_a_word_of_the_lexicon():
    """A framing's own words must not be read as a choice."""
    import csv
    import re

    from equipoise.instruments.fingerprint.suite import LANGUAGES

    lines = (SHIPPED / "lexicon.csv").read_text(encoding="utf-8").splitlines()
    words = list(csv.DictReader(lines))
    for framing in SUITE.framings.values():
        for language in LANGUAGES:
            for row in words:
                word = row[language].casefold()
                pattern = re.escape(word) if language == "zh" else rf"\b{re.escape(word)}\b"
                assert not re.search(pattern, framing.prompt.casefold()), (framing.name, word)


def test_reader_differences_are_listed(tmp_path):
    def contrary(request):
        return planted.said("Not mercy but punishment.")

    planned = registered("demo")

    async def provider(request):
        return contrary(request)

    laid_out, administration, _ = studied(tmp_path / "l.db", provider, planned)
    findings = laid_out.instrument.analyse(administration.observations)
    mine = [d for d in findings.differences if d.trial.item == "mercy~punishment"
            and d.trial.condition["framing"] == "plain"]
    assert [d.readings for d in mine] == [
        {"stated_choice": "punishment", "first_word": "mercy"}] * 2


def test_the_subject_of_a_study_is_named_in_its_keys(tmp_path):
    _, administration, _ = studied(tmp_path / "l.db", planted.answering(lambda r: "mercy"))
    assert {o.trial.key.split("/")[0] for o in administration.observations} == {SUBJECT.name}
    assert json.dumps([o.trial.key for o in administration.observations][:1])
