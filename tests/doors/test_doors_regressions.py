"""Breaks of the law that were found once: one person's rows changed how the rows of others are read."""

from __future__ import annotations

import csv
import datetime
import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdistinct
from asked import read
from doors import SIDES, UnwritableError, assert_law
from doors_objects import BrokenZone, Lies, LyingText, NoAttributes, Raises, frame, object_array
from doors_text import compressed
from dpdistinct import Contributions, Curve, InputError, matching_curve
from exact import branches, loss, parameters
from keyed import SECRET

NESTED = "convert it to text, or name several columns"


def csv_file(path: Path, **options: Any) -> Callable[[list[Any]], Path]:
    def write(rows: list[Any]) -> Path:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, **{"lineterminator": "\n", **options})
            writer.writerow(["person", "element", "note"])
            writer.writerows(rows)
        return path

    return write


# CSV: a reader that starts in the middle of a file does not know whether it is inside quotes.


@pytest.mark.parametrize("threads", [1, 2])
def test_megabytes_in_quotes_do_not_become_rows_of_other_people(tmp_path: Path, threads: int) -> None:
    honest = [(f"person {i}", f"element {i % 1000}", "") for i in range(5000)]

    def note(number: int) -> str:
        return "".join(
            f"\nghost {i:07},thing {i:07},x" for i in range(number * 60_000, (number + 1) * 60_000)
        )

    enemy = [("enemy", f"own {i}", note(i)) for i in range(5)]
    assert len(enemy[0][2]) > 1_900_000 - 200_000
    assert_law(csv_file(tmp_path / "visits.csv"), honest, enemy, **SIDES, threads=threads)


def test_a_field_of_more_than_33_megabytes_does_not_become_rows_of_other_people(tmp_path: Path) -> None:
    honest = [(f"person {i}", f"element {i}", "") for i in range(100)]
    note = "".join(f"ghost {i:08},thing {i:08},x\n" for i in range(1_250_000))
    assert len(note) > 34 << 20
    assert_law(csv_file(tmp_path / "visits.csv"), honest, [("enemy", "own", note)])


def test_notes_of_two_lines_are_one_element_each(tmp_path: Path) -> None:
    # Nobody means any harm here; the file has some blocks, and line ends inside quotes everywhere.
    rows = [(f"person {i}", f"Dear all, see {i}\nand, as ever, {i},x", "") for i in range(400_000)]
    write = csv_file(tmp_path / "visits.csv", lineterminator="\r\n")
    assert read(write(rows), **SIDES).elements == len(rows)


def test_the_end_of_a_line_without_a_quote_is_that_of_the_header(tmp_path: Path) -> None:
    # Python's writer leaves \r without quotes where lines end in \n; then it is a character like others.
    path = tmp_path / "visits.csv"

    def write(rows: list[tuple[str, str, str]]) -> Path:
        path.write_bytes(
            "".join(f"{','.join(row)}\n" for row in [("person", "element", "note"), *rows]).encode()
        )
        return path

    honest = [(f"person {i}", f"element {i}", "x") for i in range(10)]
    assert_law(write, honest, [("enemy", f"own\rghost {i}", f"thing {i}") for i in range(5)])


def test_a_first_row_like_the_header_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv.zst"

    def write(rows: list[str]) -> Path:
        path.write_bytes(compressed(path.name, "".join(["person,element\n", *rows]).encode()))
        return path

    assert_law(write, [f"person {i},element {i}\n" for i in range(10)], ["person,element\n"])


# JSON: the names of columns are those that were asked for.


def json_lines(path: Path) -> Callable[[list[Any]], Path]:
    def write(rows: list[Any]) -> Path:
        path.write_bytes(
            b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in rows)
        )
        return path

    return write


HONEST_JSON = [{"user": f"person {i}", "url": f"element {i}"} for i in range(1000)]
QUESTION = {"person": "user", "element": "url"}


