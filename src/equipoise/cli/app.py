"""The commands and their options; each calls the one act it is named for."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from equipoise import __version__
from equipoise.terms import Misuse

if TYPE_CHECKING:
    from equipoise.ledger.place import Where

F = TypeVar("F", bound=Callable[..., Any])


FEW = 10
SECTIONS = {
    "Ask": ("plan", "run", "replay-check", "costs", "models"),
    "Read": ("runs", "read", "report", "export", "import", "log", "efforts", "try-reader"),
    "Publish debates": ("publish", "compare", "answers"),
    "Change an application": ("badge", "ship", "rescore", "battle", "count"),
    "People who label": ("dataset", "queue", "rate", "adjudicate", "gold", "spot"),
    "The record": ("verify", "backup", "erase", "ledger"),
    "Proof": ("selftest", "doctor", "completion"),
}
"""Every command, under what a person is about to do."""


class Number(click.FloatRange):
    """A number as click has it, and a finite one: nan and inf would be no cap at all."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


class Commands(click.Group):
    """A group that answers an unknown command with the nearest ones."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.list_commands(ctx), 3)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise click.UsageError(f"No command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under what a person is about to do, where there are many."""
        if len(self.commands) <= FEW:
            super().format_commands(ctx, formatter)
            return
        for title, names in SECTIONS.items():
            rows = [(name, self.commands[name].get_short_help_str(60)) for name in names
                    if name in self.commands]
            with formatter.section(title):
                formatter.write_dl(rows)


def default_ledger() -> Path:
    """`ledger.db` in the user's data directory."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "equipoise" / "ledger.db"


def options(*given: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order they are shown."""

    def decorate(command: F) -> F:
        for option in reversed(given):
            command = option(command)
        return command

    return decorate


class Place(click.ParamType[Any]):
    """A ledger's place: a file, or a PostgreSQL database by its URL."""

    name = "place"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Where:
        from equipoise.ledger.place import place

        if not isinstance(value, str):
            return cast("Where", value)
        source = ctx.get_parameter_source(param.name or "") if ctx and param else None
        return place(value, hidden=source is ParameterSource.ENVIRONMENT)


