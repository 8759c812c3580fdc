"""Language models: making, loading, decoding, and log-probabilities."""
