"""Groups of text files: the core's tokenizer and DuckDB give every row the same group and the same keys."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from asked import count_distinct_by, open_source
from dpdistinct import ColumnError
from dpdistinct.graph.groups import group_bits
from dpdistinct.question.group_lists import GroupList, label_of
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.duck import Relation
from dpdistinct.sources.source import Groups
from dpdistinct.sources.text.files import TextSource

RESOURCES = Machine(threads=2)
Keys = Counter[tuple[int, int]]


def asked(**how: Any) -> Question:
    return Question(person="user", element="site", **how)


@contextmanager
def opened(path: Path, question: Question) -> Iterator[TextSource]:
    with open_source(path, question, RESOURCES) as source:
        assert isinstance(source, TextSource)
        source.check(question)
        yield source


def keys_of(stream: Any) -> Keys:
    table = pa.RecordBatchReader.from_stream(stream).read_all()
    return Counter(zip(table["person"].to_pylist(), table["element"].to_pylist(), strict=True))


def both_ways(path: Path, question: Question) -> tuple[Keys, Keys]:
    """The keys that the tokenizer makes, and those of the same texts by DuckDB."""
    assert isinstance(question.groups, GroupList)
    groups = Groups(question.groups.labels, group_bits(len(question.groups)))
    with opened(path, question) as source:
        with source.keys(question, groups, RESOURCES) as (part,):
            ours = keys_of(part)
        texts = source._files.values(list(question.names))
    with duckdb.connect() as connection:
        relation = Relation(connection.from_arrow(pa.RecordBatchReader.from_stream(texts).read_all()))
        return ours, keys_of(relation.key_stream(question, groups, ordered=True))


HOSTILE = [
    "DE", "de", "DE ", " DE", "", '"DE"', '""', '"D""E"', '"DE"X', "DE\0", "\udcc0DE", "D\xe9", "De\u0301",
    "\\xc0DE", '"DE,FR"', '"DE\nFR"', '"DE\r\nFR"', "null", "NULL", "true", "1", "01", "1.0", "x" * 5000,
    b"\xed\xa0\x80", b"\xff\xfe", b"DE\xff",
]  # fmt: skip
LISTED = [
    "DE",
    "",
    'D"E',
    "DEX",
    "DE\0",
    "Dé",
    "De\u0301",
    "\\xc0DE",
    "DE,FR",
    "DE\nFR",
    "null",
    "1",
    "\\xff\\xfe",
]


def csv_of(fields: list[Any], path: Path, row_end: bytes = b"\n") -> Path:
    rows = [
        field if isinstance(field, bytes) else field.encode("utf-8", "surrogateescape") for field in fields
    ]
    lines = [b"user,country,day,site", *(b"u%d,%b,%b,s" % (i, row, row) for i, row in enumerate(rows)), b"u"]
    path.write_bytes(row_end.join(lines))
    return path


@pytest.mark.parametrize("row_end", [b"\n", b"\r\n", b"\r"])
def test_the_tokenizer_and_duckdb_find_the_same_groups_in_hostile_csv(row_end: bytes, tmp_path: Path) -> None:
    path = csv_of(HOSTILE * 3, tmp_path / "hostile.csv", row_end)
    for how in (
        {"group_by": "country", "groups": LISTED},
        {"group_by": ["country", "day"], "groups": {"country": LISTED, "day": LISTED[:5]}},
    ):
        ours, theirs = both_ways(path, asked(**how))
        assert ours == theirs
        assert ours
    listed = {"user": ["u1", "u2", "u500"], "site": ["s", "t"]}
    by = {"group_by": ["user", "site"], "groups": listed}
    ours, theirs = both_ways(path, Question(person=["user", "day"], element=["site", "day"], **by))
    assert ours == theirs
    assert ours


def test_labels_of_any_length_are_remembered_as_themselves(tmp_path: Path) -> None:
    """More labels than the tokenizer remembers, so that they drive each other out, again and again; texts of
    one letter, which differ in their lengths alone; one to three columns. Every second one is listed.
    """
    rng = random.Random(5)
    words = ["a" * size for size in range(1, 24)] + ["ab" * size for size in range(1, 12)]
    words += [f"{i}" for i in range(20_000)] + [f"{i:017d}" for i in range(40)]
    rows = [(rng.choice(words[:50] if i % 2 else words), rng.choice(words[:30])) for i in range(60_000)]
    lines = [
        "user,country,day,kind,site",
        *(f"u{i % 97},{a},{b},{i % 3},s{i % 11}" for i, (a, b) in enumerate(rows)),
    ]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(lines))
    for how in (
        {"group_by": "country", "groups": words[::2]},
        {"group_by": ["day", "country"], "groups": {"day": words[:30:2], "country": words[1:60:2]}},
        {
            "group_by": ["day", "country", "kind"],
            "groups": {"day": words[:30:2], "country": words[:40:3], "kind": ["1", "2"]},
        },
    ):
        ours, theirs = both_ways(path, asked(**how))
        assert ours == theirs
        assert ours


def test_the_tokenizer_and_duckdb_find_the_same_groups_in_hostile_json(tmp_path: Path) -> None:
    values = [
        "DE",
        "de",
        "",
        None,
        1,
        1.5,
        True,
        {"DE": 1},
        ["DE"],
        "D\u00e9",
        "\ud800",
        "DE\0",
        'D"E',
        "null",
    ]
    path = tmp_path / "hostile.jsonl"
    lines = [json.dumps({"user": i, "country": value, "site": "s"}) for i, value in enumerate(values)]
    lines += ['{"user": 1, "site": 2}', '{"user": 1, "country": "FR", "country": "DE", "site": 3}', "{"]
    path.write_text("\n".join(lines))
    listed = [*LISTED, "true", "1.5", "\\ud800", '{"DE": 1}']
    ours, theirs = both_ways(path, asked(group_by="country", groups=listed))
    assert ours == theirs
    assert ours.total() == 12


def mutated(count: int) -> list[str]:
    """Dates and times with a character or two changed, added or left out."""
    dice = random.Random(4)
    plain = ["2024-02-29", "2024-12-31 23:59:59", "2023-01-01T00:00:00Z", "2024-03-05 16:00:00.123456",
             "2024-03-05T16:00:00.5Z", "1999-10-10 10:10:10", "2100-02-28", "2024-03-01 01:30:00+03:00",
             "2024-12-31T22:00:00.5-0230", "2024-02-28 23:59 -10", "2024-03-05 16:00 UTC"]  # fmt: skip
    found = [*plain, "infinity", "epoch", "2024-3-5", "2024/03/05", "20240305", "2024-03-05+02", "2024-02-30",
             "2024-03-05 24:00:00", "2024-03-05 23:59:60", "2024-03-05 23:30:00-05:00", "2024-03-05 BC",
             "2024-03-05 16:00:00.1234567", "294247-01-10", "0000-00-00", "٢٠٢٤-٠٣-٠٥", "10:00:00", "T10:00",
             "1000-01-01 00:59+01", "9999-12-31 23:00-01", "2024-03-05 16:00:00.1234567890", " 2024-03-05",
             "2024-03-05 12:00+14:59", "2024-03-05 12:00+15", "2024-03-05 12:00-00:30", "+2024-03-05",
             "2024-03-05 00:10+00:30", "2024-03-05 16:00  Z", "2024-03-05 10", "2024-03-05 "]  # fmt: skip
    labels = [
        "2024-03",
        "2024",
        "2024-W10",
        "2024-Q1",
        "2020-W53",
        "2023-W53",
        "2024-13",
        "1000",
        "9999-12",
        "2024-W00",
    ]
    found += [*labels, "2024-03\n", " 2024", "2024-03 ", "٢٠٢٤"]
    while len(found) < count:
        text = list(dice.choice([*plain, *labels]))
        for _ in range(dice.choice([1, 1, 2])):
            place = dice.randrange(len(text) + 1)
            text[place : place + dice.choice([0, 1, 1])] = dice.choice(["", *"0123456789-- ::.TZ+-UCzt"])
        found.append("".join(text))
    return found


MOST = {"week": 53, "month": 12, "quarter": 4, "year": 1}


def period_of(text: str, every: Any) -> str | None:
    """The rule once more, by Python's dates."""
    shapes = {
        "week": r"\d{4}-W(\d\d)",
        "month": r"\d{4}-(\d\d)",
        "quarter": r"\d{4}-Q(\d)",
        "year": r"\d{4}()",
    }
    own = re.fullmatch(shapes.get(every, "no"), text, re.ASCII)
    if own and text >= "1000":
        return text if 1 <= int(own[1] or 1) <= MOST[every] else None
    zone = r" ?(?:Z|UTC|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)"
    time = rf"[ T](\d\d):(\d\d)(?::(\d\d)(?:\.\d{{1,9}})?)?(?:{zone})?"
    found = re.fullmatch(rf"(\d{{4}})-(\d\d)-(\d\d)(?:{time})?", text, re.ASCII)
    if found is None:
        return None
    *numbers, sign, hours, minutes = found.groups()
    away = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        day = (datetime(*(int(number or 0) for number in numbers)) - away).date()
    except (ValueError, OverflowError):
        return None
    return label_of(day, every) if day.year >= 1000 else None


