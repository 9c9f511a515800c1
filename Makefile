# Two commands: `make report` replays every shipped cassette and writes the pages; `make test` runs every check. Both need only Python 3.11+.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
REPORT := $(VENV)/.report
DOCS   := build/docs
AGENTS := build/clients/google-adk/.ready build/clients/pydantic-ai/.ready

# Every process of the tests imports the package. Without bytecode, each process compiles it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
PEER_SAMPLE := $(addprefix gemini-api/,text thoughts tool-calls parallel-calls signatures-calls finish-reasons stream-errors usage)

# Tests of one file share the values of its fixtures. The many small specs run last and keep both workers busy.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder

# With COVERAGE=1, `make test` and `make test-all` also measure; `make coverage-total` prints the result.
# The faulty adapters are then not measured: they take more than half of the time and reach no other code.
PYTEST := $(BIN)/python -m $(if $(COVERAGE),coverage run -m )pytest

.PHONY: help report suite ledger ledger-outputs threads test test-all test-browser test-install coverage coverage-total lint types imports size unit slow laws specs check scan test-clients peers matrix test-peers wires request-fields model-rows model-page corpus fuzz bench dist docs lock clean

help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

report: $(REPORT) ## replay the shipped cassettes against the golden specs and write reports/index.html
	$(BIN)/python -m pytest specs -q --harness-report reports

suite: $(READY) ## renew the lock of the suite after a change of cassettes or specs; FREEZE=1 freezes its version, for a release
	$(BIN)/python -m tests.suite_lock $(if $(FREEZE),--freeze)

ledger: $(READY) ## judge all that is shipped, and print each difference from the ledger by kind; ACCEPT="Place: the reason" accepts the differences
	$(BIN)/python -m tests.ledger $(if $(filter-out undefined,$(origin ACCEPT)),--accept "$$ACCEPT")

ledger-outputs: $(READY) ## record the outputs of the public adapters of the ledger again; ONLY="NAME NAME" records only these (needs Node 20 and npm)
	$(BIN)/python -m tests.ledger.outputs $(ONLY)

threads: $(READY) ## write docs/threads.md from docs/threads.yaml and the specs
	$(BIN)/python -m tests.docs.threads

test: $(READY) ## lint, types, import contracts, size, the fast tests, specs, harness check, harness scan
	@$(BIN)/python -m tests.parts test unit lint imports types size check scan

test-all: slow ## the tests that make test leaves out

lint: $(READY) ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## strict types
	$(BIN)/mypy

imports: $(READY) ## import contracts: which package may import which
	$(BIN)/lint-imports

size: $(READY) ## compare the size of the house with tests/size/size.toml; LOWER=1 writes what is measured
	$(BIN)/python -m tests.size $(if $(LOWER),--lower)

unit: $(READY) ## the fast tests and the specs
	$(PYTEST) -q $(WORKERS) --ignore tests/browser -m "not slow" $(if $(COVERAGE),--ignore tests/faulty)
	$(if $(COVERAGE),$(BIN)/python -m pytest -q $(WORKERS) tests/faulty)

slow: $(READY) ## the tests with the mark slow
	$(PYTEST) tests -q $(WORKERS) --ignore tests/browser -m slow --durations 20

coverage: $(READY) ## run all tests, and print the share of the lines and branches of the harness that they reach
	rm -rf build/coverage
	$(MAKE) COVERAGE=1 unit slow
	$(MAKE) coverage-total

coverage-total: $(READY)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --format=total

laws: $(READY) ## the laws, for every exchange of the shipped cassettes
	$(BIN)/python -m pytest cassettes --harness-laws -q -n 2

specs: $(READY) ## only the golden specs
	$(BIN)/python -m pytest specs -q

check: $(READY) ## validate specs, features and cassettes without running anything
	$(BIN)/harness check

