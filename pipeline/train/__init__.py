"""Reinforcement learning: algorithms, the local trainer, checkpoints."""
