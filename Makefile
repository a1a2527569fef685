# Entry points for running, testing and measuring; `make help` lists them.

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
# Two stamps in one environment: what runs, and with tests, benchmarks and checks.
RUNNABLE := $(VENV)/installed-run
INSTALLED := $(VENV)/installed
# Checked first, so that a missing JDK is reported at once.
PACKAGES := PYTHON='$(PYTHON)' tools/system-packages
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile
COMPILE = $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: help setup run hbase hbase-cluster hbase-stop test format lint types imports house \
	tests tests-python tests-java system-java faults bench lock clean

help:
	@echo 'make run           the API on $(HOST):$(PORT), with a sample on first use; PORT, HOST, STORE override'
	@echo 'make hbase         a real HBase on this machine, and the table; also hbase-cluster, hbase-stop'
	@echo 'make test          every check: format, lint, types, imports, house, tests'
	@echo 'make tests-python  the tests that need neither a JDK nor Maven'
	@echo 'make house         the house rules in numbers'
	@echo 'make bench         the benchmarks; RUNS overrides the largest size'
	@echo 'make setup         .venv with everything, from requirements.lock'
	@echo 'make lock          requirements.lock and requirements-run.lock anew from setup.cfg'

setup: $(INSTALLED)

$(RUNNABLE): requirements-run.lock setup.cfg pyproject.toml
	@$(PACKAGES) python
	@echo 'Installing what runs into $(VENV): about 140 MB'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --require-hashes -r requirements-run.lock
	$(BIN)/pip install --no-deps --no-build-isolation --editable .
	@touch $@

$(INSTALLED): requirements.lock $(RUNNABLE)
	@echo 'Installing what tests and checks need into $(VENV): about 1.2 GB, which takes minutes'
	$(BIN)/pip install --require-hashes -r requirements.lock
	@touch $@

system-java:
	@$(PACKAGES) python java

run: $(RUNNABLE)
	@$(BIN)/fll sample --store '$(STORE)' --if-empty
	@echo "The command line is $(BIN)/fll; after '. $(BIN)/activate' it is fll. Ctrl-C stops the server."
	@exec $(BIN)/fll serve --store '$(STORE)' --host '$(HOST)' --port '$(PORT)'

hbase hbase-cluster: system-java $(RUNNABLE)
	@$(HBASE) start $(if $(findstring cluster,$@),cluster 2 2,standalone)
	@$(BIN)/fll table ddl --store "$$($(HBASE) url)" | $(HBASE) ddl --if-missing
	@echo "HBase runs until 'make hbase-stop'. Next: make run STORE=$$($(HBASE) url)"

hbase-stop:
	@$(HBASE) stop

test: system-java format lint types imports house tests

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

house: $(RUNNABLE)
	$(BIN)/python tools/house.py

tests: tests-python tests-java

# Coverage makes these several times slower, and what they execute the other tests execute, too.
UNCOVERED := tests/simulation tests/oracle tests/cases tests/faults

tests-python: setup
	$(PYTEST) -m 'not java' --cov --cov-report=term:skip-covered $(addprefix --ignore=,$(UNCOVERED))
	$(PYTEST) -m 'not java' $(UNCOVERED)

tests-java: system-java setup $(AGENT) $(KAFKA)
	$(HBASE) build
	$(PYTEST) -m java

$(AGENT): tests/spark_agent/pom.xml
	mvn -q -B -f $< package
	@touch $@

$(KAFKA): tests/kafka/pom.xml
	mvn -q -B -f $< package
	@touch $@

faults: system-java setup
	$(HBASE) build
	$(BIN)/python -m pytest tests/faults

bench: system-java setup
	$(HBASE) build
	$(BIN)/python -m bench --runs $(RUNS)

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet pip-tools
	$(COMPILE) --extra hbase --extra test --output-file requirements.lock setup.cfg
	$(COMPILE) --extra hbase --build-deps-for editable --constraint requirements.lock \
		--output-file requirements-run.lock setup.cfg

clean:
	rm -rf $(VENV) build *.egg-info
