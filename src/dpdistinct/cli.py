"""The command line: open, call, print. Everything else is in the package.

Standard output has the answer and nothing else; progress goes to standard error, only on a
terminal, and names steps, never numbers of the data. Exit status 0, or 2 with one line.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import dpdistinct
from dpdistinct.errors import DpdistinctError, ParameterError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Count the distinct elements in a table, so that no person in it can be found out.",
)
ledger_app = typer.Typer(help="Keep a privacy budget that cannot be overspent by accident.")
app.add_typer(ledger_app, name="ledger")

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files or globs (CSV, TSV, JSON, Parquet, .gz, .zst; DuckDB, SQLite), or a postgresql:// URL.",
        show_default=False,
    ),
]
Person = Annotated[
    list[str], typer.Option(help="The column that says who; repeat it for several columns.", metavar="COLUMN")
]
Element = Annotated[
    list[str], typer.Option(help="The column to count; repeat it for several columns.", metavar="COLUMN")
]
Epsilon = Annotated[str, typer.Option(help="The privacy that is spent: less is safer and less exact.")]
Beta = Annotated[str, typer.Option(help="The lower bound holds with probability 1 - beta.")]
Sql = Annotated[
    str | None,
    typer.Option(
        help="A SELECT that prepares the rows, with the input as table `data`. It is trusted: what is "
        "protected is each person's rows of its result."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MemoryLimit = Annotated[
    str | None, typer.Option(help="What DuckDB may use, such as 1GB; greedy then sorts on disk.")
]
TempDirectory = Annotated[str | None, typer.Option(help="Where a private folder may take what exceeds it.")]
Threads = Annotated[int | None, typer.Option(help="Default: all cores. The answer does not depend on it.")]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The file of the ledger.")]


def _examples(*commands: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  dpdistinct {command}" for command in commands)


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
) -> None:
    pass


@app.command(
    epilog=_examples(
        "count visits.csv --person user_id --element url",
        "count 'logs/*.parquet' --person user --element site --epsilon 0.5 --json",
        "count shop.db --sql 'SELECT who, item FROM orders' --person who --element item",
        "count visits.csv --person user_id --element url --ledger budget.db --dataset visits",
        "count visits.parquet --person user_id --element url --method greedy --engine spark",
    )
)
def count(
    data: Data,
    person: Person,
    element: Element,
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    method: Annotated[
        str, typer.Option(help="matching (exact), greedy (linear time) or sampling (a baseline).")
    ] = "matching",
    mechanism: Annotated[
        str, typer.Option(help="joint, sharp, paper, r2t, shifted_inverse, or fixed with --max-bound.")
    ] = "joint",
    max_bound: Annotated[
        int | None, typer.Option(help="The largest number of elements one person may account for.")
    ] = None,
    aim: Annotated[
        str, typer.Option(help="lower_bound (the largest), or estimate (the closest; with joint).")
    ] = "lower_bound",
    sql: Sql = None,
    as_json: Json = False,
    ledger: Annotated[Path | None, typer.Option(help="Debit epsilon here before the data is read.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The name of the data set in the ledger.")] = None,
    request_id: Annotated[
        str,
        typer.Option(help="The same id again: the same answer, nothing spent. A new id: a new draw."),
    ] = "",
    engine: Annotated[
        str, typer.Option(help="duckdb, or spark for what Spark reads (docs/spark.md).")
    ] = "duckdb",
    memory_limit: MemoryLimit = None,
    temp_directory: TempDirectory = None,
    threads: Threads = None,
) -> None:
    """One private answer: a lower bound for the number of distinct elements, with its confidence."""
    from dpdistinct.parameters import check_parameters
    from dpdistinct.release import Release, count_distinct
    from dpdistinct.tables import check_readable

    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )
    if (ledger is None) != (dataset is None):
        raise ParameterError("ledger and dataset go together: --ledger FILE --dataset NAME")
    if engine not in ("duckdb", "spark"):
        raise ParameterError(f"engine must be duckdb or spark, got {engine!r}")
    query: dict[str, Any] = {"person": person, "element": element, "sql": sql}
    reading: dict[str, Any] = {
        "memory_limit": memory_limit,
        "temp_directory": temp_directory,
        "threads": threads,
    }
    asked: dict[str, Any] = vars(parameters)

    with _progress("counting") as step:
        if engine == "spark":
            from dpdistinct import spark
            from dpdistinct.files import is_text
            from dpdistinct.sparkio import open_files

            step("starting Spark")
            rows = open_files(data, sql)
            spark.check_query(
                rows,
                person=person,
                element=element,
                text=is_text(data),
                memory_limit=memory_limit,
                threads=threads,
            )

            def compute() -> Release:
                return spark.count_distinct(
                    rows, person=person, element=element, **asked, **reading, progress=step
                )

        else:
            # A mistyped column must not cost the budget; the schema is public.
            if ledger is not None:
                check_readable(_source(data), **query, **reading)

            def compute() -> Release:
                return count_distinct(_source(data), **query, **asked, **reading)

        if ledger is None:
            release = compute()
        else:
            from dpdistinct.ledger import Ledger

            assert dataset is not None
            # The query belongs to the identity of a request; its text may name what is private.
            digest = None if sql is None else hashlib.sha256(sql.encode()).hexdigest()
            release = Ledger(ledger).release(
                dataset,
                asked | query | {"sql": digest},
                parameters.epsilon,
                compute,
                request_id=request_id,
            )
    typer.echo(release.to_json() if as_json else str(release))


@app.command(epilog=_examples("plan --epsilon 1", "plan --margin 100 --bound 20 --beta 0.05"))
def plan(
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    bound: Annotated[
        list[int] | None,
        typer.Option(help="A bound to tabulate; repeat it. Default: 1, 2, 5, ... 1000.", metavar="<int>"),
    ] = None,
    margin: Annotated[
        int | None, typer.Option(help="Ask for the epsilon that gives a margin of at most this, at --bound.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What to expect, before any data is touched: noise and margin for each bound."""
    from dpdistinct import report
    from dpdistinct.parameters import MAX_BOUND, check_parameters
    from dpdistinct.terminal import new_table, print_table

    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    bounds = bound or [digit * 10**e for e in range(3) for digit in (1, 2, 5)] + [1000]
    for value in bounds:
        if not 1 <= value <= MAX_BOUND:
            raise ParameterError(f"bound must lie in [1, 2**31], got {value}")
    if margin is not None:
        if margin < 0 or bound is None:
            raise ParameterError("margin must be at least 0 and needs a bound: --margin 100 --bound 20")
        needed = {b: report.epsilon_for(margin=margin, bound=b, beta=parameters.beta) for b in bounds}
        if as_json:
            epsilons = {b: None if e is None else float(e) for b, e in needed.items()}
            typer.echo(json.dumps({"margin": margin, "epsilon": epsilons}))
            return
        for b, e in needed.items():
            answer = "no epsilon up to 1000 does" if e is None else f"epsilon = {float(e):g}"
            typer.echo(f"For a margin of at most {margin:,} at a bound of about {b:,}: {answer}.")
        return
    rows = report.plan(epsilon=parameters.epsilon, beta=parameters.beta, bounds=bounds)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows]))
        return
    table = new_table("bound", "noise (scale)", "margin, bound fixed", "margin, bound chosen")
    for row in rows:
        table.add_row(f"{row.bound:,}", f"{row.noise:,.1f}", f"{row.margin:,}", f"{row.chosen_margin:,}")
    confidence = f"{float(1 - parameters.beta):.6g}"
    print_table(table)
    typer.echo(
        f"epsilon {float(parameters.epsilon):g}: the lower bound is the noisy count minus the margin, "
        f"and holds with probability {confidence}. What people hold above the bound is lost on top."
    )


