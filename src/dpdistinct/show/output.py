"""Everything that is shown, as a file: rows for programs, words and tables for people, a page, a picture.

`Shown` is what answers, explorations and plans have in common. The command's --output calls the same methods.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dpdistinct.errors import InputError, ParameterError, constant_error, library, short, shown
from dpdistinct.wording import NOT_PRIVATE, printable

if TYPE_CHECKING:
    from dpdistinct.answers.release import Release
    from dpdistinct.show.plots import Picture

Path = str | os.PathLike[str]

PICTURES = (".png", ".svg", ".pdf")
WRITERS = {  # of each ending, the method that writes such a file
    **{
        ".csv": "to_csv",
        ".json": "to_json",
        ".parquet": "to_parquet",
        ".md": "to_markdown",
        ".html": "to_html",
    },
    **dict.fromkeys(PICTURES, "plot"),
}


@dataclass(frozen=True)
class Rows:
    """A table for people: every cell is a text. The first `words` columns are no numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


class Code(str):
    """A command to copy."""


@dataclass(frozen=True)
class Told:
    """What people read: a title, then paragraphs and tables."""

    title: str
    parts: Sequence[str | Rows]


class Shown(ABC):
    """What can be written in every form."""

    __slots__ = ()

    @abstractmethod
    def _lists(self) -> dict[str, list[Any]]:
        """The rows as columns, for programs."""

    @abstractmethod
    def _told(self) -> Told:
        """The same for people."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_of(self._told())

    @abstractmethod
    def _picture(self) -> Picture: ...

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""

    def to_json(self, path: Path | None = None) -> str | None:
        """All of it as JSON: written to the path, or returned if there is none."""
        return _written(json.dumps(self.to_dict()), path)

    def to_csv(self, path: Path | None = None) -> str | None:
        """The rows as CSV: written to the path, or returned if there is none.

        A text that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a carriage
        return, and is no number) has an apostrophe before it. JSON and Parquet have texts as they are.
        """
        return _written(_csv(self._lists()), path)

    def to_markdown(self, path: Path | None = None) -> str | None:
        """Title, words and tables as Markdown: written to the path, or returned if there is none."""
        told = self._told()
        parts = [f"## {_marked(told.title)}"]
        return _written("\n\n".join([*parts, *map(_markdown, told.parts)]) + "\n", path)

    def to_html(self, path: Path | None = None) -> str | None:
        """One page that needs nothing else, for light and dark screens and printers: written or returned."""
        from dpdistinct.show.page import page

        title = self._told().title
        return _written(page(title, f"<h1>{html.escape(title)}</h1>", self._repr_html_()) + "\n", path)

    def to_parquet(self, path: Path) -> None:
        """The rows as a Parquet file."""
        _write_parquet(self._lists(), path)

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        return library("polars").DataFrame(self._lists())

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return library("pandas").DataFrame(self._lists())

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return library("pyarrow").table(self._lists())

    def plot(self, path: Path | None = None) -> Picture:
        """A Matplotlib figure, which a notebook shows; also written, as .png, .svg or .pdf.

        Needs Matplotlib (pip install -e '.[plot]' in the clone).
        """
        check_picture(path)
        return _saved(self._picture(), path)


def plot_series(releases: Mapping[str, Release], path: Path | None = None) -> Picture:
    """A picture of single counts that belong together, such as months, by their names, in their order.

    releases: the answers, by name. path: where it is written, as .png, .svg or .pdf. Returns a Matplotlib
    figure, which a notebook shows.

    >>> from dpdistinct import Release
    >>> january = Release(920, 1000, 9, 1.0, 0.05, "matching", "fixed", 9, element="url")
    >>> plot_series({"2024-01": january}).axes[0].get_ylabel()
    'distinct values of url'
    """
    check_picture(path)
    from dpdistinct.show.plots import picture_of_series

    return _saved(picture_of_series(releases), path)


def _saved(picture: Picture, path: Path | None) -> Picture:
    if path is not None:
        picture.savefig(path)
    return picture


def check_picture(path: Path | None) -> None:
    """Refuses a picture that cannot be drawn, before anything is computed."""
    if path is not None:
        check_output(path, name="plot", endings=PICTURES)
    else:
        _check_matplotlib()


def check_output(path: Any, *, name: str = "--output", endings: Sequence[str] = tuple(WRITERS)) -> None:
    """Refuses a file that cannot be written, before anything is read or paid for."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"{name} must be the path of a file, such as out.png, got {shown(path)}")
    text = os.fspath(path)
    if not text.lower().endswith(tuple(endings)):
        known = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise ParameterError(f"{name} must end in {known}, got {short(text)!r}")
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder):
        raise ParameterError(f"{name}: there is no folder {short(folder)}")
    if os.path.isdir(text) or not os.access(text if os.path.exists(text) else folder, os.W_OK):
        raise ParameterError(f"{name}: {short(text)} cannot be written")
    if text.lower().endswith(PICTURES):
        _check_matplotlib()


