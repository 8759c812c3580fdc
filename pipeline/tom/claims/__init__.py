"""Reading and checking belief claims in English text written by language models."""
