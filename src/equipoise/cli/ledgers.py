"""The acts behind `ledger copy` and `ledger init`."""

from __future__ import annotations

from equipoise.cli.proving import DIFFERENT
from equipoise.cli.screen import emit, emit_json, say
from equipoise.ledger import Database, Where, copy, verify
from equipoise.terms import Misuse


def copied(source: Where, target: Where, as_json: bool) -> None:
    """Copy a ledger and derive the copy's chain again; raises Misuse (exit 10) where it differs."""
    head = copy(source, target)
    found = verify(target, head)
    if as_json:
        emit_json({"head": str(head), "rows": found.rows, "faults": list(found.faults)})
    if found.faults:
        raise Misuse(f"The copy {target} does not hold in {len(found.faults):,} places, the first:"
                     f" {found.faults[0]}. Run `equipoise verify` on both.", DIFFERENT)
    if not as_json:
        emit(f"{found.rows:,} entries in {target}, derived again\nhead {head}")


def laid_out(database: Where, app_role: str, as_sql: bool) -> None:
    """Make a ledger in a database, or print how."""
    if not isinstance(database, Database):
        raise Misuse(f"{database} is a file, which needs no making. Wanted"
                     " postgresql://OWNER@HOST/DATABASE.")
    from equipoise.ledger.postgres_roles import lay_out, statements

    if as_sql:
        emit(statements(app_role), end="")
        return
    for line in lay_out(database, app_role):
        say(line)
    say("Runs name it with --ledger, as that role.")
