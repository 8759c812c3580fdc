"""Bad inputs over all doors: what is typed, what is damaged, and what must be said of it."""