@app.command(
    epilog=_examples(
        "explore visits.csv --person user_id --element url",
        "explore visits.parquet --person user_id --element url --epsilon 0.5 --plot out.png",
    )
)
def explore(
    data: Data,
    person: Person,
    element: Element,
    epsilon: Epsilon = "1",
    beta: Beta = "0.05",
    sql: Sql = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this .png or .svg file.")] = None,
    as_json: Json = False,
    memory_limit: MemoryLimit = None,
    temp_directory: TempDirectory = None,
    threads: Threads = None,
) -> None:
    """NOT PRIVATE, for trusted eyes: the exact curves, and how each mechanism would do."""
    from dpdistinct import report
    from dpdistinct.parameters import check_parameters
    from dpdistinct.plots import check_plot_path, plot_exploration
    from dpdistinct.tables import read
    from dpdistinct.terminal import print_exploration

    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    if plot is not None:
        check_plot_path(plot)
    with _progress("reading") as step:
        contributions = read(
            _source(data),
            person=person,
            element=element,
            sql=sql,
            memory_limit=memory_limit,
            temp_directory=temp_directory,
            threads=threads,
        )
        found = report.explore(contributions, epsilon=parameters.epsilon, beta=parameters.beta, progress=step)
        if plot is not None:
            step("drawing")
            plot_exploration(found, plot)
    if as_json:
        fields = {k: v for k, v in vars(found).items() if k not in {"curves", "bounds", "expected"}}
        rows = {"bounds": [asdict(r) for r in found.bounds], "expected": [asdict(r) for r in found.expected]}
        typer.echo(json.dumps({"note": report.NOT_PRIVATE} | fields | rows))
        return
    print_exploration(found)