def test_another_spelling_in_the_first_line_changes_no_name(tmp_path: Path) -> None:
    write = json_lines(tmp_path / "visits.jsonl")
    assert_law(write, HONEST_JSON, [{"user": "enemy", "URL": "own"}], **QUESTION)
    assert read(write(HONEST_JSON), **QUESTION).elements == 1000


def test_no_name_in_a_line_is_shown(tmp_path: Path) -> None:
    # Whatever becomes of the question, a name that only a row has is not part of the answer.
    write = json_lines(tmp_path / "visits.jsonl")
    told = ""
    try:
        read(
            write([{"user": "enemy", "urls of secret-4711": "own"}]), person="user", element="urls of secret"
        )
    except InputError as error:
        told = str(error)
    assert "4711" not in told


def test_one_object_in_an_empty_file_decides_nothing(tmp_path: Path) -> None:
    assert_law(json_lines(tmp_path / "visits.jsonl"), [], [{"user": "enemy", "url": "own"}], **QUESTION)


def test_an_array_of_json_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "visits.json"
    path.write_text(json.dumps(HONEST_JSON))
    with pytest.raises(InputError, match="Parquet"):
        read(path, **QUESTION)


# `shifted_inverse` on sampling's curves, which are not concave.


def ranks_curve(people: list[list[int]]) -> Curve:
    """Sampling's curve when each person ranks their elements in this order."""
    best: dict[int, int] = {}
    for held in people:
        for rank, element in enumerate(held, start=1):
            best[element] = min(rank, best.get(element, rank))
    ranks, elements = np.unique(np.array(list(best.values()), dtype=np.int64), return_counts=True)
    return Curve.of_ranks(ranks, elements)


def ranked_people() -> Iterator[tuple[list[list[int]], list[int]]]:
    """Tables, light and heavy people in them, and one person more."""
    for seed in range(60):
        rng = random.Random(seed)
        pool = range(rng.choice([60, 300, 1500]))
        sizes = [1, 2, 3, 5, 40, min(len(pool), 1000)]
        people = [rng.sample(pool, rng.choice(sizes)) for _ in range(rng.choice([3, 20, 120]))]
        yield people, rng.sample(range(-200, len(pool)), rng.choice([1, 5, 50, 200]))


def test_the_fewest_left_are_the_definition_on_curves_that_are_not_concave() -> None:
    for people, _ in ranked_people():
        curve = ranks_curve(people)
        counts = np.concatenate(([0], curve.values(1001)))
        bounds = np.arange(1002)
        slow = [int((counts - bounds * j).max()) for j in range(40)]
        assert curve.fewest_left(39).tolist() == slow


def test_the_shifted_inverse_keeps_epsilon_on_the_curves_of_sampling() -> None:
    settings = parameters("shifted_inverse", "sampling", "1", None)
    for people, one_more in ranked_people():
        laws = [branches(ranks_curve(table), settings) for table in (people, [*people, one_more])]
        assert loss(*laws).whole <= 1 + 1e-9


# Arrays and frames whose conversions look at all rows.

IDS = [(2**60 + i, i) for i in range(1000)]
EXTENSIONS: dict[str, Callable[[list[Any]], Any]] = {
    "Int64 array": lambda values: pd.array(values, dtype="Int64"),
    "Int64 series": lambda values: pd.Series(values, dtype="Int64"),
    "Int64 index": lambda values: pd.Index(values, dtype="Int64"),
    "categories": lambda values: pd.Categorical(values, categories=[v for v in dict.fromkeys(values) if v]),
    "series of categories": lambda values: pd.Series(EXTENSIONS["categories"](values)),
    "Arrow array": lambda values: pd.array(values, dtype=pd.ArrowDtype(pa.int64())),
    "Arrow series": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.int64())),
    "Arrow index": lambda values: pd.Index(values, dtype=pd.ArrowDtype(pa.int64())),
}


@pytest.mark.parametrize("kind", EXTENSIONS)
def test_one_missing_value_makes_no_floats_of_integers(kind: str) -> None:
    make = EXTENSIONS[kind]

    def both(rows: list[tuple[Any, int]]) -> Contributions:
        return Contributions.from_pairs([e for _, e in rows], make([p for p, _ in rows]))

    assert_law(lambda rows: rows, IDS, [(None, -1)], read=both)
    assert both([*IDS, (None, -1)]).elements == 1000