ledger = click.option(
    "--ledger", type=Place(), metavar="PLACE", envvar="EQUIPOISE_LEDGER", show_envvar=True,
    default=default_ledger, show_default="ledger.db in the user's data directory",
    help="The ledger: a file, or postgresql://ROLE@HOST/DATABASE.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
yes = click.option("--yes", "-y", is_flag=True, help="Do not ask before spending.")
name = click.argument("name", metavar="RUN")
suite = click.option("--suite", show_default="the instrument's own",
                     help="A suite of the instrument (fingerprint: demo, quick, core, full;"
                     " label-swap, debates: standard), or a folder of your own.")
design = options(
    click.argument("instrument", metavar="INSTRUMENT"),
    click.option("--subject", "-s", "subjects", multiple=True,
                 help="local:MODEL, openai:MODEL@URL, responses:, anthropic:, gemini:,"
                 " openrouter:, inspect:, endpoint:, callable: or planted:TRAIT; settings follow"
                 " as ?max_tokens=32. Or a name in the --subjects file. May be given more than"
                 " once."),
    click.option("--subjects", "subjects_file", type=click.Path(path_type=Path), metavar="FILE",
                 help="Subjects in a TOML file: all of them, or those that -s names."),
    suite,
    click.option("--answers", default="free", show_default=True,
                 help="free, constrained, first-token; several with commas."),
    click.option("--draws", type=int, show_default="label-swap 5, else 1",
                 help="Draws a cell."),
    click.option("--order", show_default="fingerprint grouped, else random:1",
                 help="grouped as designed, or random:SEED."),
    click.option("--until-dissent", is_flag=True,
                 help="fingerprint: ask a pair no further once it cannot commit."),
    click.option("--vary", metavar="FACTORS",
                 help="label-swap: wording, asked, alphabet; several with commas."),
    click.option("--debates", "debates_named", metavar="NAMES",
                 help="debates: these debates only, with commas."),
    click.option("--push", metavar="WAYS",
                 help="debates: continued (in the pick's conversation), restated (in a new one),"
                 " or both with a comma.  [default: continued]"),
    click.option("--menu", is_flag=True,
                 help="debates: also the cautionary fixed menu, for open questions."),
    click.option("--decisions", metavar="NAMES",
                 help="label-swap: these decisions only, with commas."),
    click.option("--min-valid", type=click.IntRange(1),
                 help="label-swap: valid replies that every cell of a block needs."
                 "  [default: 3]"),
    click.option("--family", metavar="TESTS",
                 help="label-swap: the omnibus tests corrected together, matched or both."
                 "  [default: matched]"),
    click.option("--comparison", type=click.Path(path_type=Path), metavar="FILE",
                 help="replay: what is compared, who reads and what decides, as TOML."),
    click.option("--change", multiple=True, metavar="WHAT",
                 help="replay: what arm B has: instruction:BIAS (or all), rule:TEXT, drop:CLAUSE."
                 " May be given more than once."),
    click.option("--reader", "readers", multiple=True, metavar="SUBJECT",
                 help="replay: who reads the pages. May be given more than once."),
    click.option("--trust", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
                 help="replay: a badge file of the readers; without one there is no verdict."),
    click.option("--openings", metavar="NAMES", help="replay: these openings only, with commas."),
    click.option("--split", help="calibration: few-shot, dev or test.  [default: test]"),
    click.option("--task", help="calibration: page or detector.  [default: page]"),
    click.option("--rerun-of", metavar="RUN",
                 help="label-swap, debates: the run of which this one asks a part again."),
)
words = click.option("--words", metavar="WORDS",
                     help="Imported runs: what the replies chose between, with commas.")
contract = click.option("--contract", metavar="CONTRACT",
                        help="Imported runs: the keys json_object wants, as in"
                        " '{\"pick\": string}'.")
price = click.option("--price", "prices", metavar="[NAME=]PROMPT,COMPLETION", multiple=True,
                     help="USD a million tokens, as in 0.15,0.60; NAME= for one subject of"
                     " several.  [default: the table of genai-prices]")


@click.group(
    cls=Commands, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="Start with: equipoise models pull smollm2-135m, then equipoise run fingerprint"
    " --suite demo --subject local:smollm2-135m",
)
@click.version_option(__version__, message="%(version)s")
def app() -> None:
    """Finds out where a language model leans, and whether the lean survives a change of
    wording, order, label, language, pressure and chance."""


@app.command()
@design
@price
@click.option("--detect", type=Number(0, min_open=True), metavar="POINTS",
              help="label-swap: how many decisions it takes to see this position bias.")
@click.option("--spread", type=Number(0), metavar="POINTS",
              help="label-swap: the SD of position bias between decisions, for --detect.")
@click.option("--like", metavar="RUN",
              help="Expect the tokens that this recorded run's replies state.")
@ledger
@as_json
def plan(
    prices: tuple[str, ...], detect: float | None, spread: float | None, like: str | None,
    ledger: Where, as_json: bool, **asked: Any,
) -> None:
    """How many calls a run takes and what they may cost; opens no connection."""
    from equipoise.cli import planning
    from equipoise.cli.pricing import given_prices
    from equipoise.cli.running import Terms

    terms = Terms(prices=given_prices(prices), stated=planning.stated(**asked))
    planning.show(planning.plan(**asked), terms, as_json,
                  {"detect": detect, "spread": spread},
                  planning.measured_in(ledger, like) if like else {})


@app.command()
@design
@click.option("--run", "name", help="Name the run; else its plan names it.")
@ledger
@click.option("--at-once", type=click.IntRange(1), help="Calls in flight.")
@price
@click.option("--max-usd", type=Number(0, min_open=True), help="Stop before this much.")
@click.option("--max-calls", type=click.IntRange(1), help="Stop after so many calls.")
@click.option("--budget", metavar="NAME",
              help="Spend from a cap that runs share, in other processes too."
              "  [default: the run's own]")
@click.option("--per-minute", type=Number(0, min_open=True),
              help="Calls a minute at most.")
@click.option("--attempts", type=click.IntRange(1), default=5, show_default=True,
              help="Tries at one call.")
@click.option("--retry-unknown", is_flag=True,
              help="Ask again what was on the wire when a run died.")
@click.option("--batch", is_flag=True,
              help="Hand calls in as batches: cheaper, answered within 24 hours.")
@click.option("--engine", default="process", show_default=True,
              help="process: asks from here; ray: workers on several machines, with a ledger in"
              " PostgreSQL.")
@click.option("--workers", type=click.IntRange(1), help="ray: how many.  [default: 4]")
@click.option("--address", metavar="HOST:PORT",
              help="ray: the cluster's head.  [default: workers on this machine]")
@yes
@click.option("--dry-run", "-n", is_flag=True, help="Show the plan; open no connection.")
@click.option("--no-progress", "quiet", is_flag=True, help="No progress line.")
@as_json
def run(
    name: str | None, ledger: Where, prices: tuple[str, ...], yes: bool, dry_run: bool,
    as_json: bool, engine: str, workers: int | None, address: str | None, **more: Any,
) -> None:
    """Ask what the ledger does not hold; the same command goes on where it stopped."""
    from equipoise.cli import planning, results
    from equipoise.cli.pricing import given_prices
    from equipoise.cli.running import Terms, run_registered

    spread = _spread(engine, workers, address)
    terms = Terms(
        prices=given_prices(prices), stated=planning.stated(**more),
        **{key: more.pop(key) for key in list(more) if key in Terms.__dataclass_fields__},
    )
    planned = planning.plan(**more)
    if dry_run:
        planning.show(planned, terms, as_json)
        return
    planning.confirm(planned, terms, yes)
    registration, stimuli = planned
    name = name or registration.name
    if spread is None:
        ended = run_registered(ledger, registration, stimuli, name, terms)
    else:
        from equipoise.cli.spreading import run_spread

        ended = run_spread(ledger, registration, stimuli, name, terms, spread)
    results.show_ended(ended, ledger, sys.argv[1:], as_json)


def _spread(engine: str, workers: int | None, address: str | None) -> Any:
    """How a run is spread; None where it is asked from this process."""
    if engine == "process":
        if workers or address:
            raise Misuse("--workers and --address are options of --engine ray.")
        return None
    if engine != "ray":
        raise Misuse(f"No engine {engine!r}: there are process and ray.")
    from equipoise.cli.spreading import WORKERS, Spread

    return Spread(workers or WORKERS, address)


@app.command()
@name
@ledger
@click.option("--reader", help="Read by this reader instead.")
@words
@contract
@as_json
def read(name: str, ledger: Where, as_json: bool, **how: str | None) -> None:
    """Read a recorded run again, from its bytes; asks nothing."""
    from equipoise.cli import results
    from equipoise.cli.recorded import How

    results.read(ledger, name, How(**how), as_json)


@app.command()
@name
@click.option("--out", "-o", type=click.Path(path_type=Path), default="report.html",
              show_default=True, help="Where to write; - is stdout.")
@ledger
def report(name: str, out: Path, ledger: Where) -> None:
    """Write a run's page: one self-contained HTML file."""
    from equipoise.cli import results

    results.report(ledger, name, out)


@app.command()
@name
@click.option("--out", "-o", type=click.Path(path_type=Path), default="-", show_default=True,
              help="Where to write; - is stdout.")
@ledger
@click.option("--format", "form", default="csv", show_default=True,
              help="csv, jsonl, parquet, hf (a Hugging Face folder), eval (an Inspect log), or run:"
              " the whole run as one file that import takes.")
@click.option("--raw", is_flag=True, help="Exact text in a csv, unsafe to open in a spreadsheet.")
@click.option("--subject", help="This subject's cells only.")
@click.option("--reader", help="Imported runs: also what this reader reads.")
@words
@contract
def export(name: str, out: Path, ledger: Where, form: str, raw: bool, **more: str | None) -> None:
    """Write a run's cells, one a row: condition, reply, readings and rules; or the whole run."""
    from equipoise.cli import exporting

    exporting.export(ledger, name, exporting.Wanted(out, form, raw, **more))


@app.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@ledger
@click.option("--format", "form",
              help="run, inspect, promptfoo or lm-eval.  [default: what the file shows]")
@click.option("--run", "name", help="Name the run; else the file names it.")
@click.option("--subject", help="Logs: name the model whose replies these are.")
@as_json
def import_(file: Path, ledger: Where, as_json: bool, **how: str | None) -> None:
    """Append a run from a file: one that export wrote, or another tool's log as replies."""
    from equipoise.cli import importing

    importing.import_file(ledger, file, as_json=as_json, **how)


@app.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--log", "file", type=click.Path(path_type=Path), default="measurement-log.md",
              show_default=True, help="The log: a Markdown file of your own.")
