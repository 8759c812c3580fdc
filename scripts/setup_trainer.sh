#!/usr/bin/env bash
# Creates the environment of a GPU cluster's nodes: verl with vLLM and CUDA, 12 GB, in .venv-trainer, or in
# the folder that FOLDER names. Run it through `make setup-trainer`; docker/trainer runs it, too. It is
# kept until what it is made from changes. The machine needs no GPU for it.
#
# FLASH_ATTN names a wheel of FlashAttention, by path or address, for torch 2.11 and CUDA 13; PyPI has none.
#
# The package itself is not installed: a job runs the sources that its stage uploads.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${FOLDER:-.venv-trainer}
stamp=$({ cat requirements/trainer.txt scripts/setup_trainer.sh; echo "${FLASH_ATTN:-}"; } | sha256sum | cut -d' ' -f1)
[ "$(cat "$folder/.ready" 2>/dev/null || true)" != "$stamp" ] || exit 0
echo "==> creating $folder (about 270 packages)"
rm -rf "$folder"
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -c requirements/main.txt uv
# The list is complete, so that nothing is resolved.
"$folder/bin/uv" pip install --quiet --no-deps --python "$folder/bin/python" -r requirements/trainer.txt
if [ -n "${FLASH_ATTN:-}" ]; then
    "$folder/bin/uv" pip install --quiet --no-deps --python "$folder/bin/python" "$FLASH_ATTN"
fi
echo "$stamp" >"$folder/.ready"
