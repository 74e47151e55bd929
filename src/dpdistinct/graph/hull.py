"""The upper concave hull of points with integer coordinates."""

from __future__ import annotations

from collections.abc import Sequence


def upper_hull(x: Sequence[int], y: Sequence[int]) -> list[int]:
    """The indices of the corners of the upper concave hull of points with increasing x."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) > (y[i] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull
