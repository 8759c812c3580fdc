"""Reading belief claims in English that language models write, and checking them."""
