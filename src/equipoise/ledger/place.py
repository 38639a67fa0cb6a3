"""Where a ledger lies: a file on this machine, or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

from equipoise.terms import Misuse

SCHEMES = ("postgresql://", "postgres://")
SECRETS = ("password", "sslpassword")
INSTEAD = ("Leave it out of the URL, and set PGPASSWORD, or keep it in ~/.pgpass or in a service"
           " file.")


class Unreadable(Misuse):
    """Rows that a database should hold and could not give."""


@dataclass(frozen=True)
class Database:
    """A PostgreSQL database that holds a ledger; `shown` is its URL without a password."""

    shown: str
    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.shown

    @property
    def secret(self) -> bool:
        """Whether the URL holds a password."""
        return self.shown != self.url


Where: TypeAlias = Path | Database


def place(text: str, *, hidden: bool = False) -> Where:
    """The place a text names: a file's path, or a URL that begins with postgresql://.

    Raises Misuse for a URL that holds a password, unless it comes from where nobody reads over
    a shoulder (`hidden`: an environment variable), and for one that cannot be read.

    >>> place("lab/ledger.db").name
    'ledger.db'
    """
    if not text.startswith(SCHEMES):
        return Path(text)
    said = parts(text)
    if not any(said.get(name) for name in SECRETS):
        return Database(text, text)
    if not hidden:
        raise Misuse("The ledger's URL holds a password, which others could read from the command"
                     f" line or its history. {INSTEAD}")
    return Database(without_password(text), text)


def parts(url: str) -> Mapping[str, object]:
    """What a URL says, by name; raises Misuse for one that cannot be read."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise Misuse("A ledger in PostgreSQL needs psycopg: install equipoise[postgres]."
                     ) from error
    try:
        return conninfo_to_dict(url)
    except ProgrammingError:
        raise Misuse("The ledger's URL cannot be read: wanted postgresql://ROLE@HOST:PORT/DATABASE,"
                     " with further settings as ?sslmode=verify-full.") from None


def without_password(url: str) -> str:
    """The URL with its password taken out.

    >>> without_password("postgresql://ann:pw@db/lab?password=pw&sslmode=require")
    'postgresql://ann@db/lab?sslmode=require'
    """
    split = urlsplit(url)
    user, at, host = split.netloc.rpartition("@")
    kept = [one for one in split.query.split("&")
            if one and one.partition("=")[0] not in SECRETS]
    return urlunsplit(split._replace(netloc=user.partition(":")[0] + at + host,
                                     query="&".join(kept)))
