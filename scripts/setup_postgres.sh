#!/usr/bin/env bash
# Installs PostgreSQL, on which tests run a team's servers (tests/team).
# Needs root on Debian or Ubuntu; elsewhere install it yourself, with initdb and postgres in PATH.
set -euo pipefail

for folder in ${PATH//:/ } /usr/lib/postgresql/*/bin; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
        echo "PostgreSQL is there: $folder"
        exit 0
    fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "PostgreSQL is missing, and this is not root on a system with apt-get; install it yourself," \
        "with initdb and postgres in PATH" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# Its programs are wanted, not the server that the package would start.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
install() { apt-get install --yes --quiet=2 --no-install-recommends postgresql > /dev/null; }
install || { apt-get update --quiet=2 && install; }
echo "PostgreSQL is installed: $(ls -d /usr/lib/postgresql/*/bin)"
