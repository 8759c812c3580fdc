"""A cell's answers in the formats of other tools; those tools are not needed to write them."""