@click.option("--correct", metavar="TEXT", help="Mark a correction under the run's entry.")
@click.option("--queue", metavar="TEXT", help="Queue what has not been run: its name, and why.")
@click.option("--done", metavar="NAME", help="Take this off the queue.")
@click.option("--check", is_flag=True, help="Derive every entry's result again.")
@click.option("--page", type=click.Path(path_type=Path), help="Write the log as a page.")
@ledger
@as_json
def log(
    name: str | None, file: Path, ledger: Where, check: bool, as_json: bool, **asked: Any
) -> None:
    """Write a dated entry of a finished run into a measurement log; nothing in it is rewritten."""
    from equipoise.cli import logging

    if check:
        logging.check_log(ledger, file, as_json)
    else:
        logging.write_log(ledger, name, file, **asked)


@app.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--site", type=click.Path(path_type=Path), required=True,
              help="The folder of the site; SITE/current is what a web server serves.")
@click.option("--sample", "sample_data", is_flag=True,
              help="Publish sample data, labelled so, before the first run.")
@click.option("--rollback", metavar="HASH", help="Make an earlier version's dataset live again.")
@click.option("--keep", type=click.IntRange(1), metavar="N",
              help="Take away all but the newest N versions and the live one; may stand alone.")
@ledger
@as_json
def publish(
    name: str | None, site: Path, sample_data: bool, rollback: str | None, keep: int | None,
    ledger: Where, as_json: bool,
) -> None:
    """Make a debates run the live dataset of a site, whole; enter any other in its registry."""
    from equipoise.cli import publishing

    publishing.publish(ledger, name, site, sample_data=sample_data, rollback=rollback, keep=keep,
                       as_json=as_json)


