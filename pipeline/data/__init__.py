"""From upstream's files to the datasets that training and evaluation read."""
