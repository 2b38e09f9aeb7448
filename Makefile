# make run    set up .venv if needed, then run the laboratory; choose with ARGS="naive --size 4096x4096"
# make test   set up .venv if needed, then lint, type-check, check the floors and test, on two cores in some minutes
# make lint   only lint, type-check and check the floors: that imports point down
# make clean  remove .venv and everything that the tools left behind
#
# make test-all         make test, then the long tests, then make test-frameworks
# make test-frameworks  install PyTorch, JAX, OpenCV and MKL into .venv too, and run the tests that need them. That is
#                       a large download. TORCH=... is the requirement for pip, so that you can choose the build.
# make notebooks        run the notebooks of docs from top to bottom, and keep what they show
#
# PYTHON=python3.12 chooses the interpreter of .venv. An existing .venv must have been made from the same one.

PYTHON ?= python3
ARGS ?= --family handwritten --family textbook --family cute --family controls --size 1024x1024
TORCH ?= torch
BIN := .venv/bin
IDENTITY := 'import sys; print(sys.base_prefix, *sys.version_info)'

# Processes that share the tests: one per core, and no more than their setting up is worth.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal

.PHONY: run test test-all test-frameworks notebooks lint clean same-python

run: .venv/run.installed
	$(BIN)/cornerturn bench $(ARGS)

test: lint
	$(BIN)/pytest $(PARALLEL) -m 'not long'

test-all: test
	$(BIN)/pytest $(PARALLEL) -m long
	$(MAKE) test-frameworks

test-frameworks: .venv/frameworks.installed
	$(BIN)/pytest $(PARALLEL) tests/op/adapters tests/measure/test_peers_cpu.py tests/measure/test_peers_gpu.py

notebooks: .venv/test.installed
	$(BIN)/python docs/notebooks/execute.py

lint: .venv/test.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'error: $(PYTHON) is not Python 3.11 or newer: choose one with make PYTHON=...' >&2; exit 2; }
	$(PYTHON) -m venv .venv

# If PYTHON is given, an existing .venv of another interpreter is an error, not a reason to ignore PYTHON.
same-python:
ifneq ($(origin PYTHON),file)
	@command -v '$(PYTHON)' >/dev/null || { echo 'error: $(PYTHON) is not found: choose another PYTHON' >&2; exit 2; }
	@test ! -x $(BIN)/python || \
		test "$$($(BIN)/python -c $(IDENTITY))" = "$$($(PYTHON) -c $(IDENTITY))" || \
		{ echo 'error: .venv was not made from $(PYTHON): make clean first, or omit PYTHON' >&2; exit 2; }
endif

# pip runs again whenever pyproject.toml is newer than the stamp.
.venv/run.installed: pyproject.toml | same-python .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[gpu,cute]'
	@touch $@

.venv/test.installed: pyproject.toml | same-python .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[gpu,cute,plot,test]'
	@touch $@

.venv/frameworks.installed: .venv/test.installed | same-python
	$(BIN)/python -m pip install --quiet --editable '.[compare]' '$(TORCH)'
	@touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
