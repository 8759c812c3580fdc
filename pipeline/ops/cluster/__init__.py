"""Ray jobs: submitted, followed line by line, stopped, retried, and never left behind.

``run_job`` runs a `Job` on the cluster named by ``RAY_ADDRESS`` or, without one, on a private head
of this machine. One module for each concern: `job` (what to run and how it ended), `client` (the
cluster's HTTP interface and what may be wrong with it), `contract` (what the job's environment must
have), `follow` (log, status, limits), `head` and `keeper` (the private head), `run` (all of them).
"""
