"""Every bound at once against the peers' one bound, on the same graphs, in one run.

    python benchmarks/curves.py [--scale S] [graph ...]

Peers: OR-tools' SimpleMaxFlow, and scipy's maximum_bipartite_matching on as many stacked copies of
every person as the bound allows (the way of the paper's authors). Each count is checked against
the curve at that bound.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
from ortools.graph.python.max_flow import SimpleMaxFlow
from scipy.sparse import csr_matrix, vstack
from scipy.sparse.csgraph import maximum_bipartite_matching

import dpdistinct
from graphs import GRAPHS, Pairs
from timing import head, line, timed

BOUND = 10
PATH_BOUND = 2  # with 10, nothing would hold anybody back on the graphs of long paths
WITHOUT_STACKS = ("mild", "even", "two_or_three", "communities")  # scipy would take minutes there
LIMIT = 60  # seconds a peer may take, building included


def limited(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a copy of this process, or None if it takes longer than the limit."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(call(*arguments)))
    child.start()
    sender.close()  # a child that fails shows as the end of the pipe, not as a time-out
    result = receiver.recv() if receiver.poll(LIMIT) else None
    child.kill()
    child.join()
    return result


def max_flow(pairs: Pairs, bound: int) -> dict[str, Any]:
    """OR-tools: the count at one bound.

    Its solve() first lays the arcs out in memory. A solve without capacity at the source shows how
    long that takes.
    """
    people, elements = (side.astype(np.int32) for side in pairs)
    n, m = int(people.max()) + 1, int(elements.max()) + 1
    source, sink = n + m, n + m + 1
    flow = SimpleMaxFlow()

    def build() -> np.ndarray:
        flow.add_arcs_with_capacity(people, n + elements, np.ones(people.size, np.int64))
        every = np.arange(m, dtype=np.int32)
        flow.add_arcs_with_capacity(n + every, np.full(m, sink, np.int32), np.ones(m, np.int64))
        every = np.arange(n, dtype=np.int32)
        return flow.add_arcs_with_capacity(np.full(n, source, np.int32), every, np.full(n, bound, np.int64))

    arcs, built = timed(build)
    _, solved = min((timed(lambda: flow.solve(source, sink)) for _ in range(2)), key=lambda run: run[1])
    count = flow.optimal_flow()
    flow.set_arcs_capacity(arcs, np.zeros(n, np.int64))
    _, layout = timed(lambda: flow.solve(source, sink))
    return {"count": count, "build": built, "solve": solved, "layout": layout}


def stacked_matching(pairs: Pairs, bound: int) -> dict[str, Any]:
    """scipy: the count at one bound, from that many copies of every person."""
    graph = csr_matrix((np.ones(pairs[0].size, np.int8), pairs))
    copies = vstack([graph] * bound, format="csr")
    matched, solved = timed(lambda: maximum_bipartite_matching(copies, perm_type="column"))
    return {"count": int((matched >= 0).sum()), "solve": solved}


def measure(name: str, scale: float) -> tuple[list[Any], list[Any]]:
    """One row of our times, one of the comparison."""
    pairs = GRAPHS[name](scale)
    rows = {"person": pairs[0], "element": pairs[1]}  # noqa: F841, DuckDB finds it by name
    keys = duckdb.sql("SELECT hash(person), hash(element) FROM rows")
    contributions, build = timed(lambda: dpdistinct.Contributions.from_keys(keys), 3)
    curve, matching = timed(lambda: dpdistinct.matching_curve(contributions), 3)
    _, greedy = timed(lambda: dpdistinct.greedy_curve(contributions), 3)
    _, sampling = timed(lambda: dpdistinct.sampling_curve(contributions), 3)
    sizes = [f"{n:,}" for n in (contributions.people, contributions.elements, contributions.pairs)]

    bound = PATH_BOUND if name.endswith(("path", "paths")) else BOUND
    flow = limited(max_flow, pairs, bound)
    stacks: dict[int, Any] = {}
    if name not in WITHOUT_STACKS:
        stacks[1] = limited(stacked_matching, pairs, 1)
        stacks[2] = stacks[1] and limited(stacked_matching, pairs, 2)
    checks = [(peer, curve.at(at)) for at, peer in [(bound, flow), *stacks.items()] if peer]
    wrong = [f"{peer['count']} is not {ours}" for peer, ours in checks if peer["count"] != ours]
    if wrong:
        sys.exit(f"{name}: {'; '.join(wrong)}")

    def shown(peer: dict[str, Any] | None, key: str = "solve") -> Any:
        return peer[key] if peer else f"> {LIMIT}"

    ratios = ["", "", ""]
    if flow:
        less = [all_ - part for all_, part in zip(flow["solve"], flow["layout"], strict=True)]
        ratios = [f"{matching.wall / flow['solve'].wall:.3f}", f"{matching.cpu / flow['solve'].cpu:.3f}"]
        ratios.append(f"{matching.wall / less[0]:.2f}" if less[0] > 0.01 else "")
    solves = [shown(flow, "build"), shown(flow), shown(flow, "layout")]
    return (
        [name, *sizes, build, matching, greedy, f"{matching.cpu - greedy.cpu:.2f}", sampling],
        [
            name,
            bound,
            matching,
            *solves,
            *ratios,
            *(map(shown, stacks.values()) if stacks else ("", "")),
            len(checks),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", help=f"default: all of {', '.join(GRAPHS)}")
    parser.add_argument("--scale", type=float, default=1, help="size of the generated graphs")
    options = parser.parse_args()
    ours, peers = [], []
    for name in options.graphs or GRAPHS:
        print(name, file=sys.stderr, flush=True)
        one, other = measure(name, options.scale)
        ours.append(one)
        peers.append(other)
    print("Seconds: wall (CPU). Ours: median of 3.\n")
    sizes = "graph", "people", "elements", "pairs"
    print(head(*sizes, "build", "matching", "greedy", "matching - greedy, CPU", "sampling"))
    print(*map(line, ours), sep="\n")
    print("\nOR-tools: the faster of 2. The last column counts the peers' results that equal ours.\n")
    solves = "OR-tools build", "OR-tools solve", "of that, layout"
    ratios = "matching / solve, wall", "CPU", "wall, without layout"
    print(head("graph", "l", "matching, every l", *solves, *ratios, "scipy l=1", "scipy l=2", "equal"))
    print(*map(line, peers), sep="\n")


if __name__ == "__main__":
    main()
