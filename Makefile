# `make lab` opens the notebooks. `make quick` runs some tests, `make test` those of every commit, `make test-all` also
# the nightly ones. All set up `.venv` first.
PYTHON ?= python3
BIN := .venv/bin

# The tests to run after a change of an exercise, a mistake, a sentence or a picture.
QUICK := cards checking exercises explained messages pictures learner/test_check.py test_architecture.py \
	test_docstrings.py test_measure.py

# Whole files, so that their courses and engines are made once; the longest begin first.
WORKERS := --numprocesses=4 --dist=loadfile --no-loadscope-reorder

# Torch's threads of four workers wait for each other on two cores: four gates side by side take 59 s with two threads
# each, 50 s with one.
pytest pytest-all quick: export OMP_NUM_THREADS = 1

# Nightly tests are slow, and each has a faster twin here: see CONTRIBUTING.md.
EVERY_COMMIT := -m "not nightly"

.PHONY: install lab lint test test-all mypy pytest pytest-all quick release screenshots site versions wheel

install: .venv/installed

# Only when what is to be installed has changed. The constraints name the versions that were tested.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --upgrade pip  # finds packages in 10 s, not 30
	@echo 'Installing about 2 GB: some minutes.'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -qq -j 0 -x /tests/ $(dir $(BIN))lib autograder || true  # some packages hold broken files
	@touch $@

# LANGUAGE in the environment belongs to gettext: only the one on make's command line chooses.
lab: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/autograder lab --language $(if $(filter command line,$(origin LANGUAGE)),$(LANGUAGE),en)

test: lint
	$(MAKE) --jobs=2 mypy pytest

test-all: lint
	$(MAKE) --jobs=2 mypy pytest-all

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy: install
	$(BIN)/mypy

pytest: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(WORKERS) $(EVERY_COMMIT)

pytest-all: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(WORKERS)

# Ten minutes and 6 GB of disk for each pair of versions. Only some: make versions PAIRS="2.14 3.13"
versions:
	$(PYTHON) benchmarks/versions.py $(PAIRS) > benchmarks/versions.new
	mv benchmarks/versions.new benchmarks/versions.md

quick: install
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(WORKERS) $(EVERY_COMMIT) $(QUICK:%=tests/%)

# The package with the course in it, into the folder `dist`.
wheel: install
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir dist .

# Packages and notes of a version, into `dist/release`: make release TAG=v0.1.0. Needs no torch.
release:
	$(PYTHON) -m venv dist/.venv
	dist/.venv/bin/pip install --disable-pip-version-check --quiet --constraint constraints.txt hatchling
	test "$(TAG)" = "v$$(dist/.venv/bin/hatchling version)"
	dist/.venv/bin/hatchling build --directory dist/release/packages
	$(PYTHON) -c 'from autograder.site.publishing.changes import release_notes as notes; print(notes("$(TAG:v%=%)"))' > dist/release/notes.md

# The course as a static site, into the folder `dist/site`. Some minutes; seconds where nothing has changed. Options of
# `autograder site` are in SITE.
site: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/autograder site dist/site $(SITE)

# The screenshots of both READMEs. Needs Chromium.
screenshots: install
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python assets/record_screenshots.py
