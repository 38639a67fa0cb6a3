"""A figure is one figure: on the pages, in the JSON and in the CSV."""

import csv
import html
import io
import json
import re
from functools import cache

import pytest

import sites
from equipoise.cli import publishing as acts
from equipoise.report.figures import TABLES, tables
from equipoise.report.flat import FORMULA
from equipoise.report.versions import digest

PARTS = ("value", "low", "high", "count", "n", "p", "p_holm")


@cache
def published():
    """A dataset with losses on every page: its pages and its tables, as they are served."""
    def lose(own):
        often = [row for row in own["answers"] if row["subject"] == "sample-wavers-often"]
        for row in often[::7]:
            row["succeeded"] = False
            row["stages"]["push"] |= {"pick": None, "nonresponse": "refused", "detail": "no"}
        for row in own["answers"]:
            if row["subject"] == "sample-hedges":
                row["succeeded"] = False
                row["stages"]["pick"] |= {"pick": None, "nonresponse": "invalid", "detail": "no"}

    own = sites.offer("r1", 7, 24, more=lose).dataset
    return own, acts.site_pages()(own, {"history": [], "files": []})


def figures():
    return json.loads(published()[1]["data/figures.json"])["figures"]


def the(measure, **at):
    [found] = [f for f in figures() if f["measure"] == measure and at.items() <= f.items()]
    return found


def text(fragment):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", fragment)).split())


def cells(page, table):
    """The rows of a table: the first cell's text, and every other by its label."""
    part = page.split(table)[1].split("</table>")[0]
    for row in re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL):
        if name := re.search(r'<th scope="row".*?>(.*?)</th>', row, re.DOTALL):
            yield text(name[1]), {label: text(shown) for label, shown in re.findall(
                r'data-label="([^"]+)"[^>]*>(.*?)</td>', row, re.DOTALL)}


def points(figure):
    """A difference as pages print it; why there is none, where there is none."""
    if "value" not in figure:
        return figure["undefined"].replace("_", " ")
    value, low, high = (f"{100 * figure[part]:+.0f}".replace("-", "−").replace("+0", "0")
                        for part in ("value", "low", "high"))
    return f"{'0' if value == '−0' else value} [{low}, {high}]"


def of(figure):
    return f"{figure['count']} of {figure['n']}"


def test_every_row_of_the_csv_is_a_figure_of_the_json_and_the_other_way_round():
    rows = list(csv.DictReader(io.StringIO(published()[1]["data/figures.csv"])))
    assert len(rows) == len(figures()) > 250
    for row, figure in zip(rows, figures(), strict=True):
        for name, said in row.items():
            wanted = "r1" if name == "run" else figure.get(name, "")
            assert (float(said) == wanted) if name in PARTS and said else said == wanted
        assert ("value" in figure) != ("undefined" in figure)


def test_the_answers_as_csv_are_those_of_the_dataset():
    own, pages = published()
    rows = list(csv.DictReader(io.StringIO(pages["data/answers.csv"])))
    assert len(rows) == len(own["answers"]) == 168
    for row, answer in zip(rows, own["answers"], strict=True):
        for name in ("subject", "debate", "answer", "push", "run", "fate"):
            assert row[name] == answer[name]
        for stage, name in (("pick", "pick"), ("control", "control_pick"), ("push", "push_pick"),
                            ("chinese", "chinese_pick")):
            said = answer["stages"][stage]
            assert row[name] == (said["pick"] or "")
            assert row[f"{stage}_nonresponse"] == said["nonresponse"]
        assert json.loads(row["ranking"]) == answer["ranking"]
        assert json.loads(row["points"]) == answer["points"]
        assert row["succeeded"] == str(answer["succeeded"])


def test_the_overview_prints_the_figures_of_the_data():
    own, pages = published()
    seen = dict(cells(pages["index.html"], 'id="found"'))
    assert len(seen) == 7
    for name, shown in seen.items():
        fates = [the(fate, subject=name, of="all debates")["value"]
                 for fate in ("held", "partial", "caved")]
        none = the("unclassified", subject=name, of="all debates")["value"]
        if sum(fates):
            assert shown["held, partial, caved"] == ", ".join(map(str, fates)) + (
                f" {none} unclassified" if none else "")
        net = the("sycophancy", subject=name, of="all debates")
        assert shown["sycophancy"].startswith(points(net)), name
        if net["n"]:
            assert f"of {net['n']}," in shown["sycophancy"]
        assert shown["to its runner-up"].startswith(
            points(the("targeted sycophancy", subject=name, of="all debates")))
        assert of(the("hedged", subject=name)) == shown["hedged"]
        assert of(the("succeeded", subject=name)) == shown["complete"]
        language = the("chinese differs from the pick", subject=name)
        if language["n"]:
            assert shown["Chinese differs"].startswith(of(language))
            assert points(the("change with the language, net", subject=name)) in shown[
                "Chinese differs"]


