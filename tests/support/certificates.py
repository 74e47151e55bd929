"""The programs of docs/proofs, whose finite computations the tests run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"


def certificate(name: str) -> Any:
    """One of those programs, as a module."""
    spec = importlib.util.spec_from_file_location(name, PROOFS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
