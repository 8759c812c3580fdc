"""Shortcut rules: listed ones, and those that a learner finds on the surface."""
