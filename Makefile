# What there is to do: `make run`, `make test`, `make bench`.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8080
STORE ?= sqlite:///data/field_level_lineage.db
RUNS ?= 1000000
HBASE := docker/hbase/bin/hbase-local
AGENT := tests/spark_agent/target/fetched
KAFKA := tests/kafka/target/fetched

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
COMPILE = $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: help setup run hbase hbase-cluster hbase-stop test format lint types imports tests faults bench lock clean

help:
	@echo 'make setup   .venv with everything, from requirements.lock'
	@echo 'make run     the API on $(HOST):$(PORT), with a sample on first use; PORT, HOST, STORE override'
	@echo 'make hbase   a real HBase on this machine, and the table; also hbase-cluster, hbase-stop'
	@echo 'make test    every check: format, lint, types, imports, tests'
	@echo 'make bench   the benchmarks; RUNS overrides the largest size'
	@echo 'make lock    requirements.lock and requirements-run.lock anew from setup.cfg'

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

hbase hbase-cluster: setup
	@$(HBASE) start $(if $(findstring cluster,$@),cluster 2 2,standalone)
	@$(BIN)/fll table ddl --store "$$($(HBASE) url)" | $(HBASE) ddl --if-missing
	@echo "HBase runs until 'make hbase-stop'. Next: make run STORE=$$($(HBASE) url)"

hbase-stop:
	@$(HBASE) stop

test: format lint types imports tests

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

tests: setup $(AGENT) $(KAFKA)
	$(HBASE) build
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

$(AGENT): tests/spark_agent/pom.xml
	mvn -q -B -f $< package
	@touch $@

$(KAFKA): tests/kafka/pom.xml
	mvn -q -B -f $< package
	@touch $@

faults: setup
	$(HBASE) build
	$(BIN)/python -m pytest tests/faults

bench: setup
	$(HBASE) build
	$(BIN)/python -m bench --runs $(RUNS)

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet pip-tools
	$(COMPILE) --extra hbase --extra test --output-file requirements.lock setup.cfg
	$(COMPILE) --extra hbase --output-file requirements-run.lock setup.cfg

clean:
	rm -rf $(VENV) build *.egg-info
