"""Thinking aloud: what a model sends of its reasoning before the reply proper."""

from __future__ import annotations

import re
from typing import NamedTuple

TAG = re.compile(
    r"<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think)>"
    r"|(?:<\|start\|>\w{0,20})?<\|channel\|>(?P<channel>analysis|commentary|"
    r"final)(?:<\|message\|>)?"
    r"|<\|(?:end|return)\|>|\[(?P<slash>/?)THINK\]|(?P<open>◁think▷)|(?P<shut>◁/think▷)",
    re.IGNORECASE,
)


class Spoken(NamedTuple):
    """The reply proper: `start` and `end` in the text as sent, and whether it was reached."""

    start: int
    end: int
    finished: bool


def spoken(text: str) -> Spoken:
    """Where the reply proper lies: all that follows the last closed piece of reasoning.

    Reasoning that opens and never closes leaves nothing: the reply was cut off inside it.
    A closing tag without an opening one ends reasoning that began with the reply.
    Only what stands before the reply counts as reasoning: tags that are opened after
    words of the reply end it, unless more words follow their close.

    >>> text = "<think>A looks good</think> B"
    >>> text[slice(*spoken(text)[:2])]
    ' B'
    >>> spoken("<think>The user wants").finished
    False
    >>> text = "so it must be B</think>B"
    >>> text[slice(*spoken(text)[:2])]
    'B'
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return Spoken(0, len(text), True)
    start, end, inside = 0, len(text), False
    for tag in TAG.finditer(text):
        if _opens(tag):
            if not inside and _says(text[start : tag.start()]):
                end = tag.start()
            inside = True
        elif _closes(tag):
            rest_is_empty = not _says(text[tag.end() :])
            if inside and end < len(text) and rest_is_empty:
                return Spoken(start, end, True)
            start, end, inside = tag.end(), len(text), False
        elif not inside and tag.start() >= start:
            end = tag.start()
    if inside:
        return Spoken(len(text), len(text), False)
    return Spoken(start, max(start, end), True)


def _says(text: str) -> bool:
    return text.replace("\0", " ").strip() != ""


def _opens(tag: re.Match[str]) -> bool:
    word = tag[0].casefold()
    if tag["channel"]:
        return tag["channel"].casefold() != "final"
    if word.startswith("<|"):
        return False
    return word.startswith(("<", "[", "◁")) and "/" not in word


def _closes(tag: re.Match[str]) -> bool:
    if tag["channel"]:
        return tag["channel"].casefold() == "final"
    return "/" in tag[0]
