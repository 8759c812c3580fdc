"""Flaws of a set of questions: shortcut rules, leaks, imbalance, contradictions."""
