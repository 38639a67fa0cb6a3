"""The page of a label-swap run: what it says, what it opens to, and what it never does."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise.cli import label_swap as command
from equipoise.cli.label_swap import as_values
from equipoise.instruments.label_swap.blocks import Rules
from equipoise.instruments.label_swap.instrument import NAME, PRIMARY, READER, factors, label_swap
from equipoise.instruments.label_swap.planted import Judge, answerer
from equipoise.instruments.label_swap.proof import conducted
from equipoise.instruments.label_swap.suite import ALPHABET, ASKED, FACTORS, WORDING, suite
from equipoise.ledger import Head, Run
from equipoise.registration import Registration
from equipoise.report import label_swap as report
from equipoise.report import statements, words
from equipoise.report.label_swap import page
from equipoise.report.visible import HIDDEN, LONGEST, code
from equipoise.report.writing import write_whole
from equipoise.stimuli import parse
from equipoise.terms import Completion, Nonresponse, Observation, Subject, Usage

CHROMIUM = Path("/usr/bin/chromium")
BROWSER = pytest.mark.skipif(not CHROMIUM.exists(),
                             reason="no browser at /usr/bin/chromium: apt-get install chromium")
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)",
    "' onmouseover='alert(1)", "</style><svg onload=alert(1)>", "{{ 7 * 7 }}{% raw %}",
    "left\u202eright\u2066 nul\x00 esc\x1b[31m lone\ud800 zero\u200bwidth bom\ufeff",
    "]]><!--", "x" * 300, "`code` https://evil.example/pixel.png", "</details></section></main>",
)
NAMES = tuple(name.replace("\ud800", "") for name in HOSTILE)
FIRST, SECOND = "Left", "Right"


@pytest.fixture(scope="module", autouse=True)
def few_proofs():
    """Planted judges go through twice, not a hundred times: 100 take a second a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "PROOF_RUNS", 2)
        yield


# Small runs.


def stimuli(decisions=2, kinds=2, *, names=(), wordings=("plain", "brief")):
    """The texts of a small suite as a person would write them; hostile where `names` are."""
    def named(n, plain):
        return re.sub(r'[~/"$\\]', "", names[n % len(names)]) + f" {plain}" if names else plain

    def text(n, plain):
        return names[n % len(names)].replace("$", "") + f" {plain}" if names else plain

    said = {
        named(n, f"choice{n}"): {
            "about": text(n, f"which of two to take, {n}"), "x": text(n, f"Tall {n}."),
            "y": text(n, f"Wide {n}."), "same": text(n, f"Round {n}."),
            "wordings": {named(w, wording): (
                f"{text(n, wording)} {n}. $first_label: $first\n$second_label: $second\n"
                "How likely is $asked?") for w, wording in enumerate(wordings)},
        } for n in range(decisions)}
    labels = {f"kind{k}": {"labels": [f"{named(k, FIRST)}{k}", f"{named(k, SECOND)}{k}"],
                           "third": f"{named(k, 'Up')}{k}"} for k in range(kinds)}
    return {"decisions.toml": "".join(toml(name, value) for name, value in said.items()),
            "labels.toml": "".join(toml(name, value) for name, value in labels.items())}


def toml(name, values):
    """A table of texts; TOML and JSON write a text alike."""
    flat = [f"{key} = {json.dumps(v)}" for key, v in values.items() if not isinstance(v, dict)]
    tables = [f"[{json.dumps(name)}.{key}]\n" + "".join(
        f"{json.dumps(k)} = {json.dumps(text)}\n" for k, text in v.items())
        for key, v in values.items() if isinstance(v, dict)]
    return "\n".join([f"[{json.dumps(name)}]", *flat, *tables, ""])


def small(varied=(), **more):
    return suite(parse(stimuli(**more)), "small", varied)


USUAL = {"judges": (Judge(),), "names": (), "subjects": (), "answers": ("free",), "draws": 3,
         "rules": Rules(), "name": "a run", "declared": {}}


def made(says=None, of=None, **more):
    """What `page` takes: a run in which `says(shown, draw)` answers, or else planted judges."""
    of, how = of or small(), SimpleNamespace(**USUAL | more)
    subjects = how.subjects or [Subject(label, label, "", "planted") for label in
                                how.names or [f"judge{n}" for n in range(len(how.judges))]]
    instrument = label_swap(of, how.answers, how.draws, how.rules)
    shown_by = {of.prompt(shown): shown for shown in of.cells()}
    observations = []
    for n, subject in enumerate(subjects):
        planted = answerer(of, how.judges[n % len(how.judges)], n)
        for trial in instrument.design(subject):
            def answer(request, trial=trial, planted=planted):
                if says is None:
                    return planted(request)
                found = says(shown_by[request.messages[-1].text], trial.draw)
                return Completion(found) if isinstance(found, str) else found
            observations.append(Observation(trial, conducted(instrument, trial, answer)))
    registration = Registration(
        NAME, of.name, of.stamp, tuple(s.as_json() for s in subjects), tuple(of.decisions),
        factors(of, how.answers), how.draws, len(observations), "random:1", (READER,), PRIMARY,
        declared={"vary": list(of.varied), "rules": asdict(how.rules), **how.declared},
    )
    run = Run(1, how.name, b"{}", 1_764_470_580_000_000)
    return run, registration, of, observations, Head(99, "ab" * 32), instrument


