"""The ``tomrl`` command, one file for each group of commands."""
