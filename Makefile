# One target for each verb; `make` alone lists them. Everything runs from the environment in .venv, which
# `make install` builds and which each target renews by itself after pyproject.toml or constraints.txt changed.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Two workers: the machine that the time limits were set on has two processors.
PYTEST := $(BIN)/pytest -n 2

.PHONY: help install format lint types unit test verify docs docs-check docs-serve bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make the environment in .venv, with the pinned packages
	@:

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "fencepost needs Python 3.11 or newer. Name one: make install PYTHON=python3.12" >&2; exit 1; }
	@echo "installing into $(VENV): a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

format: $(INSTALLED) ## put the code into its one format, mend what can be mended by program
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format --quiet

lint: $(INSTALLED) ## style, format and layers
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/lint-imports --no-logo

# Without the variable pyright asks the network whether a newer release exists.
types: $(INSTALLED) ## mypy --strict and pyright
	@$(BIN)/mypy
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

unit: $(INSTALLED) ## the tests, on real SQLite files and a real PostgreSQL
	@$(PYTEST)

# The tests come last, so that their closing line is the last line.
test: lint types docs-check ## every gate: lint, types, docs-check, then the tests
	@$(PYTEST)

verify: $(INSTALLED) ## prove, explore, run conformance, build the site; ends with a one-screen summary
	@$(BIN)/fencepost-verify verify

docs: $(INSTALLED) ## write the generated pages and build the site into site/
	@$(BIN)/fencepost-verify documents
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

docs-check: $(INSTALLED) ## are the generated pages those that the model yields?
	@$(BIN)/fencepost-verify documents --check

docs-serve: $(INSTALLED) ## show the site on this machine, and renew it as pages change
	@$(BIN)/fencepost-verify documents
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: $(INSTALLED) ## measure: the explorer beside SPIN, the proof from a cold process
	@$(BIN)/python bench/compare_spin.py
	@$(BIN)/python bench/cold_proof.py

clean: ## remove caches and built pages; the environment in .venv stays
	@rm -rf site dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find model impl verification tests -type d -name __pycache__ -prune -exec rm -rf {} +
