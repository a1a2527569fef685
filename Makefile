# Entry points for running, testing and measuring; `make help` lists them.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8080
STORE ?= sqlite:///data/field_level_lineage.db
RUNS ?= 1000000
HBASE := docker/hbase/bin/hbase-local
AGENT := tests/spark_agent/target/fetched
KAFKA := tests/support/kafka/target/fetched
GENERATOR := tests/openapi_generator/target/fetched
# The oldest Spark that the jobs support, in an environment of its own.
SPARK35 := .venv-spark35
# What builds the site of docs/, in an environment of its own.
DOCS := .venv-docs
LAKE := tests/support/lake/target/fetched
# Classes of Spark, loaded and linked once for all JVMs of the tests.
CLASSES := build/jvm/spark.jsa

VENV := .venv
BIN := $(VENV)/bin
# Two stamps in one environment: what runs, and with tests, benchmarks and checks.
RUNNABLE := $(VENV)/installed-run
INSTALLED := $(VENV)/installed
# Checked first, so that a missing JDK is reported at once.
PACKAGES := PYTHON='$(PYTHON)' tools/system-packages
PYTEST := $(BIN)/python -m pytest
# Counts the lines that tests execute, of what pyproject.toml says.
COUNTED := $(BIN)/python -m slipcover
# A lock file names every package, so pip resolves nothing; the pip of Python 3.11 would compare a
# dependency with an extra, as coverage[toml], with the newest release instead of the locked one.
LOCKED := --no-deps --require-hashes
COMPILE = $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

# Where the path has no Helm, Go compiles it once.
HELM := $(or $(shell command -v helm),build/bin/helm)
GO := $(or $(shell command -v go),/usr/local/go/bin/go)

# The registry that npm is configured for; the lock file names none.
NPM := npm --prefix page

# Stages of the tests run side by side, `python` in two processes: each waits a third of its time or more.
STAGES_AT_ONCE := 3
# The longest first: what is short fills the gaps.
STAGES := spark uncovered hbase python page capture spark35 lint servers
LONG_STAGES := $(STAGES) images
# Each stage reads the tests as the first one compiled them: to compile them takes 10 s of a processor.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run page page-dev pictures hbase hbase-cluster hbase-stop hbase-jars test test-long test-stress \
	quick lint format ruff types imports house $(addprefix tests-,$(LONG_STAGES)) $(addprefix stage-,$(LONG_STAGES)) images \
	dist helm release-check release-notes system system-tests system-java system-node system-page system-images system-servers system-postgres capture-matrix clients faults bench docs docs-serve lock clean

help:
	@echo 'make run           the API on $(HOST):$(PORT), with a sample on first use, renewed daily; PORT, HOST, STORE override'
	@echo 'make hbase         a real HBase on this machine, and the table; also hbase-cluster, hbase-stop'
	@echo 'make quick         fast tests of what git diff touches; AREA=store selects a package, api or page'
	@echo 'make lint          format, lint, types, import contracts, house rules'
	@echo 'make test          every check; prints the seconds of each stage: $(STAGES)'
	@echo 'make tests-python  one of these stages; tests-spark, tests-hbase ... likewise'
	@echo 'make test-long     with many random examples, large sizes and every combination'
	@echo 'make test-stress   an area three times beside two busy loops; AREA=recorder'
	@echo 'make system        the Debian packages that tests need; needs root'
	@echo 'make setup         .venv with everything, from requirements.lock'
	@echo 'make page          builds the web page from page/ into api/page (needs Node 20)'
	@echo 'make page-dev      serves it with reload at http://127.0.0.1:5173; API=http://127.0.0.1:$(PORT) is what it asks'
	@echo 'make pictures      the pictures of the page and printed reports in docs/pictures'
	@echo 'make images        builds both images, runs them as their deployment files do, ends them; needs root and buildah'
	@echo 'make dist          sdist and wheel of the last commit in build/dist, checked, and the wheel installed, served and asked'
	@echo 'make helm          docker/kubernetes/lineage*.yaml from the chart in docker/helm'
	@echo 'make release-check the Helm chart, its manifests and the Dockerfiles; compiles Helm with Go where there is none'
	@echo 'make release-notes the section of CHANGELOG.md for this version'
	@echo 'make capture-matrix  captured jobs on Spark 3.5, 4.0, 4.1 and the newest, each in .venv-capture-*'
	@echo 'make clients       records what Airflow, dbt and Flink send, anew (tests/clients/README.md); CLIENTS selects'
	@echo 'make bench         the benchmarks; RUNS overrides the largest size'
	@echo 'make docs          the site of docs/ in build/site; docs-serve serves it at http://$(HOST):8000, with reload'
	@echo 'make lock          the four lock files anew from setup.cfg'

