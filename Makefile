# make repro and make test set everything up first; make help lists all targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The interpreter that .venv is made with, and where torch is installed from. On a machine whose pip
# would fetch the CUDA build (several GB): make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu
PYTHON ?= python3
TORCH_INDEX ?=
export TORCH_INDEX

READY := .venv/.ready
IN_ENVIRONMENT := source .venv/bin/activate &&

.PHONY: help setup repro test test-engines lint lock

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## Create .venv with everything the pipeline needs

$(READY): pyproject.toml constraints.txt scripts/setup.sh
	@PYTHON="$(PYTHON)" scripts/setup.sh

repro: $(READY) ## Run the default study and print its results
	@$(IN_ENVIRONMENT) dvc repro
	@$(IN_ENVIRONMENT) tomrl report

test: $(READY) ## Lint, type-check and run the tests
	@$(IN_ENVIRONMENT) ruff check . && ruff format --check . && mypy
	@$(IN_ENVIRONMENT) python -m pytest

lint: $(READY) ## Format and lint
	@$(IN_ENVIRONMENT) ruff format . && ruff check --fix . && mypy

lock: $(READY) ## Regenerate constraints.txt and prove it in a fresh environment by running a flow
	@PYTHON="$(PYTHON)" scripts/lock.sh
