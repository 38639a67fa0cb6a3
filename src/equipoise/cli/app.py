"""The commands and their options; each calls the one act it is named for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from equipoise.terms import Misuse

app = typer.Typer(
    name="equipoise",
    help="Finds out where a language model leans, and whether the lean survives a change of"
    " wording, order, label, language, pressure and chance.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: equipoise models pull smollm2-135m, then equipoise run fingerprint"
    " --suite demo --subject local:smollm2-135m",
)

LedgerPath = Annotated[
    Path,
    typer.Option("--ledger", envvar="EQUIPOISE_LEDGER", help="The ledger file.",
                 show_default="ledger.db in the user's data directory"),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Reader = Annotated[
    str | None, typer.Option("--reader", help="Read by this reader instead.")
]
Out = Annotated[Path, typer.Option("-o", "--out", help="Where to write; - is stdout.")]
RunName = Annotated[str, typer.Argument(help="A run's name, as `equipoise runs` lists it.")]
Subjects = Annotated[
    list[str], typer.Option("--subject", "-s", help="local:MODEL, openai:MODEL@URL, planted:TRAIT.")
]
Suite = Annotated[
    str, typer.Option("--suite", help="demo, quick, core, full, or a folder of your own.")
]
Answers = Annotated[str, typer.Option("--answers", help="free, constrained, first-token.")]
Order = Annotated[str, typer.Option("--order", help="grouped by framing, or random:SEED.")]
Draws = Annotated[int, typer.Option("--draws", help="Draws a cell.")]
Until = Annotated[
    bool, typer.Option("--until-dissent", help="Ask a pair no further once it cannot commit.")
]
PriceOption = Annotated[
    str | None,
    typer.Option("--price", help="USD a million prompt,completion tokens, as 0.15,0.60."),
]


def default_ledger() -> Path:
    """`ledger.db` in the user's data directory."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "equipoise" / "ledger.db"


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from equipoise import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def plan(
    instrument: Annotated[str, typer.Argument(help="fingerprint")],
    subject: Subjects,
    suite: Suite = "demo",
    answers: Answers = "free",
    draws: Draws = 1,
    order: Order = "grouped",
    until_dissent: Until = False,
    price: PriceOption = None,
    json: AsJson = False,
) -> None:
    """How many calls a run takes, what they may cost and how long; opens no connection."""
    from equipoise.cli import planning

    planned = planning.plan(instrument, subject, suite, answers, draws, order, until_dissent)
    planning.show(planned, price, json)


