#!/usr/bin/env bash
# Lists what each environment in the checkout holds, with versions, licences and where it is from, as
# build/sbom/NAME.json (CycloneDX). Run it through `make sbom`; sbom.sh FOLDER... lists others, such as
# the /opt/tomrl of an unpacked image.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
    for folder in .venv .venv-engines .venv-vllm .venv-trainer; do
        if [ -x "$folder/bin/python" ]; then set -- "$@" "$folder"; fi
    done
fi
mkdir -p build/sbom
for folder in "$@"; do
    name=${folder#.}
    file=build/sbom/${name//\//-}.json
    .venv-infra/bin/cyclonedx-py environment --output-reproducible --outfile "$file" "$folder/bin/python"
    count=$(.venv-infra/bin/python -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["components"]))' "$file")
    echo "$file: $count packages"
done
