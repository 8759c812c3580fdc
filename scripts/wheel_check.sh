#!/usr/bin/env bash
# Builds the wheel, installs it alone into a fresh environment, and types there, in an empty folder,
# what works without a checkout and without a deep-learning library. Run it through `make wheel-check`.
set -euo pipefail
cd "$(dirname "$0")/.."

most_mb=${MOST_MB:-400}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
uv=$PWD/.venv/bin/uv
mkdir "$work/source" # what earlier builds left behind stays out
git ls-files -z tomrl pipeline flows studies pyproject.toml README.md LICENSE | xargs -0 cp --parents -t "$work/source"
"$uv" build --quiet --wheel --out-dir "$work" "$work/source"
"$uv" venv --quiet --python .venv/bin/python "$work/venv"
"$uv" pip install --quiet --python "$work/venv/bin/python" -c requirements/main.txt "$work"/tomrl-*.whl
size=$(du -sm "$work/venv" | cut -f1)
echo "installed: $size MB (at most $most_mb)"
[ "$size" -le "$most_mb" ]

mkdir "$work/empty" && cd "$work/empty"
export PATH=$work/venv/bin:$PATH
unset PYTHONPATH
printf '%s\n' '{"id": 1, "story": "Ann and Bob entered the hall.\nThe fig is in the red_box.\nBob exited the hall.\nAnn moved the fig to the blue_jar.", "question": "Where does Bob think the fig is?", "answer": "red_box", "response": "<answer>red_box</answer>"}' >answers.jsonl
cp answers.jsonl answers.parquet

# says STATUS WORDS... -- COMMAND...: the command ends so and says all of the words.
says() {
    local status=$1 words=() got=0 said
    shift
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    shift
    said=$("$@" 2>&1) || got=$?
    [ "$got" = "$status" ] || { echo "$*: status $got, not $status: $said"; exit 1; }
    for word in "${words[@]}"; do
        grep -qF -- "$word" <<<"$said" || { echo "$*: says nothing of '$word': $said"; exit 1; }
    done
    echo "ok: $*"
}
says 0 "tomrl" -- tomrl --version
says 0 "judge" "verify" -- tomrl --help
says 0 "answers follow" "knows who was out" -- tomrl judge answers.jsonl
says 0 '"answers": "undecided"' -- tomrl judge answers.jsonl --json
says 0 "100.00" -- tomrl judge answers.jsonl --match tags
says 0 "1 answer written" -- tomrl tom solve answers.jsonl -b hi_tom -o solved.jsonl
says 2 "tomrl[report]" -- tomrl verify nothing
says 0 "tom-rl" -- tomrl study list
says 0 "2504.01698" -- tomrl study show tom-rl
says 2 "dvc.yaml" -- tomrl study use mini
says 2 "tomrl[parquet]" -- tomrl judge answers.parquet
says 2 "tomrl[train]" -- tomrl export model nano --to out
says 0 "answers" -- tomrl board answers.jsonl
says 0 "undecided" -- python -c "import json, tomrl; print(tomrl.judge(map(json.loads, open('answers.jsonl'))).answers.follow)"
"$uv" pip install --quiet --python "$work/venv/bin/python" -c "$OLDPWD/requirements/main.txt" "$(echo "$work"/tomrl-*.whl)[report]"
says 2 "SHA256SUMS" -- tomrl verify nothing
