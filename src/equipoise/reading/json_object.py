"""One JSON object, as its contract has it: read strictly, and never repaired."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from equipoise.reading.folding import fold
from equipoise.reading.patterns import REFUSAL
from equipoise.reading.placeholders import declines, stands_in
from equipoise.reading.thinking import spoken
from equipoise.terms import Completion, Misuse, Nonresponse, Reader, Reading

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,),
    "object": (dict,), "array": (list,),
}
LONGEST, LONGEST_SENT, DEEPEST = 200_000, 300_000, 64
FENCE = re.compile(r"```[ \t]*[\w+-]{0,20}[ \t]*\r?\n?")
SINGLE = re.compile(r"\{(?:'[^'\"\\\n]{0,2000}'|[\s,:\d.\[\]]){1,400}\}")
WIDE = str.maketrans("：，｛｝［］“”„‟＂", ":,{}[]\"\"\"\"\"")


BARE_KEY = re.compile(r"([{,]\s{0,99})([A-Za-z_]\w{0,40})(?=\s{0,99}:)")
DISOWNS = re.compile(
    r"\b(?:not|never|isn't|wouldn't|won't|don't|if(?! i (?:had|have|must|need)| you (?:ask|"
    r"insist))|unless|suppose|"
    r"you (?:could|can|might|may|should)|pas|jamais|si|imagine)\b|不是|不会|不要|别|如果|假如"
)
EXAMPLE = re.compile(
    r"\b(?:for example|example|for instance|e\.g|such as|par exemple|exemple|instead of|"
    r"rather than|"
    r"au lieu de|plutot que)\b|例如|比如|示例"
)


class _Fault(Exception):
    """A named fault of a reply against its contract."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule, self.detail = rule, detail


def json_object(required: Mapping[str, str]) -> Reader[dict[str, Any]]:
    """A reader of the one JSON object a reply holds; `required` maps keys to type names.

    Types are string, number, integer, boolean, object and array; keys beyond those required
    are kept. Words and code fences round the object are left out (`object-in-prose`); where
    there is no object otherwise, full-width and curly marks are taken as JSON's own
    (`wide-marks`), and so are single ones (`single-quotes`) and keys without quotes
    (`bare-keys`). Whatever breaks the contract is `invalid` with the fault named: nothing is
    repaired, no brace closed, no comma dropped, no `True` taken for `true`. An object that
    its sentence disowns, and a string that only holds an answer's place, are no answers.

    >>> read = json_object({"pick": "string"})
    >>> read(Completion('Here: {"pick": "Jordan"}'))
    Reading(value={'pick': 'Jordan'}, rule='object-in-prose', span=(6, 24))
    >>> read(Completion('{"pick": null}')).value
    Nonresponse(kind='invalid', detail="'pick' is null, wanted string")
    """
    unknown = sorted(set(required.values()) - set(TYPES))
    if unknown:
        raise Misuse(f"no such type: {', '.join(unknown)}; there are {', '.join(TYPES)}")

    def read(completion: Completion) -> Reading[dict[str, Any]]:
        if completion.finish == "length":
            return Reading(Nonresponse("truncated", "stopped at the token limit"), "cut-off")
        if completion.finish == "filter":
            return Reading(Nonresponse("refused", "stopped by a filter"), "filtered")
        if len(completion.text) > LONGEST_SENT:
            return Reading(Nonresponse("invalid", f"over {LONGEST_SENT} characters"), "too-long")
        start, end, finished = spoken(completion.text)
        if not finished:
            return Reading(Nonresponse("truncated", "stopped while thinking"),
                           "unfinished-thinking")
        proper = completion.text[start:end]
        try:
            value, rule, (first, last) = _found(proper)
            if rule == "object-in-prose":
                _owned(proper, first, last)
            rule = _check(value, required) or rule
        except _Fault as fault:
            return _faulty(proper, fault)
        return Reading(value, rule, (start + first, start + last))

    return read


def json_contract(contract: str) -> dict[str, str]:
    """The keys and types of a contract as a corpus line writes it.

    >>> json_contract('{"pick": string, "points": object}')
    {'pick': 'string', 'points': 'object'}
    """
    pairs = re.findall(r'"([^"]+)"\s*:\s*([a-z]+)', contract)
    if not pairs:
        raise Misuse(f"{contract!r} is no contract: wanted one like '{{\"pick\": string}}'")
    return dict(pairs)


def _faulty(proper: str, fault: _Fault) -> Reading[dict[str, Any]]:
    if fault.rule == "refusal":
        return Reading(Nonresponse("refused", fault.detail), "refusal")
    if fault.rule == "no-object" and REFUSAL.search(fold(proper[:4000]).text):
        return Reading(Nonresponse("refused"), "refusal")
    return Reading(Nonresponse("invalid", fault.detail), fault.rule)


def _found(proper: str) -> tuple[dict[str, Any], str, tuple[int, int]]:
    """The one object in the text, the rule that let it be found, and where."""
    if len(proper) > LONGEST:
        raise _Fault("too-long", f"longer than {LONGEST} characters")
    if not proper.strip():
        raise _Fault("no-object", "nothing was said")
    inner = _quoted(proper.strip())
    if inner is not None:
        value, _, _ = _decoded(inner, max(0, _opening(inner)), "quoted-object")
        return value, "quoted-object", (0, len(proper))
    first = _opening(proper)
    if first < 0 or (first != 0 and proper[:first].strip()[-1:] in ('"', "“") and
                     proper.lstrip()[:1] in ('"', "“")):
        wide = proper.translate(WIDE)
        if wide == proper or _opening(wide) < 0:
            raise _Fault("no-object", "no JSON object")
        return _decoded(wide, _opening(wide), "wide-marks")
    try:
        return _decoded(proper, first, "")
    except _Fault as fault:
        if fault.rule == "not-json" and SINGLE.fullmatch(proper[first:].rstrip("` \n")):
            return _decoded(proper.replace("'", '"'), first, "single-quotes")
        bare = _keyed(proper)
        if fault.rule == "not-json" and bare != proper and '"' not in proper[:first]:
            value, _, span = _decoded(bare, first, "bare-keys")
            return value, "bare-keys", (span[0], span[1] - len(bare) + len(proper))
        wide = _widened(proper)
        if fault.rule != "not-json" or wide == proper:
            raise
        return _decoded(wide, first, "wide-marks")


