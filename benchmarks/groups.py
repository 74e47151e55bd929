"""Counting by group: the time beside a single count of the same table, and how much of the counts is lost.

Times are those of whole calls on CSV and Parquet files, from the path to the release, and of what is done
with keys that are in memory, beside two single counts in the same run: "one count" of the elements, without
groups, and "of pairs" of group and element, which are what a count by group counts.

Losses are exact expectations: the law of the choice times the law of the noise. "oracle" knows the best bound
for free and spends all of epsilon on the counts. "split" counts each group by itself with epsilon / G. "rows"
is what other tools do: everybody keeps l rows at random, with the best l known for free and all of epsilon
for the counts. What exceeds the truth counts as no loss.

    python benchmarks/groups.py [--files | --keys | --accuracy] [tables...]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accuracy import joint, laplace_loss
from dpdistinct import Contributions, count_distinct, count_distinct_by
from dpdistinct.answers.drawing import release_groups
from dpdistinct.graph.groups import (
    GroupedContributions,
    curves_of_single_groups,
    first_basis,
    group_bits,
    grouped_greedy_curve,
    pair_keys,
)
from dpdistinct.mechanisms.by_group import GroupParameters, check_group_parameters, choose_bound
from dpdistinct.mechanisms.margins import TOGETHER, group_margin
from dpdistinct.question.parameters import MAX_BOUND
from graphs import DATA, ROOT, TOKENS, tpch
from timing import Seconds, head, line, timed

sys.path.insert(0, str(ROOT / "tests" / "support"))
from exact import Branch

EPSILON, BETA = Fraction(1), Fraction(1, 20)

WORDS = (
    "SELECT person, word AS element, {group} AS part "
    "FROM (SELECT person, unnest(tokens) AS word FROM '{file}')"
)
LETTER = "CASE WHEN {0} BETWEEN '0' AND '9' OR {0} BETWEEN 'a' AND 'z' THEN {0} ELSE 'other' END"
SHIPPED = "SELECT l_suppkey AS person, l_orderkey AS element, {group} AS part FROM '{file}'"
ORDERED = "SELECT o_custkey AS person, o_orderdate AS element, {group} AS part FROM '{file}'"


def words(name: str, group: str) -> Callable[[], str]:
    return lambda: WORDS.format(group=group, file=TOKENS / f"{name}_tokens.parquet")


def generated(table: str, scale: float, rows: str, group: str) -> Callable[[], str]:
    def question() -> str:
        tpch("L.EP", scale)  # makes all tables
        return rows.format(group=group, file=DATA / f"tpch-{scale:g}" / f"{table}.parquet")

    return question


def sources(*names: str) -> Callable[[], str]:
    """Several sets of people, each a group: nobody is in two."""
    parts = (words(name, f"'{name}'")() for name in names)
    asked = " UNION ALL ".join(
        f"SELECT hash(person, part) AS person, element, part FROM ({part})" for part in parts
    )
    return lambda: asked


FIRST, SECOND = LETTER.format("word[1]"), LETTER.format("word[2]")
MONTH = "tpch, ship month"
TIMED = {
    "imdb, first letter": words("imdb", FIRST),
    "imdb, 1,000 groups of words": words("imdb", "hash(word) % 1000"),
    "reddit_top, 7 groups of words": words("reddit_top", "hash(word) % 7"),
    "reddit_top, 1,000 groups of words": words("reddit_top", "hash(word) % 1000"),
    "reddit_top, 1,000 groups of people": words("reddit_top", "hash(person) % 1000"),
    "news20, first letter": words("news20", FIRST),
    "tpch, ship mode": generated("lineitem", 1, SHIPPED, "l_shipmode"),
    MONTH: generated("lineitem", 1, SHIPPED, "strftime(l_shipdate, '%Y-%m')"),
}
SIDES: dict[str, Any] = {"person": "person", "element": "element"}
DISTINCT = "SELECT DISTINCT part FROM t ORDER BY part"
MONTHS = {"groups": "1992-01..1998-12", "every": "month"}  # of a column of dates
# None of these was used for choosing the share of epsilon. The last: whether everybody has one group.
COMPARED = {
    "imdb, length of the word": (words("imdb", "least(length(word), 15)"), False),
    "reddit_top, second letter": (words("reddit_top", SECOND), False),
    "news20, 100 groups of words": (words("news20", "hash(word) % 100"), False),
    "amazon_musical_2014, first letter": (words("amazon_musical_2014", FIRST), False),
    "amazon_musical_2014, length": (words("amazon_musical_2014", "least(length(word), 15)"), False),
    "amazon_all_beauty, 5 groups of words": (words("amazon_all_beauty", "hash(word) % 5"), False),
    "tpch 0.1, ship weekday": (generated("lineitem", 0.1, SHIPPED, "dayofweek(l_shipdate)"), False),
    "tpch 0.1, order priority": (generated("orders", 0.1, ORDERED, "o_orderpriority"), False),
    "news20, 12 groups of people": (words("news20", "hash(person) % 12"), True),
    "three sets of people": (sources("amazon_musical_2014", "news20", "imdb"), True),
}


class Keyed(NamedTuple):
    """A table of pairs: distinct (person, pair) rows, and the number of each pair's group."""

    people: NDArray[np.uint64]
    hashes: NDArray[np.uint64]
    parts: NDArray[np.int64]
    groups: int

    def stream(self) -> pa.RecordBatch:
        keys = pair_keys(self.hashes, self.parts, bits=group_bits(self.groups))
        return pa.record_batch([self.people, keys], names=["person", "pair"])

    def contributions(self, **options: Any) -> GroupedContributions:
        return GroupedContributions.from_grouped_parts([self.stream()], groups=self.groups, **options)


