"""Rewards: the presets of both studies, on top of the one grader."""
