"""Files as people have them: other endings, delimiters, comment lines, no header, integer labels."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import asked
import naive_text
from asked import open_source, read
from doors import assert_law
from dpdistinct import ColumnError, FileError, InputError, ParameterError, _core, matching_curve
from dpdistinct.cli.main import app
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.sources.text.headers import fields_of
from fuzz_text import rows_of
from test_text import read_csv

SIDES: dict[str, Any] = {"person": "person", "element": "element"}
NUMBERED: dict[str, Any] = {"person": 1, "element": 2, "header": False}


def write(folder: Path, text: str, name: str = "visits.dat") -> str:
    (folder / name).write_bytes(text.encode())
    return str(folder / name)


def pairs_of(path: Any, **how: Any) -> tuple[int, int, int]:
    """People, elements and pairs."""
    found = read(path, **how)
    return found.people, found.elements, found.pairs


# Delimiters


@pytest.mark.parametrize(
    ("delimiter", "line", "fields"),
    [
        (b"::", b"a::b::c", ("a", "b", "c")),
        (b"::", b'"a:"::":b"', ("a:", ":b", None)),
        (b"::", b':"a"::b:', (':"a"', "b:", None)),
        (b"::", b'"a::b"::c', ("a::b", "c", None)),
        (b"::", b'"a":"b"::c', ('a:"b"', "c", None)),
        (b"::", b"::a::", (None, "a", None)),
        (b":;:", b"a:;b:;:;", ("a:;b", ";", None)),
        (b"aab", b"aaab,b", ("a", ",b", None)),
        ("é".encode(), "aéb".encode(), ("a", "b", None)),
        (b"", b"a b\t \tc", ("a", "b", "c")),
        (b"", b"  a  b  ", ("a", "b", None)),
        (b"", b'\t"a b" "c"d e', ("a b", "cd", "e")),
        (b"", b'a"b c"d " e"', ('a"b', 'c"d', " e")),
        (b"", b'"" a', ("", "a", None)),
    ],
)
def test_a_row_is_split_at_its_delimiters(delimiter: bytes, line: bytes, fields: Any) -> None:
    layout = {"delimiter": delimiter, "row_end": b"\n"}
    for block in (1, 2, 3, 7, 100):
        rows = read_csv(b"x" + delimiter + b"y\n" + line + b"\n", places=(0, 1, 2), block=block, **layout)
        assert rows[1:] == [fields]
    assert naive_text.csv_columns(line, [0, 1, 2], longest_row=100, **layout) == [fields]


def test_every_border_of_blocks_gives_the_same_rows_with_every_layout() -> None:
    data = b'a::"b\n::""c"::d\n#x:::"y\n "z" :: "\n# "\n\n:"::":::\n"q"::"#\n"\n \t\nlast  "one'
    delimiters = (b"::", b":", b"", b"b\n"[:1])
    for delimiter, comment, quotes in itertools.product(delimiters, (b"", b"#"), (True, False)):
        layout: dict[str, Any] = {"delimiter": delimiter, "comment": comment, "quotes": quotes}
        for longest_row, row_end in itertools.product((4, 12, 1000), (b"\n", b"\r\n")):
            layout |= {"row_end": row_end, "longest_row": longest_row}
            expected = naive_text.csv_columns(data, [0, 1, 2], **layout)
            for block in range(1, 14):
                assert read_csv(data, places=(0, 1, 2), block=block, **layout) == expected


@pytest.mark.parametrize(
    ("delimiter", "lines"),
    [
        (b"::", [b"a:::b", b"::::", b"a::::b", b'"a":::b', b'a:::"b\nx::y\n"', b'a::b::::"\n""\n"::c']),
        (b"||", [b"a|||b", b"|||"]),
        (b"|~|", [b"a|~|~|b", b'a|~|~|"b\n"', b"|~|~|~|"]),
        (b"aba", [b"xababay", b"ababa"]),
    ],
)
def test_a_row_in_which_delimiters_overlap_is_left_out_alone(delimiter: bytes, lines: list[bytes]) -> None:
    """Where its fields end is unclear: "a:" and "b", or "a" and ":b"? The row ends where the quotes say."""
    around = b"x" + delimiter + b"y\n"
    for line, block, threads in itertools.product(lines, (1, 2, 3, 7, 1000), (1, 2)):
        left_out = _core.LeftOut()
        data = around + line + b"\n" + around
        settings: dict[str, Any] = {"block": block, "threads": threads, "left_out": left_out}
        assert read_csv(data, delimiter=delimiter, **settings) == [("x", "y"), ("x", "y")]
        assert left_out.unclear == 1


@pytest.mark.parametrize("delimiter", ["::", "||", "|~|", ":;:", ",", "~|", "aab", "ab", " ", "\t", "é"])
def test_what_a_writer_wrote_is_read_or_left_out(delimiter: str) -> None:
    """A field with the delimiter in it stands in quotes. All short fields: read right, or not at all."""
    letters = sorted({*delimiter, "x"})
    texts = ["".join(some) for size in range(4) for some in itertools.product(letters, repeat=size)]
    words = [f'"{text}"' if not text or delimiter in text else text for text in texts]
    pairs = list(itertools.product(range(len(texts)), repeat=2))
    for first, second in pairs if len(pairs) < 3000 else random.Random(1).sample(pairs, 3000):
        data = delimiter.join([words[first], words[second], words[first]]).encode() + b"\n"
        found = read_csv(data, places=(0, 1, 2), delimiter=delimiter.encode())
        right = (texts[first], texts[second], texts[first])
        assert found in ([], [right])
        if len(delimiter) == 1 or delimiter in ("~|", "aab", "ab"):  # none that overlaps with itself
            assert found == [right]


MARK = naive_text.MARK


@pytest.mark.parametrize("seed", range(30))
def test_marks_at_the_beginning_of_a_row_do_not_count(seed: int) -> None:
    """So it does not matter whose they are, the file's or a value's, nor which row comes first."""
    rng = random.Random(seed)
    delimiter = rng.choice([b",", b"::", b" ", b"\t"])
    words = [
        b"a",
        b'"b"',
        b'"c\nd"',
        b'"' + MARK + b'e"',
        b"f" + MARK,
        b'"g' + delimiter + b'"',
        b"#h",
        b"",
        MARK,
    ]
    settings: dict[str, Any] = {"delimiter": delimiter, "comment": rng.choice([b"", b"#"]), "marks": True}
    settings |= {"row_end": b"\r\n", "longest_row": rng.choice([12, 1000])}
    rows = [
        delimiter.join(rng.choices(words, k=rng.choice([1, 2, 3]))) + rng.choice([b"\n", b"\r\n"])
        for _ in range(rng.choice([1, 4, 9]))
    ]
    expected = [read_csv(row, **settings) for row in rows]
    marked = [MARK * rng.choice([0, 1, 1, 2, 7]) + row for row in rows]
    for block in (1, 2, 3, 4, 5, 9, 1000):
        found = read_csv(b"".join(marked), block=block, threads=rng.choice([1, 3]), **settings)
        assert found == [row for some in expected for row in some]


def test_with_a_header_a_mark_in_a_row_is_a_character_like_any_other(tmp_path: Path) -> None:
    rows = "person,element\n\ufeffa,x\na,x\n"
    for mark in ("", "\ufeff"):
        assert pairs_of(write(tmp_path, mark + rows, "visits.csv"), **SIDES) == (2, 1, 2)


def test_between_spaces_a_mark_is_a_character_like_any_other(tmp_path: Path) -> None:
    """Or a first word of marks would be none, and the second word would be somebody's name."""
    rows = "".join(
        f"{spaces}\ufeff{name} x{i} y{i}\n"
        for i in range(3)
        for spaces in ("", " \t")
        for name in ("", "eve")
    )
    path = write(tmp_path, rows, "visits.dat")
    how: dict[str, Any] = {"format": "csv", "delimiter": "whitespace", "header": False}
    assert pairs_of(path, person="1", element="2", **how) == (2, 3, 6)


