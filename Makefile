# make repro and make test set everything up first; make help lists all targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The interpreter that .venv is made with, and a further index to take torch from; left empty, that
# of the CPU build on machines without an NVIDIA GPU (scripts/torch_index.py).
PYTHON ?= python3
TORCH_INDEX ?=
export TORCH_INDEX

READY := .venv/.ready
IN_ENVIRONMENT := source .venv/bin/activate &&
# Two targets at a time, the output of each in one piece.
BOTH := $(MAKE) --no-print-directory --jobs=2 --output-sync

.PHONY: help setup repro models environments test check-code check-infra test-engines test-nightly wheel-check sbom setup-browser \
	setup-engines setup-export setup-infra setup-trainer setup-verifiers setup-vllm lint lock

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

setup: $(READY) ## Create .venv with everything the pipeline needs

$(READY): pyproject.toml requirements/main.txt scripts/setup.sh scripts/torch_index.py
	@PYTHON="$(PYTHON)" scripts/setup.sh

repro: $(READY) ## Run the default study and print its results
	@$(IN_ENVIRONMENT) tomrl run

models: $(READY) ## Make the tiny base models in models/ again; an hour and a half
	@$(IN_ENVIRONMENT) tomrl models make

environments: ## Create all environments that the tests need, and install a browser for them
	@$(BOTH) setup setup-browser
	@$(BOTH) setup-engines setup-vllm setup-infra setup-export setup-verifiers

test: $(READY) ## Lint, type-check, check images and manifests, and run the tests
	@$(BOTH) check-code check-infra
	@$(IN_ENVIRONMENT) OMP_NUM_THREADS=1 python -m pytest --ignore=tests/engines \
		-n 3 --dist loadgroup --no-loadscope-reorder --durations=25

check-code: $(READY) ## Lint and type-check
	@$(IN_ENVIRONMENT) ruff check . && ruff format --check . && mypy

test-engines: $(READY) ## Set up the environments of verl, vLLM and other tools, and go through them
	@$(BOTH) setup-engines setup-vllm setup-export setup-verifiers
	@$(IN_ENVIRONMENT) OMP_NUM_THREADS=1 python -m pytest tests/engines \
		-n 2 --dist loadgroup --no-loadscope-reorder --durations=25

test-nightly: $(READY) ## 200 kills, every full disk, figures that are promised; hours
	@$(IN_ENVIRONMENT) python -m pytest -m "nightly and not verl"
	@.venv-engines/bin/python -m pytest -m "nightly and verl" tests/cluster
	@$(IN_ENVIRONMENT) for name in judge report sweep; do \
		OMP_NUM_THREADS=1 python -m benchmarks.$$name; done

check-infra: setup-infra ## Hold docker/ and infra/ against hadolint, checkov, Kubernetes' schemas and others
	@.venv-infra/bin/python scripts/check_infra.py

sbom: setup-infra ## List what the environments here hold, as CycloneDX files in build/sbom
	@scripts/sbom.sh

setup-browser: ## Install Chromium, with which tests look at pages
	@scripts/setup_browser.sh || echo "tests that look at pages are skipped"

setup-engines: $(READY) ## Create .venv-engines, with which verl trains, 2 GB
	@PYTHON="$(PYTHON)" scripts/setup_engines.sh

setup-export: $(READY) ## Create .venv-export, the tools that open what tomrl export writes
	@PYTHON="$(PYTHON)" scripts/setup_export.sh

setup-infra: $(READY) ## Create .venv-infra, the tools that read docker/ and infra/
	@PYTHON="$(PYTHON)" scripts/setup_infra.sh

setup-trainer: $(READY) ## Create .venv-trainer, what the nodes of a GPU cluster need, 12 GB
	@PYTHON="$(PYTHON)" scripts/setup_trainer.sh

setup-verifiers: $(READY) ## Create .venv-verifiers, the library that loads exported environments
	@PYTHON="$(PYTHON)" scripts/setup_verifiers.sh

setup-vllm: ## Create .venv-vllm with vLLM for CPUs, 3 GB
	@PYTHON="$(PYTHON)" scripts/setup_vllm.sh

wheel-check: $(READY) ## Install the wheel alone, without torch, and type there what works without a checkout
	@scripts/wheel_check.sh

lint: $(READY) ## Format and lint
	@$(IN_ENVIRONMENT) ruff format . && ruff check --fix . && mypy

lock: $(READY) ## Regenerate requirements/main.txt and prove it in a fresh environment by running a flow
	@PYTHON="$(PYTHON)" scripts/lock.sh
