#!/usr/bin/env bash
# Creates .venv-engines in the checkout: verl with its needs, for the nodes that train. Run it
# through `make test-engines`. It is kept until what it is made from changes.
#
# The package itself is not installed: a job runs the sources that its stage uploads.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=.venv-engines
python=${PYTHON:-python3}
stamp=$(cat constraints-engines.txt pyproject.toml scripts/setup_engines.sh |
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
in_venv pip install "${pip_options[@]}" -c constraints-engines.txt torch

say "installing the rest (about 130 packages)"
in_venv uv pip install --quiet --python "$folder/bin/python" -c constraints-engines.txt \
    -r pyproject.toml --extra engines

echo "$stamp" >"$folder/.ready"
say "ready in $((SECONDS - seconds)) s, $(du -sh "$folder" | cut -f1)"
