"""One file per benchmark: where its rows come from, what they mean, how answers are graded."""