def test_whitespace_is_not_for_a_writer_that_quotes_spaces_alone(tmp_path: Path) -> None:
    """No reader can tell a tab in a field of such a file from one between fields: the pages say so."""
    path = tmp_path / "visits.dat"
    with path.open("w", newline="") as file:  # the writer of Python, which quotes its own delimiter alone
        rows = [("Una", "u", "x"), *((f"Eve\tghost{i}", "eve", f"x{i}") for i in range(3)), ("", "v", "y")]
        csv.writer(file, delimiter=" ").writerows(rows)
    how: dict[str, Any] = {"person": 2, "element": 3, "header": False, "format": "csv"}
    assert read(path, **how, delimiter="whitespace").people > 3
    assert read(path, **how, delimiter=" ").people == 3
    docs = Path(__file__).parents[2] / "docs"
    privacy, inputs = (" ".join((docs / name).read_text().split()) for name in ("privacy.md", "inputs.md"))
    assert "no field is empty or holds a space or a tab, unless it stands in quotes" in privacy
    assert "For its files say `--delimiter ' '` or `--delimiter tab`" in inputs


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_mark_of_a_file_is_nobody_s_and_everybody_s(ending: str, tmp_path: Path) -> None:
    """Twelve part files without a header: eve is one person, with a mark or without, wherever she stands."""

    def people(names: list[str]) -> int:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for number in range(12):
            data = "".join(f"{name},thing {number}\n" for name in names).encode()
            whole = gzip.compress(data) if ending else data
            (folder / f"part-{number}.csv{ending}").write_bytes(whole)
        return read(f"{folder}/*.csv{ending}", **NUMBERED).people

    for first in ("\ufeffeve", "\ufeff\ufeffeve", "eve", '\ufeff"eve"', "u1"):
        assert people([first, "u1", "\ufeffeve", "u2"]) == people(["u1", "u2", "eve", first]) == 3


