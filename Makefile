# Every target sets up what it needs in .venv; a fresh clone needs one command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A stamp says that everything in the lock file of its name is installed.
RUNTIME := $(VENV)/requirements.ready
DEV := $(VENV)/requirements-dev.ready
WORKERS ?= 2
# Tests start some hundred processes: what Python compiled once is kept beside the source for the next.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-integration laws queries fuzz kills lint bench engines growth lighthouse docs lock clean
.NOTPARALLEL:

demo: $(RUNTIME)
	@$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --ignore tests/integration

# Whatever starts Spark, PostgreSQL or a browser, or kills processes; it skips what needs a program that is not there.
test-integration: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/integration

# The laws on examples that were not drawn before, and every algorithm with every model: run it often, it need not find
# the same twice.
laws: $(DEV)
	INDISTINCT_EXAMPLES=fresh $(BIN)/python -m pytest -n $(WORKERS) -q tests/laws tests/unit tests/common

# Bounds contain the truth: QUERIES fresh queries over every kind of release, in some minutes.
QUERIES ?= 10000
queries: $(DEV)
	INDISTINCT_EXAMPLES=fresh INDISTINCT_QUERIES=$(QUERIES) $(BIN)/python -m pytest -n $(WORKERS) -q tests/laws/test_queries.py

# Files that no run has seen: FUZZ of each kind are mutated and read, in some minutes.
FUZZ ?= 100
fuzz: $(DEV)
	INDISTINCT_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n $(WORKERS) -q tests/fuzz

# Releases of engines that are killed at KILLS random moments each; `make test-integration` tries a few.
KILLS ?= 50
kills: $(DEV)
	INDISTINCT_KILLS=$(KILLS) $(BIN)/python -m pytest -q tests/integration -k "killed"

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# `make bench engines` prints the figures of engines alone; other names of benchmarks go into WHAT.
WHAT ?= $(filter engines,$(MAKECMDGOALS))
bench: $(DEV)
	$(BIN)/python -m benchmarks $(WHAT)

engines: $(if $(filter bench,$(MAKECMDGOALS)),,bench)
	@:

# How the time of every algorithm grows on awkward tables; one to three hours.
growth: $(DEV)
	$(BIN)/python -m benchmarks growth-all

# Airbnb's Mondrian on Adult, whose figures `reproduce lighthouse` prints: it wants NumPy below 2, and so an environment of
# its own. Needs Python below 3.13, the network, and INDISTINCT_DATA.
lighthouse:
	$(PYTHON) -m venv .venv-lighthouse
	.venv-lighthouse/bin/python -m pip install --quiet project-lighthouse-anonymize==1.0.0
	.venv-lighthouse/bin/python benchmarks/lighthouse_child.py

docs: $(DEV)
	$(BIN)/python tools/reference_pages.py docs/reference

# The second lock file keeps to the versions of the first, because both are installed in one environment.
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --quiet pyproject.toml

lock: $(DEV)
	$(COMPILE) --extra report --group build --output-file requirements.lock
	$(COMPILE) --all-extras --group dev --constraint requirements.lock --output-file requirements-dev.lock

$(VENV)/%.ready: %.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement $<
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) .venv-lighthouse build dist demo-output .pytest_cache .ruff_cache .mypy_cache