def findings_of(run):
    return run[5].analyse(run[3])


def not_asked(shown, draw):
    return Nonresponse("not asked")


def half_asked(shown, draw):
    return str(40 + draw) if draw == 1 else Nonresponse("not asked")


def all_errors(shown, draw):
    return Nonresponse("error", "HTTP 500")


def all_cut(shown, draw):
    return Completion("Let me think about", "length")


def all_refused(shown, draw):
    return "I cannot help with that."


def fifty(shown, draw):
    return "50"


def seventy(shown, draw):
    return "70"


def deterministic(shown, draw):
    """Never varies over draws, and leans 6 points to the first label."""
    return str(56 if shown.label == "1" else 44) if shown.content == "matched" else "50"


def turns(shown, draw):
    """Leans one way with one description and the other way with the other."""
    way = (1 if shown.label == "1" else -1) * (1 if shown.described == "x" else -1)
    return str(50 + 8 * way + draw) if shown.content == "matched" else str(48 + draw)


def loses_one_label(shown, draw):
    if shown.label == "1" and draw > 1:
        return Completion("Well, let me weigh", "length")
    return str(45 + 3 * draw)


def huge(shown, draw):
    return "<" * 100_000 + f" My answer is {40 + 5 * draw}."


def anything(shown, draw):
    """Hostile words, with and without a number."""
    text = HOSTILE[(draw + len(shown.pair)) % len(HOSTILE)]
    return f"{text} My answer is {40 + draw}." if draw % 2 else text


SIX = tuple(Judge(lean=8.0 * (n == 2), position=9.0 * (n == 4), described=(0.0,), positions=(0.0,))
            for n in range(6))
STATES = {
    "plain": {},
    "leans": {"judges": (Judge(lean=12.0, noise=1.0),), "draws": 5},
    "nothing asked": {"says": not_asked},
    "half asked": {"says": half_asked},
    "only errors": {"says": all_errors},
    "only cut off": {"says": all_cut},
    "only refused": {"says": all_refused},
    "one decision": {"of": ("d1", ())},
    "one pair": {"of": ("p1", ())},
    "one decision, one pair, one draw": {"of": ("d1p1", ()), "draws": 1,
                                         "rules": Rules(min_valid=1)},
    "wording": {"of": ("", (WORDING,))},
    "asked": {"of": ("", (ASKED,))},
    "alphabet": {"of": ("", (ALPHABET,)), "judges": (Judge(lean=15.0, noise=1.0),), "draws": 4},
    "everything varied": {"of": ("", FACTORS), "judges": (Judge(), Judge(lean=9.0))},
    "both answer modes": {"answers": ("free", "constrained"), "judges": (Judge(lean=8.0),)},
    "two subjects": {"judges": (Judge(lean=9.0, noise=2.0), Judge(position=9.0)), "draws": 4},
    "six subjects": {"judges": SIX, "draws": 5},
    "six subjects in both modes": {"judges": SIX, "answers": ("free", "constrained"),
                                   "of": ("d1p1", ())},
    "seven decisions": {"of": ("d7p1", ())},
    "deterministic": {"says": deterministic},
    "all fifty": {"says": fifty},
    "all seventy": {"says": seventy},
    "turns": {"says": turns, "draws": 5},
    "loses one label": {"says": loses_one_label, "rules": Rules(min_valid=1)},
    "cuts one label": {"judges": (Judge(truncates=0.3),), "rules": Rules(min_valid=2)},
    "both families": {"rules": Rules(family="both"), "judges": (Judge(fifty=False), Judge())},
    "hostile": {"says": anything, "of": ("hostile", FACTORS[:2]), "names": NAMES[:2],
                "name": HOSTILE[1]},
}
SUITES = {"": {}, "d1": {"decisions": 1}, "p1": {"kinds": 1}, "d1p1": {"decisions": 1, "kinds": 1},
          "d7p1": {"decisions": 7, "kinds": 1}, "hostile": {"names": NAMES}}
EVERY = pytest.mark.parametrize("state", STATES)


@cache
def asked(state):
    more = dict(STATES[state])
    if "of" in more:
        which, varied = more["of"]
        more["of"] = small(varied, **SUITES[which])
    return made(**more)


@cache
def found_in(state):
    return findings_of(asked(state))


@cache
def html_of(state):
    return page(*asked(state))


@cache
def read(state):
    return Element.of(html_of(state))


# A page, read.


class Element:
    """An element of a page: its attributes, what is in it, and its text."""

    def __init__(self, tag, attrs, parent=None):
        self.tag, self.attrs, self.parent, self.within = tag, attrs, parent, []

    @staticmethod
    def of(html):
        return Reader(html).root

    def all(self, tag="", **wanted):
        for child in self.within:
            if isinstance(child, Element):
                if (not tag or child.tag == tag) and child.has(**wanted):
                    yield child
                yield from child.all(tag, **wanted)

    def one(self, tag="", **wanted):
        [found] = self.all(tag, **wanted)
        return found

    def has(self, cls="", **attrs):
        return (not cls or cls in self.attrs.get("class", "").split()) and all(
            self.attrs.get(name) == value for name, value in attrs.items())

    @property
    def text(self):
        return "".join(c if isinstance(c, str) else c.text for c in self.within)

    @property
    def said(self):
        """The text as it is read: without breaks."""
        return " ".join(self.text.split())

    def inside(self, *tags):
        return self.tag in tags or (self.parent is not None and self.parent.inside(*tags))


