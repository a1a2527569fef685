# What there is to do: `make run`, `make test`, `make bench`.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8080
STORE ?= sqlite:///data/field_level_lineage.db
RUNS ?= 1000000

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: help setup run sample test format lint types imports tests bench lock clean

help:
	@echo 'make setup   .venv with everything, from requirements.lock'
	@echo 'make run     the API on $(HOST):$(PORT), with a sample on first use; PORT, HOST, STORE override'
	@echo 'make test    every check: format, lint, types, imports, tests'
	@echo 'make bench   the benchmarks; RUNS overrides the largest size'
	@echo 'make lock    requirements.lock anew from setup.cfg'

setup: $(INSTALLED)

$(INSTALLED): requirements.lock setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: setup
	@$(BIN)/fll sample --store '$(STORE)' --if-empty
	@echo 'Field lineage on http://$(HOST):$(PORT)/ - stop with Ctrl-C'
	@exec $(BIN)/fll serve --store '$(STORE)' --host '$(HOST)' --port '$(PORT)'

test: format lint types imports tests

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

tests: setup
	$(BIN)/python -m pytest --numprocesses 2

bench: setup
	$(BIN)/python -m bench --runs $(RUNS)

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --extra hbase --extra test --strip-extras --generate-hashes --allow-unsafe \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock setup.cfg

clean:
	rm -rf $(VENV) build *.egg-info
