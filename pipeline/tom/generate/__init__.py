"""Story generators: events first, text and gold answers from them."""