def test_the_number_of_fields_can_be_asked_for() -> None:
    for delimiter, data in {
        b",": b'a,b,c\n,\n"x,y",z\n',
        b"::": b'a::b::c\n::\n"x,y"::z\n',
        b"": b' a  b c \n"" "" \n"x,y" z\n',
    }.items():
        rows = read_csv(data, places=(_core.FIELD_COUNT, 1), delimiter=delimiter)
        assert rows == [("3", "b"), ("2", None if delimiter else ""), ("2", "z")]


def test_rows_that_are_left_out_are_counted_by_reason() -> None:
    data = b'a,b\n\n#c\n#d,"\n"\n' + b"x" * 200 + b"\n" + b'"' + b"\n" * 300 + b'"\ne,f\ng,"open'
    reasons = ("empty", "comments", "too_long", "open_quotes", "unclear", "no_objects")
    for block, threads in itertools.product((1, 5, 64, 1000), (1, 3)):
        left_out = _core.LeftOut()
        rows = read_csv(data, comment=b"#", block=block, threads=threads, longest_row=100, left_out=left_out)
        assert rows == [("a", "b"), ("e", "f")]
        assert [getattr(left_out, reason) for reason in reasons] == [1, 2, 2, 1, 0, 0]
    left_out = _core.LeftOut()
    source = iter([b'{"a": 1}\n\n[1]\nno\n' + b" " * 200 + b"\n", b""]).__next__
    settings: dict[str, Any] = {"longest_row": 100, "left_out": left_out}
    assert rows_of(_core.text_values([(source, 0, b"\n", [])], None, [(b"a", 0)], 1, **settings)) == [("1",)]
    assert [getattr(left_out, reason) for reason in reasons] == [1, 0, 1, 0, 0, 2]


# Files


def test_a_format_says_what_the_ending_does_not(tmp_path: Path) -> None:
    rows = "person,element\na,x\nb,x\nb,y\n"
    path = write(tmp_path, rows)
    with pytest.raises(FileError, match=r"has no known ending.*--format csv, tsv, jsonl or parquet"):
        read(path, **SIDES)
    for name in ("csv", "CSV", "tsv"):
        assert pairs_of(path, **SIDES, format=name) == (2, 2, 3)
    (tmp_path / "visits.log.gz").write_bytes(gzip.compress(rows.encode()))
    assert pairs_of(tmp_path / "visits.log.gz", **SIDES, format="csv") == (2, 2, 3)
    lines = write(tmp_path, '{"person": "a", "element": 1}\n', "visits.log")
    assert pairs_of(lines, **SIDES, format="jsonl") == (1, 1, 1)
    pq.write_table(pa.table({"person": ["a", "b"], "element": [1, 1]}), tmp_path / "visits.bin")
    assert pairs_of(tmp_path / "visits.bin", **SIDES, format="parquet") == (2, 1, 2)


