# make demo: set up and run the main job. make test: set up and run the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/*)

.PHONY: demo test test-all lint sanitize fuzz benchmark clean

demo: $(STAMP)
	@$(BIN)/python examples/quickstart.py

test: $(STAMP) lint
	$(BIN)/python -m pytest -m "not slow"

test-all: $(STAMP) lint
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(STAMP): $(SOURCES)
	@command -v $(PYTHON) >/dev/null || { echo "dpdistinct needs Python 3.11 or newer; install it (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dpdistinct needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || { echo "dpdistinct needs a C++20 compiler; install g++ (Debian: apt-get install g++) or set CXX"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "dpdistinct needs Python's venv module; install it (Debian: apt-get install python3-venv)"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[test]"
	@touch $@

clean:
	rm -rf build $(VENV) $(VENV)-sanitize
