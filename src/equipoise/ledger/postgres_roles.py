"""Who may do what to a ledger in PostgreSQL: laid out by its owner, written by another role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from equipoise.ledger.place import Database
from equipoise.ledger.postgres_connection import connected, said_plainly
from equipoise.terms import Misuse

SCHEMA = (Path(__file__).parent / "postgres.sql").read_text(encoding="utf-8")
VERSION, OLDEST_SERVER = 1, 140_000
LABEL = re.compile(r"equipoise ledger (\d+)")
RECORD = ("dictionaries", "stimuli", "subjects", "requests", "entries", "words")
GRANTS = (
    "grant usage on schema ledger to {role}",
    *(f"grant select, insert on ledger.{table} to {{role}}" for table in RECORD),
    *(f"revoke update, delete, truncate, references, trigger on ledger.{table} from {{role}}"
      for table in RECORD),
    "grant execute on function ledger.forget(bigint) to {role}",
    "grant select, insert, update, delete on ledger.leases, ledger.teams, ledger.paces,"
    " ledger.caps, ledger.shares to {role}",
    "grant usage on sequence ledger.fences to {role}",
)


def lay_out(database: Database, app_role: str) -> list[str]:
    """Make the ledger's tables, owned by the role that connects, and let `app_role` append.

    Returns what was done, a sentence each. What is there already is left as it is. Raises Misuse
    where the database, its server or either role cannot hold a ledger.
    """
    done = []
    with said_plainly(database), connected(database) as db, db.transaction():
        _require_fit(db, database)
        if version_of(db) is None:
            db.execute(SCHEMA)
            done.append(f"Made the ledger's tables in {database}.")
        check_version(db, database)
        role = sql.Identifier(app_role)
        if db.execute("select 1 from pg_roles where rolname = $1", (app_role,)).fetchone() is None:
            db.execute(sql.SQL("create role {role} login").format(role=role))
            done.append(f"Made the role {app_role}, without a password.")
        for grant in GRANTS:
            db.execute(sql.SQL(grant).format(role=role))
        if too_strong := strength(db, app_role):
            raise Misuse(
                f"The role {app_role} {too_strong}, so it could change what is on record."
                " Name a role that owns nothing and is no superuser.", 2)
        done.append(f"The role {app_role} may read and append, and change nothing.")
    return done


def statements(app_role: str) -> str:
    """What `lay_out` does, as SQL for whoever runs the server."""
    quoted = '"' + app_role.replace('"', '""') + '"'
    grants = "".join(f"{grant.format(role=quoted)};\n" for grant in GRANTS)
    return f"begin;\n{SCHEMA}\ncreate role {quoted} login;\n{grants}commit;\n"


def _require_fit(db: psycopg.Connection, database: Database) -> None:
    if db.info.server_version < OLDEST_SERVER:
        raise Misuse(f"The server of {database} is PostgreSQL {db.info.server_version // 10_000};"
                     f" a ledger needs {OLDEST_SERVER // 10_000} or newer.", 2)
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Misuse(f"The database {database} is in {encoding}; a ledger needs UTF8. Make one with"
                     " `create database NAME encoding utf8 template template0`.", 2)


def version_of(db: psycopg.Connection) -> int | None:
    """The version of the ledger in a database, None where there is none; 0 where it is another's.
    """
    [label] = db.execute("select to_regnamespace('ledger') is not null, obj_description("
                         "to_regnamespace('ledger')::oid, 'pg_namespace')").fetchall()
    if not label[0]:
        return None
    found = LABEL.fullmatch(label[1] or "")
    return int(found[1]) if found else 0


def check_version(db: psycopg.Connection, database: Database) -> None:
    """Raises Misuse unless the database holds a ledger, and of a version that can be read."""
    version = version_of(db)
    if version is None:
        raise Misuse(f"There is no ledger in {database}. Its owner makes one with `equipoise ledger"
                     " init URL --app-role NAME`.", 2)
    if version == 0:
        raise Misuse(f"The schema `ledger` of {database} is not a ledger of equipoise. Name another"
                     " database.", 5)
    row = db.execute("select has_schema_privilege('ledger', 'usage')").fetchone()
    if row is None or not row[0]:
        raise Misuse(f"The role {db.info.user} may not use the ledger in {database}. Its owner"
                     " grants it with `equipoise ledger init URL --app-role NAME`.", 6)
    if version > VERSION:
        raise Misuse(f"The ledger {database} is of version {version}; this equipoise reads up to"
                     f" {VERSION}. Install a newer equipoise. Nothing was changed.", 5)


STRENGTH = (
    "select r.rolsuper, pg_has_role(r.oid, n.nspowner, 'member'),"
    " (select bool_or(pg_has_role(r.oid, c.relowner, 'member')) from pg_class c"
    "   where c.relnamespace = n.oid),"
    " (select bool_or(has_table_privilege(r.oid, c.oid, 'update, delete, truncate, trigger'))"
    "   from pg_class c where c.relnamespace = n.oid and c.relname = any($2))"
    " from pg_roles r, pg_namespace n where r.rolname = $1 and n.nspname = 'ledger'"
)


def strength(db: psycopg.Connection, role: str) -> str:
    """What a role can do to the record that an application must not; empty where it is nothing."""
    row = db.execute(STRENGTH, (role, list(RECORD))).fetchone()
    said = ("is a superuser", "owns the ledger", "owns the ledger's tables",
            "may update, delete or truncate the record")
    return next((why for why, so in zip(said, row or (), strict=False) if so), "")


@dataclass(frozen=True)
class Catalogue:
    """What guards a ledger, as the server describes it: triggers and indexes by name, functions
    by name with their text."""

    triggers: dict[str, str]
    indexes: dict[str, str]
    functions: dict[str, str]


def wanted() -> Catalogue:
    """What the schema's own text says there must be."""
    plain = re.sub(r"--[^\n]*", "", SCHEMA)
    triggers = re.findall(r"create (trigger (\w+) [^;]*);", plain)
    indexes = re.findall(r"create (unique index (one_\w+) [^;]*);", plain)
    functions = re.findall(r"create function ledger\.(\w+)\([^$]*\$\$(.*?)\$\$", SCHEMA, re.S)
    return Catalogue(
        {name: _squeezed(text) for text, name in triggers},
        {name: _squeezed(text) for text, name in indexes},
        dict(functions),
    )