def keyed(question: str) -> Keyed:
    rows = duckdb.sql(
        f"WITH t AS ({question}), list AS (SELECT part, row_number() OVER (ORDER BY part) - 1 AS number "
        "FROM (SELECT DISTINCT part FROM t)) SELECT DISTINCT hash(person) AS person, "
        "hash(part, element) AS pair, number FROM t JOIN list USING (part)"
    ).fetchnumpy()
    people, pairs = (np.asarray(rows[name], dtype=np.uint64) for name in ("person", "pair"))
    parts = np.asarray(rows["number"], dtype=np.int64)
    return Keyed(people, pairs, parts, int(parts.max()) + 1)


def settings(groups: int | None, **changes: Any) -> GroupParameters:
    given = {"epsilon": EPSILON, "beta": BETA, "method": "matching", "mechanism": None, "max_bound": None}
    return check_group_parameters(groups=groups, **(given | changes))


def file_of(name: str, suffix: str, *, labels: bool = False) -> Path:
    """The rows of a table, as they are: person, element, part. labels: not a date as part, but its month."""
    dates = name == MONTH and not labels
    path = DATA / f"by-group-{re.sub('[^a-z0-9]+', '-', name)}{'-dates' if dates else ''}.{suffix}"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        question = generated("lineitem", 1, SHIPPED, "l_shipdate")() if dates else TIMED[name]()
        duckdb.sql(f"COPY ({question}) TO '{path}'")
    return path


def file_table(names: list[str], repeat: int) -> None:
    print(f"Seconds of CPU (and wall) of whole calls, medians of {repeat}.\n")
    ratios = "wall / one count", "wall / pairs", "CPU / one count", "CPU / pairs"
    print(head("table", "file", "groups", "method", "one count", "of pairs", "by group", *ratios))
    for name in names:
        listed = [str(part) for (part,) in duckdb.sql(TIMED[name]()).query("t", DISTINCT).fetchall()]
        groups: dict[str, Any] = MONTHS if name == MONTH else {"groups": listed}
        for suffix in ("csv", "parquet"):
            for method, single in ways(name):
                taken = file_times(name, suffix, method, {"one_group_per_person": single, **groups}, repeat)
                one, pairs, many = taken
                ratios = (
                    many.wall / one.wall,
                    many.wall / pairs.wall,
                    many.cpu / one.cpu,
                    many.cpu / pairs.cpu,
                )
                way = f"{method}, one group each" if single else method
                times = (f"{seconds.cpu:.2f} ({seconds.wall:.2f})" for seconds in taken)
                cells = [name, suffix, len(listed), way, *times, *(f"{ratio:.2f}" for ratio in ratios)]
                print(line(cells), flush=True)


