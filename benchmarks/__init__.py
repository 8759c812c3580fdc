"""Speed figures of the parts that are compared with others: ``python -m benchmarks.NAME``."""