scan: $(READY) ## look for secrets in all shipped files except the tests, which contain fake secrets
	$(BIN)/harness scan cassettes specs docs harness benchmarks README.md

test-clients: $(READY) tests/clients/node_modules/.ready $(AGENTS) ## real clients against harness serve: google-genai, @google/genai, openai, @ag-ui/client, the Gemini CLI and, in sessions, google-adk and pydantic-ai (needs Node 20 and npm)
	HARNESS_REQUIRE=clients $(BIN)/python -m pytest -q tests/clients

peers: $(READY) ## judge the public adapters of examples/adapters, write the site build/matrix, docs/findings.md and docs/findings (needs Node 20 and npm)
	$(BIN)/python examples/adapters/run.py

matrix: $(READY) ## the same, but judge only the adapters that have no results for this suite yet; ONLY="NAME NAME" judges only these, and writes only the site
	$(BIN)/python examples/adapters/run.py --resume $(ONLY)

test-peers: $(READY) ## judge three public adapters on 60 exchanges, and write the site reports/peers
	$(BIN)/python examples/adapters/run.py google-genai langchain-google-genai ai-sdk --cassettes $(PEER_SAMPLE) --asked 60 --site reports/peers

EXTRAS := clients,codings,completion,genai,hypothesis,live,openai,scale

test-install: $(REPORT) ## install only the package, as a user does, run the specs, judge adapters in an empty folder, and see that a sweep names its extra; run the specs with the lowest and the newest versions that pyproject.toml allows, without and with the extras; record with the lowest vcrpy; install the example of a plugin, and run its tests and specs
	$(PYTHON) -m venv --clear build/plain
	build/plain/bin/pip install -q .
	build/plain/bin/python -m pytest specs -q
	rm -rf build/empty && mkdir build/empty
	cd build/empty && ../plain/bin/harness judge unified-llm anthropic
	cd build/empty && { ../plain/bin/harness sweep ../../cassettes/gemini-api -o verdicts 2>sweep.txt; test $$? = 2; }
	grep "pip install 'gemini-conformance\[scale\]'" build/empty/sweep.txt && test ! -e build/empty/verdicts
	sed -n '/^dependencies/,/^]/s/.*"\(.*\)>=\([^,"]*\).*/\1==\2/p' pyproject.toml >build/lowest.txt
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/pip install -q . -c build/lowest.txt
	build/lowest/bin/python -m pytest specs -q
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct '.[$(EXTRAS)]'
	build/lowest/bin/python -m pytest specs -q
	build/lowest/bin/python -m pytest -q tests/recording/test_cassette.py tests/recording/test_vcr.py -m 'not slow'
	$(BIN)/uv pip install --quiet --python build/plain/bin/python --upgrade '.[$(EXTRAS)]'
	build/plain/bin/python -m pytest specs -q
	build/plain/bin/pip install -q --no-deps examples/plugins/agy
	cd examples/plugins/agy && ../../../build/plain/bin/python -m pytest -q -p no:cacheprovider
	build/lowest/bin/python -c 'from harness.specs.matching import compare; print(compare({"a": 1}, {"a": 2})[0])'

wires: $(READY) ## list what the types of the newest SDKs have and the readers do not know; tests/wires/accepted.yaml has the accepted gaps (needs npm)
	rm -rf build/wires && mkdir -p build/wires
	$(UV) --target build/wires/python --no-deps google-genai anthropic openai
	npm install --silent --ignore-scripts --no-audit --no-fund --prefix build/wires @google/genai@latest @anthropic-ai/sdk@latest openai@latest
	PYTHONPATH=build/wires/python $(BIN)/python -m tests.wires --npm build/wires/node_modules

request-fields: $(READY) ## write the published fields of requests and the types of their values, from Google's discovery documents and packages
	$(UV) --target build/request-fields --no-deps google-api-python-client==2.202.0 google-ai-generativelanguage==0.12.1
	$(BIN)/python -m tests.wires.request_fields build/request-fields

