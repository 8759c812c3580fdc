"""Language models: where they come from, their weights, and their chat templates."""