setup: $(INSTALLED)

$(RUNNABLE): requirements-run.lock setup.cfg setup.py pyproject.toml
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

ALL_PACKAGES := $(PACKAGES) python java node browser servers postgres

system:
	@$(ALL_PACKAGES)

# Without root, tests stop in the first second, with the one command that helps.
system-tests:
	@HINT='sudo make system' $(ALL_PACKAGES)

system-java:
	@$(PACKAGES) python java

system-node:
	@$(PACKAGES) node

system-page:
	@$(PACKAGES) python node browser

system-images:
	@$(PACKAGES) images

system-servers:
	@$(PACKAGES) python servers

system-postgres:
	@$(PACKAGES) python postgres

run: $(RUNNABLE)
	@$(BIN)/fll sample --store '$(STORE)' --if-empty
	@echo "The command line is $(BIN)/fll; after '. $(BIN)/activate' it is fll. Ctrl-C stops the server."
	@exec $(BIN)/fll serve --store '$(STORE)' --host '$(HOST)' --port '$(PORT)'

page: system-node $(RUNNABLE) page/node_modules
	$(NPM) run types
	$(NPM) run check
	$(NPM) run test
	$(NPM) run build

page-dev: system-node page/node_modules
	API='$(or $(API),http://$(HOST):$(PORT))' $(NPM) run dev

pictures: system-page setup
	PYTHONPATH=. $(BIN)/python tools/page_pictures.py
	PYTHONPATH=. $(BIN)/python tools/printed_reports.py

page/node_modules: page/package-lock.json
	$(NPM) ci --no-audit --no-fund
	@touch $@

hbase hbase-cluster: system-java $(RUNNABLE)
	@$(HBASE) start $(if $(findstring cluster,$@),cluster 2 2,standalone)
	@$(BIN)/fll table ddl --store "$$($(HBASE) url)" | $(HBASE) ddl --if-missing
	@echo "HBase runs until 'make hbase-stop'. Next: make run STORE=$$($(HBASE) url)"

hbase-stop:
	@$(HBASE) stop

# What a stage of the tests installs or builds first, so that its seconds are those of the tests.
PREPARED := $(AGENT) $(KAFKA) $(GENERATOR) $(LAKE) $(SPARK35)/installed $(DOCS)/installed page/node_modules hbase-jars $(CLASSES)

# Compiled once: where Python writes no bytecode, each program that a test starts would compile all modules again.
test test-long: system-tests setup
	@$(MAKE) --jobs 2 --output-sync=target $(PREPARED)
	@$(BIN)/python -m compileall -q api fll_hbase
	@rm -rf build/test
	@FLL_TEST_PROFILE=$(if $(findstring long,$@),long,push) \
		$(MAKE) --no-print-directory --jobs $(STAGES_AT_ONCE) --keep-going $(addprefix stage-,$(if $(findstring long,$@),$(LONG_STAGES),$(STAGES)))
	@sort -rn build/test/seconds | awk '{ print $$2 ": " $$1 " s" }'

$(addprefix stage-,$(LONG_STAGES)): stage-%:
	@tools/stage $* $(MAKE) --no-print-directory tests-$*

