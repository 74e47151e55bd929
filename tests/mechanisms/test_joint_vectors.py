"""The largest share for a vector of counts (docs/proofs/joint.md, 6), in integers."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import comb, lcm

import pytest

LARGEST = {1: 828, 2: 703, 3: 618, 5: 507, 10: 356, 20: 236, 50: 121, 100: 67}  # thousandths, by groups


def is_positive(p: list[int]) -> bool:
    """Whether a polynomial is at least 0 on [0, 1]: by its Bernstein coefficients, on halves of halves."""
    n = len(p) - 1
    common = lcm(*(comb(n, i) for i in range(n + 1)))
    todo = [
        [sum(comb(n - k, i - k) * p[k] for k in range(i + 1)) * (common // comb(n, i)) for i in range(n + 1)]
    ]
    while todo:
        row = todo.pop()
        if min(row) >= 0:
            continue
        if row[0] < 0 or row[-1] < 0:  # the values at the ends
            return False
        left, right = [], []
        for k in range(n + 1):  # de Casteljau, times 2^n
            left.append(row[0] << (n - k))
            right.append(row[-1] << (n - k))
            row = [x + y for x, y in pairwise(row)]
        todo += [left, right[::-1]]
    return True


def is_private(m: int, thousandths: int) -> bool:
    """The two conditions of claim 4 for this share, as polynomials in g = G(u): g' = g (1 - g)."""

    def step(p: list[int]) -> list[int]:
        """1000 (1 - theta d/du) p."""
        after = [1000 * c for c in p] + [0]
        for k, c in enumerate(p):
            after[k] -= thousandths * k * c
            after[k + 1] += thousandths * k * c
        return after

    one, other = [0, 1], [0, 1, -1]
    for _ in range(m):
        one, other = step(one), step(other)
    divided = list(accumulate(other[1:]))  # by g and by 1 - g, which are positive
    assert divided.pop() == 0
    return is_positive(step(one)[1:]) and is_positive(divided)


@pytest.mark.parametrize("m", LARGEST)
def test_the_largest_share_of_a_vector_is_the_one_of_the_proof(m: int) -> None:
    assert is_private(m, LARGEST[m])
    assert not is_private(m, LARGEST[m] + 1)
    assert is_private(m, LARGEST[m] // 2)  # a smaller one is private, too
