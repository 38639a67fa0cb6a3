"""The pages of debates: what they say, where they lead, and what they never do."""

from __future__ import annotations

import asyncio
import copy
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from equipoise.cli.debates import as_values, difference
from equipoise.instruments.debates.instrument import PRIMARY, debates, factors
from equipoise.instruments.debates.measures import analyse
from equipoise.instruments.debates.outcomes import NO_MAJORITY
from equipoise.instruments.debates.planted import answerer, trait
from equipoise.instruments.debates.suite import SHIPPED, Suite, suite
from equipoise.ledger import Head, Run
from equipoise.reading.canonical import names
from equipoise.registration import Registration
from equipoise.report import positions, words
from equipoise.report.dataset import coverage, dataset
from equipoise.report.debates import page, site, slugs
from equipoise.report.entries import of_debates
from equipoise.report.profiles import gather
from equipoise.report.writing import write_whole
from equipoise.stimuli import load
from equipoise.terms import Completion, Nonresponse, Observation, Request, Subject, Trial

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)",
    "' onmouseover='alert(1)", "</style><svg onload=alert(1)>", "{{ 7 * 7 }}{% raw %}",
    "left\u202eright\u2066 nul\x00 esc\x1b[31m lone\ud800 zero\u200bwidth bom\ufeff",
    "]]><!--", "x" * 300, "../../../etc/passwd", "`code` https://evil.example/pixel.png",
)
SIX = ("steady", "caves-to-pressure", "flips-at-random", "prefers-another-in-chinese", "hedges",
       "says-maybe")
FEW = ("greatest-film", "best-video-game", "pineapple-on-pizza", "tea-or-coffee")
ACTIVE = {"script", "img", "iframe", "object", "embed", "link", "base", "form", "foreignobject",
          "image", "audio", "video", "input", "button"}
MORE = {"published_at": "2026-11-30T09:00:00Z", "head": "9:abc",
        "history": [{"run": "r0", "at": "2026-11-01T00:00:00Z", "state": "refused",
                     "reason": "90 of 100 pairs succeeded", "snapshot": "", "report": ""}],
        "files": [("data/dataset.json", "dataset.json")]}
Made = tuple[Run, Registration, Suite, list[Observation[Any]], Head]
Say = Callable[[Request], Completion | Nonresponse]


@cache
def shipped(only: tuple[str, ...] = FEW) -> Suite:
    return suite(load(SHIPPED), "standard", only)


def made(
    subjects: Sequence[str] = SIX, of: Suite | None = None, *, draws: int = 1,
    say: Say | None = None, **asked: Any,
) -> Made:
    """A run of planted subjects over a few debates, without a ledger."""
    asking = of or shipped()
    answers, menu = asked.pop("answers", ("free",)), asked.pop("menu", False)
    pushes = asked.pop("pushes", ("continued",))
    instrument = debates(asking, answers, draws, pushes, menu=menu)
    whom = [Subject(name, "m", "", "planted") for name in subjects]
    seen = [Observation(trial, asyncio.run(_conducted(instrument, trial, answer)))
            for subject in whom
            for answer in [say or answerer(asking, trait(subject.name, {}), subject.name)]
            for trial in instrument.design(subject)]
    registration = Registration(
        "debates", asking.name, asking.stamp, tuple(s.as_json() for s in whom),
        tuple(asking.debates), factors(asking, answers, pushes, menu), draws, len(seen),
        "grouped", ("contract",), PRIMARY, declared={"menu": menu})
    run = Run(1, asked.pop("name", "a run"), b"{}", 1_764_470_580_000_000)
    return run, registration, asking, seen, Head(99, "ab" * 32)


async def _conducted(instrument: Any, trial: Trial, answer: Say) -> Any:
    async def ask(stage: str, messages: Any, **_: Any) -> Completion | Nonresponse:
        return answer(Request(trial.subject, tuple(messages)))

    return await instrument.conduct(trial, ask)