RANGES = {
    "day": "2022-01-01..2025-12-31",
    "week": "1990-W01..2101-W01",
    "month": "1990-01..2101-12",
    "quarter": "1000-Q1..9999-Q4",
    "year": "1000..9999",
}


@pytest.mark.parametrize("every", RANGES)
def test_a_text_is_a_date_for_the_core_if_and_only_if_it_is_one_for_duckdb(
    every: Any, tmp_path: Path
) -> None:
    question = asked(group_by="day", groups=RANGES[every], every=every)
    assert isinstance(question.groups, GroupList)
    texts = mutated(5000)
    ours, theirs = both_ways(csv_of(texts, tmp_path / "dates.csv"), question)
    assert ours == theirs
    listed = {label for (label,) in question.groups.labels}
    expected = [period_of(text, every) in listed for text in texts]
    assert ours.total() == sum(expected) > 100


@pytest.mark.parametrize("every", RANGES)
def test_days_and_times_lie_in_their_periods(every: Any, tmp_path: Path) -> None:
    days = [date(2022, 1, 1) + timedelta(days=i) for i in range(-8_000, 30_000, 7 if every == "week" else 5)]
    days += [date(year, month, day) for year in range(1000, 10000, 37) for month, day in ((1, 1), (12, 31))]
    times = ["", " 00:00:00", "T23:59:59Z", " 12:00:00.25"]
    texts = [f"{day}{times[i % 4]}" for i, day in enumerate(days)]
    question = asked(group_by="day", groups=RANGES[every], every=every)
    ours, theirs = both_ways(csv_of(texts, tmp_path / "plain.csv"), question)
    assert ours == theirs
    assert len(ours) > 100