@app.command()
@click.option("--site", type=click.Path(path_type=Path), required=True, help="The site's folder.")
@click.option("--as-of", metavar="DATE",
              help="A date (its end, UTC) or a time, as 2026-11-30T18:00:00Z.  [default: now]")
@click.option("--subject", "subjects", multiple=True, help="Of these only.")
@click.option("--debate", "debates", multiple=True, help="To these only.")
@as_json
def answers(
    site: Path, as_of: str | None, subjects: tuple[str, ...], debates: tuple[str, ...],
    as_json: bool,
) -> None:
    """The answers that were live on a site at a moment, each with its run and time."""
    from equipoise.cli import answers as acts

    acts.answers(site, as_of, subjects, debates, as_json)


@app.command()
@click.argument("first", metavar="RUN_A")
@click.argument("second", metavar="RUN_B")
@click.option("--site", type=click.Path(path_type=Path),
              help="Compare what this site keeps: versions by their names, or runs.")
@ledger
@as_json
def compare(first: str, second: str, site: Path | None, ledger: Where, as_json: bool) -> None:
    """What changed from one debates run to another, within equal conditions."""
    from equipoise.cli import differences

    differences.compare(ledger, site, first, second, as_json)


@app.command()
@name
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Where to write the badges.")
@ledger
@as_json
def badge(name: str, out: Path | None, ledger: Where, as_json: bool) -> None:
    """A finished calibration as a badge file: whether its readers may be counted."""
    from equipoise.cli import badges

    badges.write_badges(ledger, name, out, as_json)


@app.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@ledger
@as_json
def ship(names: tuple[str, ...], ledger: Where, as_json: bool) -> None:
    """Whether the change that these replays were about is ready to ship, and by which rule."""
    from equipoise.cli import shipping

    shipping.ship(ledger, names, as_json)


