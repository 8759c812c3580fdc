"""Parsers: the text of a benchmark's stories and questions, turned back into events."""