def test_movielens_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path, "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n", "ratings.dat"
    )
    how = {"format": "csv", "delimiter": "::"}
    assert pairs_of(path, **NUMBERED, **how) == (2, 2, 3)
    assert pairs_of(path, person="1", element="2", header=False, **how) == (2, 2, 3)
    names = ["user", "movie", "rating", "time"]
    assert pairs_of(path, person="User", element="movie", header=False, columns=names, **how) == (2, 2, 3)
    sql = "SELECT user, movie FROM data WHERE rating >= '4'"
    assert pairs_of(path, person="user", element="movie", header=False, columns=names, sql=sql, **how) == (
        2,
        1,
        2,
    )
    grouped = asked.count_distinct_by(
        path, **NUMBERED, **how, group_by=3, groups=["3", "4", "5"], epsilon=1000, max_bound=9
    )
    assert [row.estimate for row in grouped.rows] == [1, 1, 1]


def test_a_log_with_comments_and_spaces_is_read(tmp_path: Path) -> None:
    text = '# made by us\n#\n  host   what\nh1 a\n # no\n\th2\t "a b"  x\n\n   \nh2 a\n'
    path = write(tmp_path, text, "access.log")
    how = {"format": "csv", "delimiter": "whitespace", "comment": "#"}
    assert pairs_of(path, person="host", element="what", **how) == (2, 2, 3)
    assert pairs_of(path, **NUMBERED, **how) == (3, 3, 4)  # the names are a row, if there is no header
    assert pairs_of([path, path], person="host", element="what", **how) == (2, 2, 3)


def test_without_quotes_they_are_ordinary_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, 'person,element\n"a,x\nb,"y\n"b",y"\n')
    assert pairs_of(path, **SIDES, format="csv", quotes=False) == (3, 3, 3)
    assert pairs_of(path, **SIDES, format="csv")[0] < 3


def test_without_a_header_nothing_follows_from_the_first_row(tmp_path: Path) -> None:
    rows = ["a;1,x\r\n", "b,y\r\n", "c,z\n"]
    for first in (*rows, "\ufeffd\r,w\r\n", '"e\r\n",x\n', "\0\0,x\n", ",\n", "\n"):
        path = write(tmp_path, "".join([first, *rows]), "visits.csv")
        elements = {"x", "y", "z", *(["w"] if "w" in first else [])}
        assert read(path, **NUMBERED).elements == len(elements)
    (tmp_path / "visits.csv").write_bytes(b"\xff\xfea,x\nb,y\n")  # as if it were UTF-16
    assert pairs_of(tmp_path / "visits.csv", **NUMBERED) == (2, 2, 2)
    (tmp_path / "visits.csv").write_bytes(b"")
    assert pairs_of(tmp_path / "visits.csv", **NUMBERED) == (0, 0, 0)
    with pytest.raises(ParameterError, match="encoding utf-16 needs a header line"):
        read(tmp_path / "visits.csv", **NUMBERED, encoding="utf-16")


def test_a_column_beyond_the_row_is_null(tmp_path: Path) -> None:
    path = write(tmp_path, "a,x\nb,y,z\n", "visits.csv")
    assert pairs_of(path, person=1, element=3, header=False) == (1, 1, 1)
    assert pairs_of(path, person=1, element=999_999, header=False) == (0, 0, 0)
    for name in ("url", "0", "-1", "1000000", "1.0", "01"):
        with pytest.raises(ColumnError, match="without a header, columns are numbers from 1"):
            read(path, person=1, element=name, header=False)


def test_a_header_is_split_as_rows_are(tmp_path: Path) -> None:
    rows = 'person::"ele::ment"::"a""b"\nx::y::z\n'
    path = write(tmp_path, rows)
    assert pairs_of(path, person="ele::ment", element='a"b', format="csv", delimiter="::") == (1, 1, 1)
    for header in ('a::"b', 'a::"b"c', "::", "a::A"):
        write(tmp_path, header + "\nx::y::z\n")
        with pytest.raises(InputError, match="must have names, all different"):
            read(path, person="a", element="b", format="csv", delimiter="::")
    assert fields_of("  a\t b ", "whitespace", quotes=True) == ["a", "b"]
    assert fields_of('"a b" c', "whitespace", quotes=False) == ['"a', 'b"', "c"]
    for line in ('a,b,"c,d"', 'a"b,c', '"x""y",', ",", ""):
        assert fields_of(line, ",", quotes=True) == (next(csv.reader([line]), None) or [""])