@app.command(epilog=_examples("demo"))
def demo() -> None:
    """A small table of people and the sites they visited: one private answer, and what lies behind it."""
    from dpdistinct.demo import run_demo

    run_demo(typer.echo)


@ledger_app.command("create", epilog=_examples("ledger create visits --ledger budget.db --budget 3"))
def ledger_create(
    name: Annotated[str, typer.Argument(help="A name for the data set.", show_default=False)],
    budget: Annotated[str, typer.Option(help="How much epsilon may be spent on it, in all.")],
    ledger: LedgerFile,
) -> None:
    """Give a data set a budget, in a new ledger or an existing one."""
    from dpdistinct.ledger import Ledger

    Ledger(ledger).create(name, budget)
    typer.echo(f"{name}: a budget of epsilon = {budget} in {ledger}.")


@ledger_app.command("show", epilog=_examples("ledger show --ledger budget.db"))
def ledger_show(ledger: LedgerFile, as_json: Json = False) -> None:
    """What each data set has left."""
    from dpdistinct.ledger import Ledger
    from dpdistinct.terminal import new_table, print_table

    accounts = Ledger(ledger).show()
    if as_json:
        rows = [
            {"dataset": a.dataset, "requests": a.requests}
            | {name: str(getattr(a, name)) for name in ("budget", "spent", "left")}
            for a in accounts
        ]
        typer.echo(json.dumps(rows))
        return
    table = new_table("data set", "budget", "spent", "left", "requests")
    for a in accounts:
        amounts = (f"{float(amount):g}" for amount in (a.budget, a.spent, a.left))
        table.add_row(a.dataset, *amounts, str(a.requests))
    print_table(table)


def _source(data: list[str]) -> str | list[str]:
    return data[0] if len(data) == 1 else data


@contextmanager
def _progress(first: str) -> Iterator[Any]:
    """A spinner with the name of the step, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status(first) as status:
        yield status.update


def main() -> None:
    """Run a command; every failure is one line and status 2."""
    arguments = sys.argv[1:]
    if arguments in ([], ["ledger"]):
        arguments.append("--help")
    try:
        status = typer.main.get_command(app).main(arguments, "dpdistinct", standalone_mode=False)
    except DpdistinctError as error:
        _fail(str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f"; see {context.command_path} --help" if context else ""
        _fail(error.format_message().rstrip(".") + hint)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)
    except (BrokenPipeError, SystemExit):  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except MemoryError:
        _fail("out of memory; try --memory-limit, or --method greedy")
    except Exception:  # its text or its traceback might quote the data
        _fail("something went wrong inside; nothing was published")
    if status == 130:  # what Typer makes of Ctrl-C
        _fail("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, status: int = 2) -> NoReturn:
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(message.split()))
    print(f"dpdistinct: {line}", file=sys.stderr)
    sys.exit(status)
