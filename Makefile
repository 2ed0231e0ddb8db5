# Two commands for a newcomer: `make audit` and `make test`. The environment lives in .venv and is made once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: audit test test-slow check docs notebooks bench clean

audit: $(VENV)/.installed
	$(BIN)/audit lira --method dm --shadows 256

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m "not slow"

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m slow

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site in build/site: warnings are errors, and every internal link is checked.
docs: $(VENV)/.installed-docs
	PYTHONPATH=.:docs $(BIN)/python -m generate.assemble build/docs
	PYTHONPATH=. $(BIN)/python -m sphinx -q -W --keep-going -E -b html build/docs build/site
	PYTHONPATH=docs $(BIN)/python -m generate.check_links build/site

# Executes the notebooks in docs/notebooks and stores their outputs in them.
notebooks: $(VENV)/.installed-dev
	PYTHONPATH=.:docs $(BIN)/python -m generate.execute_notebooks

bench: $(VENV)/.installed-dev
	$(BIN)/python tests/bench.py
	PYTHONPATH=. $(BIN)/python tests/bench_condensers.py dsa
	PYTHONPATH=. $(BIN)/python tests/bench_kip.py

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make an environment; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 2; }
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable ".[dev,ray]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable ".[docs]"
	@touch $@

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
