"""Ray jobs: submitted, followed line by line, stopped, retried, and never left behind.

``run_job`` runs a `Job` on the cluster named by ``RAY_ADDRESS`` or, without one, on a private head
of this machine. One module for each concern: `job` (what to run and how it ended), `client` (the
cluster's HTTP interface and what may be wrong with it), `follow` (log, status, limits), `reserve`
(accelerators for a job, all at once), `head` and `keeper` (the private head), `gpus` (leases of
this machine's accelerators), `run` (all of them). A cell that trains is a `training_job`, of which
one of the `attempts` at a time writes.
"""
