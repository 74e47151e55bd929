"""The data sets: where they are, how the original files are read, what they must measure.

A data set that is not at hand raises NotAtHand and is named in the results; none is ever replaced.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import dpdistinct
from experiments import paper

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DPDISTINCT_DATA", ROOT.parent / "shared" / "data"))
TPCH_DATA = Path(os.environ.get("DPDISTINCT_TPCH", ROOT / "experiments" / "data" / "tpch"))

# Other data of about the size of one of the paper's that is not at hand, under their own names.
NEARBY = {"news20": "amazon_industrial", "reddit_top": "reddit"}
OTHERS = ["amazon_musical_2014", "amazon_all_beauty"]
TITLES = {d.name: d.title for d in paper.DATA_SETS} | {
    "news20": "20 Newsgroups (not in the paper; stands near Industrial and Scientific)",
    "reddit_top": "Top Reddit posts (not in the paper; stands near Reddit)",
    "amazon_musical_2014": "Amazon Musical Instruments 2014 (not in the paper)",
    "amazon_all_beauty": "Amazon All Beauty (not in the paper)",
}


class NotAtHand(Exception):  # noqa: N818 (a fact, not a mistake)
    """Something that an experiment needs is not on this machine."""


@dataclass(frozen=True)
class Table:
    """Who holds what, each pair once, by element and then by person."""

    name: str
    people: int  # also those without a record
    person: NDArray[np.int32]  # numbered in the order of the file
    element: NDArray[np.int32]  # numbered in the order of the values (words: alphabetical)

    @property
    def elements(self) -> int:
        """How many distinct elements there are."""
        return int(self.element[-1]) + 1 if self.element.size else 0

    def degrees(self) -> NDArray[np.int64]:
        """The number of elements of each person, also of those who have none."""
        return np.bincount(self.person, minlength=self.people)

    def contributions(self) -> dpdistinct.Contributions:
        """The same for dpdistinct."""
        return dpdistinct.Contributions.from_pairs(self.person, self.element)


def load(name: str) -> Table:
    """A data set of words, from token lists or, for the paper's own, from the original file."""
    tokens = DATA / f"{name}_tokens.parquet"
    if tokens.exists():
        table = _from_tokens(name, tokens)
    elif raw := os.environ.get(f"DPDISTINCT_RAW_{name.upper()}"):
        table = from_original(name, Path(raw))
    else:
        raise NotAtHand(
            f"{TITLES[name]}: neither {tokens} nor an original file in DPDISTINCT_RAW_{name.upper()} "
            "(see Data in experiments/README.md)"
        )
    check_sizes(table)
    return table


def check_sizes(table: Table) -> None:
    """The paper's own data sets must have the paper's sizes, or they are something else."""
    for expected in paper.DATA_SETS:
        if expected.name == table.name:
            found, wanted = measures(table), measures_of(expected)
            if found != wanted:
                raise ValueError(f"{table.name} is not the paper's data: {found}, expected {wanted}")


def measures(table: Table) -> dict[str, float]:
    """A line of the table "Data sets details"."""
    degrees = table.degrees()
    return {
        "people": table.people,
        "records": table.person.size,
        "least": int(degrees.min()),
        "median": float(np.median(degrees)),
        "most": int(degrees.max()),
        "vocabulary": table.elements,
    }


def measures_of(data: paper.DataSet) -> dict[str, float]:
    """The same line as the paper prints it."""
    return {k: getattr(data, k) for k in ("people", "records", "least", "median", "most", "vocabulary")}


def _from_tokens(name: str, path: Path) -> Table:
    with duckdb.connect() as connection:
        (people,) = connection.execute(f"SELECT count(*) FROM '{path}'").fetchone() or (0,)
        rows = f"(SELECT person, unnest(tokens) AS value FROM '{path}')"
        numbers = f"(SELECT person, row_number() OVER (ORDER BY person) - 1 AS number FROM '{path}')"
        return _numbered(connection, name, people, rows, numbers)


def _numbered(
    connection: duckdb.DuckDBPyConnection, name: str, people: int, rows: str, numbers: str
) -> Table:
    """`rows` has person and value; `numbers` has person and number, from 0 to people - 1."""
    found = connection.execute(
        f"""
        WITH pairs AS (SELECT DISTINCT person, value FROM {rows}),
             ordered AS (SELECT value, row_number() OVER (ORDER BY value) - 1 AS element
                         FROM (SELECT DISTINCT value FROM pairs))
        SELECT number::INTEGER AS person, element::INTEGER AS element
        FROM pairs JOIN ordered USING (value) JOIN {numbers} USING (person)
        ORDER BY element, number
        """
    ).fetchnumpy()
    return Table(name, people, np.asarray(found["person"]), np.asarray(found["element"]))


# The original files: one JSON object in each line (.gz or not), as in the Amazon review data of Ni, Li,
# McAuley, or the archive of IMDb. Exports of Reddit name their columns differently; a post without text
# is a person without a record.
PERSON_FIELDS = ("reviewerID", "author", "user", "id")
TEXT_FIELDS = ("reviewText", "selftext", "body", "text")


