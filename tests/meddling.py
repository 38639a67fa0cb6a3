"""Somebody past the triggers: changes rows of a ledger as the file's or the server's owner can."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg

from equipoise.ledger import Ledger
from equipoise.ledger.chain import head_file

TABLES = ("entries", "words", "requests", "subjects", "stimuli", "dictionaries")


def rows(where, ask, given=()):
    """What a ledger answers, as its readers are answered."""
    ledger = Ledger.open(where, read_only=True)
    try:
        return list(ledger.store.rows(ask, given))
    finally:
        ledger.close()


def everything(where):
    return [rows(where, f"select * from {table} order by 1") for table in TABLES]


def owner(where):
    """A connection that may do anything: to the file, or as the server's superuser."""
    if isinstance(where, Path):
        return apsw.Connection(str(where))
    return psycopg.connect(
        where.url.replace("postgresql://app@", "postgresql://postgres@"), autocommit=True,
        options="-c search_path=ledger")


@contextmanager
def past_the_triggers(where):
    """Statements that no trigger stops, and that leave none missing."""
    db = owner(where)
    if isinstance(where, Path):
        schema = list(db.execute("select name, sql from sqlite_schema where type = 'trigger'"))
        for name, _ in schema:
            db.execute(f"drop trigger {name}")
        yield db
        for _, statement in schema:
            db.execute(statement)
    else:
        db.execute("set session_replication_role = replica")
        yield db
    db.close()


def changed(db, statement):
    """Carry a statement out; whether it changed anything."""
    if isinstance(db, psycopg.Connection):
        return db.execute(statement).rowcount > 0
    before = db.total_changes()
    db.execute(statement)
    return db.total_changes() > before


@contextmanager
def as_it_was(where, folder):
    """A ledger to meddle with; the one at `where` is as it was afterwards."""
    if isinstance(where, Path):
        copy = folder / "meddled" / where.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(where, copy)
        shutil.copy(head_file(where), head_file(copy))
        yield copy
        shutil.rmtree(copy.parent)
        return
    with past_the_triggers(where) as db:
        for table in TABLES:
            db.execute(f"create temp table kept_{table} as table ledger.{table}")
        yield where
        for table in TABLES:
            db.execute(f"truncate ledger.{table}")
            db.execute(f"insert into ledger.{table} table kept_{table}")
