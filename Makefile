# Every target sets up what it needs in .venv; a fresh clone needs one command.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles the modules that are used when they are used, which takes less than compiling all.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# A stamp says that everything in the lock file of its name is installed.
RUNTIME := $(VENV)/requirements.ready
DEV := $(VENV)/requirements-dev.ready
DOCS := $(VENV)/requirements-docs.ready
PACKAGING := $(VENV)/requirements-packaging.ready
WORKERS ?= 2
LONGER := tests/integration tests/papers tests/cli/test_walk_through.py
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/indistinct/__init__.py)
# Tests start some hundred processes: what Python compiled once is kept beside the source for the next.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-integration test-dbt laws queries fuzz kills lint bench engines growth lighthouse sdnist kernels wheel check-wheel sbom attach-sbom check-files image check-image docs site lock clean
.NOTPARALLEL:

demo: $(RUNTIME)
	@$(BIN)/python examples/demo.py

# What builds the site and checks the files for GitHub is tested too, so that nothing is skipped that can be installed.
test: lint $(DOCS) $(PACKAGING)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q $(addprefix --ignore=,$(LONGER))

# Whatever starts Spark, PostgreSQL or a browser, or kills processes, and published figures; it skips what needs a
# program that is not there.
test-integration: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q $(LONGER)

# The tests that `indistinct dbt` writes, run by dbt itself on DuckDB, from an environment of its own.
test-dbt: $(DEV) .venv-dbt/ready
	$(BIN)/python -m pytest -q tests/integration/test_dbt.py

# The lock file names all that dbt needs; pip alone would want an extra pinned that the lock file has resolved.
.venv-dbt/ready: requirements-dbt.lock
	$(PYTHON) -m venv .venv-dbt
	.venv-dbt/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement $<
	@touch $@

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

# Kernels for every processor of this platform, for this Python and this Numba: what a wheel carries.
KERNELS := build/kernels
kernels: $(RUNTIME)
	rm -rf $(KERNELS)
	mkdir -p $(KERNELS)
	NUMBA_CACHE_DIR=$(KERNELS) NUMBA_CPU_NAME=generic $(BIN)/indistinct warm-up

# dist/ gets two wheels of indistinct: one with kernels, for this platform and Python, and one without, which compiles
# them; and one of indistinct-papers.
wheel: kernels
	rm -rf dist
	$(BIN)/python -m hatchling build -t sdist -t wheel
	INDISTINCT_KERNELS=$(KERNELS)/indistinct $(BIN)/python -m hatchling build -t wheel
	cd papers && $(CURDIR)/$(BIN)/python -m hatchling build -t sdist -t wheel -d $(CURDIR)/dist

# Airbnb's Mondrian on Adult, whose figures `reproduce lighthouse` prints: it wants NumPy below 2, and so an environment of
# its own. Needs Python below 3.13, the network, and INDISTINCT_DATA.
lighthouse:
	$(PYTHON) -m venv .venv-lighthouse
	.venv-lighthouse/bin/python -m pip install --quiet project-lighthouse-anonymize==1.0.0
	.venv-lighthouse/bin/python benchmarks/lighthouse_child.py

# NIST's own scores of our releases of its excerpts, which `reproduce nist-crc` prints: sdnist pins old libraries, and so
# an environment of its own. Needs Python below 3.12, the network, and INDISTINCT_DATA.
sdnist: $(RUNTIME)
	$(PYTHON) -m venv .venv-sdnist
	.venv-sdnist/bin/python -m pip install --quiet --disable-pip-version-check sdnist==2.4
	.venv-sdnist/bin/python -W ignore benchmarks/sdnist_child.py $(BIN)/indistinct

docs: $(DEV)
	$(BIN)/python -m tools.reference_pages docs/reference

# Each lock file keeps to the versions of those above it, because all are installed in one environment.
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --quiet pyproject.toml

# What the image has beyond the package: Spark, which needs Java, and what is for developers alone are not in it.
IMAGE := cloud duckdb excel lake postgres stats web

lock: $(DEV)
	$(COMPILE) --extra report --group build --output-file requirements.lock
	$(COMPILE) --all-extras --group dev --constraint requirements.lock --output-file requirements-dev.lock
	$(COMPILE) $(IMAGE:%=--extra %) --constraint requirements-dev.lock --output-file requirements-image.lock
	$(COMPILE) --group docs --constraint requirements-dev.lock --output-file requirements-docs.lock
	$(COMPILE) --group packaging --constraint requirements-dev.lock --output-file requirements-packaging.lock
	$(filter-out pyproject.toml,$(COMPILE)) --group dbt --output-file requirements-dbt.lock

# The wheel with kernels is installed into a fresh environment, and its first release compiles nothing.
check-wheel:
	$(PYTHON) tools/check_wheel.py $$(ls dist/*-cp*.whl)

# The documentation as a site in site/: every link leads on, nothing comes from another host.
SITE := build/site
site: $(DOCS) docs
	$(BIN)/python tools/site_pages.py $(SITE)
	cd $(SITE) && $(CURDIR)/$(BIN)/zensical build --strict
	$(BIN)/python tools/site_pages.py $(SITE) --finish

# What is in the package and what it needs, with hashes and licences, as CycloneDX.
sbom: $(PACKAGING)
	mkdir -p build dist
	sed 's/^dynamic = .*/version = "$(VERSION)"/' pyproject.toml > build/pyproject.toml
	$(BIN)/cyclonedx-py requirements requirements.lock --pyproject build/pyproject.toml --mc-type library \
		--output-reproducible --output-file dist/indistinct.cdx.json
	$(BIN)/python tools/sbom_licences.py dist/indistinct.cdx.json

# The workflow of a release puts the list of components beside its source; it says which TAG.
attach-sbom:
	gh release upload "$$TAG" build/sbom/indistinct.cdx.json

# Workflows, templates and the other files for GitHub, by their schemas.
CHECK := $(BIN)/check-jsonschema --builtin-schema
check-files: $(PACKAGING)
	$(CHECK) vendor.github-workflows .github/workflows/*.yml
	$(CHECK) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/wish.yml
	$(CHECK) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(CHECK) vendor.dependabot .github/dependabot.yml
	$(CHECK) vendor.citation-file-format CITATION.cff

image:
	docker build --tag indistinct .

# The image runs once as its documentation says, as a user that it does not know, without a network.
check-image:
	rm -rf build/image && mkdir -p build/image
	docker run --rm --network none --user "$$(id -u):$$(id -g)" --volume "$(CURDIR)/build/image:/data" indistinct \
		generate patients --rows 500 --seed 1 --output patients.csv
	docker run --rm --network none --user "$$(id -u):$$(id -g)" --volume "$(CURDIR)/build/image:/data" indistinct \
		anonymize patients.csv --identifier name,cost --quasi age,sex,zipcode,admitted --sensitive disease \
		--model k-anonymity:k=5 --output release.csv
	test -s build/image/release.csv.certificate.json

$(VENV)/%.ready: %.lock pyproject.toml papers/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement $<
	$(PIP) --no-deps --no-build-isolation --editable . --editable papers
	@touch $@

clean:
	rm -rf $(VENV) .venv-dbt .venv-lighthouse .venv-sdnist build dist site demo-output .pytest_cache .ruff_cache .mypy_cache
