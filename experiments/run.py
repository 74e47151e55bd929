"""Run the paper's experiments, as far as the data at hand allow.

    python -m experiments.run [item ...] [--smoke]

Items, in the order of the paper: figure1 figure2 summary tpch datasets tables variants timing; all
of them by default. Every result is kept in experiments/cache as soon as it is there, with its
settings, seed and seconds, so a run that was stopped goes on where it was. --smoke: TPC-H, which is
generated, and Amazon Fashion if it is there; little of everything, in a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dpdistinct.mechanisms import joint
from dpdistinct.mechanisms import single as mechanisms
from experiments import datasets, paper, published, sweeps, tables, timing, tpch
from experiments.prepared import FULL, SEED, SMOKE, Effort, Prepared

HERE = Path(__file__).resolve().parent
CACHE, RESULTS = HERE / "cache", HERE / "results"
VERSION = 1  # of the experiments: results of another version are not used
ITEMS = ("figure1", "figure2", "summary", "tpch", "datasets", "tables", "variants", "timing")
WORDS = [d.name for d in paper.DATA_SETS] + list(datasets.NEARBY)
TIMED = {"imdb": 30, "reddit_top": 100}  # data set: largest bound
SMOKE_EPSILONS = (0.5, 1.0, 4.0)
# What of dpdistinct may be tuned: a kept result with other constants is computed anew.
CONSTANTS = {
    name: str(value)
    for name, value in {**vars(mechanisms), **vars(joint)}.items()
    if name.startswith(("JOINT_", "FIRST", "_FACTORS", "R2T_", "DEFAULT_")) and not callable(value)
}


@dataclass(frozen=True)
class Task:
    """One result: its name, what it depends on, and how to get it."""

    key: str  # item/...
    settings: dict[str, Any]
    call: Callable[[], Any]


def tasks(items: tuple[str, ...], effort: Effort, cache: Path) -> Iterator[Task]:
    """Everything that could be run, data set by data set, so that one at a time is in memory."""
    smoke = effort is SMOKE
    if "datasets" in items:
        for name in ["amazon_fashion"] if smoke else [*WORDS, *datasets.OTHERS]:
            yield Task(f"datasets/{name}", {}, lambda name=name: datasets.measures(datasets.load(name)))
        yield Task("datasets/tokenizer", {}, datasets.tokenizer_agrees)
    for name in ["amazon_fashion"] if smoke else WORDS:
        data = Prepared(name, effort, cache)
        yield from _tasks_of(data, items, SMOKE_EPSILONS if smoke else tuple(sweeps.EPSILONS))
        if "timing" in items and name in TIMED and not smoke:
            yield Task(
                f"timing/{name}", {"max_bound": TIMED[name]},
                lambda data=data: timing.measure(data.table, TIMED[data.name]),
            )  # fmt: skip
    if "tpch" in items:
        for name in paper.TPCH_TRUTH:
            yield from _tpch_tasks(tpch.Task(name, FULL))  # it takes seconds


def _tasks_of(data: Prepared, items: tuple[str, ...], epsilons: tuple[float, ...]) -> Iterator[Task]:
    name, base = data.name, {"effort": asdict(data.effort), "seed": SEED, "package": CONSTANTS}
    if "figure1" in items:
        yield Task(f"figure1/{name}", base, lambda: sweeps.count_against_bound(data))
    if "tables" in items:
        for row in rows_of(name):
            yield Task(
                f"tables/{row.key}", base | {"published": asdict(published.PRINTED)},
                lambda row=row: {
                    "published": tables.published(row, data),
                    "proven": tables.private(row, data, "paper"),
                    "joint": tables.private(row, data, "joint"),
                },
            )  # fmt: skip
    if "summary" in items:
        for mechanism in ("paper", "joint"):
            yield Task(f"summary/{name}/{mechanism}", base, lambda m=mechanism: tables.summary(data, m))
    if "variants" in items and name in paper.MAX_BOUND:
        for setting in published.VARIANTS:
            yield Task(
                f"variants/{name}/{setting.name}", base | {"published": asdict(setting)},
                lambda s=setting: _agreements(data, s),
            )  # fmt: skip
        yield Task(
            f"variants/{name}/as printed, but greedy as in Algorithm 2", base,
            lambda: _agreements(data, published.PRINTED, rounds=True),
        )  # fmt: skip
    if "figure2" in items:
        for epsilon in epsilons:
            yield Task(
                f"figure2/{name}/{epsilon:g}", base | {"runs": sweeps.RUNS},
                lambda e=epsilon: sweeps.count_against_epsilon(data, e),
            )  # fmt: skip


def _tpch_tasks(task: tpch.Task) -> Iterator[Task]:
    base = {"effort": asdict(task.effort), "seed": SEED, "package": CONSTANTS}
    base["published"] = asdict(published.TPCH)
    for line in paper.TPCH:
        yield Task(
            f"tpch/{task.name}/{line}", base,
            lambda line=line: {
                "published": task.published(line), "proven": task.proven(line), "joint": task.joint(line)
            },
        )  # fmt: skip
    yield Task(f"tpch/{task.name}/floor", base, task.floor)


def rows_of(name: str) -> list[paper.Row]:
    """The lines of the appendix table for a data set, or for one that stands near it."""
    if name in datasets.NEARBY:
        return paper.rows_like(datasets.NEARBY[name], name)
    return [row for row in paper.ROWS if row.data == name]


def _agreements(data: Prepared, setting: published.Settings, *, rounds: bool = False) -> dict[str, list[int]]:
    """For each way of counting: how many printed numbers agree, of how many."""
    found: dict[str, list[int]] = {}
    for row in rows_of(data.name):
        agreed, printed = tables.agreement(row, tables.published(row, data, setting, rounds=rounds))
        total = found.setdefault(row.counting, [0, 0])
        total[0] += agreed
        total[1] += printed
    return found


def path_of(cache: Path, key: str) -> Path:
    """Where the result of a task is kept."""
    safe = "".join(c if c.isalnum() or c in "._-/" else "_" for c in key)
    return cache / "rows" / f"{safe}.json"


def stored(cache: Path, key: str) -> dict[str, Any] | None:
    """A result that was kept."""
    path = path_of(cache, key)
    return json.loads(path.read_text()) if path.exists() else None


def run(task: Task, cache: Path) -> bool:
    """Do the task unless its result is there. Whether the result is a real one."""
    settings = json.loads(json.dumps({"version": VERSION, **task.settings}, default=str))
    found = stored(cache, task.key)
    if found is not None and found["settings"] == settings and "not_at_hand" not in found:
        return True
    start = time.perf_counter()
    entry: dict[str, Any] = {"key": task.key, "settings": settings}
    try:
        entry["result"] = task.call()
    except datasets.NotAtHand as missing:
        entry["not_at_hand"] = str(missing)
    entry["seconds"] = round(time.perf_counter() - start, 3)
    path = path_of(cache, task.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(entry, default=_plain, indent=1))
    partial.rename(path)
    return "not_at_hand" not in entry


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def machine() -> dict[str, Any]:
    """Where this was run."""
    model, cpuinfo = platform.processor(), Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    return {"cpu": model, "cores": os.cpu_count(), **versions}


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.run", description=__doc__.split("\n\n")[0])
    parser.add_argument("items", nargs="*", metavar="item", help=" ".join(ITEMS))
    parser.add_argument("--smoke", action="store_true", help="TPC-H and Amazon Fashion only, in a minute")
    parser.add_argument("--data", type=Path, help="folder with the token lists (default: DPDISTINCT_DATA)")
    parser.add_argument("--cache", type=Path, help="folder for what was computed")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.items) - set(ITEMS):
        parser.error(f"there is no item {', '.join(sorted(unknown))}; items are {', '.join(ITEMS)}")
    if chosen.data:
        datasets.DATA = chosen.data
    cache = chosen.cache or (CACHE / "smoke" if chosen.smoke else CACHE)
    effort = SMOKE if chosen.smoke else FULL
    todo = list(tasks(tuple(chosen.items) or ITEMS, effort, cache))
    missing = []
    columns = (
        TextColumn("{task.description:<50.50}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    )  # fmt: skip
    console, group = Console(stderr=True), ""
    with Progress(*columns, console=console) as bar:
        total = bar.add_task("", total=len(todo))
        while todo:
            task = todo.pop(0)  # and with the last task of a data set goes the data set
            bar.update(total, description=task.key)
            if not console.is_terminal and group != (group := task.key.partition("/")[0]):
                console.print(task.key)
            if not run(task, cache):
                missing.append(task.key)
            bar.advance(total)
    (cache / "machine.json").write_text(json.dumps(machine(), indent=1))
    for key in missing:
        if "/" not in key.partition("/")[2] and not key.startswith("tables"):
            entry = stored(cache, key) or {}
            print(f"{key}: not at hand: {entry.get('not_at_hand')}")


if __name__ == "__main__":
    main()
