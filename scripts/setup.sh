#!/usr/bin/env bash
# Creates .venv in the checkout. Run it through `make setup`.
#
# torch comes first and through pip, so that a CPU build that pip is configured to find is used;
# everything else goes through uv with the committed constraints, which takes seconds. It is compiled
# here, since a machine may be set not to do so later, and every process would do it again.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
"$python" - <<'CHECK' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit(f"error: {sys.executable} is Python {sys.version.split()[0]}; 3.11 or newer is needed. "
             "Name another one: make setup PYTHON=python3.12")
CHECK

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
seconds=$SECONDS

say "creating .venv with $("$python" --version)"
[ -x .venv/bin/python ] || "$python" -m venv .venv
in_venv() { .venv/bin/python -m "$@"; }
pip_options=(--quiet --disable-pip-version-check --no-warn-script-location)
in_venv pip install "${pip_options[@]}" -c requirements/main.txt uv

index=$("$python" scripts/torch_index.py)
in_venv pip install "${pip_options[@]}" -c requirements/main.txt ${index:+--extra-index-url "$index"} torch

say "installing the rest (about 250 packages)"
in_venv uv pip install --quiet --compile-bytecode --python .venv/bin/python -c requirements/main.txt \
    -e ".[train,orchestrate,dev]"

touch .venv/.ready
say "ready in $((SECONDS - seconds)) s, $(du -sh .venv | cut -f1). Next: make repro"
