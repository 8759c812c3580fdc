#!/usr/bin/env bash
# Creates .venv-infra in the checkout: the tools that read docker/ and infra/, and that list what an
# environment holds. Run it through `make check-infra` or `make sbom`. It is kept until what it is made
# from changes.
#
# They are kept out of .venv: checkov and SkyPilot bring 160 packages that nothing else needs.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/tools_environment.sh
make_environment infra 170
