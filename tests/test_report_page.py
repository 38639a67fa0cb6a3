"""The page of a fingerprint run: what it says, what it opens to, and what it never does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli.fingerprint import as_values
from equipoise.instruments.fingerprint.instrument import PRIMARY, Choice, factors, fingerprint
from equipoise.instruments.fingerprint.measures import analyse
from equipoise.instruments.fingerprint.suite import Framing, Pair, Suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report.fingerprint import page
from equipoise.report.visible import LONGEST
from equipoise.report.writing import write_whole
from equipoise.terms import (
    Misuse,
    Nonresponse,
    Observation,
    Reading,
    Subject,
    Trial,
)

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)",
    "' onmouseover='alert(1)", "</style><svg onload=alert(1)>", "{{ 7 * 7 }}{% raw %}",
    "left\u202eright\u2066 nul\x00 esc\x1b[31m lone\ud800 zero\u200bwidth bom\ufeff",
    "]]><!--", "x" * 300, "`code` https://evil.example/pixel.png",
)
Say = Callable[[Trial, Suite], "Choice"]


def small_suite(pairs: int = 4, names: Sequence[str] = ()) -> Suite:
    framings = {
        "plain": Framing("plain", "en", "plain English", "Choose: $first or $second?"),
        "french": Framing("french", "fr", "French", "« $first » ou « $second » ?"),
        "chinese": Framing("chinese", "zh", "Chinese", "“$first”还是“$second”？"),
    }
    made = {}
    for n in range(pairs):
        a, b = (f"{names[n % len(names)]}{side}{n}" if names else f"word{side}{n}" for side in "ab")
        pair = Pair(names[n % len(names)] if names else "words", {"en": a, "fr": f"le {a}",
                    "zh": f"甲{n}"}, {"en": b, "fr": f"le {b}", "zh": f"乙{n}"})
        made[pair.item] = pair
    return Suite("small", "5" * 64, made, framings)


def choice(text: str, value: str | Nonresponse, other: str | Nonresponse | None = None) -> Choice:
    at = text.find(value) if isinstance(value, str) else -1
    span = (at, at + len(value)) if isinstance(value, str) and at >= 0 else (-1, -1)
    second = value if other is None else other
    return Choice(text, {"stated_choice": Reading(value, "whole-reply", span),
                         "first_word": Reading(second, "first-word", span)})


def holds_some(trial: Trial, suite: Suite) -> Choice:
    """The first pair holds; the second follows position; the third refuses; the rest dissent."""
    a, b = suite.pairs[trial.item].words
    place = list(suite.pairs).index(trial.item)
    order, framing = trial.condition["order"], trial.condition["framing"]
    if place == 0:
        return choice(f"I say {a}.", a)
    if place == 1:
        word = a if order == "ab" else b
        return choice(word, word)
    if place == 2:
        return choice("I will not choose.", Nonresponse("refused"), a)
    word = b if framing == "plain" and order == "ba" else a
    return choice(word, word)


def never_commits(trial: Trial, suite: Suite) -> Choice:
    a, b = suite.pairs[trial.item].words
    word = a if trial.condition["order"] == "ab" else b
    return choice(word, word)


def made(
    say: Say = holds_some,
    suite: Suite | None = None,
    answers: Any = ("free",),
    subjects: Sequence[Subject] = (Subject("planted", "planted", "", "planted"),),
    until_dissent: bool = False,
    name: str = "a run",
) -> tuple[Run, Registration, Suite, list[Observation[Choice]], Head]:
    suite = suite or small_suite()
    instrument = fingerprint(suite, answers)
    observations = [Observation(trial, say(trial, suite))
                    for subject in subjects for trial in instrument.design(subject)]
    registration = Registration(
        "fingerprint", suite.name, suite.stamp, tuple(s.as_json() for s in subjects),
        tuple(suite.pairs), factors(suite, answers), 1, len(observations), "grouped",
        ("stated_choice", "first_word"), PRIMARY, until_dissent,
    )
    run = Run(1, name, b"{}", 1_764_470_580_000_000)
    return run, registration, suite, observations, Head(99, "ab" * 32)


class Tags(HTMLParser):
    """Every element of a page, with its attributes, and the text of its headline."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.headline, self._within = "", False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name: value or "" for name, value in attrs}))
        self._within = self._within or tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        self._within = self._within and tag != "h1"

    def handle_data(self, data: str) -> None:
        self.headline += data if self._within else ""

    def values(self, name: str) -> list[str]:
        return [attrs[name] for _, attrs in self.seen if name in attrs]