def test_comment_lines_may_stand_before_the_header(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        for before in ("", "\ufeff", "#", '\ufeff# a,"\n'.replace("\n", end), f"#{end}#x{end}" * 9000):
            text = before + f"{'' if before != '#' else end}person,element{end}a,x{end}#b,y{end}"
            assert pairs_of(write(tmp_path, text, "t.csv"), **SIDES, comment="#") == (1, 1, 1)
    for text in ("# no\n", "#", "#\n\nperson,element\n", "#" * (1 << 20) + "\nperson,element\n"):
        with pytest.raises(InputError, match="has no header line"):
            read(write(tmp_path, text, "t.csv"), **SIDES, comment="#")


def test_the_command_takes_every_option(tmp_path: Path) -> None:
    path = write(tmp_path, '# no\n1::a\n2::"a\n', "t.log")
    options = ["--person", "1", "--element", "2", "--format", "csv", "--delimiter", "::", "--comment", "#"]
    options += ["--no-header", "--no-quotes", "--json"]
    exact = ["--epsilon", "1000", "--mechanism", "fixed", "--max-bound", "9"]
    result = CliRunner().invoke(app, ["count", path, *options, *exact], catch_exceptions=False)
    assert json.loads(result.stdout)["estimate"] == 2
    result = CliRunner().invoke(app, ["explore", path, *options], catch_exceptions=False)
    assert json.loads(result.stdout)["people"] == 2


def test_a_column_that_is_missing_points_to_the_way_out(tmp_path: Path) -> None:
    path = write(tmp_path, "SECRET1::SECRET2\nb::y\n", "t.csv")
    for name in ("user", "SECRET"):
        with pytest.raises(ColumnError, match=r"--no-header.*--delimiter.*`dpdistinct check FILE`") as caught:
            read(path, person=name, element="x")
        assert "SECRET1" not in str(caught.value)
    write(tmp_path, "12,13\n1,2\n", "t.csv")
    with pytest.raises(ColumnError, match="no column of that number; columns have numbers where"):
        read(path, person=12, element=2)


# The law


FAKE = "".join(f"ghost {i},thing {i}\n" for i in range(30))


@pytest.mark.parametrize("comment", [None, "#", "ghost"])
def test_a_comment_ends_where_its_row_ends(comment: str | None, tmp_path: Path) -> None:
    """Quotes count in it: nobody can end it early and write rows that look like those of others."""

    def record(person: str, element: str) -> str:
        return f'{person},"{element}"\n'

    def written(rows: list[str]) -> str:
        return write(tmp_path, "person,element\n" + "".join(rows), "t.csv")

    honest = [record(f"p{i}", f"e{i}") for i in range(5)]
    for person in ("#", "#x", "ghost", '"#"'):
        enemy = [record(person, "\n" + FAKE), record(person, '""\n' + FAKE)]
        assert_law(written, honest, enemy, **SIDES, comment=comment)


# Options that do not fit


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "person,element\na,x\n", "t.csv")
    lines = write(tmp_path, "{}\n", "t.jsonl")
    for options in ({"delimiter": ";"}, {"comment": "#"}, {"header": False}, {"quotes": False}):
        with pytest.raises(ParameterError, match="are for CSV and TSV files"):
            read(lines, **SIDES, **options)
        for data in (pd.DataFrame({"person": [1], "element": [2]}), "postgresql://nobody@localhost/x"):
            with pytest.raises(ParameterError, match="are for files"):
                read(data, **SIDES, **options, **({"sql": "SELECT 1"} if isinstance(data, str) else {}))
        with (
            pytest.raises(ParameterError, match="are for engine duckdb"),
            open_source([path], Question(**SIDES), Machine(engine="spark"), **options),
        ):
            pass
    with pytest.raises(ParameterError, match="columns must be named for sql over"):
        read(path, **NUMBERED, sql="SELECT 1")
    with pytest.raises(ParameterError, match=r"columns are named for .* files without a header"):
        read(path, **SIDES, columns=["a", "b"])
    for columns in (["a", "A"], ["a", "1"]):
        with pytest.raises(ParameterError, match="columns must all be different, and no numbers"):
            read(path, **NUMBERED, columns=columns)
    contributions = read(path, **SIDES)
    with pytest.raises(ParameterError, match="delimiter does not apply to Contributions"):
        asked.count_distinct(contributions, delimiter=";")