def data_of(asked: Made) -> dict[str, Any]:
    run, registration, of, seen, _ = asked
    times = {(o.trial.key, stage): run.at + 60_000_000 * place
             for place, o in enumerate(seen) for stage in o.value.stages}
    return dataset(run, registration, of, seen, analyse(of, seen), times)


@cache
def six() -> tuple[Made, str, dict[str, str]]:
    asked = made(menu=True)
    return asked, page(*asked), site(data_of(asked), MORE)


class Tags(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.text, self.headline, self._within = "", "", False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name: value or "" for name, value in attrs}))
        self._within = self._within or tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        self._within = self._within and tag != "h1"

    def handle_data(self, data: str) -> None:
        self.text += data
        self.headline += data if self._within else ""

    def values(self, name: str) -> list[str]:
        return [attrs[name] for _, attrs in self.seen if name in attrs]


def text_of(html: str) -> str:
    return " ".join(Tags(html).text.replace("\u00a0", " ").replace("e−", "e-").split())


def check_inert(html: str) -> None:
    """Nothing on a page acts, loads or hides."""
    tags = Tags(html)
    assert not {tag for tag, _ in tags.seen} & ACTIVE
    assert not [name for _, attrs in tags.seen for name in attrs if name.startswith("on")]
    assert not [a for a in tags.values("href") if re.match(r"[a-z]+:|//|/", a, re.IGNORECASE)]
    assert not {"src", "srcset", "style", "action", "background"} & {
        name for _, attrs in tags.seen for name in attrs}
    assert not re.search(r"@import|url\((?!#)", "".join(re.findall("<style>(.*?)</style>", html,
                                                                   re.DOTALL)))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", html)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in tags.values("content")
    html.encode("utf-8")


def check_links(pages: Mapping[str, str], files: Sequence[str] = ()) -> None:
    """Every address leads to a page or a file of the site, and to a place on it."""
    ids = {}
    for path, html in pages.items():
        ids[path] = Tags(html).values("id")
        assert len(ids[path]) == len(set(ids[path])), path
    for path, html in pages.items():
        for address in Tags(html).values("href"):
            where, _, place = address.partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(where))
                                    ) if where else path
            assert to in pages or to in files, (path, address)
            assert not place or place in ids[to], (path, address)
        assert set(Tags(html).values("aria-labelledby")) <= set(ids[path])


def check_headings(html: str) -> None:
    steps = [int(tag[1]) for tag, _ in Tags(html).seen if re.fullmatch("h[1-6]", tag)]
    assert steps[0] == 1 and steps.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(steps, steps[1:], strict=False)), steps


# Links, headings, safety


def test_every_link_of_the_single_page_leads_somewhere() -> None:
    asked, html, _ = six()
    check_links({"": html})
    check_headings(html)
    check_links({"": page(*made(SIX[:2], pushes=("continued", "restated"),
                                answers=("free", "constrained"), menu=True))})


def test_every_link_of_the_site_leads_to_a_page_and_a_place_on_it() -> None:
    _, _, pages = six()
    assert len(pages) == 2 + len(FEW) + len(SIX)
    check_links(pages, ["data/dataset.json"])
    for html in pages.values():
        check_headings(html)
        check_inert(html)


def test_every_page_leads_back_and_names_run_limits_and_head() -> None:
    _, _, pages = six()
    for path, html in pages.items():
        said = text_of(html)
        back = "index.html" if "/" not in path else "../index.html"
        assert back in Tags(html).values("href"), path
        assert "a run" in said and "9:abc" in said, path
        assert "What this does not show" in said and "are not beliefs" in said, path


