"""The engine on a CPU or one GPU: decoding, passes over shared prefixes, log-probabilities."""