class Reader(HTMLParser):
    VOID = {"meta", "br", "link", "img", "base", "input", "hr"}
    SHAPES = {"line", "rect", "path", "use", "circle"}

    def __init__(self, html):
        super().__init__()
        self.root = self.now = Element("", {})
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        made_ = Element(tag, {name: value or "" for name, value in attrs}, self.now)
        self.now.within.append(made_)
        if tag not in self.VOID:
            self.now = made_

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.now.tag == tag, f"</{tag}> closes <{self.now.tag}>"
            self.now = self.now.parent

    def handle_data(self, data):
        self.now.within.append(data)


def bare(text):
    """As `visible` and the browser show it, for comparison: white space as it may be."""
    return " ".join(HIDDEN.sub(lambda found: code(found[0]), text).split())


# What holds of a page in every state.


@EVERY
def test_every_element_is_closed_and_every_address_is_unique_and_every_link_leads_to_one(state):
    found = read(state)
    addresses = [e.attrs["id"] for e in found.all() if "id" in e.attrs]
    assert len(addresses) == len(set(addresses))
    links = [e.attrs["href"] for e in found.all() if "href" in e.attrs]
    assert links and {link.removeprefix("#") for link in links} <= set(addresses)
    for labelled in found.all():
        assert set(labelled.attrs.get("aria-labelledby", "").split()) <= set(addresses)


@EVERY
def test_every_figure_of_the_summary_links_to_what_stands_behind_it(state):
    found = read(state)
    rows = list(found.one("section", id="found").one("tbody").all("tr"))
    assert len(rows) == len(found_in(state).judged)
    for place, row in enumerate(rows, 1):
        cells = [child for child in row.within if isinstance(child, Element)]
        assert len(cells) == 7
        for cell in cells:
            [link] = cell.all("a")
            target = link.attrs["href"].removeprefix("#")
            assert re.fullmatch(rf"j{place}(-(tests|blocks|position|lost))?", target)
            assert re.search(r"\d|no data", link.said) or cell.tag == "th"
        section = found.one("section", id=f"j{place}")
        assert list(section.all(cls="lean")) and list(section.all("table"))


