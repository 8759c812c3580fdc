# Makes an environment apart from .venv; sourced by setup_engines.sh and setup_vllm.sh, in the checkout.
#
# begin_environment FOLDER CONSTRAINTS SOURCE...: exits the script if FOLDER was made from these
# CONSTRAINTS and SOURCE files; else makes it anew, with uv and torch. torch comes through pip, so
# that a CPU build that pip is configured to find is used.
# in_venv MODULE...: runs a module of its Python. end_environment: notes what it was made from.

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

begin_environment() {
    folder=$1
    local constraints=$2 python=${PYTHON:-python3}
    stamp=$(cat "${@:2}" scripts/environment.sh |
        "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
    if [ "$(cat "$folder/.ready" 2>/dev/null || true)" = "$stamp" ]; then
        exit 0
    fi
    started=$SECONDS
    say "creating $folder with $("$python" --version)"
    rm -rf "$folder"
    "$python" -m venv "$folder"
    local pip_options=(--quiet --disable-pip-version-check --no-warn-script-location)
    in_venv pip install "${pip_options[@]}" -c requirements/main.txt uv
    local index
    index=$("$python" scripts/torch_index.py)
    in_venv pip install "${pip_options[@]}" -c "$constraints" ${index:+--extra-index-url "$index"} torch
}

in_venv() { "$folder/bin/python" -m "$@"; }

end_environment() {
    echo "$stamp" >"$folder/.ready"
    say "ready in $((SECONDS - started)) s, $(du -sh "$folder" | cut -f1)"
}
