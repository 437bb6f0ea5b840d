# Every target sets up what it needs in .venv; a fresh clone needs one command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test lint bench docs lock clean

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) -q

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python -m indistinct.documentation docs/reference

lock:
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --quiet pyproject.toml --all-extras --group dev --output-file requirements-dev.lock

$(READY): pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .ruff_cache .mypy_cache