# Tests of an area, or of what `git diff` touches: they install nothing, and start no JVM, browser or server of others.
quick:
	@test -x $(BIN)/pytest || { echo "$(VENV) is missing: run 'make setup' first" >&2; exit 1; }
ifeq ($(AREA),page)
	@test -d page/node_modules || { echo "page/node_modules is missing: run 'make page' first" >&2; exit 1; }
	@$(NPM) run check
	@$(NPM) run test
else
	@tests=$$($(BIN)/python tools/areas.py $(AREA)) && \
		{ [ -n "$$tests" ] || { echo "No file with tests of its own has changed; AREA=store selects an area"; exit; }; } && \
		{ FLL_TEST_PROFILE=quick $(PYTEST) --numprocesses 2 --dist loadfile $$tests || \
			{ [ $$? -eq 5 ] && echo "All of these tests are slow, or need more than $(VENV): run 'make test'"; }; }
endif

# An area three times beside two busy loops: what fails here and not otherwise counts on time.
test-stress: setup
	@tests=$$($(BIN)/python tools/areas.py $(AREA)) && tools/stress $(PYTEST) $$tests

lint: format ruff types imports house

format: setup
	$(BIN)/ruff format --check .

ruff: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

house: $(RUNNABLE)
	$(BIN)/python tools/house.py

tests-lint: lint

# No lines are counted here: what these execute the others do, too, and counting takes time in loops.
UNCOVERED := $(addprefix tests/,simulation oracle attacks cases engines faults keys model \
	queries/test_openlineage_export.py \
	access/test_non_interference.py api/test_direct_routes.py api/openapi/test_openapi.py \
	api/routes/test_lineage_wide.py capture/resolver/test_resolver_cost.py \
	store/read/test_traversal.py store/read/test_reach.py store/read/test_run_times.py store/read/test_field_history.py \
	store/read/test_field_derivations.py store/read/test_content_cache.py store/write/test_batching.py \
	sources/test_derived_columns.py sources/native/test_cached_reader.py sources/datahub/test_datahub_fuzz.py \
	sources/dbt/test_dbt_fuzz.py sources/openlineage/test_openlineage_fuzz.py \
	sources/openlineage/test_openlineage_order.py sources/cdap/test_cdap_any.py sources/sql/test_sql_fuzz.py)
# Nor in tests that count calls, which would have those of the counter among them.
UNCOVERED += $(filter-out $(addsuffix /%,$(UNCOVERED)) $(UNCOVERED),$(shell grep -rl tests.support.work tests --include='test_*.py'))

tests-python: setup
	@mkdir -p build/test
	@# In the order of their names: the files with one long test each would otherwise be the last ones.
	$(COUNTED) --json --out build/test/coverage.json -m pytest --durations=30 --numprocesses 2 --dist loadfile \
		--no-loadscope-reorder \
		-m 'not java and not servers and not browser and not images' $(addprefix --ignore=,$(UNCOVERED))
	$(COUNTED) --merge build/test/coverage.json --out build/test/coverage.json --skip-covered --fail-under 95

tests-uncovered: system-postgres setup
	$(PYTEST) --durations=30 -m 'not java' $(UNCOVERED)

tests-hbase: system-java setup hbase-jars
	$(PYTEST) --durations=30 -m java $(addprefix tests/,api attacks cli docker faults store tables)

tests-spark: system-java setup $(CLASSES) $(AGENT) $(KAFKA) $(GENERATOR) hbase-jars
	$(PYTEST) --durations=30 -m java $(addprefix tests/,openapi_generator spark spark_agent)
	@# Apart: the session of the tests above would be that of the engines, of one thread.
	$(PYTEST) -m java tests/engines

# Capture starts and stops sessions of its own, and a process has one JVM.
tests-capture: system-java setup $(CLASSES) $(AGENT) $(KAFKA)
	$(PYTEST) --durations=30 -m java tests/capture

