"""MLflow as a mirror of files."""
