"""Text files: a row means what its own bytes say, wherever it lies and whoever else is in the file."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_text
from asked import read
from dpdistinct import Contributions, InputError, ParameterError, _core
from dpdistinct.question.reading import Reading
from dpdistinct.sources.text import files as text_files
from fuzz_text import FILE, Row, Stream, fuzz, keys_of, rows_of
from keyed import SECRET, assert_tells_nothing

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def CsvFiles(paths: list[str], *, threads: int, encoding: str = "utf-8") -> text_files.CsvFiles:  # noqa: N802
    return text_files.CsvFiles(paths, Reading(encoding=encoding), threads=threads)


def JsonLines(paths: list[str], *, threads: int, encoding: str = "utf-8") -> text_files.JsonLines:  # noqa: N802
    return text_files.JsonLines(paths, Reading(encoding=encoding), threads=threads)


COMMA = (b",", b"", True, False)


def read_csv(
    data: bytes,
    *,
    places: tuple[int, ...] = (0, 1),
    delimiter: bytes = b",",
    row_end: bytes = b"\n",
    comment: bytes = b"",
    quotes: bool = True,
    marks: bool = False,
    **settings: Any,
) -> list[Row]:
    """These columns of a file without a header."""
    columns = [(b"c", place) for place in places]
    source = iter([data, b""]).__next__ if data else lambda: b""
    threads = settings.pop("threads", 1)
    layout = (delimiter, comment, quotes, marks)
    return rows_of(_core.text_values([(source, 0, row_end, [])], layout, columns, threads, **settings))


def read_json(data: bytes, *names: str, **settings: Any) -> list[Row]:
    columns = [(name.encode(), 0) for name in names]
    source = iter([data, b""]).__next__
    return rows_of(_core.text_values([(source, 0, b"\n", [])], None, columns, 2, **settings))


# Where rows begin, and what they say


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.long
def test_random_files_say_what_the_naive_reader_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz_text.FILE", tmp_path / FILE.name)
    outcomes = fuzz(iter(range(700)), seed)
    assert set(outcomes) == {"random_csv", "random_json"}


FIELDS = st.text(st.sampled_from('",;\t\n\r ab\0é\U0001f600') | st.characters(codec="utf-8"), max_size=8)


@given(
    rows=st.lists(st.lists(FIELDS, min_size=2, max_size=4), max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    row_end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    block=st.integers(1, 40),
)
def test_what_pythons_csv_module_writes_is_read_as_it_was(
    rows: list[list[str]], delimiter: str, row_end: str, quoting: Any, block: int
) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=row_end, quoting=quoting).writerows(rows)
    empty = None if quoting == csv.QUOTE_MINIMAL else ""
    expected = [tuple((row[i] or empty) if i < len(row) else None for i in range(4)) for row in rows]
    read = read_csv(
        file.getvalue().encode(),
        places=(0, 1, 2, 3),
        delimiter=delimiter.encode(),
        row_end=row_end.encode(),
        block=block,
        threads=2,
    )
    assert read == expected


CORNERS = [
    b'a,"b\n""c"",\n"\nd,e\n"x"y"z,"p"",""q"\n,""\n\n"\n",f"g\nlast,"one"',
    b'"a\r\nb",c\r\n"d"\r,e\r\n\r\nf,g\r',
    b'"' * 7 + b",a\n" + b'""""""\n' + b'b,"""c"""\n"open',
]


@pytest.mark.parametrize("data", CORNERS)
@pytest.mark.parametrize("row_end", [b"\n", b"\r\n", b"\r"])
def test_every_border_of_blocks_gives_the_same_rows(data: bytes, row_end: bytes) -> None:
    for longest_row in (4, 9, 1000):
        layout = {"delimiter": b",", "row_end": row_end, "longest_row": longest_row}
        expected = naive_text.csv_columns(data, [0, 1], **layout)
        for block, shift in itertools.product(range(1, 12), range(2)):
            first = b"z" * shift + b"," + row_end[-1:]  # moves everything by a byte or two
            rows = read_csv(first + data, block=block, **layout)
            assert rows[1:] == expected


def test_a_row_end_is_the_headers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for end, text in (("\n", "x\ry"), ("\n", "x\r"), ("\r\n", "x\ry"), ("\r", "x\ny")):
        path.write_bytes(f"person,element{end}a,{text}{end}b,{text}{end}".encode())
        assert rows_of(CsvFiles([str(path)], threads=1).values().__arrow_c_stream__()) == [
            ("a", text),
            ("b", text),
        ]
    path.write_bytes(b"person,element\r\na,x\nb,y\r\n")  # a lone line end in such a file ends a row too
    assert len(rows_of(CsvFiles([str(path)], threads=1).values().__arrow_c_stream__())) == 2


def test_null_is_an_empty_field_without_quotes_or_a_missing_one() -> None:
    assert read_csv(b'a,\n"",""\nb\n,\n"",x,more\n') == [
        ("a", None),
        ("", ""),
        ("b", None),
        (None, None),
        ("", "x"),
    ]


def test_a_row_above_the_limit_is_left_out_and_no_other() -> None:
    for length in (99, 100, 101, 102, 350):
        for text in (b"x", b"\n", b'""', b","):
            field = (text * length)[: length - 2 - (length - 2) % len(text)]
            long = b'"' + field + b"x" * (length - 2 - len(field)) + b'"'
            assert len(long) == length
            data = b'p,"q"\n' + long + b"\nr,s\n"
            for block in (1, 7, 64, 99, 100, 101, 1000):
                rows = read_csv(data, block=block, longest_row=100)
                assert [row for row in rows if len(row[0] or "") < 45] == [("p", "q"), ("r", "s")]
                assert len(rows) == 2 + (length <= 100)


def test_the_limit_is_16_mib(tmp_path: Path) -> None:
    assert _core.LONGEST_ROW == 1 << 24
    rows = [b'p,"' + b"\n" * (size - 4) + b'"\n' for size in (1 << 24, (1 << 24) + 1, 5 << 24)]
    (tmp_path / "t.csv").write_bytes(b"person,element\nfirst,a\n" + b"".join(rows) + b"last,z\n")
    for threads in (1, 2):
        table = rows_of(CsvFiles([str(tmp_path / "t.csv")], threads=threads).values().__arrow_c_stream__())
        assert [(person, len(element or "")) for person, element in table] == [
            ("first", 1),
            ("p", (1 << 24) - 4),
            ("last", 1),
        ]


def test_text_that_is_not_utf_8_is_written_out() -> None:
    rng = random.Random(20231221)
    fragments = [bytes([b]) for b in (*range(0x7E, 0x100), 0, 65)] + [
        "é€😀".encode(),
        b"\xf0\x9f\x98",
        b"\xed\xa0",
    ]
    texts = [b"x" + b"".join(rng.choices(fragments, k=rng.randrange(12))) for _ in range(3000)]
    texts += [b"x" + bytes(pair) for pair in itertools.product(range(0x7F, 0x100), repeat=2)]
    expected = [(text.decode("utf-8", "backslashreplace"),) for text in texts]
    assert read_csv(b"\n".join(texts), places=(0,), block=1000) == expected
    quoted = [b'"' + text[:1] + b'""' + text[1:] + b'"' for text in texts]
    assert read_csv(b"\n".join(quoted), places=(0,)) == [(t[0] + '"' + t[1:],) for (t,) in expected]


def test_the_order_of_rows_does_not_depend_on_threads(tmp_path: Path) -> None:
    rows = [b'%d,"v\n%d"\n' % (i, i % 7) for i in range(20_000)]
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"".join(rows))
    source = (bytes(tmp_path / "t.csv"), 4, b"\n", [])
    expected = [(str(i), f"v\n{i % 7}") for i in range(20_000)]
    for threads in (1, 2, 3, 4):
        columns = [(b"a", 0), (b"b", 1)]
        assert rows_of(_core.text_values([source], COMMA, columns, threads, block=1000)) == expected
        keys = rows_of(_core.text_keys([source], COMMA, columns[:1], columns[1:], threads, block=1000))
        assert keys == keys_of(expected, 1)


# JSON lines


def test_a_line_of_json_stands_alone() -> None:
    lines = [
        (rb'{"a": 1.50, "b": "x"}', ("1.50", "x")),
        (rb'{"A": 1, "b": "x"}', (None, "x")),
        (rb'{"a": {"b": [1,  2]}, "b": null}', ('{"b": [1,  2]}', None)),
        (rb'{"b": 1, "a": 2, "b": 3}', ("2", "3")),
        (rb'{"\u0061": "\u00e9\ud83d\ude00\n", "b": "\ud800\uDFFF\ud800"}', ("é😀\n", "\U000103ff\\ud800")),
        (b'{"a": "\xff", "b": ["\xff"]}', ("\\xff", '["\\xff"]')),
        (b" \t{ } \r", (None, None)),
        (rb'{"a": true, "b": ""}', ("true", "")),
        (rb'{"a": 123456789012345678901234567890}', ("123456789012345678901234567890", None)),
    ]
    wrong = [
        b"",
        b"[]",
        b"1",
        b'{"a": 1',
        b'{"a": 01}',
        b'{"a": NaN}',
        b'{"a": 1,}',
        b'{"a": "\t"}',
        b"{\"a\": 'x'}",
    ]
    wrong += [
        b'{"a": "\\x"}',
        b'{"a": 1} {',
        b"{a: 1}",
        b'{"a" 1}',
        b'{"a": "\\ud80"}',
        b'{"a": [1}',
        b'{"a": .5}',
    ]
    wrong += [
        b'{"a": +1}',
        b'{"a": 1.}',
        b'{"a": tru}',
        b'{"a": -}',
        b'{"a": 1e}',
        b"{,}",
        b'{"a":}',
        b"\xef\xbb\xbf{}",
    ]
    every = [line for line, _ in lines]
    assert read_json(b"\n".join(every), "a", "b") == [row for _, row in lines]
    for i, bad in enumerate(wrong):
        place = i % len(every)
        data = b"\n".join([*every[:place], bad, *every[place:]])
        assert read_json(data, "a", "b", block=1 + i) == [row for _, row in lines], bad


def test_a_line_of_json_may_be_nested_1024_deep() -> None:
    for depth, row in ((1024, True), (1025, False), (100_000, False), (1_000_000, False)):
        inner = depth - 1
        for pair in (("[", "]"), ('{"a":', "}")):
            value = pair[0] * inner + "1" + pair[1] * inner
            rows = read_json(b'{"x":1}\n{"a":' + value.encode() + b'}\n{"x":2}', "x", "a")
            assert rows == [("1", None), *([(None, value)] if row else []), ("2", None)]


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=3),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
                ),
                max_leaves=5,
            ),
            max_size=4,
        ),
        max_size=5,
    ),
    st.booleans(),
)
def test_what_pythons_json_module_writes_is_read_as_it_was(objects: list[Any], ascii: bool) -> None:
    objects = json.loads(json.dumps(objects))
    names = sorted({name for one in objects for name in one}) or ["x"]
    data = "\n".join(json.dumps(one, ensure_ascii=ascii) for one in objects)

    def as_text(value: Any) -> str | None:
        return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=ascii)

    expected = [tuple(as_text(one.get(name)) for name in names) for one in objects]
    assert read_json(data.encode(), *names, block=16) == expected


# Files, as Python opens them


def compress_twice(data: bytes) -> bytes:
    return gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :])


ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "csv": lambda data: data,
    "csv.gz": compress_twice,
    "CSV.ZST": lambda data: zstd.compress(data[:10]) + zstd.compress(data[10:]),
}
TEXT = 'person,"el\u00e9ment"\r\na,"x\r\n\u00e9"\r\nb,\u20ac\r\n'


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "latin-1"])
def test_every_compression_and_encoding_says_the_same(ending: str, encoding: str, tmp_path: Path) -> None:
    text = TEXT if encoding != "latin-1" else TEXT.replace("\u20ac", "\u00f6")
    data = text.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    path = tmp_path / f"t.{ending}"
    path.write_bytes(ENDINGS[ending](data))
    name = {"utf-8-sig": "utf-8", "utf-16-be": "utf-16"}.get(encoding, encoding)
    files = CsvFiles([str(path)] * 2, encoding=name, threads=2)
    assert files.columns == ["person", "el\u00e9ment"]
    expected = [("a", "x\r\n\u00e9"), ("b", text[-3])] * 2
    for _ in range(2):  # every stream reads the files again
        assert rows_of(files.values().__arrow_c_stream__()) == expected
    keys = files.keys(["person"], ["el\u00e9ment"])
    assert rows_of(keys.__arrow_c_stream__()) == keys_of(expected, 1)
    assert pa.schema(keys) == pa.table(keys).schema


def test_bytes_that_the_encoding_does_not_have_take_no_other_with_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"person,element\na,\x81\xe9\nb,y\n")
    files = CsvFiles([str(path)], encoding="cp1252", threads=1)
    assert rows_of(files.values().__arrow_c_stream__()) == [("a", "\\x81\u00e9"), ("b", "y")]
    path.write_bytes("person,element\na,?\u00e9\nb,y\n".encode("utf-16").replace(b"?\0", b"\0\xd8"))
    files = CsvFiles([str(path)], encoding="utf-16", threads=1)
    assert rows_of(files.values().__arrow_c_stream__()) == [("a", "\\x00\\xd8\u00e9"), ("b", "y")]


def test_json_lines_take_the_names_that_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(
        gzip.compress('\ufeff{"person": "a", "element": 1}\n{"Person": "b", "element": 1}\n'.encode())
    )
    files = JsonLines([str(path)], threads=2)
    assert rows_of(files.values(["person", "element"]).__arrow_c_stream__()) == [("a", "1"), (None, "1")]
    assert Contributions.from_keys(files.keys(["person"], ["element"])).people == 1
    path = tmp_path / "t.ndjson"
    path.write_bytes('{"person": "\u00e9"}\n'.encode("utf-16"))
    files = JsonLines([str(path)], encoding="utf-16", threads=2)
    assert rows_of(files.values(["person", "\ud800"]).__arrow_c_stream__()) == [("\u00e9", None)]


def test_folders_are_columns(tmp_path: Path) -> None:
    for day in ("1", "__HIVE_DEFAULT_PARTITION__", "a%20b"):
        (tmp_path / f"day={day}" / "Person=no").mkdir(parents=True)
        (tmp_path / f"day={day}" / "Person=no" / "t.csv").write_text("person,element\na,x\n")
        (tmp_path / f"day={day}" / "t.jsonl").write_text('{"person": 1, "day": 2}\n')
    paths = sorted(map(str, tmp_path.glob("*/*/t.csv")))
    files = CsvFiles(paths, threads=1)
    assert files.columns == ["element", "day", "Person"]  # as DuckDB has it: the folder's name wins
    assert rows_of(files.values().__arrow_c_stream__()) == [("x", day, "no") for day in ("1", None, "a b")]
    lines = JsonLines(sorted(map(str, tmp_path.glob("*/t.jsonl"))), threads=1)
    assert rows_of(lines.values(["person", "day"]).__arrow_c_stream__()) == [
        ("1", day) for day in ("1", None, "a b")
    ]
    (tmp_path / "t.csv").write_text("person,element\na,x\n")
    with pytest.raises(InputError, match="folders of all files must name the same columns"):
        CsvFiles([*paths, str(tmp_path / "t.csv")], threads=1)


HEADERS = {
    "Latin-1": (
        "gr\u00f6\u00dfe,element\nSECRET,SECRET\n".encode("latin-1"),
        "utf-8",
        "is not UTF-8 text; try encoding cp1252",
    ),
    "UTF-16": (
        "person,element\nSECRET,SECRET\n".encode("utf-16"),
        "utf-8",
        "is not UTF-8 text; try encoding utf-16",
    ),
    "UTF-16 without a mark": (
        "person,element\nSECRET\n".encode("utf-16-le"),
        "utf-8",
        "not UTF-8 text; try encoding utf-16",
    ),
    "UTF-16 for Latin-1": (
        "person,element\nSECRET\n".encode("utf-16"),
        "latin-1",
        "not LATIN-1 text; try encoding utf-16",
    ),
    "UTF-8 for UTF-16": (
        b"person,element\nSECRET,SECRET\n",
        "utf-16",
        "is not UTF-16 text; try encoding utf-8",
    ),
    "UTF-8 for cp1252": (
        "\ufeffperson,element\nSECRET\n".encode(),
        "cp1252",
        "is not CP1252 text; try encoding utf-8",
    ),
    "NUL": (b"person,element\0\nSECRET,SECRET\n", "utf-8", "is not UTF-8 text"),
    "nothing": (b"", "utf-8", "has no header line"),
    "nothing in UTF-16": (b"", "utf-16", "has no header line"),
    "an empty line": (b"\nSECRET,SECRET\n", "utf-8", "has no header line"),
    "three megabytes": (b"x" * 3_000_000 + b"\nSECRET,SECRET\n", "utf-8", "has no header line"),
    "twice the same": (b"person,PERSON\nSECRET,SECRET\n", "utf-8", "must have names, all different"),
    "an open quote": (
        b'person,"element\nSECRET,SECRET\n',
        "utf-8",
        "must have names, all different, in one header line",
    ),
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_wrong_header_is_refused_and_no_row_is_shown(header: str, ending: str, tmp_path: Path) -> None:
    data, encoding, message = HEADERS[header]
    path = tmp_path / f"t.{ending}"
    path.write_bytes(ENDINGS[ending](data))
    with pytest.raises(InputError, match=message) as caught:
        CsvFiles([str(path)], encoding=encoding, threads=1)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_headers_must_agree_and_names_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("person,element\n")
    (tmp_path / "b.csv").write_text("element,person\n")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    with pytest.raises(InputError, match="the files must have the same header line"):
        CsvFiles(paths, threads=1)
    files = CsvFiles(paths[:1], threads=1)
    with pytest.raises(InputError, match=r"^no column 'url'$"):
        files.keys(["person"], ["url"])
    assert rows_of(files.values().__arrow_c_stream__()) == []
    with pytest.raises(ParameterError, match="encoding must be one of utf-8, utf-16, cp1252, latin-1"):
        CsvFiles(paths, encoding="ascii", threads=1)


# What goes wrong


def failing(error: BaseException) -> Callable[[], bytes]:
    blocks = iter([b"a,b\n1,2\n"])

    def next_block() -> bytes:
        for block in blocks:
            return block
        raise error

    return next_block


WRONG_SOURCES: dict[str, Callable[[], Any]] = {
    "an error": lambda: failing(ValueError(SECRET)),
    "text": lambda: iter([b"a,b\n", SECRET]).__next__,
    "nothing": lambda: lambda: None,
    "no function": lambda: 4711,
    "an end without bytes": lambda: iter([b"a,b\n", b"1,2\n"]).__next__,
    "no file": lambda: b"/no/such/file",
    "a folder": lambda: b"/",
}


@pytest.mark.parametrize("wrong", WRONG_SOURCES)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_source_that_fails_is_not_quoted(wrong: str, threads: int) -> None:
    sources = [(WRONG_SOURCES[wrong](), 0, b"\n", [])]
    stream = Stream(_core.text_keys(sources, COMMA, [(b"a", 0)], [(b"b", 1)], threads, block=2))
    with pytest.raises(InputError) as caught:
        Contributions.from_keys(stream)
    assert str(caught.value) == _core.FAILED
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_stops_the_program_stops_it_in_a_source_too(error: type[BaseException]) -> None:
    sources = [(failing(error()), 0, b"\n", [])]
    with pytest.raises(error):
        Contributions.from_keys(Stream(_core.text_keys(sources, COMMA, [(b"a", 0)], [(b"b", 1)], 2)))
    with pytest.raises(InputError):  # and nothing of it is left behind
        Contributions.from_keys(
            Stream(_core.text_keys([(4711, 0, b"\n", [])], COMMA, [(b"a", 0)], [(b"b", 1)], 2))
        )


@pytest.mark.parametrize("cut", [1, 9, 100])
@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst"])
def test_a_truncated_file_is_an_error(ending: str, cut: int, tmp_path: Path) -> None:
    data = b"person,element\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(100_000))
    whole = gzip.compress(data) if ending == "csv.gz" else zstd.compress(data)
    (tmp_path / f"t.{ending}").write_bytes(whole[:-cut])
    files = CsvFiles([str(tmp_path / f"t.{ending}")], threads=2)
    with pytest.raises(InputError) as caught:
        Contributions.from_keys(files.keys(["person"], ["element"]))
    assert str(caught.value) == _core.FAILED


@pytest.mark.parametrize(
    "arguments",
    [
        ([(b"x", 0, b"x", [])], COMMA, [(b"a", 0)], 1),
        ([(b"x", 0, b"\r", [])], None, [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], (b'"', b"", True, False), [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], (b"x" * 65, b"", True, False), [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], COMMA, [(b"a", -1)], 1),
        ([(b"x", 0, b"\n", [])], COMMA, [("a", 0)], 1),
        ([(b"x", -1, b"\n", [])], COMMA, [(b"a", 0)], 1),
        ([(b"x", 0)], COMMA, [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], COMMA, [(b"a", 0)], 0),
        ([(b"x", 0, b"\n", [])], b",", [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], (b",", b"\n", True, False), [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], (b",", b"", None), [(b"a", 0)], 1),
        ([(b"x", 0, b"\n", [])], None, [(b"a", _core.FIELD_COUNT)], 1),
        (None, COMMA, [(b"a", 0)], 1),
    ],
)
def test_what_describes_no_source_is_refused(arguments: Any) -> None:
    with pytest.raises((TypeError, ValueError, IndexError, RuntimeError)):
        _core.text_values(*arguments)


# Streams


def many_rows(path: Path) -> CsvFiles:
    path.write_bytes(b"person,element\n" + b"".join(b"%d,x%d\n" % (i % 1000, i) for i in range(300_000)))
    return CsvFiles([str(path)], threads=3)


def test_a_stream_may_be_dropped_at_any_moment(tmp_path: Path) -> None:
    plain = many_rows(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes(), 1))
    for files in (plain, CsvFiles([str(tmp_path / "t.csv.gz")], threads=3)):
        for batches in range(4):
            reader = pa.RecordBatchReader.from_stream(files.values())
            for _ in range(batches):
                reader.read_next_batch()
            del reader
        files.keys(["person"], ["element"]).__arrow_c_stream__()


def test_duckdb_reads_a_stream_twice_and_from_threads_of_its_own(tmp_path: Path) -> None:
    many_rows(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes(), 1))
    for name in ("t.csv", "t.csv.gz"):
        with duckdb.connect(config={"threads": "3"}) as connection:
            connection.register("data", CsvFiles([str(tmp_path / name)], threads=2).values())
            sql = "SELECT count(*), count(DISTINCT a.person) FROM data a JOIN data b USING (element)"
            assert connection.sql(sql).fetchall() == [(300_000, 1000)]


def test_duckdb_is_not_stopped_by_a_batch_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"person,element\na,x\n" + b"\n" * 5_000_000 + b"b,y\n")
    stream = CsvFiles([str(path)], threads=2).values()
    assert len(rows_of(stream.__arrow_c_stream__())) == 2
    with duckdb.connect() as connection:
        connection.register("data", stream)
        assert connection.sql("SELECT count(*) FROM data").fetchall() == [(2,)]


def test_a_stream_may_be_read_and_dropped_by_another_thread(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"person,element\n" + b"a,x\n" * 100_000))
    capsules = [CsvFiles([str(path)], threads=2).keys(["person"], ["element"]) for _ in range(4)]
    found: list[int] = []

    def read(stream: Any) -> None:
        found.append(Contributions.from_keys(stream, threads=1).pairs)

    threads = [threading.Thread(target=read, args=(stream,)) for stream in capsules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [1] * 4


@pytest.mark.parametrize(
    "header", [",person,element", "person,element,", ",person,,element,", '"",person,element']
)
def test_columns_without_a_name_are_nobodys_to_ask_for(header: str, tmp_path: Path) -> None:
    path = tmp_path / "index.csv"
    width = header.count(",")
    places = [i for i, name in enumerate(header.split(",")) if name in ("person", "element")]
    lines = [[f"x{i}"] * (width + 1) for i in range(5)]
    for i, line in enumerate(lines):
        line[places[0]], line[places[1]] = f"p{i % 2}", f"e{i}"
    path.write_text("\n".join([header, *(",".join(line) for line in lines)]))
    held = read(path, person="person", element="element")
    assert (held.people, held.elements) == (2, 5)
    by_sql = read(path, person="person", element="element", sql="SELECT * FROM data")
    assert (by_sql.people, by_sql.elements) == (2, 5)
