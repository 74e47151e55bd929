"""Sizes at the limits of what carries the values: nobody's long texts fail the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import asked
from asked import open_source
from dpdistinct import InputError, Ledger, _core
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.duck import Relation

SIDES: dict[str, Any] = {"person": "person", "element": "element"}
TOO_LARGE = r"2\^31 or more people, or as many distinct .* keep it to those who may see the table \[DP17]$"
COLUMNS = "i::VARCHAR AS person, i::VARCHAR::BLOB AS element, 'x' AS place"


def as_parquet(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    connection.execute(f"COPY visits TO '{folder / 'visits.parquet'}'")
    return folder / "visits.parquet"


def as_file(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    connection.execute(f"ATTACH '{folder / 'visits.duckdb'}' AS file")
    connection.execute("CREATE TABLE file.visits AS FROM visits")
    connection.execute("DETACH file")
    return folder / "visits.duckdb"


def as_relation(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    return connection.table("visits")


def as_frame(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    return pa.RecordBatchReader.from_stream(connection.table("visits")).read_all()


@pytest.mark.parametrize("sql", [None, "SELECT * FROM data WHERE place = 'x'"])
@pytest.mark.parametrize("door", [as_parquet, as_file, as_relation, as_frame])
def test_duckdb_hands_out_text_and_bytes_with_offsets_of_64_bits(
    door: Any, sql: str | None, tmp_path: Path
) -> None:
    """Offsets of 32 bits fail for 2 GiB of text within the 2,048 rows that DuckDB takes at a time."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits AS SELECT {COLUMNS} FROM range(9) t(i)")
    question = Question(**SIDES, sql=sql, group_by="place", groups="unknown")
    with open_source(door(connection, tmp_path), question, Machine()) as table:
        assert isinstance(table, Relation)
        values = table._values(table._sides(question))
        fields = _core.schema_fields(_core.stream_schema(values.__arrow_c_stream__()))
    assert [field[1] for field in fields] == ["U", "Z", "U"]
    assert connection.sql("SELECT current_setting('arrow_large_buffer_size')").fetchall() == [(False,)]


def test_the_limit_of_people_and_elements_is_named_beside_time_and_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is no rule for one row, so whether a run fails at it may tell something; and it is paid for."""

    class Small(_core.GraphBuilder):
        def graph(self, max_index: int = 2, group_bits: int = 0) -> _core.Graph:
            return super().graph(max_index, group_bits)

    assert _core.MAX_INDEX == 2**31 - 1
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    not_covered = page.partition("**Not covered.** The time a run takes, the memory it uses")[2]
    limits = not_covered.partition("\n**")[0]
    assert "2^31 or more people, or as many distinct elements (by group: pairs of group and" in limits
    monkeypatch.setattr(_core, "GraphBuilder", Small)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 2)
    rows = pa.table({"person": [1, 2, 3], "element": [1, 1, 1], "place": ["a", "a", "a"]})
    paying: dict[str, Any] = {"ledger": ledger, "dataset": "visits", "data_name": "three people"}
    with pytest.raises(InputError, match=TOO_LARGE):
        asked.count_distinct(rows, **SIDES, **paying)
    with pytest.raises(InputError, match=TOO_LARGE):
        asked.count_distinct_by(rows, **SIDES, **paying, group_by="place", groups=["a"])
    assert [request.answered for request in ledger.requests("visits")] == [False, False]


def test_more_than_a_kernel_can_number_is_told_wherever_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows are read, and at their end; by group, and sorted on disk."""
    rows = pa.table({"person": [1, 2, 3], "element": [1, 1, 1], "place": ["a", "a", "a"]})
    on_disk: dict[str, Any] = {**SIDES, "method": "greedy", "memory_limit": "1GB", "epsilon": 1}

    def fails(*_: Any) -> Any:
        raise OverflowError("the core's own text")

    for step in ("add", "loads", "rounds"):
        small = type("Small", (_core.SortedGreedy,), {step: fails})
        monkeypatch.setattr(_core, "SortedGreedy", small)
        if step != "rounds":
            with pytest.raises(InputError, match=TOO_LARGE):
                asked.count_distinct(rows, **on_disk)
        if step != "loads":
            with pytest.raises(InputError, match=TOO_LARGE):
                asked.count_distinct_by(rows, **on_disk, group_by="place", groups=["a"])


@pytest.mark.slow
@pytest.mark.parametrize("door", ["file", "relation"])
def test_two_gibibytes_of_text_in_a_few_rows_are_read(door: str, tmp_path: Path) -> None:
    """A file of a few kilobytes: 160 rows of one and the same text of 14 MiB."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 160, pa.int32()), pa.array(["x" * (14 << 20)]))
    people = pa.array([f"p{i}" for i in range(160)])
    path = tmp_path / "visits.parquet"
    pq.write_table(
        pa.table({"person": people, "element": texts, "place": ["a"] * 160}), path, compression="zstd"
    )
    connection = duckdb.connect()
    source: Any = path if door == "file" else connection.read_parquet(str(path))
    how: dict[str, Any] = {**SIDES, "method": "greedy", "mechanism": "fixed", "max_bound": 1, "epsilon": 1000}
    assert asked.count_distinct(source, **how).estimate == 1
    assert asked.count_distinct(source, **how, sql="SELECT * FROM data WHERE place = 'a'").estimate == 1
    assert asked.count_distinct_by(source, **how, group_by="place", groups=["a"]).rows[0].estimate == 1