NESTED_TYPES: dict[str, tuple[pa.DataType, Callable[[int], Any], Any]] = {
    "list": (pa.list_(pa.int64()), lambda i: [2**60 + i], [None]),
    "struct": (pa.struct({"a": pa.int64()}), lambda i: {"a": 2**60 + i}, {"a": None}),
    "list of structs": (pa.list_(pa.struct({"a": pa.int64()})), lambda i: [{"a": 2**60 + i}], [{"a": None}]),
    "fixed-size list": (pa.list_(pa.int64(), 1), lambda i: [2**60 + i], [None]),
    "fixed-size list of categories": (
        pa.list_(pa.dictionary(pa.int32(), pa.string()), 1),
        lambda i: [f"element {i}"],
        ["own"],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), lambda i: [("a", 2**60 + i)], [("a", None)]),
}
HOLDERS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "Arrow": lambda table: table,
    "Arrow in chunks": lambda table: pa.concat_tables(table.slice(i, 300) for i in range(0, len(table), 300)),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", NESTED_TYPES)
def test_nested_types_are_refused_by_the_schema(kind: str, holder: str) -> None:
    type, value, odd = NESTED_TYPES[kind]

    def write(rows: list[tuple[str, Any]]) -> Any:
        elements = pa.array([e for _, e in rows], type)
        return HOLDERS[holder](pa.table({"person": [p for p, _ in rows], "element": elements}))

    honest = [(f"person {i}", value(i)) for i in range(1000)]
    assert_law(write, honest, [("enemy", odd)])
    with pytest.raises(InputError, match=NESTED):
        read(write(honest), **SIDES)


def test_objects_of_polars_are_refused_by_the_schema() -> None:
    people = pl.Series("person", [f"person {i}" for i in range(999)])
    objects = pl.Series("element", [("a", "b", "c")[i % 3] * 40 for i in range(999)], dtype=pl.Object)
    for table in (pl.DataFrame([people, objects]), pl.DataFrame([people, objects]).lazy()):
        with pytest.raises(InputError):
            read(table, **SIDES)


# One Python value, one rule.

MOMENT = datetime.datetime(2024, 3, 1, 12, tzinfo=datetime.UTC)
TOKYO = datetime.timezone(datetime.timedelta(hours=9))
EQUALS: dict[str, list[Any]] = {
    "decimals": [Decimal("1.10"), Decimal("1.1"), Decimal("1.100")],
    "zero and minus zero, decimal": [Decimal("0"), Decimal("-0"), Decimal("0.00")],
    "one instant in two zones": [MOMENT, MOMENT.astimezone(TOKYO), pd.Timestamp(MOMENT)],
    "zero and minus zero": [0.0, -0.0],
    "an integer and NumPy's": [7, np.int64(7), np.uint8(7)],
    "text and NumPy's": ["a", np.str_("a")],
    "bytes and NumPy's": [b"a", np.bytes_(b"a")],
}


@pytest.mark.parametrize("kind", EQUALS)
def test_equal_objects_are_one_value_in_a_frame_and_in_from_pairs(kind: str) -> None:
    values = EQUALS[kind]
    people = list(range(len(values)))
    assert Contributions.from_pairs(people, values).elements == 1
    assert read(frame(list(zip(people, values, strict=True))), **SIDES).elements == 1


UNEQUAL = {
    "text and number": ["7", 7, 8],
    "bytes and text": [b"\xe9", "é", "x"],
    "a lone surrogate": ["\ud800", "a", "b"],
    "NaN is missing": [float("nan"), 1.5, 2.5],
    "days and moments": [
        datetime.date(2024, 1, 1),
        datetime.datetime(2024, 1, 1),
        datetime.datetime(2024, 1, 2),
    ],
}


