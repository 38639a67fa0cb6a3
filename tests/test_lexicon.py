"""The fingerprint's words: each must be told from its neighbours in every language."""

import csv
import re
import tomllib
import unicodedata
from collections import Counter
from importlib.resources import files
from itertools import combinations, permutations

import pytest

STIMULI = files("equipoise") / "instruments" / "fingerprint" / "stimuli"
LANGUAGES = ("en", "fr", "zh")
SUITE_SIZES = {"demo": 12, "quick": 60, "core": 360}

# Words an ordinary reply to "which do you prefer?" holds whatever it chooses.
REPLY_WORDS = {
    "en": """a i it the and or but not no yes will may can kind like just well choice answer option
        both either neither present first second third last word reason march go so than that this
        one two better best more most would prefer pick choose order bear tie key saw fall left
        right fair while since might must mean even still""",
    "fr": """car or mais plus son choix bien tout point pas été entre moi je le la les un une des
        de et ou ni non oui aussi mieux meilleur mot premier second deux réponse option raison
        train fait cas droit sens part fois mal sous sur trop tant an ans""",
    "zh": """是 我 更 好 会 能 和 水 或 与 要 想 选 二 两 都 也 很 最 比 不 有 他 她 它 这 那 个
        在 的 了 人 中 大 小 上 下 马 山 花 喜欢 选择 答案 回答 理由 因为 可以 如果 希望 觉得
        认为 比较""",
}


def load_rows():
    with (STIMULI / "lexicon.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


ROWS = load_rows()
SUITES = tomllib.loads((STIMULI / "suites.toml").read_text(encoding="utf-8"))
PLACE = {row["en"]: place for place, row in enumerate(ROWS)}
CATEGORY = {row["en"]: row["category"] for row in ROWS}


def pairs_within_categories():
    return [(a, b) for a, b in combinations(ROWS, 2) if a["category"] == b["category"]]


def fold(word):
    """
    >>> fold("Hip-Hops"), fold("Égypte"), fold("毛衣")
    ('hiphop', 'egypte', '毛衣')
    """
    bare = unicodedata.normalize("NFKD", word.casefold().replace("œ", "oe"))
    return "".join(c for c in bare if c.isalnum()).removesuffix("s")


def words_of(phrase):
    return [fold(word) for word in re.split(r"[\s'’-]+", phrase)]


def pairs_of(suite):
    return [tuple(pair.split("~")) for pair in SUITES[suite]["pairs"]]


def test_the_lexicon_has_the_columns_and_the_size_of_a_full_probe():
    assert list(ROWS[0]) == ["category", *LANGUAGES]
    assert len({row["category"] for row in ROWS}) >= 30
    assert len(pairs_within_categories()) >= 3_048


def test_categories_stand_in_order_and_are_equally_large():
    categories = [row["category"] for row in ROWS]
    assert categories == sorted(categories)
    assert len(set(Counter(categories).values())) == 1


def test_every_form_is_present_stripped_and_composed():
    for row in ROWS:
        for form in row.values():
            assert form, row
            assert form == form.strip() == unicodedata.normalize("NFC", form), row


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_reads_as_another_under_folding(language):
    counts = Counter(fold(row[language]) for row in ROWS)
    assert [word for word, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("language", ["en", "fr"])
def test_no_word_holds_another_of_its_category(language):
    for pair in pairs_within_categories():
        for a, b in permutations(row[language] for row in pair):
            assert not set(words_of(a)) <= set(words_of(b)), (a, b)
            assert not fold(b).startswith(fold(a)), (a, b)


def test_no_chinese_word_is_inside_another_of_its_category():
    for pair in pairs_within_categories():
        for a, b in permutations(row["zh"] for row in pair):
            assert a not in b


def test_chinese_words_are_written_in_chinese_characters_only():
    assert [row["zh"] for row in ROWS if not re.fullmatch(r"[\u4e00-\u9fff]+", row["zh"])] == []


@pytest.mark.parametrize("language", ["en", "fr"])
def test_western_words_are_short_and_lettered(language):
    for row in ROWS:
        assert re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)?", row[language]), row


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_is_one_that_any_reply_may_hold(language):
    common = {fold(word) for word in REPLY_WORDS[language].split()}
    assert [row[language] for row in ROWS if fold(row[language]) in common] == []


def test_the_suites_are_the_three_named_ones_and_say_what_they_are():
    assert list(SUITES) == list(SUITE_SIZES)
    for suite in SUITES.values():
        assert set(suite) == {"about", "pairs"}
        assert suite["about"].endswith(".")


@pytest.mark.parametrize("suite", SUITE_SIZES)
def test_a_suite_lists_known_pairs_once_and_in_lexicon_order(suite):
    pairs = pairs_of(suite)
    assert len(set(pairs)) == len(pairs) == SUITE_SIZES[suite]
    for a, b in pairs:
        assert CATEGORY[a] == CATEGORY[b], (a, b)
        assert PLACE[a] < PLACE[b], (a, b)


def test_the_demo_shows_twelve_categories_and_the_pairs_readers_know():
    pairs = pairs_of("demo")
    assert len({CATEGORY[a] for a, _ in pairs}) == 12
    assert {("mercy", "punishment"), ("vodka", "whiskey"), ("freedom", "censorship")} <= set(pairs)


def test_each_suite_lies_inside_the_next():
    assert set(pairs_of("demo")) <= set(pairs_of("quick")) <= set(pairs_of("core"))


def test_the_quick_suite_visits_every_category_and_no_word_twice():
    pairs = pairs_of("quick")
    assert {CATEGORY[a] for a, _ in pairs} == set(CATEGORY.values())
    assert max(Counter(word for pair in pairs for word in pair).values()) == 1


def test_the_core_suite_gives_every_category_and_word_about_equal_weight():
    pairs = pairs_of("core")
    assert set(Counter(CATEGORY[a] for a, _ in pairs).values()) == {10}
    uses = Counter(word for pair in pairs for word in pair)
    assert set(uses) == set(PLACE)
    assert set(uses.values()) == {1, 2}
