"""Reasoning collapse, as the trainer's alarm defines it."""

from pipeline.train.collapse import Collapse, find_collapse

__all__ = ["Collapse", "find_collapse"]
