"""What pages say of results, written from the results themselves.

A page has blocks, ``<!-- NAME -->`` to ``<!-- /NAME -->``; what stands in one comes from a stored
result, tables and sentences alike. ``python -m benchmarks.quoted`` writes all blocks anew, and
``tests/test_quoted.py`` compares them to the letter.
"""
