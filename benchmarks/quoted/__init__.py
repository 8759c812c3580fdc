"""Tables of stored results in pages.

A page has blocks, ``<!-- NAME -->`` to ``<!-- /NAME -->``; what stands in one is made from a stored
result, by the columns and sentences of the report where it has them. ``python -m
benchmarks.quoted`` writes all blocks anew, and ``tests/test_quoted.py`` compares them to the
letter.
"""