def found(db: psycopg.Connection) -> Catalogue:
    """What there is, with a trigger that is switched off said to be so."""
    triggers = db.execute(
        "select tgname, pg_get_triggerdef(t.oid), tgenabled::text from pg_trigger t"
        " join pg_class c on c.oid = tgrelid where c.relnamespace = 'ledger'::regnamespace"
        " and not tgisinternal")
    indexes = db.execute(
        "select indexname, indexdef from pg_indexes where schemaname = 'ledger'"
        " and indexname like 'one\\_%'")
    functions = db.execute(
        "select proname, prosrc from pg_proc where pronamespace = 'ledger'::regnamespace")
    return Catalogue(
        {name: _squeezed(text.removeprefix("CREATE ")) + ("" if on == "O" else " off")
         for name, text, on in triggers},
        {name: _squeezed(text.removeprefix("CREATE ")) for name, text in indexes},
        dict(functions.fetchall()),
    )


def faults(db: psycopg.Connection) -> Iterator[str]:
    """What guards the record must be what this ledger was made with."""
    there, should = found(db), wanted()
    for kind in ("triggers", "indexes", "functions"):
        now, then = getattr(there, kind), getattr(should, kind)
        for name in sorted(now.keys() | then.keys()):
            if now.get(name) != then.get(name):
                yield (f"{kind[:-1] if kind != 'indexes' else 'index'} {name} is not as the ledger"
                       " was made (missing, added, changed or switched off)")
    owner, members = db.execute(
        "select count(distinct relowner), bool_and(relkind in ('r','i','S','t')) from pg_class"
        " where relnamespace = 'ledger'::regnamespace").fetchone() or (0, False)
    if owner != 1 or not members:
        yield "the ledger's tables have several owners, or views stand among them"


def _squeezed(text: str) -> str:
    """A definition without what servers and people write differently: case, spaces, brackets."""
    text = text.lower().replace("using btree", "").replace("::text", "").replace("ledger.", "")
    text = re.sub(r"= any \(array\[(.*?)\]\)", r"in \1", text)
    return re.sub(r"[\s()]+", " ", text).replace(", ", ",").strip()
