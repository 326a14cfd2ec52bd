# `make demo` and `make test` set up .venv by themselves; python3 and make are all they need.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test hostile lint type docs bench clean

demo: .venv/core
	$(BIN)/prudent demo --out demo-output

test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

hostile: .venv/dev
	$(BIN)/python -m tests.hostile.run

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

type: .venv/dev
	$(BIN)/basedpyright

docs: .venv/dev
	$(BIN)/python -m docs.case
	$(BIN)/python -m docs.build
	$(BIN)/python -m docs.site
	$(BIN)/python -m pytest tests/test_docs.py tests/test_site.py tests/test_tutorial.py

bench: .venv/dev
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.attention
	$(BIN)/python -m benchmarks.dosing
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.doubt
	$(BIN)/python -m benchmarks.frontier
	$(BIN)/python -m benchmarks.measuring
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.web

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,experiments]"
	touch $@

clean:
	rm -rf .venv demo-output docs/_site .pytest_cache .ruff_cache
