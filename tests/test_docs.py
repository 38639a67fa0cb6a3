"""The pages of docs/ say what the code does."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md",
         ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_what_the_code_now_makes(name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == generate.PAGES[name](), f"docs/{name} is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


WRITTEN = [page for page in PAGES if page.name not in generate.PAGES]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_command_a_page_names_is_one(page):
    from equipoise.cli.app import app

    known = set(app.commands)
    text = page.read_text(encoding="utf-8")
    for word in re.findall(r"\bequipoise ([a-z][a-z-]+)", " ".join(re.findall(r"`[^`]+`", text))):
        assert word in known, f"{page.name} names `equipoise {word}`"


def test_every_make_verb_a_page_names_is_one():
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for verb in re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8")):
            assert verb in verbs, f"{page.name} names `make {verb}`"


def test_every_dependency_has_a_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = (ROOT / "docs/decisions/0001-what-we-depend-on.md").read_text(encoding="utf-8")
    named = [*project["dependencies"], *project["optional-dependencies"]["local"]]
    for dependency in named:
        name = re.match(r"[a-zA-Z0-9_-]+", dependency)[0]
        assert f"| {name} " in reasons, f"{name} has no line in docs/decisions"


def test_no_page_holds_a_figure_still_to_be_filled_in():
    for page in PAGES:
        assert not re.search(r"\b(DEMO|BENCH|SOAK)[A-Z]+\b|\bTODO\b", page.read_text("utf-8")), page