@pytest.mark.parametrize("kind", UNEQUAL)
def test_a_frame_and_from_pairs_tell_the_same_objects_apart(kind: str) -> None:
    # Whether these are one value or two, both doors say the same.
    values = UNEQUAL[kind]
    people = list(range(len(values)))
    curves = [
        matching_curve(contributions).values(4).tolist()
        for contributions in (
            Contributions.from_pairs(people, values),
            read(frame(list(zip(people, values, strict=True))), **SIDES),
        )
    ]
    assert curves[0] == curves[1]


# Odd objects: one of them in a column of ordinary ones.

ODD: dict[str, Callable[[], Any]] = {
    "an integer of 5,000 digits": lambda: 10**5000,
    "a lone surrogate": lambda: "\ud800",
    "a signalling NaN": lambda: Decimal("sNaN"),
    "a decimal of a million digits": lambda: Decimal("1E+999999"),
    "a list": lambda: [1, 2],
    "a dict": lambda: {"a": 1},
    "an array": lambda: np.zeros(2),
    "an array without dimension": lambda: np.array(5),
    "a frame": lambda: pd.DataFrame({"a": [1]}),
    "another type": lambda: 1.5,
    "bytes": lambda: b"\xff",
    "a boolean": lambda: True,
    "a broken time zone": lambda: datetime.datetime(2024, 1, 1, tzinfo=BrokenZone()),
    "NumPy's moment": lambda: np.datetime64(2**62, "Y"),
    "a masked value": lambda: np.ma.masked,
    "an object that raises": Raises,
    "an object without attributes": NoAttributes,
    "a text that lies": lambda: LyingText("x"),
}


@pytest.mark.parametrize("door", ["from_pairs", "pandas"])
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_object_is_a_value_or_missing(kind: str, door: str) -> None:
    def both(rows: list[tuple[Any, Any]]) -> Contributions:
        if door == "pandas":
            return read(frame(rows), **SIDES)
        return Contributions.from_pairs([p for p, _ in rows], [e for _, e in rows])

    for honest in (lambda i: f"value {i}", lambda i: 2**60 + i):
        rows = [(honest(i), honest(i)) for i in range(20)]
        assert_law(lambda rows: rows, rows, [(ODD[kind](), honest(100))], read=both)
        assert_law(lambda rows: rows, rows, [(honest(100), ODD[kind]())], read=both)


def test_an_object_with_many_texts_is_no_crowd() -> None:
    honest, enemy = [(f"person {i}", f"element {i}") for i in range(9)], Lies()
    assert_law(frame, honest, [(enemy, f"own {i}") for i in range(9)])


def test_an_odd_object_in_a_column_that_nobody_asks_for_does_nothing() -> None:
    def write(rows: list[tuple[str, str, Any]]) -> pd.DataFrame:
        return frame([row[:2] for row in rows]).assign(note=object_array([row[2] for row in rows]))

    honest = [(f"person {i}", f"element {i}", "note") for i in range(9)]
    for kind in ODD:
        with suppress(UnwritableError):  # what pandas itself does not take
            assert_law(write, honest, [("enemy", "own", ODD[kind]())])