@EVERY
def test_nothing_acts_nothing_loads_and_nothing_hides(state):
    html, found = html_of(state), read(state)
    seen = list(found.all())
    assert not {e.tag for e in seen} & {"script", "img", "iframe", "object", "embed", "link",
                                        "base", "form", "foreignobject", "image"}
    assert not [name for e in seen for name in e.attrs if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", html)
    assert all(e.attrs["href"].startswith("#") for e in seen if "href" in e.attrs)
    assert not [name for e in seen for name in e.attrs if name in ("src", "srcset", "style")]
    [css] = found.all("style")
    assert not re.search(r"@import|url\((?!#)|expression", css.text)
    policy = [e.attrs["content"] for e in found.all("meta")
              if e.attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    html.encode("utf-8")


@EVERY
def test_no_figure_is_a_word_of_the_machine(state):
    if state == "hostile":
        return
    for e in read(state).all():
        if e.inside("style"):
            continue
        for text in (*(c for c in e.within if isinstance(c, str)), *e.attrs.values()):
            assert not re.search(r"\bnan\b|\bNone\b(?! (of|says|states) )|\bUndefined\b|\binf\b"
                                 r"|[-−]0(\.0+)?(?![\d.])|Infinity|\{\{|\}\}", text), text


@EVERY
def test_headings_go_down_one_step_at_a_time(state):
    steps = [int(e.tag[1]) for e in read(state).all() if re.fullmatch("h[1-6]", e.tag)]
    assert steps[0] == 1 and steps.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(steps, steps[1:], strict=False))


SENTENCE = re.compile(r"(?:[A-Z“\d]|judge\d).*\.", re.S)
DOUBLED = re.compile(r"\b([a-z]+) \1\b|  | [,;:)]| \.(?!\d)|\( |\.\.|,,|;;|\(\)|\[\]")


def sentences(state):
    """Everything the page says in sentences, but what was asked and the names of things."""
    _, registration, of, *_ = asked(state)
    findings = found_in(state)
    yield from statements.headline(findings)
    yield from statements.questions(registration, of)
    yield from statements.limits(findings, of, registration)
    yield statements.corrected(findings)
    for f in findings.judged:
        yield from statements.shows(findings, f)
        yield from filter(None, [statements.banner(f)])
    for e in read(state).all():
        if e.tag in ("p", "caption") and e.attrs.get("class") not in ("words", "label", "wording"):
            yield e.said


@EVERY
def test_sentences_begin_with_a_capital_end_with_a_full_stop_and_double_nothing(state):
    if state == "hostile":
        return
    said = list(sentences(state))
    assert len(said) > 10
    for sentence in said:
        ends = sentence.removesuffix("equipoise export 'a run'") + "."
        assert SENTENCE.fullmatch(sentence) or ends.endswith("Every one: .") or sentence.endswith(
            "times:"), sentence
        assert not DOUBLED.search(sentence.replace("\u00a0", " ")), sentence


@EVERY
def test_one_thing_is_one_and_many_are_many(state):
    """No "one decisions", no "two pair", no "no is"."""
    for sentence in sentences(state):
        assert not re.search(r"\b(one|1) (?:decision|pair|draw|block|call|test|subject|cell)s\b"
                             r"|\b(two|three|four|five|six|\d\d+) (?:decision|pair|draw|block|call|"
                             r"test|subject|choice)\b|\bno (is|after|blocks)\b", sentence, re.I
                             ), sentence


@EVERY
def test_neutral_is_said_only_where_it_is_shown(state):
    if state == "hostile":
        return
    findings = found_in(state)
    for place, f in enumerate(findings.judged, 1):
        section = read(state).one("section", id=f"j{place}")
        rows = {e.attrs["id"]: e for e in section.all() if e.attrs.get("id", "").startswith(
            (f"j{place}-m", f"j{place}-i")) and "-" in e.attrs["id"][4:]}
        shown = [address for address in rows if re.search(
            r"\bneutral\b", line_of(rows[address]).said)]
        equivalent = [block for block in f.blocks
                      if getattr(block.neutral, "equivalent", False)]
        assert len(shown) == len(equivalent)
        prose = " ".join(e.said for e in section.all("p") if not e.inside("details"))
        claims = re.findall(r"[^.]*neutral[^.]*\.(?:05[^.]*\.)?", prose, re.I)
        assert all("does not show neutrality" in claim or "Neutral: two one-sided" in claim
                   for claim in claims), claims


def line_of(row):
    """A block's line, from what has its address: the summary of what opens, or the bare line."""
    return row if row.has(cls="lean") else row.parent.one("summary")


@EVERY
def test_the_banner_stands_exactly_where_a_decision_lost_more_than_five_in_a_hundred(state):
    for place, f in enumerate(found_in(state).judged, 1):
        lost = Counter()
        total = Counter()
        for block in f.matched:
            for cell in block.cells:
                lost[block.decision] += cell.n_lost
                total[block.decision] += cell.n_asked
        over = [name for name in total if 100 * lost[name] > 5 * total[name]]
        banners = list(read(state).one("section", id=f"j{place}").all("p", cls="banner"))
        assert len(banners) == bool(over)
        assert all(bare(name) in banners[0].said for name in over)


@EVERY
def test_every_reply_stands_word_for_word_beside_its_reading_with_what_decided_it_marked(state):
    _, _, _, observations, *_ = asked(state)
    wanted, found = Counter(), Counter()
    for o in observations:
        [reading] = o.value.readings.values()
        value = reading.value
        if isinstance(value, Nonresponse) and value.kind == "not asked":
            continue
        text = o.value.text
        start, end = reading.span
        mark = text[start:end] if 0 <= start < end <= LONGEST else ""
        stated = value.kind if isinstance(value, Nonresponse) else f"{value:g}"
        wanted[stated, bare(text[:LONGEST]), bare(mark)] += 1
    for row in read(state).all("ul", cls="draws"):
        for reply in row.all("li"):
            [number] = reply.all("b")
            marks = "".join(mark.text for mark in reply.all("mark"))
            told = "".join(e.text for e in reply.all("span", cls="words"))
            if number.said != "not asked":
                found[number.said, " ".join(told.split()), " ".join(marks.split())] += 1
    assert found == wanted


# The numbers.


def number(text):
    """A figure as the page prints it, as a number."""
    return float(text.replace("−", "-").replace(",", "").replace("+", ""))


def close(text, value, digits=1):
    if value is None:
        return text in words.UNDEFINED.values()
    return abs(number(text) - value) <= 0.5 * 10 ** -digits + 1e-9


def is_p(text, value):
    """A p to two figures, and 1 from .995 on."""
    if value is None:
        return text in words.UNDEFINED.values()
    return value >= 0.995 if text == "1" else abs(number(text) - value) <= 0.051 * value


def is_interval(text, values):
    if values["mean"] is None:
        return text in words.UNDEFINED.values()
    numbers = re.fullmatch(r"(\S+)(?: \[(\S+), (\S+)\])?", text.replace("\u00a0", " "))
    return all(close(said, values[name]) for said, name in zip(
        numbers.groups(), ("mean", "low", "high"), strict=True) if said is not None) and (
            (numbers[2] is None) == (values["low"] is None))


@EVERY
def test_the_figures_of_the_summary_are_those_of_the_findings(state):
    values = as_values(found_in(state))
    rows = list(read(state).one("section", id="found").one("tbody").all("tr"))
    family = {(t["subject"], t["answer"]): t for t in reversed(values["family"]["tests"])}
    for judge, row in zip(values["judges"], rows, strict=True):
        cell = {e.attrs["data-label"]: e for e in row.all("td")}
        main = {name: e.one("a").said for name, e in cell.items()}
        small_ = {name: "".join(s.said for s in e.all(cls="soft")) for name, e in cell.items()}
        test = family[judge["subject"], judge["answer"]]
        bonferroni, holm = re.split(r", ", main["Bonferroni, Holm"])
        assert is_p(main["omnibus p"], judge["omnibus"]["p"])
        assert is_p(bonferroni, test["bonferroni"]) and is_p(holm, test["holm"])
        assert close(main["RMS lean"], judge["rms_points"])
        if not judge["complete_blocks"]:
            assert not any(small_.values())
        else:
            assert close(small_["RMS lean"].removeprefix("noise under "),
                         judge["omnibus"]["null_95_points"])
            assert close(small_["blocks flagged"].removeprefix("by noise "),
                         judge["flags"]["expected"])
        assert main["blocks flagged"] == (f"{judge['flags']['count']} of"
                                          f" {judge['complete_blocks']}")
        assert is_interval(main["position bias"],
                           judge["position_by_decision"]["over_decisions"])
        assert main["lost"] == words.of(found_in(state).judged[
            rows.index(row)].losses.overall)


@EVERY
def test_the_figures_of_every_block_pair_and_decision_are_those_of_the_findings(state):
    for place, judge in enumerate(as_values(found_in(state))["judges"], 1):
        section = read(state).one("section", id=f"j{place}")
        lines = list(section.all(cls="lean"))
        blocks = [b for kind in ("matched", "identical") for b in judge["each_block"]
                  if b["condition"] == kind]
        groups = [e for e in lines if block_address(e)]
        assert len(groups) == len(blocks)
        for line, block in zip(groups, blocks, strict=True):
            lean, said = said_of(line)
            assert is_interval(lean, {"mean": block.get("lean_points"), "low": block.get("low"),
                                      "high": block.get("high")})
            p = re.search(r"\bp (\S+)", said)
            assert (p is None) == ("p_exact" not in block)
            assert p is None or is_p(p[1], block["p_exact"])
            assert ("flagged" in said) == bool(block.get("flagged"))
            assert is_drawn(line, block.get("lean_points"), bool(block.get("flagged")))
        means = [line for line in lines if not block_address(line)]
        decisions = list(judge["position_of_decisions"].values())
        wanted = [*judge["lean_by_pair"].values(), *decisions,
                  judge["position_by_decision"]["over_decisions"]]
        assert len(means) == len(wanted)
        for line, values in zip(means, wanted, strict=True):
            assert is_interval(said_of(line)[0], values)
            clear = None not in (values["low"], values["high"]) and not (
                values["low"] <= 0 <= values["high"])
            assert is_drawn(line, values["mean"], clear and values not in decisions)


def is_drawn(line, value, full):
    """A dot right of the middle for plus, a diamond left of it for minus; filled or not."""
    marks = list(line.all("use"))
    if value is None:
        return marks == []
    [mark] = marks
    [zero] = line.all("line", cls="zero")
    at, middle = (float(x.removesuffix("%")) for x in (mark.attrs["x"], zero.attrs["x1"]))
    shape = "#sa" if value > 0 else "#sb" if value < 0 else "#sz"
    return (mark.attrs["href"] == shape and (at - middle) * value >= 0
            and (value == 0 or abs(value) < 0.1 or at != middle) and mark.has(cls="full") == full)


def block_address(line):
    inner = [e.attrs["id"] for e in (line, *line.all(cls="cells")) if "id" in e.attrs]
    return inner[0] if inner else ""


def said_of(line):
    within = line.one("summary") if line.tag == "details" else line
    [figures] = within.all(cls="sum")
    lean, soft = [e for e in figures.within if isinstance(e, Element)]
    return lean.said, soft.said


@EVERY
def test_every_number_of_the_headline_is_a_finding(state):
    if state == "hostile":
        return
    values = list(figures(as_values(found_in(state))))
    known = {form(abs(v)) for v in values for form in (
        "{:.1f}".format, "{:g}".format, lambda v: words.p_value(v) if v <= 1 else "")}
    lost = {str(f.losses.overall.count + f.identical.asked) for f in found_in(state).judged}
    only = {f"{statements.only_number(f) or 0:g}" for f in found_in(state).judged}
    told = re.sub(r"judge\d", "", headline(state))
    for said in re.findall(r"\d\.\de-\d+|\d*\.\d+|\d+", told):
        assert said in known | lost | only | {"95", "100"}, (said, told)


def figures(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from figures(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from figures(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


# What single states say.


def shows(state):
    return " ".join(e.said for section in read(state).all("section", cls="arm")
                    for e in section.all("p")).replace("\u00a0", " ").replace("e−", "e-")


def headline(state):
    return read(state).one("h1").said.replace("\u00a0", " ").replace("e−", "e-")


def test_a_run_of_which_nothing_was_asked_says_so_and_nothing_else():
    assert headline("nothing asked") == "Nothing has been asked yet."
    assert "Nothing has been asked yet." in shows("nothing asked")
    assert "selected subset" not in html_of("nothing asked").lower()
    assert not list(read("nothing asked").all("details", cls="lean"))
    assert html_of("nothing asked").count("not asked") >= 8


def test_what_was_not_asked_is_no_loss_and_the_run_is_said_to_be_incomplete():
    said = shows("half asked")
    assert "The run is not complete: 48 calls were not made." in said
    assert "Nothing: all 16 replies of the matched condition gave a probability." in said
    assert "none is complete, so nothing can be said of labels" in said


@pytest.mark.parametrize("state, kind", [
    ("only errors", "error"), ("only cut off", "truncated"), ("only refused", "refused")])
def test_a_run_in_which_all_is_lost_names_how_and_finds_nothing(state, kind):
    assert headline(state) == f"judge0: no reply gave a probability (72 {kind})."
    assert "so nothing can be said of labels or of position" in shows(state)
    assert "Selected subset: more than 5% of the replies were lost in choice0 (24 of 24) and" \
           " choice1 (24 of 24)." in shows(state)
    assert f"48 of 48 replies of the matched condition gave no probability: 48 {kind}." in shows(
        state)


def test_a_null_is_said_as_a_null_with_its_numbers():
    said = headline("plain")
    assert re.fullmatch(r"judge0: no label effect was detected on these prompts \(RMS lean \S+"
                        r" points, noise alone stays under \S+ in 95 of 100, p \.\d+\);"
                        r" position bias of \S+ \[\S+, \S+\] points over two decisions is not told"
                        r" from zero\.", said), said
    assert "A missing flag does not show neutrality." in shows("plain")


def test_a_lean_is_said_with_its_size_the_noise_and_the_p_and_the_pair_that_leans():
    assert re.match(r"judge0: labels move answers \(RMS lean \d\.\d points, noise alone stays under"
                    r" \d\.\d in 95 of 100, p \S+\)", headline("leans"))
    assert re.search(r"Flagged: 1\d\.\d to Left0 over Right0 in choice0 and", shows("leans"))
    assert "answers lean to Left0 over Right0 by 1" in shows("leans")


def test_an_effect_that_the_declared_family_does_not_keep_is_said_to_be_in_doubt():
    def says(shown, draw):
        return str(45 + (0, 4, 8, 1, 6)[draw - 1] + 4 * (shown.label == "1"))

    # One block: p .018, three times that over a family of three.
    lone, many = (findings_of(made(says, small(decisions=1, kinds=1), draws=5,
                                   judges=(Judge(),) * n)) for n in (1, 3))
    assert statements.headline(lone)[0].startswith("judge0: labels move answers (RMS lean 2.0")
    assert all("labels may move answers" in text and "p .018, but .055 after Holm)" in text
               for text in statements.headline(many))
    assert "Labels may move answers" in statements.shows(many, many.judged[0])[0]


def test_of_many_judges_the_headline_names_those_that_stand_out():
    said = headline("six subjects")
    assert said.startswith("Of six subjects, labels move the answers of judge2 (RMS lean")
    assert re.search(r"Position bias is told from zero in [^.]*judge4 \(\+\d", said)
    assert "Of six subjects in two answer modes" in headline("six subjects in both modes")


def test_labels_that_help_one_description_and_hurt_the_other_are_not_called_a_null():
    assert "but labels shift answers in opposite ways for the two descriptions" in headline("turns")
    assert "a second test outside the declared family" in shows("turns")


def test_replies_that_are_all_one_number_show_nothing_and_are_not_called_neutral():
    assert headline("all fifty") == (
        "judge0: every reply of the matched condition is 50, whatever the labels; position bias is"
        " exactly 0 over two decisions.")
    assert "The identical condition measured nothing" in shows("all fifty")
    assert "every probability is 50: not informative" in read("all fifty").said
    assert "the option listed first is favoured by 20.0 points [20.0, 20.0] over two decisions" in (
        headline("all seventy"))


def test_a_judge_that_never_varies_is_read_by_its_points():
    assert "Replies to one prompt never differ, so many draws say no more than one." in shows(
        "deterministic")
    assert "so there is no noise to plant" in shows("deterministic")
    assert "Flagged: 6.0 to Left0 over Right0 in choice0" in shows("deterministic")


def test_one_decision_gives_a_position_and_no_interval():
    assert "points in one decision, which gives no interval" in headline("one decision")
    limits = read("one decision").one("section", id="limits").said
    assert ("One decision was asked about, and others may give other results. It has one wording"
            in limits)


def test_what_was_varied_is_named_and_its_effect_said():
    header = read("everything varied").one("header").said
    assert header.endswith("Also varied: the wording, the option asked about and the labels’ place"
                           " in the alphabet.")
    assert "nothing else" not in header
    for part in ("the option that the question names", "the one earlier in the alphabet",
                 "Position bias by wording: plain"):
        assert part in shows("everything varied")
    assert "--vary" not in read("everything varied").one("section", id="limits").said
    assert "a lean within one kind can make it alone" in shows("alphabet")


def test_blocks_of_several_wordings_stand_under_their_wording():
    section = read("wording").one("section", id="j1")
    assert [e.said for e in section.all("p", cls="wording")] == [
        "wording: plain", "wording: brief"] * 4
    assert not list(read("plain").all("p", cls="wording"))


def test_an_odds_ratio_without_end_is_printed_as_one():
    found = found_in("loses one label").judged[0].losses.differential
    assert found.odds_ratio == float("inf")
    assert re.search(r"odds ratio ∞ \[\d+\.\d+, ∞\], 95%", shows("loses one label"))
    assert "Losing a reply depends on the label listed first" in shows("loses one label")


@pytest.mark.parametrize("lost, banner", [(0, False), (1, False), (2, True)])
def test_one_lost_in_twenty_is_not_more_than_five_in_a_hundred(lost, banner):
    def says(shown, draw):
        fated = shown.decision == "choice1" and shown.described == "x" and shown.label == "1"
        if shown.content == "matched" and fated and draw <= lost:
            return "I would rather not say."
        return str(40 + draw)

    # One pair, four cells, five draws: 20 replies a decision.
    made_ = made(says, small(kinds=1), draws=5)
    [found] = [e.said for e in Element.of(page(*made_)).one("section", id="j1").all(
        "p", cls="banner")] or [""]
    assert (f"lost in choice1 ({lost} of 20)." in found) == banner
    assert bool(found) == banner


def test_one_decision_that_lost_replies_is_found_in_the_table_of_losses():
    rows = {row.one("th").said: [td.said for td in row.all("td")]
            for row in read("loses one label").one("section", id="j1").all("tr")
            if len(list(row.all("th"))) == 1}
    assert rows["choice0"][0] == "8 of 24"
    assert rows["description x first, first label first"][0] == "8 of 12"
    assert rows["description y first, second label first"][0] == "0 of 12"


def test_a_rerun_names_its_first_run_and_settings_and_engine_are_shown():
    subjects = [Subject("a", "b", "c", "openai", "http://localhost:1/v1",
                        {"temperature": 0.5, "max_tokens": 9}, {"weights": "abc"})]
    html = page(*made(subjects=subjects, declared={"rerun_of": "first & last"}))
    assert "A rerun of <code>first &amp; last</code>" in html
    assert "settings: max_tokens 9 · temperature 0.5" in html and "weights abc" in html


def test_tokens_and_cost_are_averages_over_the_calls_that_say():
    def says(shown, draw):
        return Completion("50", usage=Usage(10, 4, 2 if draw == 1 else None, 0.001))

    said = " ".join(e.said for e in Element.of(page(*made(says))).all("p"))
    assert ("72 calls say what they took: 10.0 prompt and 4.0 completion tokens each. Hidden"
            " reasoning: 2.0 tokens a call, over 24 calls that say. Cost, as the provider states"
            " it: $0.0720 over 72 calls.") in said


def test_the_proof_is_of_blocks_like_these_at_this_noise():
    found = found_in("everything varied")
    section = read("everything varied").one("section", id="j1").said
    assert f"Replies to one prompt differ by {found.judged[0].noise:.1f} points (SD)" in section
    assert "put through blocks like these 2 times" in section
    row = report.proof(asked("everything varied")[2], found.judged[0])
    # Two decisions, the first pair of each of two kinds, one wording; the leaning pair apart.
    assert row.flagged[8.0].n == 2 * 2 and row.false_flags.n == 2 * 2 * 2
    assert row.noise == round(found.judged[0].noise, 1)


# What there is no room for.


def test_a_huge_reply_is_cut_where_the_page_says_and_its_number_is_still_read():
    asked_ = made(huge)
    html = page(*asked_)
    said = len(huge(None, 1))
    assert len(html.encode()) < 10_000_000
    assert html.count(f"{said - LONGEST:,} more characters are on record") == 72
    numbers = Counter(e.said for e in Element.of(html).all("b") if e.inside("ul"))
    assert sum(numbers.values()) == 72


@pytest.mark.parametrize("judges", [1, 3])
def test_replies_for_which_there_is_no_room_are_counted_and_their_blocks_named(
    monkeypatch, judges
):
    asked_ = made(judges=(Judge(),) * judges)
    monkeypatch.setattr(report, "PAGE", 40_000 * judges)
    found = Element.of(page(*asked_))
    for place in range(1, judges + 1):
        section = found.one("section", id=f"j{place}")
        shown = len(list(section.all("ul", cls="draws"))) * 3
        notes = [e.said for e in section.all("p", cls="note")]
        note = re.match(r"The (\d+) replies of (\d+) blocks are left out, for a page has no room"
                        r" for them; their lines say so\. Every one: equipoise export 'a run'",
                        notes[0])
        assert 0 < shown < 72 and shown + int(note[1]) == 72
        named = [e for e in section.all("div", cls="bare") if "replies left out" in e.said]
        assert len(named) == int(note[2])
    links = {e.attrs["href"].removeprefix("#") for e in found.all("a")}
    assert links <= {e.attrs["id"] for e in found.all() if "id" in e.attrs}


def test_a_run_of_long_replies_stays_under_ten_megabytes_and_no_judge_takes_anothers_room():
    def says(shown, draw):
        return "<" * LONGEST + str(draw)

    html = page(*made(says, small((WORDING, ALPHABET), kinds=3), judges=(Judge(),) * 3))
    assert 1_000_000 < len(html.encode()) < 10_000_000
    found = Element.of(html)
    shown = [len(list(found.one("section", id=f"j{n}").all("ul", cls="draws"))) for n in (1, 2, 3)]
    assert shown[0] == shown[1] == shown[2] > 0


def test_nothing_is_left_out_where_there_is_room():
    for state in STATES:
        assert "left out" not in html_of(state)


# The same bytes.


def test_the_same_rows_give_the_same_bytes_whatever_order_they_were_asked_in():
    for state in ("two subjects", "both answer modes", "cuts one label"):
        run, registration, of, observations, head, instrument = asked(state)
        study = command.Study(registration, of, instrument, [])
        found = {command.page(run, study, observations, head)}
        shuffled = random.Random(state).sample(observations, len(observations))
        found.add(command.page(run, study, shuffled, head))
        assert found == {html_of(state)}


def test_the_same_rows_give_the_same_bytes_whatever_the_hashes_of_a_run():
    script = ("import hashlib, test_label_swap_page as t; t.report.PROOF_RUNS = 2;"
              "print(*(hashlib.sha256(t.page(*t.asked(s)).encode()).hexdigest()"
              " for s in ('two subjects', 'loses one label', 'hostile')))")
    said = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONHASHSEED": "4321", "PYTHONPATH": str(Path(__file__).parent),
             "TZ": "Asia/Tokyo", "LC_ALL": "C"}, cwd="/",
    ).stdout.split()
    here = [hashlib.sha256(html_of(state).encode()).hexdigest()
            for state in ("two subjects", "loses one label", "hostile")]
    assert said == here


# Hostile text, and a browser.


def hostile():
    """Every text a person or a model writes is hostile."""
    subjects = [Subject(name, f"model {name}", f"family {name}", "planted", name,
                        {name: name, "reasoning_effort": name}, {"weights": name})
                for name in NAMES]
    of = small((WORDING, ASKED), decisions=len(NAMES), kinds=len(NAMES), names=NAMES,
               wordings=("plain", "brief"))
    of = replace(of, decisions=dict(list(of.decisions.items())[:3]),
                 pairs=dict(list(of.pairs.items())[4:7]))
    return made(anything, of, subjects=subjects[:4], name=HOSTILE[1],
                declared={"rerun_of": HOSTILE[0]})


@cache
def hostile_page():
    return page(*hostile())


def test_hostile_words_in_replies_names_settings_and_a_suite_come_out_inert():
    html = hostile_page()
    found = Element.of(html)
    tags = {e.tag for e in found.all()}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}
    assert not [name for e in found.all() for name in e.attrs if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", html)
    assert "⟨U+202E⟩" in html and "⟨U+D800⟩" in html and "⟨U+0000⟩" in html
    assert "{{ 7 * 7 }}" in html and "A rerun of <code>&lt;script&gt;" in html
    assert all(e.attrs["href"].startswith("#") for e in found.all("a"))


@pytest.mark.parametrize("n", range(len(NAMES)), ids=lambda n: f"hostile{n}")
def test_a_suite_named_in_hostile_words_is_whole_on_the_page(n):
    """Each hostile text stands in every place a person can write it, and reads as itself."""
    of = small((WORDING,), decisions=1, kinds=1, names=(NAMES[n],))
    found = Element.of(page(*made(of=of, names=(NAMES[n],), name=NAMES[n])))
    said = found.said
    [decision] = of.decisions.values()
    [pair] = of.pairs.values()
    for text in (decision.name, decision.about, decision.x, *decision.wordings, *pair.labels,
                 NAMES[n]):
        assert bare(text) in said
    assert len(list(found.all("main"))) == 1 and found.one("main").one("section", id="again")


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()


@BROWSER
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_scrolls_nothing_sideways_loads_nothing_and_has_no_complaint(
    browser, tmp_path, width, scheme
):
    pages = {"hostile": hostile_page()}
    if scheme == "light":
        pages |= {state: html_of(state) for state in (
            "everything varied", "six subjects in both modes", "only errors")}
    for name, html in pages.items():
        place = tmp_path / f"{name}.html"
        write_whole(place, html)
        heard, requests = [], []
        shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        shown.on("console", lambda message, heard=heard: heard.append(message.text))
        shown.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
        shown.on("dialog", lambda dialog, heard=heard: heard.append(dialog.message))
        shown.on("request", lambda request, to=requests: to.append(request.url))
        shown.goto(place.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") == width, name
        shown.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert shown.evaluate("document.documentElement.scrollWidth") == width, name
        shown.close()
        assert heard == [] and requests == [place.as_uri()], name


@BROWSER
def test_a_link_opens_what_it_leads_to_and_shows_the_line_above_it(browser, tmp_path):
    place = tmp_path / "page.html"
    write_whole(place, html_of("two subjects"))
    for address, line in (("j1-m1-1", "Right0"), ("j2-i2-2", "Right1")):
        shown = browser.new_page(viewport={"width": 1280, "height": 800})
        shown.goto(f"{place.as_uri()}#{address}")
        found = shown.locator(f"#{address}")
        assert found.is_visible()
        assert shown.evaluate(
            "a => { let e = document.getElementById(a), all = [];"
            " while ((e = e.parentElement.closest('details'))) all.push(e.open);"
            " return all.length > 0 && all.every(Boolean) }", address)
        summary = shown.locator(f"details:has(> #{address}) > summary")
        assert line in summary.inner_text() and summary.bounding_box()["y"] >= 0
        shown.close()


@BROWSER
def test_marks_numbers_and_labels_do_not_run_into_each_other(browser, tmp_path):
    place = tmp_path / "page.html"
    write_whole(place, html_of("cuts one label"))
    for width in (360, 1280):
        shown = browser.new_page(viewport={"width": width, "height": 800})
        shown.goto(place.as_uri())
        overlaps = shown.evaluate("""() => {
          const boxes = (row) => [...row.children].map(e => e.getBoundingClientRect())
            .filter(b => b.width && b.height);
          const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
          return [...document.querySelectorAll('.lean > summary, .lean.bare')].filter(row => {
            const all = boxes(row);
            return all.some((a, i) => all.some((b, j) => i < j && over(a, b)));
          }).map(row => row.innerText);
        }""")
        assert overlaps == []
        shown.close()
