# make run    set up .venv if need be, then run the laboratory; choose with ARGS="naive --size 4096x4096"
# make test   set up .venv if need be, then lint, type-check and test
# make lint   only lint and type-check
# make clean  remove .venv and everything that tools left behind
#
# PYTHON=python3.12 chooses the interpreter that .venv is made from.

PYTHON ?= python3
ARGS ?= --family handwritten --family textbook --family cute --family controls --size 1024x1024
BIN := .venv/bin

.PHONY: run test lint clean

run: .venv/run.installed
	$(BIN)/cornerturn bench $(ARGS)

test: lint
	$(BIN)/pytest

lint: .venv/test.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'error: $(PYTHON) is not Python 3.11 or newer: choose one with make PYTHON=...' >&2; exit 2; }
	$(PYTHON) -m venv .venv

# A stamp is newer than pyproject.toml, or pip runs again.
.venv/run.installed: pyproject.toml | .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[gpu,cute]'
	@touch $@

.venv/test.installed: pyproject.toml | .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[gpu,cute,plot,test]'
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
