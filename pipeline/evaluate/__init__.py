"""Evaluation: engines, the runner, and metrics."""