@app.command()
def run(
    instrument: Annotated[str, typer.Argument(help="fingerprint")],
    subject: Subjects,
    suite: Suite = "demo",
    answers: Answers = "free",
    draws: Draws = 1,
    order: Order = "grouped",
    until_dissent: Until = False,
    name: Annotated[str | None, typer.Option("--run", help="Name the run.")] = None,
    ledger: LedgerPath = default_ledger(),
    at_once: Annotated[int | None, typer.Option(help="Calls in flight.")] = None,
    price: PriceOption = None,
    max_usd: Annotated[float | None, typer.Option(help="Stop before this much.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    per_minute: Annotated[float | None, typer.Option(help="Calls a minute at most.")] = None,
    attempts: Annotated[int, typer.Option(help="Tries at one call.")] = 5,
    retry_unknown: Annotated[
        bool, typer.Option(help="Ask again what was on the wire when a run died.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Show the plan; open no connection.")
    ] = False,
    progress: Annotated[bool, typer.Option(help="Show the progress line.")] = True,
    json: AsJson = False,
) -> None:
    """Ask what the ledger does not hold; the same command goes on where it stopped."""
    from equipoise.cli import planning, results
    from equipoise.cli.running import Terms, run_registered

    planned = planning.plan(instrument, subject, suite, answers, draws, order, until_dissent)
    if dry_run:
        planning.show(planned, price, json)
        return
    terms = Terms(at_once, max_usd, max_calls, per_minute, planning.priced(price), attempts,
                  retry_unknown, quiet=not progress)
    planning.confirm(planned, terms, yes)
    registration, stimuli = planned
    ended = run_registered(ledger, registration, stimuli, name or registration.name, terms)
    results.show_ended(ended, ledger, sys.argv[1:], json)


@app.command()
def read(
    name: RunName,
    ledger: LedgerPath = default_ledger(),
    reader: Reader = None,
    json: AsJson = False,
) -> None:
    """Read a recorded run again, from its bytes; asks nothing."""
    from equipoise.cli import results

    results.read(ledger, name, reader, json)


@app.command()
def report(
    name: RunName, out: Out = Path("report.html"), ledger: LedgerPath = default_ledger()
) -> None:
    """Write a run's page: one self-contained HTML file."""
    from equipoise.cli import results

    results.report(ledger, name, out)


@app.command()
def export(
    name: RunName,
    out: Out = Path("-"),
    ledger: LedgerPath = default_ledger(),
    form: Annotated[str, typer.Option("--format", help="csv or jsonl.")] = "csv",
    raw: Annotated[bool, typer.Option(help="Exact text, unsafe to open in a spreadsheet.")] = False,
) -> None:
    """Write a run's cells, one a row: condition, reply, readings and rules."""
    from equipoise.cli import exporting

    exporting.export(ledger, name, out, form, raw)


@app.command()
def runs(ledger: LedgerPath = default_ledger(), json: AsJson = False) -> None:
    """List the registered runs."""
    from equipoise.cli import results

    results.runs(ledger, json)


@app.command()
def verify(
    ledger: LedgerPath = default_ledger(),
    head: Annotated[
        str | None, typer.Option(help="A head kept elsewhere, as ROWS:LINK.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Derive every hash of the ledger again; exit 10 when something does not hold."""
    from equipoise.cli import checks

    checks.verify_ledger(ledger, head, json)


@app.command("replay-check")
def replay_check(
    name: RunName,
    ledger: LedgerPath = default_ledger(),
    sample: Annotated[int, typer.Option(help="How many recorded cells to ask again.")] = 40,
    seed: Annotated[int, typer.Option(help="Which cells: the same seed, the same sample.")] = 1,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    json: AsJson = False,
) -> None:
    """Ask a random sample of recorded cells again: how many readings, how many texts are equal."""
    from equipoise.cli import checks

    checks.replay(ledger, name, sample, seed, max_calls, yes, json)


@app.command()
def doctor(ledger: LedgerPath = default_ledger(), json: AsJson = False) -> None:
    """Check what equipoise stands on: Python, SQLite, disk, weights, keys; exit 1 on a failure."""
    from equipoise.cli import doctoring

    doctoring.doctor(ledger, json)


@app.command()
def selftest(
    instrument: Annotated[str, typer.Argument(help="fingerprint")] = "fingerprint",
    suite: Suite = "quick",
    json: AsJson = False,
) -> None:
    """Put planted subjects through an instrument: it must find each trait and no other."""
    from equipoise.cli import checks

    checks.selftest(instrument, suite, json)


@app.command("try-reader")
def try_reader(
    reader: Annotated[str, typer.Argument(help="first_word, stated_choice, …")],
    file: Annotated[Path, typer.Argument(help="JSON Lines, or - for stdin.")],
) -> None:
    """Read replies of your own: one reading a line, with the rule that made it."""
    from equipoise.cli import checks

    checks.try_reader(reader, file)


models = typer.Typer(help="Local models: list and pull.", no_args_is_help=True)
app.add_typer(models, name="models")


@models.command("list")
def models_list(json: AsJson = False) -> None:
    """The catalogue, and which of it is here."""
    from equipoise.cli import weights

    weights.show(json)


@models.command("pull")
def models_pull(name: Annotated[str, typer.Argument(help="A name in the catalogue.")]) -> None:
    """Fetch a model's weights and check their SHA-256."""
    from equipoise.cli import weights

    weights.fetch(name)


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh, fish or powershell")],
) -> None:
    """Print a completion script; nothing of yours is edited."""
    from typer._completion_shared import get_completion_script

    if shell not in ("bash", "zsh", "fish", "powershell", "pwsh"):
        raise Misuse(f"No completion for {shell!r}: there are bash, zsh, fish and powershell.")
    print(get_completion_script(
        prog_name="equipoise", complete_var="_EQUIPOISE_COMPLETE", shell=shell
    ))
