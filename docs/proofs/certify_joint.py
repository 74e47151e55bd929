"""The certificate of the coverage factors of "joint": S(kappa) <= s for every non-decreasing curve.

docs/proofs/joint.md, section 5, derives the inequality that is checked here: for the best candidate
k, a slack g >= 0 and a lead v >= 0, S is at most a sum that falls or rises in each of its parts as g
and v do. So its value with the unfavourable ends of a box of (g, v) holds for the whole box. Boxes
whose value exceeds s are split until none does. A grid that ends at a max_bound of the caller's is
covered by the same sum, with the last candidate anywhere between its place and the next one's.

    python docs/proofs/certify_joint.py              every factor of the table (minutes)
    python docs/proofs/certify_joint.py --find       the table itself
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpdistinct.joint import (
    COVERAGE,
    JOINT_COST,
    JOINT_HEAD_START,
    JOINT_PRIOR,
    JOINT_REACH,
    JOINT_SHARE,
    OFFSETS,
    full_grid,
)

Floats = NDArray[np.float64]

THETA, ETA, REACH = float(JOINT_SHARE), float(JOINT_PRIOR), float(JOINT_REACH)
ROUNDING = 1.005  # the integers of the scores at epsilon <= 1000, and double precision
LARGE = 2000  # from this bound on, grids are geometric up to their rounding
PIECES = 6  # of a step of the grid, for the place of the last candidate
FAR = 1e11  # candidates above this multiple of k weigh nothing (section 5.4)


@dataclass(frozen=True)
class Surroundings:
    """The other candidates, as multiples of k, each between two ends."""

    up: tuple[Floats, Floats]  # the grid above k
    last: tuple[Floats, Floats]  # pieces of the steps above it, PIECES to a step
    down: tuple[Floats, Floats]  # k over the candidates below it, the nearest first


def surroundings() -> list[Surroundings]:
    """Every k of every grid up to LARGE, and one for all beyond."""
    found = []
    for offset in range(OFFSETS):
        grid = np.array(full_grid(offset), dtype=float)
        for i, k in enumerate(grid):
            if k < LARGE:
                up, down = grid[i + 1 :] / k, (k / grid[:i])[::-1]
                found.append(_surroundings(up, up, down, down))
    ratio, error = 1.75 ** np.arange(1, 28), 1 / LARGE  # up to 2^31 and beyond
    found.append(_surroundings(ratio * (1 - error), ratio * (1 + error), *(2 * (ratio * (1 - error),))))
    return found


def _surroundings(up_low: Floats, up_high: Floats, down_low: Floats, down_high: Floats) -> Surroundings:
    near = up_low < FAR
    up_low, up_high = up_low[near], up_high[near]
    share = np.arange(PIECES + 1) / PIECES
    begin, end = up_low, np.append(up_high[1:], up_high[-1] * 1.76)
    cuts = begin[:, None] * (end / begin)[:, None] ** share
    last = (cuts[:, :-1].ravel(), cuts[:, 1:].ravel() * (1 + 1e-12))
    return Surroundings((up_low, up_high), last, (down_low[:30], down_high[:30]))


class Certificate:
    """The inequality of section 5 for one aim and one kappa."""

    def __init__(self, cost: float, kappa: float) -> None:
        self.cost, self.kappa, self.head = cost, kappa, float(JOINT_HEAD_START) * cost

    def start(self, ratio: Floats) -> Floats:
        """The head start, in units of 1 / epsilon."""
        return self.head * np.maximum(0, 1 - (ratio - 1) / (REACH - 1))

    def lead_of_k(self, at: Surroundings) -> float:
        """No lead over a candidate above k is larger: a non-decreasing curve loses at most the cost."""
        low, high = at.last
        return float((self.cost * (1 - 1 / high) + self.start(low)).max())

    def terms(self, r: tuple[Floats, Floats], g: tuple[Floats, Floats], b: Floats, x: Floats) -> Floats:
        """What candidates above k add, for drops of at least b beside d, and others of weight x."""
        low, high = r
        d = np.maximum(0, self.cost - (self.cost + g[1][:, None]) / low)
        s = np.maximum(0, (self.cost + g[0][:, None]) / high - self.cost)
        y = THETA * (self.kappa + s) - ETA * np.log(low) - THETA / 2 * (d + b)
        return np.exp(-s) / (1 + (1 + x[:, None]) * np.exp(np.clip(-y, -600, 600)))

    def whole(self, at: Surroundings, g: tuple[Floats, Floats], drop: object, x: Floats) -> Floats:
        """The sum over all candidates; the worst place of the last one."""
        own = np.exp(-g[0]) / (1 + x * np.exp(-THETA * (self.kappa + g[0])))
        below = np.exp(-(np.outer(g[0], at.down[0]) + self.cost * (at.down[0] - 1))).sum(axis=1)
        above = self.terms(at.up, g, drop(at.up), x)  # type: ignore[operator]
        last = self.terms(at.last, g, drop(at.last), x)  # type: ignore[operator]
        last = last.reshape(len(last), -1, PIECES).max(axis=2)
        before = np.cumsum(above, axis=1) - above
        most = np.maximum((before + last).max(axis=1), above.sum(axis=1))
        return ROUNDING * (own + most + below)

    def led_from_above(self, at: Surroundings, boxes: Floats) -> Floats:
        """The bound when the closest competitor of k has a larger bound. Rows of boxes: g from, to."""
        g = boxes[:, 0], boxes[:, 1]
        low, high = at.last
        d = np.maximum(0, self.cost - (self.cost + g[1][:, None]) / low)
        v = (d + self.start(high)).min(axis=1)[:, None]
        return self.whole(at, g, lambda r: v - self.start(r[0]), np.zeros(len(boxes)))

    def led_from_below(self, at: Surroundings, j: int, boxes: Floats) -> Floats:
        """The bound when it is the j-th candidate below. Rows of boxes: g from, to, v from, to."""
        g, v = (boxes[:, 0], boxes[:, 1]), (boxes[:, 2][:, None], boxes[:, 3][:, None])
        low, high = at.down[0][j], at.down[1][j]
        start = self.start(np.array(high))

        def drop(r: tuple[Floats, Floats]) -> Floats:
            straight = v[0] - self.start(r[0])
            around = v[0] - np.maximum(0, v[0] - start) / r[0] - self.start(r[0] * low)
            return np.maximum(straight, around)

        behind = np.maximum(0, v[1] - start)  # at most so far is the j-th candidate behind k
        r = at.last[0]
        d = np.maximum(0, self.cost - (self.cost + g[1][:, None]) / r)
        least = np.minimum(0, (d - behind / r).min(axis=1))[:, None]
        allowed = np.arange(len(at.down[0])) <= j if start > 0 else np.full(len(at.down[0]), True)
        lead = np.minimum(least, self.start(at.down[1][allowed]) - behind)
        x = np.exp(ETA * np.log(at.down[0][allowed]) + THETA / 2 * (lead - v[1])).min(axis=1)
        return self.whole(at, g, drop, x)

    def cases(self, at: Surroundings) -> list[tuple[object, float, float]]:
        """Bounds to be tried, each with the range of v."""
        cases: list[tuple[object, float, float]] = [(lambda boxes: self.led_from_above(at, boxes), 0, 0)]
        most = self.lead_of_k(at)
        for j in range(len(at.down[0])):
            start = float(self.start(np.array(at.down[1][j])))
            cases.append((lambda boxes, j=j: self.led_from_below(at, j, boxes), start, most))
            if start == 0:
                break  # all candidates further down give the same bound
        return cases

    def holds(self, at: Surroundings, s: float) -> bool:
        """Is the sum at most s for all g and v?"""
        for bound, least, most in self.cases(at):
            boxes = first_boxes(least, most)
            for _ in range(40):
                boxes = boxes[np.concatenate([bound(part) for part in parts(boxes)]) > s]  # type: ignore[operator]
                if len(boxes) == 0:
                    break
                boxes = split(boxes)
                if len(boxes) > 200_000:
                    return False
            else:
                return False
        return True

    def value(self, at: Surroundings) -> float:
        """The largest value at points, for finding s."""
        largest = 0.0
        for bound, least, most in self.cases(at):
            g, v = (
                np.append(np.arange(0, 12, 0.1), np.geomspace(12, 1e10, 300)),
                np.arange(least, most + 0.2, 0.2),
            )
            boxes = np.array([(a, a, b, b) for a in g for b in v])
            values = [bound(part).max() for part in parts(boxes)]  # type: ignore[operator]
            largest = max(largest, *map(float, values))
        return largest


def first_boxes(least: float, most: float) -> Floats:
    """Boxes that cover all g >= 0 and v from least to most. From g = 1e11 on nothing is left of S."""
    g = np.concatenate([np.arange(0, 12, 0.5), np.geomspace(12, 1e11, 120)])
    v = np.linspace(least, most, 2 if least == most else 8)
    return np.array([(a, b, c, d) for a, b in pairwise(g) for c, d in pairwise(v)])


def split(boxes: Floats) -> Floats:
    """Each box in four; or in two, where v is a point."""
    g1, g2, v1, v2 = boxes.T
    g, v = (g1 + g2) / 2, (v1 + v2) / 2
    quarters = [(g1, g, v1, v), (g, g2, v1, v)]
    if (v1 < v2).any():
        quarters += [(g1, g, v, v2), (g, g2, v, v2)]
    return np.concatenate([np.stack(quarter, axis=1) for quarter in quarters])


def parts(boxes: Floats) -> list[Floats]:
    """So many at a time that the arrays stay small."""
    return np.array_split(boxes, max(1, len(boxes) // 500))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--find", action="store_true")
    find = parser.parse_args().find
    places = surroundings()
    for aim, table in COVERAGE.items():
        for kappa, s in table:
            certificate = Certificate(JOINT_COST[aim], float(kappa))
            if find:
                print(aim, kappa, round(max(certificate.value(at) for at in places) * 1.005, 4), flush=True)
            else:
                held = all(certificate.holds(at, float(s)) for at in places)
                print(f"{aim}: S({kappa}) <= {s}: {'holds' if held else 'NOT SHOWN'}", flush=True)


if __name__ == "__main__":
    main()
