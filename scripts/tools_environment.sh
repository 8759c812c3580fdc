# Sourced by the scripts that make an environment of tools apart from .venv, with its uv.

# Create .venv-NAME with what requirements/NAME.txt lists. It is kept until what it is made from changes.
# Arguments: NAME, and how many packages that are, to say so.
make_environment() {
    local folder=.venv-$1 stamp
    stamp=$(cat "requirements/$1.txt" "scripts/setup_$1.sh" scripts/tools_environment.sh | sha256sum | cut -d' ' -f1)
    [ "$(cat "$folder/.ready" 2>/dev/null || true)" != "$stamp" ] || return 0
    echo "==> creating $folder (about $2 packages)"
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv --without-pip "$folder"
    .venv/bin/uv pip install --quiet --compile-bytecode --python "$folder/bin/python" -r "requirements/$1.txt"
    echo "$stamp" >"$folder/.ready"
}
