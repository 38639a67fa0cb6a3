"""docs/faults.md names tests that there are, and leaves no row out."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs/faults.md").read_text(encoding="utf-8")
ROWS = [*(f"A{n}" for n in range(1, 15) if n != 7), *(f"B{n}" for n in range(1, 14)),
        *(f"J{n}" for n in range(1, 4))]
"""A7, a database server that goes away, stands with PostgreSQL's own tests."""


def named_in(file):
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_page_names_is_one():
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 50
    assert [f"{file}::{name}" for file, name in named if name not in named_in(file)] == []


def test_every_row_has_its_promise_and_its_test():
    found = {row.split("|")[1].strip(): row for row in PAGE.splitlines() if row.startswith("| ")}
    assert [row for row in ROWS if row not in found] == []
    for row in ROWS:
        assert "::test_" in found[row] and len(found[row].split("|")) == 7, row
