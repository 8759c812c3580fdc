#!/usr/bin/env bash
# What one GPU proves of the route, in some fifteen minutes, after `make setup setup-trainer`:
#
#   scripts/prove_gpu.sh          what a run needs; the route; then losses and gradients against the CPU's, and speed
#   scripts/prove_gpu.sh route    the study smoke-gpu through verl and vLLM, whose job is killed after its first
#                                 checkpoint and taken up again; its last lines compare memory and seconds with the plan
#
# The whole has not run on a GPU yet.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/.venv/bin:$PATH
export TOMRL_ENGINE_PYTHON=${TOMRL_ENGINE_PYTHON:-$PWD/.venv-trainer/bin/python}
export TOMRL_VLLM_PYTHON=${TOMRL_VLLM_PYTHON:-$TOMRL_ENGINE_PYTHON}
unset RAY_ADDRESS RAY_API_SERVER_ADDRESS

await() { # await TEXT: in the log of the study that runs
    until grep -q "$1" "$log"; do
        kill -0 "$study" || { cat "$log"; exit 1; }
        sleep 1
    done
}

route() {
    mkdir -p logs
    log=logs/prove_gpu.log
    tomrl run smoke-gpu >"$log" 2>&1 &
    study=$!
    await "step 2 can be kept"
    pkill -KILL -f "[p]ipeline.ops.verl.job"
    await "goes on after step"
    status=0
    wait "$study" || status=$?
    cat "$log"
    return "$status"
}

if [ "${1:-}" = route ]; then
    route
else
    tomrl doctor --gpu
    route
    python -m benchmarks.gpu --json logs/gpu.json
fi