def _check_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("plots need Matplotlib: pip install -e '.[plot]' in the clone") from None


def write_output(thing: Shown, path: Path) -> None:
    """Writes it in the form that the ending of the path names."""
    ending = os.path.splitext(path)[1].lower()
    with constant_error(f"{short(os.fspath(path))} could not be written"):
        getattr(thing, WRITERS[ending])(path)


def _written(text: str, path: Path | None) -> str | None:
    if path is None:
        return text
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return None


# --- CSV

FORMULA = re.compile(r"(?![+-]?\d+(?:\.\d+)?\Z)[=+\-@\t\r]")  # how one may begin; a number is none


def _csv(columns: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    # A carriage return in a label would end the row for some readers; Python quotes it only if asked to.
    returns = any("\r" in str(value) for values in columns.values() for value in values)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    writer = csv.writer(text, lineterminator="\n", quoting=quoting)
    writer.writerow(map(no_formula, columns))
    writer.writerows(map(no_formula, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def no_formula(value: Any) -> Any:
    """The label of an unknown group is from the data: in a spreadsheet it must not compute anything."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


# --- Markdown


def _markdown(part: str | Rows) -> str:
    if isinstance(part, Code):
        return f"```sh\n{part}\n```"
    if isinstance(part, str):
        return "\n\n".join(map(_marked, part.strip().split("\n")))
    ends = ["---"] * part.words + ["---:"] * (len(part.heads) - part.words)
    lines = [map(_marked, part.heads), ends, *(map(_marked, row) for row in part.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(text: str) -> str:
    """A text in which nothing is markup."""
    text = re.sub(r"[\\`*\[\]<>|~&#]", r"\\\g<0>", printable(text))
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)


# --- HTML


def html_of(told: Told) -> str:
    """Paragraphs and tables for a notebook or a page, without the title."""
    return "".join(map(_html, told.parts))


def _html(part: str | Rows) -> str:
    if part == NOT_PRIVATE:
        return f'<p class="danger"><strong>{part}</strong></p>'
    return paragraphs(part.strip().split("\n")) if isinstance(part, str) else table_html(part)


def paragraphs(lines: Sequence[str]) -> str:
    """Each line as one; what stands between backticks is code."""
    marked = (re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(line)) for line in lines)
    return "".join(f"<p>{line}</p>" for line in marked)


def table_html(rows: Rows, more: Sequence[str] = ()) -> str:
    """The table; more: the last cell of each row, that of the heads first."""
    lines = []
    for i, row in enumerate([rows.heads, *rows.rows]):
        tag = "td" if i else "th"
        words = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row[: rows.words])
        numbers = "".join(f'<{tag} class="n">{html.escape(cell)}</{tag}>' for cell in row[rows.words :])
        lines.append(f"<tr>{words}{numbers}{more[i] if more else ''}</tr>")
    return f"<table>{''.join(lines)}</table>"


# --- Parquet

KINDS = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


def _write_parquet(columns: dict[str, list[Any]], path: Path) -> None:
    """By DuckDB, which is there already. Values go in as texts, so no type is guessed from them."""
    duckdb, numpy = library("duckdb"), library("numpy")
    texts = {
        f"c{i}": numpy.array([None if value is None else str(value) for value in values], dtype=object)
        for i, values in enumerate(columns.values())
    }
    selected = ", ".join(
        f'CAST(c{i} AS {_kind(values)}) AS "{name.replace(chr(34), chr(34) * 2)}"'
        for i, (name, values) in enumerate(columns.items())
    )
    with duckdb.connect() as connection:
        assert texts  # DuckDB finds it by its name
        connection.sql(f"SELECT {selected} FROM texts").write_parquet(os.fspath(path))


def _kind(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and any(abs(value) >= 2**63 for value in values if value is not None):
        return "VARCHAR"  # all digits of it
    return KINDS.get(kinds.pop(), "VARCHAR") if len(kinds) == 1 else "VARCHAR"
