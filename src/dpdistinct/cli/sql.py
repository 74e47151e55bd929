"""`dpdistinct sql`: queries with SELECT WITH DIFFERENTIAL_PRIVACY, one release."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpdistinct.cli import options
from dpdistinct.cli.asked import group_list
from dpdistinct.cli.price import print_json, say_price
from dpdistinct.errors import FileError, ParameterError, short
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.show.bill import bill_of_queries
from dpdistinct.show.terminal import say, terminal_width
from dpdistinct.stopping import heed
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct.querying import AnsweredQueries, Named

program = options.new_program()
EXAMPLES = (
    "sql -f release.sql --table visits=visits.parquet --groups country=DE,FR,US",
    "sql -f release.sql --table visits=visits.parquet --table users=users.csv --public lands=lands.csv",
    "sql -f release.sql --table visits=visits.parquet --explain",
)
Query = Annotated[
    str | None, typer.Argument(help="The queries, with semicolons between them.", show_default=False)
]
File = Annotated[Path | None, typer.Option("-f", "--file", help="Read the queries from this file.")]
Tables = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="NAME=DATA", help="A private table: visits=visits.parquet; repeat it."),
]
Public = Annotated[
    list[str] | None,
    typer.Option("--public", metavar="NAME=DATA", help="A table without people, which is not protected."),
]
Persons = Annotated[
    list[str] | None,
    typer.Option(
        "--person",
        metavar="TABLE=COLUMN",
        help="The person's column of a table where it is not the privacy unit's.",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--groups", metavar="COLUMN=LIST", help="The groups to report: country=DE,FR,US."),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="What would be read, the proof, the cost, who pays; nothing is spent."),
]


@options.command(
    program, Question, Payment, Machine, only=("beta", *options.PAYING, *options.MEANS), examples=EXAMPLES
)
def sql_command(
    given: dict[str, Any],
    query: Query = None,
    file: File = None,
    tables: Tables = None,
    public: Public = None,
    persons: Persons = None,
    groups: Groups = None,
    explain: Explain = False,
    output: options.Outputs = None,
    as_json: options.Json = False,
    as_csv: Csv = False,
) -> None:
    """Private counts asked in SQL: several at once, with joins.

    The words are GoogleSQL's. A query runs only if it is proven to keep people apart. All queries are one
    release: one debit, all answers or none.
    """
    from dpdistinct.querying import ask_queries, explain_queries

    asked: dict[str, Any] = {
        "groups": {name: group_list(text) for name, text in _pairs("--groups", groups).items()},
        "beta": given["beta"],
        "machine": Machine.of(given),
    }
    places = [place for texts in (tables, public) for place in _pairs("--table", texts).values()]
    text = _text(query, file)
    in_query = re.findall("['\"`]([^'\"`]+)", text)  # it may name files
    options.check_outputs(output, [*places, file, *in_query])
    named, payment = _named(tables, public, persons), Payment.of(given)
    if explain:
        say(bill_of_queries(explain_queries(text, named, **asked, payment=payment), payment.dataset))
        return
    with options.on_terminal("opening", [one.data for one in named.private.values()]) as progress:
        answered = ask_queries(text, named, **asked, payment=payment, progress=progress)
    _print(answered, payment, as_json, as_csv)
    for number, release in enumerate(answered.releases, 1):
        options.write_outputs(release, output if len(answered.releases) == 1 else _numbered(output, number))


def _numbered(output: list[Path] | None, number: int) -> list[Path]:
    """Of several queries each has files of its own: out.csv becomes out-1.csv, out-2.csv."""
    return [path.with_stem(f"{path.stem}-{number}") for path in output or ()]


def _text(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise ParameterError("write the query behind `dpdistinct sql`, or name its file: -f release.sql")
    if file is None:
        return str(query)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FileError(f"the queries in {short(str(file))} cannot be read; is it a text file?") from None


def _pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """NAME=VALUE, several times."""
    pairs: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name or not value or name in pairs:
            raise ParameterError(f"{option} must be NAME=VALUE, each name once, got {short(text)!r}")
        pairs[name] = value
    return pairs


def _named(tables: list[str] | None, public: list[str] | None, persons: list[str] | None) -> Named:
    from dpdistinct.querying import Named
    from dpdistinct.sources.binding import Given

    private, known = (
        {name: Given(place) for name, place in _pairs(option, texts).items()}
        for option, texts in (("--table", tables), ("--public", public))
    )
    people = _pairs("--person", persons)
    for name in people:
        if name.lower() not in {table.lower() for table in private}:
            raise ParameterError(f"--person names the table {short(name)!r}, which no --table declares")
    return Named(private, known, {name: (column,) for name, column in people.items()})


def _print(answered: AnsweredQueries, payment: Payment, as_json: bool, as_csv: bool) -> None:
    if as_json:
        warnings = [epsilon_warning(Fraction(repr(release.epsilon))) for release in answered.releases]
        fields: dict[str, Any] = {
            "queries": [one.to_dict() | {"sentence": one.sentence()} for one in answered.releases]
        }
        print_json(fields | ({"warnings": warnings} if any(warnings) else {}), answered, payment)
        return
    if as_csv:
        texts = [str(release.to_csv()).rstrip("\n") for release in answered.releases]
    else:
        width = terminal_width()
        texts = [f"{release.table(width)}\n\n{release.sentence()}" for release in answered.releases]
    heed()  # after a signal nothing is published
    typer.echo("\n\n".join(texts))
    say_price(max(release.epsilon for release in answered.releases), answered, payment)
