"""The public list of groups: what may be written, and which row belongs to which entry."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpdistinct
from dpdistinct import Ledger
from dpdistinct.errors import InputError, ParameterError
from dpdistinct.question.group_lists import (
    SHAPES,
    GroupList,
    check_labels,
    first_day,
    label_of,
    parse_groups,
)
from dpdistinct.sources.labels import first_day_sql, label_sql


def labels(groups: Any, **options: Any) -> list[str]:
    found = parse_groups(groups, columns=["c"], **options)
    assert isinstance(found, GroupList)
    return [label for (label,) in found.labels]


def test_a_list_keeps_its_order_and_its_values() -> None:
    found = parse_groups(["US", "DE", ""], columns=["c"])
    assert isinstance(found, GroupList)
    assert found.values == (("US",), ("DE",), ("",))
    assert len(found) == 3
    assert labels([7, -1, 0]) == ["7", "-1", "0"]
    assert labels([True, False]) == ["true", "false"]
    assert labels([dt.date(2024, 3, 5)]) == ["2024-03-05"]


def test_ranges_of_dates() -> None:
    assert labels("2023-11..2024-02", every="month") == ["2023-11", "2023-12", "2024-01", "2024-02"]
    assert labels("2024-02-28..2024-03-01", every="day") == ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert labels("2020-W52..2021-W01", every="week") == ["2020-W52", "2020-W53", "2021-W01"]
    assert labels("1999..2001", every="year") == ["1999", "2000", "2001"]
    assert labels("1999-Q3..2000-Q2", every="quarter") == ["1999-Q3", "1999-Q4", "2000-Q1", "2000-Q2"]
    assert labels("9999-12-30..9999-12-31", every="day") == ["9999-12-30", "9999-12-31"]
    assert labels("9998..9999", every="year")[-1] == "9999"
    assert labels("9999-Q1..9999-Q4", every="quarter")[-1] == "9999-Q4"
    assert len(labels("2000-01..2099-12", every="month")) == 1200


@pytest.mark.parametrize("every", ["day", "week", "month", "quarter", "year"])
def test_every_day_of_a_range_has_a_label_of_the_range_and_no_label_is_idle(every: Any) -> None:
    first, last = dt.date(2019, 12, 30), dt.date(2025, 1, 5)
    days = [first + dt.timedelta(days=n) for n in range((last - first).days + 1)]
    seen = list(dict.fromkeys(label_of(day, every) for day in days))
    assert labels(f"{label_of(first, every)}..{label_of(last, every)}", every=every) == seen


def test_several_columns_are_tuples_or_all_combinations() -> None:
    columns = ["country", "day"]
    found = parse_groups([("DE", 1), ("FR", 2)], columns=columns)
    assert isinstance(found, GroupList)
    assert found.labels == [("DE", "1"), ("FR", "2")]
    both = {"day": "2024-01..2024-02", "country": ["DE", "FR"]}
    found = parse_groups(both, columns=columns, every="month")
    assert isinstance(found, GroupList)
    assert found.labels == [("DE", "2024-01"), ("DE", "2024-02"), ("FR", "2024-01"), ("FR", "2024-02")]


@pytest.mark.parametrize("label", ["\ud800", "a\udcff"])
def test_a_label_with_half_a_character_is_refused_before_anything_is_paid(label: str, tmp_path: Path) -> None:
    """As Python has a byte that is not UTF-8 on a command line: no row has such a label."""
    (tmp_path / "visits.csv").write_text("person,element,place\na,x,1\n")
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 2)
    visits = dpdistinct.table(tmp_path / "visits.csv", person="person", ledger=ledger, dataset="visits")
    with pytest.raises(ParameterError, match=r"^groups must have text in UTF-8 as entries"):
        visits.count("element", by="place", groups=["1", label])
    assert ledger.requests("visits") == []


def test_a_file_names_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text('month,note,country\n1,"a, b",DE\n2,,FR\n')
    found = parse_groups(path, columns=["country", "month"])
    assert isinstance(found, GroupList)
    assert found.labels == [("DE", "1"), ("FR", "2")]
    for text in ("DE\nFR\n", "country,month\nDE\n", ""):
        path.write_text(text)
        with pytest.raises(ParameterError, match="file of groups"):
            parse_groups(path, columns=["country", "month"])
    with pytest.raises(InputError, match="file of groups"):
        parse_groups(tmp_path / "absent.csv", columns=["c"])


def test_unknown_is_a_word() -> None:
    assert parse_groups("unknown", columns=["c"]) == "unknown"


SECRET = "secret-4711"
TAKEN = [
    pd.Series([SECRET]),
    pd.Series([SECRET]).unique(),
    pd.Index([SECRET]),
    pl.Series([SECRET]),
    pl.DataFrame({"c": [SECRET]}),
    pa.array([SECRET]),
    pa.table({"c": [SECRET]}),
    np.array([SECRET]),
    list(np.array([SECRET])),
    list(np.array([4711])),
    [[SECRET]],
    [None],
    [SECRET, 1.5],
    {SECRET},
    iter([SECRET]),
    4711,
    None,
]


@pytest.mark.parametrize("groups", TAKEN, ids=lambda groups: type(groups).__name__)
def test_what_comes_from_a_table_is_refused_with_the_reason_and_an_example(groups: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_groups(groups, columns=["c"])
    assert "which groups occur is private" in str(caught.value)
    assert 'groups=["DE", "FR", "US"]' in str(caught.value)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "options"),
    [
        ([], {}),
        (["4711", "DE", "4711"], {}),
        (["4711", 4711], {}),
        ("4711", {}),
        ("2024-01..2024-12", {}),
        ("2024-01..2024-12", {"every": "fortnight"}),
        ("2024-01..2024-12", {"every": "day"}),
        ("2024-12..2024-01", {"every": "month"}),
        ("2024-13..2024-14", {"every": "month"}),
        ("2023-W53..2024-W01", {"every": "week"}),
        ("0999..1001", {"every": "year"}),
        ("2024-Q1..2024-Q5", {"every": "quarter"}),
        (["2024-02-30"], {"every": "day"}),
        (["4711"], {"every": "month"}),
        ({"other": ["4711"]}, {}),
        ({"c": "4711"}, {}),
    ],
)
def test_lists_that_make_no_sense_are_refused_without_showing_them(groups: Any, options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_groups(groups, columns=["c"], **options)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "options"), [([("a",)], {}), (["a"], {}), ([("a", 1)], {"every": "day"}), ("a..b", {})]
)
def test_lists_that_do_not_fit_several_columns_are_refused(groups: Any, options: Any) -> None:
    with pytest.raises(ParameterError):
        parse_groups(groups, columns=["c", "d"], **options)


@pytest.mark.parametrize(
    ("value", "every", "expected"),
    [
        ("'DE'", None, "DE"),
        ("7::TINYINT", None, "7"),
        ("18446744073709551615::UBIGINT", None, "18446744073709551615"),
        ("true", None, "true"),
        ("DATE '2024-03-05'", None, "2024-03-05"),
        ("DATE '2024-03-05'", "month", "2024-03"),
        ("DATE '2021-01-03'", "week", "2020-W53"),
        ("TIMESTAMP '2024-03-05 23:59:59.999'", "day", "2024-03-05"),
        ("TIMESTAMP_NS '2024-03-05 23:59:59.999'", "year", "2024"),
        ("TIMESTAMPTZ '2024-03-05 23:30:00-02'", "day", "2024-03-06"),
        ("NULL::DATE", "day", None),
        ("'infinity'::TIMESTAMP", "day", None),
        ("DATE '0999-12-31'", None, None),
        ("DATE '10000-01-01'", "month", None),
        ("'DE'::ENUM('DE', 'FR')", None, "DE"),
        ("'2024-09'", "month", "2024-09"),
        ("'2024-09'", "year", None),
        ("'2024-13'", "month", None),
        ("'2024'", "year", "2024"),
        ("'2024-Q3'", "quarter", "2024-Q3"),
        ("'2024-Q5'", "quarter", None),
        ("'2024-09-30 23:59'", "quarter", "2024-Q3"),
        ("DATE '2024-10-01'", "quarter", "2024-Q4"),
        ("'2024-W38'", "week", "2024-W38"),
        ("'2024-W54'", "week", None),
    ],
)
def test_duckdb_finds_the_label_of_a_value(value: str, every: Any, expected: str | None) -> None:
    with duckdb.connect() as connection:
        table = connection.sql(f"SELECT {value} AS c")
        sql = label_sql('"c"', table.types[0].id, every)
        assert table.project(sql).fetchall() == [(expected,)]


def test_weeks_have_labels_only() -> None:
    assert all(first_day_sql("x", kind, "week") is None for kind in ("varchar", "date", "timestamp"))


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
@pytest.mark.parametrize("every", ["day", "month", "quarter", "year"])
def test_a_date_has_the_first_day_of_a_listed_period_if_and_only_if_it_has_its_label(
    kind: str, every: Any
) -> None:
    odd = [
        "infinity",
        "-infinity",
        "0999-12-31",
        "1000-01-01",
        "9999-12-31",
        "10000-01-01",
        "1500-03-15 (BC)",
    ]
    odd += ["290000-01-01", "0001-01-01", "4000-02-28 (BC)"]
    odd += (
        ["2024-02-30", "x", "", "2024-03", "2024", "2024-13", "2024-W10", "2024-Q2", "2024-Q0"]
        if kind == "VARCHAR"
        else []
    )
    odd += [] if kind == "DATE" else ["999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"]
    values = ", ".join(f"('{text}'::{kind})" for text in odd)
    some = f"SELECT ('0900-01-01'::DATE + (i * 97)::INTEGER)::{kind} FROM range(36_000) t(i)"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        table = connection.sql(f"FROM (VALUES {values}, (NULL)) t(x) UNION ALL {some}")
        id_of = table.types[0].id
        day = f"epoch_us({first_day_sql('x', id_of, every)}::TIMESTAMP) // 86_400_000_000"
        found = table.project(f"{label_sql('x', id_of, every)} AS label, {day}").fetchall()
    assert len(found) == len(odd) + 1 + 36_000
    first, last = (
        first_day("1000" if every == "year" else label_of(dt.date(1000, 1, 6), every), every),
        2932896,
    )
    for label, day in found:
        if label is not None and re.fullmatch(SHAPES[every], label) and label >= "1000":
            assert day == first_day(label, every)
        else:
            assert day is None or not first <= day <= last


@pytest.mark.parametrize(
    ("kind", "every"), [("double", None), ("timestamp", None), ("double", "day"), ("list", None)]
)
def test_columns_without_labels_are_refused(kind: str, every: Any) -> None:
    with pytest.raises(ParameterError):
        label_sql("c", kind, every)


def test_labels_that_a_column_cannot_have_are_refused() -> None:
    for kind, good, bad in (
        ("bigint", "-7", "07"),
        ("boolean", "true", "yes"),
        ("date", "2024-03-05", "2024"),
    ):
        check_labels([good], kind)
        with pytest.raises(ParameterError, match=kind):
            check_labels([good, bad], kind)
    check_labels(["anything"], "varchar")


def test_a_file_of_groups_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("country,day\nDE,2024-01\nFR,2024-02\n")
    both = parse_groups(path, columns=["country", "day"], every="month")
    assert both == parse_groups(
        [("DE", "2024-01"), ("FR", "2024-02")], columns=["country", "day"], every="month"
    )
    assert isinstance(both, GroupList)
    assert both.every == (None, "month")
    path.write_text("day\n2024-01\n2024-4\n")
    with pytest.raises(ParameterError, match="labels such as '2024-03'"):
        parse_groups(path, columns=["day"], every="month")
    path.write_text("day\n2024-01\n2024-13\n")
    with pytest.raises(ParameterError, match="dates that exist"):
        parse_groups(path, columns=["day"], every="month")