@app.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("--suite", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Whose labels are today's.  [default: the shipped ones]")
@click.option("--settled", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="What people settled of what no reader decided: gold … -o FILE --key KEY.")
@ledger
@as_json
def rescore(
    names: tuple[str, ...], folder: Path | None, settled: tuple[Path, ...], ledger: Where,
    as_json: bool,
) -> None:
    """Score recorded replays again on today's labels; asks nothing of anyone."""
    from equipoise.cli import shipping

    shipping.rescore(ledger, names, folder, settled, as_json)


@app.command()
@name
@ledger
@click.option("--reconcile", "file", type=click.Path(path_type=Path),
              help="Hold it against the provider's own export: CSV, JSON or JSON Lines.")
@as_json
def costs(name: str, ledger: Where, file: Path | None, as_json: bool) -> None:
    """What a run's calls cost, by subject; with the bill, where the two differ."""
    from equipoise.cli import costing

    costing.costs(ledger, name, file, as_json)


@app.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--moments", metavar="FOLDER",
              help="Queue the labelled moments of a folder (or `standard`), not a run's pages.")
@click.option("--split", default="test", show_default=True, help="--moments: which split.")
@click.option("--task", "tasks", multiple=True, default=("shown", "present"), show_default=True,
              help="--moments: shown, present; may be given twice.")
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True,
              help="Where to write the queue, for raters.")
@click.option("--key", type=click.Path(path_type=Path), required=True,
              help="Where to write what each item is, for no rater.")
@click.option("--seed", default=1, show_default=True, help="Which verdicts are drawn.")
@click.option("--random", "sampled", type=click.IntRange(0), default=10, show_default=True,
              help="How many verdicts are drawn.")
@ledger
@as_json
def queue(
    name: str | None, moments: str | None, split: str, tasks: tuple[str, ...], ledger: Where,
    seed: int, sampled: int, out: Path, key: Path, as_json: bool,
) -> None:
    """Blind items for raters: ten random verdicts of a replay, and all that no reader decided."""
    from equipoise.cli import queueing

    if (name is None) == (moments is None):
        raise Misuse("Name either a run, or a folder with --moments.")
    if name is not None:
        queueing.queue_run(ledger, name, out, key, seed=seed, sampled=sampled, as_json=as_json)
    elif moments is not None:
        queueing.queue_moments(moments, split, tasks, out, key, as_json)


raters_file = click.option("--raters", type=click.Path(path_type=Path), default="raters.toml",
                           show_default=True, help="Who may label, and in which languages.")
definitions = click.option("--suite", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
                           help="Whose definitions are today's.  [default: the queue's own]")
settled = click.option("--adjudications", type=click.Path(path_type=Path), metavar="FILE",
                       help="What equipoise adjudicate wrote.")
ratings_files = click.argument("ratings", metavar="RATINGS...", nargs=-1, required=True,
                               type=click.Path(path_type=Path))


@app.command()
@click.argument("queue", type=click.Path(path_type=Path))
@click.option("--rater", "name", required=True, help="Who you are.")
@raters_file
@click.option("--out", "-o", type=click.Path(path_type=Path), default="ratings.jsonl",
              show_default=True, help="Where your answers are added.")
@definitions
@click.option("--reasons", is_flag=True, help="Ask for the reason of each no on a page.")
@as_json
def rate(
    queue: Path, name: str, raters: Path, out: Path, folder: Path | None, reasons: bool,
    as_json: bool,
) -> None:
    """Label a queue, one key an answer; the same command goes on where it stopped."""
    from equipoise.cli import rating

    rating.rate(queue, name, raters, out, folder=folder, reasons=reasons, as_json=as_json)


@app.command()
@click.argument("queue", type=click.Path(path_type=Path))
@ratings_files
@click.option("--by", "name", required=True, help="Who you are.")
@raters_file
@click.option("--out", "-o", type=click.Path(path_type=Path), default="adjudications.jsonl",
              show_default=True, help="Where your decisions are added.")
@definitions
@as_json
def adjudicate(
    queue: Path, ratings: tuple[Path, ...], name: str, raters: Path, out: Path,
    folder: Path | None, as_json: bool,
) -> None:
    """Settle what raters could not agree on, each with a written reason; no rater is named."""
    from equipoise.cli import adjudicating

    adjudicating.adjudicate(queue, ratings, name, raters, out, folder=folder, as_json=as_json)


