#!/usr/bin/env bash
# Installs Chromium, with which tests look at the pages that people see. Needs root on Debian or
# Ubuntu; elsewhere install Chromium yourself, or name one in TOMRL_CHROMIUM.
set -euo pipefail

for name in "${TOMRL_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" > /dev/null; then
        echo "Chromium is there: $(command -v "$name")"
        exit 0
    fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "Chromium is missing, and this is not root on a system with apt-get; install it yourself," \
        "or name it in TOMRL_CHROMIUM" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --quiet=2 --no-install-recommends chromium > /dev/null ||
    { apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends chromium > /dev/null; }
echo "Chromium is installed: $(command -v chromium)"
