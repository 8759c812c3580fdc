#!/usr/bin/env bash
# Creates .venv-verifiers in the checkout: the library that loads what `tomrl export environment` writes.
# Run it through `make test-engines`. It is kept until what it is made from changes.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/tools_environment.sh
make_environment verifiers 90