@app.command()
@ratings_files
@settled
@click.option("--suite", "folder", metavar="FOLDER",
              help="Whose definitions are today's.  [default: the shipped ones]")
@click.option("--key", "keys", multiple=True, type=click.Path(path_type=Path),
              help="A queue's key, to name moments. May be given more than once.")
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Write gold, a line an item.")
@click.option("--csv", "csv_out", type=click.Path(path_type=Path),
              help="Write the labels that count as a suite's ratings.csv.")
@as_json
def gold(
    ratings: tuple[Path, ...], adjudications: Path | None, folder: str | None,
    keys: tuple[Path, ...], out: Path | None, csv_out: Path | None, as_json: bool,
) -> None:
    """The labels that raters agreed on, and how far each agrees with the others."""
    from equipoise.cli import golding

    golding.show_gold(ratings, adjudications, folder, keys, out, csv_out, as_json)


@app.command()
@ratings_files
@click.option("--key", "keys", multiple=True, required=True, type=click.Path(path_type=Path),
              help="The key of a run's queue. May be given more than once.")
@settled
@click.option("--badge", type=click.Path(path_type=Path), metavar="FILE",
              help="The badge file into which drift is written.")
@click.option("--by", type=click.Choice(["rolling", "cusum"]), default="rolling",
              show_default=True, help="What decides that a reader has drifted.")
@as_json
def spot(
    ratings: tuple[Path, ...], keys: tuple[Path, ...], adjudications: Path | None,
    badge: Path | None, by: Any, as_json: bool,
) -> None:
    """Readers' spot checks over runs: the rolling figure, drift, each run's corrected rate."""
    from equipoise.cli import spotting

    spotting.spot(ratings, keys, adjudications, badge, by, as_json)


@app.group(cls=Commands, no_args_is_help=True)
def dataset() -> None:
    """Datasets: items only ever added, retired or erased, and versions that never change."""


folder = click.argument("folder", type=click.Path(path_type=Path))
reason = click.option("--reason", required=True, help="Why; it stays on record.")


@dataset.command("new")
@folder
@as_json
def dataset_new(folder: Path, as_json: bool) -> None:
    """Make an empty dataset."""
    from equipoise.cli import datasets

    datasets.new(folder, as_json)


@dataset.command("add")
@folder
@click.argument("files", metavar="FILE...", nargs=-1, required=True,
                type=click.Path(path_type=Path))
@click.option("--suite", "definitions", metavar="FOLDER",
              help="Whose biases the items name.  [default: the shipped ones]")
@as_json
def dataset_add(
    folder: Path, files: tuple[Path, ...], definitions: str | None, as_json: bool
) -> None:
    """Add moments or openings from TOML, JSON Lines or CSV."""
    from equipoise.cli import datasets

    datasets.add(folder, files, definitions, as_json)


@dataset.command("retire")
@folder
@click.argument("item")
@reason
@as_json
def dataset_retire(folder: Path, item: str, reason: str, as_json: bool) -> None:
    """Leave an item out of later versions."""
    from equipoise.cli import datasets

    datasets.leave(folder, item, reason, False, as_json)


@dataset.command("erase")
@folder
@click.argument("item")
@reason
@as_json
def dataset_erase(folder: Path, item: str, reason: str, as_json: bool) -> None:
    """Take an item's words away for good; a tombstone stays, and the chain still holds."""
    from equipoise.cli import datasets

    datasets.leave(folder, item, reason, True, as_json)


@dataset.command("freeze")
@folder
@as_json
def dataset_freeze(folder: Path, as_json: bool) -> None:
    """Freeze the next version; its new items are drawn into splits, once."""
    from equipoise.cli import datasets

    datasets.freeze(folder, as_json)


@dataset.command("show")
@folder
@as_json
def dataset_show(folder: Path, as_json: bool) -> None:
    """Check a dataset's chain, and list its versions."""
    from equipoise.cli import datasets

    datasets.show(folder, as_json)


@dataset.command("export")
@folder
@click.option("--out", "-o", type=click.Path(path_type=Path), required=True,
              help="The folder to write, for --suite.")
