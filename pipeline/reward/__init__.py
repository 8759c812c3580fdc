"""Reward presets on top of the one grader."""