def _quoted(text: str) -> str | None:
    """The text inside a reply that is one JSON string holding an object; None if it is not."""
    if not text.startswith('"{') or len(text) > LONGEST:
        return None
    try:
        inner = json.loads(text)
    except ValueError:
        return None
    return inner if isinstance(inner, str) else None


def _opening(text: str) -> int:
    """Where the first brace is that begins an object and not a word in braces; -1 if none."""
    match = re.search(r"\{(?=\s{0,1000}[\"}“'＂])|\{(?=\s{0,1000}\w{1,40}\s{0,9}[:：])", text)
    return match.start() if match else -1


def _keyed(text: str) -> str:
    """Keys without quotes in quotes; within quotes nothing changes."""
    parts = re.split(r'("(?:[^"\\\n]|\\.)*")', text)
    return "".join(p if i % 2 else BARE_KEY.sub(r'\1"\2"', p) for i, p in enumerate(parts))


def _widened(text: str) -> str:
    """Full-width and curly marks as JSON's own; within straight quotes nothing changes."""
    parts = re.split(r'("(?:[^"\\\n]|\\.)*")', text)
    if re.search('[“„＂][^“”„＂\n]{0,999}"[^“”„＂\n]{0,999}[”＂]', text):
        return text
    return "".join(p if i % 2 else p.translate(WIDE) for i, p in enumerate(parts))


def _decoded(text: str, first: int, rule: str) -> tuple[dict[str, Any], str, tuple[int, int]]:
    depth = _depth(text)
    if depth > DEEPEST:
        raise _Fault("too-deep", f"nested {depth} deep, {DEEPEST} allowed")
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer,
        parse_float=_number,
    )
    try:
        value, last = decoder.raw_decode(text, first)
    except json.JSONDecodeError as error:
        raise _Fault("not-json", f"not JSON: {error.msg} at character {error.pos}") from None
    end = last
    while _opening(text[end:]) >= 0:
        try:
            again, end = decoder.raw_decode(text, end + _opening(text[end:]))
        except json.JSONDecodeError:
            again = None
        if again != value:
            raise _Fault("two-objects", "more than one JSON object")
        rule = "repeated-object"
    around = FENCE.sub("", text[:first]) + FENCE.sub("", text[last:])
    if not rule:
        rule = "object-in-prose" if around.strip() else (
            "fenced-object" if "```" in text[:first] else "whole-object"
        )
    return value, rule, (first, last)


def _depth(text: str) -> int:
    """How deep the brackets nest, counted without quotes' help: never less than it is."""
    depth = deepest = 0
    for mark in re.finditer(r"[\[{\]}]", text):
        depth += 1 if mark[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Fault("duplicate-key", "the same key twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise _Fault("no-number", f"{name} is no JSON number")


def _integer(digits: str) -> int:
    if len(digits) > 18:
        raise _Fault("no-number", f"an integer of {len(digits)} digits, 18 allowed")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Fault("no-number", "a number too large to hold")
    return value


def _owned(proper: str, first: int, last: int) -> None:
    """A fault if the sentence round an object denies it, supposes it or gives it as an example."""
    before, after = fold(proper[:first][-300:]).text, fold(proper[last:][:40]).text
    line = re.split(r"[.!?;。]\s|[!?;。]|\n", FENCE.sub("", before).rstrip(" \n"))[-1]
    same = re.split(r"[.!?;,:。]\s|[!?;:,。]|\n", before)[-1]
    if EXAMPLE.search(line) or DISOWNS.search(line if "if " in line or "si " in line else same):
        raise _Fault("disowned-object", "the sentence round the object does not state it")
    if after.lstrip("` ").startswith("?"):
        raise _Fault("disowned-object", "the object is asked about")


def _check(value: dict[str, Any], required: Mapping[str, str]) -> str:
    """The rule that let the keys be found, if one did; a fault where the contract is broken."""
    rule = ""
    for key in required.keys() - value.keys():
        alike = [name for name in value if name.strip().casefold() == key.casefold()]
        if len(alike) == 1:
            value[key] = value.pop(alike[0])
            rule = "key-case"
    missing = [key for key in required if key not in value]
    if missing:
        raise _Fault("missing-key", f"missing: {', '.join(missing)}")
    for key, wanted in required.items():
        is_flag = isinstance(value[key], bool) and wanted in ("number", "integer")
        if is_flag or not isinstance(value[key], TYPES[wanted]):
            raise _Fault("wrong-type", f"{key!r} is {_type(value[key])}, wanted {wanted}")
        if isinstance(value[key], str) and stands_in(value[key]):
            raise _Fault("placeholder", f"{key!r} only holds an answer's place")
        if isinstance(value[key], str) and declines(value[key]):
            raise _Fault("refusal", f"{key!r} declines to answer")
    return rule


def _type(value: object) -> str:
    if value is None:
        return "null"
    return next(
        name for name in ("boolean", "string", "integer", "number", "object", "array")
        if isinstance(value, TYPES[name])
    )