@click.option("--version", "number", type=click.IntRange(1), show_default="the last",
              help="Which version.")
@click.option("--gold", type=click.Path(path_type=Path), metavar="FILE",
              help="Take the labels from what equipoise gold -o wrote.")
@as_json
def dataset_export(
    folder: Path, out: Path, number: int | None, gold: Path | None, as_json: bool
) -> None:
    """Write a version as a suite's folder: the same bytes each time."""
    from equipoise.cli import datasets

    datasets.export(folder, number, out, gold, as_json)


@app.command()
@name
@click.option("--key", type=click.Path(path_type=Path), required=True,
              help="Where which side is which is written, or read with --answers.")
@click.option("--out", "-o", type=click.Path(path_type=Path),
              help="Where to write the battles, for people.")
@click.option("--page", type=click.Path(path_type=Path),
              help="Also write them as one HTML file, side by side.")
@click.option("--seed", default=1, show_default=True, help="Which draws, sides and order.")
@click.option("--answers", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="People's choices, to be joined to the key. May be given more than once.")
@ledger
@as_json
def battle(
    name: str, key: Path, out: Path | None, page: Path | None, seed: int,
    answers: tuple[Path, ...], ledger: Where, as_json: bool,
) -> None:
    """Where a replay's readers disagree on the direction: pages for people to choose between."""
    from equipoise.cli import battling

    if bool(answers) == bool(out):
        raise Misuse("Give -o FILE to write the battles, or --answers FILE to read what people"
                     " chose.")
    if out:
        battling.write_battles(ledger, name, out, key, seed, page)
    else:
        battling.read_choices(name, key, answers, as_json)


@app.command()
@click.argument("pages", type=click.Path(path_type=Path))
@click.option("--reader", required=True, metavar="SUBJECT", help="Who reads the pages.")
@click.option("--trust", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="A badge file of the reader.")
@click.option("--suite", default="standard", show_default=True,
              help="Whose definitions are read by: the shipped ones, or a folder of your own.")
@click.option("--out", "-o", type=click.Path(path_type=Path),
              help="A file that the counts are added to, day by day.")
@click.option("--reader-may-see-pages", "may_see_pages", is_flag=True,
              help="The reader is not on this machine, and may be given every page.")
@click.option("--max-calls", type=click.IntRange(1), help="The most calls it may take.")
@click.option("--at-once", type=click.IntRange(1), help="Calls in flight.")
@as_json
def count(pages: Path, out: Path | None, as_json: bool, **terms: Any) -> None:
    """Count, by day and bias, on how many of your own pages a debias is shown; no text is let out.

    PAGES is JSON Lines, one page a line; - is stdin. Counts under 10 are hidden.
    """
    from equipoise.cli import counting

    counting.count(pages, counting.Terms(**terms), out, as_json)


@app.command()
@ledger
@as_json
def runs(ledger: Where, as_json: bool) -> None:
    """List the registered runs."""
    from equipoise.cli import results

    results.runs(ledger, as_json)


@app.command()
@ledger
@click.option("--head", metavar="ROWS:LINK", help="A head kept elsewhere.")
@as_json
def verify(ledger: Where, head: str | None, as_json: bool) -> None:
    """Derive every hash of the ledger again; exit 10 when something does not hold."""
    from equipoise.cli import checks

    checks.verify_ledger(ledger, head, as_json)


@app.command()
@click.argument("to", type=click.Path(path_type=Path), metavar="FILE")
@ledger
@as_json
def backup(to: Path, ledger: Where, as_json: bool) -> None:
    """Copy the ledger whole, while runs write to it too; verifies it."""
    from equipoise.cli import keeping

    keeping.backup(ledger, to, as_json)


