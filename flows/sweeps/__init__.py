"""Sweeps: the cells of a study, each in a git worktree of its own, as one resumable Prefect flow.

One module for each concern. Files: `record` (what a sweep keeps), `start` (making one), `status`
(how it stands). Git: `pin` (the commit that it is made from), `trees` (its worktrees), `places`
(what they share). Reading: `left` (what is left to do), `lock_file` (what DVC knows of finished
cells), `causes` (why a cell failed), `progress` (how far a stage is). Running: `work` (the stages),
`flow` (when, and again), `limits` (how many at once), `stopping` and `cancel`, `table` (what it
leaves), `outcome` (what MLflow is told).
"""
