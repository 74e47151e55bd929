"""Every number of the paper next to ours: from the kept results to one list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import datasets, paper
from experiments.reasons import reason
from experiments.run import WORDS, rows_of, stored
from experiments.tables import printed_numbers
from experiments.verdict import Range, agrees

AGREES, DIFFERS, MISSING, EXTRA = "agrees", "differs", "not at hand", "not in the paper"
PLACES = ("10th percentile", "median", "90th percentile")
TABLE_OF = {
    "amazon_fashion": "Table 4",
    "amazon_industrial": "Table 5",
    "reddit": "Table 6",
    "imdb": "Table 7",
}


@dataclass(frozen=True)
class Number:
    """One number: the paper's, ours in three settings, and the verdict."""

    item: str
    data: str
    row: str
    quantity: str
    paper: float | None
    published: float | None
    low: float | None
    high: float | None
    proven: float | None
    joint: float | None
    verdict: str
    reason: str = ""
    seed: int | None = None


def result(cache: Path, key: str) -> Any:
    """A kept result, or None."""
    return (stored(cache, key) or {}).get("result")


def range_of(kept: dict[str, float]) -> Range:
    """As it was before it was kept."""
    return Range(kept["value"], kept["low"], kept["high"])


def judge(
    item: str, data: str, row: str, quantity: str, printed: float | None, ours: Range | None, digits: int,
    proven: float | None = None, joint: float | None = None, seed: int | None = None,
) -> Number:  # fmt: skip
    """The verdict on one number."""
    if ours is None:
        return Number(item, data, row, quantity, printed, None, None, None, proven, joint, MISSING)
    values = (printed, ours.value, ours.low, ours.high, proven, joint)
    if printed is None:
        return Number(item, data, row, quantity, *values, EXTRA, seed=seed)
    if agrees(printed, ours, digits):
        return Number(item, data, row, quantity, *values, AGREES, seed=seed)
    why = reason(item, data, row, random=ours.low < ours.high)
    return Number(item, data, row, quantity, *values, DIFFERS, why, seed)


def numbers(cache: Path) -> list[Number]:
    """All of them, in the order of the paper."""
    return [*_summary(cache), *_tpch(cache), *_data_sets(cache), *_appendix(cache)]


def _summary(cache: Path) -> Iterator[Number]:
    for data, (truth, *spread) in paper.SUMMARY.items():
        kept = result(cache, f"datasets/{data}")
        ours = Range.exactly(kept["vocabulary"]) if kept else None
        yield judge("Table 1", data, "true count", "vocabulary", truth, ours, 0)
        row = next(r for r in rows_of(data) if r.title == "DP Max Utility / DP Matching")
        entry = stored(cache, f"tables/{row.key}") or {}
        table, other = (
            entry.get("result"),
            {m: result(cache, f"summary/{data}/{m}") for m in ("paper", "joint")},
        )
        for i, printed in enumerate(spread):
            yield judge(
                "Table 1", data, "DPDistinctCount", f"count, {PLACES[i]}", printed,
                range_of(table["published"]["count"][i]) if table else None, 1,
                *((other[m] or {"count": [{}] * 3})["count"][i].get("value") for m in ("paper", "joint")),
                seed=entry.get("settings", {}).get("seed"),
            )  # fmt: skip


def _tpch(cache: Path) -> Iterator[Number]:
    for line, tasks in paper.TPCH.items():
        for task, printed in tasks.items():
            entry = stored(cache, f"tpch/{task}/{line}") or {}
            kept, digits = entry.get("result"), paper.TPCH_DIGITS.get((line, task), 4)
            for quantity in ("trimmed", "untrimmed"):
                ours = {k: v and range_of(v[quantity]) for k, v in (kept or {}).items()}
                yield judge(
                    "Table 2", task, line, f"mean error, {quantity}",
                    printed if quantity == "trimmed" else None, ours.get("published"), digits,
                    *(ours[k].value if ours.get(k) else None for k in ("proven", "joint")),
                    seed=entry.get("settings", {}).get("seed"),
                )  # fmt: skip


def _data_sets(cache: Path) -> Iterator[Number]:
    for data in paper.DATA_SETS:
        kept = result(cache, f"datasets/{data.name}")
        for quantity, printed in datasets.measures_of(data).items():
            ours = Range.exactly(kept[quantity]) if kept else None
            yield judge("Table 3", data.name, "data set", quantity, printed, ours, 0)
    for name in [*datasets.NEARBY, *datasets.OTHERS]:
        for quantity, value in (result(cache, f"datasets/{name}") or {}).items():
            yield judge("Table 3", name, "data set", quantity, None, Range.exactly(value), 0)


def _appendix(cache: Path) -> Iterator[Number]:
    for name in WORDS:
        item = TABLE_OF.get(name, "additional")
        for row in rows_of(name):
            entry = stored(cache, f"tables/{row.key}") or {}
            kept = entry.get("result") or {}
            wanted = printed_numbers(row)
            if item == "additional":
                wanted = [(q, i, None, 1) for q in ("bound", "count") for i in range(3)]
            for quantity, i, printed, digits in wanted:
                ours = {k: range_of(v[quantity][i]) for k, v in kept.items() if v}
                label = (
                    quantity if row.count[0] is None and item != "additional" else f"{quantity}, {PLACES[i]}"
                )
                yield judge(
                    item, name, row.title, label, printed, ours.get("published"), digits,
                    *(ours[k].value if k in ours else None for k in ("proven", "joint")),
                    seed=entry.get("settings", {}).get("seed"),
                )  # fmt: skip
