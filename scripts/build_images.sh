#!/usr/bin/env bash
# Builds images without Docker, from the same Dockerfiles: build_images.sh NAME... (cpu, orchestrator,
# trainer). Needs root, debootstrap and buildah, which Debian has.
#
# Where no registry can be reached, Debian 12 with its Python 3.11 stands for the base image; BASE names
# another one that is there. OPTIONS are further ones of `buildah build`, such as volumes with a mirror
# of PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."

work=${WORK:-/var/tmp/tomrl-images}
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
builder() { buildah --root "$work/images" --runroot "$work/run" "$@"; }
say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

mkdir -p "$work"
if [ -z "${BASE:-}" ]; then
    BASE=localhost/debian-python
    if ! builder images --quiet "$BASE" >/dev/null 2>&1; then
        say "making a base of Debian 12"
        rm -rf --one-file-system "$work/debian"
        debootstrap --variant=minbase --include=python3,python3-venv,python3-dev,ca-certificates \
            bookworm "$work/debian" "${DEBIAN:-http://deb.debian.org/debian}" >"$work/debootstrap.log"
        container=$(builder from scratch)
        builder copy --quiet "$container" "$work/debian" / >/dev/null
        builder commit --quiet --rm "$container" "$BASE" >/dev/null
        rm -rf --one-file-system "$work/debian"
    fi
fi
for name in "$@"; do
    say "building $name"
    tag=tomrl-$name
    [ "$name" != orchestrator ] || tag=tomrl
    read -ra options <<<"${OPTIONS:-}"
    builder build --format docker --file "docker/$name/Dockerfile" --ignorefile "docker/$name/Dockerfile.dockerignore" \
        --build-arg "BASE=$BASE" --build-arg "REVISION=$(git rev-parse HEAD)" \
        --tag "localhost/$tag" "${options[@]}" .
done
