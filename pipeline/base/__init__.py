"""Errors, processes, locks, tables of plugins. Nothing here affects a result."""
