"""Sweeps: the cells of a study, each in a git worktree of its own, as one resumable Prefect flow.

One module for each concern: `record` (what a sweep keeps in files), `pin` (the commit that it is
made from), `trees` (its worktrees), `left` (what is left to do), `lock_file` (what DVC knows of
finished cells), `causes` (why a cell failed), `progress` (how far a stage is), `work` (running all
of that) and `flow` (when, how many at once, and again).
"""
