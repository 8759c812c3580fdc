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

.PHONY: help setup repro models test test-engines test-nightly check-infra sbom setup-vllm setup-trainer lint lock

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## Create .venv with everything the pipeline needs

$(READY): pyproject.toml constraints.txt scripts/setup.sh scripts/torch_index.py
	@PYTHON="$(PYTHON)" scripts/setup.sh

repro: $(READY) ## Run the default study and print its results
	@$(IN_ENVIRONMENT) tomrl repro

models: $(READY) ## Make the tiny base models in models/ again; half an hour
	@$(IN_ENVIRONMENT) tomrl models make

test: $(READY) check-infra ## Lint, type-check, check images and manifests, and run the tests
	@$(IN_ENVIRONMENT) ruff check . && ruff format --check . && mypy
	@$(IN_ENVIRONMENT) OMP_NUM_THREADS=1 python -m pytest --ignore=tests/engines -n 2 --dist loadgroup

test-engines: $(READY) setup-vllm ## Set up the environments of verl, vLLM and other tools, and go through them
	@PYTHON="$(PYTHON)" scripts/setup_engines.sh
	@PYTHON="$(PYTHON)" scripts/setup_export.sh
	@$(IN_ENVIRONMENT) OMP_NUM_THREADS=1 python -m pytest tests/engines

test-nightly: $(READY) ## 200 kills, every full disk, figures that are promised, and five seeds of RL; hours
	@$(IN_ENVIRONMENT) python -m pytest -m nightly
	@$(IN_ENVIRONMENT) for name in plan judge report sweep learning; do \
		OMP_NUM_THREADS=1 python -m "benchmarks.$$name"; done

check-infra: $(READY) ## Hold docker/ and infra/ against hadolint, checkov, Kubernetes' schemas and others
	@PYTHON="$(PYTHON)" scripts/setup_infra.sh
	@.venv-infra/bin/python scripts/check_infra.py

sbom: $(READY) ## List what the environments here hold, as CycloneDX files in build/sbom
	@PYTHON="$(PYTHON)" scripts/setup_infra.sh
	@scripts/sbom.sh

setup-trainer: $(READY) ## Create .venv-trainer, what the nodes of a GPU cluster need, 12 GB
	@PYTHON="$(PYTHON)" scripts/setup_trainer.sh

setup-vllm: ## Create .venv-vllm with vLLM for CPUs, 3 GB
	@PYTHON="$(PYTHON)" scripts/setup_vllm.sh

lint: $(READY) ## Format and lint
	@$(IN_ENVIRONMENT) ruff format . && ruff check --fix . && mypy

lock: $(READY) ## Regenerate constraints.txt and prove it in a fresh environment by running a flow
	@PYTHON="$(PYTHON)" scripts/lock.sh
