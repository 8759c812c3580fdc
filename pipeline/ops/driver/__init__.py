"""How a study is run: the checkout, DVC, partial reports."""
