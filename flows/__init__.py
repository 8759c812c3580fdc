"""Prefect flows: when the pipeline runs, and in what order."""