def file_times(
    name: str, suffix: str, method: Any, how: dict[str, Any], repeat: int
) -> tuple[Seconds, Seconds, Seconds]:
    """One count of the elements, one of the pairs, and the count by group, in turns."""
    path, labelled = file_of(name, suffix), file_of(name, suffix, labels=True)
    both: Any = {"person": "person", "element": ["part", "element"]}
    calls: list[Callable[[], Any]] = [
        lambda: count_distinct(path, **SIDES, method=method),
        lambda: count_distinct(labelled, **both, method=method),
        lambda: count_distinct_by(path, **SIDES, group_by="part", method=method, **how),
    ]
    for call in calls:  # constants are cached
        call()
    rounds = [[timed(call)[1] for call in calls] for _ in range(repeat)]
    one, pairs, many = (
        Seconds(*map(median, zip(*times, strict=True))) for times in zip(*rounds, strict=True)
    )
    return one, pairs, many


def ways(name: str) -> list[tuple[Any, bool]]:
    """Methods, and whether everybody has one group."""
    return [("matching", False), ("greedy", False), *([("matching", True)] if "people" in name else [])]


def key_table(names: list[str]) -> None:
    print("\nSeconds of CPU, medians of 5, from keys in memory. One count: of the same rows, no groups.\n")
    columns = "one count", "by group", "ratio", "after reading: one count", "by group"
    print(head("table", "groups", "pairs", "method", *columns))
    for name in names:
        table = keyed(TIMED[name]())
        stream, labels = table.stream(), [str(g) for g in range(table.groups)]
        for method, single in ways(name):
            parameters = settings(table.groups, method=method, one_group_per_person=single)
            options: dict[str, Any] = {"groups": table.groups, "one_group_per_person": single}

            def count(data: Contributions, method: Any = method) -> Any:
                return count_distinct(data, epsilon=1.0, method=method)

            def by_group(
                data: GroupedContributions, parameters: Any = parameters, labels: Any = labels
            ) -> Any:
                return release_groups(data, parameters, groups=labels, group_by=["part"])

            by_group(GroupedContributions.from_grouped_parts([stream], **options))  # constants are cached
            count(Contributions.from_keys(stream))
            _, one = timed(lambda: count(Contributions.from_keys(stream)), 5)  # noqa: B023
            _, many = timed(
                lambda: by_group(GroupedContributions.from_grouped_parts([stream], **options)),  # noqa: B023
                5,
            )
            plain = Contributions.from_keys(stream)
            grouped = GroupedContributions.from_grouped_parts([stream], **options)
            after = [timed(lambda: count(plain), 5)[1], timed(lambda: by_group(grouped), 5)[1]]  # noqa: B023
            cells = [f"{seconds.cpu:.3f}" for seconds in (one, many)]
            cells += [f"{many.cpu / one.cpu:.2f}", *(f"{seconds.cpu:.4f}" for seconds in after)]
            way = f"{method}, one group each" if single else method
            print(line([name, table.groups, f"{len(table.people):,}", way, *cells]), flush=True)


def lost(
    counts: NDArray[Any], truth: NDArray[Any], bound: Any, epsilon: Fraction, beta_share: int
) -> NDArray[np.float64]:
    """The expected loss of each group at a bound (or a bound of its own for each)."""
    bounds = np.broadcast_to(bound, truth.shape)
    margin = {
        int(b): group_margin(bound=int(b), epsilon=epsilon, beta=BETA, groups=beta_share) for b in set(bounds)
    }
    margins = np.array([margin[int(b)] for b in bounds], dtype=float)
    return laplace_loss(counts.astype(float), truth.astype(float), bounds / float(epsilon), margins)


