"""Language models: their origin, weights and chat templates."""
