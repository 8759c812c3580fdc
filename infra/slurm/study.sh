# Sourced by the scripts beside it, in the checkout.
#
# run_study: runs the study that STUDY names. Before its time is over Slurm sends TERM, which goes on to
# the study, so that it stops its jobs; then the batch job goes back into the queue.

run_study() {
    local study status=0
    .venv/bin/python -m pipeline.cli.app run "${STUDY:-tom-rl}" &
    study=$!
    trap 'stopped=yes; kill -TERM "$study" 2>/dev/null || true' TERM
    while kill -0 "$study" 2>/dev/null; do
        status=0
        wait "$study" || status=$?
    done
    if [ "${stopped:-}" = yes ] && [ -n "${SLURM_JOB_ID:-}" ]; then
        scontrol requeue "$SLURM_JOB_ID"
    fi
    return "$status"
}
