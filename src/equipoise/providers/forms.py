"""Replies as typed forms: read strictly, then once more without what is odd but not needed."""

from __future__ import annotations

import json
import math
from types import UnionType
from typing import Any, ClassVar, TypeVar, get_args, get_origin

import msgspec

F = TypeVar("F", bound="Form")


class Form(msgspec.Struct, gc=False):
    """An object of a reply; what `needed` names is never left out for being odd."""

    needed: ClassVar[frozenset[str]] = frozenset()


class Unreadable(Exception):
    """Bytes that do not say what their form says."""


def read(body: bytes, decoder: msgspec.json.Decoder[F]) -> F:
    """What the bytes say in the decoder's form.

    A body that the strict decoder refuses is looked at again: it may escape lone surrogates
    (valid JSON, though no valid Unicode), begin with a byte-order mark, or hold beside its words
    a field in a form of its own, which is left out. Raises Unreadable, and nothing else.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        try:
            said = json.loads(body.decode("utf-8-sig"), parse_int=_number)
            found: F = msgspec.convert(_fitting(said, decoder.type), decoder.type)
        except (ValueError, TypeError, RecursionError):
            raise Unreadable(str(error)) from None
        return found


def _fitting(said: Any, kind: Any) -> Any:
    """A value without the fields, at any depth, that its form cannot take and does not need.

    Raises ValueError where a needed field does not fit.
    """
    form = _one_of(kind, said)
    if isinstance(said, list) and get_origin(form) is list:
        return [_fitting(part, get_args(form)[0]) for part in said]
    if not isinstance(said, dict) or not _is_form(form):
        return said
    kept = {}
    for part in msgspec.structs.fields(form):
        if part.encode_name not in said:
            continue
        value = _fitting(said[part.encode_name], part.type)
        if part.encode_name in form.needed or _fits(value, part.type):
            kept[part.encode_name] = value
    return kept


def _one_of(kind: Any, said: Any) -> Any:
    """Of a union, the form that an object is in or the list that a list is; else the kind."""
    if not isinstance(kind, UnionType) and get_origin(kind) is None:
        return kind
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    for one in kinds:
        if isinstance(said, dict) and _is_form(one):
            return one
        if isinstance(said, list) and get_origin(one) is list:
            return one
    return None


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Form)


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (ValueError, RecursionError):
        return False
    return True


def _number(digits: str) -> float:
    return int(digits) if len(digits) < 30 else float(digits)


def total(*counts: int | None) -> int | None:
    """The sum of the counts that are stated; None where none is, or one cannot be a count.

    >>> total(3, None, 4), total(None), total(3, -1)
    (7, None, None)
    """
    stated = [count for count in counts if count is not None]
    return sum(stated) if stated and min(stated) >= 0 else None


def finite(number: float | None) -> float | None:
    """The number, unless it is not one or without end."""
    return number if number is not None and math.isfinite(number) else None