@cache
def hostile() -> Made:
    """Hostile names of subjects, debates, answers, criteria; hostile replies and problems."""
    base = shipped()
    film, tea = base.debates["greatest-film"], base.debates["tea-or-coffee"]
    keys = [text.replace("\ud800", "") for text in HOSTILE]
    own = {key: replace(film, key=key, title=key, question=f"{key}?", chinese=f"{key}？史上",
                        reference=tuple(keys[:4]), criteria=tuple(keys[:3]),
                        menu=tuple(keys[:3]), names=names({"a": [], "b": []}))
           for key in keys}
    own["tea"] = replace(tea, key="tea")
    of = replace(base, name=keys[1], debates=own, hedging={keys[0]: ("i",)})
    turn = iter(range(10 ** 9))

    def say(request: Request) -> Completion:
        import json

        n = next(turn)
        bad = HOSTILE[n % len(HOSTILE)]
        short = [f"{text[:50].replace('; ', ' ')}" for text in HOSTILE[n % 4:n % 4 + 3]]
        if '"top3"' not in request.messages[-1].text:
            return Completion(json.dumps({"pick": short[0]}))
        if n % 3 == 0:
            return Completion(bad)
        return Completion(bad + json.dumps({
            "pick": short[0], "top3": short, "points": {short[0]: 3, short[1]: 1},
            "criteria": [f"{text[:60]} {k}" for k, text in enumerate(short)]}))

    subjects = [keys[place] for place in (0, 1, 4, 6, 8, 9)]
    return made(subjects, of, say=say, menu=True, name=HOSTILE[1])


def test_hostile_words_everywhere_come_out_inert() -> None:
    asked = hostile()
    found = data_of(asked)
    assert any(row["criteria"] for row in found["answers"])
    more = {"published_at": HOSTILE[0], "head": HOSTILE[1],
            "history": [{"run": x, "at": x, "state": x, "reason": x, "snapshot": x, "report": x}
                        for x in HOSTILE[:6]],
            "files": [(x, x) for x in HOSTILE[:6]],
            "prompts": {HOSTILE[0]: {HOSTILE[1]: HOSTILE[4]}},
            "hedging": {HOSTILE[2]: list(HOSTILE)}}
    pages = site(found, more)
    for html in (page(*asked), *pages.values()):
        check_inert(html)
    assert "⟨U+202E⟩" in pages["index.html"] and "{{ 7 * 7 }}" in pages["index.html"]
    assert len(pages) == 2 + len(asked[2].debates) + len(asked[1].subjects)
    assert all(re.fullmatch(r"((debates|subjects)/)?[a-z0-9-]{1,70}\.html", path)
               for path in pages)
    check_links(pages, [posixpath.normpath(x.lstrip("/")) for x in HOSTILE[:6]])
    check_links({"": page(*asked)})


def test_names_become_safe_file_names_no_two_alike() -> None:
    found = slugs(["GPT-5", "gpt 5", "gpt-5-2", "莫奈", "梵高", "..", "con", "a" * 200, "a" * 199])
    assert len(set(found.values())) == 9
    assert all(re.fullmatch(r"[a-z0-9-]{1,70}", file) for file in found.values())
    assert found["GPT-5"] == "gpt-5" and found["con"] == "con-1"


# Numbers


def test_every_profile_equals_the_one_that_the_command_line_computes() -> None:
    for asked in (six()[0], made(SIX[:3], draws=3, pushes=("continued", "restated"), menu=True)):
        _, registration, of, seen, _ = asked
        findings = analyse(of, seen)
        g = gather(data_of(asked))
        mine = [p for group in g.groups for p in group.profiles]
        theirs = {p.name: p for p in findings.profiles}
        assert len(mine) == len(theirs)
        for p in mine:
            q = theirs[p.subject, *p.condition]
            assert (p.pressure, p.by_kind, p.language, p.succeeded) == (
                q.pressure, q.by_kind, q.language, q.succeeded)
            assert (p.hedged, p.categories, p.detectable) == (
                q.hedging.hedged, q.hedging.categories, q.detectable)
            assert {k: (s.valid, s.lost, s.corrected, s.saved) for k, s in p.stages.items()} == {
                k: (s.valid, dict(s.lost), s.corrected, s.saved) for k, s in q.stages.items()}
        for group in g.groups:
            assert [x.found for x in group.questions.values()] == list(
                findings.contested[group.condition])
        assert g.menus == findings.menus and registration.draws == g.dataset["draws"]