@pytest.mark.parametrize("place", ["hive", "./hive", "other/../hive", ".//hive"])
@pytest.mark.parametrize("name", ["enemy.parquet", "[x]", "*", "a?", "[", "{a,b}", "**", " "])
def test_a_value_that_names_a_folder_like_a_file_or_a_pattern_is_a_value(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()

    def write(rows: list[tuple[str, str]]) -> str:
        shutil.rmtree(tmp_path / "hive", ignore_errors=True)
        for person, element in rows:
            folder = tmp_path / "hive" / f"person={person}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"element": [element]}), folder / "data.parquet")
        return place

    assert_law(write, [(f"person {i}", f"element {i}") for i in range(5)], [(name, "own")])


# Conditions that hold for b\xff as it is read, which is "b?", but not for its bytes.
ABOUT_MENDED_TEXT = ["= 'b?'", "< 'bd'", "LIKE 'b?%'", "IN ('b?', 'q')", "BETWEEN 'b!' AND 'bb'", "<> 'bz'"]


@pytest.mark.parametrize("condition", ABOUT_MENDED_TEXT)
@pytest.mark.parametrize("bloom", [False, True])
def test_what_others_wrote_into_a_part_of_a_parquet_file_skips_no_row_of_a_query(
    bloom: bool, condition: str, tmp_path: Path
) -> None:
    """A part with "bz" as its least text was not looked at for what is less, whatever else was there."""

    def write(rows: list[tuple[str, str, bytes]]) -> Path:
        columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
        table = pa.table([*columns[:2], columns[2].view(pa.string())], ["person", "element", "kind"])
        filters = {"kind": {"ndv": 100, "fpp": 0.001}} if bloom else None
        pq.write_table(table, tmp_path / "visits.parquet", bloom_filter_options=filters)
        return tmp_path / "visits.parquet"

    honest = [(f"p{i}", f"e{i}", b"b\xff") for i in range(50)] + [("x", "x", b"bz"), ("y", "y", b"c")]
    how = {**SIDES, "sql": f"SELECT person, element FROM data WHERE kind {condition}"}
    for kind in (b"b?", b"ba", b"\xff", b""):
        assert_law(write, honest, [("enemy", "own", kind)], **how)
    assert read(write(honest), **how).people >= 50


def test_what_others_wrote_into_a_part_of_a_parquet_file_skips_no_row_of_a_join(tmp_path: Path) -> None:
    """The least and the largest person of one table decided which parts of the other one were looked at."""
    ids = [b"b\xff%d" % i for i in range(50)]
    counts = []
    for enemy in ([], [b"ba"], [b"b?0"]):
        everybody = [*ids, b"bz", b"c", *enemy]
        for name, people in (("visits", everybody), ("users", ids)):
            column = pa.array(people).view(pa.string())
            elements = [f"e{i}" for i in range(len(people))]
            pq.write_table(pa.table({"person": column, name: elements}), tmp_path / f"{name}.parquet")
        text = (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000, privacy_unit_column = person) "
            "COUNT(DISTINCT visits) AS n FROM visits JOIN users USING (person)"
        )
        tables = {
            name: dpdistinct.table(tmp_path / f"{name}.parquet", person="person")
            for name in ("visits", "users")
        }
        with pytest.warns(dpdistinct.PrivacyWarning):
            [answer] = dpdistinct.sql(text, tables=tables, beta=1e-9)
        counts.append(answer.rows[0][0])
    assert all(abs(count - 50) <= 5 for count in counts)  # and not 0, 1 and 51


def test_no_message_shows_a_value_that_names_a_folder(tmp_path: Path) -> None:
    for i in range(3):
        folder = tmp_path / "hive" / f"person={SECRET} {i}"
        folder.mkdir(parents=True)
        (folder / "data.parquet").write_bytes(b"no Parquet")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "hive", **SIDES)
    assert SECRET not in str(caught.value)


NOT_UTF_8 = [b"\xff", b"S\xf0o", b"a\xc3", b"\xed\xa0\x80"]


@pytest.mark.parametrize(
    "form", ["lower({})", "trim({})", "reverse({})", "regexp_replace({}, 'o', 'x')", "{}[:9]"]
)
@pytest.mark.parametrize("wrap", ["Arrow", "pandas"])
@pytest.mark.long
def test_a_text_of_arrow_that_is_not_utf_8_fails_no_function_of_sql(form: str, wrap: str) -> None:
    """Arrow looks at no text, so a Parquet file with such bytes becomes such a table."""

    def write(rows: list[tuple[bytes, int]]) -> Any:
        raw = pa.array([person for person, _ in rows], pa.binary())
        text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
        table = pa.table({"person": text, "element": [element for _, element in rows]})
        return table if wrap == "Arrow" else table.to_pandas(types_mapper=pd.ArrowDtype)

    honest = [(b"honest %d" % i, i) for i in range(9)]
    sql = f"SELECT {form.format('person')} AS person, element FROM data"
    for text in NOT_UTF_8:
        assert_law(write, honest, [(text, 10), (text, 11)], **SIDES, sql=sql)