@app.command()
@click.argument("entries", metavar="[ENTRY]...", type=click.IntRange(1), nargs=-1)
@click.option("--reason", default="", help="Why; it stands in the ledger in place of the words.")
@click.option("--find", metavar="TEXT", help="List the entries whose words hold this text.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@ledger
@as_json
def erase(
    entries: tuple[int, ...], reason: str, find: str | None, yes: bool, ledger: Where, as_json: bool
) -> None:
    """Take a person's words out of the ledger, for good."""
    from equipoise.cli import keeping

    if find:
        keeping.find(ledger, find, as_json)
    elif not entries:
        raise Misuse("Nothing to erase: name the entries, or find them with --find TEXT.")
    else:
        keeping.erase(ledger, entries, reason, yes)


@app.command("replay-check")
@name
@ledger
@click.option("--sample", type=click.IntRange(1), default=40, show_default=True,
              help="How many recorded cells to ask again.")
@click.option("--seed", default=1, show_default=True, help="Which cells.")
@click.option("--max-calls", type=click.IntRange(1), help="Stop after so many calls.")
@yes
@as_json
def replay_check(name: str, ledger: Where, as_json: bool, **more: Any) -> None:
    """Ask a random sample of recorded cells again: how many readings and texts are equal."""
    from equipoise.cli import checks

    checks.replay(ledger, name, as_json=as_json, **more)


@app.command()
@name
@ledger
@as_json
def efforts(name: str, ledger: Where, as_json: bool) -> None:
    """Whether a setting of effort changed how much a model reasoned, cell by cell."""
    from equipoise.cli import efforting

    efforting.efforts(ledger, name, as_json)


@app.command()
@ledger
@as_json
def doctor(ledger: Where, as_json: bool) -> None:
    """Check what equipoise stands on: Python, SQLite, disk, weights, keys."""
    from equipoise.cli import doctoring

    doctoring.doctor(ledger, as_json)


@app.command()
@click.argument("instrument", default="fingerprint")
@click.option("--suite", show_default="fingerprint quick, else standard",
              help="The suite to prove it on.")
@as_json
def selftest(instrument: str, suite: str | None, as_json: bool) -> None:
    """Put planted subjects through an instrument: it must find each trait and no other."""
    from equipoise.cli import checks

    checks.selftest(instrument, suite, as_json)


@app.command("try-reader")
@click.argument("reader")
@click.argument("file", type=click.Path(path_type=Path))
def try_reader(reader: str, file: Path) -> None:
    """Read replies of your own (JSON Lines, or - for stdin): one reading a line, with its rule."""
    from equipoise.cli import checks

    checks.try_reader(reader, file)


@app.group("ledger", cls=Commands, no_args_is_help=True)
def ledgers() -> None:
    """Ledgers: copy one, make one in PostgreSQL."""


@ledgers.command("copy")
@click.argument("source", metavar="FROM", type=Place())
@click.argument("target", metavar="TO", type=Place())
@as_json
def ledger_copy(source: Where, target: Where, as_json: bool) -> None:
    """Copy a ledger, file or database, entry by entry; the copy has the same head."""
    from equipoise.cli import ledgers

    ledgers.copied(source, target, as_json)


@ledgers.command("init")
@click.argument("database", metavar="URL", type=Place())
@click.option("--app-role", required=True, metavar="NAME",
              help="The role that runs will connect as: it may read and append.")
@click.option("--sql", is_flag=True, help="Print the statements; open no connection.")
def ledger_init(database: Where, app_role: str, sql: bool) -> None:
    """Make a ledger in a PostgreSQL database, owned by the role in URL."""
    from equipoise.cli import ledgers

    ledgers.laid_out(database, app_role, sql)


@app.group(cls=Commands, no_args_is_help=True)
def models() -> None:
    """Local models: list and pull."""


@models.command("list")
@as_json
def models_list(as_json: bool) -> None:
    """The catalogue, and which of it is here."""
    from equipoise.cli import weights

    weights.show(as_json)


@models.command("pull")
@click.argument("name")
def models_pull(name: str) -> None:
    """Fetch a model's weights and check their SHA-256."""
    from equipoise.cli import weights

    weights.fetch(name)


@app.command()
@click.argument("shell")
def completion(shell: str) -> None:
    """Print a completion script (bash, zsh or fish); nothing of yours is edited."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise Misuse(f"No completion for {shell!r}: there are bash, zsh and fish.")
    made = found(app, {}, "equipoise", "_EQUIPOISE_COMPLETE")
    click.echo(made.source_template % made.source_vars())
