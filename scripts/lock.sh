#!/usr/bin/env bash
# Regenerates requirements/main.txt and proves it: installs it into a fresh environment, runs a Prefect
# flow there and lists what a Prefect server holds, because some fastapi releases that resolve break
# one or the other. Then requirements/engines.txt and requirements/orchestrator.txt, with the same versions
# where it can.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "==> resolving"
.venv/bin/uv pip compile pyproject.toml requirements/main.in --extra train --extra orchestrate --extra dev \
    --universal --python-version 3.11 --upgrade --quiet --no-header --no-annotate -o "$work/resolved.txt"
# Without these lines pip keeps a CPU build of torch on machines that have no GPU.
grep -vE '^(nvidia-|triton|cuda-)' "$work/resolved.txt" >"$work/main.txt"

echo "==> proving in a fresh environment"
mkdir "$work/checkout"
git ls-files -z | xargs -0 cp --parents -t "$work/checkout"
cp "$work/main.txt" "$work/checkout/requirements/main.txt"
(
    cd "$work/checkout"
    PYTHON=${PYTHON:-python3} scripts/setup.sh
    .venv/bin/python -m pytest -q -m nightly tests/test_prefect_server.py
)
mv "$work/main.txt" requirements/main.txt
echo "==> requirements/main.txt is proven and in place"

# Resolve requirements/NAME.txt for pyproject.toml with extras, in the versions of main.txt where it can.
follow() {
    local name=$1
    shift
    cp requirements/main.txt "$work/$name.txt"
    .venv/bin/uv pip compile pyproject.toml "requirements/$name.in" "$@" --universal \
        --python-version 3.11 --quiet --no-header --no-annotate -o "$work/$name.txt"
    grep -vE '^(nvidia-|triton|cuda-)' "$work/$name.txt" >"requirements/$name.txt"
}
follow engines --extra train --extra engines
echo "==> requirements/engines.txt is in place; prove it with make test-engines"
follow orchestrator --extra train --extra orchestrate
echo "==> requirements/orchestrator.txt is in place; docker/orchestrator installs it"
