"""Algorithms, the local trainer and checkpoints."""
