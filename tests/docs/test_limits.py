"""The linear program of benchmarks/limits.py gives what is known by hand."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("limits")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_two_tables_are_answered_best_by_randomized_response(limits: Any, epsilon: float) -> None:
    found = limits.least_worst_ratio(np.array([0.0, 10.0]), np.array([10.0, 10.0]), math.exp(epsilon))
    assert found == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-6)


def test_no_more_is_claimed_than_a_mechanism_reaches(limits: Any) -> None:
    # The geometric mechanism on 0, 1, ..., 8, rounded to the ends, is one of those that are bounded.
    truths, epsilon = np.arange(9.0), 0.7
    noise = np.arange(-200, 201)
    a = math.exp(-epsilon)
    law = (1 - a) / (1 + a) * a ** np.abs(noise)
    errors = np.array([law @ np.abs(np.clip(t + noise, 0, 8) - t) for t in truths])
    found = limits.least_worst_ratio(truths, errors, math.exp(epsilon))
    assert 0.5 < found <= 1 + 1e-9
