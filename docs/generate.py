"""Writes the pages of docs/ that are made from the code; `make docs`. A test holds them to it."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import click

from equipoise.cli.app import app
from equipoise.instruments.fingerprint.suite import FULL, SHIPPED, suite
from equipoise.instruments.label_swap.suite import SHIPPED as LABEL_SWAP
from equipoise.instruments.label_swap.suite import STANDARD, WORDING
from equipoise.instruments.label_swap.suite import suite as judged
from equipoise.ledger.opening import SCHEMA, VERSION
from equipoise.providers.capabilities import DEFAULT_EFFORT, Accepted, checked, table
from equipoise.stimuli import load

DOCS = Path(__file__).parent
NOTE = "<!-- Made by docs/generate.py; `make docs` writes it anew. -->\n\n"


def commands() -> str:
    """Every command's help, as a terminal of 80 columns shows it."""
    parts = ["# Commands\n\n" + NOTE + block(helped(app, "equipoise"))]
    for name, command in app.commands.items():
        parts.append(f"## equipoise {name}\n\n" + block(helped(command, f"equipoise {name}")))
        for below, inner in getattr(command, "commands", {}).items():
            whole = f"equipoise {name} {below}"
            parts.append(f"### {whole}\n\n" + block(helped(inner, whole)))
    return "\n".join(parts)


def helped(command: click.Command, name: str) -> str:
    with click.Context(command, info_name=name, terminal_width=80,
                       help_option_names=["-h", "--help"]) as context:
        return context.get_help()


def block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


def schema() -> str:
    """The ledger's schema as it is created."""
    return (
        f"# The ledger's schema\n\n{NOTE}Version {VERSION}. What each table is for and what can be"
        f" trusted is said in [ledger.md](ledger.md).\n\n```sql\n{SCHEMA.rstrip()}\n```\n"
    )


def suites() -> str:
    """The shipped suites, and the words behind them."""
    stimuli = load(SHIPPED)
    lines = ["# Suites of the fingerprint\n", NOTE.rstrip() + "\n",
             f"Stamp of the stimuli: `{stimuli.stamp}`\n",
             "| suite | pairs | categories | cells a subject and answer mode | about |",
             "|---|---:|---:|---:|---|"]
    for name in [*stimuli["suites"], FULL]:
        found = suite(stimuli, name)
        about = stimuli["suites"].get(name, {}).get("about", "Every pair within a category.")
        cells = len(found.pairs) * 2 * len(found.framings)
        categories = len({pair.category for pair in found.pairs.values()})
        lines.append(f"| `{name}` | {len(found.pairs):,} | {categories} | {cells:,} | {about} |")
    rows = list(csv.DictReader(stimuli.texts["lexicon.csv"].splitlines()))
    counts = Counter(row["category"] for row in rows)
    lines.append(f"\n## Categories\n\n{len(rows)} words, each in English, French and Chinese.\n")
    for category in counts:
        words = ", ".join(row["en"] for row in rows if row["category"] == category)
        lines.append(f"- **{category}**: {words}")
    lines.append("\n## Framings\n")
    for name, framing in stimuli["framings"].items():
        lines.append(f"**{name}** · {framing['about']}\n\n"
                     f"```text\n{framing['prompt'].strip()}\n```\n")
    return "\n".join(lines)


def label_swap() -> str:
    """The shipped decisions in every wording, and the labels."""
    stimuli = load(LABEL_SWAP)
    of = judged(stimuli, STANDARD, (WORDING,))
    lines = ["# Decisions and labels of label swap\n", NOTE.rstrip() + "\n",
             f"Stamp of the stimuli: `{stimuli.stamp}`\n",
             "`x` and `y` are the two descriptions of the matched condition, `same` that of both"
             " options in the identical one. A study asks the first wording of each decision, or"
             " with `--vary wording` all.\n",
             "## Labels\n", "| kind | pair | third |", "|---|---|---|"]
    for kind, said in stimuli["labels"].items():
        lines.append(f"| {kind} | {said['labels'][0]} / {said['labels'][1]} | {said['third']} |")
    for name, decision in of.decisions.items():
        lines.append(f"\n## {name}\n\n{decision.about[0].upper()}{decision.about[1:]}.\n")
        lines += [f"- `{part}`: {getattr(decision, part)}" for part in ("x", "y", "same")]
        for wording, text in decision.wordings.items():
            lines.append(f"\n**{wording}**\n\n{block(text)}".rstrip())
    return "\n".join(lines) + "\n"


def capabilities() -> str:
    """What is known of what families of models accept."""
    lines = ["# What families of models accept\n", NOTE.rstrip() + "\n",
             f"As of {checked()}, from what the providers publish; the sources stand in"
             " `src/equipoise/providers/capabilities.toml`. The first row with a pattern that"
             " fits is taken. What is used of it is said in [subjects.md](subjects.md). An empty"
             " field is not known: the setting is sent, and the provider may refuse it, or take it"
             " and ignore it. Of a model that fits no row nothing is assumed, and `plan` says"
             " so.\n",
             "| family | models | temperature | effort | log-probabilities | held to a schema |"
             " batch |", "|---|---|---|---|---|---|---|"]
    for entry in table():
        at = f", at {', '.join(entry.hosts)}" if entry.hosts else ""
        effort = "" if entry.effort is None else ", ".join(entry.effort) or "none may be stated"
        lines.append(
            f"| {entry.family} | {', '.join(f'`{model}`' for model in entry.models)}{at} |"
            f" {taken(entry.temperature)} | {effort} | {taken(entry.logprobs)} |"
            f" {taken(entry.structured)} | {taken(entry.batch)} |")
    return "\n".join(lines) + "\n"


def taken(accepted: Accepted | None) -> str:
    if isinstance(accepted, tuple):
        levels = ["no effort stated" if level == DEFAULT_EFFORT else f"`{level}`"
                  for level in accepted]
        return f"at {' or '.join(levels)}"
    return "" if accepted is None else "yes" if accepted else "no"


PAGES = {"capabilities.md": capabilities, "commands.md": commands,
         "label-swap-stimuli.md": label_swap, "ledger-schema.md": schema, "suites.md": suites}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(f"docs/{name}")
