"""What greedy keeps of the exact count, for two orders of people that are equally loaded.

hash: by the key alone, as dpdistinct does. own: by the own number of elements first, then by the
key; as valid, but it takes a second pass over the pairs before they can be sorted.

    python benchmarks/ties.py [GRAPH ...]
"""

from __future__ import annotations

import argparse

import duckdb

from dpdistinct import Contributions, greedy_curve, matching_curve
from graphs import GRAPHS
from timing import head, line

BOUNDS = 1, 2, 5, 10, 50
DEFAULT = "imdb", "reddit_top", "news20", "amazon_musical_2014", "zipf", "wide", "tpch_l_ep"
ORDERS = {
    "hash": "SELECT hash(person), hash(element) FROM rows",
    "own": "SELECT row_number, hash(element) FROM rows JOIN (SELECT person, "
    "(row_number() OVER (ORDER BY count(*), hash(person)))::UBIGINT AS row_number FROM rows GROUP BY person) "
    "USING (person)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", help=f"default: {', '.join(DEFAULT)}")
    print(head("graph", *(f"l = {bound}: hash, own" for bound in BOUNDS)))
    for name in parser.parse_args().graphs or DEFAULT:
        pairs = GRAPHS[name](1)
        duckdb.register("rows", {"person": pairs[0], "element": pairs[1]})
        tables = {order: Contributions.from_keys(duckdb.sql(sql)) for order, sql in ORDERS.items()}
        exact = matching_curve(tables["hash"])
        kept = {order: greedy_curve(table) for order, table in tables.items()}
        cells = [", ".join(f"{kept[o].at(l) / exact.at(l):.4f}" for o in ORDERS) for l in BOUNDS]
        print(line([name, *cells]), flush=True)


if __name__ == "__main__":
    main()
