"""The pipeline: data, rewards, training, evaluation, analysis; orchestrated by DVC stages."""
