"""Sweeps: a study run in a git worktree at a commit, with a record.

`record` (its files), `start`, `pin` (its commit), `tree` (its worktree, and restoring results),
`deployed` (its flows), `push`.
"""
