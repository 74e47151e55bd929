"""The command line: open, call, print. Everything else is in the package.

Standard output has the answer and nothing else; progress goes to standard error, only on a
terminal, and shows the step, bytes of the files and the time, never numbers of the data. Exit status 0,
or one line and a status of its own for each kind of failure (status_of).
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import dpdistinct
from dpdistinct.cli.check import check_command
from dpdistinct.cli.failure import FAILED, FULL, INSIDE, USAGE, fail, message_of, status_of
from dpdistinct.cli.guide import guide_command
from dpdistinct.cli.ledger import Who, ledger_app
from dpdistinct.cli.options import (
    Comment,
    Delimiter,
    Encoding,
    Format,
    Header,
    Json,
    Quotes,
    choices,
    defaults,
    examples,
    on_terminal,
    say,
)
from dpdistinct.errors import DpdistinctError, is_full_disk

app = typer.Typer(
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 10_000},  # the terminal's
    help="Count the distinct elements in a table, with a proven limit on what the answer tells about "
    "any person.",
)
app.add_typer(ledger_app, name="ledger")

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files or globs (CSV, TSV, JSON lines, Parquet; .gz, .zst; DuckDB, SQLite), or a database URL.",
        metavar="DATA...",
        show_default=False,
    ),
]
Person = Annotated[
    list[str], typer.Option(help="The column that says who; repeat it for several columns.", metavar="COLUMN")
]
Element = Annotated[
    list[str], typer.Option(help="The column to count; repeat it for several columns.", metavar="COLUMN")
]
Epsilon = Annotated[
    str,
    typer.Option(
        help="What this answer may cost each person in privacy: less is safer and less exact. Above 5 it "
        "protects little.",
        envvar="DPDISTINCT_EPSILON",
    ),
]
Beta = Annotated[str, typer.Option(help="The answer is at most the truth with probability 1 - beta.")]
Sql = Annotated[
    str | None,
    typer.Option(
        help="A SELECT that prepares the rows, with the input as table `data`. It is trusted: what is "
        "protected is each person's rows of its result."
    ),
]
NamedColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="For --sql over JSON lines: a name to read; repeat it. With --no-header: the names in order.",
        metavar="COLUMN",
    ),
]
GroupBy = Annotated[
    list[str] | None,
    typer.Option(help="Count in each group of this column; repeat it for several.", metavar="COLUMN"),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        help="The groups to report, which must be public: DE,FR,US; or 2024-01..2024-12 with --every month; "
        "or unknown with --delta. Once for each --group-by.",
        metavar="LIST",
    ),
]
GroupsFile = Annotated[
    Path | None, typer.Option(help="A CSV file with the groups to report, and a header as --group-by.")
]
EveryPeriod = Annotated[
    str | None,
    typer.Option(
        help="Groups of dates: day, week, month or year.",
        autocompletion=choices("day", "week", "month", "year"),
    ),
]
OneGroup = Annotated[
    bool, typer.Option("--one-group-per-person", help="A person counts in their first listed group only.")
]
Delta = Annotated[str | None, typer.Option(help="For unknown groups: try 1e-6.")]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="What is kept at a limit per person: matching (the most), greedy (nearly as much, in linear "
        "time) or sampling (at random, as other tools do).",
        autocompletion=choices("matching", "greedy", "sampling"),
    ),
]
MechanismName = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        help="joint, sharp, paper, r2t, shifted_inverse, fixed; by group the default, or fixed.",
        autocompletion=choices("joint", "sharp", "paper", "r2t", "shifted_inverse", "fixed"),
    ),
]
MaxBound = Annotated[
    int | None,
    typer.Option(
        help="The largest limit per person, that is, number of elements one person may account for."
    ),
]
AimName = Annotated[
    str,
    typer.Option(
        "--aim",
        help="What the limit per person is chosen for: lower_bound (the largest), or estimate (a noisy count "
        "near the truth; with joint, and by group).",
        autocompletion=choices("lower_bound", "estimate"),
    ),
]
PayingLedger = Annotated[
    Path | None,
    typer.Option("--ledger", help="Debit epsilon here before the data is read.", envvar="DPDISTINCT_LEDGER"),
]
Dataset = Annotated[str | None, typer.Option(help="The name of the data set in the ledger.")]
RequestId = Annotated[
    str, typer.Option(help="The same id again: the same answer, nothing spent. A new id: a new draw.")
]
DataName = Annotated[
    str | None, typer.Option(help="For the ledger: the name of data that are no files, or move about.")
]
Series = Annotated[
    str | None,
    typer.Option(help="Answers to be compared: later ones use the limit per person of the first."),
]
Engine = Annotated[
    str,
    typer.Option(
        help="duckdb, or spark for what Spark reads (docs/spark.md).",
        autocompletion=choices("duckdb", "spark"),
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        help="What DuckDB may use, such as 1GB; greedy then sorts on disk.", envvar="DPDISTINCT_MEMORY_LIMIT"
    ),
]
TempDirectory = Annotated[str | None, typer.Option(help="Where a private folder may take what exceeds it.")]
Threads = Annotated[int | None, typer.Option(help="Default: all cores. The answer does not depend on it.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpdistinct {dpdistinct.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say each step and how long it took.")] = False,
) -> None:
    if verbose:
        import logging

        logging.basicConfig(format="dpdistinct: %(message)s", stream=sys.stderr)
        logging.getLogger("dpdistinct").setLevel(logging.INFO)


@app.command(
    epilog=examples(
        "count visits.csv --person user_id --element url",
        "count 'logs/*.parquet' --person user --element site --epsilon 0.5 --json",
        "count shop.db --sql 'SELECT who, item FROM orders' --person who --element item",
        "count visits.csv --person user_id --element url --ledger budget.db --dataset visits",
        "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
        "count visits.parquet --person user_id --element url --method greedy --engine spark",
    )
)
def count(
    data: Data,
    person: Person,
    element: Element,
    group_by: GroupBy = None,
    groups: Groups = None,
    groups_file: GroupsFile = None,
    every: EveryPeriod = None,
    one_group_per_person: OneGroup = False,
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    delta: Delta = None,
    method: MethodName = "matching",
    mechanism: MechanismName = None,
    max_bound: MaxBound = None,
    aim: AimName = "lower_bound",
    sql: Sql = None,
    columns: NamedColumns = None,
    encoding: Encoding = "utf-8",
    format: Format = None,
    delimiter: Delimiter = None,
    comment: Comment = None,
    header: Header = True,
    quotes: Quotes = True,
    as_json: Json = False,
    ledger: PayingLedger = None,
    dataset: Dataset = None,
    request_id: RequestId = "",
    data_name: DataName = None,
    series: Series = None,
    who: Who = None,
    engine: Engine = "duckdb",
    memory_limit: MemoryLimit = None,
    temp_directory: TempDirectory = None,
    threads: Threads = None,
) -> None:
    """One private answer: a lower bound for the distinct count.

    Where a file is new to you, `dpdistinct check` shows trusted eyes first what would be read.
    """
    options = dict(locals())
    from dpdistinct.cli.count import run_count

    with on_terminal("opening", data) as step:
        print_answer = run_count(options, step)
    print_answer()


guide_command(app)
check_command(app, on_terminal)


@app.command(
    epilog=examples("plan --epsilon 1", "plan --margin 100 --bound 20 --beta 0.05", "plan --groups 12")
)
def plan(
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    bound: Annotated[
        list[int] | None,
        typer.Option(
            help="A limit per person to tabulate; repeat it. Default: 1, 2, 5, ... 1000.", metavar="<int>"
        ),
    ] = None,
    margin: Annotated[
        int | None,
        typer.Option(help="Ask for the epsilon that gives a margin of at most this, at the limit --bound."),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="For a count by group: how many groups the list has.", metavar="N")
    ] = None,
    as_json: Json = False,
) -> None:
    """How far noise pushes an answer down, before any data is touched."""
    options = dict(locals())
    from dpdistinct.cli.plan import run_plan

    run_plan(options)


@app.command(
    epilog=examples(
        "explore visits.csv --person user_id --element url",
        "explore visits.parquet --person user_id --element url --epsilon 0.5 --plot out.png",
    )
)
def explore(
    data: Data,
    person: Person,
    element: Element,
    group_by: GroupBy = None,
    groups: Groups = None,
    groups_file: GroupsFile = None,
    every: EveryPeriod = None,
    one_group_per_person: OneGroup = False,
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    delta: Delta = None,
    sql: Sql = None,
    columns: NamedColumns = None,
    encoding: Encoding = "utf-8",
    format: Format = None,
    delimiter: Delimiter = None,
    comment: Comment = None,
    header: Header = True,
    quotes: Quotes = True,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this .png or .svg file.")] = None,
    as_json: Json = False,
    memory_limit: MemoryLimit = None,
    temp_directory: TempDirectory = None,
    threads: Threads = None,
) -> None:
    """NOT PRIVATE: exact counts, and how each mechanism would do.

    For trusted eyes. Shows what each limit per person keeps, and simulates answers of each mechanism. With
    --group-by it shows the true count of each group.
    """
    options = dict(locals())
    from dpdistinct.cli.explore import run_explore

    run_explore(options, partial(on_terminal, places=data))


@app.command(epilog=examples("demo"))
def demo() -> None:
    """A made-up table, one private answer, and what lies behind it."""
    from dpdistinct.cli.demo import run_demo

    run_demo(say)


def main() -> None:
    """Run a command; every failure is one line, and a status that tells its kind."""
    arguments = sys.argv[1:]
    if arguments in ([], ["ledger"]):
        arguments.append("--help")
    try:
        command = typer.main.get_command(app)
        asks_about_us = {"-h", "--help", "--version", "--show-completion", "--install-completion"}
        settings = {} if asks_about_us & set(arguments) else defaults()
        status = command.main(arguments, "dpdistinct", standalone_mode=False, default_map=settings)
    except DpdistinctError as error:
        fail(message_of(error), status_of(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        message = error.format_message().rstrip(".")
        see = " See" if message.endswith("?") else "; see"
        fail(message + (f"{see} {context.command_path} --help" if context else ""), USAGE)
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and not ended.code:  # shell completion
            raise
        # The reader of the pipe has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except MemoryError:
        fail("out of memory; try --memory-limit, or --method greedy", FAILED)
    except (KeyboardInterrupt, typer.Abort):
        raise KeyboardInterrupt from None  # __main__ knows by which signal
    except OSError as error:
        fail(FULL if is_full_disk(error) else INSIDE, FAILED)
    except Exception:  # its text or its traceback might quote the data
        fail(INSIDE, FAILED)
    if status == 130:  # what Typer makes of Ctrl-C
        raise KeyboardInterrupt
    sys.exit(status if isinstance(status, int) else 0)
