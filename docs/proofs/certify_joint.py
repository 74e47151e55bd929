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

from dpdistinct.mechanisms.joint import (
    COVERAGE,
    JOINT_COST,
    JOINT_HEAD_START,
    JOINT_PRIOR,
    JOINT_REACH,
    JOINT_SHARE,
    JOINT_STRETCH,
    OFFSETS,
    full_grid,
)

Floats = NDArray[np.float64]

THETA, ETA, REACH = float(JOINT_SHARE), float(JOINT_PRIOR), float(JOINT_REACH)
COST, HEAD = float(JOINT_COST), float(JOINT_HEAD_START * JOINT_COST)
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
    after_up: Floats  # the upper end of the candidate after each of `up`
    after_last: Floats
    after_down: Floats  # of the candidate after each of `down`; the first is k itself


def surroundings() -> list[Surroundings]:
    """Every k of every grid up to LARGE, and one for all beyond."""
    found = []
    for offset in range(OFFSETS):
        grid = np.array(full_grid(offset), dtype=float)
        for i, k in enumerate(grid):
            if k < LARGE:
                up, down = grid[i + 1 :] / k, (k / grid[:i])[::-1]
                found.append(_surroundings(up, up, down, down))
    ratio = 1.75 ** np.arange(1, 28)  # up to 2^31 and beyond
    # Both bounds are rounded, by a half at most; those below k are smaller, so it is more to them. The first
    # few of a grid follow no ratio, and lie within a factor of 2.2 of one.
    above, below = (1 + 1 / ratio) / (2 * LARGE), np.minimum((1 + ratio) / (2 * LARGE), 0.6)
    up = ratio * (1 - 1.01 * above), ratio * (1 + 1.01 * above)
    down = ratio * (1 - below), ratio * (1 + 2 * below)
    found.append(_surroundings(*up, *down))
    return found


def _surroundings(up_low: Floats, up_high: Floats, down_low: Floats, down_high: Floats) -> Surroundings:
    near = up_low < FAR
    up_low, up_high = up_low[near], up_high[near]
    share = np.arange(PIECES + 1) / PIECES
    begin, end = up_low, np.append(up_high[1:], up_high[-1] * 1.76)
    cuts = begin[:, None] * (end / begin)[:, None] ** share
    last = (cuts[:, :-1].ravel(), cuts[:, 1:].ravel() * (1 + 1e-12))
    return Surroundings(
        (up_low, up_high),
        last,
        (down_low[:30], down_high[:30]),
        after_up=end,
        after_last=np.repeat(end, PIECES),
        after_down=1 / np.append(1.0, down_low)[: len(down_low[:30])],
    )


class Certificate:
    """The inequality of section 5 for one aim and one kappa."""

    def __init__(self, stretch: float, kappa: float) -> None:
        self.stretch, self.kappa = stretch, kappa

    def start(self, ratio: Floats) -> Floats:
        """The head start, in units of 1 / epsilon."""
        return HEAD * np.maximum(0, 1 - (ratio - 1) / (REACH - 1))

    def slack(self, g: Floats, ratio: Floats, after: Floats) -> Floats:
        """The least s of a candidate at this ratio, whose count is at most that of the one after it."""
        at = after if self.stretch > 1 else ratio
        return np.maximum(0, g[:, None] - COST * (at - 1)) / (self.stretch * ratio)

    def lead_of_k(self, at: Surroundings) -> float:
        """No lead over a candidate above k is larger: a non-decreasing curve loses at most the cost."""
        low, high = at.last
        return float((COST * (1 - 1 / high) + self.start(low)).max())

    def above(
        self, r: tuple[Floats, Floats], after: Floats, g: tuple[Floats, Floats], b: Floats, x: Floats
    ) -> Floats:
        """What candidates above k add, for drops of at least b beside d, and others of weight x."""
        low, high = r
        d = np.maximum(0, COST - (COST + g[1][:, None]) / low)
        s = self.slack(g[0], high, after)
        return self.term(s, -ETA * np.log(low) - THETA / 2 * (d + b), 1 + x[:, None])

    def term(self, s: Floats, log_weight: Floats, others: Floats) -> Floats:
        """What a candidate adds that has this slack, and this weight beside others."""
        y = THETA * (self.kappa + s) + log_weight
        return np.exp(-s) / (1 + others * np.exp(np.clip(-y, -600, 600)))

    def whole(
        self, at: Surroundings, g: tuple[Floats, Floats], drop: object, ahead: Floats, x: Floats
    ) -> Floats:
        """The sum over all candidates; the worst place of the last one.

        `ahead` is how far the leads of those below k may exceed that of k.
        """
        s = self.slack(g[0], np.ones(1), at.up[1][:1])
        own = self.term(s, np.zeros(1), x[:, None])[:, 0]
        s = self.slack(g[0], 1 / at.down[0], at.after_down)
        below = self.term(s, ETA * np.log(at.down[1]) + THETA / 2 * ahead, np.ones(1)).sum(axis=1)
        above = self.above(at.up, at.after_up, g, drop(at.up), x)  # type: ignore[operator]
        last = self.above(at.last, at.after_last, g, drop(at.last), x)  # type: ignore[operator]
        last = last.reshape(len(last), -1, PIECES).max(axis=2)
        before = np.cumsum(above, axis=1) - above
        most = np.maximum((before + last).max(axis=1), above.sum(axis=1))
        return ROUNDING * (own + most + below)

    def led_from_above(self, at: Surroundings, boxes: Floats) -> Floats:
        """The bound when the closest competitor of k has a larger bound. Rows of boxes: g from, to."""
        g = boxes[:, 0], boxes[:, 1]
        low, high = at.last
        d = np.maximum(0, COST - (COST + g[1][:, None]) / low)
        v = (d + self.start(high)).min(axis=1)[:, None]
        return self.whole(at, g, lambda r: v - self.start(r[0]), np.zeros(1), np.zeros(len(boxes)))

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
        d = np.maximum(0, COST - (COST + g[1][:, None]) / r)
        least = np.minimum(0, (d - behind / r).min(axis=1))[:, None]
        allowed = np.arange(len(at.down[0])) <= j if start > 0 else np.full(len(at.down[0]), True)
        lead = np.minimum(least, self.start(at.down[1][allowed]) - behind)
        x = np.exp(ETA * np.log(at.down[0][allowed]) + THETA / 2 * (lead - v[1])).min(axis=1)
        rho = at.down[1]
        led = v[0] - self.start(at.down[0])
        ahead = -led - np.maximum(0, led)
        around = behind * rho + self.start(low / rho) - v[0]
        ahead = np.where(np.arange(len(rho)) < j, np.minimum(ahead, around), ahead)
        return self.whole(at, g, drop, ahead, x)

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
            certificate = Certificate(float(JOINT_STRETCH[aim]), float(kappa))
            if find:
                print(aim, kappa, round(max(certificate.value(at) for at in places) * 1.005, 4), flush=True)
            else:
                held = all(certificate.holds(at, float(s)) for at in places)
                print(f"{aim}: S({kappa}) <= {s}: {'holds' if held else 'NOT SHOWN'}", flush=True)


if __name__ == "__main__":
    main()
