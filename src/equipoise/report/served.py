"""Who gave the replies, as the replies say: a model, an upstream or a build that changed shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Served = tuple[str, str, str, str]


def served_values(
    served: Mapping[Served, int], subjects: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """One row a subject and server: the model asked for, what the replies name, how many."""
    asked = {str(subject["name"]): subject["model"] for subject in subjects}
    return [
        {"subject": name, "asked_for": asked.get(name, ""), "model": model, "upstream": upstream,
         "fingerprint": fingerprint, "replies": count}
        for (name, model, upstream, fingerprint), count in sorted(served.items())
    ]


def changes(served: Mapping[Served, int]) -> list[str]:
    """A sentence for each subject whose replies name more than one model, upstream or build.

    >>> changes({("s", "m-1", "", ""): 3, ("s", "m-2", "", ""): 1, ("t", "m-1", "", ""): 4})
    ['What answered for s changed: m-1 (3 replies), m-2 (1 reply). They are not one subject.']
    """
    found: dict[str, list[str]] = {}
    for (name, *parts), count in sorted(served.items()):
        said = " / ".join(part for part in parts if part) or "unnamed"
        found.setdefault(name, []).append(
            f"{said} ({count:,} {'reply' if count == 1 else 'replies'})")
    return [
        f"What answered for {name} changed: {', '.join(parts)}. They are not one subject."
        for name, parts in found.items() if len(parts) > 1
    ]


def with_notices(page: str, sentences: Sequence[str], figures: str = "") -> str:
    """The page with what a reader must know first above its findings; as it is where nothing is.

    `figures` stand below the sentences as they are, in columns.

    >>> with_notices("<main>\\n<p>1</p></main>", ["a < b"])
    '<main>\\n<section id="notice">\\n<p>a &lt; b</p>\\n</section>\\n<p>1</p></main>'
    """
    if not sentences:
        return page
    said = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)
    drawn = f'<pre tabindex="0">{escape(figures)}</pre>\n' if figures else ""
    return page.replace("<main>\n", f'<main>\n<section id="notice">\n{said}{drawn}</section>\n', 1)
