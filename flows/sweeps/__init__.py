"""Sweeps: a study run in a git worktree at a commit, with a record of what ran.

`record` (what a sweep keeps), `start` (making one), `pin` (the commit that it is made from), `tree`
(its worktree, and restoring what was made there), `places` (what they share), `deployed` (its
flows), `push`, `outcome` (what MLflow is told).
"""
