#!/usr/bin/env bash
# Creates .venv-engines in the checkout: verl with its needs, for the nodes that train. Run it
# through `make test-engines`. It is kept until what it is made from changes.
#
# The package itself is not installed: a job runs the sources that its stage uploads.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

begin_environment .venv-engines requirements/engines.txt pyproject.toml scripts/setup_engines.sh
say "installing the rest (about 130 packages)"
in_venv uv pip install --quiet --compile-bytecode --python "$folder/bin/python" -c requirements/engines.txt \
    -r pyproject.toml --extra train --extra engines
# For the tests that import verl.
in_venv uv pip install --quiet --compile-bytecode --python "$folder/bin/python" -c requirements/main.txt hypothesis pytest pytest-xdist
# Tests take steps with TRL. It lies apart, as verl would take a TRL beside it for an older one.
in_venv uv pip install --quiet --no-deps --target "$folder/apart" trl==1.16.0
end_environment
