# Headgate's tasks. `make` lists them; each brings what it needs, so that a bare clone suffices.

SHELL := /bin/sh
.DEFAULT_GOAL := help

BIN := .venv/bin
READY := .venv/.ready

# Passed on to pytest, for example: make test TESTS=tests/predicates PYTEST_FLAGS="-x -n 0"
TESTS ?= tests
PYTEST_FLAGS ?= -n 2 --dist loadfile --cov --cov-report=term:skip-covered

# A wheel of uv, where uv is not installed: into the environment itself, for this checkout alone.
find_uv = uv=uv; uv --version >/dev/null 2>&1 || uv=$(CURDIR)/$(BIN)/uv

export SAM_CLI_TELEMETRY := 0
# The SAM and CloudFormation linters want a region, though they call no service.
export AWS_DEFAULT_REGION ?= eu-central-1

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) java ## Check Python and Java, make .venv with everything in uv.lock

.PHONY: java
java:
	@.ci/check-java

$(READY): pyproject.toml uv.lock .ci/find-python
	@set -e; \
	if ! $(BIN)/python -c '' 2>/dev/null; then \
	    python=$$(.ci/find-python); \
	    echo "making .venv with $$python"; \
	    "$$python" -m venv .venv; \
	fi; \
	$(find_uv); \
	"$$uv" --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet uv; \
	"$$uv" sync --frozen --inexact --extra spark --python $(BIN)/python; \
	touch $@

.PHONY: check
check: $(READY) ## Formatting, lint, types, layers, and the CloudFormation templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p headgate -p benchmarks
	$(BIN)/lint-imports
	$(BIN)/sam validate --lint --template template.yaml
	$(BIN)/cfn-lint $(wildcard infra/*.yaml) template.yaml

.PHONY: format
format: $(READY) ## Format the code and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: test
test: setup ## Every test, with coverage (TESTS=…, PYTEST_FLAGS=… narrow it)
	$(BIN)/python -m pytest $(PYTEST_FLAGS) $(TESTS)

.PHONY: demo
demo: setup ## Build tables, index them with Spark, serve them, read them with the official client
	$(BIN)/headgate demo

.PHONY: bench
bench: setup ## Index and query generated logs of 10 k, 100 k and 1 M files
	$(BIN)/python -m benchmarks.run $(BENCH_FLAGS)

.PHONY: build
build: $(READY) ## The wheel and source archive, into dist/
	@set -e; $(find_uv); "$$uv" build

.PHONY: package
package: $(READY) ## The Lambda packages, into .aws-sam/build/
	$(BIN)/sam build

.PHONY: clean
clean: ## Remove everything that was built, the environment included
	rm -rf .venv .aws-sam dist build .headgate spark-warehouse metastore_db derby.log .coverage
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find functions tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
