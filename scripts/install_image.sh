#!/usr/bin/env bash
# Installs what an image needs into /opt/tomrl: install_image.sh CONSTRAINTS UV_OPTION... The Dockerfiles
# of docker/cpu and docker/orchestrator run it, in a folder with pyproject.toml and the constraints.
#
# The package itself is not installed: what runs is the checkout at /checkout, whichever it is.
set -euo pipefail
cd "$(dirname "$0")/.."

constraints=$1
shift
python3 -m venv /opt/tomrl
pip=(/opt/tomrl/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check)
"${pip[@]}" -c "$constraints" uv
index=$(python3 scripts/torch_index.py)
"${pip[@]}" -c "$constraints" ${index:+--extra-index-url "$index"} torch
/opt/tomrl/bin/uv pip install --quiet --no-cache --python /opt/tomrl/bin/python -c "$constraints" \
    -r pyproject.toml "$@"
printf '#!/bin/sh\nexec /opt/tomrl/bin/python -m pipeline.cli.app "$@"\n' >/opt/tomrl/bin/tomrl
chmod +x /opt/tomrl/bin/tomrl
