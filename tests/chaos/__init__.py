"""Kills at any moment: whatever is killed, running it again ends in the same bytes."""
