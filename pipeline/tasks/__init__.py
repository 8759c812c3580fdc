"""One file per benchmark: source of its rows, their meaning, the grading of answers."""
