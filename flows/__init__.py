"""Prefect flows: scheduling of the pipeline."""
