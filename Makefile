# Entry points for running, testing and measuring; `make help` lists them.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8080
STORE ?= sqlite:///data/field_level_lineage.db
RUNS ?= 1000000
HBASE := docker/hbase/bin/hbase-local
AGENT := tests/spark_agent/target/fetched
KAFKA := tests/kafka/target/fetched
GENERATOR := tests/openapi_generator/target/fetched
# The oldest Spark that the jobs support, in an environment of its own.
SPARK35 := .venv-spark35
LAKE := tests/lake/target/fetched

VENV := .venv
BIN := $(VENV)/bin
# Two stamps in one environment: what runs, and with tests, benchmarks and checks.
RUNNABLE := $(VENV)/installed-run
INSTALLED := $(VENV)/installed
# Checked first, so that a missing JDK is reported at once.
PACKAGES := PYTHON='$(PYTHON)' tools/system-packages
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile
# A lock file names every package, so pip resolves nothing; the pip of Python 3.11 would compare a
# dependency with an extra, as coverage[toml], with the newest release instead of the locked one.
LOCKED := --no-deps --require-hashes
COMPILE = $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

# The registry that npm is configured for; the lock file names none.
NPM := npm --prefix page

.PHONY: help setup run page page-dev pictures hbase hbase-cluster hbase-stop test format lint types imports house \
	tests tests-python tests-java tests-page tests-servers spark35 system-java system-node system-page system-servers \
	capture-matrix clients faults bench lock clean

help:
	@echo 'make run           the API on $(HOST):$(PORT), with a sample on first use, renewed daily; PORT, HOST, STORE override'
	@echo 'make hbase         a real HBase on this machine, and the table; also hbase-cluster, hbase-stop'
	@echo 'make page          builds the web page from page/ into api/page (needs Node 20)'
	@echo 'make page-dev      serves it with reload at http://127.0.0.1:5173; API=http://127.0.0.1:$(PORT) is what it asks'
	@echo 'make test          every check: format, lint, types, imports, house, tests'
	@echo 'make tests-python  the tests that need neither a JDK nor Maven nor a browser nor other servers'
	@echo 'make tests-page    the page: types, units, that the build is committed, and the tests in a browser'
	@echo 'make tests-servers what docker/ has for Prometheus, nginx and systemd, tried with these'
	@echo 'make spark35       the jobs on Spark 3.5, in $(SPARK35)'
	@echo 'make capture-matrix  captured jobs on Spark 3.5, 4.0, 4.1 and the newest, each in .venv-capture-*'
	@echo 'make clients       records what Airflow, dbt and Flink send, anew (tests/clients/README.md); CLIENTS selects'
	@echo 'make house         the house rules in numbers'
	@echo 'make pictures      the pictures of the page in docs/pictures, anew'
	@echo 'make bench         the benchmarks; RUNS overrides the largest size'
	@echo 'make setup         .venv with everything, from requirements.lock'
	@echo 'make lock          the three lock files anew from setup.cfg'

setup: $(INSTALLED)

$(RUNNABLE): requirements-run.lock setup.cfg pyproject.toml
	@$(PACKAGES) python
	@echo 'Installing what runs into $(VENV): about 140 MB'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(LOCKED) -r requirements-run.lock
	$(BIN)/pip install --no-deps --no-build-isolation --editable .
	@$(BIN)/pip check
	@touch $@

$(INSTALLED): requirements.lock $(RUNNABLE)
	@echo 'Installing what tests and checks need into $(VENV): about 1.2 GB, which takes minutes'
	$(BIN)/pip install $(LOCKED) -r requirements.lock
	@$(BIN)/pip check
	@touch $@

system-java:
	@$(PACKAGES) python java

system-node:
	@$(PACKAGES) node

system-page:
	@$(PACKAGES) python node browser

system-servers:
	@$(PACKAGES) python servers

run: $(RUNNABLE)
	@$(BIN)/fll sample --store '$(STORE)' --if-empty
	@echo "The command line is $(BIN)/fll; after '. $(BIN)/activate' it is fll. Ctrl-C stops the server."
	@exec $(BIN)/fll serve --store '$(STORE)' --host '$(HOST)' --port '$(PORT)'

page: system-node
	$(NPM) ci --no-audit --no-fund
	$(NPM) run check
	$(NPM) run test
	$(NPM) run build