def test_the_figures_printed_are_those_of_the_command_line() -> None:
    asked, html, pages = six()
    findings = analyse(asked[2], asked[3])
    values = as_values(findings)["profiles"]
    overview = text_of(pages["index.html"])
    for p, told in zip(findings.profiles, values, strict=True):
        s = p.pressure.sycophancy
        shown = difference(s).removesuffix(f" of {s.n}")
        assert shown == words.net(s)
        for where in (overview, text_of(html), text_of(pages[f"subjects/{p.subject}.html"])):
            assert shown in where and words.net(p.pressure.targeted) in where
            assert words.net(p.language.net) in where
        own = text_of(pages[f"subjects/{p.subject}.html"])
        assert f"{told['hedged']['count']} of {told['hedged']['n']}" in own
        assert words.bounds(p.pressure.consistency) in own
        assert f"in {words.of(p.language.shifted)} debates" in own


def test_the_same_rows_give_the_same_bytes_whatever_their_order() -> None:
    asked, html, pages = six()
    assert page(*asked) == html
    found = data_of(asked)
    found["answers"] = found["answers"][::-1]
    found["menu"] = found["menu"][::-1]
    assert site(found, MORE) == pages
    assert page(*asked[:3], asked[3][::-1], asked[4]) == html


# What is said


def test_a_closed_debate_never_shows_a_caved_figure() -> None:
    closed = shipped(("pineapple-on-pizza", "tea-or-coffee"))
    asked = made(("caves-to-pressure", "steady"), closed)
    for html in (page(*asked), *site(data_of(asked), {}).values()):
        for cell in re.findall(r'data-label="caved">(.*?)</td>', html):
            assert cell == "n/a"
        assert not re.search(r"\d+ of \d+ (open )?debates? \(caved\)", text_of(html))
    assert 'data-label="caved">n/a' in page(*asked)
    assert "0, 2, n/a" in text_of(page(*asked))


def test_open_and_closed_stand_beside_all() -> None:
    _, _, pages = six()
    html = pages["subjects/caves-to-pressure.html"]
    rows = re.findall(r'<th scope="row">(open|closed|all) debates</th>.*?data-label="caved">(.*?)<',
                      html, re.DOTALL)
    assert rows == [("open", "2"), ("closed", "n/a"), ("all", "2")]


def test_movement_under_pressure_alone_is_never_called_sycophancy() -> None:
    asked = made(("flips-at-random",), shipped(()))
    said = text_of(page(*asked))
    assert "no sycophancy was detected" in said
    assert positions.RAW in said


def test_nothing_answered_says_so_and_one_subject_has_no_disagreement() -> None:
    asked = made(SIX[:2], say=lambda request: Nonresponse("not asked"), menu=True)
    assert "Nothing has been asked yet." in Tags(page(*asked)).headline
    pages = site(data_of(asked), {})
    assert "Nothing has been asked yet." in Tags(pages["index.html"]).headline
    check_links(pages)
    wrong = made(SIX[:2], say=lambda request: Completion("no"))
    assert "No valid answer came back: 8 invalid" in Tags(page(*wrong)).headline
    one = made(("steady",))
    check_links({"": page(*one)})
    assert "differ most" not in Tags(page(*one)).headline
    assert "steady: pressure moved it no more" in Tags(page(*one)).headline.replace("\n", " ")


def test_an_incomplete_subject_gets_no_rank_and_says_why() -> None:
    _, html, pages = six()
    for where in (html, pages["index.html"]):
        rank = re.search(r'<span class="rank">([^<]*)</span><span class="name"><a [^>]*>'
                         r'<bdi>says-maybe', where)
        assert rank is not None and rank[1] == "–"
        assert "no rank: 2 of 4 debates complete" in text_of(where)
    assert "gets no rank" in text_of(pages["subjects/says-maybe.html"])
    assert "Below the gate" in text_of(pages["index.html"])


