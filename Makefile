# make demo | test | lint | bench | soak | golden | docs | format | clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := build/demo
ASKS := fingerprint --suite demo --subject local:smollm2-135m --answers free,constrained
# Behind a proxy of one's own, the certificates are the system's.
export UV_SYSTEM_CERTS ?= 1
export UV_NATIVE_TLS ?= 1

help: ## List the verbs.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "This needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another: make PYTHON=python3.12" >&2; exit 2; }
	@command -v git >/dev/null || { echo "This needs git." >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@UV=$$(command -v uv || true); \
	if [ -z "$$UV" ]; then $(BIN)/python -m pip install -q --disable-pip-version-check uv || { \
	  echo "uv could not be installed in $(VENV). Install uv, or remove $(VENV), then give the same command again." >&2; exit 2; }; \
	  UV=$(BIN)/uv; fi; \
	"$$UV" pip install -q --python $(BIN)/python -c constraints.txt -e '.[all]' --group dev
	@touch $@

demo: $(READY) ## Measure a small real model on this machine and show the result.
	@$(BIN)/equipoise models pull smollm2-135m >/dev/null
	@mkdir -p $(DEMO)
	@$(BIN)/equipoise run $(ASKS) --ledger $(DEMO)/ledger.db
	@RUN=$$($(BIN)/equipoise plan $(ASKS) --json | $(BIN)/python -c 'import json, sys; print(json.load(sys.stdin)["run"])') && \
	  $(BIN)/equipoise report "$$RUN" --ledger $(DEMO)/ledger.db --out $(DEMO)/fingerprint.html

test: $(READY) ## All checks: lint, types, import contracts, tests.
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports >$(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/pytest -n 2 --dist loadgroup

lint: $(READY) ## Lint and types only.
	@$(BIN)/ruff check . && $(BIN)/lint-imports && $(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix .

soak: $(READY) ## The proofs that take minutes.
	@$(BIN)/pytest -m soak -s tests

bench: $(READY) ## Speed, as ratios in one run.
	@UV=$$(command -v uv || echo $(BIN)/uv); \
	"$$UV" pip install -q --python $(BIN)/python -c constraints.txt --group bench
	@$(BIN)/python benchmarks/permutation.py
	@$(BIN)/python benchmarks/scoring.py
	@$(BIN)/python benchmarks/ray_workers.py
	@$(BIN)/python benchmarks/agreement.py
	@$(BIN)/python benchmarks/run.py
	@$(BIN)/equipoise models pull smollm2-135m >/dev/null && $(BIN)/python benchmarks/local_model.py

golden: $(READY) ## Read the golden ledger again and compare its page byte for byte.
	@$(BIN)/pytest tests/test_golden_ledger.py tests/test_golden.py

docs: $(READY) ## Write the generated pages of docs/ anew.
	@$(BIN)/python docs/generate.py

clean:
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: help demo test lint format soak bench golden docs clean
