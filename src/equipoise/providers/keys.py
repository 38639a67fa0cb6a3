"""API keys: where one comes from, where it goes, and how it is kept out of all that is written."""

from __future__ import annotations

import base64
import html
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from equipoise.terms import Fault, Misuse, Reply

STRUCK_OUT = b"[key struck out]"
ESCAPE = re.compile(rb"[%\\&]")
SHORTEST_SECRET = 8
"""What is shorter is a stand-in such as `none`, and may be an answer: it is left in replies."""


OWN_KEYS: Mapping[str, str] = {
    "api.openai.com": "OPENAI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
}
"""The variable that holds the key of a host, which goes to that host alone and only under TLS."""

ANY_KEY = "EQUIPOISE_API_KEY"


def key_variable(base_url: str) -> str:
    """The environment variable that a server's key is in unless a subject names another.

    >>> key_variable("https://api.anthropic.com"), key_variable("http://api.anthropic.com")
    ('ANTHROPIC_API_KEY', 'EQUIPOISE_API_KEY')
    """
    parts = urlsplit(base_url)
    return OWN_KEYS.get(parts.hostname or "", ANY_KEY) if parts.scheme == "https" else ANY_KEY


def key_for(base_url: str, name: str = "") -> str | None:
    """The API key for a server, from the environment variable `name`.

    Without a name, from the variable of the server's own host, and EQUIPOISE_API_KEY for any
    other, so that no key reaches a host it was not meant for. Where the variable with _FILE
    after its name is set instead, the key is what that file holds. Raises Misuse for a file that
    others may read, and where there is no key though `name` or the host wants one.
    """
    variable = name or key_variable(base_url)
    key = os.environ.get(variable) or _in_file(variable)
    if not key and variable != ANY_KEY:
        raise Misuse(f"The environment variable {variable}, which is to hold the key for"
                     f" {base_url}, is not set. Set it, or {variable}_FILE to a file of it.", 4)
    return key


def _in_file(variable: str) -> str | None:
    """The key in the file that the variable's namesake with _FILE names, if it is set."""
    named = os.environ.get(f"{variable}_FILE")
    if not named:
        return None
    try:
        with Path(named).expanduser().open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise Misuse(f"The key in {named} can be read by others (mode {mode:04o}). Run"
                             f" `chmod 600 {named}`.", 4)
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"The key in {named}, which {variable}_FILE names, cannot be read:"
                     f" {getattr(error, 'strerror', None) or error}.", 4) from None


def environment_secrets() -> tuple[str, ...]:
    """What the environment holds as keys and tokens: where another sends them, none is written."""
    return tuple(value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN")))


def bearer(key: str | None) -> Mapping[str, str]:
    """The header that most servers want a key in."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def credential(key: str | None) -> str | None:
    """The key as it can stand in a header: without the line end that a file leaves on it."""
    key = (key or "").strip()
    if any(not "!" <= c <= "~" for c in key):
        raise Misuse(
            "The API key holds a space or a character outside ASCII, which no header can carry."
            " Copy it again.", 4
        )
    return key or None


def struck_out(outcome: Reply | Fault, key: str | None) -> Reply | Fault:
    """The outcome without the key, should a server send it back, plain or encoded.

    >>> struck_out(Reply(b"bad key sk-12345"), "sk-12345").body
    b'bad key [key struck out]'
    """
    if not key or len(key) < SHORTEST_SECRET:
        return outcome
    if isinstance(outcome, Fault):
        return replace(outcome, detail=_strike(key, outcome.detail))
    body, headers = _strike_bytes(key, outcome.body), outcome.headers
    if (said := "\n".join(map(": ".join, headers))) != _strike(key, said):
        headers = tuple((_strike(key, name), _strike(key, value)) for name, value in headers)
    return Reply(body, outcome.status, headers, outcome.seconds)


def _strike(key: str, text: str) -> str:
    struck = _strike_bytes(key, text.encode("utf-8", "surrogatepass"))
    return struck.decode("utf-8", "surrogatepass")


def _strike_bytes(key: str, text: bytes) -> bytes:
    for form in _forms(key):
        if form in text:
            text = text.replace(form, STRUCK_OUT)
    if ESCAPE.search(text):
        for pattern in _escaped_forms(key):
            text = pattern.sub(STRUCK_OUT, text)
    return text


@lru_cache(maxsize=16)
def _forms(key: str) -> tuple[bytes, ...]:
    """What gives a key away, longest first: plain, reversed, in hex or base64, and its ends.

    In base64 the same bytes read in three ways, by where in the text they stand; the characters
    that neighbours share are left off.
    """
    raw = key.encode()
    forms = {raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode()}
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + raw)
        inner = encoded[(0, 2, 3)[shift] : 8 * (shift + len(raw)) // 6]
        forms |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    if len(raw) >= 3 * SHORTEST_SECRET:
        forms |= {raw[:SHORTEST_SECRET], raw[-SHORTEST_SECRET:]}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


@lru_cache(maxsize=16)
def _escaped_forms(key: str) -> tuple[re.Pattern[bytes], ...]:
    """The same, with any character escaped as an address, JSON or HTML may escape it."""
    return tuple(re.compile("".join(map(_escaped, form.decode())).encode()) for form in _forms(key))


def _escaped(character: str) -> str:
    code, plain = ord(character), re.escape(character)
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{code:02x}")
    named = html.escape(character).removeprefix("&") if character in "&<>\"'" else ""
    entity = rf"&(?:#{code};|#[xX]0*{digits};{'|' + named if named else ''})"
    return rf"(?:{plain}|%{digits}|\\+(?:u00{digits}|{plain})|{entity})"