model-rows: $(READY) ## write the rows of the table of models that come from folders of recordings: make model-rows CORPORA="DIR DIR"
	@test -n "$(CORPORA)" || { echo "make model-rows: CORPORA is not set; give the folders of recordings"; exit 2; }
	$(BIN)/python -m tests.corpus.model_rows $(CORPORA)

model-page: $(READY) ## write docs/can-gemini-take-it.md from the table of models
	$(BIN)/python -m tests.docs.model_page

corpus: $(READY) ## replay folders of real recordings: make corpus CORPORA="DIR DIR"
	@test -n "$(CORPORA)" || { echo "make corpus: CORPORA is not set; give the folders of recordings: make corpus CORPORA=DIR"; exit 2; }
	$(BIN)/python -m tests.corpus.walk $(CORPORA)

test-browser: $(READY) ## the report in a real browser (needs chromium)
	HARNESS_REQUIRE=browser $(BIN)/python -m pytest -q tests/browser

fuzz: $(READY) ## run the property tests with new random inputs, forty thousand changed answers of each wire on both of its readers, a hundred thousand rows of a sweep, and a million inputs on each reader of bytes; takes hours; keeps its findings in build/fuzz
	$(BIN)/python -m pytest tests -q $(WORKERS) --ignore tests/browser -m hypothesis --hypothesis-profile random
	$(BIN)/python -m tests.readers
	$(BIN)/python -m tests.fuzz.rows
	$(BIN)/python -m tests.fuzz

bench: $(READY) ## compare the speed with the stored figures, vcrpy, google-genai and plain JSON parsing; writes reports/benchmark.json
	$(BIN)/python -m benchmarks

dist: $(DOCS)/.ready ## build the distributions into dist and check them
	rm -rf dist
	$(DOCS)/bin/python -m build --no-isolation --outdir dist .
	$(DOCS)/bin/twine check --strict dist/*

docs: $(DOCS)/.ready ## build the site of the documentation into build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build
	@echo "wrote build/site/index.html"

lock: $(REPORT) ## renew the locks of the development environment and of the docs
	$(COMPILE) --group dev -o requirements-dev.lock
	$(COMPILE) --group docs -o requirements-docs.lock

clean: ## remove the files that make wrote
	rm -rf $(VENV) reports/*.html reports/*.json reports/*.xml reports/summary.md reports/badges build dist

tests/clients/node_modules/.ready: tests/clients/package-lock.json tests/clients/package.json
	cd tests/clients && npm ci
	@touch $@

# The versions that `make peers` judges on sessions. Each agent needs other versions of the same packages.
build/clients/%/.ready: examples/adapters/%/requirements-live.txt $(REPORT)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --no-deps --require-hashes -r $<
	@touch $@

COMPILE := $(BIN)/uv pip compile --quiet --upgrade pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

# Only what `make report` needs. Each version comes from the lock, and each hash is checked.
$(REPORT): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}; set PYTHON=…")'
	@echo "installing into $(VENV); this happens once"
	@$(PYTHON) -m venv $(VENV)
	@awk '/^[^ ]/ {uv = /^uv==/} uv' requirements-dev.lock >$(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r $(VENV)/uv.lock
	@$(UV) --require-hashes -c requirements-dev.lock -r pyproject.toml --group report
	@$(UV) --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(REPORT)
	@echo "installing the rest of requirements-dev.lock into $(VENV); this happens once"
	@$(UV) --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# The site's generator has an environment of its own, because its dependencies are not those of the tests.
$(DOCS)/.ready: $(REPORT) requirements-docs.lock
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(DOCS)
	@$(BIN)/uv pip install --quiet --python $(DOCS)/bin/python --no-deps --require-hashes -r requirements-docs.lock
	@$(BIN)/uv pip install --quiet --python $(DOCS)/bin/python --no-deps --no-build-isolation -e .
	@touch $@
