"""Parsers from the text of a benchmark's stories and questions to events."""
