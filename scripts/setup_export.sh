#!/usr/bin/env bash
# Creates .venv-export in the checkout: the tools that open what `tomrl export` writes, for its tests.
# Run it through `make test-engines`. It is kept until what it is made from changes.
#
# They cannot be part of .venv: inspect-ai wants an older fsspec than the one that is pinned there.
# uv is that of .venv; unlike the other environments this one needs no torch.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/tools_environment.sh
make_environment export 120
