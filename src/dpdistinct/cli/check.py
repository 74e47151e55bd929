"""`dpdistinct check`. NOT private."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpdistinct.cli.options import Comment, Delimiter, Format, Header, Json, Quotes, examples, say

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs or a database URL, as for count.", metavar="DATA...", show_default=False
    ),
]
Person = Annotated[
    list[str] | None, typer.Option(help="The column that says who; repeat it for several.", metavar="COLUMN")
]
Element = Annotated[
    list[str] | None, typer.Option(help="The column to count; repeat it for several.", metavar="COLUMN")
]
Sql = Annotated[str | None, typer.Option(help="A SELECT that prepares the rows, as for count.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", help="Names of columns, as for count.", metavar="COLUMN")
]
Encoding = Annotated[str | None, typer.Option(help="Of text files. Default: utf-8, if they can be read so.")]
MemoryLimit = Annotated[
    str | None, typer.Option(help="What DuckDB may use, such as 1GB.", envvar="DPDISTINCT_MEMORY_LIMIT")
]
TempDirectory = Annotated[str | None, typer.Option(help="Where a private folder may take what exceeds it.")]
Threads = Annotated[int | None, typer.Option(help="Default: all cores.")]


def check_command(app: typer.Typer, progress: Any) -> None:
    """Adds the command. progress: shows the name of a step meanwhile."""

    @app.command(
        epilog=examples(
            "check visits.csv",
            "check visits.csv --person user_id --element url",
            "check ratings.dat --person 1 --element 2",
        )
    )
    def check(
        data: Data,
        person: Person = None,
        element: Element = None,
        sql: Sql = None,
        columns: Columns = None,
        encoding: Encoding = None,
        format: Format = None,
        delimiter: Delimiter = None,
        comment: Comment = None,
        header: Header = True,
        quotes: Quotes = True,
        as_json: Json = False,
        memory_limit: MemoryLimit = None,
        temp_directory: TempDirectory = None,
        threads: Threads = None,
    ) -> None:
        """NOT PRIVATE: how a file is read, and what would be left out.

        For trusted eyes. Shows columns, encoding, delimiter, ids that look wrong, and rows that would be left
        out and why. Ends with the command that counts. Run it first where a file is new to you. For groups,
        `dpdistinct explore --group-by` shows the true count of each, or labels that do occur.
        """
        options = dict(locals())
        for name in ("app", "progress", "as_json", "data"):
            options.pop(name, None)
        from dpdistinct.trusted.check import check as look

        with progress("reading", data):
            found = look(data, **options)
        typer.echo(found.to_json()) if as_json else say(str(found))
