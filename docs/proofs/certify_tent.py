"""The finite computations of tent.md: cases N and F of its claim 5, and the sum of its claim 6.

Boxes cover all values; in each box every quantity has the value of its unfavourable end. Doubles
are wrong by less than 10^-13, relatively; whatever has to be large is multiplied by DOWN and whatever
has to be small by UP, which is far more.

    python docs/proofs/certify_tent.py
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpdistinct.mechanisms.tent import BACK, CAP, CHAINS, FAR, NEAR, ROUNDED, far_threshold, full_chain
from dpdistinct.question.parameters import MAX_BOUND

Floats = NDArray[np.float64]
UP, DOWN = 1 + 1e-9, 1 - 1e-9
EXACT = 9  # so many candidates below are taken one by one, those further down by a geometric sum
MOST = 1 / 15  # of mu, by the far rule: four steps of a factor of two or more
LARGEST = 6  # more than max_bound is ever over the candidate below it


def grown(u: Floats | float) -> Floats:
    """F(u, 0): e^u up to 0, then 1 + u."""
    return np.exp(np.minimum(u, 0)) + np.maximum(u, 0)


# Claim 5, case N: n is paid for by the candidate before it, by the near rule.


def ratios(n_is_last: bool) -> set[tuple[float, ...]]:
    """For every chain and n, l_n / l_j for j = n - 1, n - 2, ...; or, if n is the last candidate and may
    lie anywhere, l_(n - 1) / l_j. Those beyond EXACT + 1 are at least twice the one before, each.
    """
    found = set()
    for offset in range(CHAINS):
        chain = full_chain(offset)
        for n in range(1, len(chain)):
            top = chain[n - 1] if n_is_last else chain[n]
            found.add(tuple(top / chain[j] for j in reversed(range(n)))[: EXACT + 1])
    return found


class NearCase:
    """The inequalities of tent.md, 4, in boxes of h and alpha, for one n."""

    def __init__(
        self, below: tuple[float, ...], q: tuple[float, float] = (1, 1), *, near: float, last: bool
    ) -> None:
        """`below` times q, a range, are the ratios l_n / l_j. last: nothing lies above n."""
        self.near, self.last = near, last
        self.low, self.high = (np.array(below[:EXACT]) * end for end in q)
        self.more = len(below) > EXACT
        self.mu = 1 / (self.high[0] - 1) * DOWN, 1 / (self.low[0] - 1) * UP

    def margins(self, h_cells: int, alpha_cells: int) -> Floats:
        """The largest left - right of "base", "far" and (N-b). None may be positive."""
        near, mu1, mu2 = self.near, *self.mu
        ends = np.arange(h_cells + 1)[:, None] * (near / h_cells)
        h1, h2 = ends[:-1] * DOWN, ends[1:] * UP
        z1, z2 = np.maximum(0, near - h2) * DOWN, (near - h1) * UP
        g = grown(near - h2 * self.high[0]) * DOWN  # alpha is at least this
        most = mu2 * z2 + (0 if self.last else 3 * MOST * near * UP)  # beyond, S does not fall: D <= 0
        parts = np.arange(alpha_cells + 1) / alpha_cells
        alpha = g + np.maximum(most - g, 0) * parts
        a1, a2 = alpha[:, :-1] * DOWN, alpha[:, 1:] * UP
        a = self.high[0] * a2 * UP
        for low, high in zip(self.low[1:], self.high[1:], strict=True):
            a += (high - self.high[0]) * np.minimum(a2 - g, np.exp(near - h1 * low) * UP) * UP
        if self.more:  # where h y > 2 each is below 2 e^-2 of the one before, and all below twice the first
            y1, y2 = 2 * self.low[-1], 2 * self.high[-1]
            a += np.where(h1 * y1 > 2, 2 * y2 * np.exp(near - h1 * y1) * UP, math.inf)
        fall, rest = mu2 * z2 - a1, 2 * MOST * (a + 1) * UP - (1 + mu1) * DOWN
        base = 2 * fall * (a + 1) * UP - (1 + mu1) * (a1 + 1 + z1) * DOWN
        t = np.maximum(0, (2 * mu2 * z2 - 1 - z2) / (1 + z2)) * UP
        found = []
        for inequality, needed in ((base, fall > 0), (rest + t, fall > 0), (rest, a2 >= mu1 * z1)):
            left = inequality[needed & (g < most)]
            assert not np.isnan(left).any()
            found.append(left.max(initial=-math.inf))
        return np.array([found[0], -math.inf, -math.inf] if self.last else found)


def near_margins(near: float = float(NEAR), *, cells: tuple[int, int] = (400, 200)) -> Floats:
    """The worst over all chains and n below the last."""
    return np.max([NearCase(y, near=near, last=False).margins(*cells) for y in ratios(False)], axis=0)


def last_margin(
    near: float = float(NEAR), *, step: float = 0.05, cells: tuple[int, int] = (100, 50)
) -> float:
    """The worst of "base" for the last candidate, which may be any max_bound: q from 2 to LARGEST."""
    worst = -math.inf
    for below in ratios(True):
        for q in np.arange(2, LARGEST, step):
            case = NearCase(below, (q, q + step), near=near, last=True)
            worst = max(worst, float(case.margins(*cells)[0]))
    return worst


# Claim 5, case F: by the far rule alone.


def far_shares() -> tuple[float, float]:
    """The shares of S that S' and S_P need (tent.md, 5, step 5). Both must be below 1.

    a_t of step 4 is over b; l_k may be less than twice what it is in the chain, if it is the last.
    """
    most = max(float(far_threshold(bound)) for bound in (MAX_BOUND, *full_chain(0))) * UP
    below = 0.0
    for offset in range(CHAINS):
        chain = full_chain(offset)
        for k in range(BACK + 1, len(chain)):
            rho, q = float(far_threshold(chain[k])) * DOWN, 2 * chain[k] / chain[k - BACK] * UP
            below = max(below, sum(2**t * q * math.exp(-(2**t - 1) * rho) for t in range(1, k)) * UP)
    return (most / 2 + 2 * (1 + below)) * MOST * UP, most * MOST * UP


# Claim 6: the sum at the truth.


def summed(u: Floats | float, v: Floats | float) -> Floats:
    """F(u, v): e^u up to v, then e^v (1 + u - v)."""
    return np.exp(np.minimum(u, v)) * (1 + np.maximum(np.subtract(u, v), 0))


def coverage(near: float = float(NEAR), *, step: float = 0.0025, split: float = 0.1) -> float:
    """A bound of S(N) for every concave non-decreasing curve.

    rest[i] bounds the sum from U = -i step downwards. Slopes v lie in [j step, (j + 1) step). For v >= near
    the first term is e^U, whatever v is, and the rest falls in v; so v <= near + step is enough.
    """
    deep = 40.0  # W(-40) <= 2 e^-40 < 10^-15
    n, first = round(deep / step), round(split / step)
    v = np.arange(math.ceil(near / step) + 2) * step
    j = np.arange(len(v))
    rest = np.full(n + 1, 1e-15)
    for i in range(n, 0, -1):
        below = rest[np.minimum(2 * i + j, n)]
        rest[i] = (summed(-i * step, v + step - near) + below).max() * UP
    # k + 1, ..., 31 above p: at least 2^k, so the threshold is at least this.
    far = [float(FAR) + k * math.log(2) / 2 - 1 / ROUNDED for k in range(MAX_BOUND.bit_length())]
    most = float((summed(0, v[first:] + step - near) + rest[np.minimum(j[first:], n)]).max())  # p is last
    for at in range(first):
        nu, u = (at + 1) * step, -at * step
        above = (BACK - 1) * float(summed(0, nu - near))
        beyond = [float(summed(0, nu - rho)) for rho in far]
        at_p = (summed(u, v[first:] + step - near) + rest[np.minimum(2 * at + j[first:], n)]).max()
        most = max(most, at_p + above + sum(beyond[BACK + 1 :]), math.exp(u) + above + sum(beyond[BACK:]))
    return most * UP


def main() -> None:
    base, beside, beyond = near_margins()
    print(f"claim 5, case N: left - right at most {base:.3f} (base), {beside:.3f} (far), {beyond:.3f} (N-b)")
    print(f"the same for the last candidate, anywhere: {last_margin():.3f} (base)")
    print("claim 5, case F: shares {:.3f} of S' and {:.3f} of S_P".format(*far_shares()))
    print(f"claim 6: the sum at the truth is at most {coverage():.5f}; {float(CAP)} is allowed")


if __name__ == "__main__":
    main()
