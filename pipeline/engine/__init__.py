"""Decoding, passes over shared prefixes and log-probabilities on a CPU or one GPU."""