class Losses:
    """All columns of one table."""

    def __init__(self, table: Keyed) -> None:
        self.table, self.data = table, table.contributions()
        self.grid = settings(table.groups).bounds
        self.greedy = grouped_greedy_curve(self.data, self.grid)
        self.truth = self.greedy.truth()
        self.enough = [b for b in self.grid if b <= 4 * int(np.bincount(self._codes()).max())]

    def _codes(self) -> NDArray[np.int64]:
        return np.unique(self.table.people, return_inverse=True)[1]

    def cell(self, losses: NDArray[np.float64]) -> str:
        share = 1 - losses / self.truth
        return f"{100 * losses.sum() / self.truth.sum():.1f} ({100 * share.mean():.0f})"

    def best(self, counts_at: Callable[[int], NDArray[Any]]) -> str:
        """The best bound known for free, all of epsilon for the counts."""
        at_bounds = [lost(counts_at(b), self.truth, b, EPSILON, self.table.groups) for b in self.enough]
        return self.cell(min(at_bounds, key=np.sum))

    def ours(self, counts_at: Callable[[int], NDArray[Any]]) -> str:
        parameters, recorded = settings(self.table.groups), Branch(0)
        rest = EPSILON - parameters.choice
        choose_bound(self.greedy, parameters, recorded)
        assert recorded.selection is not None
        total = np.zeros(len(self.truth))
        for bound, log_p in zip(self.grid, recorded.selection, strict=True):
            if np.exp(log_p) > 1e-9:
                total += np.exp(log_p) * lost(counts_at(bound), self.truth, bound, rest, self.table.groups)
        return self.cell(total)

    def alone(self, data: GroupedContributions, epsilon: Fraction) -> str:
        """Each group by "joint" with this epsilon, beta / G and a bound of its own."""
        parameters = settings(self.table.groups, epsilon=epsilon, one_group_per_person=True)
        curves = curves_of_single_groups(data, exact=True, bounds=parameters.bounds)
        beta = TOGETHER * BETA / self.table.groups
        losses = np.array([joint(curve, epsilon, beta)[0] for curve in curves])
        return self.cell(losses + self.truth - [curve.at(MAX_BOUND) for curve in curves])

    def split(self) -> str:
        """Epsilon / G for each group by itself; people of different groups are different people then."""
        table = self.table
        mixed = table.people ^ (table.parts.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        return self.alone(table._replace(people=mixed).contributions(), EPSILON / table.groups)

    def rows(self) -> Callable[[int], NDArray[Any]]:
        """Everybody keeps l of their rows at random: a pair counts if some holder ranks it at most l."""
        table, random = self.table, np.random.default_rng(1)
        codes = self._codes()
        order = np.lexsort((random.random(len(codes)), codes))
        first = np.searchsorted(codes[order], np.arange(codes.max() + 1))
        rank = np.empty(len(codes), np.int64)
        rank[order] = np.arange(len(codes)) - first[codes[order]] + 1
        _, at, pair = np.unique(table.hashes, return_index=True, return_inverse=True)
        best = np.full(len(at), 2**62)
        np.minimum.at(best, pair, rank)
        parts = table.parts[at]
        return lambda bound: np.bincount(parts[best <= bound], minlength=table.groups)


def accuracy_table(names: list[str]) -> None:
    print(
        f"\nLost part of all counts in %, in brackets the mean of lower bound / truth over groups; "
        f"epsilon {EPSILON}, beta {float(BETA)} together.\n"
    )
    columns = "oracle", "greedy", "matching", "one group per person", "split", "rows"
    print(head("table", "G", *columns))
    for name in names:
        question, people = COMPARED[name]
        losses = Losses(keyed(question()))
        data = losses.data

        def basis(bound: int, data: GroupedContributions = data) -> NDArray[Any]:
            return first_basis(data, bound)

        single = (
            losses.alone(losses.table.contributions(one_group_per_person=True), EPSILON) if people else ""
        )
        cells = [losses.best(basis), losses.ours(losses.greedy.at), losses.ours(basis)]
        cells += [single, losses.split(), losses.best(losses.rows())]
        print(line([name, losses.table.groups, *cells]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help="default: all")
    parser.add_argument("--files", action="store_true", help="the times of whole calls")
    parser.add_argument("--repeat", type=int, default=5, help="how often a file is read each way")
    parser.add_argument("--keys", action="store_true", help="the times from keys in memory")
    parser.add_argument("--accuracy", action="store_true", help="the losses")
    options = parser.parse_args()

    def named(tables: dict[str, Any]) -> list[str]:
        return [name for name in tables if not options.tables or name in options.tables]

    everything = not (options.files or options.keys or options.accuracy)
    if options.files or everything:
        file_table(named(TIMED), options.repeat)
    if options.keys or everything:
        key_table(named(TIMED))
    if options.accuracy or everything:
        accuracy_table(named(COMPARED))


if __name__ == "__main__":
    main()