page-dev: system-node page/node_modules
	API='$(or $(API),http://$(HOST):$(PORT))' $(NPM) run dev

pictures: system-page setup
	PYTHONPATH=. $(BIN)/python tools/page_pictures.py

page/node_modules: page/package-lock.json
	$(NPM) ci --no-audit --no-fund
	@touch $@

hbase hbase-cluster: system-java $(RUNNABLE)
	@$(HBASE) start $(if $(findstring cluster,$@),cluster 2 2,standalone)
	@$(BIN)/fll table ddl --store "$$($(HBASE) url)" | $(HBASE) ddl --if-missing
	@echo "HBase runs until 'make hbase-stop'. Next: make run STORE=$$($(HBASE) url)"

hbase-stop:
	@$(HBASE) stop

# The checks of the source use one core; what installs Spark 3.5 mostly waits for the network.
test: system-java system-page system-servers setup
	$(MAKE) --jobs 2 --output-sync=line format lint types imports house $(SPARK35)/installed
	$(MAKE) tests

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

tests: tests-python tests-java tests-page tests-servers

# Coverage makes these several times slower, and what they execute the other tests execute, too.
UNCOVERED := $(addprefix tests/,simulation oracle cases faults keys model access/test_non_interference.py \
	api/test_direct_routes.py api/test_openapi.py api/test_wide.py capture/test_resolver_cost.py \
	exports/test_round_trip.py $(addprefix store/test_,hop_calls.py reach.py) \
	$(addprefix sources/test_,datahub_fuzz.py dbt_fuzz.py openlineage_fuzz.py openlineage_order.py pipeline_any.py sql_fuzz.py))

tests-python: setup
	$(PYTEST) -m 'not java and not servers' --cov --cov-report=term:skip-covered $(addprefix --ignore=,tests/page $(UNCOVERED))
	$(PYTEST) -m 'not java' $(UNCOVERED)

# Capture starts and stops sessions of its own, and a process has one JVM. Files of few tests are the longest
# here, and would come last.
tests-java: system-java setup $(AGENT) $(KAFKA) $(GENERATOR) spark35
	$(HBASE) build
	$(PYTEST) --no-loadscope-reorder -m java --ignore tests/capture
	$(PYTEST) -m java tests/capture

# What is served must be what the sources build: a difference, or a new file, is a forgotten `make page`.
tests-page: system-page setup page
	git diff --exit-code -- api/page
	test -z "$$(git ls-files --others --exclude-standard -- api/page)"
	$(PYTEST) -m browser tests/page

tests-servers: system-servers setup
	$(PYTEST) -m servers tests/operators

# Without the other tests' conftest, which needs what only $(VENV) has.
spark35: system-java $(LAKE) $(SPARK35)/installed
	$(SPARK35)/bin/python -m pytest --confcutdir tests/spark35 tests/spark35

$(SPARK35)/installed: requirements-spark35.lock
	@echo 'Installing Spark 3.5 into $(SPARK35): about 800 MB, which takes minutes'
	$(PYTHON) -m venv $(SPARK35)
	$(SPARK35)/bin/pip install $(LOCKED) -r requirements-spark35.lock
	@$(SPARK35)/bin/pip check
	@touch $@

capture-matrix: system-java setup
	$(BIN)/python tools/capture_matrix.py

# In build/clients, about 800 MB.
clients: system-java setup $(KAFKA)
	PYTHONPATH=tests $(BIN)/python tests/clients/record.py $(CLIENTS)

$(AGENT) $(KAFKA) $(LAKE) $(GENERATOR): %/target/fetched: %/pom.xml
	mvn -q -B -f $< package
	@touch $@

faults: system-java setup
	$(HBASE) build
	$(BIN)/python -m pytest tests/faults

bench: system-java setup $(AGENT)
	$(HBASE) build
	$(BIN)/python -m bench --runs $(RUNS)

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet pip-tools
	$(COMPILE) --extra server --extra hbase --extra test --output-file requirements.lock setup.cfg
	$(COMPILE) --extra server --extra hbase --build-deps-for editable --constraint requirements.lock \
		--output-file requirements-run.lock setup.cfg
	$(COMPILE) --extra hbase --output-file requirements-spark35.lock setup.cfg requirements-spark35.in

clean:
	rm -rf $(VENV) $(SPARK35) .venv-capture-* build page/node_modules *.egg-info
