"""vLLM: the engine as a stage sees it, and the worker in vLLM's own environment."""