# What is served must be what the sources build: a difference is a forgotten `make page`.
tests-page: system-page setup page/node_modules docs
	$(NPM) run check
	$(NPM) run test
	$(NPM) run build -- --outDir ../build/page
	diff -r build/page api/page
	$(NPM) run types -- ../build/types.ts
	diff build/types.ts page/src/api/types.ts
	$(PYTEST) --durations=30 -m browser tests/page

tests-servers: system-servers setup
	$(PYTEST) --durations=30 -m servers tests/operators

# Base images are pulled unless they are there; IMAGE_OPTIONS are options of `buildah build`.
images: tests-images

tests-images: system-images setup
	FLL_TEST_PROFILE=long $(PYTEST) --durations=30 -m images tests/docker

# What a tag has and nothing else: an archive of the last commit, with its commit and its time.
dist: setup
	@rm -rf build/dist build/source
	@mkdir -p build/source
	git archive HEAD | tar -x -C build/source
	FLL_BUILD_COMMIT=$$(git rev-parse HEAD) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		$(BIN)/python -m build --no-isolation --outdir build/dist build/source
	$(BIN)/twine check --strict build/dist/*
	FLL_TEST_WHEEL=$$(echo build/dist/*.whl) $(PYTEST) tests/test_setup_wheel.py

build/bin/helm:
	GOBIN=$(CURDIR)/build/bin $(GO) install helm.sh/helm/v3/cmd/helm@v3.22.0

helm: setup $(HELM)
	$(BIN)/python tools/helm_chart.py render --helm $(HELM)

release-check: setup $(HELM)
	$(BIN)/hadolint docker/*/Dockerfile
	$(BIN)/python tools/helm_chart.py check --helm $(HELM)

release-notes: $(RUNNABLE)
	@PYTHONPATH=. $(BIN)/python tools/release_notes.py

# Without the other tests' conftest, which needs what only $(VENV) has, and leaves out what is long.
tests-spark35: system-java $(LAKE) $(SPARK35)/installed
	$(SPARK35)/bin/python -m pytest --durations=30 -m '$(if $(filter long,$(FLL_TEST_PROFILE)),,not long)' \
		--confcutdir tests/spark35 tests/spark35

$(SPARK35)/installed: requirements-spark35.lock
	@echo 'Installing Spark 3.5 into $(SPARK35): about 800 MB, which takes minutes'
	$(PYTHON) -m venv $(SPARK35)
	$(SPARK35)/bin/pip install $(LOCKED) -r requirements-spark35.lock
	@$(SPARK35)/bin/pip check
	@touch $@

$(DOCS)/installed: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install $(LOCKED) -r requirements-docs.lock
	@$(DOCS)/bin/pip check
	@touch $@

# Fails on a link or an anchor that leads nowhere, and on a page that is in no part of the navigation.
docs: $(DOCS)/installed
	$(DOCS)/bin/zensical build --strict --clean
	@echo 'Open build/site/index.html'

docs-serve: $(DOCS)/installed
	$(DOCS)/bin/zensical serve --dev-addr $(HOST):8000

hbase-jars:
	@$(HBASE) build

$(CLASSES): requirements.lock tests/support/class_archive.py | system-java setup
	$(BIN)/python -m tests.support.class_archive $@

capture-matrix: system-java setup
	$(BIN)/python tools/capture_matrix.py

# In build/clients, about 800 MB.
clients: system-java setup $(KAFKA)
	PYTHONPATH=. $(BIN)/python tests/clients/record.py $(CLIENTS)

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
	$(COMPILE) --extra server --extra hbase --extra mcp --build-deps-for editable --constraint requirements.lock \
		--output-file requirements-run.lock setup.cfg
	$(COMPILE) --extra hbase --output-file requirements-spark35.lock setup.cfg requirements-spark35.in
	$(COMPILE) --output-file requirements-docs.lock requirements-docs.in

clean:
	rm -rf $(VENV) $(SPARK35) $(DOCS) .venv-capture-* build page/node_modules *.egg-info
