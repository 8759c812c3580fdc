#!/usr/bin/env bash
# Creates .venv-export in the checkout: the tools that open what `tomrl export` writes, for its tests.
# Run it through `make test-engines`. It is kept until what it is made from changes.
#
# They cannot be part of .venv: inspect-ai wants an older fsspec than the one that is pinned there.
# uv is that of .venv; unlike the other environments this one needs no torch.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=.venv-export
stamp=$(cat constraints-export.txt scripts/setup_export.sh | sha256sum | cut -d' ' -f1)
[ "$(cat "$folder/.ready" 2>/dev/null || true)" != "$stamp" ] || exit 0
echo "==> creating $folder (about 120 packages)"
rm -rf "$folder"
"${PYTHON:-python3}" -m venv --without-pip "$folder"
.venv/bin/uv pip install --quiet --python "$folder/bin/python" -r constraints-export.txt
echo "$stamp" >"$folder/.ready"