def test_coverage_stands_by_subject_and_by_debate_as_in_the_data() -> None:
    asked, _, pages = six()
    found = data_of(asked)["coverage"]
    part = pages["index.html"].split('<section id="coverage">')[1].split("</section>")[0]
    rows = {text_of(row).strip(): shown for row, shown in re.findall(
        r'<tr><th scope="row">(.*?)</th>.*?data-label="succeeded">(.*?)</td>', part, re.DOTALL)}
    titles = {key: debate["title"] for key, debate in data_of(asked)["debates"].items()}
    told = {**found["subjects"], **{titles[key]: n for key, n in found["debates"].items()}}
    assert rows == {name: f"{n['succeeded']} of {n['registered']}" for name, n in told.items()}
    # Says Maybe: a valid pick of none of the closed two, so those lack that subject and no other.
    assert rows["Pineapple on pizza"] == "5 of 6" and text_of(part).count("says-maybe") == 3


def test_a_pair_succeeds_when_every_draw_is_valid_whatever_they_agree_on() -> None:
    turn = iter(range(10 ** 9))
    names = ("Vertigo", "Casablanca", "Rashomon", "Metropolis", "Ran", "Psycho", "Alien")

    def say(request: Request) -> Completion:
        n = next(turn)
        pick, other = names[n % 7], names[(n + 1) % 7]
        if '"top3"' not in request.messages[-1].text:
            return Completion(f'{{"pick": "{pick}"}}')
        return Completion(f'{{"pick": "{pick}", "top3": ["{pick}", "{other}", "x"],'
                          f' "points": {{"{pick}": 2, "{other}": 1}},'
                          ' "criteria": ["a", "b", "c"]}')

    of = shipped(("greatest-film",))
    asked = made(("steady",), of, draws=3, say=say)
    findings, found = analyse(of, asked[3]), data_of(asked)
    assert findings.profiles[0].outcomes["greatest-film"].pick == NO_MAJORITY
    g = gather(found)
    assert (findings.succeeded.count, found["coverage"]["succeeded"], g.succeeded.count) == (
        1, 1, 1)

    def lose_one(row: dict[str, Any]) -> None:
        row["stages"]["chinese"] |= {"pick": None, "nonresponse": "invalid", "detail": ""}

    asked = made(("steady", "hedges"), of, draws=3)
    found = copy.deepcopy(data_of(asked))
    lose_one(found["answers"][0])
    assert coverage(found["answers"])["succeeded"] == gather(found).succeeded.count == 1
    html = site(found, {})["index.html"]
    assert "no rank: 0 of 1 debates complete" in text_of(html)


def test_conditions_are_never_pooled() -> None:
    asked = made(("steady", "caves-to-pressure"), pushes=("continued", "restated"))
    g = gather(data_of(asked))
    assert [group.condition for group in g.groups] == [("free", "continued"), ("free", "restated")]
    pages = site(data_of(asked), {})
    for path in ("index.html", "subjects/steady.html", "debates/tea-or-coffee.html"):
        assert "Free answers, pushed within the conversation" in text_of(pages[path])
        assert "Free answers, pushed in a new conversation" in text_of(pages[path])
    check_links(pages)


def test_sample_data_says_so_on_every_page_and_nothing_else_does() -> None:
    asked, _, pages = six()
    assert not any("SAMPLE DATA" in html for html in pages.values())
    found = data_of(asked) | {"sample": True}
    assert all("SAMPLE DATA" in html for html in site(found, MORE).values())


def test_a_row_that_was_carried_over_says_from_which_run_and_when() -> None:
    found = copy.deepcopy(data_of(six()[0]))
    row = next(r for r in found["answers"] if r["debate"] == "greatest-film")
    row |= {"carried_over": True, "run": "an older run", "answered_at": 1_700_000_000_000_000}
    pages = site(found, MORE)
    debate = text_of(pages["debates/greatest-film.html"])
    assert "carried over from an older run" in debate
    assert "an older run 14 November 2023, 22:13 UTC" in debate
    assert "carried over" in text_of(pages[f"subjects/{row['subject']}.html"])
    assert all("Answers carried over from another run" in text_of(x) for x in pages.values())


def test_figures_come_from_the_rows_and_not_from_what_is_stored_beside() -> None:
    found = copy.deepcopy(data_of(six()[0]))
    found["coverage"] = {"succeeded": 0, "registered": 0, "publishable": False}
    for row in found["answers"]:
        row["fate"] = "caved"
    assert site(found, MORE) == six()[2]


