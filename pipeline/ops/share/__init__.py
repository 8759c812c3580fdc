"""Results, models and data in a form in which others can check and use them."""