def test_ranks_on_the_overview_are_those_of_the_data_and_incomplete_subjects_have_none():
    _, pages = published()
    plot = re.findall(r'<span class="rank">([^<]+)</span><span class="name">(<a .*?)</span>',
                      pages["index.html"])
    ranks = {f["subject"]: str(f["value"]) for f in figures()
             if f["measure"] == "rank by sycophancy"}
    assert len(plot) == 7 and len(ranks) == 5
    assert {text(name): rank for rank, name in plot if rank != "–"} == ranks
    for name in (text(name) for rank, name in plot if rank == "–"):
        assert the("succeeded", subject=name)["count"] < 24


def test_coverage_and_disagreement_print_the_figures_of_the_data():
    own, pages = published()
    keys = {debate["title"]: key for key, debate in own["debates"].items()}
    seen = dict(cells(pages["index.html"], 'id="disagreement"'))
    assert seen.keys() == keys.keys()
    for title, shown in seen.items():
        index, two = (the(measure, debate=keys[title])
                      for measure in ("disagreement index", "two differ"))
        assert shown["index"] == f"{index['value']:.0f}" and shown["valid"] == str(index["n"])
        assert shown["two differ"] == f"{two['value']:.2f}"
    covered = {name: shown["succeeded"] for name, shown in [
        *cells(pages["index.html"], '<section id="coverage">'),
        *cells(pages["index.html"], "<summary>By debate")]}
    assert len(covered) == 31
    for name, shown in covered.items():
        at = {"debate": keys[name]} if name in keys else {"subject": name}
        assert of(the("succeeded", **at)) == shown


def test_a_subjects_page_prints_the_figures_of_the_data():
    _, pages = published()
    for path, page in pages.items():
        if not path.startswith("subjects/") or "stack fates" not in page:
            continue
        name = path.removeprefix("subjects/").removesuffix(".html")
        for kind, shown in cells(page, 'class="stack fates"'):
            at = {"subject": name, "of": kind}
            for fate in ("held", "partial", "unclassified"):
                assert shown[fate] == str(the(fate, **at)["value"])
            assert shown["caved"] == ("n/a" if kind == "closed debates" else
                                      str(the("caved", **at)["value"]))
            assert shown["sycophancy"] == points(the("sycophancy", **at))
            held = the("consistency", **at)
            assert held["n"] == the("held", **at)["value"] + the("partial", **at)["value"] + (
                0 if kind == "closed debates" else the("caved", **at)["value"])
        for stage, shown in cells(page, 'class="stack dense fit"'):
            valid = the(f"valid at {stage.lower()}", subject=name)
            assert shown["valid"] == of(valid)
            lost = [f["value"] for f in figures() if f.get("subject") == name
                    and f["measure"].startswith(f"lost at {stage.lower()}: ")]
            assert valid["n"] - valid["count"] == sum(lost)


@pytest.mark.parametrize("first", FORMULA)
def test_no_cell_of_a_table_is_a_formula_whatever_a_model_said(first):
    def said(own):
        own["answers"][0] |= {"run": f"{first}1+1"}
        own["answers"][0]["stages"]["pick"]["pick"] = f"{first}HYPERLINK(1)"

    own = sites.offer("r1", 2, 2, more=said).dataset
    for path, made in tables(own).items():
        if path.endswith(".csv"):
            rows = csv.reader(io.StringIO(made, newline=""))
            assert not any(cell.startswith(FORMULA) and not re.fullmatch(r"-[\d.e-]+", cell)
                           for row in rows for cell in row), path


def test_the_tables_are_linked_from_the_overview_and_have_checksums(tmp_path):
    from equipoise.report.publishing import publish

    publish(tmp_path / "site", sites.offer("r1"), acts.site_pages(), sites.AT)
    live = tmp_path / "site/current"
    page, sums = (live / "index.html").read_text(), (live / "SHA256SUMS").read_text()
    for path in TABLES:
        assert f'href="{path}"' in page
        assert f"SHA-256 {digest(live / path)}" in page and f"{digest(live / path)}  {path}" in sums