@pytest.mark.parametrize("every", MOST)
def test_a_text_that_names_a_period_lies_in_it(every: Any, tmp_path: Path) -> None:
    days = [date(2000, 1, 1) + timedelta(days=i) for i in range(0, 9_000, 3)]
    question = asked(group_by="day", groups=RANGES[every], every=every)
    named = csv_of([label_of(day, every) for day in days], tmp_path / "named.csv")
    dated = csv_of([str(day) for day in days], tmp_path / "dated.csv")
    ours, theirs = both_ways(named, question)
    assert ours == theirs == both_ways(dated, question)[1]
    assert ours.total() == len(days)


def test_one_odd_date_changes_the_groups_of_no_other_row(tmp_path: Path) -> None:
    question = asked(
        group_by=["country", "day"],
        groups={"country": ["2024-03-05"], "day": "2024-01..2024-12"},
        every="month",
    )
    plain = csv_of(["2024-03-05"] * 100, tmp_path / "plain.csv")
    odd = csv_of(["2024-03-05"] * 100 + ["5 March 2024", "2024-3-5"], tmp_path / "odd.csv")
    assert both_ways(plain, question)[0] == both_ways(odd, question)[0]


def test_a_misspelt_column_of_groups_is_told(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="no column 'dya'; is the first line a header"):
        count_distinct_by(
            csv_of([], tmp_path / "a.csv"), person="user", element="site", group_by="dya", groups=["DE"]
        )


@pytest.mark.parametrize("block", [1, 1000, 1 << 20])
def test_groups_are_the_same_in_blocks_of_any_size(block: int, tmp_path: Path) -> None:
    dice = random.Random(9)
    rows = [dice.choice(["DE", "FR", "US", '"D""E"', "", "2024-03-05"]) for _ in range(2_000)]
    path = csv_of(rows, tmp_path / "rows.csv")
    question = asked(group_by="country", groups=["DE", "US", 'D"E'])
    assert isinstance(question.groups, GroupList)
    by: dict[str, Any] = {
        "every": [0],
        "labels": question.groups.labels,
        "bits": 2,
    }
    with opened(path, question) as source:
        stream = source._files.keys(["user"], ["site"], ["country"], **by, block=block)
        ours = keys_of(stream)
    assert ours == both_ways(path, question)[1]