def from_original(name: str, path: Path) -> Table:
    """Reviews or posts as they are published: the paper's word rule for each person."""
    words = tokenizer()
    holds: dict[str, set[str]] = {}
    for record in _reviews(path) if path.name.endswith(".tar.gz") else _json_lines(path):
        person = next((record[f] for f in PERSON_FIELDS if record.get(f) is not None), None)
        text = next((record[f] for f in TEXT_FIELDS if record.get(f)), "")
        if person is not None:
            holds.setdefault(str(person), set()).update(words(text))
    ordered = {word: i for i, word in enumerate(sorted(set().union(*holds.values())))}
    pairs = [(ordered[word], i) for i, held in enumerate(holds.values()) for word in held]
    element, person_number = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2).T
    return Table(name, len(holds), person_number, element)


def _json_lines(path: Path) -> Iterator[dict[str, object]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:  # type: ignore[operator]
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _reviews(path: Path) -> Iterator[dict[str, object]]:
    """The labelled reviews of Maas et al.'s archive, aclImdb_v1.tar.gz, each a person of its own."""
    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            if re.search(r"/(train|test)/(pos|neg)/[^/]+[.]txt$", member.name):
                text = archive.extractfile(member)
                if text is not None:
                    yield {"id": member.name, "text": text.read().decode()}


def tokenizer() -> Callable[[object], set[str]]:
    """The paper's word rule: tokenise in the original case, keep what is alphanumeric, lower-case it."""
    try:
        import nltk

        nltk.word_tokenize("The English punkt model is at hand.")
    except (ImportError, LookupError):
        raise NotAtHand("NLTK (<= 3.8.1) with its English punkt model") from None
    return lambda text: {w.lower() for w in nltk.word_tokenize(str(text)) if w.isalnum()}


def tokenizer_agrees() -> bool:
    """The raw reviews of Amazon Fashion give the token lists that all else is computed from."""
    raw, tokens = DATA / "amazon_fashion.parquet", DATA / "amazon_fashion_tokens.parquet"
    if not raw.exists() or not tokens.exists():
        raise NotAtHand(f"{raw} and {tokens}")
    words = tokenizer()
    expected = {person: set(held) for person, held in duckdb.sql(f"FROM '{tokens}'").fetchall()}
    found: dict[int, set[str]] = {person: set() for person in expected}
    for person, text in duckdb.sql(f"SELECT person, text FROM '{raw}'").fetchall():
        found[person] |= words(text or "")
    return found == expected


# TPC-H: what is counted for whom. The filter is not in the paper; it is in the queries of the
# experiment that the paper compares itself with, and the only one with these true counts.
TPCH_TASKS = {
    "ps_aq": "SELECT ps_suppkey AS person, ps_availqty AS value FROM partsupp JOIN supplier "
    "ON s_suppkey = ps_suppkey WHERE s_nationkey >= 24",
    "l_ep": "SELECT l_suppkey AS person, l_extendedprice AS value FROM lineitem JOIN supplier "
    "ON s_suppkey = l_suppkey WHERE s_nationkey >= 24",
    "o_od": "SELECT o_custkey AS person, o_orderdate AS value FROM orders JOIN customer "
    "ON c_custkey = o_custkey WHERE c_nationkey >= 24",
    "l_rd": "SELECT o_custkey AS person, l_receiptdate AS value FROM lineitem JOIN orders "
    "ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey WHERE c_nationkey >= 24",
}
TPCH_TABLES = ("customer", "lineitem", "orders", "partsupp", "supplier")


def generate_tpch() -> Path:
    """TPC-H at scale 1, generated once."""
    if all((TPCH_DATA / f"{table}.parquet").exists() for table in TPCH_TABLES):
        return TPCH_DATA
    generator = Path(sys.executable).with_name("tpchgen-cli")
    if not generator.exists():
        raise NotAtHand("tpchgen-cli (pip install '.[experiments]' in the clone), for TPC-H")
    partial = TPCH_DATA.with_name(TPCH_DATA.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    options = ["--scale-factor", "1", "--tables", ",".join(TPCH_TABLES), "--output-dir", str(partial)]
    subprocess.run([generator, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(TPCH_DATA, ignore_errors=True)
    partial.rename(TPCH_DATA)
    return TPCH_DATA


def load_tpch(task: str) -> Table:
    """One of the four tasks; people and values in the order of their keys."""
    folder = generate_tpch()
    with duckdb.connect() as connection:
        for table in TPCH_TABLES:
            connection.execute(f"CREATE VIEW {table} AS FROM '{folder / table}.parquet'")
        connection.execute(f"CREATE TABLE rows AS {TPCH_TASKS[task]}")
        (people,) = connection.execute("SELECT count(DISTINCT person) FROM rows").fetchone() or (0,)
        numbers = (
            "(SELECT person, row_number() OVER (ORDER BY person) - 1 AS number "
            "FROM (SELECT DISTINCT person FROM rows))"
        )
        table = _numbered(connection, task, people, "rows", numbers)
    if table.elements != paper.TPCH_TRUTH[task]:
        raise ValueError(
            f"{task} has {table.elements} distinct values, expected {paper.TPCH_TRUTH[task]}; delete {folder}"
        )
    return table