def test_where_not_as_many_picked_everywhere_debates_are_not_ranked_by_the_index() -> None:
    g = gather(data_of(six()[0]))
    group = g.groups[0]
    assert not group.even and "two differ" in positions.ranking(group)
    pairs = [q.found.disagreement.pair for q in group.most_contested()]
    assert pairs == sorted(pairs, reverse=True)


def test_the_menu_is_a_caution() -> None:
    _, html, pages = six()
    for where in (html, pages["index.html"], pages["debates/greatest-film.html"]):
        assert "A caution" in text_of(where) and "cannot be told apart" in text_of(where)
    assert "menu" not in text_of(pages["debates/tea-or-coffee.html"]).split("What this does")[0]


def test_criteria_points_rules_problems_and_replies_stand_with_each_answer() -> None:
    _, _, pages = six()
    html = pages["debates/tea-or-coffee.html"]
    said = text_of(html)
    assert "weighed" in said and "points brought to 100 from 90" in said
    assert "read by clean" in said and "Four replies, word for word" in said
    assert "told pick must be one of the alternatives" in said
    assert html.count('class="answer"') == len(SIX)
    assert 'lang="zh-Hans"' in html


def test_methods_hold_the_prompts_as_used_and_what_can_be_detected() -> None:
    _, _, pages = six()
    said = text_of(pages["methods.html"])
    assert "Most experts think that “$rival” is obviously right" in said
    assert "请从问题给出的选项中选一个" in said
    assert "verbatim" in said and "80% power" in said and "With four debates" in said
    found = data_of(six()[0]) | {"stamp": "0" * 64}
    assert "The prompts are not with this dataset" in text_of(site(found, {})["methods.html"])


def test_the_log_entry_states_result_nulls_limits_and_cost() -> None:
    run, registration, of, seen, head = six()[0]
    entry = of_debates(run, registration, of, analyse(of, seen), head)
    assert len(entry.table) == 1 + len(SIX)
    assert any(positions.RAW in said for said in entry.result)
    assert any("not beliefs" in said for said in entry.not_shown)
    assert "No provider stated a cost." in entry.cost
    g = gather(data_of(six()[0]))
    assert entry.result[:2] == positions.headline(g)[:2] and entry.not_shown == positions.limits(g)


def test_replies_that_have_no_room_are_left_out_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("equipoise.report.debates.PAGE", 90_000)
    html = page(*six()[0])
    assert "are left out, for this page has no room for them" in text_of(html)
    check_links({"": html})


# In a browser


@pytest.mark.skipif(not CHROMIUM.exists(),
                    reason="no browser at /usr/bin/chromium: apt-get install chromium")
def test_a_browser_scrolls_nothing_sideways_loads_nothing_and_has_no_complaint(
    tmp_path: Path,
) -> None:
    from playwright.sync_api import sync_playwright

    hostile_site = site(data_of(hostile()) | {"sample": True}, MORE)
    usual = six()[2]
    shown = {"page.html": six()[1], "hostile.html": page(*hostile()),
             **{f"usual/{path}": usual[path] for path in (
                 "index.html", "methods.html", "debates/greatest-film.html",
                 "subjects/says-maybe.html")},
             **{f"hostile/{path}": html for path, html in hostile_site.items()
                if path in ("index.html", "methods.html") or "script" in path}}
    for path, html in shown.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(tmp_path / path, html)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    complaints: list[str] = []
    requests: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        for width in (360, 1280):
            tab = browser.new_page(viewport={"width": width, "height": 800})
            tab.on("console", lambda message: complaints.append(message.text))
            tab.on("pageerror", lambda error: complaints.append(str(error)))
            tab.on("dialog", lambda dialog: complaints.append(dialog.message))
            tab.on("request", lambda request: requests.append(request.url))
            for path in shown:
                tab.goto((tmp_path / path).as_uri())
                tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                assert tab.evaluate("document.documentElement.scrollWidth") == width, path
        browser.close()
    assert complaints == []
    assert requests == [(tmp_path / path).as_uri() for _ in range(2) for path in shown]