def test_hostile_words_in_replies_names_and_settings_come_out_inert() -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        place = list(suite.pairs).index(trial.item)
        return choice(HOSTILE[place % len(HOSTILE)] * 2, Nonresponse("unclear", HOSTILE[0]))

    names = [name.replace("\ud800", "") for name in HOSTILE]
    subjects = [Subject(name, name, name, "planted", "javascript:alert(1)", {name: name})
                for name in names]
    html = page(*made(say, small_suite(10, names), subjects=subjects, name=HOSTILE[1]))
    tags = Tags(html)
    assert not {tag for tag, _ in tags.seen} & {"script", "img", "iframe", "object", "embed",
                                               "link", "base", "form", "foreignobject", "image"}
    assert not [name for _, attrs in tags.seen for name in attrs if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", html)
    assert "⟨U+202E⟩" in html and "⟨U+D800⟩" in html and "⟨U+0000⟩" in html
    assert "{{ 7 * 7 }}" in html
    html.encode("utf-8")


def test_a_page_loads_nothing() -> None:
    html = page(*made())
    tags = Tags(html)
    assert not re.search(r"https?://|\ssrc=|@import|url\((?!#)", html)
    assert all(address.startswith("#") for address in tags.values("href"))
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in tags.values("content")


def test_the_same_rows_give_the_same_bytes() -> None:
    assert page(*made()) == page(*made())


def test_every_link_leads_to_something_on_the_page_and_no_two_things_share_an_address() -> None:
    subjects = [Subject("one", "one", "", "planted"), Subject("two", "two", "", "planted")]
    tags = Tags(page(*made(answers=("free", "constrained"), subjects=subjects)))
    addresses = tags.values("id")
    assert len(addresses) == len(set(addresses))
    assert {a.removeprefix("#") for a in tags.values("href")} <= set(addresses)
    assert set(tags.values("aria-labelledby")) <= set(addresses)


def test_every_number_in_the_headline_is_a_value_of_the_findings() -> None:
    _, _, suite, observations, _ = asked = made(answers=("free", "constrained"))
    values = numbers(as_values(analyse(suite, observations)))
    said = {float(n) for n in re.findall(r"\d+", Tags(page(*asked)).headline)}
    assert said == {1, 4} and said <= values


def numbers(value: Any) -> set[float]:
    if isinstance(value, dict):
        return set().union(*map(numbers, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(numbers, value)) if value else set()
    return {float(value)} if isinstance(value, int | float) else set()


def test_a_null_is_stated_as_plainly_as_a_hit() -> None:
    assert Tags(page(*made(never_commits))).headline.strip() == (
        "planted committed to a word in 0 of 4 pairs when it answered freely.")


def test_of_many_subjects_only_one_that_stands_alone_is_named() -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        return (holds_some if trial.subject.name == "p1" else never_commits)(trial, suite)

    subjects = [Subject(f"p{n}", "m", "", "planted") for n in range(5)]
    said = " ".join(Tags(page(*made(say, subjects=subjects))).headline.split())
    assert said == ("Of five subjects, the steadiest committed to a word in 1 of 4 pairs and the"
                    " least steady in 0. p1 committed to a word in 1 of 4 pairs when it answered"
                    " freely.")


def test_each_pair_stands_once_an_arm_under_what_became_of_it() -> None:
    html = page(*made())
    for fate in ("committed", "position", "refused", "dissent"):
        assert re.search(rf'</svg> 1 {fate}</h4>.{{0,80}}id="a1-is-{fate}"', html, re.S)
    assert len(re.findall(r'class="cells" id="a1-p\d+"', html)) == 4


def test_a_pair_opens_to_every_reply_with_what_decided_its_reading_marked() -> None:
    html = page(*made())
    assert html.count("I say <mark>worda0</mark>.") == 6
    assert html.count(">I will not choose.</p>") >= 6
    assert '<span class="pick none">' in html and "first_word: first-word" in html


def test_readers_that_differ_are_shown_side_by_side_and_counted() -> None:
    html = page(*made())
    assert "They differ in <a href=\"#differences\">6 of 24 cells</a>" in html
    assert html.count('<article class="difference">') == 6


def test_text_in_another_language_says_which() -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        words = {"fr": "le chat", "zh": "我选甲", "en": "worda0"}
        said = words[suite.framings[trial.condition["framing"]].language]
        return choice(said, Nonresponse("unclear"))

    html = page(*made(say))
    assert re.search('class="words reply" lang="zh-Hans" dir="auto">我选甲', html)
    assert re.search('class="words reply" lang="fr" dir="auto">le chat', html)


def test_until_dissent_says_what_it_saved_and_what_is_not_measured() -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        place = list(suite.pairs).index(trial.item)
        if place and trial.condition["framing"] != "plain":
            return Choice("", dict.fromkeys(("stated_choice", "first_word"), Reading(
                Nonresponse("not asked"), "no-reply")))
        return holds_some(trial, suite) if place != 2 else never_commits(trial, suite)

    html = page(*made(say, until_dissent=True))
    assert "that left 12 of 24 calls unasked" in html
    assert html.count("Not measured, since pairs were asked only until dissent.") == 3
    assert "The run is not complete" not in html


def test_a_run_of_which_nothing_was_asked_says_so() -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        return Choice("", dict.fromkeys(("stated_choice", "first_word"),
                                        Reading(Nonresponse("not asked"), "no-reply")))

    assert "Nothing has been asked yet" in Tags(page(*made(say))).headline


def test_a_long_reply_is_cut_where_the_page_says_and_a_large_run_stays_under_ten_megabytes(
) -> None:
    def say(trial: Trial, suite: Suite) -> Choice:
        return choice("<" * (LONGEST + 1000), Nonresponse("unclear"))

    html = page(*made(say, small_suite(600), answers=("free", "constrained")))
    assert len(html.encode()) < 10_000_000
    assert "1,000 more characters are on record" in html
    assert "equipoise export &#39;a run&#39;" in html
    assert re.search(r"Replies stand on this page for \d+ of 1,200 lines", html)
    tags = Tags(html)
    assert {a.removeprefix("#") for a in tags.values("href")} <= set(tags.values("id"))


def test_every_chart_that_stands_alone_has_a_title_and_a_description() -> None:
    html = page(*made())
    charts = re.findall(r'<svg[^>]*role="img".*?</svg>', html, re.S)
    assert charts and all("<title id=" in c and "<desc>" in c for c in charts)


def test_headings_go_down_one_step_at_a_time() -> None:
    steps = [int(tag[1]) for tag, _ in Tags(page(*made())).seen if re.fullmatch("h[1-6]", tag)]
    assert steps[0] == 1 and steps.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(steps, steps[1:], strict=False))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    write_whole(place, "old")
    write_whole(place, "lone \ud800 surrogate")
    assert place.read_bytes() == b"lone \\ud800 surrogate"
    with pytest.raises(Misuse, match="Could not write") as found:
        write_whole(tmp_path / "nowhere" / "page.html", "new")
    assert found.value.code == 6
    (tmp_path / "folder").mkdir()
    with pytest.raises(Misuse):
        write_whole(tmp_path / "folder", "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "page.html"]


@pytest.mark.skipif(not CHROMIUM.exists(),
                    reason="no browser at /usr/bin/chromium: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_scrolls_nothing_sideways_loads_nothing_and_has_no_complaint(
    tmp_path: Path, scheme: Any
) -> None:
    from playwright.sync_api import sync_playwright

    def say(trial: Trial, suite: Suite) -> Choice:
        return choice(HOSTILE[len(trial.key) % len(HOSTILE)], Nonresponse("unclear"))

    place = tmp_path / "page.html"
    subjects = [Subject(name.replace("\ud800", ""), "m", "", "planted") for name in HOSTILE]
    suite = small_suite(4, ["extraordinarily-long-"])
    write_whole(place, page(*made(say, suite, subjects=subjects, name="r" * 200)))
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    complaints: list[str] = []
    requests: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        shown = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme=scheme)
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("dialog", lambda dialog: complaints.append(dialog.message))
        shown.on("request", lambda request: requests.append(request.url))
        shown.goto(place.as_uri())
        shown.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert shown.evaluate("document.documentElement.scrollWidth") == 360
        browser.close()
    assert complaints == [] and requests == [place.as_uri()]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_four_and_a_half_to_one_and_shapes_three_to_one(theme: int) -> None:
    css = re.search("<style>(.*?)</style>", page(*made()), re.S)
    assert css is not None
    block = re.findall(r":root \{(.*?)\n\s*\}", css[1], re.S)[theme]
    tokens = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", block))
    for name, wanted in {"ink": 4.5, "soft": 4.5, "a": 4.5, "b": 4.5, "none": 3, "k1": 3, "k2": 3,
                         "g2": 3, "g3": 3}.items():
        assert contrast(tokens[name], tokens["paper"]) >= wanted, name
    assert contrast(tokens["ink"], tokens["mark"]) >= 4.5
    assert contrast(tokens["soft"], tokens["faint"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio."""
    def luminance(colour: str) -> float:
        parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
