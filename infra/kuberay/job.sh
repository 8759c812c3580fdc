#!/usr/bin/env bash
# What the submitter of a RayJob runs in the checkout, on a cluster that comes with it and goes with it.
#
#   job.sh proof        new nodes: what a run needs, the study smoke-gpu through verl and vLLM, then losses and
#                       gradients against the CPU's, speed, and memory against the plan (benchmarks/gpu.py)
#   job.sh study NAME   a study
#
# KubeRay looks for a job of the name that it has given, and takes the cluster away when that has ended:
# `job.sh await FILE` is that job, which ends by the status that is written there. The submitter itself ends
# well once that is written, so that it is started again only if it was taken away.
set -euo pipefail
cd "$(dirname "$0")/../.."

case $1 in
await)
    until [ -s "$2" ]; do sleep 1; done
    exit "$(cat "$2")"
    ;;
figures) # on the cluster, with an accelerator
    exec python -m benchmarks.gpu --json logs/gpu.json
    ;;
esac

proof() {
    tomrl doctor --gpu &&
        tomrl run smoke-gpu &&
        ray job submit --entrypoint-num-gpus 1 -- "$script" figures
}

study() {
    tomrl run "$1"
}

mkdir -p work logs
script=$PWD/infra/kuberay/job.sh ended=$(cd work && pwd)/$RAY_JOB_SUBMISSION_ID.ended
export RAY_ADDRESS=http://$RAY_DASHBOARD_ADDRESS RAY_AUTH_MODE=token
if ! ray job status "$RAY_JOB_SUBMISSION_ID" >/dev/null 2>&1; then # it is there when this is started again
    ray job submit --no-wait --submission-id "$RAY_JOB_SUBMISSION_ID" -- "$script" await "$ended"
fi
status=0
"$@" || status=$?
echo "$status" >"$ended"
