# Everything a developer does here. `make` lists it.
# Needs Python >= 3.11 with pip, and a network to the package registry the first time. Nothing is installed
# outside of this folder: uv goes into .uv/, everything else into .venv/, data into .memoria/.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .uv/bin/uv
BIN := .venv/bin
PACKAGES := memoria accounts server workers
JOBS ?= 2

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help run test lint format test-long test-clients bench-recall bench-latency bench-consolidation bench-learning bench-year bench-updates bench-calibration schema lock clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/.synced ## serve on 127.0.0.1:8080 (PORT, HOST, MEMORIA_HOME; `.venv/bin/python -m server --help` for all)
	@exec $(BIN)/python -m server --development

test: .venv/.synced ## run the whole suite on its own Postgres and Redis
	@$(BIN)/pytest -n $(JOBS) -m "not long and not clients"

lint: .venv/.synced ## check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: .venv/.synced ## put the code into shape
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

test-long: .venv/.synced ## run the tests that take minutes: kill loops, thousands of generated requests
	@$(BIN)/pytest -m long --timeout 1800

test-clients: .venv/.synced ## run real MCP clients against a server
	@$(BIN)/pytest -m clients

bench-recall: .venv/.synced ## measure the quality of recall on labelled conversations
	@$(BIN)/python -m benchmarks.recall_quality $(ARGS)

bench-latency: .venv/.synced ## measure recall and encode over HTTP beside their floor
	@$(BIN)/python -m benchmarks.latency $(ARGS)

bench-calibration: .venv/.synced ## measure how far the confidence of recalls can be relied on
	@$(BIN)/python -m benchmarks.calibration $(ARGS)

bench-updates: .venv/.synced ## measure how changed facts are told from stale ones
	@$(BIN)/python -m benchmarks.updates $(ARGS)

bench-learning: .venv/.synced ## measure what feedback is worth on labelled conversations
	@$(BIN)/python -m benchmarks.learning $(ARGS)

bench-year: .venv/.synced ## simulate a year of forgetting, check it, and time a run over 100,000 memories
	@$(BIN)/python -m benchmarks.year $(ARGS)

bench-consolidation: .venv/.synced ## measure how consolidation grows, and what recalls notice of it
	@$(BIN)/python -m benchmarks.scale $(ARGS)

schema: .venv/.synced ## write sql/postgres/schema.sql from the migrations
	@$(BIN)/python -m tests.architecture.schema

lock: $(UV) ## resolve the dependencies anew into uv.lock
	@$(UV) lock

clean: ## remove what is generated, but neither .venv/ nor the data in .memoria/
	@rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .schemathesis
	@find . -name __pycache__ -not -path './.venv/*' -not -path './.uv/*' -prune -exec rm -rf {} +

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit("Python >= 3.11 is needed; set PYTHON to one") if sys.version_info < (3, 11) else None'
	@echo "installing uv into .uv/"
	@$(PYTHON) -m pip install --quiet --upgrade --root-user-action ignore --target .uv uv==$(UV_VERSION)

.venv/.synced: uv.lock pyproject.toml | $(UV)
	@echo "installing the dependencies into .venv/"
	@$(UV) sync --quiet --frozen --all-extras --python $(PYTHON)
	@touch $@
