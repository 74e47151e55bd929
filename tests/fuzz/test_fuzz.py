"""A short run of the fuzzer; `make fuzz` runs it for minutes."""

from __future__ import annotations

import pytest

from fuzz_core import SLOW_TARGETS, TARGETS, fuzz


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_and_malformed_tables_end_in_the_right_curve_or_a_documented_error(seed: int) -> None:
    outcomes = fuzz(iter(range(600)), seed)
    reached = {outcome.split(":")[0] for outcome in outcomes}
    assert reached == {target.__name__ for target in TARGETS + SLOW_TARGETS}
    # Nothing is only ever refused, or only ever accepted.
    assert sum(count for outcome, count in outcomes.items() if outcome.endswith("right")) > 200
    assert sum(count for outcome, count in outcomes.items() if outcome.endswith("Error")) > 100
