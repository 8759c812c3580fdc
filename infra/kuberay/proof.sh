#!/usr/bin/env bash
# Proves new nodes: what a run needs, the study smoke-gpu through verl and vLLM, then losses and gradients against
# the CPU's, speed, and memory against the plan (benchmarks/gpu.py). The submitter of rayjob.yaml runs it in the
# checkout.
#
# KubeRay looks for a job of the name that it has given, and takes the cluster away when that has ended:
# `proof.sh await FILE` is that job, which ends by the status that the proof writes there.
set -euo pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
await)
    until [ -s "$2" ]; do sleep 1; done
    exit "$(cat "$2")"
    ;;
figures) # on the cluster, with an accelerator
    exec python -m benchmarks.gpu --json logs/gpu.json
    ;;
esac

mkdir -p work logs
script=$PWD/infra/kuberay/proof.sh ended=$(cd work && pwd)/$RAY_JOB_SUBMISSION_ID.ended
export RAY_ADDRESS=http://$RAY_DASHBOARD_ADDRESS RAY_AUTH_MODE=token
if ! ray job status "$RAY_JOB_SUBMISSION_ID" >/dev/null 2>&1; then # it is there when this is started again
    ray job submit --no-wait --submission-id "$RAY_JOB_SUBMISSION_ID" -- "$script" await "$ended"
fi
status=0
{
    tomrl doctor --gpu &&
        tomrl run smoke-gpu &&
        ray job submit --entrypoint-num-gpus 1 -- "$script" figures
} || status=$?
echo "$status" >"$ended"
exit "$status"