WRONG: list[dict[str, Any]] = [
    *({"delimiter": d} for d in ("", '"', "a\n", "\r", "\0", "123456789", 1, b",", "\ud800")),
    *({"comment": c} for c in ("", "#\n", '"', "# ", "123456789", 1)),
    *({"format": f} for f in ("", "json", "duckdb", 1)),
    *({"header": h} for h in (0, None, "no")),
    *({"quotes": q} for q in (0, None, '"')),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_layout_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        Reading(**wrong)


def test_a_layout_is_a_part_of_the_question() -> None:
    assert Reading().identity() == Reading(quotes=True, header=True, encoding="UTF-8").identity() == {}
    tab = [Reading(delimiter=word).identity() for word in ("tab", "\\t", "\t")]
    assert tab == [{"delimiter": "\t"}] * 3
    names = [Reading(header=False, columns=columns).identity() for columns in (["a", "b"], ["b", "a"])]
    assert names[0] != names[1]
    assert Reading(columns=["a", "b"]).identity() == Reading(columns=["b", "a"]).identity()
    assert Reading(format="csv", header=False).identity() == {"format": "csv", "header": False}


# Integer labels


def test_integer_labels_of_frames_are_names(tmp_path: Path) -> None:
    frame = pd.DataFrame([["a", "x"], ["b", "x"]])
    assert pairs_of(frame, person=0, element=1) == (2, 1, 2)
    assert pairs_of(frame, person="0", element=[1]) == (2, 1, 2)
    numbers = pd.DataFrame([["a", "x"], ["b", "x"]], columns=pd.RangeIndex(-1, 1))
    assert pairs_of(numbers, person=numbers.columns[0], element=numbers.columns[1]) == (2, 1, 2)
    release = asked.count_distinct(frame, person=0, element=1, epsilon=1000)
    assert release.element == "column 1"
    for wrong in (True, 1.0, None, [True]):
        with pytest.raises(ParameterError, match=r"must be a column name|must name columns"):
            read(frame, person=wrong, element=1)
    both = pd.DataFrame([["a", "x"]], columns=[0, "0"])
    with pytest.raises(ColumnError, match="there are several columns of that number"):
        read(both, person=0, element="0")
    with pytest.raises(ColumnError, match="no column of that number; there are '0', '1'"):
        read(frame, person=4711, element=1)
    with pytest.raises(ParameterError, match="person must be a column name or a list of them"):
        read(frame, person=["0", 1], element=1)


# One answer


def test_matching_is_the_same_for_numbers_as_text_and_as_integers(tmp_path: Path) -> None:
    """Greedy and sampling order ids by a hash of the typed value, so they may differ there."""
    rows = [(i * 7 % 40, i * i % 60) for i in range(200)]
    write(tmp_path, "person,element\n" + "".join(f"{p},{e}\n" for p, e in rows), "t.csv")
    table = pa.table({"person": [p for p, _ in rows], "element": [e for _, e in rows]})
    pq.write_table(table, tmp_path / "t.parquet")
    curves = [matching_curve(read(tmp_path / name, **SIDES)) for name in ("t.csv", "t.parquet")]
    assert curves[0].values(60).tolist() == curves[1].values(60).tolist()


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("visits.xlsx", "visits.xlsx: spreadsheets are not read; save the sheet with the rows as CSV"),
        ("visits.ODS", "visits.ODS: spreadsheets are not read"),
        (
            "visits.csv.zip",
            "visits.csv.zip is packed; unpack it first, or compress the rows alone as .csv.gz",
        ),
        ("visits.tar.gz", "visits.tar.gz is packed; unpack it first"),
    ],
)
def test_an_ending_that_is_not_read_comes_with_the_way_out(name: str, way_out: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("person,element\na,x\n")  # the name tells, whatever is in it
    for look in (read, asked.check):
        with pytest.raises(FileError, match=re.escape(way_out)):
            look(tmp_path / name, **SIDES)
        if not name.endswith(".gz"):
            assert look(tmp_path / name, **SIDES, format="csv").people == 1
